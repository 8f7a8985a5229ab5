"""The rules of a policy that are objects of tenacity, or functions: asked about one failure, never run as a loop."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, TypeAlias

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState
    from tenacity.retry import retry_base

    WaitRule: TypeAlias = Callable[[RetryCallState], float]
    StopRule: TypeAlias = Callable[[RetryCallState], bool]
    RetryRule: TypeAlias = retry_base | Callable[[BaseException], bool]

__all__ = ["check_rule", "consult", "is_of_tenacity", "make_state", "wait_by"]

# Attributes of tenacity's objects that hold further ones.
_PARTS = ("retries", "stops", "wait_funcs", "strategies")


def check_rule(name: str, rule: Any) -> None:
    """
    Check a rule, as far as that can be done without asking it.

    Args:
        name: The field of the policy.
        rule: What was given.

    Raises:
        ConfigurationError: It cannot be asked, or not by a sync call.
    """
    if rule is None:
        return
    if not callable(rule) or isinstance(rule, type):
        raise ConfigurationError(f"{name} must be an object of tenacity, a function or None, not {rule!r}")
    if _is_async(rule):
        raise _asynchronous(name, rule)


def is_of_tenacity(rule: object) -> bool:
    """
    Tell tenacity's objects, and those of classes made of its classes, without loading it.

    Args:
        rule: Any rule.

    Returns:
        Whether it is one.
    """
    return any(kind.__module__.partition(".")[0] == "tenacity" for kind in type(rule).__mro__)


def make_state(
    error: Exception, *, attempts: int, started: float, now: float, slept: float, upcoming: float = 0.0
) -> RetryCallState:
    """
    Make what tenacity's objects are told.

    Args:
        error: Why the last attempt failed.
        attempts: How many attempts there were.
        started: The start of the call, in seconds of the monotonic clock.
        now: The instant of the failure, likewise.
        slept: How long the call has waited so far, in seconds.
        upcoming: How long it would wait now, in seconds.

    Returns:
        The state.
    """
    import tenacity  # noqa: PLC0415  only those who use its objects pay for it

    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.start_time = started
    state.attempt_number = attempts
    state.idle_for, state.upcoming_sleep = slept, upcoming
    state.set_exception((type(error), error, error.__traceback__))
    state.outcome_timestamp = now
    return state


def consult(name: str, rule: Callable[[Any], Any], argument: object) -> Any:
    """
    Ask a rule.

    Args:
        name: The field of the policy.
        rule: It.
        argument: What it is asked about.

    Returns:
        What it says.

    Raises:
        ConfigurationError: It turns out to be asynchronous.
    """
    answer = rule(argument)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise _asynchronous(name, rule)
    return answer


def wait_by(rule: WaitRule, state: RetryCallState) -> float:
    """
    Ask a wait.

    Args:
        rule: It.
        state: What it is asked about.

    Returns:
        Seconds, 0 or more; it may be `inf`.

    Raises:
        ConfigurationError: It says something else.
    """
    wait = consult("wait", rule, state)
    if isinstance(wait, bool) or not isinstance(wait, int | float) or math.isnan(wait):
        raise ConfigurationError(f"wait must give a number of seconds, not {wait!r}")
    return max(float(wait), 0.0)


def _is_async(rule: Any) -> bool:
    if inspect.iscoroutinefunction(rule) or inspect.iscoroutinefunction(type(rule).__call__):
        return True
    if not is_of_tenacity(rule):
        return False
    parts = [part for name in _PARTS for part in getattr(rule, name, ())]
    return any(map(_is_async, [*parts, getattr(rule, "predicate", None)]))


def _asynchronous(name: str, rule: object) -> ConfigurationError:
    return ConfigurationError(f"{name} must not be asynchronous: it decides for sync calls, too; not {rule!r}")
