"""Opinions on prices: whether they can be used, and how old they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk.cli._doctor.finding import failed, found_by, ok, warning
from deepseek_sdk.cli._price.book import book_of
from deepseek_sdk.cli._price.rows import current_cards
from deepseek_sdk.errors import PriceFileError
from deepseek_sdk.pricing.book import MAX_AGE_DAYS
from deepseek_sdk.pricing.tariff import date_in_beijing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say
    from deepseek_sdk.pricing.book import PriceBook

__all__ = ["judged"]

# The State Council announces the holidays of a year in the November before.
_ANNOUNCED = 12


def judged(file: str | None, now: float, say: Say, *, needs_holidays: bool) -> Iterator[Finding]:
    """Judge prices: whether they can be read, how old they are, and whether the holidays are known."""
    try:
        book = book_of(file)
    except PriceFileError as error:
        yield failed("file", str(error), say(en="Correct the file.", zh="请修正该文件。"))
        return
    place = say(en="those that came with the program", zh="程序自带") if file is None else file
    yield ok("file", f"{place}: {', '.join(book.models)}; {book.version}")
    yield from found_by("age", partial(judge_age, book, now, say), say)
    yield from found_by("models", partial(judge_models, book, now, say), say)
    yield from found_by("holidays", partial(judge_holidays, book, now, say, is_needed=needs_holidays), say)


def judge_age(book: PriceBook, now: float, say: Say) -> Finding:
    """Say how old prices are; those of the future are a slip of the pen, or of this machine's clock."""
    age = book.age_days(now)
    if age < -1:
        return _judge_future(book, -age, say)
    detail = say(en="as of {}, age in days: {}", zh="核对于 {}，距今 {} 天").format(book.as_of, age)
    if age <= MAX_AGE_DAYS:
        return ok("age", detail)
    advice = say(
        en="Compare them with DeepSeek's pricing page, and upgrade this package or give a file of prices.",
        zh="请与 DeepSeek 官网价格页核对，升级本软件包，或提供自己的价格文件。",
    )
    return failed("age", detail, advice)


def _judge_future(book: PriceBook, days: int, say: Say) -> Finding:
    detail = say(en="as of {}, which lies in the future: days to go: {}", zh="核对日期 {} 在未来，还有 {} 天")
    advice = say(en="Correct as_of in the file, or this machine's clock.", zh="请修正文件中的 as_of，或本机的时钟。")
    return failed("age", detail.format(book.as_of, days), advice)


def judge_models(book: PriceBook, now: float, say: Say) -> Finding:
    """Name models whose prices have ended without new ones."""
    ended = [model for model in book.models if not any(card.model == model for card in current_cards(book, now))]
    if not ended:
        return ok("models", say(en="all have prices now", zh="都有当前价格"))
    detail = say(en="no prices now: {}", zh="当前没有价格：{}").format(", ".join(ended))
    return failed("models", detail, say(en="Add a [[card]].", zh="请补充 [[card]]。"))


def judge_holidays(book: PriceBook, now: float, say: Say, *, is_needed: bool) -> Finding:
    """Say whether the holidays of this year, and in December of the next, are known."""
    today = date_in_beijing(now)
    years = [today.year, today.year + 1] if today.month >= _ANNOUNCED else [today.year]
    missing = [year for year in years if year not in book.years or book.years[year].unsure]
    if not missing:
        known = ", ".join(str(year) for year in sorted(book.years))
        return ok("holidays", say(en="known: {}", zh="已知年份：{}").format(known))
    detail = say(en="not known for sure: {}", zh="尚未确定：{}").format(", ".join(map(str, missing)))
    advice = say(
        en="Costs in peak hours of such days are ranges; [holidays.YEAR] in a file of prices names them.",
        zh="这些日子高峰时段的费用只能给出区间；可在价格文件的 [holidays.年份] 中补充。",
    )
    return (failed if is_needed else warning)("holidays", detail, advice)
