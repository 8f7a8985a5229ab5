"""Ask the same route again after failures that may pass: the only retry loop there is."""

from __future__ import annotations

import logging
import random
import time
from math import isinf
from typing import TYPE_CHECKING

from deepseek_sdk._clock import UNSET, Unset
from deepseek_sdk.errors import CircuitOpenError, classify
from deepseek_sdk.resilience.retrying.budget import Budgets
from deepseek_sdk.resilience.retrying.decision import Failure, decide, most_retries
from deepseek_sdk.resilience.retrying.nesting import Owner, is_owned
from deepseek_sdk.resilience.retrying.policy import policy_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.breaker import Breakers
    from deepseek_sdk.resilience.retrying.decision import Decision
    from deepseek_sdk.resilience.retrying.policy import RetryPolicy

__all__ = ["Retry"]

_log = logging.getLogger("deepseek_sdk")


class Retry:
    """
    Makes further attempts where one fails, as long as the caller has seen nothing of the answer.

    Where a client is used to answer a call of another client, the outer one makes all retries, and this one none. A
    call may also wait for a route that is left alone, where nothing else can answer: that is no retry.

    Args:
        policy: What is asked again, how often and when; UNSET is `RetryPolicy()`, None `RetryPolicy(max_retries=0)`: no
            retries.
        chance: Gives random numbers from 0 to 1.
        breakers: What is told to leave a server alone that asks for it; None: nothing.
    """

    def __init__(
        self,
        policy: RetryPolicy | Unset | None = UNSET,
        *,
        chance: Callable[[], float] = random.random,
        breakers: Breakers | None = None,
    ) -> None:
        self._decider = _Decider(policy_of(policy), chance, breakers)

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call in as many attempts as it takes and may have."""
        self._decider.note(call)
        attempts = _Attempts(self._decider, call, proceed)
        try:
            # The first attempt stands here, not in next(): most calls need no more.
            with attempts:
                reply = await proceed(call)
        except Exception as error:
            if not await attempts.wait_after(error):
                raise
            # Not asked again inside this block: a later error does not come of this one.
            reply = None
        if reply is None:
            reply = await attempts.next()
        reply.rescue_with(attempts.rescue)
        return reply


class _Decider:
    """Decides for all calls: the policy, and what it needs besides."""

    def __init__(self, policy: RetryPolicy, chance: Callable[[], float], breakers: Breakers | None) -> None:
        self._policy = policy
        self._chance = chance
        self._breakers = breakers if breakers is not None and breakers.is_on else None
        self._budgets = None if policy.budget is None else Budgets(policy.budget)

    def note(self, call: Call) -> None:
        if self._budgets is not None and (account := _account(call)) is not None:
            self._budgets.earn(account, call.io.now())

    def most(self, call: Call) -> float:
        # A last resort would say the same again.
        if getattr(call.upstream, "is_last_resort", False) and _account(call) is None:
            return 0
        return most_retries(self._policy, call.max_retries, can_move_on=call.can_move_on_to_route)

    def decide(self, call: Call, failure: Failure) -> Decision:
        account = _account(call)

        def spend() -> bool:
            # A number that somebody has chosen holds, one that only a stop ends does not.
            least = 0 if isinf(failure.most) else failure.most
            return account is None or self._budgets is None or self._budgets.spend(account, failure.now, least)

        return decide(self._policy, failure, chance=self._chance(), epoch=time.time(), spend=spend)

    def cool_down(self, call: Call, seconds: float) -> None:
        account = _account(call)
        if seconds and account is not None and self._breakers is not None:
            self._breakers[account].cool_down(seconds, call.io.now())


class _Tally:
    """What one call has done about its failures so far."""

    retries = rounds = 0
    slept = waited = 0.0
    failed_by: Exception | None = None


class _Attempts(Owner):
    """The attempts of one call: those that fail before an answer begins, and those that fail while it comes in."""

    __slots__ = ("_call", "_decider", "_is_inner", "_proceed", "_tally")

    def __init__(self, decider: _Decider, call: Call, proceed: Proceed) -> None:
        self._decider = decider
        self._call = call
        self._proceed = proceed
        self._is_inner = is_owned()
        # Most calls need none.
        self._tally: _Tally | None = None

    async def next(self) -> Reply:
        tally = self._kept_tally()
        try:
            while True:
                try:
                    with self:
                        return await self._proceed(self._call)
                except Exception as error:
                    if await self.wait_after(error):
                        continue
                    # That the circuit has opened meanwhile says less than what opened it.
                    if isinstance(error, CircuitOpenError) and tally.failed_by is not None:
                        raise tally.failed_by from tally.failed_by.__cause__
                    raise
        finally:
            # Its traceback holds this frame: the two would keep each other, and the call, until garbage is collected.
            tally.failed_by = None

    async def rescue(self, reply: Reply, error: Exception) -> Reply | None:
        if reply.has_shown or not await self.wait_after(error):
            return None
        # next() may raise it again, and then its traceback would hold this frame, and this frame it.
        del error
        return await self.next()

    async def wait_after(self, error: Exception) -> bool:
        """Wait before the next attempt, which next() makes; False where there is none."""
        tally = self._kept_tally()
        failure = self._failure(error, tally)
        decision, reason = self._decider.decide(self._call, failure), classify(error).reason
        if decision.wait is None:
            _log.debug("not retrying after %s: %s", reason, decision.reason)
            if decision.reason == "retry budget":
                error.add_note("Not asked again: the retries of the last minute are used up (see RetryBudget)")
            self._decider.cool_down(self._call, decision.cooldown)
            return False
        was_sent = not isinstance(error, CircuitOpenError)
        if was_sent:
            tally.retries += 1
            count, most = tally.retries, failure.most
            _log.info("retrying in %.2f s after %s (retry %d of %g)", decision.wait, reason, count, most)
        else:
            tally.rounds += 1
            tally.waited += decision.wait
            _log.debug("waiting %.2f s: %s", decision.wait, reason)
        tally.slept += decision.wait
        await self._call.io.sleep(decision.wait)
        # Not before: where the wait is cut short, next() is not there to forget it.
        tally.failed_by = error if was_sent else tally.failed_by
        return True

    def _kept_tally(self) -> _Tally:
        if self._tally is None:
            self._tally = _Tally()
        return self._tally

    def _failure(self, error: Exception, tally: _Tally) -> Failure:
        call, now = self._call, self._call.io.now()
        ends_at = call.record.started + call.limits.total
        if call.can_move_on:
            # Nobody waits longer for the same route than for the first token of a silent one.
            ends_at = min(ends_at, now + call.limits.first_token - tally.waited)
        return Failure(
            error=error,
            retries=tally.retries,
            most=self._decider.most(call),
            can_move_on=call.can_move_on_to_route,
            is_inner=self._is_inner,
            slept=tally.slept,
            rounds=tally.rounds,
            waited=tally.waited,
            started=call.record.started,
            now=now,
            ends_at=ends_at,
        )


def _account(call: Call) -> Account | None:
    account: Account | None = getattr(call.upstream, "account", None)
    return account
