from __future__ import annotations

import concurrent.futures
import email.utils
import random
import subprocess
import sys
from functools import partial
from math import inf, nan
from typing import Any

import httpx2
import openai
import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.errors import (
    CircuitOpenError,
    ConfigurationError,
    ContextOverflowError,
    DeadlineError,
    DeepSeekError,
    EmptyAnswerError,
    FirstTokenTimeout,
    InvalidRequestError,
    LimiterTimeoutError,
    MalformedResponseError,
    NoRuleError,
    QueueTimeoutError,
    RequestRejectedError,
    ServerEventError,
    StallTimeout,
    StreamInterruptedError,
    SystemResourceError,
    TotalTimeout,
    UnknownFinishReasonError,
    refine,
)
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.budget import RetryBudget
from deepseek_sdk.resilience.retrying import (
    Decision,
    Failure,
    RetryPolicy,
    backoff,
    decide,
    most_retries,
    retry_after,
)

NOW = 1_800_000_000.0
REQUEST = httpx2.Request("POST", "http://test.invalid")
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "")
ADVICE = "x-should-retry"


def refused(status: int, message: str = "no", body: Any = None, /, **headers: str) -> openai.APIStatusError:
    """Give the error for a refusal with headers, `_` for `-` in their names."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, headers=named, request=REQUEST)
    nobody: Any = None
    return refine(openai.OpenAI._make_status_error(nobody, message, body=body, response=response))


def answered(status: int = 200) -> httpx2.Response:
    """Give a response that openai's errors can hold."""
    return httpx2.Response(status, request=REQUEST)


def caused(error: Exception, cause: Exception) -> Exception:
    """Give an error its cause."""
    error.__cause__ = cause
    return error


def failed(error: Exception, **changes: Any) -> Failure:
    """Describe the first failure of a call that began at 100 and may be tried thrice."""
    return Failure(**{"error": error, "retries": 0, "most": 2, "started": 100.0, "now": 101.0, **changes})


def decided(policy: RetryPolicy, failure: Failure, *, chance: float = 1.0, is_affordable: bool = True) -> Decision:
    """Decide with everything given."""
    return decide(policy, failure, chance=chance, epoch=NOW, spend=lambda: is_affordable)


def date(seconds: float) -> str:
    """Write an instant as HTTP does."""
    return email.utils.formatdate(seconds, usegmt=True)


# Policies.


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_retries", -1),
        ("max_retries", 1.5),
        ("max_retries", True),
        ("max_retries", None),
        ("max_retries", "2"),
        ("max_retries", nan),
        ("before_moving_on", -1),
        ("before_moving_on", None),
        ("first_wait", -0.1),
        ("first_wait", nan),
        ("first_wait", None),
        ("longest_wait", "4"),
        ("longest_wait", True),
        ("longest_retry_after", -1),
        ("on_read_timeout", 1),
        ("budget", 0.1),
        ("wait", 3),
        ("wait", tenacity.wait_fixed),
        ("stop", 3),
        ("stop", tenacity.stop_after_attempt),
        ("retry", openai.RateLimitError),
        ("retry", (429, 503)),
    ],
)
def test_a_policy_refuses_what_makes_no_sense(name: str, value: Any) -> None:
    """A field that cannot be used is named when the policy is made."""
    with pytest.raises(ConfigurationError, match=f"^{name} must be "):
        RetryPolicy(**{name: value})


def test_a_policy_takes_what_makes_sense() -> None:
    """The edges of each field are inside."""
    policy = RetryPolicy(max_retries=inf, first_wait=0, longest_wait=0, longest_retry_after=inf, before_moving_on=inf)

    assert (inf, 0) == (policy.max_retries, policy.longest_wait)
    assert RetryBudget() == policy.budget
    assert "RetryPolicy(max_retries=UNSET, wait=None, stop=None, retry=None, first_wait=0.5" in repr(RetryPolicy())


async def later(_: Any) -> Any:
    """Answer in the way of asynchronous rules."""
    return True


class Later(tenacity.retry_base):
    """A rule of somebody's own, asynchronous."""

    async def __call__(self, retry_state: tenacity.RetryCallState) -> bool:  # type: ignore[override]
        """Answer later."""
        return bool(retry_state)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("wait", later),
        ("wait", partial(later)),
        ("wait", tenacity.wait_combine(tenacity.wait_none(), later)),  # type: ignore[arg-type]
        ("stop", later),
        ("stop", tenacity.stop_any(tenacity.stop_never, later)),  # type: ignore[arg-type]
        ("retry", later),
        ("retry", Later()),
        ("retry", tenacity.asyncio.retry_if_exception(later)),
        ("retry", tenacity.retry_if_exception(later)),  # type: ignore[arg-type]
        ("retry", tenacity.retry_if_exception_type(OSError) | tenacity.asyncio.retry_if_exception(later)),
        ("retry", tenacity.retry_any(tenacity.retry_never, tenacity.retry_all(Later()))),
    ],
)
def test_asynchronous_rules_are_refused(name: str, rule: Any) -> None:
    """A rule that would have to be awaited is found when the policy is made, however deep it stands."""
    with pytest.raises(ConfigurationError, match=f"^{name} must not be asynchronous"):
        RetryPolicy(**{name: rule})


@pytest.mark.parametrize("name", ["wait", "stop", "retry"])
def test_a_rule_that_turns_out_to_be_asynchronous(name: str) -> None:
    """A function that returns something to await is found when it is first asked, and nothing stays unawaited."""
    policy = RetryPolicy(**{name: lambda state: later([state])})  # type: ignore[arg-type]

    with pytest.raises(ConfigurationError, match=f"^{name} must not be asynchronous"):
        decided(policy, failed(refused(503)))


# How often.


@pytest.mark.parametrize(
    ("policy", "max_retries", "can_move_on", "expected"),
    [
        (RetryPolicy(), 2, False, 2),
        (RetryPolicy(), 0, False, 0),
        (RetryPolicy(max_retries=5), 2, False, 5),
        (RetryPolicy(max_retries=0), 2, False, 0),
        (RetryPolicy(stop=tenacity.stop_never), 2, False, inf),
        (RetryPolicy(stop=tenacity.stop_never, max_retries=3), 2, False, 3),
        (RetryPolicy(), 2, True, 0),
        (RetryPolicy(before_moving_on=1), 2, True, 1),
        (RetryPolicy(before_moving_on=9), 2, True, 2),
        (RetryPolicy(before_moving_on=1), 0, True, 0),
        (RetryPolicy(before_moving_on=1, stop=tenacity.stop_never), 0, True, 1),
        (RetryPolicy(before_moving_on=1), 2, False, 2),
    ],
)
def test_how_often(policy: RetryPolicy, max_retries: int, can_move_on: bool, expected: float) -> None:  # noqa: FBT001
    """The policy's number stands before the call's; *stop* alone needs none; a further route makes it small."""
    assert expected == most_retries(policy, max_retries, can_move_on=can_move_on)


# What.

EVENT = {"message": "busy", "type": "server_error"}
REFUSAL = {"message": "bad", "type": "invalid_request_error"}
OVERFLOW = "This model's maximum context length is 8 tokens."
CLOSED = CircuitOpenError(request=REQUEST, account=ACCOUNT, retry_in=9.0, is_cooling=False)
LIMITER = LimiterTimeoutError(response=answered(429), waited=1.0, limit=1, in_flight=1)

# error, by the table, and by a rule that says yes to everything
ERRORS: list[tuple[Exception, bool, bool]] = [
    (refused(400), False, False),
    (refused(400, OVERFLOW), False, False),
    (refused(401), False, False),
    (refused(402), False, False),
    (refused(403), False, False),
    (refused(404), False, False),
    (refused(408), True, True),
    (refused(409), False, True),
    (refused(413), False, True),
    (refused(422), False, False),
    (refused(429), True, True),
    (refused(429, "Your current concurrency is 40"), True, True),
    (refused(500), True, True),
    (refused(501), True, True),
    (refused(502), True, True),
    (refused(503), True, True),
    (refused(504), True, True),
    (refused(529), True, True),
    (openai.APIConnectionError(request=REQUEST), True, True),
    (NoRuleError(request=REQUEST), False, True),
    (caused(openai.APITimeoutError(REQUEST), httpx2.ConnectTimeout("slow")), True, True),
    (caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")), False, True),
    (openai.APITimeoutError(REQUEST), False, True),
    (FirstTokenTimeout(request=REQUEST, limit=1), False, True),
    (StallTimeout(request=REQUEST, limit=1), False, True),
    (TotalTimeout(request=REQUEST, limit=1), False, True),
    (QueueTimeoutError(request=REQUEST, limit=None), True, True),
    (StreamInterruptedError("cut", request=REQUEST), True, True),
    (SystemResourceError("cut", request=REQUEST), True, True),
    (UnknownFinishReasonError("cut", request=REQUEST), False, True),
    (ServerEventError("busy", request=REQUEST, body=EVENT), True, True),
    (ServerEventError("bad", request=REQUEST, body=REFUSAL), False, False),
    (EmptyAnswerError(response=answered()), True, True),
    (MalformedResponseError("odd", raw="<html>", response=answered()), False, True),
    (InvalidRequestError("no", param="n", response=answered(400)), False, False),
    (ConfigurationError("no"), False, False),
    (concurrent.futures.CancelledError(), False, False),
    (LIMITER, False, True),
    (CLOSED, False, False),
    (ValueError("a mistake"), False, True),
]
by_error = pytest.mark.parametrize(
    ("error", "by_table", "by_rule"),
    ERRORS,
    ids=[f"{type(error).__name__}-{getattr(error, 'status_code', '')}" for error, *_ in ERRORS],
)


@by_error
def test_what_the_table_says(error: Exception, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """Without a rule `classify()` decides."""
    expected = (0.5, "") if by_table else (None, "not retryable")

    assert expected == decided(RetryPolicy(), failed(error))[:2]


@by_error
@pytest.mark.parametrize("rule", [tenacity.retry_always, lambda _: True], ids=["tenacity", "function"])
def test_what_a_rule_says(error: Exception, rule: Any, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """A rule decides in place of the table, but not about what never passes."""
    assert (0.5 if by_rule else None) == decided(RetryPolicy(retry=rule), failed(error)).wait


@by_error
def test_a_rule_that_says_no(error: Exception, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """A rule that says no is obeyed."""
    assert "not retryable" == decided(RetryPolicy(retry=lambda _: False), failed(error)).reason


def test_every_error_is_in_these_tables() -> None:
    """Each class of `deepseek_sdk.errors` that a call can end with was asked about, or is a refusal with 400."""
    every = {kind for kind in subclasses(DeepSeekError) if kind.__module__ == "deepseek_sdk.errors"}
    asked = {type(error) for error, *_ in ERRORS}
    alike = (RequestRejectedError, ConfigurationError)

    assert {DeadlineError} == {kind for kind in every - asked if not issubclass(kind, alike)}
    assert asked >= {ContextOverflowError, ConfigurationError}


def subclasses(kind: type[Exception]) -> list[type[Exception]]:
    """List all classes below one."""
    return [found for child in kind.__subclasses__() for found in (child, *subclasses(child))]


SILENCES = [
    FirstTokenTimeout(request=REQUEST, limit=1),
    StallTimeout(request=REQUEST, limit=1),
    openai.APITimeoutError(REQUEST),
    caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")),
]


@pytest.mark.parametrize("error", SILENCES, ids=lambda error: type(error).__name__)
def test_a_silence_is_asked_again_on_request(error: Exception) -> None:
    """`on_read_timeout` allows to ask again what the server may be answering, and billing, all the same."""
    assert "not retryable" == decided(RetryPolicy(), failed(error)).reason
    assert 0.5 == decided(RetryPolicy(on_read_timeout=True), failed(error)).wait


def test_on_read_timeout_is_about_silences() -> None:
    """It changes nothing about other errors."""
    for error in (refused(400), ValueError("a mistake"), TotalTimeout(request=REQUEST, limit=1)):
        assert "not retryable" == decided(RetryPolicy(on_read_timeout=True), failed(error)).reason


@pytest.mark.parametrize(
    ("status", "advice", "rule", "expected"),
    [
        (503, "false", None, None),
        (503, "true", None, 0.5),
        (503, "maybe", None, 0.5),
        (409, "true", None, 0.5),
        (409, "maybe", None, None),
        (413, "true", None, 0.5),
        (400, "true", None, None),
        (401, "true", None, None),
        (422, "true", None, None),
        (503, "false", True, None),
        (409, "true", False, None),
    ],
)
def test_the_servers_advice(status: int, advice: str, rule: bool | None, expected: float | None) -> None:  # noqa: FBT001
    """`x-should-retry: false` forbids, `true` allows what the table does not know to pass; a rule's no stands."""
    policy = RetryPolicy(retry=None if rule is None else lambda _: rule)

    assert expected == decided(policy, failed(refused(status, x_should_retry=advice))).wait


# When.


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 3 "}, 3),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": date(NOW + 30)}, 30),
        ({"retry-after": date(NOW - 30)}, 0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30"}, 30),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 99 Foo 2026 07:28:00 GMT"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    """Milliseconds, seconds and dates are read; nothing a server can send raises, or asks for less than no time."""
    assert expected == retry_after(headers, NOW)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()))
def test_no_header_raises(headers: dict[str, str]) -> None:
    """Any text at all gives a number of seconds that can be waited, or None."""
    seconds = retry_after(headers, NOW)

    assert seconds is None or 0 <= seconds < inf


@pytest.mark.parametrize(
    ("retries", "chance", "expected"),
    [
        (0, 1.0, 0.5),
        (1, 1.0, 1.0),
        (2, 1.0, 2.0),
        (3, 1.0, 4.0),
        (4, 1.0, 4.0),
        (10_000, 1.0, 4.0),
        (2, 0.5, 1.0),
        (2, 0.0, 0.0),
    ],
)
def test_how_long_to_wait(retries: int, chance: float, expected: float) -> None:
    """Waits double up to 4 s and are spread by chance from nothing up."""
    assert expected == backoff(RetryPolicy(), retries, chance)


def test_waits_of_ones_own() -> None:
    """The first and the longest wait can be chosen."""
    policy = RetryPolicy(first_wait=0.001, longest_wait=20)

    assert [0.001, 0.002, 1.024, 16.384, 20] == [backoff(policy, retries, 1.0) for retries in (0, 1, 10, 14, 15)]


@pytest.mark.parametrize(
    ("asked", "retries", "chance", "expected"),
    [
        ("3", 0, 0.0, 3.0),
        ("3", 0, 1.0, 3.3),
        ("3", 9, 0.0, 3.0),
        ("3", 9, 1.0, 4.0),
        ("0", 0, 1.0, 0.5),
        ("0.001", 0, 0.5, 0.25),
        ("120", 0, 1.0, 132.0),
        (date(NOW + 30), 0, 1.0, 33.0),
    ],
)
def test_the_servers_wish_is_kept(asked: str, retries: int, chance: float, expected: float) -> None:
    """A server that asks for a wait is given it, up to a tenth more, and never less than without its wish."""
    failure = failed(refused(429, retry_after=asked), retries=retries, most=inf)

    assert pytest.approx(expected) == decided(RetryPolicy(), failure, chance=chance).wait


@pytest.mark.parametrize(
    ("asked", "longest", "expected"),
    [
        ("120.1", 120, (None, "retry-after too long", 120.1)),
        ("6", 5, (None, "retry-after too long", 6)),
        ("5", 5, (5, "", 0)),
        ("1e300", inf, (1e300, "", 0)),
    ],
)
def test_too_long_a_wish(asked: str, longest: float, expected: Any) -> None:
    """Beyond `longest_retry_after` the server is not asked again, and is to be left alone for as long as it said."""
    policy = RetryPolicy(longest_retry_after=longest)

    assert expected == decided(policy, failed(refused(429, retry_after=asked)), chance=0.0)


@pytest.mark.parametrize(
    ("error", "ends_at", "expected"),
    [
        (refused(503), 101.6, (0.5, "", 0)),
        (refused(503), 101.5, (None, "deadline", 0)),
        (refused(503), 90.0, (None, "deadline", 0)),
        (refused(429, retry_after="30"), 106.0, (None, "deadline", 30)),
        (refused(500, retry_after="30"), 106.0, (None, "deadline", 30)),
        (refused(429, retry_after="30"), 134.1, (33.0, "", 0)),
        (refused(429, retry_after="30"), 133.9, (None, "deadline", 30)),
    ],
)
def test_the_deadline_is_kept(error: Exception, ends_at: float, expected: Any) -> None:
    """No wait is begun that would end with, or after, the call's last instant."""
    assert expected == decided(RetryPolicy(), failed(error, ends_at=ends_at))


@pytest.mark.parametrize(
    ("status", "can_move_on", "retries", "expected"),
    [
        (429, True, 0, 30),
        (503, True, 0, 30),
        (500, True, 0, 0),
        (408, True, 0, 0),
        (429, False, 0, 0),
        (503, False, 0, 0),
    ],
)
def test_who_is_left_alone(status: int, can_move_on: bool, retries: int, expected: float) -> None:  # noqa: FBT001
    """A busy server that says when to come back is left alone that long where another route can answer meanwhile."""
    failure = failed(refused(status, retry_after="30"), most=0, retries=retries, can_move_on=can_move_on)

    assert (None, "max_retries", expected) == decided(RetryPolicy(), failure)


def test_the_order_of_reasons() -> None:
    """What can be said without asking anybody is said first, and the budget is touched last."""
    asked: list[str] = []

    def answer(name: str, value: Any, *_: Any) -> Any:
        asked.append(name)
        return value

    policy = RetryPolicy(
        retry=partial(answer, "retry", True), wait=partial(answer, "wait", 1.0), stop=partial(answer, "stop", False)
    )
    spend = partial(answer, "budget", True)
    decide(policy, failed(refused(503)), chance=1.0, epoch=NOW, spend=spend)

    assert ["retry", "wait", "stop", "budget"] == asked


@pytest.mark.parametrize(
    "failure",
    [
        failed(refused(503), retries=2),
        failed(refused(400)),
        failed(refused(503), ends_at=101.0),
        failed(refused(503, retry_after="500")),
    ],
)
def test_what_is_not_asked_again_costs_nothing(failure: Failure) -> None:
    """The budget is asked only for what would be done."""

    def spend() -> bool:
        raise AssertionError

    assert decide(RetryPolicy(), failure, chance=1.0, epoch=NOW, spend=spend).reason not in ("", "retry budget")


def test_an_empty_budget() -> None:
    """Without anything left in the budget nothing is asked again."""
    assert (None, "retry budget", 0) == decided(RetryPolicy(), failed(refused(503)), is_affordable=False)


# Open circuits.


def opened(retry_in: float | None, *, is_cooling: bool = True, may_wait: bool = False) -> CircuitOpenError:
    """Give the error of an open circuit."""
    return CircuitOpenError(
        request=REQUEST, account=ACCOUNT, retry_in=retry_in, is_cooling=is_cooling, may_wait=may_wait
    )


@pytest.mark.parametrize(
    ("error", "changes", "expected"),
    [
        (opened(9), {}, (9.9, "", 0)),
        (opened(9, is_cooling=False, may_wait=True), {}, (9.9, "", 0)),
        (opened(9, is_cooling=False), {}, (None, "not retryable", 0)),
        (opened(None), {}, (None, "not retryable", 0)),
        (opened(9), {"can_move_on": True}, (None, "not retryable", 0)),
        (opened(9), {"retries": 2}, (None, "max_retries", 0)),
        (opened(9), {"ends_at": 105.0}, (None, "deadline", 0)),
        (opened(121), {}, (None, "retry-after too long", 0)),
        (opened(0), {}, (0.5, "", 0)),
    ],
)
def test_an_open_circuit(error: CircuitOpenError, changes: Any, expected: Any) -> None:
    """A pause is waited for where no other route can answer; nothing was sent, so the budget has no say."""
    decision = decided(RetryPolicy(), failed(error, **changes), is_affordable=False)

    assert expected == (decision.wait if decision.wait is None else pytest.approx(decision.wait), *decision[1:])


def test_no_rule_opens_a_circuit() -> None:
    """A rule that says yes to everything changes nothing about an open circuit."""
    assert "not retryable" == decided(RetryPolicy(retry=tenacity.retry_always), failed(CLOSED)).reason


# tenacity.


def series(rule: Any, count: int = 4) -> list[float | None]:
    """Give the waits that a policy with a wait rule chooses one after the other."""
    policy = RetryPolicy(wait=rule)
    return [decided(policy, failed(refused(503), retries=n, most=inf)).wait for n in range(count)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (tenacity.wait_none(), [0, 0, 0, 0]),
        (tenacity.wait_fixed(3), [3, 3, 3, 3]),
        (tenacity.wait_fixed(3) + tenacity.wait_incrementing(start=0, increment=1), [3, 4, 5, 6]),
        (sum([tenacity.wait_fixed(1), tenacity.wait_fixed(2)]), [3, 3, 3, 3]),
        (tenacity.wait_chain(tenacity.wait_fixed(1), tenacity.wait_fixed(7)), [1, 7, 7, 7]),
        (tenacity.wait_exponential(multiplier=1, max=5), [1, 2, 4, 5]),
        (tenacity.wait_exponential_jitter(jitter=0, max=3), [1, 2, 3, 3]),
        (tenacity.wait_exception(lambda error: getattr(error, "status_code", 0) / 100), [5.03] * 4),
        (lambda state: state.attempt_number, [1, 2, 3, 4]),
        (lambda state: state.idle_for + state.seconds_since_start, [1, 1, 1, 1]),
        (lambda _: -1.0, [0, 0, 0, 0]),
        (lambda _: inf, [86_400] * 4),
    ],
)
def test_waits_of_tenacity(rule: Any, expected: list[float]) -> None:
    """Every wait object is asked with the attempt that failed; sums and chains are no different."""
    assert expected == series(rule)


def test_random_waits_of_tenacity() -> None:
    """A random wait keeps its own chance: with the same seed it chooses what tenacity itself would."""
    rule = tenacity.wait_random_exponential(multiplier=1, max=60) + tenacity.wait_random(1, 2)
    random.seed(7)
    found = series(rule)
    random.seed(7)
    expected = [random.uniform(0, 2**n) + 1 + random.random() for n in range(4)]  # noqa: S311  no secret

    assert pytest.approx(expected) == found


def test_a_wait_that_is_no_number() -> None:
    """A wait that makes no sense is a mistake in the settings, and says so."""
    for wrong in ("3", None, nan, True):
        with pytest.raises(ConfigurationError, match="wait must give a number of seconds"):
            decided(RetryPolicy(wait=lambda _, wrong=wrong: wrong), failed(refused(503)))  # type: ignore[misc]


def test_the_servers_wish_beside_a_wait() -> None:
    """The longer of the two is waited."""
    policy = RetryPolicy(wait=tenacity.wait_fixed(5))

    assert 5 == decided(policy, failed(refused(429, retry_after="3"))).wait
    assert pytest.approx(6.6) == decided(policy, failed(refused(429, retry_after="6"))).wait


@pytest.mark.parametrize(
    ("rule", "retries", "now", "is_over"),
    [
        (tenacity.stop_never, 99, 999.0, False),
        (tenacity.stop_after_attempt(3), 1, 101.0, False),
        (tenacity.stop_after_attempt(3), 2, 101.0, True),
        (tenacity.stop_after_delay(10), 0, 109.9, False),
        (tenacity.stop_after_delay(10), 0, 110.0, True),
        (tenacity.stop_before_delay(10), 0, 108.9, False),
        (tenacity.stop_before_delay(10), 0, 109.0, True),
        (tenacity.stop_after_attempt(9) | tenacity.stop_after_delay(10), 0, 110.0, True),
        (tenacity.stop_after_attempt(9) & tenacity.stop_after_delay(10), 0, 110.0, False),
        (tenacity.stop_after_attempt(9) & tenacity.stop_after_delay(10), 8, 110.0, True),
        (lambda state: state.attempt_number > 4, 3, 101.0, False),
        (lambda state: state.attempt_number > 4, 4, 101.0, True),
    ],
)
def test_stops_of_tenacity(rule: Any, retries: int, now: float, is_over: bool) -> None:  # noqa: FBT001
    """Every stop object is asked, with the time since the start of the call and the wait that would come."""
    policy = RetryPolicy(stop=rule, wait=tenacity.wait_fixed(1))
    decision = decided(policy, failed(refused(503), retries=retries, most=inf, now=now))

    assert ((None, "stop") if is_over else (1.0, "")) == decision[:2]


BUSY = openai.RateLimitError


@pytest.mark.parametrize(
    ("rule", "error", "expected"),
    [
        (tenacity.retry_if_exception_type(BUSY), refused(429), True),
        (tenacity.retry_if_exception_type(BUSY), refused(503), False),
        (tenacity.retry_if_not_exception_type(BUSY), refused(503), True),
        (tenacity.retry_if_not_exception_type(BUSY), refused(429), False),
        (tenacity.retry_if_exception(lambda error: "now" in str(error)), refused(503, "not now"), True),
        (tenacity.retry_if_exception(lambda error: "now" in str(error)), refused(503), False),
        (tenacity.retry_if_exception_message(message="busy"), refused(503, "busy"), True),
        (tenacity.retry_if_exception_message(match="bu"), refused(503, "busy"), True),
        (tenacity.retry_if_exception_message(match="bu"), refused(503, "down"), False),
        (tenacity.retry_if_not_exception_message(match="bu"), refused(503, "down"), True),
        (tenacity.retry_if_exception_cause_type(OSError), caused(refused(503), OSError()), True),
        (tenacity.retry_if_exception_cause_type(OSError), refused(503), False),
        (tenacity.retry_unless_exception_type(BUSY), refused(429), False),
        (tenacity.retry_if_result(lambda _: True), refused(503), False),
        (tenacity.retry_if_exception_type(BUSY) | tenacity.retry_if_exception_type(OSError), OSError(), True),
        (tenacity.retry_any(tenacity.retry_never, tenacity.retry_if_exception_type(BUSY)), refused(429), True),
        (tenacity.retry_if_exception_type(BUSY) & tenacity.retry_if_exception_message("no"), refused(429), True),
        (tenacity.retry_if_exception_type(BUSY) & tenacity.retry_if_exception_message("x"), refused(429), False),
        (tenacity.retry_never, refused(503), False),
        (lambda error: isinstance(error, BUSY), refused(429), True),
        (lambda error: isinstance(error, BUSY), refused(503), False),
    ],
)
def test_retry_rules_of_tenacity(rule: Any, error: Exception, *, expected: bool) -> None:
    """Every retry object is asked about the exception; a plain function gets the exception itself."""
    assert (0.5 if expected else None) == decided(RetryPolicy(retry=rule), failed(error)).wait


def test_what_tenacitys_objects_are_told() -> None:
    """The state holds the attempt, its exception, the times and the wait to come."""
    seen: list[tenacity.RetryCallState] = []

    def stop(state: tenacity.RetryCallState) -> bool:
        seen.append(state)
        return False

    error = refused(503)
    decided(RetryPolicy(stop=stop), failed(error, retries=1, slept=0.4, now=107.0))
    [state] = seen

    assert (2, 0.4, 1.0) == (state.attempt_number, state.idle_for, state.upcoming_sleep)
    assert (100.0, 107.0, 7.0) == (state.start_time, state.outcome_timestamp, state.seconds_since_start)
    assert state.outcome is not None
    assert error is state.outcome.exception()
    assert "attempt #2; slept for 0.4" in repr(state)


def test_a_rule_that_raises() -> None:
    """A mistake in a rule is not hidden."""

    def wrong(error: BaseException) -> bool:
        raise KeyError(error)

    with pytest.raises(KeyError):
        decided(RetryPolicy(retry=wrong), failed(refused(503)))


PROBE = """
import sys
from deepseek_sdk.resilience.retrying import Failure, RetryPolicy, decide
policy = RetryPolicy(retry=lambda error: True)
failure = Failure(error=OSError(), retries=0, most=2, started=0.0, now=0.0)
print(decide(policy, failure, chance=1.0, epoch=0.0, spend=lambda: True).wait, "tenacity" in sys.modules)
"""


@pytest.mark.slow
def test_tenacity_is_loaded_by_those_who_use_it() -> None:
    """Without an object of tenacity a decision does not import it."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)

    assert (0, "", "0.5 False\n") == (done.returncode, done.stderr, done.stdout)
