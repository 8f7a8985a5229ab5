"""`PriceBook`: the prices that hold for a client."""

from __future__ import annotations

import logging
import math
import os
import pkgutil
from bisect import bisect_right
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.errors import PriceFileError
from deepseek_sdk.pricing.clock import ServerClock
from deepseek_sdk.pricing.sheet import digest, parse_sheet
from deepseek_sdk.pricing.tariff import Tariff, date_in_beijing
from deepseek_sdk.routing.models import ALIASES, RETIRED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date

    from deepseek_sdk.pricing.card import Card, Meter, Rate
    from deepseek_sdk.pricing.sheet import Sheet
    from deepseek_sdk.pricing.tariff import Tier, Year

__all__ = ["MAX_AGE_DAYS", "PriceBook", "Span"]

_log = logging.getLogger("deepseek_sdk")

_UNKNOWN_YEAR = (
    "The public holidays of %d in China are not known for sure: costs in peak hours are ranges. "
    "[holidays.%d] in a file of prices may name them"
)
# How old prices may be before they should be compared with the service's own again.
MAX_AGE_DAYS = 90
# After so many changes of tier all that there are have been seen.
_MOST_CHANGES = 32


class Span(NamedTuple):
    """The prices of one token from *since* until before *until*, both in seconds since 1970."""

    since: float
    until: float
    tier: Tier
    rates: tuple[Rate, ...]


class PriceBook:
    """
    The prices of models, by the instant.

        PriceBook.builtin()     those that came with this version of the library; `from_file()` lays others over them

    Attributes:
        as_of: When the prices were last compared with the service's own.
        version: *as_of* and a mark that changes with every price.
        tariff: When peak prices hold.
        meters: Prices of what is not counted in tokens.
        has_hosts: Some prices hold for one host only.
        clock: Reads the dates of answers.
    """

    def __init__(self, sheet: Sheet, *, mark: str) -> None:
        self.as_of: date = sheet.as_of
        self.version = f"{sheet.as_of.isoformat()}+{mark}"
        self.tariff = Tariff(sheet.regimes, sheet.years)
        self.meters: tuple[Meter, ...] = sheet.meters
        self._aliases = {**ALIASES, **RETIRED, **sheet.aliases}
        self._cards = _by_model(sheet, self.tariff)
        self.has_hosts = any(host is not None for host, _ in self._cards)
        self.clock = ServerClock()
        self._spans: dict[tuple[str | None, str], Span] = {}
        self._said: dict[object, object] = {}

    @classmethod
    def builtin(cls) -> PriceBook:
        """
        Read the prices that came with this version of the library.

        Returns:
            Them.
        """
        sheet, texts = _builtin()
        return cls(sheet, mark=digest(texts))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> PriceBook:
        """
        Read a file of prices and lay it over those that came with the library.

        Args:
            path: The file, in TOML; with `replace = true` it counts alone.

        Returns:
            The prices.

        Raises:
            PriceFileError: The file cannot be read or used; the message names the table and the key.
        """
        name = os.fspath(path)
        if not name:
            raise PriceFileError("the path of a file of prices is empty", path=repr(name))
        try:
            data = Path(name).expanduser().read_bytes()
        except OSError as error:
            raise PriceFileError(f"it cannot be read: {error.strerror or error}", path=name) from error
        sheet = parse_sheet(data, name)
        if sheet.is_alone:
            return cls._checked(sheet, name, digest([data]))
        base, texts = _builtin()
        return cls._checked(sheet.over(base), name, digest([*texts, data]))

    @classmethod
    def _checked(cls, sheet: Sheet, path: str, mark: str) -> PriceBook:
        if not sheet.cards:
            raise PriceFileError("card: it has no prices: give at least one [[card]]", path=path)
        tiered = next((card for card in sheet.cards if not card.is_flat), None)
        if tiered is not None and not sheet.regimes:
            message = f"tariff: it is missing, and the prices of {tiered.model} depend on the hour"
            raise PriceFileError(message, path=path)
        book = cls(sheet, mark=mark)
        book._check_aliases(sheet.aliases, path)
        return book

    def _check_aliases(self, aliases: Iterable[str], path: str) -> None:
        """Refuse names that lead to no prices: calls under them would go uncounted, and nobody would be told."""
        known = set(self.models)
        for alias in aliases:
            _, *others = names = self._names(alias)
            if known.isdisjoint(others):
                last = self._aliases.get(names[-1])
                problem = f"{names[-1]} is no model that has prices" if last is None else f"it leads back to {last}"
                raise PriceFileError(f"aliases.{alias}: {problem}; there are {', '.join(self.models)}", path=path)

    def __repr__(self) -> str:
        return f"<PriceBook {self.version}: {', '.join(self.models)}>"

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have prices of their own, in the order of their names."""
        return tuple(sorted({model for _, model in self._cards}))

    @property
    def cards(self) -> tuple[Card, ...]:
        """All cards, by model, the oldest first."""
        return tuple(card for cards in self._cards.values() for card in cards)

    @property
    def years(self) -> Mapping[int, Year]:
        """The years whose holidays are known."""
        return self.tariff.years

    def age_days(self, now: float) -> int:
        """
        Tell how old the prices are.

        Args:
            now: When, in seconds since 1970.

        Returns:
            Days since *as_of*.
        """
        return (date_in_beijing(now) - self.as_of).days

    def card(self, model: str, at: float, *, host: str | None = None) -> Card | None:
        """
        Find the prices of a model.

        Args:
            model: Its name, or another name for it.
            at: When, in seconds since 1970.
            host: Whose prices; where the book has none for this host, those that hold anywhere.

        Returns:
            The card, or None where no price is known.
        """
        cards = self.cards_of(model, host=host)
        place = bisect_right(cards, at, key=lambda card: card.valid_from)
        found = cards[place - 1] if place else None
        return found if found is not None and at < found.valid_until else None

    def cards_of(self, model: str, *, host: str | None = None) -> tuple[Card, ...]:
        """
        Find all prices that a model has had.

        Args:
            model: Its name, or another name for it.
            host: As for `card()`.

        Returns:
            The cards, the oldest first; none where no price is known.
        """
        names = self._names(model)
        keys = ((place, name) for place in (host, None) for name in names)
        return next((self._cards[key] for key in keys if key in self._cards), ())

    def _names(self, model: str) -> list[str]:
        """Give a name and what it stands for, step by step; a name that comes again ends it."""
        names = [model]
        while (name := self._aliases.get(names[-1])) is not None and name not in names:
            names.append(name)
        return names

    def rates(self, model: str, start: float, end: float, *, host: str | None = None) -> tuple[str, tuple[Rate, ...]]:
        """
        Find the prices of one token during a call.

        Args:
            model: The model.
            start: When the call began, in seconds since 1970.
            end: When it ended, likewise.
            host: As for `card()`.

        Returns:
            The tier, "mixed" where it changes during the call; and all rates that may hold, first the one that most
            likely does: none where no price is known.
        """
        span = self._spans.get((host, model))
        if span is None or not span.since <= start < span.until:
            span = self._remembered(model, start, host)
        if span is None:
            return "unknown", ()
        return (span.tier, span.rates) if end < span.until else self._during(model, span, end, host)

    def _remembered(self, model: str, at: float, host: str | None) -> Span | None:
        """Find the prices of an instant, and keep them for the calls that follow; names without prices are not kept."""
        span = self._span(model, at, host)
        if span is not None:
            self._spans[host, model] = span
            if span.tier == "unknown":
                self._warn_of_year(at)
        return span

    def _span(self, model: str, at: float, host: str | None) -> Span | None:
        card = self.card(model, at, host=host)
        if card is None:
            return None
        later = (other.valid_from for other in self.cards_of(model, host=host) if other.valid_from > at)
        until = min(card.valid_until, next(later, math.inf))
        if card.is_flat:
            return Span(at, until, "flat", card.rates("flat"))
        tier = self.tariff.tier(at)
        return Span(at, min(until, self.tariff.next_change(at)), tier, card.rates(tier))

    def _during(self, model: str, first: Span, end: float, host: str | None) -> tuple[str, tuple[Rate, ...]]:
        spans = [first, *self._following(model, first, end, host)]
        rates = dict.fromkeys(rate for span in spans for rate in span.rates)
        return (first.tier if len({span.tier for span in spans}) == 1 else "mixed"), tuple(rates)

    def _following(self, model: str, span: Span, end: float, host: str | None) -> Iterator[Span]:
        for _ in range(_MOST_CHANGES):
            following = self._span(model, span.until, host) if span.until <= end else None
            if following is None:
                return
            span = following
            yield span

    def _warn_of_year(self, at: float) -> None:
        year = date_in_beijing(at).year
        if self.says_first(("year", year)):
            _log.warning(_UNKNOWN_YEAR, year, year)

    def says_first(self, what: object) -> bool:
        """
        Tell whether something is said for the first time, in whatever thread.

        Args:
            what: It.

        Returns:
            True the first time.
        """
        mine = object()
        return self._said.setdefault(what, mine) is mine


def _builtin() -> tuple[Sheet, tuple[bytes, ...]]:
    names = ("cards.toml", "holidays.toml")
    texts = tuple(pkgutil.get_data("deepseek_sdk.pricing", f"data/{name}") or b"" for name in names)
    prices, holidays = (parse_sheet(text, name) for text, name in zip(texts, names, strict=True))
    return prices._replace(years=holidays.years), texts


def _by_model(sheet: Sheet, tariff: Tariff) -> dict[tuple[str | None, str], tuple[Card, ...]]:
    """Sort cards; one that depends on the hour counts from the first rule for peak hours on."""
    first = tariff.regimes[0].valid_from if tariff.regimes else -math.inf
    found: dict[tuple[str | None, str], tuple[Card, ...]] = {}
    for card in sheet.cards:
        begins = card.valid_from if card.is_flat else max(card.valid_from, first)
        key = (card.host, card.model)
        found[key] = (*found.get(key, ()), card if begins == card.valid_from else replace(card, valid_from=begins))
    return found
