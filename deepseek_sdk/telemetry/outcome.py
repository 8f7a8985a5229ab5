"""How things ended, in the words that spans and metrics use."""

from __future__ import annotations

import traceback
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING

import openai

from deepseek_sdk.errors import (
    BudgetExceededError,
    CircuitOpenError,
    FirstTokenTimeout,
    InvalidRequestError,
    LimiterTimeoutError,
    QueueTimeoutError,
    StallTimeout,
    StreamInterruptedError,
    TotalTimeout,
    classify,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CANCELLED", "OTHER", "Failure", "error_type", "failure_of"]

CANCELLED = "cancelled"
OTHER = "_OTHER"

# The most specific class first.
_NAMES: tuple[tuple[type[BaseException], str], ...] = (
    (FirstTokenTimeout, "timeout.first_token"),
    (QueueTimeoutError, "timeout.first_token"),
    (StallTimeout, "timeout.idle"),
    (TotalTimeout, "timeout.total"),
    (BudgetExceededError, "budget_exceeded"),
    (CircuitOpenError, "circuit_open"),
    (CancelledError, CANCELLED),
)
# They say what openai would say of the server's refusal, and nothing was sent.
_UNSENT = (InvalidRequestError, LimiterTimeoutError)
_CONNECTING = ("connect_timeout", "pool_timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    What may be told of an error.

    Attributes:
        type: Its `error.type`.
        exception: The name of its class.
        message: Its text, or None where content stays out.
        stacktrace: Likewise.
        reason: The word of `errors.classify()`.
    """

    type: str
    exception: str
    message: str | None = None
    stacktrace: str | None = None
    reason: str = ""


def error_type(error: BaseException, *, was_sent: bool = True) -> str:
    """
    Name an error by one of few words.

    Args:
        error: What was raised.
        was_sent: A server was asked; else what looks like its refusal was made here.

    Returns:
        The HTTP status of a server's refusal; a word for what happened here; else the name of the class.
    """
    if not isinstance(error, Exception):
        return CANCELLED
    for kind, name in _NAMES:
        if isinstance(error, kind):
            return name
    if isinstance(error, openai.APITimeoutError):
        return "timeout.connect" if classify(error).reason in _CONNECTING else "timeout.idle"
    if was_sent and isinstance(error, openai.APIStatusError) and not isinstance(error, _UNSENT):
        return str(error.status_code)
    if isinstance(error, openai.APIConnectionError) and not isinstance(error, StreamInterruptedError):
        return "connection_error" if type(error) is openai.APIConnectionError else type(error).__name__
    return type(error).__name__


def failure_of(error: BaseException, text_of: Callable[[str], str] | None, *, was_sent: bool = True) -> Failure:
    """
    Take from an error what may be told of it; the error itself would keep the call alive.

    Args:
        error: It.
        text_of: Makes of its text what may leave the process; None: nothing may, for it can hold the prompt.
        was_sent: A server was asked.

    Returns:
        What may be told.
    """
    kind = type(error)
    exception = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    word, reason = error_type(error, was_sent=was_sent), classify(error).reason
    if text_of is None:
        return Failure(type=word, exception=exception, reason=reason)
    # Lines of the source may hold a prompt as well.
    stack = "".join(traceback.format_exception(error))
    return Failure(
        type=word, exception=exception, message=text_of(str(error)), stacktrace=text_of(stack), reason=reason
    )
