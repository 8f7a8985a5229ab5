"""The words in which lengths are told: quantiles, estimates, times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["LengthEstimate", "LengthKey", "Quantiles", "SecondsEstimate", "Shares", "Source"]

Source: TypeAlias = Literal["template", "model", "prior"]


class LengthKey(NamedTuple):
    """
    What answers have to have in common to be as long as each other.

        LengthKey("deepseek-flash", "high", "summary")
        LengthKey("deepseek-flash", "high")              no template: all answers of the model in that mode

    Attributes:
        model: The model that is asked for.
        mode: How much it may think: "off", "low", "high", "max", or "fim" for completions.
        template: What kind of prompt it is, by the caller's word, or None.
    """

    model: str
    mode: str
    template: str | None = None


class Quantiles(NamedTuple):
    """
    How many tokens: of a hundred answers, so many percent are no longer.

        Quantiles(p50=180, p90=420, p95=610)     half have at most 180 tokens, 95 % at most 610
    """

    p50: int
    p90: int
    p95: int


class Shares(NamedTuple):
    """A number for each of the three quantiles."""

    p50: float
    p90: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthEstimate:
    """
    How long an answer will be, in tokens.

    It is meant for reservations, for times, and for checks against a context window. It is no *max_tokens*: what is
    not generated is not billed anyway, and a limit at the 95th percentile would cut every twentieth answer.

    Attributes:
        reasoning: Tokens of reasoning.
        content: Tokens of everything else.
        total: Both together, which is what is billed; quantiles of a sum are not the sums of quantiles.
        samples: How many answers it is drawn from; 0 where it is an assumption.
        source: Whose answers these were: of the "template", of the "model" in that mode, or the "prior": of all models
            in that mode, and an assumption while there are too few of those.
        cut: How many of the answers had met a limit, so that nobody knows how long they would have been.
    """

    reasoning: Quantiles
    content: Quantiles
    total: Quantiles
    samples: int
    source: Source
    cut: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondsEstimate:
    """
    How long an answer will take, in seconds.

    Attributes:
        first_token: Until its first token, half the time; 0 where only whole bodies were read, which show none.
        per_token: For each token of output after that, half the time.
        total: For answers of the lengths of `LengthEstimate.total`, at these speeds.
        samples: How many answers it is drawn from.
    """

    first_token: float
    per_token: float
    total: Shares
    samples: int
