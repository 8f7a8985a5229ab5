"""What a limit of tokens has cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from deepseek_sdk._usage import Usage

__all__ = ["Truncation", "tell_truncation"]

Truncation: TypeAlias = Literal["answer", "reasoning"]


def tell_truncation(finish_reason: str | None, usage: Usage | None, *, has_answer: bool) -> Truncation | None:
    """
    Tell an answer that was cut from one that never began, because reasoning had used up *max_tokens*.

    Args:
        finish_reason: How the answer ended.
        usage: What the server says about its tokens, or None.
        has_answer: Content or a tool call has come.

    Returns:
        "answer", "reasoning", or None where no limit was met.
    """
    if finish_reason != "length":
        return None
    has_reasoned = usage is None or usage.reasoning > 0
    return "reasoning" if has_reasoned and not has_answer else "answer"
