"""How a failed answer is told in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai

from deepseek_sdk.cli._exits import redact
from deepseek_sdk.cli._terminal import printable
from deepseek_sdk.errors import (
    ContextOverflowError,
    DeepSeekError,
    InsufficientBalanceError,
    StreamInterruptedError,
    UnknownModelError,
)

if TYPE_CHECKING:
    from deepseek_sdk.cli._chat.words import Words

__all__ = ["explain"]

_LONGEST_DETAIL = 300

# The first that fits names the sentence.
_KINDS: tuple[tuple[type[openai.OpenAIError], str], ...] = (
    (openai.AuthenticationError, "key"),
    (InsufficientBalanceError, "balance"),
    (openai.RateLimitError, "limit"),
    (ContextOverflowError, "context"),
    (UnknownModelError, "model"),
    (openai.BadRequestError, "rejected"),
    (openai.InternalServerError, "server"),
    (StreamInterruptedError, "cut"),
    (openai.APITimeoutError, "timeout"),
    (openai.APIConnectionError, "connection"),
)


def explain(error: openai.OpenAIError, words: Words) -> str:
    """Say what *error* means and what it is, in one line and without a key."""
    kind = next((name for kind, name in _KINDS if isinstance(error, kind)), "other")
    detail = printable(" ".join(redact(_message(error)).split()))[:_LONGEST_DETAIL]
    return words.error.format(sentence=words.errors[kind], detail=f"{type(error).__name__}: {detail}")


def _message(error: openai.OpenAIError) -> str:
    # openai's own message of a lost connection is "Connection error."; its cause says which.
    is_vague = isinstance(error, openai.APIConnectionError) and not isinstance(error, DeepSeekError)
    return f"{error} {error.__cause__ or ''}" if is_vague else str(error)
