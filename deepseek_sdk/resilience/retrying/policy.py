"""`RetryPolicy`: the settings of retries."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_seconds
from deepseek_sdk.resilience.retrying.budget import RetryBudget
from deepseek_sdk.resilience.retrying.tenacity_rules import check_rule

if TYPE_CHECKING:
    from deepseek_sdk.resilience.retrying.tenacity_rules import RetryRule, StopRule, WaitRule

__all__ = ["RetryPolicy", "policy_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """
    Whether the same route is asked again, and when.

        RetryPolicy()                                   as often as the client's `max_retries` says
        RetryPolicy(max_retries=0)                      never; a client with `retry=None` has this one
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

    A wait for a route that is left alone for now is no retry, as nothing was sent: *max_retries* and *budget* do not
    count it. A call waits for that *longest_retry_after* in all, within its deadlines and as long as *stop* allows.

    Attributes:
        max_retries: How often, `math.inf` for any number; what is not given is said by the client and the call, or by
            *stop* alone.
        wait: A wait of tenacity, or a function that makes seconds of its `RetryCallState`.
        stop: A stop of tenacity, or a function of its `RetryCallState`. Its time runs from the start of the call.
        retry: A retry rule of tenacity, or a function of the exception; None: the table `errors.classify()`.
        first_wait: The longest first wait, in seconds; each wait is chosen at random from 0 up.
        longest_wait: What it grows to, doubled each time, in seconds.
        on_read_timeout: Ask again when nothing more came in time.
        longest_retry_after: How long a server may ask to wait, in seconds; beyond, it is not asked again. `math.inf`:
            as long as it likes.
        before_moving_on: How often at most while another route could answer; a rule engine is none.
        budget: How many retries all calls together may have, or None for no limit.
    """

    max_retries: float | Unset = UNSET
    wait: WaitRule | None = None
    stop: StopRule | None = None
    retry: RetryRule | None = None
    first_wait: float = 0.5
    longest_wait: float = 4.0
    on_read_timeout: bool = False
    longest_retry_after: float = 120.0
    before_moving_on: float = 0
    budget: RetryBudget | None = field(default_factory=RetryBudget)

    def __post_init__(self) -> None:
        if self.max_retries not in (UNSET, inf):
            check_count("max_retries", self.max_retries)
        if self.before_moving_on != inf:
            check_count("before_moving_on", self.before_moving_on)
        check_seconds("first_wait", self.first_wait)
        check_seconds("longest_wait", self.longest_wait)
        if self.longest_retry_after != inf:
            check_seconds("longest_retry_after", self.longest_retry_after)
        for name in ("wait", "stop", "retry"):
            check_rule(name, getattr(self, name))
        if not isinstance(self.on_read_timeout, bool):
            raise ConfigurationError(f"on_read_timeout must be True or False, not {self.on_read_timeout!r}")
        if not isinstance(self.budget, RetryBudget | None):
            raise ConfigurationError(f"budget must be a RetryBudget or None, not {self.budget!r}")


def policy_of(given: RetryPolicy | Unset | None) -> RetryPolicy:
    """
    Read what was given as a policy.

    Args:
        given: A policy, None for no retries, or UNSET for the default.

    Returns:
        The policy.
    """
    if given is None:
        return RetryPolicy(max_retries=0)
    return RetryPolicy() if isinstance(given, Unset) else given
