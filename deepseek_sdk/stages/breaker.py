"""Keep calls away from what fails, and find out when it is well again."""

from __future__ import annotations

from math import inf, isinf
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._clock import FIRST_TOKEN, FIRST_TOKEN_THINKING, STALL, Unset, is_thinking
from deepseek_sdk._wire import stub_request
from deepseek_sdk.errors import CircuitOpenError, classify
from deepseek_sdk.resilience.breaker import Refusal

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaker import BreakerPolicy, Breakers, Permit

__all__ = ["CircuitBreaker", "Terms", "terms"]


class Terms(NamedTuple):
    """
    What a breaker is to expect of a call, in seconds.

    Attributes:
        slow_after: How long its first token may take; `inf` where slowness does not matter.
        lease: How long the other calls wait for it when it is the probe.
    """

    slow_after: float
    lease: float


def terms(call: Call, policy: BreakerPolicy) -> Terms:
    """
    Say what a breaker is to expect of a call.

    Args:
        call: It.
        policy: The rules of the breaker.

    Returns:
        The terms.
    """
    lease = min(call.limits.first_token, FIRST_TOKEN_THINKING) + min(call.limits.stall, STALL)
    # A slow endpoint is better than none. Of an answer that is read whole no token is seen.
    matters = call.can_move_on and not call.is_direct
    return Terms(_slow_after(call, policy) if matters else inf, lease)


def _slow_after(call: Call, policy: BreakerPolicy) -> float:
    if isinstance(policy.slow_first_token, Unset):
        return FIRST_TOKEN_THINKING if is_thinking(call.body) else FIRST_TOKEN
    return inf if policy.slow_first_token is None else policy.slow_first_token


class CircuitBreaker:
    """
    Asks the breaker of an account before each attempt, and tells it how the attempt went.

    What counts against an account stands in `errors.classify()`.

    Args:
        breakers: The breakers; every call of a client and its children goes through the same ones.

    Attributes:
        breakers: They.
    """

    def __init__(self, breakers: Breakers) -> None:
        self.breakers = breakers

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Let a call through unless its account is left alone."""
        account = getattr(call.upstream, "account", None)
        policy = self.breakers.policy
        if account is None or policy is None:
            return await proceed(call)
        permit = self._admit(call, account, policy)
        try:
            reply = await proceed(call)
        except BaseException as error:
            _settle_failed(permit, error, call.io.now())
            raise
        _watch(permit, reply, call)
        return reply

    def _admit(self, call: Call, account: Account, policy: BreakerPolicy) -> Permit:
        slow_after, lease = terms(call, policy)
        answer = self.breakers[account].admit(call.io.now(), slow_after=slow_after, lease=lease, record=call.record)
        if isinstance(answer, Refusal):
            raise CircuitOpenError(
                request=stub_request(account.base_url),
                account=account,
                retry_in=None if isinf(answer.retry_in) else answer.retry_in,
                is_cooling=answer.is_cooling,
                may_wait=policy.when_open == "wait",
            )
        return answer


def _watch(permit: Permit, reply: Reply, call: Call) -> None:
    now = call.io.now

    def end(ending: Ending, error: BaseException | None) -> None:
        if ending == "complete":
            permit.succeed(now())
        else:
            _settle_failed(permit, error, now())

    # Of other calls nobody wants to know when it comes.
    if permit.is_probe or permit.slow_after < inf:
        permit.wait = reply.clock
        reply.on_first_token(lambda: permit.first_token(now()))
    reply.on_end(end)


def _settle_failed(permit: Permit, error: BaseException | None, now: float) -> None:
    """Count what counts; an answer that is abandoned has no error."""
    if error is not None and classify(error).trips:
        permit.fail(now)
    else:
        permit.neutral(now)
