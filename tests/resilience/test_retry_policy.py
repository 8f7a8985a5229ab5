from __future__ import annotations

from functools import partial
from math import inf, nan
from typing import Any

import openai
import pytest
import tenacity

from deepseek_sdk._clock import UNSET
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.retrying.budget import RetryBudget
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from tests.resilience.failures import decided, failed, refused


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
        ("first_wait", inf),
        ("longest_wait", inf),
        ("longest_retry_after", nan),
        ("longest_retry_after", "inf"),
        ("before_moving_on", UNSET),
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


def test_a_rule_that_gives_something_else_to_await() -> None:
    """What has to be awaited and is no coroutine is found, too."""

    class Promise:
        __await__ = repr

    policy = RetryPolicy(stop=lambda _: Promise())  # type: ignore[arg-type, return-value]

    with pytest.raises(ConfigurationError, match=r"^stop must not be asynchronous"):
        decided(policy, failed(refused(503)))
