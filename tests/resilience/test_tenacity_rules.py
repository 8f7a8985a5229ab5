from __future__ import annotations

import random
import subprocess
import sys
from math import inf, nan
from typing import Any

import openai
import pytest
import tenacity

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from tests.resilience.failures import caused, decided, failed, refused


def series(rule: Any, count: int = 4) -> list[float | None]:
    """Give the waits that a policy with a wait rule chooses one after the other."""
    policy = RetryPolicy(wait=rule)
    return [decided(policy, failed(refused(503), retries=n, most=inf)).wait for n in range(count)]


# tenacity has it since 9.1.3.
WAITS_OF_LATER_RELEASES: list[Any] = (
    [(tenacity.wait_exception(lambda error: getattr(error, "status_code", 0) / 100), [5.03] * 4)]
    if hasattr(tenacity, "wait_exception")
    else []
)


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
        *WAITS_OF_LATER_RELEASES,
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
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.resilience.retrying.decision import Failure, decide
policy = RetryPolicy(retry=lambda error: True)
failure = Failure(error=OSError(), retries=0, most=2, started=0.0, now=0.0)
print(decide(policy, failure, chance=1.0, epoch=0.0, spend=lambda: True).wait, "tenacity" in sys.modules)
"""


@pytest.mark.slow
def test_tenacity_is_loaded_by_those_who_use_it() -> None:
    """Without an object of tenacity a decision does not import it."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)

    assert (0, "", "0.5 False\n") == (done.returncode, done.stderr, done.stdout)
