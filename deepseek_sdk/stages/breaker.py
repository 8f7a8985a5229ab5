"""Keep calls away from what fails, and find out when it is well again."""

from __future__ import annotations

from math import inf, isinf
from typing import TYPE_CHECKING

from deepseek_sdk._clock import FIRST_TOKEN, FIRST_TOKEN_THINKING, STALL, Unset, is_thinking
from deepseek_sdk._wire import stub_request
from deepseek_sdk.errors import CircuitOpenError, classify
from deepseek_sdk.resilience.breaking.breaker import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.breaker import BreakerPolicy, Breakers, Permit

__all__ = ["CircuitBreaker"]


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
        slow_after = _slow_after(call, policy)
        answer = self.breakers[account].admit(
            call.io.now(),
            slow_after=slow_after,
            lease=min(call.limits.first_token, FIRST_TOKEN_THINKING) + min(call.limits.stall, STALL),
            begun=None if isinf(slow_after) else _sent_at(call),
        )
        if isinstance(answer, Refusal):
            call.record.skip(getattr(call.upstream, "name", "") or "default", "circuit_open")
            raise _refused(answer, account, policy, self.breakers[account].reason)
        answer.call, answer.is_alone = call.record, not call.can_move_on
        return answer


def _slow_after(call: Call, policy: BreakerPolicy) -> float:
    # A slow endpoint is better than none. Of an answer that is read whole no token is seen.
    if call.is_direct or not call.can_move_on or policy.slow_first_token is None:
        return inf
    if isinstance(policy.slow_first_token, Unset):
        return FIRST_TOKEN_THINKING if is_thinking(call.body) else FIRST_TOKEN
    return policy.slow_first_token


def _sent_at(call: Call) -> Callable[[], float | None]:
    """Give what says when the attempt of a call begins that is about to be let through, or None while it has not."""
    record, route = call.record, getattr(call.upstream, "name", "")
    # Attempts are told apart by what they are, not by where they stand: one may be taken back and begun anew, and
    # others may be made of the same call at the same time.
    before = tuple(record.attempts)

    def sent_at() -> float | None:
        for attempt in record.attempts:
            if route in {"", attempt.route} and not any(attempt is other for other in before):
                return record.started + attempt.started
        return None

    return sent_at


def _refused(refusal: Refusal, account: Account, policy: BreakerPolicy, reason: str | None) -> CircuitOpenError:
    return CircuitOpenError(
        request=stub_request(account.base_url),
        account=account,
        retry_in=None if isinf(refusal.retry_in) else refusal.retry_in,
        is_cooling=refusal.is_cooling,
        may_wait=policy.when_open == "wait",
        reason=reason,
    )


def _watch(permit: Permit, reply: Reply, call: Call) -> None:
    # Of this attempt: the reply gets another where something takes its place.
    now, progress = call.io.now, reply.progress

    def end(ending: Ending, error: BaseException | None) -> None:
        if ending == "complete":
            permit.succeed(now())
        elif ending == "abandoned":
            permit.abandon(now(), has_token=progress.has_token)
        else:
            _settle_failed(permit, error, now(), has_token=progress.has_token)

    # Of other calls nobody wants to know when it comes.
    if permit.is_probe or permit.slow_after < inf:
        permit.wait = reply.clock
        reply.on_first_token(lambda: permit.first_token(now()))
    reply.on_end(end)


def _settle_failed(permit: Permit, error: BaseException | None, now: float, *, has_token: bool = False) -> None:
    """Count what counts; where the account is not to blame, an answer that had begun is as good as a complete one."""
    if error is not None and classify(error).trips:
        permit.fail(now)
    elif has_token:
        permit.succeed(now)
    else:
        permit.neutral(now)
