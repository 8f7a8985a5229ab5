"""`Books`: what a client counts, pays by and writes down; most of it is made when it is first needed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deepseek_sdk._clock import Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.router import Router

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

    from deepseek_sdk._call import Call
    from deepseek_sdk._record import Record
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.ledger import Ledger, RecentCalls, UsageReport
    from deepseek_sdk.ledger.period import Instant
    from deepseek_sdk.pricing import Cost, PriceBook
    from deepseek_sdk.routing.auto import RoutingPolicy
    from deepseek_sdk.spending import Budgets
    from deepseek_sdk.telemetry import Telemetry
    from deepseek_sdk.tokens import Counter, Drift
    from deepseek_sdk.tokens.fitting import CutMemory
    from deepseek_sdk.tokens.lengths import LengthEstimate, LengthTracker

__all__ = ["Books"]

_MILLION = 1_000_000


class Books:
    """
    Shared by a client and its children.

    Args:
        given: The arguments of the client: *spend_budget*, *routing*, *prices*, *telemetry*, *ledger*, *cache*.
        settings: What holds for *prices*, *ledger* and *cache* where they were not given.

    Attributes:
        telemetry: What spans and metrics tell, or None: there are none.
        budgets: What calls may spend, or None: there is no limit.
        ledger: Where calls are written down: in a file, or for the life of this client.
        cache: Where answers are kept, or None: nowhere.
        router: Chooses among routes for the model "auto".

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    def __init__(self, given: Mapping[str, Any] | None = None, settings: Mapping[str, Any] | None = None) -> None:
        self._given = {name: value for name, value in (given or {}).items() if not isinstance(value, Unset)}
        self._settings = settings or {}
        if self._said("prices") is not None:
            # What is given is looked at now: a mistake is told where it was made.
            _ = self.prices
        self.telemetry = self._telemetry()
        self.budgets = self._budgets()
        self.ledger = self._ledger()
        self.cache = self._cache()
        self.router = Router(self._routing(), price_of=self._price_of)

    def _said(self, name: str) -> Any:
        return self._given[name] if name in self._given else self._settings.get(name)

    def _telemetry(self) -> Telemetry | None:
        from deepseek_sdk.telemetry.settings import Telemetry  # noqa: PLC0415  not part of importing the library

        given = self._given.get("telemetry", True)
        if isinstance(given, bool):
            return Telemetry() if given else None
        if not isinstance(given, Telemetry):
            raise ConfigurationError(f"telemetry must be a Telemetry, True or False, not {given!r}")
        return given

    def _budgets(self) -> Budgets | None:
        if self._given.get("spend_budget") is None:
            return None
        from deepseek_sdk.spending.budgets import budgets_of  # noqa: PLC0415  likewise

        return budgets_of(self._given["spend_budget"])

    def _ledger(self) -> Ledger | RecentCalls:
        from deepseek_sdk.ledger.recent import RecentCalls  # noqa: PLC0415  likewise

        said = self._said("ledger")
        if said in (None, False, "off"):
            return RecentCalls()
        from deepseek_sdk.ledger.ledger import make_ledger  # noqa: PLC0415  few clients have one

        return make_ledger(said) or RecentCalls()

    def _cache(self) -> ExactCache | None:
        said = self._said("cache")
        if said in (None, False, "off"):
            return None
        from deepseek_sdk.caching.choosing import cache_of  # noqa: PLC0415  few clients have one

        cache = cache_of(said)
        # The first hit tells what it saved: the prices are loaded now, and not on somebody's event loop.
        _ = self.prices
        return cache

    def _routing(self) -> RoutingPolicy | None:
        from deepseek_sdk.routing.auto import RoutingPolicy  # noqa: PLC0415  likewise

        routing = self._given.get("routing")
        if not isinstance(routing, RoutingPolicy | None):
            raise ConfigurationError(f"routing must be a RoutingPolicy, not {routing!r}")
        return routing

    @cached_property
    def prices(self) -> PriceBook:
        """What tokens cost."""
        from deepseek_sdk.pricing import PriceBook  # noqa: PLC0415  likewise

        said = self._said("prices")
        if isinstance(said, str | os.PathLike):
            return PriceBook.from_file(said)
        if not isinstance(said, PriceBook | None):
            raise ConfigurationError(f"prices must be a file or a PriceBook, not {said!r}")
        return said or PriceBook.builtin()

    @cached_property
    def counter(self) -> Counter:
        """What counts tokens."""
        from deepseek_sdk.tokens import Counter  # noqa: PLC0415  likewise

        return Counter()

    @cached_property
    def drift(self) -> Drift:
        """How the counts compare with the bills."""
        from deepseek_sdk.tokens import Drift  # noqa: PLC0415  likewise

        return Drift()

    @cached_property
    def cuts(self) -> CutMemory:
        """Where conversations that were too long have been cut."""
        from deepseek_sdk.tokens.fitting import CutMemory  # noqa: PLC0415  likewise

        return CutMemory()

    @cached_property
    def lengths(self) -> LengthTracker:
        """How long answers are."""
        from deepseek_sdk.tokens.lengths import LengthTracker  # noqa: PLC0415  likewise

        return LengthTracker()

    def price(self, record: Record) -> Cost | None:
        """
        Tell what a call costs.

        Args:
            record: It.

        Returns:
            The cost, or None where no price is known.
        """
        from deepseek_sdk.pricing import bill  # noqa: PLC0415  likewise

        return bill(record, self.prices)

    def cost_of(self, usage: Usage, model: str, start: float, end: float, *, host: str | None = None) -> Cost | None:
        """
        Tell what tokens cost.

        Args:
            usage: The tokens.
            model: The model that answers.
            start: When it begins to, in seconds since 1970.
            end: When it has ended, likewise.
            host: The host that answers, where that matters to the prices.

        Returns:
            The cost, or None where no price is known.
        """
        from deepseek_sdk.pricing import cost_of  # noqa: PLC0415  likewise

        return cost_of(usage, model, start, end, self.prices, host=host)

    def saving(self, usage: Usage, model: str, *, at: float | None = None) -> Cost | None:
        """
        Tell what an answer that the cache gives would have cost.

        Args:
            usage: Its tokens, when it was generated.
            model: The model that gave it.
            at: When it is given, in seconds since 1970, or None: now.

        Returns:
            The cost as if the server's own cache had all of the prompt, which is the least that it may be; None where
            no price is known.
        """
        start = time.time() if at is None else at
        return self.cost_of(replace(usage, hit=usage.prompt, miss=0), model, start, start)

    def expect(self, *, model: str, mode: str, template: str | None) -> LengthEstimate:
        """
        Tell how long answers are.

        Args:
            model: The model that answers.
            mode: How much it may think.
            template: What kind of prompt it is.

        Returns:
            The quantiles; by an assumption where too few answers have come.
        """
        return self.lengths.expect(model=model, mode=mode, template=template)

    def expected(self, call: Call) -> int | None:
        """
        Tell how long an answer may become.

        Args:
            call: What is asked.

        Returns:
            Tokens that 95 of 100 answers of its kind do not exceed, or None where too few have come.
        """
        record = call.record
        found = self.lengths.expect(model=call.model, mode=record.mode, template=record.template)
        return found.total.p95 if found.samples else None

    def known_tokens(self, body: Mapping[str, Any]) -> int | None:
        """
        Tell how many tokens a request has, if it was counted already.

        Args:
            body: Its JSON body.

        Returns:
            The exact number, or None.
        """
        counter: Counter | None = vars(self).get("counter")
        return None if counter is None else counter.known(body)

    @property
    def observers(self) -> tuple[Callable[[Record], object], ...]:
        """Who learns how calls went, in this order."""
        # Made now: the first call may end inside the garbage collector, which is no place to import anything.
        _ = self._tell_lengths
        return self._learn, self.router.memory, self.ledger

    def close(self) -> None:
        """Write down what is not written yet; what was given stays open, it may be somebody else's too."""
        for name, book in (("ledger", self.ledger), ("spend_budget", self.budgets), ("cache", self.cache)):
            close = getattr(book, "close", None)
            if close is not None and self._given.get(name) is not book:
                close()

    def settle(self) -> None:
        """Write down what waits, whoever it belongs to: the program ends."""
        for book in (self.ledger, self.budgets):
            close = getattr(book, "close", None)
            if close is not None:
                close()

    def usage(
        self, since: Instant, until: Instant, by: str | None, *, only: Mapping[str, str] | None, tz: tzinfo | str | None
    ) -> UsageReport:
        """
        Add up what calls used and cost; see `Client.usage()`.

        Args:
            since: From when on.
            until: Before when.
            by: What to tell calls apart by.
            only: Count these calls alone.
            tz: Whose days, or the name of their zone; None: those of Beijing.

        Returns:
            The sums.
        """
        given: dict[str, Any] = {} if tz is None else {"tz": tz}
        return self.ledger.usage_noted(since, until, by, only=only, **given)

    def _learn(self, record: Record) -> None:
        self._tell_lengths(record)
        # What was mended on the way, or asked for twice, is not what was counted.
        if record.counted is None or len(record.attempts) != 1 or record.repairs:
            return
        usage = record.usage_told
        if usage is not None:
            self.drift.note(record.attempts[0].model, record.counted, usage.prompt)

    @cached_property
    def _tell_lengths(self) -> Callable[[Record], object]:
        from deepseek_sdk.tokens.lengths import LengthObserver  # noqa: PLC0415  likewise

        return LengthObserver(self.lengths)

    def _price_of(self, model: str) -> tuple[float, float] | None:
        now = time.time()
        _, rates = self.prices.rates(model, now, now)
        prices = (rates[0].cny or rates[0].usd) if rates else None
        return None if prices is None else (float(prices.miss) * _MILLION, float(prices.output) * _MILLION)
