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
        prompt = _first(_count(block, "prompt_tokens"))
        cached = _count(block.get("prompt_tokens_details"), "cached_tokens")
        hit = _first(_count(block, "prompt_cache_hit_tokens"), cached)
        return cls(
            hit=hit,
            miss=_first(_count(block, "prompt_cache_miss_tokens"), max(prompt - hit, 0)),
            output=_first(_count(block, "completion_tokens")),
            reasoning=_first(_count(block.get("completion_tokens_details"), "reasoning_tokens")),
        )


def _first(*values: int | None) -> int:
    return next((value for value in values if value is not None), 0)


def _count(block: object, name: str) -> int | None:
    """Read a count; what is no whole number is no count, and must not hide how the call ended."""
    value = block.get(name) if isinstance(block, dict) else None
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if is_count else None
