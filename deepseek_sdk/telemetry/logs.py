"""Logging that keeps secrets: a formatter that takes them out, and a way to switch the library's own logging on."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RedactingFormatter", "log_to"]

LOGGER = "deepseek_sdk"

_MASK = "****"
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_QUOTE = r"""b?\\{0,7}["']"""
# Texts that name a secret, which follows behind a colon, an equals sign, or a comma in a pair.
_NAMED = re.compile(
    r"""(?P<name>(?:proxy-)?authorization|(?:set-)?cookie
        |api[_-]?key|(?:account|private|secret|(?:shared[_-]?)?access)[_-]?key
        |(?:access|refresh|(?<![a-z])id|auth|session|security)[_-]?token
        |password|passwd|passphrase|secret|(?<=[?&;])(?:key|token|sig|signature))"""
    rf"(?P<after>{_QUOTE[2:]})?\s*(?P<sep>[:=：]=?>?|,)\s*(?P<list>[\[(]\s*)?(?P<open>{_QUOTE})?",
    re.IGNORECASE | re.VERBOSE,
)
# Parts of these names, one of which is in a text that has any: most texts have none.
_HINTS = ("auth", "cookie", "key", "token", "pass", "secret", "sig")
_NEXT_OF_LIST = re.compile(rf"\s*,\s*(?P<open>{_QUOTE})")
_QUOTES = {quote: re.compile(rf"(?<!\\)\\*{quote}|\n") for quote in "\"'"}
# Not one in front of the next header, where the headers of a request stand in one literal.
_BACKSLASH = r"\\(?!\\{0,7}(?:r\\{1,8})?n[A-Za-z][\w-]{0,40}[:=])"
# An object of JSON, as in a schema of a tool, is no secret itself.
_WORD = re.compile(rf"""(?!\{{[\s"'\\}}])(?:[^\s"',;&)}}\]，。；、）】」\\]++|{_BACKSLASH})++""")
_SCHEME = re.compile(
    r"(?:Basic|Bearer|Token|Digest|Negotiate|NTLM|OAuth|Hawk|DPoP|Signature|Api-?Key|AWS4-HMAC-SHA256)[^\S\n]+",
    re.IGNORECASE,
)
_PARAMETER = rf"""[\w-]++[^\S\n]*+=[^\S\n]*+(?:"[^"\n]*+"|'[^'\n]*+'|(?:[^\s,"'\\]++|{_BACKSLASH})*+)"""
_PARAMETERS = re.compile(rf"{_PARAMETER}(?:[^\S\n]*+,[^\S\n]*+{_PARAMETER})*+")
_UNKNOWN_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]*[^\S\n]+(?=[^\s\"'])")
_NAME_CHARACTERS = "-_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LONGEST_PREFIX = 40

# Secrets that have a shape of their own, each with what stays of it in front. Letters of other scripts end a word.
_SHAPES = (
    re.compile(r"((?<![A-Za-z0-9_])sk-)[A-Za-z0-9_-]{8,}", re.IGNORECASE),
    re.compile(r"((?<![A-Za-z0-9_])Bearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    # To the last @, since a password may hold one.
    re.compile(r"""(://[^\s/:@"<>]*:)[^\s/"<>]+(?=@)"""),
    # JSON Web Tokens: {" in base64url, and two to four parts more.
    re.compile(r"()(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){2,4}"),
)
# Pictures, and keys of other services: no word is so long. Paths are, but not without a dot or a blank.
_LONG = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{64,}={0,2}")


class RedactingFormatter(logging.Formatter):
    r"""
    Formats records of logging without the secrets in them, those of tracebacks included.

        RedactingFormatter()                                       keys, tokens, cookies, passwords, long base64
        RedactingFormatter(patterns=[r"\d{11}"])                   and what you know to be one
        RedactingFormatter("%(message)s", patterns=[r"(user=)\w+"])   what a group in front holds stays

    Args:
        fmt: The format, as of `logging.Formatter`.
        patterns: Regular expressions of further secrets; where one has a group, what that has found stays.
        **options: What else `logging.Formatter` takes.
    """

    def __init__(
        self, fmt: str | None = None, *, patterns: Iterable[str | re.Pattern[str]] = (), **options: Any
    ) -> None:
        super().__init__(fmt or _FORMAT, **options)
        self._further: list[re.Pattern[str]] = [re.compile(pattern) for pattern in patterns]

    def format(self, record: logging.LogRecord) -> str:
        """Format a record, its traceback included, and take the secrets out."""
        return self.redacted(super().format(record))

    def redacted(self, text: str) -> str:
        """
        Take the secrets out of a text.

        Args:
            text: It.

        Returns:
            The text, with four stars in the place of each secret.
        """
        text = _without_named(text)
        for shape in _SHAPES:
            text = shape.sub(_kept, text)
        text = _LONG.sub(_unless_plain, text)
        for pattern in self._further:
            text = pattern.sub(_kept, text)
        return text


def _kept(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{_MASK}" if found.re.groups else _MASK


def _unless_plain(found: re.Match[str]) -> str:
    text = found[0]
    is_mixed = any(map(str.isdigit, text)) and any(map(str.isupper, text)) and any(map(str.islower, text))
    return _MASK if is_mixed else text


def _without_named(text: str) -> str:
    """Mask what stands behind the name of a secret; each character is looked at a few times, however many names are."""
    lowered = text.lower()
    if not any(hint in lowered for hint in _HINTS):
        return text
    parts: list[str] = []
    done = 0
    while found := _NAMED.search(text, done):
        spans = _secrets_behind(text, found)
        for first, last in spans:
            parts += (text[done:first], _MASK)
            done = last
        if not spans:
            parts.append(text[done : found.end()])
            done = found.end()
    return "".join((*parts, text[done:]))


def _secrets_behind(text: str, found: re.Match[str]) -> list[tuple[int, int]]:
    """Find where the secrets stand that a name tells of; those of a list are several."""
    around = _around(text, found)
    if found["sep"] == "," and not (found["after"] and _begins_pair(around)):
        # Names in a row, and no pair of a header and its value.
        return []
    spans = [_bare(text, found, around)] if found["open"] is None else _quoted(text, found)
    if found["name"].lower().endswith("authorization"):
        spans = [(_behind_scheme(text, first, last), last) for first, last in spans]
    return [(first, last) for first, last in spans if first < last]


def _begins_pair(around: str) -> bool:
    """Tell `("cookie", "a=b")` and `[["cookie", "a=b"]]` from `"required": ["password", "name"]`."""
    before = around.rstrip("\"'\\").rstrip("b").rstrip()
    return before.endswith("(") or (before.endswith("[") and before[:-1].rstrip().endswith(("[", ",")))


def _around(text: str, found: re.Match[str]) -> str:
    """Give what stands in front of a name, such as the quote that it is in, with a few characters before that."""
    begin = found.start()
    return text[max(0, begin - _LONGEST_PREFIX) : begin].rstrip(_NAME_CHARACTERS)


def _quoted(text: str, found: re.Match[str]) -> list[tuple[int, int]]:
    spans = [(found.end(), _closing(text, found.end(), found["open"]))]
    while found["list"] and (further := _NEXT_OF_LIST.match(text, _behind_quote(text, spans[-1][1], found["open"]))):
        spans.append((further.end(), _closing(text, further.end(), further["open"])))
    return spans


def _behind_quote(text: str, at: int, opening: str) -> int:
    return min(at + len(opening.lstrip("bB")), len(text))


def _closing(text: str, begin: int, opening: str) -> int:
    """Find where a quoted text ends; in JSON that stands in JSON, quotes have backslashes in front of them."""
    depth = opening.count("\\")
    for found in _QUOTES[opening[-1]].finditer(text, begin):
        if found[0] == "\n":
            # It was cut.
            return found.start()
        if (len(found[0]) - 1) % (2 * depth + 2) == depth:
            return found.end() - 1 - depth
    return len(text)


def _line_end(text: str, begin: int) -> int:
    end = text.find("\n", begin)
    return len(text) if end < 0 else end


def _bare(text: str, found: re.Match[str], around: str) -> tuple[int, int]:
    """Find the end of a value that has no quotes: a word, but with headers all that belongs to them."""
    begin, name = found.end(), found["name"].lower()
    word = _WORD.match(text, begin)
    end = word.end() if word else begin
    is_header = name.endswith(("authorization", "cookie"))
    if is_header and not found["after"] and around.endswith(('"', "'")):
        # As in curl -H 'Cookie: a=b; c=d'.
        depth = len(around) - len(around[:-1].rstrip("\\")) - 1
        return begin, _closing(text, begin, "\\" * depth + around[-1])
    if name.endswith("cookie") and "=" in text[begin:end]:
        return begin, _line_end(text, begin)
    return begin, _credentials_end(text, begin, end) if name.endswith("authorization") else end


def _credentials_end(text: str, begin: int, end: int) -> int:
    scheme = _SCHEME.match(text, begin) or _UNKNOWN_SCHEME.match(text, begin)
    if scheme is None:
        return end
    takes_parameters = not scheme[0].lower().startswith(("basic", "bearer"))
    found = (takes_parameters and _PARAMETERS.match(text, scheme.end())) or _WORD.match(text, scheme.end())
    return found.end() if found else end


def _behind_scheme(text: str, begin: int, end: int) -> int:
    scheme = _SCHEME.match(text, begin, end)
    return scheme.end() if scheme else begin


def log_to(
    target: TextIO | logging.Handler | None = None,
    level: int | str = logging.INFO,
    *,
    patterns: Iterable[str | re.Pattern[str]] = (),
) -> logging.Handler:
    """
    Let the library log, without secrets.

    Args:
        target: A stream, or a handler of your own, which gets a `RedactingFormatter`; None: stderr.
        level: From which level on.
        patterns: Regular expressions of further secrets.

    Returns:
        The handler, to be taken off again with `logging.getLogger("deepseek_sdk").removeHandler()`.
    """
    handler = target if isinstance(target, logging.Handler) else logging.StreamHandler(target)
    handler.setFormatter(RedactingFormatter(patterns=patterns))
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    logger.setLevel(level)
    return handler
