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
# Each with what stays of it in front.
_SECRETS = (
    r"(\bsk-)[\w-]{8,}",
    r"(\bBearer\s+)[\w.~+/=-]{8,}",
    r"""((?:api[_-]?key|authorization|password|secret|access[_-]?token)["']?\s*[:=]\s*["']?)(?!Bearer\b)[^\s"',;&)}\]]{4,}""",
    r"(://[^\s/:@]+:)[^\s/@]+(?=@)",
    # Pictures, and keys of other services: no word is so long. Paths are, but not without a dot or a blank.
    r"()\b(?=[A-Za-z0-9+/]*\d)(?=[A-Za-z0-9+/]*[A-Z])(?=[A-Za-z0-9+/]*[a-z])[A-Za-z0-9+/]{64,}={0,2}",
)


class RedactingFormatter(logging.Formatter):
    r"""
    Formats records of logging without the secrets in them, those of tracebacks included.

        RedactingFormatter()                                       keys, bearer tokens, passwords, long base64
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
        own = [re.compile(pattern, re.IGNORECASE) for pattern in _SECRETS[:4]]
        further: list[re.Pattern[str]] = [re.compile(pattern) for pattern in patterns]
        self._patterns = (*own, re.compile(_SECRETS[4]), *further)

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
        for pattern in self._patterns:
            text = pattern.sub(_kept, text)
        return text


def _kept(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{_MASK}" if found.re.groups else _MASK


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
