from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.spending.desk import Shortage, Want
from deepseek_sdk.spending.purse import Part
from tests.spending.desks import Counter, end

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["memory", "file"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """Keep amounts in memory, or in a file."""
    return None if request.param == "memory" else tmp_path / "budgets.sqlite3"


def test_what_is_reserved_is_replaced_by_what_is_used(path: Path | None) -> None:
    """A call holds what it may need, and in the end costs what it used, less or more."""
    one = Counter(path)
    first, second = one.got(400), one.got(600)
    refused = one.ask(1)
    end(first, 100)
    end(second, 650)

    assert isinstance(refused, Shortage)
    assert (1, 0, 1000) == (refused.amount, refused.purse.unsaved, refused.purse.reserved)
    assert one.spend(250)
    assert not one.spend(1)


def test_the_last_token_can_be_spent(path: Path | None) -> None:
    """Slices keep nothing from a call that still has room."""
    one = Counter(path, 10_000)

    assert 10_000 == sum(one.spend(1) for _ in range(10_050))


def test_an_ending_counts_once(path: Path | None) -> None:
    """However often a call says that it is over, it is settled once."""
    one = Counter(path)
    ticket = one.got(500)
    for _ in range(3):
        end(ticket, 200)
    one.desk.drain()

    assert (0, 200) == (one.purse().reserved, one.purse().unsaved)
    assert one.spend(800)


def test_a_forgotten_reservation_comes_back(path: Path | None) -> None:
    """A call that was cancelled before it got its reservation leaves nothing reserved, and has spent nothing."""
    one = Counter(path)
    one.got(1000)
    gc.collect()

    assert one.spend(1000)


def test_a_forgotten_call_is_counted(path: Path | None) -> None:
    """A call that was sent and then forgotten costs what its record says."""
    one = Counter(path)
    one.got(1000).counted = lambda: [300]
    gc.collect()

    assert one.spend(700)
    assert not one.spend(1)


def test_what_cannot_be_counted_costs_all_that_was_reserved(
    path: Path | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure while a call is counted is logged, and errs on the safe side."""
    one = Counter(path)
    ticket = one.got(600)
    ticket.counted = lambda: [1 // 0]
    ticket.end()

    assert not one.spend(401)
    assert one.spend(400)
    assert "could not be counted" in caplog.text


def test_all_of_several_or_nothing(path: Path | None) -> None:
    """A call that one budget has no room for takes nothing from the others."""
    one = Counter(path)
    rich, poor = one.purse("rich"), one.purse("poor")
    assert one.spend(900, scope="poor")
    refused = one.desk.acquire([Want(rich, 500), Want(poor, 500)])

    assert isinstance(refused, Shortage)
    assert (poor, 0, 0) == (refused.purse, rich.reserved, poor.reserved)
    assert one.spend(1000, scope="rich")


def test_a_limit_holds_for_each_scope(path: Path | None) -> None:
    """Users do not spend from each other's budgets, in whatever script their names are."""
    one = Counter(path, per="user")

    assert [True, True, True] == [one.spend(1000, scope=name) for name in ("小明", "😀", "half \ud800")]
    assert [False, False, True] == [one.spend(1, scope=name) for name in ("小明", "😀", "小红")]


def test_a_new_period_begins_anew(path: Path | None) -> None:
    """At midnight there is all of the limit again; a call that began before belongs to the day before."""
    one = Counter(path, period="day")
    yesterday, late = one.purse(), one.got(1000)
    one.at += 86_400
    assert one.spend(1000)
    end(late, 700)
    for _ in range(2):
        one.desk.tend()

    assert (0, 700) == (yesterday.reserved, yesterday.spent + yesterday.unsaved)
    assert not one.spend(1)
    assert yesterday not in one.desk.purses()


def test_a_clock_that_goes_back_reopens_nothing(path: Path | None) -> None:
    """Where the clock is put back over midnight, the day before is as it was left."""
    one = Counter(path, period="day")
    assert one.spend(800)
    one.at += 86_400
    assert one.spend(1000)
    one.at -= 86_400

    assert not one.spend(201)
    assert one.spend(200)


def test_many_scopes_are_not_kept_for_ever(tmp_path: Path) -> None:
    """What is written down need not be kept in memory; nothing of it is forgotten."""
    one = Counter(tmp_path / "budgets.sqlite3", per="user")
    one.desk._tidy_at = 50
    for number in range(120):
        assert one.spend(600, scope=f"user {number}")
        one.desk.tend()
        one.desk.tend()
        one.desk._tidy_at = 50

    assert 50 >= len(one.desk.purses())
    assert not one.spend(401, scope="user 3")
    assert one.spend(400, scope="user 3")


def test_what_is_dropped_while_it_is_wanted_is_found_again(tmp_path: Path) -> None:
    """A purse that is dropped between the look at it and the reservation is the same again, not a second one."""
    one = Counter(tmp_path / "budgets.sqlite3")
    held = one.purse()
    one.desk._tidy_at = 0
    one.desk.tend()
    assert [] == one.desk.purses()
    ticket = one.desk.acquire([Want(held, 1000)])

    assert not isinstance(ticket, Shortage)
    assert [held] == one.desk.purses()
    assert not one.spend(1)


def test_settling_a_part_twice_changes_nothing() -> None:
    """A part that was never opened, or is settled already, is left alone."""
    purse = Counter(None).purse()
    part = Part(purse, 5)
    part.settle(3)
    assert (0, 0, 0) == (purse.held, purse.reserved, purse.unsaved)
    part.open()
    part.settle(3)
    part.settle(3)

    assert (-3, 0, 3) == (purse.held, purse.reserved, purse.unsaved)


@pytest.mark.slow
@settings(deadline=None)
@given(
    calls=st.lists(
        st.tuples(st.integers(1, 300), st.integers(0, 400), st.sampled_from(["end", "late", "forget", "lose"])),
        max_size=40,
    )
)
def test_whatever_happens_everything_comes_back(calls: list[tuple[int, int, str]]) -> None:
    """After any number of calls with any endings, nothing is reserved, and what was used is spent, once."""
    one, late, used = Counter(None), [], 0
    for amount, use, ending in calls:
        ticket = one.ask(amount)
        if isinstance(ticket, Shortage):
            continue
        used += 0 if ending == "lose" else use
        if ending != "lose":
            ticket.counted = lambda use=use: [use]
        if ending == "late":
            late.append(ticket)
        elif ending == "end":
            ticket.end()
        del ticket
    for ticket in late:
        ticket.end()
    one.desk.drain()

    assert (0, used) == (one.purse().reserved, one.purse().unsaved)


@pytest.mark.slow
def test_threads_stay_within_the_limit(path: Path | None) -> None:
    """64 threads that reserve as much as they use spend what there is, to the last token, and not one more."""
    one = Counter(path, 5000)
    spent: list[int] = []

    def work(number: int) -> None:
        amount = 1 + number % 7
        while one.spend(amount):
            spent.append(amount)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one.desk.tend()

    assert 5000 == sum(spent)
    assert (0, 5000) == (one.purse().reserved, one.purse().spent + one.purse().unsaved)
