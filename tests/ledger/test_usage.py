"""What calls used and cost, told apart in many ways: from a file and from memory alike."""

from __future__ import annotations

import contextlib
import io
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk import Usage
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger import Ledger, RecentCalls, UsageReport
from deepseek_sdk.ledger.amounts import to_amount, to_units
from deepseek_sdk.ledger.period import BEIJING, instant
from tests.ledger.conftest import AT, DAY, USAGE, add_attempt, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk._record import Record

CNY = Decimal("0.00064384")  # of one attempt of USAGE, in peak hours


@pytest.fixture(params=["file", "memory"])
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., UsageReport]]:
    """Ask what some calls used, of a ledger or of a client without one."""
    ledger = Ledger(tmp_path / "ledger.sqlite3", wall=lambda: AT + 60)
    recent = RecentCalls(wall=lambda: AT + 60)
    observer = ledger if request.param == "file" else recent

    def ask(records: list[Record], *args: Any, **options: Any) -> UsageReport:
        for record in records:
            observer(record)
        return observer.usage(*args, **options)

    yield ask
    ledger.close()


def keyed(report: UsageReport) -> list[tuple[str | None, int]]:
    """Give the key of each row and its number of calls."""
    return [(row.key, row.calls) for row in report.rows]


def test_sums_are_those_of_the_records(ask: Callable[..., UsageReport]) -> None:
    """Sums equal, to the last digit, what the records say."""
    records = [ended(AT + n * 3600, attempts=1 + n % 3, user=f"u{n % 4}", tags={"n": str(n % 2)}) for n in range(60)]
    total = ask(records).total
    costs = [cost for record in records if (cost := record.cost())]

    assert (60, 120, 120 * 896) == (total.calls, total.attempts, total.hit)
    assert sum(cost.cny or 0 for cost in costs) == total.cny
    assert sum(cost.usd_low or 0 for cost in costs) == total.usd_low
    for by in ("model", "user", "session", "tenant", "tag:n", "day", "tier", "route", "template"):
        report = ask([], by=by)
        assert total == report.total
        assert total.cny == sum(row.cny or 0 for row in report.rows)
        assert total.calls == sum(row.calls for row in report.rows)


def test_calls_by_who_and_what(ask: Callable[..., UsageReport]) -> None:
    """Rows are in the order of their cost; what has no name has the key None."""
    records = [ended(user="甲", tags={"功能": "搜索"}), ended(user="甲"), ended(user="b", session_id="s", tenant="t")]

    assert [("甲", 2), ("b", 1)] == keyed(ask(records, by="user"))
    assert [(None, 2), ("搜索", 1)] == keyed(ask([], by="tag:功能"))
    assert [(None, 2), ("s", 1)] == keyed(ask([], by="session"))
    assert [(None, 2), ("t", 1)] == keyed(ask([], by="tenant"))
    assert [("peak", 3)] == keyed(ask([], by="tier"))
    assert [(None, 3)] == keyed(ask([]))
    assert [(None, 1)] == keyed(ask([], only={"user": "甲", "tag:功能": "搜索"}))
    assert [("甲", 2)] == keyed(ask([], by="user", only={"model": "deepseek-flash", "user": "甲"}))


def test_call_that_two_models_answered(ask: Callable[..., UsageReport]) -> None:
    """Tokens and money are the model's that used them; the call is counted with the last."""
    record = ended(attempts=0)
    add_attempt(record, "deepseek-flash", outcome="failed", is_possibly_billed=True, is_estimated=True)
    add_attempt(record, "deepseek-v4-pro", route="spare")
    report = ask([record], by="model")

    assert [("deepseek-v4-pro", 1, 1, 896), ("deepseek-flash", 0, 1, 896)] == [
        (row.key, row.calls, row.attempts, row.hit) for row in report.rows
    ]
    assert (1, 2, CNY + Decimal("0.0025548")) == (report.total.calls, report.total.attempts, report.total.cny)
    assert (report.total.cny_low, 1) == (Decimal("0.0025548"), report.total.estimated_calls)
    assert [("spare", 1), ("primary", 0)] == keyed(ask([], by="route"))


def test_calls_that_nobody_answered(ask: Callable[..., UsageReport]) -> None:
    """A call that was not sent has the model that was asked for; those that failed or were let go are counted."""
    records = [ended(attempts=0, ending="failed", reason="circuit_open"), ended(ending="abandoned"), ended()]
    row = ask(records, by="model").rows[0]

    assert ("deepseek-flash", 3, 1, 1, 2) == (row.key, row.calls, row.failed, row.abandoned, row.attempts)
    assert [("peak", 2), (None, 1)] == keyed(ask([], by="tier"))


def test_models_without_a_price(ask: Callable[..., UsageReport]) -> None:
    """A model without a price costs nobody knows what, not nothing; what answers in this process costs nothing."""
    unknown, local = ended(attempts=0), ended(attempts=0)
    add_attempt(unknown, "qwen", base_url="https://example.com")
    add_attempt(local, "phrases", base_url="backend:rules", route="rules")
    report = ask([unknown, local], by="model")

    assert {("qwen", None, 1), ("phrases", None, 0)} == {(row.key, row.cny, row.unpriced_calls) for row in report.rows}
    assert (None, 1) == (report.total.usd, report.total.unpriced_calls)


def test_days(ask: Callable[..., UsageReport]) -> None:
    """Days are those of the Beijing clock, or of another one."""
    midnight = datetime(2026, 11, 30, tzinfo=BEIJING).timestamp()
    records = [ended(midnight - 0.001), ended(midnight), ended(midnight + DAY - 0.001)]

    assert [("2026-11-29", 1), ("2026-11-30", 2)] == keyed(ask(records, by="day"))
    assert [("2026-11-29", 2), ("2026-11-30", 1)] == keyed(ask([], by="day", tz=UTC))
    assert [("2026-11-29", 2), ("2026-11-30", 1)] == keyed(ask([], by="day", tz=ZoneInfo("Asia/Kathmandu")))


ZONES = ["Europe/Berlin", ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=1))]


@pytest.mark.parametrize("tz", ZONES, ids=str)
def test_clocks(ask: Callable[..., UsageReport], tz: Any) -> None:
    """A clock is a tzinfo, or the name of a zone."""
    midnight = datetime(2026, 11, 30, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()

    assert [("2026-11-29", 1), ("2026-11-30", 1)] == keyed(ask([ended(midnight - 1), ended(midnight)], by="day", tz=tz))
    assert midnight == ask([], "2026-11-30", tz=tz).since.timestamp()  # type: ignore[union-attr]


@pytest.mark.parametrize("options", [{}, {"by": "day"}, {"by": "model"}, {"since": "7d"}], ids=str)
@pytest.mark.parametrize(
    "tz",
    [
        "Mars",
        "",
        "Europe",
        "../UTC",
        "/etc/localtime",
        "a\0b",
        "\ud83d",
        "x" * 5000,
        5,
        0,
        1.5,
        True,
        b"UTC",
        [],
        ZoneInfo,
    ],
    ids=lambda tz: ascii(tz)[:20],
)
def test_clocks_that_are_none(ask: Callable[..., UsageReport], tz: Any, options: dict[str, Any]) -> None:
    """What is no clock is told, also where none is looked at."""
    with pytest.raises(ConfigurationError, match="tz must be a tzinfo or the name of a time zone") as caught:
        ask([], tz=tz, **options)
    assert repr(tz) in str(caught.value)


@pytest.mark.parametrize("tz", ["UTC", "Mars", 5])
def test_clocks_of_an_export(tmp_path: Path, tz: Any) -> None:
    """Rows are written by the same clocks."""
    ledger, target = Ledger(tmp_path / "ledger.sqlite3"), io.StringIO()
    ledger(ended())
    with contextlib.nullcontext() if tz == "UTC" else pytest.raises(ConfigurationError, match="tz must be"):
        ledger.export(target, tz=tz)
    ledger.close()

    assert (tz == "UTC") == ("2026-11-30T02:00:00.000+00:00" in target.getvalue())


@pytest.mark.parametrize(
    ("since", "until"),
    [
        ("2026-11-05", "2026-11-01"),
        ("1d", "7d"),
        (AT, AT - 1),
        (date(2026, 11, 5), datetime(2026, 11, 5, tzinfo=BEIJING) - timedelta(microseconds=1)),
        ("2026-11-30T10:00+08:00", "2026-11-30T01:59Z"),
    ],
)
def test_periods_that_end_before_they_begin(ask: Callable[..., UsageReport], since: Any, until: Any) -> None:
    """A period that ends before it begins is a mistake."""
    with pytest.raises(ConfigurationError, match="since must not be after until") as caught:
        ask([], since, until)
    assert f"{since!r} is after {until!r}" in str(caught.value)


def test_periods_where_the_clock_is_put_back(ask: Callable[..., UsageReport]) -> None:
    """A period is a period, also where its end looks earlier by the clock, and where it is empty."""
    first, last = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 15, tzinfo=UTC)

    assert 1 == ask([ended(first.timestamp() + 60)], first, last, tz="Europe/Berlin").total.calls
    assert 0 == ask([], last, last).total.calls
    assert 0 == ask([], until="1969-01-01").total.calls


def test_periods(ask: Callable[..., UsageReport]) -> None:
    """A period begins with its first instant, and ends before its last; a day is a whole day."""
    records = [ended(AT - 8 * DAY), ended(AT - DAY), ended(AT)]

    assert 3 == ask(records).total.calls
    assert 2 == ask([], "7d").total.calls
    assert 1 == ask([], "24h").total.calls
    assert 2 == ask([], AT - DAY).total.calls
    assert 1 == ask([], AT - DAY, AT).total.calls
    assert 2 == ask([], date(2026, 11, 29), date(2026, 11, 30)).total.calls
    assert 1 == ask([], "2026-11-29", "2026-11-29").total.calls
    assert 2 == ask([], until=datetime(2026, 11, 30, 10)).total.calls  # noqa: DTZ001  by the Beijing clock
    assert datetime(2026, 11, 29, tzinfo=BEIJING) == ask([], "2026-11-29").since


@pytest.mark.parametrize("wrong", ["yesterday", "7", "", "-7d", True, float("nan"), 1e300, "2026-13-01", [], 1e17])
def test_instants_that_are_none(wrong: Any) -> None:
    """What is no instant is told, with what is one."""
    with pytest.raises(ConfigurationError, match="'7d', '24h', '2026-11-01'"):
        RecentCalls().usage(wrong)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1.5h", timedelta(hours=1.5)),
        ("2 w", timedelta(weeks=2)),
        ("30M", timedelta(minutes=30)),
    ],
)
def test_times_ago(text: str, expected: timedelta) -> None:
    """A number and a unit are so long ago."""
    assert datetime.fromtimestamp(AT, UTC) - expected == instant(text, AT, UTC)


@pytest.mark.parametrize("text", ["2026-11-30T10:00+08:00", "2026-11-30T02:00Z", "2026-11-30 10:00", "1796004000"])
def test_instants_in_writing(text: str) -> None:
    """Instants are written as ISO 8601 has it, or in seconds since 1970."""
    assert datetime.fromtimestamp(AT, UTC) == instant(text, 0, BEIJING)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"by": "colour"}, "by 'colour', but by model"),
        ({"by": "tag:"}, "tag:KEY"),
        ({"by": 5}, "told apart by 5"),
        ({"only": {"day": "2026-11-30"}}, "since and until"),
        ({"only": {"user": 5}}, "must be a string"),
        ({"only": {"x": "y"}}, "'x'"),
        *(
            ({"only": wrong}, "only must be a mapping")
            for wrong in ("user=x", "", ["user"], [], (), {"user"}, 5, 0, False)
        ),
    ],
)
def test_questions_without_an_answer(options: dict[str, Any], words: str) -> None:
    """What cannot be asked is told, with what can."""
    with pytest.raises(ConfigurationError, match=words):
        RecentCalls().usage(**options)


def test_sums_without_bounds(ask: Callable[..., UsageReport]) -> None:
    """Sums of any size are exact."""
    records = [ended(attempts=0) for _ in range(3)]
    for record in records:
        add_attempt(record, "unknown", usage=Usage(hit=2**53, miss=2**53, output=2**53, reasoning=1))

    assert (3 * 2**53, 3) == ((total := ask(records).total).output, total.reasoning)


@given(st.decimals(min_value=0, max_value=10**6, places=12))
@settings(max_examples=200)
def test_amounts_come_back(amount: Decimal) -> None:
    """What is kept as a whole number is the same amount afterwards."""
    assert amount == to_amount(to_units(amount) or 0)


# --- in memory


def test_memory_forgets() -> None:
    """Only so many calls are kept, and a period that what was forgotten belongs to is said not to be complete."""
    recent = RecentCalls(3, wall=lambda: AT)
    for n in range(5):
        recent(ended(AT - 10 + n))
    report = recent.usage()

    assert (3, False) == (report.total.calls, report.is_complete)
    assert ("Only the last 3 calls are kept in memory; earlier ones are not counted.",) == report.notes
    assert recent.usage(AT - 8).is_complete
    assert not recent.usage(AT - 9).is_complete


def test_memory_keeps_no_headers() -> None:
    """What is kept of a call is small, and tells the same cost by the server's clock."""
    record = ended(headers={"date": "Mon, 30 Nov 2026 16:00:00 GMT", "x": "y" * 1000}, repairs=["a"])
    record.finish_reason, record.usage = "length", {"completion_tokens": 50}
    recent = RecentCalls(wall=lambda: AT)
    recent(record)

    assert Decimal("0.00032192") == recent.usage().total.cny
    assert [("answer", 1)] == [(rows.call.truncated, rows.call.repairs) for rows in recent._rings.get().rows()]
    assert record.usage_told == USAGE
