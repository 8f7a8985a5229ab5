"""The tables of a file of prices: keys are read one by one, and what nobody asked for is refused."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from deepseek_sdk.errors import PriceFileError
from deepseek_sdk.pricing.tariff import BEIJING_S, DAY_S, EPOCH

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MisfitError", "Table", "a_date", "a_day", "a_flag", "a_number", "a_price", "a_text", "an_instant", "each"]

T = TypeVar("T")
D = TypeVar("D")

_REQUIRED: Any = object()
# Prices are of 1,000,000 tokens: what is larger or finer is a slip of the pen.
_LARGEST = 10**9
_DECIMALS = 12
_LONGEST_SHOWN = 60


class MisfitError(Exception):
    """What is written is not what is expected; the message says what is."""


class Table:
    """
    One table of a file.

    Attributes:
        where: What messages call it; "" for the file itself.
    """

    def __init__(self, values: object, *, path: str, where: str = "") -> None:
        self.where = where
        self._path = path
        if not isinstance(values, dict):
            raise self.wrong(None, "a table is expected")
        self._left: dict[str, Any] = dict(values)
        self._known: frozenset[str] | None = None

    def only(self, *keys: str) -> Self:
        """
        Say which keys there are, so that a key that is missing can be told from one that is mistyped.

        Args:
            keys: All of them.

        Returns:
            The table itself.
        """
        self._known = frozenset(keys)
        return self

    def wrong(self, key: str | None, problem: str) -> PriceFileError:
        """
        Describe what is wrong.

        Args:
            key: The key that it is about, or None for the table.
            problem: What is wrong with it.

        Returns:
            The error, with the place.
        """
        place = ".".join(part for part in (self.where, key) if part)
        return PriceFileError(f"{place}: {problem}" if place else problem, path=self._path)

    @overload
    def read(self, key: str, reader: Callable[[Any], T]) -> T: ...
    @overload
    def read(self, key: str, reader: Callable[[Any], T], default: D) -> T | D: ...
    def read(self, key: str, reader: Callable[[Any], Any], default: Any = _REQUIRED) -> Any:
        """
        Read a value.

        Args:
            key: Its key.
            reader: Makes of what is written what it means; a MisfitError says what is expected.
            default: What holds where the key is missing; without it, it may not be.

        Returns:
            The value.

        Raises:
            PriceFileError: It is missing, or something else is written.
        """
        value = self._left.pop(key, _REQUIRED)
        if value is _REQUIRED:
            if default is _REQUIRED:
                raise self.wrong(key, f"it is missing{self._slip()}")
            return default
        try:
            return reader(value)
        except MisfitError as error:
            raise self.wrong(key, f"{error} is expected, not {_shown(value)}") from None

    def _slip(self) -> str:
        """Name the keys that mean nothing: the missing one is most likely among them, mistyped."""
        unknown = [] if self._known is None else [key for key in self._left if key not in self._known]
        return f", and there is no such key as {', '.join(map(_shown, unknown))}" if unknown else ""

    def table(self, key: str) -> Table | None:
        """
        Read a table inside this one.

        Args:
            key: Its key.

        Returns:
            The table, or None where the key is missing.
        """
        if key not in self._left:
            return None
        return Table(self._left.pop(key), path=self._path, where=f"{self.where}.{key}".lstrip("."))

    def tables(self, key: str, *, named_by: str) -> list[Table]:
        """
        Read an array of tables.

        Args:
            key: Its key.
            named_by: The key of each whose value messages add to its number.

        Returns:
            The tables; none where the key is missing.
        """
        items = self._left.pop(key, [])
        if not isinstance(items, list):
            raise self.wrong(key, f"tables [[{key}]] are expected")
        return [self._item(f"{key} {number}", item, named_by) for number, item in enumerate(items, start=1)]

    def _item(self, where: str, item: object, named_by: str) -> Table:
        name = item.get(named_by) if isinstance(item, dict) else None
        return Table(item, path=self._path, where=where if name is None else f"{where} ({name})")

    def inner(self) -> dict[str, Table]:
        """
        Read what is left as tables.

        Returns:
            The table of each key.
        """
        return {key: table for key in list(self._left) if (table := self.table(key)) is not None}

    def rest(self, reader: Callable[[Any], T]) -> dict[str, T]:
        """
        Read what is left.

        Args:
            reader: As for `read()`.

        Returns:
            The value of each key.
        """
        return {key: self.read(key, reader) for key in list(self._left)}

    def close(self) -> None:
        """
        Say that all has been read.

        Raises:
            PriceFileError: There is a key that means nothing.
        """
        if self._left:
            raise self.wrong(next(iter(self._left)), "there is no such key")


def _shown(value: object) -> str:
    text = value.isoformat() if isinstance(value, date) else repr(value)
    text = str(value) if isinstance(value, Decimal) else text
    return text if len(text) < _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def a_text(value: object) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise MisfitError("a text")
    return value


def a_flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise MisfitError("true or false")
    return value


def a_number(value: object) -> int:
    """Read a whole number above zero."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise MisfitError("a whole number above 0")
    return value


def a_price(value: object) -> Decimal:
    """Read an amount of money, exactly as it is written."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise MisfitError("a number")
    price = Decimal(value)
    if not price.is_finite() or not 0 <= price < _LARGEST or -int(price.as_tuple().exponent) > _DECIMALS:
        raise MisfitError(f"an amount from 0 to {_LARGEST} with at most {_DECIMALS} decimals")
    return price


def a_date(value: object) -> date:
    """Read a day, without a time."""
    if not isinstance(value, date) or isinstance(value, datetime):
        raise MisfitError("a day such as 2026-11-29")
    return value


def a_day(value: object) -> int:
    """Read a day as the number of days since 1970."""
    return a_date(value).toordinal() - EPOCH


def an_instant(value: object) -> float:
    """Read an instant, in seconds since 1970; a day is its midnight in Beijing."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.timestamp()
    if isinstance(value, date) and not isinstance(value, datetime):
        return float(a_day(value) * DAY_S - BEIJING_S)
    raise MisfitError("an instant with its offset, such as 2026-09-10T00:00:00+08:00")


def each(reader: Callable[[Any], T]) -> Callable[[object], tuple[T, ...]]:
    """
    Make a reader of lists.

    Args:
        reader: Reads one item.

    Returns:
        It reads a list of them.
    """

    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise MisfitError("a list")
        return tuple(reader(item) for item in value)

    return read
