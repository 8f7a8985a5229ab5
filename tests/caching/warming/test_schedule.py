"""What is asked before a peak, how much of it, and when."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.warming.history import Peak
from deepseek_sdk.caching.warming.schedule import (
    Budget,
    Candidate,
    Rollout,
    Window,
    chosen,
    next_window,
    risk,
    rollout_of,
    starts,
    worth,
)
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.period import BEIJING
from tests.caching.warming.asked_ledgers import HOUR, at

MORNING = Peak((9, 10), 40.0, 0.5)
WINDOW = Window(at(1, 9), at(1, 11))


def candidates(*expected: float, **more: Any) -> list[Candidate]:
    """Make candidates that are expected so often."""
    return [Candidate(f"{place:064x}", times, **more) for place, times in enumerate(expected)]


def test_scores() -> None:
    """The best is what is asked often, is near to the peak, and has no answer by then; the rest is not worth a call."""
    often, far, safe, rare = (
        Candidate("a", 4, 0.9, 1.0),
        Candidate("b", 4, 0.2, 1.0),
        Candidate("c", 9, 1.0, 0.0),
        Candidate("d", 0.1, 1.0, 1.0),
    )

    assert [often, far] == worth([rare, far, safe, often])
    assert [often, far, rare] == worth([rare, far, safe, often], least=0.1)
    assert 3.6 == often.score
    assert candidates(1, 1, 1) == worth(reversed(candidates(1, 1, 1)))


def test_a_tenth_first() -> None:
    """At first as much is asked as makes up a tenth of what the peak will ask, and at least one question."""
    ranked = worth(candidates(*range(1, 41)))
    found = [chosen(ranked, Rollout(share), Budget()) for share in (0.1, 0.5, 1.0)]

    # A tenth of 820; 40 and 39 are not enough.
    assert [40, 39, 38] == [one.expected for one in found[0]]
    assert [3, 12, 40] == [len(one) for one in found]
    assert ranked[:1] == chosen(ranked, Rollout(1e-6), Budget())
    assert [] == chosen([], Rollout(), Budget())


def test_budget() -> None:
    """No more is chosen than the budget allows; what has no known price counts with the usual one."""
    ranked = [*candidates(9, 8, 7, cny=0.02), *candidates(6, 5)]

    assert 2 == len(chosen(ranked, Rollout(1.0), Budget(calls=2)))
    assert 4 == len(chosen(ranked, Rollout(1.0), Budget(cny=0.09)))
    assert 3 == len(chosen(ranked, Rollout(1.0), Budget(cny=0.06)))
    assert [] == chosen(ranked, Rollout(1.0), Budget(cny=0.01))
    assert 2 == len(chosen(candidates(2, 1), Rollout(1.0), Budget(cny=0)))


@pytest.mark.parametrize("wrong", [Budget(calls=-1), Budget(cny=-0.1), Budget(cny=float("nan"))])
def test_budget_is_checked(wrong: Budget) -> None:
    """A budget that is none is refused, by its name."""
    with pytest.raises(ConfigurationError, match=r"budget\."):
        wrong.check()


def test_more_while_it_pays() -> None:
    """The share doubles after each peak that wanted half of it, to all of it, and halves after one that did not."""
    shares, rollout = [], Rollout()
    for wanted in (20, 10, 9, 20, 20, 20, 20):
        rollout = rollout.after(asked=20, wanted=wanted)
        shares.append(rollout.share)

    assert [0.2, 0.4, 0.2, 0.4, 0.8, 1.0, 1.0] == shares
    assert Rollout(0.01) == Rollout(0.015).after(asked=10, wanted=0)


def test_little_is_known() -> None:
    """After a few answers nothing changes yet: they are counted until they are enough."""
    rollout = Rollout().after(asked=4, wanted=4).after(asked=5, wanted=2)

    assert Rollout(0.1, 9, 6) == rollout
    assert Rollout(0.2) == rollout.after(asked=1, wanted=0)
    assert Rollout(0.1, 3, 3) == Rollout().after(asked=3, wanted=8)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40))))
def test_the_share_is_a_share(peaks: list[tuple[int, int]]) -> None:
    """Whatever comes of it, the share stays between its bounds, and no more is wanted than was asked."""
    rollout = Rollout()
    for asked, wanted in peaks:
        rollout = rollout.after(asked=asked, wanted=wanted)

        assert 0.01 <= rollout.share <= 1
        assert 0 <= rollout.wanted <= rollout.asked < 10
        assert rollout == rollout_of(list(rollout))


@pytest.mark.parametrize("told", [None, "abc", [1, 2], [0, 1, 1], [0.5, -1, 0], ["x", 1, 1], {}, [2, 0, 0]])
def test_a_rollout_that_cannot_be_read(told: object) -> None:
    """What was written down by something else begins again with a tenth."""
    assert Rollout() == rollout_of(told)


@pytest.mark.parametrize("wrong", [{"pays": 0}, {"least": 2}])
def test_rollout_is_checked(wrong: dict[str, float]) -> None:
    """A share that is none is refused, by its name."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Rollout().after(asked=1, wanted=1, **wrong)


def test_risks() -> None:
    """There is none where the answer outlives the peak, all of it where it ends before, and a part in between."""
    ends = [None, WINDOW.ends, WINDOW.ends + 9, WINDOW.begins, WINDOW.begins - 9, WINDOW.begins + HOUR / 2]

    assert [0, 0, 0, 1, 1, 0.75] == [risk(None if end is None else int(end * 1000), WINDOW) for end in ends]


def test_next_peaks() -> None:
    """The next peak is the first that has not begun, also past midnight."""
    night = Peak((23, 0, 1), 9.0, 0.5)

    assert Window(at(1, 9), at(1, 11)) == next_window(MORNING, at(1, 3), BEIJING)
    assert Window(at(2, 9), at(2, 11)) == next_window(MORNING, at(1, 9), BEIJING)
    assert Window(at(1, 23), at(2, 2)) == next_window(night, at(1, 0.5), BEIJING)


def test_the_clock_is_put_forward() -> None:
    """Where summer time begins, the peak comes at its hour by the clock on the wall."""
    berlin = ZoneInfo("Europe/Berlin")
    saturday_noon = 1_774_695_600.0  # 2026-03-28 12:00 in Berlin; summer time began the night after
    begins = next_window(MORNING, saturday_noon, berlin).begins

    assert 20 * HOUR == begins - saturday_noon


def test_starts() -> None:
    """It begins so that all is asked some minutes before the peak, and at once where that is past."""
    assert WINDOW.begins - 300 - 200 == starts(WINDOW, 20, now=at(1, 0))
    assert WINDOW.begins - 300 - 70 == starts(WINDOW, 20, now=at(1, 0), at_once=3)
    assert at(1, 8.95) == starts(WINDOW, 20, now=at(1, 8.95))
    assert WINDOW.begins - 60 - 40 == starts(WINDOW, 20, now=at(1, 0), seconds_per_call=2, spare_s=60)


def test_starts_while_it_is_cheap() -> None:
    """Where calls cost more in the hour before, it begins before that hour, but not earlier than is of use."""
    cheap = starts(WINDOW, 20, now=at(1, 0), is_dear=lambda when: at(1, 8) <= when < at(1, 12))
    never = starts(WINDOW, 20, now=at(1, 0), is_dear=lambda _: True)
    too_early = starts(WINDOW, 20, now=at(1, 0), earliest_s=HOUR / 2, is_dear=lambda when: when >= at(1, 8))
    late = starts(WINDOW, 20, now=at(1, 8.5), is_dear=lambda when: when >= at(1, 8))

    assert at(1, 7.5) < cheap < at(1, 8) - 200
    assert [WINDOW.begins - 500] * 3 == [never, too_early, late]


@pytest.mark.parametrize("wrong", [{"seconds_per_call": -1}, {"at_once": 0}, {"spare_s": None}, {"earliest_s": "6h"}])
def test_starts_is_checked(wrong: dict[str, Any]) -> None:
    """A number that cannot be used is named."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        starts(WINDOW, 1, now=0, **wrong)
