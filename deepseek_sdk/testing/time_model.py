"""How long a server takes, and how many it serves at once: arithmetic on numbers, no clock."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConcurrencyGate", "TimeModel"]


@dataclass(frozen=True, kw_only=True)
class TimeModel:
    """
    The speed of the emulated machine.

    | Call | Meaning |
    |---|---|
    | `TimeModel()` | everything at once |
    | `TimeModel(prefill_tokens_per_s=10_000)` | reading 5,000 uncached tokens takes half a second |
    | `TimeModel(tokens_per_s=50)` | a token every 20 milliseconds |

    Args:
        prefill_tokens_per_s: Prompt tokens read per second, cached ones being free; None takes no time.
        tokens_per_s: Tokens written per second; None takes no time.
    """

    prefill_tokens_per_s: float | None = None
    tokens_per_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse speeds that are no speeds."""
        for name in ("prefill_tokens_per_s", "tokens_per_s"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} is more than 0, or None for no delay; not {value!r}")

    def prefill_s(self, uncached_tokens: int) -> float:
        """Return the seconds that reading *uncached_tokens* takes."""
        return uncached_tokens / self.prefill_tokens_per_s if self.prefill_tokens_per_s else 0.0

    def writing_s(self, tokens: int) -> float:
        """Return the seconds that writing *tokens* takes."""
        return tokens / self.tokens_per_s if self.tokens_per_s else 0.0


class ConcurrencyGate:
    """
    Count the requests in flight and say when one is too many.

    Args:
        limit: The most at once; None for no limit. It may be changed at any time.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.in_flight = 0
        self.highest = 0

    def enter(self) -> bool:
        """
        Count one more.

        Returns:
            Whether it is within the limit; it counts until `leave()` either way.
        """
        self.in_flight += 1
        is_within = self.limit is None or self.in_flight <= self.limit
        if is_within:
            self.highest = max(self.highest, self.in_flight)
        return is_within

    def leave(self) -> None:
        """Count one less."""
        self.in_flight -= 1
