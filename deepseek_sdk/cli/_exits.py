"""What a program that ends says to the shell, and what it keeps to itself."""

from __future__ import annotations

import re
from enum import IntEnum

import openai

from deepseek_sdk.errors import ConfigurationError, InsufficientBalanceError, refine

__all__ = ["Exit", "error_line", "exit_code", "hide_keys", "is_interrupt", "redact_url"]


class Exit(IntEnum):
    """The exit codes of every command."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CONFIGURATION = 3
    LIMIT = 4
    CHECK = 5
    INTERRUPTED = 130  # 128 and the number of SIGINT, as shells have it


# The first that matches wins.
_CODES: tuple[tuple[type[openai.OpenAIError], Exit], ...] = (
    (ConfigurationError, Exit.CONFIGURATION),
    (openai.AuthenticationError, Exit.CONFIGURATION),
    (InsufficientBalanceError, Exit.LIMIT),
    (openai.RateLimitError, Exit.LIMIT),
    (openai.OpenAIError, Exit.FAILURE),
)


def exit_code(error: openai.OpenAIError) -> Exit:
    """Choose the exit code for *error*."""
    if isinstance(error, openai.APIStatusError):
        error = refine(error)  # account data does not go through the pipeline, which does this
    return next(code for kind, code in _CODES if isinstance(error, kind))


def is_interrupt(error: BaseException) -> bool:
    """Tell Ctrl-C, also where click asked a question, from the end of the input."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt)


def error_line(error: BaseException) -> str:
    """Tell *error*: its kind and what it says, without a key."""
    return f"{type(error).__name__}: {hide_keys(str(error))}"


def hide_keys(text: str) -> str:
    """Replace what looks like an API key in *text*; servers quote parts of it."""
    return re.sub(r"sk-[\w-]{6,}|\*{3,}\w+", "sk-…", text)


def redact_url(text: str) -> str:
    """Take the user and password out of a URL."""
    return re.sub(r"//[^/]*@", "//***@", text)
