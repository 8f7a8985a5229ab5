"""Who is asked for the model "auto": by the length of the prompt, by price, and by how long routes take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deepseek_sdk.routing.route import Priority, Route

    PriceOf: TypeAlias = "Callable[[str], tuple[float, float] | None]"
    SecondsOf: TypeAlias = "Callable[[str], float | None]"

__all__ = ["Band", "Candidate", "Question", "RoutingDecision", "RoutingPolicy", "decide"]

Band: TypeAlias = Literal["direct", "prefix", "local"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingPolicy:
    """
    How a route is chosen for the model "auto".

        RoutingPolicy()                              the cheapest route; over 300,000 tokens the local engine
        RoutingPolicy(cost=0, latency=1)             the fastest
        RoutingPolicy(cost=1, latency=0.5)           both count, half as much
        RoutingPolicy(cost=0)                        the order in which they were given
        RoutingPolicy(local_above=100_000)           long prompts go to the local engine sooner

    Args:
        direct_below: A shorter prompt goes straight to an endpoint. In tokens.
        local_above: A longer one goes to the local engine, if there is one. Between the two, a conversation stays with
            the route that answered it last, where its beginning is cached. In tokens.
        cost: What the price of a call weighs, as a share of the dearest route's.
        latency: What the time it takes weighs, as a share of the slowest route's.
        answer_tokens: How long an answer is taken to be where prices are compared.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    direct_below: int = 50_000
    local_above: int = 300_000
    cost: float = 1.0
    latency: float = 0.0
    answer_tokens: int = 1_000

    def __post_init__(self) -> None:
        for name in ("direct_below", "local_above", "answer_tokens"):
            check_count(name, getattr(self, name))
        for name in ("cost", "latency"):
            check_number(name, getattr(self, name))
        if self.local_above < self.direct_below:
            message = f"local_above must be at least direct_below, {self.direct_below}, not {self.local_above}"
            raise ConfigurationError(message)

    def band(self, tokens: int) -> Band:
        """
        Say what a prompt of some length needs.

        Args:
            tokens: Its length.

        Returns:
            "direct": nothing; "prefix": that its beginning is not computed again; "local": hardware of one's own.
        """
        if tokens < self.direct_below:
            return "direct"
        return "prefix" if tokens <= self.local_above else "local"


class Candidate(Protocol):
    """A route that may be chosen."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def route(self) -> Route:
        """The route."""
        ...

    @property
    def window(self) -> int | None:
        """How many tokens prompt and answer may have together, or None where nobody knows."""
        ...


C = TypeVar("C", bound=Candidate)


class Question(NamedTuple):
    """
    What is known of a call before it is sent.

    Attributes:
        tokens: About how long its prompt is.
        reserved: How many tokens of its answer count against the window.
        mode: What matters to it.
        warm: The route that answered the conversation last, so that it may have its beginning in a cache.
    """

    tokens: int
    reserved: int = 0
    mode: Priority | None = None
    warm: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingDecision:
    """
    How a route was chosen for the model "auto".

    Attributes:
        band: What the length of the prompt asks for: "direct", "prefix" or "local".
        tokens: About how long it is.
        chosen: The route that is asked first; "default" is the client's own endpoint.
        order: All that may be asked, in that order.
        scores: For each route what price and time came to, the lower the better; a last resort has none.
        reason: Why *chosen* goes first, in words.
    """

    band: Band
    tokens: int
    chosen: str
    order: tuple[str, ...]
    scores: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""


class _Rank(NamedTuple):
    """What speaks against a route, the weightiest first; of two that have nothing between them the first given wins."""

    is_last_resort: bool
    is_too_small: bool
    is_for_other_calls: bool
    is_of_other_band: bool
    is_cold: bool
    score: float


# Why the first route goes before the second, by the first part of their ranks that differs.
_REASONS = {
    "is_last_resort": "the others are last resorts",
    "is_too_small": "the prompt may not fit into the others",
    "is_for_other_calls": "the others are meant for other calls",
    "is_of_other_band": "it is the kind of route for prompts of this length",
    "is_cold": "it answered this conversation last, and may have its beginning in a cache",
    "score": "it has the lowest score",
}


def decide(
    policy: RoutingPolicy,
    candidates: Sequence[C],
    question: Question,
    *,
    price_of: PriceOf | None = None,
    seconds_of: SecondsOf | None = None,
) -> tuple[RoutingDecision, list[C]]:
    """
    Put routes in the order in which they are asked for the model "auto".

    Args:
        policy: The rules.
        candidates: The routes, in the order in which they were given.
        question: The call.
        price_of: Gives for a model what a million tokens of prompt and of answer cost, or None where nobody knows; such
            a model counts as the dearest.
        seconds_of: Gives for a route how long it takes, or None where it was not asked lately; such a route counts as
            taking no time, so that it is asked, and known from then on.

    Returns:
        The decision, and the routes in their order.
    """
    band = policy.band(question.tokens)
    scored = [candidate for candidate in candidates if not candidate.route.is_last_resort]
    scores = _scores(policy, scored, question, price_of, seconds_of)
    ranks = {one.name: _rank(one, question, band, scores.get(one.name, 0.0)) for one in candidates}
    order = sorted(candidates, key=lambda one: ranks[one.name])
    decision = RoutingDecision(
        band=band,
        tokens=question.tokens,
        chosen=order[0].name if order else "",
        order=tuple(one.name for one in order),
        scores=scores,
        reason=_reason(band, [ranks[one.name] for one in order]),
    )
    return decision, order


def _rank(candidate: Candidate, question: Question, band: Band, score: float) -> _Rank:
    route, window = candidate.route, candidate.window
    return _Rank(
        is_last_resort=route.is_last_resort,
        is_too_small=window is not None and question.tokens + question.reserved > window,
        is_for_other_calls=route.mode not in (None, question.mode or "realtime"),
        is_of_other_band=(route.backend is not None) != (band == "local"),
        is_cold=band == "prefix" and candidate.name != question.warm,
        score=score,
    )


def _reason(band: Band, ranks: Sequence[_Rank]) -> str:
    if len(ranks) < 2:  # noqa: PLR2004  there is no choice
        return f"{band}: there is nothing else to ask"
    first, second = ranks[0]._asdict(), ranks[1]._asdict()
    why = next((reason for name, reason in _REASONS.items() if first[name] != second[name]), "it was given first")
    return f"{band}: {why}"


def _scores(
    policy: RoutingPolicy,
    candidates: Sequence[Candidate],
    question: Question,
    price_of: PriceOf | None,
    seconds_of: SecondsOf | None,
) -> dict[str, float]:
    """Add up price and time, each as a share of the highest one."""
    prices = [_price(policy, one, question, price_of) if policy.cost else None for one in candidates]
    seconds = [seconds_of(one.name) if policy.latency and seconds_of else None for one in candidates]
    costs, waits = _shares(prices, unknown=1.0), _shares(seconds, unknown=0.0)
    return {
        one.name: policy.cost * cost + policy.latency * wait
        for one, cost, wait in zip(candidates, costs, waits, strict=True)
    }


def _price(policy: RoutingPolicy, candidate: Candidate, question: Question, price_of: PriceOf | None) -> float | None:
    found = price_of(candidate.route.model) if price_of else None
    return None if found is None else float(found[0]) * question.tokens + float(found[1]) * policy.answer_tokens


def _shares(values: Sequence[float | None], *, unknown: float) -> list[float]:
    known = [value for value in values if value is not None]
    if not known:
        # Nothing tells them apart.
        return [0.0] * len(values)
    highest = max(known) or 1.0
    return [unknown if value is None else value / highest for value in values]
