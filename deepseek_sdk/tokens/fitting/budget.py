"""`TokenBudget`: how a prompt that is too long is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_share

__all__ = ["DEFAULT_MARKER", "Compressor", "Embed", "Policy", "Summarise", "TokenBudget"]

Policy = Literal["error", "head_tail", "middle", "semantic", "history"]
Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
Summarise: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], str]

DEFAULT_MARKER = "[… {tokens} tokens left out …]"


class Compressor(Protocol):
    """Makes a shorter text of what would be left out."""

    def __call__(self, texts: Sequence[str], limit: int) -> str:
        """
        Compress.

        Args:
            texts: What would be left out, in order.
            limit: How many tokens the result may have; a longer one is not used.

        Returns:
            What stands in their place, or "" for nothing.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """
    How a prompt that is too long is fitted; one that fits is sent as it is.

        TokenBudget()                               raise ContextOverflowError before anything is sent
        TokenBudget(policy="head_tail")             of long texts 600k tokens from the front and 100k from the back
        TokenBudget(policy="head_tail", limit=70_000)      the same in proportion: 60k and 10k of one long text
        TokenBudget(policy="middle")                front and back, and between them what the last question is about
        TokenBudget(policy="semantic")              the same, cut where the topic changes
        TokenBudget(policy="history")               the oldest turns go, down to 60 % of the limit
        TokenBudget(policy="history", summarise_with="deepseek-flash")    a summary stands in their place
        TokenBudget(policy="middle", embed=model.encode)           what the question means counts, not its words alone

    Args:
        limit: How many tokens a prompt may have; None: the window of the model, less what the answer needs. Where the
            window is smaller, that holds.
        policy: What is left out: "error" nothing, "head_tail", "middle" and "semantic" parts of long texts, then turns
            of the middle; "history" old turns, then old steps of long turns, then parts of texts.
        head: How many tokens of a long text are kept from its front; less in proportion where the limit is smaller.
        tail: Likewise from its back.
        keep_turns: How many of the last turns stay whole, as long as the limit leaves room for them.
        low_water: To what part of the limit "history" cuts. The other policies fit the limit at first; a conversation
            that outgrows it again is cut to this part. So cuts are rare, and the cached prefix survives in between.
        high_water: From what part of the limit on "history" cuts.
        summarise_with: What makes a summary of the turns that are dropped: a route's or a model's name, which is asked,
            or a function of the messages.
        compressor: What makes a shorter text of what is left out.
        embed: Gives a vector for each of some texts, for "middle" and "semantic".
        marker: What says that something was left out; "{tokens}" becomes how much.

    Raises:
        ConfigurationError: One of them cannot be used; the message names it.
    """

    limit: int | None = None
    policy: Policy = "error"
    head: int = 600_000
    tail: int = 100_000
    keep_turns: int = 2
    low_water: float = 0.6
    high_water: float = 1.0
    summarise_with: str | Summarise | None = None
    compressor: Compressor | None = field(default=None, repr=False)
    embed: Embed | None = field(default=None, repr=False)
    marker: str = DEFAULT_MARKER

    def __post_init__(self) -> None:
        if self.policy not in get_args(Policy):
            known = ", ".join(map(repr, get_args(Policy)))
            raise ConfigurationError(f"policy must be one of {known}, not {self.policy!r}")
        if self.limit is not None:
            check_count("limit", self.limit, least=1)
        for name in ("head", "tail"):
            check_count(name, getattr(self, name))
        if not self.head + self.tail:
            raise ConfigurationError("head and tail must not both be 0")
        check_count("keep_turns", self.keep_turns, least=1)
        self._check_waters()
        self._check_helpers()

    def _check_waters(self) -> None:
        for name in ("low_water", "high_water"):
            check_share(name, getattr(self, name))
        if self.low_water > self.high_water:
            raise ConfigurationError(f"low_water must be at most high_water, {self.high_water}, not {self.low_water}")

    def _check_helpers(self) -> None:
        for name in ("compressor", "embed"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise ConfigurationError(f"{name} must be a function or None, not {value!r}")
        way: Any = self.summarise_with
        marker: Any = self.marker
        if not (way is None or callable(way) or (isinstance(way, str) and way.strip())):
            raise ConfigurationError(f"summarise_with must be a name, a function or None, not {way!r}")
        if not isinstance(marker, str) or not marker.strip():
            raise ConfigurationError(f"marker must be a text, not {marker!r}")

    @property
    def head_share(self) -> float:
        """What part of a long text's rest is its front."""
        return self.head / (self.head + self.tail)

    def marked(self, tokens: int) -> str:
        """
        Say that something was left out.

        Args:
            tokens: How much.

        Returns:
            The marker.
        """
        return self.marker.replace("{tokens}", str(tokens))
