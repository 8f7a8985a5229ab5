"""How a failed answer is told in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai

from deepseek_sdk.cli._connection import is_connection_error, unreachable
from deepseek_sdk.cli._exits import hide_keys
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli._terminal import printable
from deepseek_sdk.errors import (
    ContextOverflowError,
    InsufficientBalanceError,
    StreamInterruptedError,
    UnknownModelError,
)

if TYPE_CHECKING:
    from deepseek_sdk import Client
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
)


def explain(error: openai.OpenAIError, words: Words, client: Client, *, is_conversation: bool) -> str:
    """
    Say what a failed call means and what it is.

    Args:
        error: How it failed.
        words: The language.
        client: Who made it.
        is_conversation: The user can type commands.

    Returns:
        One line, without a key.
    """
    if is_connection_error(error):
        return printable(unreachable(error, client, Say(words.lang)))
    kind = next((name for kind, name in _KINDS if isinstance(error, kind)), "other")
    sentences = {**words.errors, **words.in_conversation} if is_conversation else words.errors
    detail = printable(" ".join(hide_keys(str(error)).split()))[:_LONGEST_DETAIL]
    return words.error.format(
        sentence=sentences[kind] + _served(error, words), detail=f"{type(error).__name__}: {detail}"
    )


def _served(error: openai.OpenAIError, words: Words) -> str:
    """Name the models that there are, where the server has named them."""
    names = error.supported if isinstance(error, UnknownModelError) else ()
    return words.served.format(names=", ".join(map(printable, names))) if names else ""
