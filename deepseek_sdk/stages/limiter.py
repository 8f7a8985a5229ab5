"""Send no more at a time than the account may have; what is too much waits in a fair queue."""

from __future__ import annotations

import contextlib
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from deepseek_sdk._estimate import estimate_tokens
from deepseek_sdk._rejections import stub_refusal
from deepseek_sdk.errors import LimiterTimeoutError
from deepseek_sdk.resilience.limiting.overload import is_overload, named_limit

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._progress import Progress
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk.resilience.limiting.lease import Lease
    from deepseek_sdk.resilience.limiting.limiter import Limiter, Limiters
    from deepseek_sdk.resilience.limiting.policy import LimiterPolicy

__all__ = ["ConcurrencyLimit"]


class ConcurrencyLimit:
    """
    Lets a call through when there is a place for it; the place is taken until its answer has ended.

    Args:
        limiters: One for each account.

    Attributes:
        limiters: They.
    """

    def __init__(self, limiters: Limiters) -> None:
        self.limiters = limiters

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call when it is its turn."""
        policy, account = self.limiters.policy, getattr(call.upstream, "account", None)
        # A backend of this process has a queue of its own, and knows better how much it can do at a time.
        if policy is None or account is None or getattr(call.upstream, "is_in_process", False):
            return await proceed(call)
        limiter = self.limiters[account]
        lease = _ask(limiter, policy, call)
        try:
            if not lease.is_granted:
                await _wait(call, limiter, lease)
            reply = await proceed(call)
        except BaseException as error:
            _release_after(error, limiter, lease, call.io)
            raise
        # Over the limit the server refuses at once (429): what it accepts is within, however long the answer takes.
        if limiter.in_flight * 2 >= limiter.limit:
            limiter.accept(lease, call.io.now())
        reply.on_end(partial(_settle, limiter, lease, call.io, reply.progress))
        return reply


def _ask(limiter: Limiter, policy: LimiterPolicy, call: Call) -> Lease:
    now = call.io.now()
    return limiter.ask(
        now,
        tokens=0 if policy.tpm is None else estimate_tokens(call.body),
        is_batch=call.options.priority == "batch",
        until=_waits_until(policy, call, now),
    )


def _waits_until(policy: LimiterPolicy, call: Call, now: float) -> float:
    """Say how long a call may wait: for the policy, to its own end, or while another target could be in time."""
    ends = call.record.started + call.limits.total
    moves_on = now + call.limits.first_token if call.can_move_on else inf
    return min(inf if policy.max_wait is None else now + policy.max_wait, ends, moves_on)


async def _wait(call: Call, limiter: Limiter, lease: Lease) -> None:
    """Wait for a place, and note how long; a lease that is not granted is given up."""
    since = call.io.now()
    try:
        while not lease.is_granted:
            await _look(call, limiter, lease, since)
    except BaseException:
        limiter.give_up(lease, call.io.now())
        raise
    finally:
        times = call.record.times
        times.queue = (times.queue or 0.0) + call.io.now() - since


async def _look(call: Call, limiter: Limiter, lease: Lease, since: float) -> None:
    """Wait for news, but not for longer than may be waited without looking."""
    now = call.io.now()
    if now >= lease.until:
        raise _too_late(call, limiter, lease, since)
    wakeup, pause = limiter.look(lease, now)
    if wakeup is not None:
        with contextlib.suppress(TimeoutError):
            await call.io.wait(wakeup, min(pause, lease.until - now))


def _too_late(call: Call, limiter: Limiter, lease: Lease, since: float) -> LimiterTimeoutError:
    now = call.io.now()
    call.record.skip(getattr(call.upstream, "name", "") or "default", "limiter_timeout")
    return LimiterTimeoutError(
        response=stub_refusal(call, 429),
        waited=now - since,
        limit=limiter.limit,
        in_flight=limiter.in_flight,
        held_by=limiter.held_by(lease, now),
    )


def _settle(
    limiter: Limiter, lease: Lease, io: IO, progress: Progress, ending: Ending, error: BaseException | None
) -> None:
    if ending == "complete":
        limiter.release(lease, io.now(), "success", _total(progress.usage))
    else:
        _release_after(error, limiter, lease, io)


def _release_after(error: BaseException | None, limiter: Limiter, lease: Lease, io: IO) -> None:
    if is_overload(error):
        # What was refused before anything of it was shown used no tokens.
        used = None if getattr(error, "partial", None) else 0
        limiter.release(lease, io.now(), "overload", used, named_limit(error))
    else:
        limiter.release(lease, io.now(), "other")


def _total(usage: dict[str, object] | None) -> int | None:
    total = (usage or {}).get("total_tokens")
    return total if isinstance(total, int) else None
