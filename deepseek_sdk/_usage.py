"""`Usage`: what an answer consumed, in tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Usage"]

# More than that is no count of tokens, and no number that a database takes.
_MOST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """
    What a call consumed, in tokens, as the server counted it.

        Usage(hit=8064, miss=1936, output=1500, reasoning=1200)

    Attributes:
        hit: Prompt tokens read from the server's cache.
        miss: Prompt tokens computed.
        output: Tokens generated, reasoning included.
        reasoning: Of these, tokens of reasoning.
    """

    hit: int
    miss: int
    output: int
    reasoning: int

    @property
    def prompt(self) -> int:
        """All prompt tokens."""
        return self.hit + self.miss

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            hit=self.hit + other.hit,
            miss=self.miss + other.miss,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )

    @classmethod
    def parse(cls, block: Mapping[str, Any]) -> Usage:
        """
        Read a usage block of any of the three shapes.

        Args:
            block: It, as the server sent it.

        Returns:
            The counts; the hits are counted once where two fields state them.
        """
        hit, miss = _count(block, "prompt_cache_hit_tokens"), _count(block, "prompt_cache_miss_tokens")
        if hit is None:
            hit = _count(block.get("prompt_tokens_details"), "cached_tokens")
        if hit is None or miss is None:
            prompt = _count(block, "prompt_tokens") or 0
            hit = max(prompt - (prompt if miss is None else miss), 0) if hit is None else hit
            miss = max(prompt - hit, 0) if miss is None else miss
        reasoning = _count(block.get("completion_tokens_details"), "reasoning_tokens")
        return cls(hit=hit, miss=miss, output=_count(block, "completion_tokens") or 0, reasoning=reasoning or 0)


def _count(block: object, name: str) -> int | None:
    """Read a count; what is no whole number is no count, and must not hide how the call ended."""
    value = block.get(name) if isinstance(block, dict) else None
    # Not isinstance(): True and False are of a kind of whole numbers, too.
    return value if type(value) is int and 0 <= value <= _MOST else None
