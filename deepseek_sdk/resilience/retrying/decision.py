"""What is decided after a failure: whether the same route is asked again, and after which wait."""

from __future__ import annotations

import concurrent.futures
import math
from typing import TYPE_CHECKING, NamedTuple

import openai

from deepseek_sdk._clock import Unset
from deepseek_sdk.errors import (
    CircuitOpenError,
    ConcurrencyLimitError,
    ConfigurationError,
    InvalidRequestError,
    ServerEventError,
    classify,
)
from deepseek_sdk.resilience.retrying.retry_after import headers_of, retry_after
from deepseek_sdk.resilience.retrying.tenacity_rules import consult, is_of_tenacity, make_state, wait_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

    from deepseek_sdk.resilience.retrying.policy import RetryPolicy

__all__ = ["Decision", "Failure", "backoff", "decide", "most_retries"]

# Asking again changes nothing about these, whatever a rule says.
_NEVER = frozenset({400, 401, 402, 403, 404, 422})
# The server may have generated, and billed, what did not arrive in time.
_READ_TIMEOUTS = frozenset({"first_token_timeout", "stall", "timeout"})
_A_DAY_S = 86_400.0
# How often one call asks whether a route is still left alone, and how long it waits in between at least: a moment at
# first, as another call may be about to find out, and longer each time.
_MOST_ROUNDS = 100
_FIRST_ROUND_S, _ROUND_S = 0.05, 1.0


class Failure(NamedTuple):
    """
    A failed attempt, and how its call stands. Instants are of the monotonic clock.

    Attributes:
        error: Why it failed.
        retries: How many retries there were before.
        most: How many there may be, `inf` for any number.
        can_move_on: A further route, not only a last resort, could answer.
        is_inner: Somebody further out asks again.
        slept: How long the call has waited in all, in seconds.
        rounds: How often it has waited for a route that is left alone.
        waited: How long it has waited for that, in seconds.
        started: The start of the call.
        now: The instant of the failure.
        ends_at: The call's last instant, `inf` where it has none.
    """

    error: Exception
    retries: int
    most: float
    started: float
    now: float
    can_move_on: bool = False
    is_inner: bool = False
    slept: float = 0.0
    rounds: int = 0
    waited: float = 0.0
    ends_at: float = math.inf


class Decision(NamedTuple):
    """
    What is done after a failure.

    Attributes:
        wait: How long to wait before asking again, in seconds, or None: not asked again.
        reason: Why not: "nested", "max_retries", "not retryable", "stop", "retry-after too long", "deadline", "retry
            budget" or "left alone".
        cooldown: How long nobody should ask this server, in seconds, because it says so; 0 where it does not.
    """

    wait: float | None
    reason: str = ""
    cooldown: float = 0.0


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
    if isinstance(failure.error, CircuitOpenError):
        return _until_it_is_asked(policy, failure, failure.error, chance)
    asked = retry_after(headers_of(failure.error), epoch)
    wait, reason = _wait(policy, failure, asked, chance)
    # Calls over a limit that the server has named are paced by the limiter: these come back when there is a place.
    if not reason and not isinstance(failure.error, ConcurrencyLimitError) and not spend():
        reason = "retry budget"
    return Decision(None, reason, _cooldown(failure, asked, reason)) if reason else Decision(wait)


def _wait(policy: RetryPolicy, failure: Failure, asked: float | None, chance: float) -> tuple[float, str]:
    """Find out how long to wait, or why that makes no sense."""
    if failure.is_inner:
        return 0.0, "nested"
    if failure.retries >= failure.most:
        return 0.0, "max_retries"
    if not _is_retryable(policy, failure):
        return 0.0, "not retryable"
    own = backoff(policy, failure.retries, chance) if policy.wait is None else wait_by(policy.wait, _state(failure))
    wait = min(own if asked is None else max(own, asked * (1 + 0.1 * chance)), _A_DAY_S)
    return wait, _obstacle(policy, failure, wait, asked or 0.0)


def _until_it_is_asked(policy: RetryPolicy, failure: Failure, error: CircuitOpenError, chance: float) -> Decision:
    """Decide about a route that is left alone: nothing was sent, so this is no retry, and costs its server nothing."""
    is_worth_it = (error.is_cooling or error.may_wait) and not failure.can_move_on
    if failure.is_inner or not is_worth_it or error.retry_in is None:
        return Decision(None, "nested" if failure.is_inner else "not retryable")
    if failure.rounds >= _MOST_ROUNDS:
        return Decision(None, "left alone")
    shortest = min(_FIRST_ROUND_S * 2.0**failure.rounds, _ROUND_S)
    wait = min(max(error.retry_in, shortest) * (1 + 0.1 * chance), _A_DAY_S)
    reason = _obstacle(policy, failure, wait, failure.waited + error.retry_in)
    return Decision(None, reason) if reason else Decision(wait)


def _obstacle(policy: RetryPolicy, failure: Failure, wait: float, asked: float) -> str:
    """Say why a wait cannot be waited, of which a server, or a circuit, has asked for *asked* seconds."""
    if policy.stop is not None and consult("stop", policy.stop, _state(failure, wait)):
        return "stop"
    if asked > policy.longest_retry_after:
        return "retry-after too long"
    return "" if failure.now + wait < failure.ends_at else "deadline"


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


def _is_retryable(policy: RetryPolicy, failure: Failure) -> bool:
    error = failure.error
    # openai's servers, and gateways that imitate them, know better than any table.
    advice = headers_of(error).get("x-should-retry")
    if advice == "false" or _is_final(error):
        return False
    if policy.retry is not None:
        argument = _state(failure) if is_of_tenacity(policy.retry) else error
        return bool(consult("retry", policy.retry, argument))
    row = classify(error)
    return row.retry or advice == "true" or (policy.on_read_timeout and row.reason in _READ_TIMEOUTS)


def _is_final(error: Exception) -> bool:
    if isinstance(error, openai.APIStatusError):
        return isinstance(error, InvalidRequestError) or error.status_code in _NEVER
    if isinstance(error, ServerEventError):
        return error.type == "invalid_request_error"
    # The loser of a race is cancelled by what is an ordinary exception.
    return isinstance(error, ConfigurationError | concurrent.futures.CancelledError)


def _cooldown(failure: Failure, asked: float | None, reason: str) -> float:
    """Say how long a server that will not be asked again by this call should not be asked by others either."""
    is_busy = getattr(failure.error, "status_code", None) in (429, 503)
    is_heeded = reason in ("retry-after too long", "deadline") or (failure.can_move_on and is_busy)
    return (asked or 0.0) if is_heeded else 0.0


def _state(failure: Failure, upcoming: float = 0.0) -> RetryCallState:
    was_sent = not isinstance(failure.error, CircuitOpenError)
    return make_state(
        failure.error,
        attempts=failure.retries + was_sent,
        started=failure.started,
        now=failure.now,
        slept=failure.slept,
        upcoming=upcoming,
    )
