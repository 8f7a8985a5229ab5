"""`RetryPolicy`, and what it decides after a failure: whether the same route is asked again, and after which wait."""

from __future__ import annotations

import concurrent.futures
import email.utils
import inspect
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import openai

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import (
    CircuitOpenError,
    ConfigurationError,
    InvalidRequestError,
    ServerEventError,
    classify,
)
from deepseek_sdk.resilience.budget import RetryBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tenacity import RetryCallState
    from tenacity.retry import retry_base

    StateRule: TypeAlias = Callable[[RetryCallState], float]
    StopRule: TypeAlias = Callable[[RetryCallState], bool]
    RetryRule: TypeAlias = retry_base | Callable[[BaseException], bool]

__all__ = ["Decision", "Failure", "RetryPolicy", "backoff", "decide", "most_retries", "retry_after"]

# Asking again changes nothing about these, whatever a rule says.
_NEVER = frozenset({400, 401, 402, 403, 404, 422})
# The server may have generated, and billed, what did not arrive in time.
_READ_TIMEOUTS = frozenset({"first_token_timeout", "stall", "timeout"})
# Attributes of tenacity's objects that hold further ones.
_PARTS = ("retries", "stops", "wait_funcs", "strategies")
_A_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """
    Whether the same route is asked again, and when.

        RetryPolicy()                                   as often as the client's `max_retries` says
        RetryPolicy(max_retries=4, longest_wait=20)     up to four times, the waits growing up to 20 s
        RetryPolicy(on_read_timeout=True)               also after a silence: the answer may be billed twice
        RetryPolicy(before_moving_on=1)                 once more, although a further route could answer at once
        RetryPolicy(retry=lambda e: "busy" in str(e))   what the function says, in place of the table
        RetryPolicy(budget=None)                        as often in an outage as on a good day

    Objects of tenacity are taken, sums and chains of them, too:

        from tenacity import retry_if_exception_message, stop_after_delay, wait_fixed, wait_random
        RetryPolicy(wait=wait_fixed(1) + wait_random(0, 2))    1 to 3 s, or as long as the server asks, if that is more
        RetryPolicy(stop=stop_after_delay(30))                 for 30 s from the start of the call, however often
        RetryPolicy(retry=retry_if_exception_message("busy"))  these errors, and no others

    Never asked again: what was refused with 400, 401, 402, 403, 404 or 422, and an answer that the caller has seen
    some of. tenacity's objects are asked after a failure; its `Retrying` runs nothing.

    Attributes:
        max_retries: How often; what is not given is said by the client and the call, or by *stop* alone.
        wait: A wait of tenacity, or a function that makes seconds of its `RetryCallState`.
        stop: A stop of tenacity, or a function of its `RetryCallState`. Its time runs from the start of the call.
        retry: A retry rule of tenacity, or a function of the exception; None: the table `errors.classify()`.
        first_wait: The longest first wait, in seconds; each wait is chosen at random from 0 up.
        longest_wait: What it grows to, doubled each time, in seconds.
        on_read_timeout: Ask again when nothing more came in time.
        longest_retry_after: How long a server may ask to wait, in seconds; beyond, it is not asked again.
        before_moving_on: How often at most while another route could answer; a rule engine is none.
        budget: How many retries all calls together may have, or None for no limit.
    """

    max_retries: float | Unset = UNSET
    wait: StateRule | None = None
    stop: StopRule | None = None
    retry: RetryRule | None = None
    first_wait: float = 0.5
    longest_wait: float = 4.0
    on_read_timeout: bool = False
    longest_retry_after: float = 120.0
    before_moving_on: float = 0
    budget: RetryBudget | None = field(default_factory=RetryBudget)

    def __post_init__(self) -> None:
        if self.max_retries is not UNSET:
            _check_count("max_retries", self.max_retries)
        _check_count("before_moving_on", self.before_moving_on)
        for name in ("first_wait", "longest_wait", "longest_retry_after"):
            _check_seconds(name, getattr(self, name))
        for name in ("wait", "stop", "retry"):
            _check_rule(name, getattr(self, name))
        if not isinstance(self.on_read_timeout, bool):
            raise ConfigurationError(f"on_read_timeout must be True or False, not {self.on_read_timeout!r}")
        if not isinstance(self.budget, RetryBudget | None):
            raise ConfigurationError(f"budget must be a RetryBudget or None, not {self.budget!r}")


def _check_count(name: str, value: object) -> None:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    if not (is_count or value == math.inf) or value < 0:  # type: ignore[operator]  # it is a number
        raise ConfigurationError(f"{name} must be a whole number, 0 or more, or math.inf, not {value!r}")


def _check_seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ConfigurationError(f"{name} must be a number of seconds, 0 or more, not {value!r}")


def _check_rule(name: str, rule: object) -> None:
    if rule is None:
        return
    if not callable(rule) or isinstance(rule, type):
        raise ConfigurationError(f"{name} must be an object of tenacity, a function or None, not {rule!r}")
    if _is_async(rule):
        raise ConfigurationError(f"{name} must not be asynchronous: it decides for sync calls, too; not {rule!r}")


def _is_async(rule: Any) -> bool:
    if inspect.iscoroutinefunction(rule) or inspect.iscoroutinefunction(type(rule).__call__):
        return True
    if not _is_of_tenacity(rule):
        return False
    parts = [part for name in _PARTS for part in getattr(rule, name, ())]
    return any(map(_is_async, [*parts, getattr(rule, "predicate", None)]))


def _is_of_tenacity(rule: object) -> bool:
    """Tell its objects, and those of classes made of them, without loading it."""
    return any(kind.__module__.partition(".")[0] == "tenacity" for kind in type(rule).__mro__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    A failed attempt, and how its call stands. Instants are of the monotonic clock.

    Attributes:
        error: Why it failed.
        retries: How many retries there were before.
        most: How many there may be, `inf` for any number.
        can_move_on: A further route, not only a last resort, could answer.
        slept: How long the call has waited between attempts, in seconds.
        started: The start of the call.
        now: The instant of the failure.
        ends_at: The call's last instant, `inf` where it has none.
    """

    error: Exception
    retries: int
    most: float
    can_move_on: bool = False
    slept: float = 0.0
    started: float
    now: float
    ends_at: float = math.inf


class Decision(NamedTuple):
    """
    What is done after a failure.

    Attributes:
        wait: How long to wait before asking again, in seconds, or None: not asked again.
        reason: Why not: "max_retries", "not retryable", "stop", "retry-after too long", "deadline" or "retry budget".
        leave_alone: How long nobody should ask this server, in seconds, because it says so; 0 where it does not.
    """

    wait: float | None
    reason: str = ""
    leave_alone: float = 0.0


def most_retries(policy: RetryPolicy, max_retries: float, *, can_move_on: bool) -> float:
    """
    Decide how often the same route may be asked again.

    Args:
        policy: The policy.
        max_retries: What the client or the call says.
        can_move_on: A further route, not only a last resort, could answer.

    Returns:
        A number, `inf` where *stop* alone decides.
    """
    if not isinstance(policy.max_retries, Unset):
        most = policy.max_retries
    else:
        most = max_retries if policy.stop is None else math.inf
    return min(most, policy.before_moving_on) if can_move_on else most


def decide(
    policy: RetryPolicy, failure: Failure, *, chance: float, epoch: float, spend: Callable[[], bool]
) -> Decision:
    """
    Decide whether to ask again.

    Args:
        policy: The policy.
        failure: What happened.
        chance: A random number from 0 to 1; it keeps many clients from coming back at the same instant.
        epoch: The time, in seconds since 1970: servers name dates.
        spend: Takes one retry from what all calls share; False where nothing is left. Asked last.

    Returns:
        The decision.
    """
    error = failure.error
    asked = error.retry_in if isinstance(error, CircuitOpenError) else retry_after(_headers(error), epoch)
    wait, reason = _wait(policy, failure, asked=asked, chance=chance)
    # Where nothing was sent nothing was repeated: that costs the server nothing.
    if not reason and not isinstance(error, CircuitOpenError) and not spend():
        reason = "retry budget"
    if not reason:
        return Decision(wait)
    return Decision(None, reason, _pause(failure, asked or 0.0, reason))


def _wait(policy: RetryPolicy, failure: Failure, *, asked: float | None, chance: float) -> tuple[float, str]:
    """Find out how long to wait, or why that makes no sense."""
    if failure.retries >= failure.most:
        return 0.0, "max_retries"
    if not _is_retryable(policy, failure):
        return 0.0, "not retryable"
    own = backoff(policy, failure.retries, chance) if policy.wait is None else _own_wait(policy.wait, failure)
    wait = own if asked is None else max(own, asked * (1 + 0.1 * chance))
    if policy.stop is not None and _consult("stop", policy.stop, _state(failure, wait)):
        return wait, "stop"
    if asked is not None and asked > policy.longest_retry_after:
        return wait, "retry-after too long"
    return wait, "" if failure.now + wait < failure.ends_at else "deadline"


def backoff(policy: RetryPolicy, retries: int, chance: float) -> float:
    """
    Choose a wait by full jitter.

    Args:
        policy: The policy; its *wait* is not looked at.
        retries: How many retries there were before.
        chance: A random number from 0 to 1.

    Returns:
        Seconds.
    """
    return chance * min(policy.longest_wait, policy.first_wait * 2.0 ** min(retries, 100))


def _own_wait(rule: Any, failure: Failure) -> float:
    wait = _consult("wait", rule, _state(failure, 0.0))
    if isinstance(wait, bool) or not isinstance(wait, int | float) or math.isnan(wait):
        raise ConfigurationError(f"wait must give a number of seconds, not {wait!r}") from failure.error
    return min(max(float(wait), 0.0), _A_DAY_S)


def _is_retryable(policy: RetryPolicy, failure: Failure) -> bool:
    error = failure.error
    if isinstance(error, CircuitOpenError):
        is_worth_it = error.is_cooling or error.may_wait
        return is_worth_it and error.retry_in is not None and not failure.can_move_on
    # openai's servers, and gateways that imitate them, know better than any table.
    advice = _headers(error).get("x-should-retry")
    if advice == "false" or _is_final(error):
        return False
    if policy.retry is not None:
        argument = _state(failure, 0.0) if _is_of_tenacity(policy.retry) else error
        return bool(_consult("retry", policy.retry, argument))
    row = classify(error)
    return row.retry or advice == "true" or (policy.on_read_timeout and row.reason in _READ_TIMEOUTS)


def _is_final(error: Exception) -> bool:
    if isinstance(error, openai.APIStatusError):
        return isinstance(error, InvalidRequestError) or error.status_code in _NEVER
    if isinstance(error, ServerEventError):
        return error.type == "invalid_request_error"
    # The loser of a race is cancelled by what is an ordinary exception.
    return isinstance(error, ConfigurationError | concurrent.futures.CancelledError)


def _pause(failure: Failure, asked: float, reason: str) -> float:
    """Say how long a server that will not be asked again by this call should not be asked by others either."""
    is_busy = getattr(failure.error, "status_code", None) in (429, 503)
    is_heeded = reason in ("retry-after too long", "deadline") or (failure.can_move_on and is_busy)
    return asked if is_heeded and not isinstance(failure.error, CircuitOpenError) else 0.0


def _state(failure: Failure, upcoming: float) -> RetryCallState:
    """Tell tenacity's objects what they may want to know."""
    import tenacity  # noqa: PLC0415  only those who use its objects pay for it

    error = failure.error
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.start_time = failure.started
    state.attempt_number = failure.retries + 1
    state.idle_for, state.upcoming_sleep = failure.slept, upcoming
    state.set_exception((type(error), error, error.__traceback__))
    state.outcome_timestamp = failure.now
    return state


def _consult(name: str, rule: Callable[[Any], Any], argument: object) -> Any:
    answer = rule(argument)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise ConfigurationError(f"{name} must not be asynchronous: it decides for sync calls, too; not {rule!r}")
    return answer


def _headers(error: Exception) -> Mapping[str, str]:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", {})
    return headers


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """
    Read how long a server asks to wait.

    Args:
        headers: The headers of its answer: `retry-after-ms`, or `retry-after` in seconds or as a date.
        now: The time, in seconds since the epoch.

    Returns:
        Seconds, or None where it does not say.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return max(seconds, 0.0) if math.isfinite(seconds) else None
    return _seconds_until(headers.get("retry-after"), now)


def _seconds_until(date: str | None, now: float) -> float | None:
    parsed = email.utils.parsedate_tz(date)
    if parsed is None:
        return None
    try:
        return max(email.utils.mktime_tz(parsed) - now, 0.0)
    except (ValueError, OverflowError, OSError):
        return None
