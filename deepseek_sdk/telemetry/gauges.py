"""Gauges: how circuits, limits and budgets stand, looked at when a reader collects, and at no other time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from deepseek_sdk.telemetry import semconv
from deepseek_sdk.telemetry.place import Place, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.breaker import Breakers
    from deepseek_sdk.resilience.limiting.limiter import Limiters
    from deepseek_sdk.spending.budgets import Budgets

__all__ = ["Gauges", "Source", "Sources", "gauges_of"]

_KEY = "_deepseek_sdk_gauges"
_STATES = ("closed", "open", "half_open")
# A service may take models from its callers, and make clients for them: each would be a series.
_MOST = 256
_OTHER = "_OTHER"


class Source:
    """
    What gauges look at of a client and its children. It is looked at for as long as somebody keeps it.

    Args:
        breakers: Their circuit breakers.
        limiters: Their limiters.
        budgets: Their spend budgets, or None.
        sources: What it belongs to: where one is kept, that is.
    """

    __slots__ = ("__weakref__", "_sources", "breakers", "budgets", "limiters")

    def __init__(self, breakers: Breakers, limiters: Limiters, budgets: Budgets | None, sources: Sources) -> None:
        self._sources = sources
        self.breakers = breakers
        self.limiters = limiters
        self.budgets = budgets


class Sources:
    """
    What the clients that share a `Telemetry` let gauges look at.

    Args:
        providers: What serves at hosts that are not DeepSeek's.

    Attributes:
        providers: As given.
        gauges: Who looks at them, or None; the last one that was told to, where the provider was changed.
    """

    def __init__(self, providers: Mapping[str, str]) -> None:
        self.providers = providers
        self.gauges: Gauges | None = None
        self._kept: WeakValueDictionary[int, Source] = WeakValueDictionary()

    def __iter__(self) -> Iterator[Source]:
        # A copy: clients come and go in other threads.
        found = [reference() for reference in self._kept.valuerefs()]
        return iter([source for source in found if source is not None])

    def show(self, breakers: Breakers, limiters: Limiters, budgets: Budgets | None) -> Source:
        """
        Let gauges look at what a client has, from its first call on that somebody listens to.

        Args:
            breakers: Its circuit breakers.
            limiters: Its limiters.
            budgets: Its spend budgets, or None.

        Returns:
            What is looked at for as long as it is kept.
        """
        source = Source(breakers, limiters, budgets, self)
        self._kept[id(source)] = source
        return source


class _Series(NamedTuple):
    """What tells circuits and limiters apart; not the key: those of several are added up."""

    place: Place
    model: str

    def attributes(self) -> dict[str, Any]:
        told: dict[str, Any] = {semconv.PROVIDER: self.place.provider, semconv.MODEL: self.model}
        if self.place.host:
            told[semconv.SERVER_ADDRESS] = self.place.host
            if self.place.port is not None:
                told[semconv.SERVER_PORT] = self.place.port
        return told


class Gauges:
    """
    Tells a meter how circuits, limits and budgets stand, those of all clients of the process together.

    What several clients share is counted once. What they have apart is added up; of budgets of the same name, and of
    the users of one budget, the one is told that has the least left. Nobody is named, and nothing waits for a disk.
    """

    def __init__(self) -> None:
        self._watched: WeakValueDictionary[int, Sources] = WeakValueDictionary()
        self._series: set[object] = set()
        self._has_instruments = False

    def watch(self, sources: Sources) -> None:
        """
        Look at what clients have; whoever looked at it before does not any more.

        Args:
            sources: It; held weakly.
        """
        sources.gauges = self
        self._watched[id(sources)] = sources

    def register(self, meter: Any) -> None:
        """
        Make the instruments, unless they are there.

        Args:
            meter: Makes them.
        """
        if self._has_instruments:
            return
        self._has_instruments = True
        counter, gauge = meter.create_observable_up_down_counter, meter.create_observable_gauge
        counter(semconv.CIRCUIT, [self._circuits], "{circuit}", "Circuit breakers, by their state.")
        counter(semconv.LIMIT_USED, [self._used], "{request}", "Calls that hold a place of a concurrency limit.")
        counter(semconv.LIMIT_CURRENT, [self._limits], "{request}", "How many calls may hold a place now.")
        gauge(semconv.BUDGET, [self._budgets], "1", "What is left of a spend budget: 1 is all of it, 0 nothing.")

    def _circuits(self, _: object) -> Iterable[Any]:
        counts: Counter[tuple[_Series, str]] = Counter()
        for series, breaker in self._each("breakers"):
            counts[series, breaker.state] += 1
        # With those that are none: what was open has to be seen to be open no more.
        return _observed(
            (counts[series, state], {**series.attributes(), semconv.CIRCUIT_STATE: state})
            for series in {series for series, _ in counts}
            for state in _STATES
        )

    def _used(self, _: object) -> Iterable[Any]:
        return self._summed("in_flight")

    def _limits(self, _: object) -> Iterable[Any]:
        return self._summed("limit")

    def _summed(self, name: str) -> Iterable[Any]:
        sums: Counter[_Series] = Counter()
        for series, limiter in self._each("limiters"):
            sums[series] += getattr(limiter, name)
        return _observed((total, series.attributes()) for series, total in sums.items())

    def _budgets(self, _: object) -> Iterable[Any]:
        least: dict[str, float] = {}
        for _providers, budgets in self._registries("budgets"):
            for name, share in budgets.shares().items():
                shown = name if self._is_known(name) else _OTHER
                least[shown] = min(share, least.get(shown, share))
        return _observed((share, {semconv.BUDGET_NAME: name}) for name, share in least.items())

    def _each(self, name: str) -> Iterator[tuple[_Series, Any]]:
        for providers, registry in self._registries(name):
            for kept in registry:
                yield self._series_of(kept.account, providers), kept

    def _registries(self, name: str) -> Iterator[tuple[Mapping[str, str], Any]]:
        seen = set()
        for reference in self._watched.valuerefs():
            sources = reference()
            if sources is None or sources.gauges is not self:
                continue
            for source in sources:
                registry = getattr(source, name)
                if registry is not None and id(registry) not in seen:
                    seen.add(id(registry))
                    yield sources.providers, registry

    def _series_of(self, account: Account, providers: Mapping[str, str]) -> _Series:
        series = _Series(place_of(account, providers), account.model)
        return series if self._is_known(series) else series._replace(model=_OTHER)

    def _is_known(self, key: object) -> bool:
        if key not in self._series and len(self._series) < _MOST:
            self._series.add(key)
        return key in self._series


def _observed(values: Iterable[tuple[float, dict[str, Any]]]) -> list[Any]:
    from opentelemetry.metrics import Observation  # noqa: PLC0415  only where somebody listens

    return [Observation(value, attributes) for value, attributes in values]


def gauges_of(meter: Any) -> Gauges:
    """
    Find the gauges of a meter: all clients of a process share them.

    Args:
        meter: The meter.

    Returns:
        They; a meter that cannot hold them gets new ones.
    """
    held: Any = getattr(meter, "__dict__", {})
    # Found before instruments are made: of two threads' gauges the ones that are kept must be theirs.
    gauges: Gauges = held.setdefault(_KEY, Gauges())
    gauges.register(meter)
    return gauges
