"""What files of prices say, and how one is laid over another."""

from __future__ import annotations

import hashlib
import math
import re
from datetime import date
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.errors import PriceFileError
from deepseek_sdk.pricing.card import Card, Meter, Prices
from deepseek_sdk.pricing.table import (
    MisfitError,
    Table,
    a_date,
    a_day,
    a_flag,
    a_number,
    a_price,
    a_text,
    an_instant,
    each,
)
from deepseek_sdk.pricing.tariff import DAY_S, EPOCH, Regime, Year

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Sheet", "digest", "parse_sheet"]

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WINDOW = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)|([01]\d|2[0-3]):([0-5]\d)-24:00")
_TIERED, _FLAT = {"peak", "off_peak"}, {"flat"}
_KEYS = ("as_of", "card", "tariff", "holidays", "aliases", "meter", "replace")
_CARD_KEYS = ("model", "host", "valid_from", "valid_until", "source", "CNY", "USD")
_TARIFF_KEYS = ("valid_from", "windows", "days", "holidays", "source")
_YEAR_KEYS = ("off", "unsure", "source")
_METER_KEYS = ("name", "unit", "per", "CNY", "USD", "valid_from", "source")


class Sheet(NamedTuple):
    """
    What a file of prices says, or several.

    Attributes:
        as_of: When its prices were last compared with the service's own.
        cards: The cards, in the order of their models and instants.
        regimes: The rules for peak hours.
        years: The holidays, by year.
        aliases: Names of models, and the models whose cards hold for them.
        meters: Prices of what is not counted in tokens.
        is_alone: It counts without the prices that come with the library.
    """

    as_of: date
    cards: tuple[Card, ...] = ()
    regimes: tuple[Regime, ...] = ()
    years: Mapping[int, Year] = MappingProxyType({})
    aliases: Mapping[str, str] = MappingProxyType({})
    meters: tuple[Meter, ...] = ()
    is_alone: bool = False

    def over(self, base: Sheet) -> Sheet:
        """
        Lay this over another.

        Args:
            base: What holds where this says nothing.

        Returns:
            Both. For a model that this has cards for, the base counts only before the first of them.
        """
        first = {(card.host, card.model): card.valid_from for card in reversed(self.cards)}
        kept = [card for card in base.cards if card.valid_from < first.get((card.host, card.model), math.inf)]
        named = {meter.name for meter in self.meters}
        return Sheet(
            as_of=self.as_of,
            cards=(*kept, *self.cards),
            regimes=self.regimes or base.regimes,
            years={**base.years, **self.years},
            aliases={**base.aliases, **self.aliases},
            meters=(*(meter for meter in base.meters if meter.name not in named), *self.meters),
        )


def digest(texts: Iterable[bytes]) -> str:
    """
    Make a short mark of files.

    Args:
        texts: Their contents.

    Returns:
        8 characters that change with them.
    """
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:8]


def parse_sheet(data: bytes, path: str) -> Sheet:
    """
    Read a file of prices.

    Args:
        data: Its content.
        path: What messages call it.

    Returns:
        What it says.

    Raises:
        PriceFileError: It cannot be used; the message names the table and the key.
    """
    table = Table(_toml(data, path), path=path).only(*_KEYS)
    sheet = Sheet(
        as_of=table.read("as_of", a_date),
        cards=_sorted(table.tables("card", named_by="model")),
        regimes=tuple(map(_regime, table.tables("tariff", named_by="valid_from"))),
        years=_years(table.table("holidays")),
        aliases=_aliases(table.table("aliases")),
        meters=tuple(map(_meter, table.tables("meter", named_by="name"))),
        is_alone=table.read("replace", a_flag, default=False),
    )
    table.close()
    return sheet


def _toml(data: bytes, path: str) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  importing the package reads no file
    from decimal import Decimal  # noqa: PLC0415  likewise

    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError:
        raise PriceFileError("the file is not UTF-8", path=path) from None
    except (tomllib.TOMLDecodeError, ArithmeticError, RecursionError, ValueError) as error:
        raise PriceFileError(f"no TOML: {str(error) or type(error).__name__}", path=path) from None


def _sorted(tables: Iterable[Table]) -> tuple[Card, ...]:
    """Read cards, and put them in order; two of one model may not begin at the same instant."""
    read = [(_card(table), table) for table in tables]
    read.sort(key=lambda item: (item[0].host or "", item[0].model, item[0].valid_from))
    for _, same in groupby(read, key=lambda item: (item[0].host, item[0].model, item[0].valid_from)):
        _, *others = same
        if others:
            raise others[0][1].wrong("valid_from", "another card of the model begins at the same instant")
    return tuple(card for card, _ in read)


def _card(table: Table) -> Card:
    table.only(*_CARD_KEYS)
    card = Card(
        model=table.read("model", a_text),
        host=table.read("host", a_text, default=None),
        valid_from=table.read("valid_from", an_instant, default=-math.inf),
        valid_until=table.read("valid_until", an_instant, default=math.inf),
        source=table.read("source", a_text, default=""),
        cny=_tiers(table.table("CNY")),
        usd=_tiers(table.table("USD")),
    )
    table.close()
    if not card.tiers:
        raise table.wrong(None, "it has no prices: give CNY, USD or both")
    if card.cny and card.usd and card.cny.keys() != card.usd.keys():
        raise table.wrong("USD", f"the same tiers as in CNY are expected: {', '.join(card.cny)}")
    if card.valid_until <= card.valid_from:
        raise table.wrong("valid_until", "it must lie after valid_from")
    return card


def _tiers(table: Table | None) -> dict[Any, Prices]:
    if table is None:
        return {}
    inner = table.inner()
    if set(inner) not in (_TIERED, _FLAT):
        given = ", ".join(inner) or "nothing"
        raise table.wrong(None, f'either "flat", or "peak" and "off_peak", are expected, not {given}')
    return {tier: _prices(prices) for tier, prices in inner.items()}


def _prices(table: Table) -> Prices:
    table.only(*Prices._fields)
    prices = Prices(*(table.read(name, a_price) for name in Prices._fields))
    table.close()
    return prices


def _regime(table: Table) -> Regime:
    table.only(*_TARIFF_KEYS)
    regime = Regime(
        valid_from=table.read("valid_from", an_instant, default=-math.inf),
        windows=tuple(part for window in table.read("windows", each(_window)) for part in window),
        weekdays=frozenset(table.read("days", each(_weekday))),
        has_holidays=table.read("holidays", _holidays, default=False),
    )
    table.read("source", a_text, default="")
    table.close()
    return regime


def _window(value: object) -> tuple[tuple[int, int], ...]:
    """Read a window; one that goes past midnight becomes two."""
    found = _WINDOW.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise MisfitError('hours such as "09:00-12:00"')
    start, end = (_seconds(part) for part in found[0].split("-"))
    parts = ((start, end),) if start < end else ((start, DAY_S), (0, end))
    return tuple(part for part in parts if part[0] < part[1])


def _seconds(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60


def _weekday(value: object) -> int:
    if value not in _WEEKDAYS:
        raise MisfitError(f"a day of {', '.join(_WEEKDAYS)}")
    return _WEEKDAYS.index(str(value))


def _holidays(value: object) -> bool:
    if value not in ("peak", "off_peak"):
        raise MisfitError('"peak" or "off_peak"')
    return value == "off_peak"


def _years(table: Table | None) -> dict[int, Year]:
    return {} if table is None else dict(_year(key, inner) for key, inner in table.inner().items())


def _year(key: str, table: Table) -> tuple[int, Year]:
    if not re.fullmatch(r"[12]\d{3}", key):
        raise table.wrong(None, "a year such as 2026 is expected")
    table.only(*_YEAR_KEYS)
    year = Year(
        off=frozenset(table.read("off", each(a_day))),
        unsure=frozenset(table.read("unsure", each(a_day), default=())),
        source=table.read("source", a_text, default=""),
    )
    table.close()
    _check_year(table, int(key), year)
    return int(key), year


def _check_year(table: Table, number: int, year: Year) -> None:
    first, after = (date(n, 1, 1).toordinal() - EPOCH for n in (number, number + 1))
    for key, days in (("off", year.off), ("unsure", year.unsure)):
        if any(not first <= day < after for day in days):
            raise table.wrong(key, f"all days must lie in {number}")
    if year.off & year.unsure:
        raise table.wrong("unsure", "a day is in off as well")


def _aliases(table: Table | None) -> dict[str, str]:
    return {} if table is None else table.rest(a_text)


def _meter(table: Table) -> Meter:
    table.only(*_METER_KEYS)
    meter = Meter(
        name=table.read("name", a_text),
        unit=table.read("unit", a_text),
        per=table.read("per", a_number),
        cny=table.read("CNY", a_price, default=None),
        usd=table.read("USD", a_price, default=None),
        valid_from=table.read("valid_from", an_instant, default=-math.inf),
        source=table.read("source", a_text, default=""),
    )
    table.close()
    return meter
