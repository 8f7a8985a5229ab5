"""Days, months, years, and words that count from today, read one token after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.cutting import Token

__all__ = ["DATE_WORDS", "day_word", "is_year", "month_of"]

_MONTHS = {
    name: at
    for at, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
# Words that are months only beside a number, or after a word such as "in".
_AMBIGUOUS = frozenset({"may", "march", "mar", "jan", "sep", "jun", "august"})
_BEFORE_MONTH = frozenset(
    {"in", "of", "since", "until", "till", "by", "last", "next", "this", "every", "from", "to", "during"}
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHIFTED = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "following": 1}
_SPANS = frozenset({
    "day", "week", "month", "year", "night", "quarter", "weekend", "semester", "season", "decade", "century", "summer",
    "winter", "spring", "autumn", "fall",
})  # fmt: skip
_FIRST_YEAR, _LAST_YEAR = 1800, 2100


def _chinese() -> dict[str, str]:
    days = {
        "大前天": -3,
        "前天": -2,
        "昨天": -1,
        "昨日": -1,
        "今天": 0,
        "今日": 0,
        "今儿": 0,
        "明天": 1,
        "明日": 1,
        "明儿": 1,
        "后天": 2,
        "大后天": 3,
    }
    nights = {"前晚": -2, "昨晚": -1, "昨夜": -1, "今晚": 0, "今夜": 0, "明晚": 1, "后晚": 2}
    years = {"前年": -2, "去年": -1, "上一年": -1, "今年": 0, "本年": 0, "明年": 1, "下一年": 1, "来年": 1, "后年": 2}
    found = {word: f"day{by:+d}" for word, by in days.items()} | {word: f"night{by:+d}" for word, by in nights.items()}
    found |= {word: f"year{by:+d}" for word, by in years.items()}
    spans = {
        "month": ("个月", "月"),
        "week": ("周", "个星期", "星期", "个礼拜", "礼拜"),
        "quarter": ("季度", "个季度"),
        "semester": ("学期", "个学期"),
    }
    for span, names in spans.items():
        for by, marks in ((-2, ("上上",)), (-1, ("上",)), (0, ("这", "本", "当")), (1, ("下",)), (2, ("下下",))):
            found |= {mark + name: f"{span}{by:+d}" for mark in marks for name in names}
    found |= {mark + "周末": f"weekend{by:+d}" for mark, by in (("上", -1), ("这", 0), ("本", 0), ("下", 1))}
    for at, days_of_week in enumerate(("一", "二", "三", "四", "五", "六", "日天"), 1):
        found |= {mark + name: f"weekday{at}" for mark in ("周", "星期", "礼拜") for name in days_of_week}
    return found


def _english() -> dict[str, str]:
    found = {"today": "day+0", "tomorrow": "day+1", "yesterday": "day-1", "tonight": "night+0"}
    return found | {name: f"weekday{at}" for at, name in enumerate(_WEEKDAYS, 1)}


# What single words say of a date.
DATE_WORDS: Final = {**_chinese(), **_english()}


def is_year(text: str) -> bool:
    """
    Tell a year from other numbers.

    Args:
        text: Digits.

    Returns:
        True for four digits of a year that people ask about.
    """
    return len(text) == 4 and text.isdigit() and _FIRST_YEAR <= int(text) <= _LAST_YEAR  # noqa: PLR2004  digits of a year


def month_of(tokens: Sequence[Token], at: int) -> int | None:
    """
    Read an English month.

    Args:
        tokens: The tokens of a text.
        at: Which of them.

    Returns:
        The number of the month, or None where the word is none here, as "may" mostly.
    """
    word = tokens[at].surface.lower()
    if word not in _MONTHS:
        return None
    before = tokens[at - 1] if at else None
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    is_beside = any(token is not None and token.kind == "number" for token in (before, after))
    is_meant = word not in _AMBIGUOUS or is_beside or (before is not None and before.text in _BEFORE_MONTH)
    return _MONTHS[word] if is_meant else None


def day_word(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """
    Read a word, or two, that count from today or name a day of the week.

    Args:
        tokens: The tokens of a text.
        at: Where to read.

    Returns:
        What they say, and of how many tokens; or None.
    """
    text = tokens[at].text
    if text in _SHIFTED and at + 1 < len(tokens):
        span = tokens[at + 1].text
        if span in _SPANS:
            return f"{span}{_SHIFTED[text]:+d}", 2
        if span in _WEEKDAYS:
            return f"{DATE_WORDS[span]}{_SHIFTED[text]:+d}", 2
    return (DATE_WORDS[text], 1) if text in DATE_WORDS else None
