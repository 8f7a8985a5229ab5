"""Read the numbers of a text, with their units, and its dates; what belongs together becomes one token."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.matching.dates import day_word, is_year, month_of
from deepseek_sdk.caching.matching.lexicon import lexicon
from deepseek_sdk.caching.matching.numerals import ENGLISH, MULTIPLES, ORDINALS, chinese_value, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.cutting import Token
    from deepseek_sdk.caching.matching.lexicon import Unit

__all__ = ["Quantity", "Reading", "read", "unmatched"]

_MONEY_BEFORE = frozenset({"$", "€", "£", "¥", "₹", "rs"})
_TH = frozenset({"st", "nd", "rd", "th"})
_DAYS, _MONTHS = 31, 12
_YEARS = frozenset({"年", "年度"})
# What follows a part of a date, the part, and its highest number.
_PARTS = (
    (frozenset({"月", "月份"}), "month", _MONTHS),
    (frozenset({"号", "日"}), "day", _DAYS),
    (frozenset({"季度"}), "quarter", _MONTHS),
)
_OPERATIONS = frozenset({"除以", "乘以", "乘", "加", "减", "加上", "减去", "的平方"})
# A number has not more digits that matter: what is longer is an identifier, and is compared as it is written.
_LONGEST = 15


class Quantity(NamedTuple):
    """
    A number of a text.

    Attributes:
        value: Its digits as said: "1.5" of 1.5 kg.
        unit: What it counts: "mass", "yuan", "" where that is not said or is merely pieces.
        base: Its value in the first unit of that kind: "1500".
        kind: "number", "version" (it follows a name) or "ordinal".
    """

    value: str
    unit: str
    base: str
    kind: str


class Reading(NamedTuple):
    """
    What was read.

    Attributes:
        tokens: The tokens, those of a number or date made one.
        numbers: The numbers.
        dates: The parts of dates, such as "year2024", "month5", "day1", "weekday3", "day+1", "quarter3".
        versions: "name number" for what follows a name.
    """

    tokens: tuple[Token, ...]
    numbers: tuple[Quantity, ...]
    dates: tuple[str, ...]
    versions: tuple[str, ...]


def read(tokens: Sequence[Token]) -> Reading:
    """
    Read numbers and dates.

    Args:
        tokens: The tokens of a text.

    Returns:
        What was read.
    """
    reader = _Reader(tokens)
    at = 0
    while at < len(tokens):
        at = reader.step(at)
    return Reading(
        tuple(reader.out), tuple(sorted(reader.numbers)), tuple(sorted(reader.dates)), tuple(reader.versions)
    )


class _Reader:
    """Goes through the tokens once."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._units = lexicon().units
        self.out: list[Token] = []
        self.numbers: list[Quantity] = []
        self.dates: list[str] = []
        self.versions: list[str] = []

    def step(self, at: int) -> int:
        """Read what begins at a token; give the number of the first that is left."""
        token = self._tokens[at]
        month = month_of(self._tokens, at) if token.kind == "latin" else None
        if month is not None:
            return self._date(f"month{month}", token, at + 1)
        said = day_word(self._tokens, at) if token.kind in {"latin", "chinese"} else None
        if said is not None:
            return self._date(said[0], token, at + said[1])
        found = self._value(at)
        if found is None:
            self.out.append(token)
            return at + 1
        return self._number(at, *found)

    def _peek(self, at: int) -> Token | None:
        return self._tokens[at] if 0 <= at < len(self._tokens) else None

    def _text(self, at: int) -> str:
        token = self._peek(at)
        return token.text if token is not None else ""

    def _date(self, said: str, token: Token, following: int) -> int:
        self.dates.append(said)
        self.out.append(token._replace(text=said, kind="date"))
        return following

    def _value(self, at: int) -> tuple[str, int] | None:
        """Give the digits of the number that begins here, and the first token after it."""
        token = self._tokens[at]
        if token.kind == "number":
            return self._multiplied(_digits(token.text), at + 1)
        if token.kind == "numeral":
            return self._chinese(token.text, at)
        if token.kind == "latin" and (token.text in ENGLISH or token.text in {"a", "one"} or token.text in MULTIPLES):
            return self._english(at)
        if token.text in ORDINALS:
            return plain(ORDINALS[token.text]), at + 1
        if token.text == "半" and self._text(at + 1) in self._units:
            return "0.5", at + 1
        return None

    def _multiplied(self, digits: str, at: int) -> tuple[str, int]:
        token = self._peek(at)
        if token is None or token.text not in MULTIPLES or (len(token.text) == 1 and not token.is_joined):
            return digits, at
        if digits.count(".") > 1 or len(digits) > _LONGEST:
            return digits, at
        return plain(float(digits) * MULTIPLES[token.text]), at + 1

    def _chinese(self, text: str, at: int) -> tuple[str, int] | None:
        """Read a Chinese number; a single numeral is one only beside what it counts: 三天, 第三, 三加五."""
        if text in MULTIPLES:
            return None
        value = chinese_value(text)
        following = self._text(at + 1)
        unit = self._units.get(following)
        is_article = text == "一" and (unit is None or unit.kind == "count") and self._text(at - 1) != "第"
        is_beside = unit is not None or following in _OPERATIONS or self._text(at - 1) in {"第", "周", *_OPERATIONS}
        if (
            value is None
            or is_article
            or not (len(text) > 1 or is_beside or following in {"月", "号", "日", "点", "点钟"})
        ):
            return None
        return plain(value), at + 1

    def _english(self, at: int) -> tuple[str, int] | None:
        total = section = 0
        end = at
        while end < len(self._tokens) and (self._tokens[end].kind == "latin" or self._is_hyphen(end, at)):
            word = self._tokens[end].text
            if word == "one" and end == at and self._is_one(at):
                section += 1
            elif word in ENGLISH:
                section += ENGLISH[word]
            elif len(word) > 1 and word.isascii() and word in MULTIPLES:
                section = (section or 1) * MULTIPLES[word]
                total, section = (total + section, 0) if MULTIPLES[word] > 100 else (total, section)  # noqa: PLR2004  hundred
            elif word != "-" and not (word == "a" and end == at and self._text(at + 1) in MULTIPLES):
                break
            end += 1
        return (plain(total + section), end) if total + section else None

    def _is_hyphen(self, end: int, at: int) -> bool:
        """Whether a sign joins two words of a number: "twenty-five"."""
        is_between = end > at and self._text(end - 1) in ENGLISH and self._text(end + 1) in ENGLISH
        return is_between and self._text(end) == "-"

    def _is_one(self, at: int) -> bool:
        """Whether "one" counts: "one sentence", not "which one" and not "one thing"."""
        unit = self._units.get(self._text(at + 1))
        return self._tokens[at].surface.lower() == "one" and unit is not None and unit.kind != "count"

    def _number(self, at: int, value: str, end: int) -> int:
        """Note the number, with its unit, or as a part of a date."""
        part, after = self._part_of_date(at, value, end)
        if part:
            return self._date(part, self._tokens[at], after)
        unit, after = self._unit(at, value, end)
        if self._text(after) == "半" and unit is not None and "." not in value:
            value, after = value + ".5", after + 1
        kind = self._kind(at)
        base = _base(value, unit)
        name = unit.kind if unit is not None and unit.kind != "count" else ""
        self.numbers.append(Quantity(value, name, base, kind))
        if kind == "version":
            self.versions.append(f"{self._tokens[at - 1].text} {value}")
        self.out.append(self._tokens[at]._replace(text=f"{base}{name}", kind="number"))
        return after

    def _kind(self, at: int) -> str:
        token, before = self._tokens[at], self._peek(at - 1)
        if (before is not None and before.text == "第") or token.text in ORDINALS or self._text(at + 1) in _TH:
            return "ordinal"
        if token.kind != "number" or before is None or before.kind != "latin":
            return "number"
        is_first = at == 1 and not any(map(str.isupper, before.surface[1:]))
        is_name = (before.surface[:1].isupper() and not is_first) or token.is_joined or token.text.count(".") > 0
        return "version" if is_name and not is_function(before.text) else "number"

    def _part_of_date(self, at: int, value: str, end: int) -> tuple[str, int]:
        """Read 2024年, 5月, 3号, "3rd" beside a month, Q3, and a bare year."""
        following = self._text(end)
        small = int(value) if value.isdigit() and len(value) <= 2 else _DAYS + 1  # noqa: PLR2004  digits of a day
        part = next((part for names, part, most in _PARTS if following in names and small <= most), "")
        if part:
            return f"{part}{small}", end + 1
        if following in _YEARS and is_year(value):
            return f"year{value}", end + 1
        if self._text(at - 1) == "q" and self._tokens[at].is_joined and small <= _DAYS:
            self.out.pop()
            return f"quarter{value}", end
        after = end + (following in _TH)
        if small <= _DAYS and self._is_day(at, after):
            return f"day{value}", after
        return (f"year{value}", end) if self._is_bare(at, end) and is_year(value) else ("", end)

    def _is_day(self, at: int, after: int) -> bool:
        """Whether a number stands beside the name of a month: "May 1", "1st of May"."""
        ahead = after + (self._text(after) == "of")
        is_behind = at > 0 and month_of(self._tokens, at - 1) is not None
        return is_behind or (ahead < len(self._tokens) and month_of(self._tokens, ahead) is not None)

    def _is_bare(self, at: int, end: int) -> bool:
        """Whether a number counts nothing: "in 2024", not "2024 km", "$2024", "2,024" or "a 2000-word text"."""
        token, following = self._tokens[at], self._text(end)
        if following == "-":
            following = self._text(end + 1)
        counts = following in self._units and following not in _MONEY_BEFORE
        is_plain = token.kind == "number" and "," not in token.surface and not counts
        return is_plain and not self._is_counted(at)

    def _is_counted(self, at: int) -> bool:
        """Whether a number of four digits is money or a version rather than a year."""
        before = self._peek(at - 1)
        return before is not None and (
            before.text in _MONEY_BEFORE or (self._tokens[at].is_joined and before.kind == "latin")
        )

    def _unit(self, at: int, value: str, end: int) -> tuple[Unit | None, int]:
        if self._text(end) in _TH:
            end += 1
        end += self._text(end) == "-" and self._text(end + 1) in self._units
        is_next = (
            self._text(end) in _MONEY_BEFORE and (ahead := self._peek(end + 1)) is not None and ahead.kind == "number"
        )
        unit = None if is_next else self._units.get(self._text(end))
        if self._tokens[at].text.startswith("百分之"):
            return self._units["%"], end
        if unit is not None and unit.kind == "degree" and self._text(end + 1) in {"celsius", "fahrenheit", "c", "f"}:
            return self._units["°" + self._text(end + 1)[0]], end + 2
        if unit is not None and not (value == "1" and unit.kind == "count"):
            return unit, end + 1
        sign = self._text(at - 1)
        # Not one that belonged to the number before.
        if sign in _MONEY_BEFORE and self.out and self.out[-1].text == sign:
            self.out.pop()
            return self._units[sign], end
        return None, end


def is_function(word: str) -> bool:
    """
    Tell a word without content of its own.

    Args:
        word: It.

    Returns:
        True for one.
    """
    return word in lexicon().functions


def _digits(text: str) -> str:
    """Write digits the common way: "4.0" is "4", "007" is kept."""
    head, point, tail = text.partition(".")
    return head if point and not tail.strip("0") else text


def _base(value: str, unit: Unit | None) -> str:
    if unit is None or unit.kind in {"count", "percent"} or value.count(".") > 1 or len(value) > _LONGEST:
        return value
    return plain(float(value) * unit.factor)


def unmatched(left: Sequence[Quantity], right: Sequence[Quantity]) -> tuple[tuple[Quantity, ...], tuple[Quantity, ...]]:
    """
    Find the numbers that only one of two texts has.

    Args:
        left: The numbers of one.
        right: Those of the other.

    Returns:
        Those of each that the other lacks. Numbers are the same where they come to the same ("1.5 kg" and "1500 g"),
        or where one says the same digits without a unit.
    """
    if left == right:
        return (), ()
    ones, others = list(left), list(right)
    for same in (_is_equal, _is_said_alike):
        for one in tuple(ones):
            found = next((other for other in others if same(one, other)), None)
            if found is not None:
                ones.remove(one)
                others.remove(found)
    return tuple(ones), tuple(others)


def _is_equal(one: Quantity, other: Quantity) -> bool:
    return one.base == other.base and one.unit == other.unit


def _is_said_alike(one: Quantity, other: Quantity) -> bool:
    return one.value == other.value and not (one.unit and other.unit)
