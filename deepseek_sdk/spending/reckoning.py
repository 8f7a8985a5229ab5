"""What a call may need of each budget, and what it has used of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from deepseek_sdk._estimate import estimate_billed
from deepseek_sdk._mode import thinking_mode
from deepseek_sdk.routing.models import context_window
from deepseek_sdk.spending.budget import MOST
from deepseek_sdk.spending.needs import USUAL_OUTPUT, choices, longest_output, longest_prompt
from deepseek_sdk.spending.tariff import Tariff

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._call import Call
    from deepseek_sdk._record import Record
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.spending.budget import SpendBudget
    from deepseek_sdk.spending.tariff import CostOf, Rates

__all__ = ["Bill", "Expect", "Need", "Reckoner", "Reckoning"]

# How long a call may take, for the question whether its price may change meanwhile: a queue, and then so many tokens a
# second at the slowest.
_QUEUE_S, _TOKENS_PER_S = 600.0, 20.0


class Expect(Protocol):
    """Says how many tokens the answers of a model have, as `LengthTracker.expect` does."""

    def __call__(self, *, model: str, mode: Any, template: str | None) -> Any:
        """Tell the quantiles: `.total.p95` is read."""
        ...


class Need(NamedTuple):
    """
    What a call may need of one budget.

    Attributes:
        unit: The unit of the budget.
        amount: How much in all; 0 where it costs nothing, or nobody knows what.
        once: How much one attempt may need.
        unpriced: A model that may answer and has no known price, or None.
    """

    unit: str
    amount: int
    once: int
    unpriced: str | None = None


class _Asked(NamedTuple):
    """Who may be asked."""

    model: str
    window: int | None
    is_free: bool
    base_url: str = ""


class Reckoner:
    """
    Reckons with prices and lengths, by the server's clock once an answer has told it.

    Args:
        cost_of: Prices a usage, or None.
        expect: Says how long answers are, or None.
        retries: Says how often a call may be asked again of one route, or None.
        has_hosts: Tells whether prices may be those of one host only, or None.
    """

    def __init__(
        self,
        cost_of: CostOf | None,
        expect: Expect | None,
        retries: Callable[[Call], float] | None = None,
        has_hosts: Callable[[], bool] | None = None,
    ) -> None:
        self.tariff = Tariff(cost_of, has_hosts)
        self.expect = expect
        self._retries = retries
        # How far this machine's clock is behind the server's; None until an answer has told. It is set in one step, by
        # whichever thread comes by.
        self._skew: float | None = None
        self._heard: Record | None = None

    @property
    def knows_time(self) -> bool:
        """Whether an answer has told the time: before that a price may be unknown only since the clock is wrong."""
        return self._skew is not None

    def hear(self, record: Record) -> None:
        """
        Take note that a call is over; the garbage collector may say so, thus it is looked at later.

        Args:
            record: The record of the call.
        """
        if _has_date(record):
            self._heard = record

    def skew(self) -> float:
        """
        Say how far this machine's clock is behind the server's, by the last call that told.

        Returns:
            Seconds, negative where it is ahead; 0 where the clocks agree, or nothing is known.
        """
        heard, self._heard = self._heard, None
        if heard is not None:
            # What is wrong with one call is told where it is settled, and is nothing to the next one.
            with suppress(Exception):
                return self.skew_of(heard)
        return self._skew or 0.0

    def skew_of(self, record: Record) -> float:
        """
        Say how far this machine's clock was behind the server's during a call, as reports of it do, and remember it.

        Args:
            record: The record of the call.

        Returns:
            Seconds, likewise; what was last known where this call does not tell.
        """
        cost = _cost_of(record) if _has_date(record) else None
        if cost is not None:
            self._skew = cost.clock_skew or 0.0
        return self._skew or 0.0

    def rates(self, model: str, unit: str, start: float, end: float, base_url: str, *, skew: float) -> Rates | None:
        """
        Tell what tokens cost.

        Args:
            model: The model that answers.
            unit: "CNY" or "USD".
            start: When the answer may begin, in seconds since 1970, by this machine's clock.
            end: When it may end, likewise.
            base_url: The endpoint that is asked.
            skew: How far that clock is behind.

        Returns:
            The rates, or None where no price is known.
        """
        found = self.tariff.rates(model, unit, start + skew, end + skew, base_url)
        if found is None and skew:
            # The server's clock may be the wrong one: what has a price by either is counted.
            found = self.tariff.rates(model, unit, start, end, base_url)
        return found

    def look_at(self, call: Call, now: float) -> Reckoning:
        """
        Look at a call.

        Args:
            call: It.
            now: The time, in seconds since 1970.

        Returns:
            What can be told of it.
        """
        return Reckoning(self, call, now)

    def attempts(self, call: Call) -> int:
        """
        Say how often each of its targets may be asked.

        Args:
            call: The call.

        Returns:
            The number; of a call that may be asked for ever, as often as it may by default.
        """
        retries = call.max_retries if self._retries is None else self._retries(call)
        return 1 + int(retries if isfinite(retries) else call.max_retries)


class Reckoning:
    """
    What one call may need.

    Args:
        reckoner: Knows prices and lengths.
        call: The call.
        now: The time, in seconds since 1970.
    """

    def __init__(self, reckoner: Reckoner, call: Call, now: float) -> None:
        self._reckoner = reckoner
        self._call = call
        self._now = now
        asked = [_asked(target, call) for target in call.targets or (call.upstream,)]
        self._asked = asked if len(asked) == 1 else list(dict.fromkeys(asked))
        self._mode = thinking_mode(call.body)
        self._choices = choices(call.body)
        self._prompts: dict[bool, int] = {}

    def need(self, budget: SpendBudget) -> Need:
        """
        Say what it may need of a budget.

        Args:
            budget: It.

        Returns:
            The need: "worst" for every attempt that may be made, "expected" for the dearest one.
        """
        is_worst, unit = budget.reserve == "worst", budget.unit
        total, once, unpriced = 0, 0, None
        for asked in self._asked:
            cost = self._cost(asked, unit, is_worst=is_worst)
            if cost is None:
                unpriced = asked.model
            else:
                total, once = total + cost, max(once, cost)
        amount = total * self._reckoner.attempts(self._call) if is_worst else once
        return Need(unit, min(amount, MOST), once, unpriced)

    def _cost(self, asked: _Asked, unit: str, *, is_worst: bool) -> int | None:
        if asked.is_free and unit != "tokens":
            return 0
        prompt, output = self._prompt(is_worst=is_worst), self._output(asked, is_worst=is_worst)
        if unit == "tokens":
            return prompt + output
        took = min(_QUEUE_S + output / _TOKENS_PER_S, self._call.limits.total)
        now, skew = self._now, self._skew()
        rates = self._reckoner.rates(asked.model, unit, now, now + took, asked.base_url, skew=skew)
        # At least something: whoever spends must have something left.
        return None if rates is None else max(1, prompt * max(rates.hit, rates.miss) + output * rates.output)

    def _skew(self) -> float:
        # The skew is that of the machine's clock, and budgets may have been given another, which is right.
        skew = self._reckoner.skew()
        return self._call.record.at + skew - self._now if skew else 0.0

    def _prompt(self, *, is_worst: bool) -> int:
        found = self._prompts.get(is_worst)
        if found is None:
            body, counted = self._call.body, self._call.record.counted or 0
            # What was counted may have become longer on the way here.
            found = longest_prompt(body) if is_worst else max(counted, 1 + estimate_billed(body))
            self._prompts[is_worst] = found
        return found

    def _output(self, asked: _Asked, *, is_worst: bool) -> int:
        longest = longest_output(self._call.body, asked.model, asked.window, self._mode)
        return (longest if is_worst else min(longest, self._usual_output(asked))) * self._choices

    def _usual_output(self, asked: _Asked) -> int:
        expect = self._reckoner.expect
        if expect is None:
            return USUAL_OUTPUT[self._mode]
        found = expect(model=asked.model, mode=self._mode, template=self._call.record.template)
        return max(1, ceil(float(found.total.p95)))


class Bill:
    """
    Tells what a call has used, by what its record says of the attempts made since this was made.

    Args:
        reckoner: Knows prices.
        needs: What was reserved, one for each budget.
        record: The record of the call.
    """

    __slots__ = ("_first", "_last", "_needs", "_reckoner", "_record")

    def __init__(self, reckoner: Reckoner, needs: Sequence[Need], record: Record) -> None:
        self._reckoner = reckoner
        self._needs = needs
        self._record = record
        # A call may come by more than once, where an outer stage asks again.
        self._first = len(record.attempts)
        self._last: int | None = None

    def close(self) -> None:
        """Say that the attempts made until now are all: later ones are somebody else's to count."""
        if self._last is None:
            self._last = len(self._record.attempts)
            self._reckoner.hear(self._record)

    def __call__(self) -> list[int]:
        """Add it up."""
        attempts, used = self._record.attempts[self._first : self._last], [0] * len(self._needs)
        has_money = any(need.unit != "tokens" for need in self._needs)
        skew = self._reckoner.skew_of(self._record) if attempts and has_money else 0.0
        for attempt in attempts:
            for place, need in enumerate(self._needs):
                used[place] += self._used(attempt, need, skew)
        return used

    def _used(self, attempt: Attempt, need: Need, skew: float) -> int:
        usage = attempt.usage
        if usage is None:
            return need.once if _is_billed(attempt, need) else 0
        if need.unit == "tokens":
            return usage.prompt + usage.output
        return 0 if _is_here(attempt.account) else self._cost(attempt, usage, need, skew)

    def _cost(self, attempt: Attempt, usage: Usage, need: Need, skew: float) -> int:
        begun = self._record.at + attempt.started
        ended = begun if attempt.ended is None else self._record.at + attempt.ended
        account, reckoner = attempt.account, self._reckoner
        base_url = "" if account is None else account.base_url
        rates = reckoner.rates(attempt.model, need.unit, begun, ended, base_url, skew=skew)
        if rates is None and account is not None:
            # The server may know the model by another name than the price list.
            rates = reckoner.rates(account.model, need.unit, begun, ended, base_url, skew=skew)
        return 0 if rates is None else rates.of(usage)


def _has_date(record: Record) -> bool:
    return record.headers is not None and record.headers.get("date") is not None


def _cost_of(record: Record) -> Cost | None:
    """Tell what reports say that a call costs: it says by which clock."""
    cost = record.cost()
    if cost is not None or record.price is None:
        return cost
    # Again: the server may know the model by another name.
    return record.price(replace(record, attempts=[_as_asked(attempt) for attempt in record.attempts]))


def _as_asked(attempt: Attempt) -> Attempt:
    return attempt if attempt.account is None else replace(attempt, model=attempt.account.model)


def _is_billed(attempt: Attempt, need: Need) -> bool:
    """Tell of an attempt whose usage is neither told nor estimated whether what was reserved for it counts."""
    account = attempt.account
    if account is None or (need.unit != "tokens" and _is_here(account)):
        return False
    return attempt.is_possibly_billed or attempt.outcome in ("complete", "running")


def _is_here(account: Account | None) -> bool:
    return account is not None and account.backend is not None


def _asked(target: Any, call: Call) -> _Asked:
    if not hasattr(target, "account"):
        # The end of a chain of somebody's own, which need not know targets.
        return _Asked(call.model, context_window(call.model), is_free=False)
    route, account = getattr(target, "route", None), target.account
    model = call.model if route is None else route.model
    window = getattr(target, "context_window", None)
    is_free = account is None or _is_here(account)
    return _Asked(model or call.model, window, is_free, "" if is_free else account.base_url)
