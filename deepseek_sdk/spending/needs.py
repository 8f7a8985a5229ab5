"""What a call may need before it is known what it uses: tokens of its prompt and of its answers. Decisions only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._mode import ThinkingMode

__all__ = ["USUAL_OUTPUT", "choices", "longest_output", "longest_prompt"]

# "8192 outside thinking mode, 65536 in thinking mode" (DeepSeek's request validator), about 131072 observed at effort
# "max", 4K for completions of a middle.
_DEFAULT_MAX_TOKENS: dict[ThinkingMode, int] = {"off": 8192, "low": 65_536, "high": 65_536, "max": 131_072, "fim": 4096}

# How long a long answer is while nothing is known: a guess, on the safe side.
USUAL_OUTPUT: dict[ThinkingMode, int] = {"off": 2000, "low": 4000, "high": 8000, "max": 32_000, "fim": 1000}

# What stands around each message in the prompt, and around all of them: role marks, the line on effort, the text that
# explains tools; and what an image can be, of which the service says 384 at most for the models that state it.
_PER_ITEM, _PER_PROMPT, _PER_IMAGE = 16, 1024, 4096


def longest_prompt(body: Mapping[str, Any]) -> int:
    """
    Bound the prompt of a request.

    Args:
        body: Its JSON body.

    Returns:
        Tokens that it cannot have more of: none is shorter than a byte.
    """
    spoken = (body.get(name) for name in ("messages", "prompt", "suffix", "tools", "response_format"))
    return _PER_PROMPT + sum(map(_bytes, spoken))


def longest_output(body: Mapping[str, Any], model: str, window: int | None, mode: ThinkingMode) -> int:
    """
    Bound one answer.

    Args:
        body: The JSON body of the request.
        model: The model that is asked.
        window: How many tokens prompt and answer may have together, or None where nobody knows.
        mode: How much the request lets the model think.

    Returns:
        Tokens: *max_tokens*, or what the server takes in its place.
    """
    for name in ("max_tokens", "max_completion_tokens"):
        given = body.get(name)
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            return given
    if window is not None and not model.startswith("deepseek-"):
        # Other servers go on to the end of the window.
        return window
    return _DEFAULT_MAX_TOKENS[mode]


def choices(body: Mapping[str, Any]) -> int:
    """
    Say how many answers a request asks for.

    Args:
        body: Its JSON body.

    Returns:
        The number.
    """
    n = body.get("n")
    return n if isinstance(n, int) and not isinstance(n, bool) and n > 0 else 1


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        if "image_url" in value:
            return _PER_IMAGE
        return _PER_ITEM + sum(_PER_ITEM + len(str(name)) + _bytes(item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return _PER_ITEM * len(value) + sum(map(_bytes, value))
    return _PER_ITEM
