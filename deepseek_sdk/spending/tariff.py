"""`Tariff`: what a token costs, as whole numbers that are quickly multiplied."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from deepseek_sdk._usage import Usage
from deepseek_sdk.spending.budget import MOST

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CostOf", "Priced", "Rates", "Tariff"]

# Prices change at full hours, now and then at a quarter past; an interval is widened to quarters, which can only make
# it dearer where a price file of one's own says otherwise.
_QUARTER_S = 900
_MILLION = 1_000_000
_MOST_RATES = 1024


class Priced(Protocol):
    """What something costs at most, in each currency; None where that is not known."""

    @property
    def cny_high(self) -> Decimal | None:
        """In yuan."""
        ...

    @property
    def usd_high(self) -> Decimal | None:
        """In dollars."""
        ...


class CostOf(Protocol):
    """
    Tells what a usage of a model costs between two instants, in seconds since 1970; None where no price is known.

    Where prices may be those of one host only, `host=` is given, too.
    """

    def __call__(self, usage: Usage, model: str, start: float, end: float, /) -> Priced | None:
        """Look it up."""
        ...


class Rates(NamedTuple):
    """What one token costs: of a prompt from the cache, of another prompt, of an answer; in 10**-12 of the currency."""

    hit: int
    miss: int
    output: int

    def of(self, usage: Usage) -> int:
        """
        Price a usage.

        Args:
            usage: It.

        Returns:
            The cost in 10**-12 of the currency; not more than any budget can be.
        """
        return min(usage.hit * self.hit + usage.miss * self.miss + usage.output * self.output, MOST)


class Tariff:
    """
    The price list, for budgets: where the price changes in between, the dearer one.

    Args:
        cost_of: Prices a usage, or None: no price is known.
        has_hosts: Tells whether prices may be those of one host only; None: they never are.
    """

    def __init__(self, cost_of: CostOf | None, has_hosts: Callable[[], bool] | None = None) -> None:
        self._cost_of = cost_of
        self._has_hosts = has_hosts
        self._kept: dict[tuple[str, str, int, int, str], Rates | None] = {}

    def rates(self, model: str, unit: str, start: float, end: float, base_url: str = "") -> Rates | None:
        """
        Tell what tokens cost.

        Args:
            model: The model that answers.
            unit: "CNY" or "USD".
            start: When the answer may begin, in seconds since 1970.
            end: When it may end.
            base_url: The endpoint that is asked.

        Returns:
            The rates, or None where no price is known.
        """
        key = (model, unit, int(start // _QUARTER_S), int(end // _QUARTER_S), base_url)
        try:
            return self._kept[key]
        except KeyError:
            return self._keep(key)

    def _keep(self, key: tuple[str, str, int, int, str]) -> Rates | None:
        if len(self._kept) >= _MOST_RATES:
            self._kept.clear()
        found = self._look_up(*key)
        self._kept[key] = found
        return found

    def _look_up(self, model: str, unit: str, first: int, last: int, base_url: str) -> Rates | None:
        if self._cost_of is None:
            return None
        host = urlsplit(base_url).hostname if self._has_hosts is not None and self._has_hosts() else None
        where: dict[str, Any] = {} if host is None else {"host": host}
        # The end of the last quarter is already another one.
        start, end = first * _QUARTER_S, (last + 1) * _QUARTER_S - 0.001
        rates = []
        for name in ("hit", "miss", "output"):
            usage = Usage(**{"hit": 0, "miss": 0, "output": 0, "reasoning": 0, name: _MILLION})
            cost = self._cost_of(usage, model, start, end, **where)
            price = None if cost is None else cost.cny_high if unit == "CNY" else cost.usd_high
            if price is None:
                return None
            rates.append(_parts(price))
        return Rates(*rates)


def _parts(price: Decimal) -> int:
    """Make of the price of a million tokens the price of one, in 10**-12."""
    with localcontext(prec=60):
        return int((price * 10**12 / _MILLION).to_integral_value(ROUND_CEILING))
