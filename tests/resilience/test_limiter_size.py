from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.errors import ServerEventError, refine
from deepseek_sdk.resilience.limiting.aimd import Aimd
from deepseek_sdk.resilience.limiting.overload import is_overload, named_limit
from tests.resilience.timed_limiter import TimedLimiter

if TYPE_CHECKING:
    from collections.abc import Callable

REQUEST = httpx2.Request("POST", "http://test.invalid")
BUSY = "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining balance."


def run_rounds(made: TimedLimiter, rounds: int, at_once: Callable[[], int]) -> None:
    """Fill it and let all succeed, again and again."""
    for _ in range(rounds):
        for lease in [made.ask() for _ in range(at_once())]:
            made.release(lease, "success")


def test_it_doubles_until_the_first_refusal() -> None:
    """While it is kept full, each success raises it by one, so it doubles with each round, up to the maximum."""
    made = TimedLimiter(initial=4, maximum=40)
    flying, limits = [made.ask() for _ in range(4)], []
    for _ in range(5):
        for _ in range(made.limit):
            made.release(flying.pop(0), "success")
            while made.counts[0] < made.limit:
                flying.append(made.ask())
        limits.append(made.limit)

    assert [8, 16, 32, 40, 40] == limits


def test_it_rises_slowly_after_a_refusal() -> None:
    """After a refusal a whole limit's worth of successes raises it by one."""
    size = Aimd(10, 1, 100, 0.8)
    size.on_refusal(0, None, now=0)
    limits = []
    for _ in range(18):
        size.on_success(in_flight=8, now=0)
        limits.append(int(size.limit))

    assert [8] * 8 + [9] * 9 + [10] == limits


@pytest.mark.parametrize(("in_flight", "expected"), [(31, 64), (32, 65), (64, 65)])
def test_it_rises_only_while_half_of_it_is_used(in_flight: int, expected: int) -> None:
    """A program that makes few calls proves nothing about a high limit."""
    size = Aimd(64, 1, 2500, 0.8)
    size.on_success(in_flight, now=0)

    assert expected == size.limit


def test_refusals_of_one_round_count_once() -> None:
    """All refusals of calls that were let through before the limit fell say the same thing; later ones say more."""
    made = TimedLimiter()
    for limit in (51, 40, 32, 26):
        for lease in [made.ask() for _ in range(20)]:
            made.release(lease, "overload")
        assert limit == made.limit
    lease = made.ask()
    made.release(made.ask(), "overload")
    made.release(lease, "overload")

    assert 20 == made.limit


def test_only_refusals_shrink_it_to_the_minimum() -> None:
    """Where every call is refused it falls to the minimum and no further; other failures leave it as it is."""
    made = TimedLimiter(minimum=3)
    for _ in range(30):
        made.release(made.ask(), "overload")

    assert 3 == made.limit
    made.release(made.ask(), "other")
    assert 3 == made.limit


@pytest.mark.parametrize(("named", "expected"), [(39, 39), (60, 51), (2, 2), (0, 1)])
def test_the_limit_that_a_server_names_is_kept(named: int, expected: int) -> None:
    """A limit in the text of a 429 holds at once, though the minimum be higher; a higher one does not raise ours."""
    made = TimedLimiter(minimum=10)
    made.release(made.ask(), "overload", 0, named)

    assert expected == made.limit


def test_a_named_limit_below_the_minimum_is_not_raised_by_a_refusal() -> None:
    """Where a server has named a limit below the minimum, its next refusal without a number does not lift it."""
    made = TimedLimiter(minimum=8)
    made.release(made.ask(), "overload", 0, 1)
    made.release(made.ask(), "overload")

    assert 1 == made.limit


@given(
    bounds=st.tuples(*[st.integers(1, 40)] * 3),
    steps=st.lists(st.tuples(st.sampled_from(["success", "refusal", "late"]), st.integers(0, 50), st.integers(0, 40))),
)
def test_a_refusal_never_raises_it_and_nothing_leads_out_of_bounds(
    bounds: tuple[int, int, int], steps: list[tuple[str, int, int]]
) -> None:
    """Whatever happens, in any order and with any bounds: refusals lower it or leave it, and it keeps its bounds."""
    initial, minimum, maximum = bounds
    size, now, floor = Aimd(initial, minimum, maximum, 0.5), 0.0, min(minimum, maximum)
    for kind, number, seconds in steps:
        now += seconds
        before = size.limit
        if kind == "success":
            size.on_success(number, now)
            assert size.limit >= before
        else:
            named = number - 1 if number % 2 else None
            floor = floor if named is None else min(floor, max(named, 1))
            size.on_refusal(size.round - (kind == "late"), named, now)
            assert size.limit <= before
        assert floor <= size.limit <= maximum


def test_a_named_limit_holds_for_a_minute() -> None:
    """For 60 s successes do not lead beyond the limit that a server named; after that they do."""
    made = TimedLimiter(initial=8)
    made.release(made.ask(), "overload", None, 5)
    made.now += 59.9
    run_rounds(made, 20, lambda: made.limit)

    assert 5 == made.limit
    made.now += 0.2
    run_rounds(made, 20, lambda: made.limit)
    assert 5 < made.limit


def test_a_late_refusal_still_names_a_limit() -> None:
    """A refusal of an earlier round does not shrink it again, but the limit that it names is news."""
    made = TimedLimiter()
    late = made.ask()
    made.release(made.ask(), "overload")
    made.release(late, "overload", None, 39)

    assert 39 == made.limit


def refused(status: int, text: str = "no") -> openai.APIStatusError:
    """Give the error that a refusal becomes."""
    kind = openai.RateLimitError if status == 429 else openai.InternalServerError
    return refine(kind(text, response=httpx2.Response(status, request=REQUEST), body=None))


def in_answer(message: str = "no", **body: Any) -> ServerEventError:
    """Give the error that an error inside of an answer becomes."""
    return ServerEventError(message, request=REQUEST, body=body)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refused(429), (True, None)),
        (refused(429, BUSY), (True, 39)),
        (refused(503, "overloaded"), (False, None)),
        (refused(500, BUSY), (False, None)),
        (in_answer(BUSY), (True, 39)),
        (in_answer(f"concurrency limit of {'9' * 5000}"), (True, None)),
        (in_answer("Rate limit reached"), (True, None)),
        (in_answer("Too Many Requests"), (True, None)),
        (in_answer(type="rate_limit_error"), (True, None)),
        (in_answer(code="rate_limit_exceeded"), (True, None)),
        (in_answer(code=429), (True, None)),
        (in_answer("The server is overloaded", type="overloaded_error"), (False, None)),
        (in_answer("You requested 429 tokens", type="server_error", code=["?"]), (False, None)),
        (ConnectionResetError("rate limit"), (False, None)),
        (None, (False, None)),
    ],
)
def test_what_says_that_there_are_too_many_calls(error: BaseException | None, expected: tuple[bool, int]) -> None:
    """A 429 does, and an error inside of an answer that says the same; a server that is overloaded does not."""
    assert expected == (is_overload(error), named_limit(error))
