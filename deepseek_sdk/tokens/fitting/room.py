"""How many tokens a prompt may have: the window, less what the answer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import is_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Room", "answer_tokens", "find_room"]

# "8192 outside thinking mode, 65536 in thinking mode", and 4K for fill-in-the-middle (API docs).
_DEFAULT, _DEFAULT_THINKING, _DEFAULT_FIM = 8192, 65_536, 4096
# Small windows are not left to the answer alone.
_MOST_FOR_ANSWER = 4
# Counts of images, and of templates that nobody has published, are estimates.
_SAFETY = 256


class Room(NamedTuple):
    """
    How long a prompt may be, in tokens.

    Attributes:
        limit: That.
        window: What the model takes with the answer, or None where the limit does not come from there.
        answer: What of it the answer needs.
    """

    limit: int
    window: int | None
    answer: int


def find_room(body: Mapping[str, Any], limit: int | None, window: int | None, expected: int | None) -> Room | None:
    """
    Find out how long a prompt may be.

    Args:
        body: The request.
        limit: What the caller allows, or None.
        window: How many tokens prompt and answer may have together, or None.
        expected: How long an answer of this kind may become (P95), or None where nobody knows.

    Returns:
        The smaller of both, or None where there is no limit.
    """
    if window is None:
        return None if limit is None else Room(limit, None, 0)
    answer = answer_tokens(body, window, expected)
    fitting = max(window - answer - window // _SAFETY, 1)
    return Room(limit, None, answer) if limit is not None and limit <= fitting else Room(fitting, window, answer)


def answer_tokens(body: Mapping[str, Any], window: int, expected: int | None) -> int:
    """
    Tell what the answer needs.

    Args:
        body: The request.
        window: How many tokens prompt and answer may have together.
        expected: How long an answer of this kind may become, or None.

    Returns:
        The *max_tokens* of the request, since the server counts them whether they are used or not; else an expectation.
    """
    for name in ("max_tokens", "max_completion_tokens"):
        asked = body.get(name)
        if isinstance(asked, int) and not isinstance(asked, bool):
            return asked
    if expected is None:
        thinking = _DEFAULT_THINKING if is_thinking(body) else _DEFAULT
        expected = _DEFAULT_FIM if "messages" not in body else thinking
    return min(expected, window // _MOST_FOR_ANSWER)
