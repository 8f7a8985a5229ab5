"""`Eligibility`: which requests may be answered by the answer of a similar one, and which only by that of the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.matching.normal import LONGEST, folded, shown
from deepseek_sdk.caching.matching.timely import GENERAL, HOW, NOT_VOLATILE, PERSONAL, VOLATILE
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Eligibility", "question_text"]

# What stands in quotes or in code is what the question is about, not when it is asked.
_QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"|《[^》]*》|(?<!\w)'[^']*'(?!\w)", re.DOTALL)
# Characters that mark a pattern rather than a word.
_SPECIAL = frozenset(r"\.^$*+?{}[]|()")


class Eligibility:
    r"""
    Says which requests may be answered by the answer of a similar question.

        Eligibility()                                       the rules that come with it
        Eligibility(volatile=[*VOLATILE, "库存"])            one more word after which an answer is one of the hour
        Eligibility(personal=[r"\bour (?:team|office)\b"])  other words of questions that are one person's
        Eligibility(volatile=())                            answers of the hour are as good as others
        Eligibility(max_chars=500)                          shorter questions only

    Args:
        volatile: Words or regular expressions of questions whose answers change with the hour; None: those of
            `timely.VOLATILE`.
        personal: The same of questions whose answers are one person's; None: those of `timely.PERSONAL`.
        max_chars: How many characters a question may have.

    Raises:
        ConfigurationError: A pattern is none, or the number is not a whole one from 1 to 2,000.
    """

    def __init__(
        self,
        *,
        volatile: Iterable[str | re.Pattern[str]] | None = None,
        personal: Iterable[str | re.Pattern[str]] | None = None,
        max_chars: int = 2000,
    ) -> None:
        check_count("max_chars", max_chars, least=1)
        if max_chars > LONGEST:
            raise ConfigurationError(f"max_chars must be at most {LONGEST:,}, not {max_chars:,}: no more is compared")
        self._volatile = _compiled("volatile", VOLATILE if volatile is None else volatile)
        self._personal = _compiled("personal", PERSONAL if personal is None else personal)
        self._not_volatile = _compiled("", NOT_VOLATILE)
        self._general = _compiled("", GENERAL)
        self._how = _compiled("", HOW)
        self._max_chars = max_chars

    def refusal(self, body: Mapping[str, Any], *, has_user_scope: bool) -> str | None:
        """
        Say why a request is not to be answered by the answer of a similar one.

        Args:
            body: The request's JSON body.
            has_user_scope: Its answers are kept for its user, or tenant, alone.

        Returns:
            "role" (the last message is not a user's), "content" (it is not text), "empty", "length", "volatile",
            "personal"; None: nothing speaks against it.
        """
        if _asked(body) is None:
            return "role"
        text = question_text(body)
        if text is None:
            return "content"
        if not text.strip():
            return "empty"
        if len(text) > self._max_chars:
            return "length"
        return self._refused(_unquoted(folded(shown(text))), has_user_scope=has_user_scope)

    def is_personal(self, body: Mapping[str, Any]) -> bool:
        """
        Tell whether the answer may be one person's, where it is known who asks; more questions are than without.

        Args:
            body: The request's JSON body.

        Returns:
            True for "Can I see my order?", and for "How do I cancel my order 12345?", but not without the number.
        """
        text = _unquoted(folded(shown(question_text(body) or "")))
        return _has(self._personal, text) and not _has(self._how, text)

    def accepts(self, text: str) -> bool:
        """
        Tell of a kept question whether its answer may be that of a similar one, for all that its text says.

        Args:
            text: What the user said last.

        Returns:
            Whether nothing speaks against it.
        """
        return self.refusal({"messages": [{"role": "user", "content": text}]}, has_user_scope=False) is None

    def _refused(self, text: str, *, has_user_scope: bool) -> str | None:
        if _has(self._volatile, text) and not _has(self._not_volatile, text):
            return "volatile"
        is_general = has_user_scope or _has(self._general, text) or _has(self._not_volatile, text)
        if not is_general and _has(self._personal, text):
            return "personal"
        return None


def question_text(body: Mapping[str, Any]) -> str | None:
    """
    Give the text of the last message.

    Args:
        body: The JSON body of a request.

    Returns:
        It; None where the last message is not a user's, or not text alone.
    """
    message = _asked(body)
    if message is None:
        return None
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [_text(part) for part in content] if isinstance(content, list) else [None]
    said = [text for text in texts if text is not None]
    return "\n".join(said) if len(said) == len(texts) else None


def _unquoted(text: str) -> str:
    """Leave out what is quoted; a question that stands in quotes as a whole is one all the same."""
    rest = _QUOTED.sub(" ", text).strip()
    return rest if any(map(str.isalnum, rest)) else text


def _text(part: Any) -> str | None:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _asked(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give the last message, where it is a user's."""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return last if isinstance(last, dict) and last.get("role") == "user" and not last.get("tool_calls") else None


def _has(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


def _compiled(where: str, said: Any) -> tuple[re.Pattern[str], ...]:
    if isinstance(said, str) or not hasattr(said, "__iter__"):
        raise ConfigurationError(f"{where} must be words or patterns, not {said!r}")
    return tuple(_pattern(where, one) for one in said)


def _pattern(where: str, said: Any) -> re.Pattern[str]:
    if isinstance(said, re.Pattern):
        return said
    if not isinstance(said, str) or not said:
        raise ConfigurationError(f"{where} must be words or patterns, not {said!r}")
    is_word = _SPECIAL.isdisjoint(said)
    source = re.escape(folded(shown(said))) if is_word else said
    try:
        return re.compile(rf"\b{source}\b" if is_word and said.isascii() else source)
    except re.error as error:
        raise ConfigurationError(f"{where} has no pattern {said!r}: {error}") from error
