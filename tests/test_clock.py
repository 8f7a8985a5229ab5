from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from deepseek_sdk._clock import UNSET, Clock, Deadlines, Limits, effective_limits, is_thinking
from deepseek_sdk.errors import DeadlineError, FirstTokenTimeout, StallTimeout, TotalTimeout


@pytest.mark.parametrize("name", ["connect", "first_token", "stall", "total"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, None), (0.001, None), (inf, None), (None, None), (UNSET, None),
        (0, ValueError), (-1, ValueError), (nan, ValueError), (True, TypeError), ("8", TypeError), ([], TypeError),
    ],
)  # fmt: skip
def test_deadlines_are_checked(name: str, value: Any, expected: type[Exception] | None) -> None:
    """A deadline is a positive number of seconds, or None; anything else is refused by name."""
    if expected is None:
        assert value is getattr(Deadlines(**{name: value}), name)
    else:
        with pytest.raises(expected, match=f"^{name} must be"):
            Deadlines(**{name: value})


@pytest.mark.parametrize(
    ("deadlines", "expected"),
    [
        (Deadlines(), False),
        (Deadlines(connect=1, total=1), False),
        (Deadlines(first_token=1), True),
        (Deadlines(stall=1.5), True),
        (Deadlines(first_token=None, stall=None), False),
    ],
)
def test_token_clocks_need_a_stream(deadlines: Deadlines, *, expected: bool) -> None:
    """A clock of tokens that is set needs a stream; one that is off, or of the whole call, does not."""
    assert expected == deadlines.needs_stream


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (Deadlines(), Deadlines(), Deadlines()),
        (Deadlines(total=1), Deadlines(total=2, stall=3), Deadlines(total=1, stall=3)),
        (Deadlines(total=None), Deadlines(total=2), Deadlines(total=None)),
        (Deadlines(), Deadlines(total=None), Deadlines(total=None)),
        (Deadlines(connect=1), Deadlines(first_token=2), Deadlines(connect=1, first_token=2)),
    ],
)
def test_deadlines_are_laid_over_others(ours: Deadlines, theirs: Deadlines, expected: Deadlines) -> None:
    """Field by field, what is given wins, None included; what is not comes from below."""
    assert expected == ours.over(theirs)


LIMITS: list[tuple[str, dict[str, Any], tuple[float, float, float]]] = [
    ("openai's default: silence is bounded by 120 s", {"read_timeout": 600.0}, (600, 120, inf)),
    ("a timeout of one's own bounds silence", {"read_timeout": 30.0}, (30, 30, inf)),
    ("a longer one too", {"read_timeout": 900.0}, (900, 900, inf)),
    ("no timeout", {"read_timeout": None}, (inf, inf, inf)),
    ("a way out", {"can_move_on": True}, (8, 15, inf)),
    ("a way out, thinking", {"can_move_on": True, "is_thinking": True}, (30, 15, inf)),
    ("a way out, a short timeout", {"can_move_on": True, "read_timeout": 5.0}, (5, 5, inf)),
    ("a way out, no timeout", {"can_move_on": True, "read_timeout": None}, (8, 15, inf)),
    ("given", {"deadlines": Deadlines(first_token=2, stall=3, total=4)}, (2, 3, 4)),
    ("given, longer than openai's", {"deadlines": Deadlines(first_token=999, stall=998)}, (999, 998, inf)),
    ("given, a way out", {"deadlines": Deadlines(first_token=99), "can_move_on": True}, (99, 15, inf)),
    ("switched off", {"deadlines": Deadlines(first_token=None, stall=None, total=None)}, (inf, inf, inf)),
    ("switched off, a way out", {"deadlines": Deadlines(stall=None), "can_move_on": True}, (8, inf, inf)),
    (
        "direct: no token to wait for",
        {"deadlines": Deadlines(first_token=2, stall=3), "is_direct": True},
        (inf, inf, inf),
    ),
    ("direct, total", {"deadlines": Deadlines(total=4), "is_direct": True}, (inf, inf, 4)),
    ("direct, read timeout", {"is_direct": True, "read_timeout": 7.0}, (inf, inf, inf)),
]


@pytest.mark.parametrize(("given", "expected"), [case[1:] for case in LIMITS], ids=[case[0] for case in LIMITS])
def test_limits_follow_from_what_was_said(given: dict[str, Any], expected: tuple[float, float, float]) -> None:
    """First token, stall and total follow from deadlines, timeout, thinking, and whether there is a way out."""
    base: dict[str, Any] = {"read_timeout": 600.0, "is_direct": False, "is_thinking": False, "can_move_on": False}
    limits = effective_limits(given.pop("deadlines", Deadlines()), **{**base, **given})

    assert expected == (limits.first_token, limits.stall, limits.total)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, True),
        ({"thinking": {"type": "enabled"}}, True),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": None}, True),
        ({"thinking": {}}, True),
        ({"thinking": "disabled"}, True),
    ],
)
def test_thinking_is_on_unless_switched_off(body: dict[str, Any], *, expected: bool) -> None:
    """The service thinks by default, so only an explicit "disabled" means that the first token comes soon."""
    assert expected == is_thinking(body)


CLOCKS: list[tuple[str, dict[str, float], list[float], float, type[DeadlineError], float]] = [
    ("before a token", {}, [], 13, FirstTokenTimeout, 3),
    ("after a token", {}, [11], 16, StallTimeout, 5),
    ("after the last of several", {}, [11, 12, 14], 19, StallTimeout, 5),
    ("total before the first token", {"total": 2.5}, [], 10.5, TotalTimeout, 2.5),
    ("total before a stall", {"total": 6}, [11], 14, TotalTimeout, 6),
    ("no first-token limit", {"first_token": inf, "total": 9}, [], 17, TotalTimeout, 9),
    ("no stall limit", {"stall": inf, "total": 90}, [11], 98, TotalTimeout, 90),
    ("a token later than its limit", {}, [20], 25, StallTimeout, 5),
]


@pytest.mark.parametrize(
    ("limits", "tokens", "at", "kind", "limit"), [case[1:] for case in CLOCKS], ids=[case[0] for case in CLOCKS]
)
def test_clocks_name_what_runs_out_next(
    limits: dict[str, float], tokens: list[float], at: float, kind: type[DeadlineError], limit: float
) -> None:
    """An attempt that began at 10 in a call that began at 8 runs out at an instant that names the right clock."""
    clock = Clock(Limits(**{"first_token": 3, "stall": 5, **limits}), call_started=8, now=10)
    for now in tokens:
        clock.progress(now)

    assert (at, (kind, limit)) == (clock.at, clock.expired())


def test_a_clock_without_limits_never_runs_out() -> None:
    """With every limit off there is no instant at which to give up."""
    clock = Clock(Limits(first_token=inf, stall=inf), call_started=0, now=0)
    clock.progress(5)

    assert (inf, inf, inf) == (clock.at, clock.stall, clock.total_at)


def test_unset_shows_its_name() -> None:
    """The representation of a deadline says which fields were not given."""
    assert "Deadlines(connect=UNSET, first_token=8, stall=None, total=UNSET)" == repr(
        Deadlines(first_token=8, stall=None)
    )
