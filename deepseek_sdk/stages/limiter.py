"""Send no more at a time than the account may have; what is too much waits in a fair line."""

from __future__ import annotations

import contextlib
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import LimiterTimeoutError, classify
from deepseek_sdk.resilience.estimate import estimate_tokens

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._progress import Progress
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk.resilience.limiter import Limiter, LimiterPolicy, Limiters, Ticket

__all__ = ["ConcurrencyLimit", "waits_until"]


def waits_until(policy: LimiterPolicy, call: Call, now: float) -> float:
    """
    Say how long a call may wait for its place.

    Args:
        policy: The rules of the limiter.
        call: The call.
        now: The instant, in seconds.

    Returns:
        An instant: of the policy, of the call's own end, and of its first token, where another target could take over.
    """
    ends = call.record.started + call.limits.total
    moves_on = now + call.limits.first_token if call.can_move_on else inf
    return min(inf if policy.max_wait is None else now + policy.max_wait, ends, moves_on)


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
        # A backend of this process has a line of its own, and knows better how much it can do at a time.
        if policy is None or account is None or account.base_url.startswith("backend:"):
            return await proceed(call)
        limiter = self.limiters[account]
        tokens = 0 if policy.tpm is None else estimate_tokens(call.body)
        is_batch = call.options.priority == "batch"
        ticket = limiter.ask(tokens=tokens, is_batch=is_batch, until=waits_until(policy, call, call.io.now()))
        try:
            if not ticket.is_granted:
                await _wait(call, limiter, ticket)
            reply = await proceed(call)
        except BaseException as error:
            _release_after(ticket, error)
            raise
        reply.on_end(partial(_settle, ticket, reply.progress))
        return reply


async def _wait(call: Call, limiter: Limiter, ticket: Ticket) -> None:
    """Wait for a place, and note how long; a ticket that is not granted is given up."""
    since = call.io.now()
    try:
        while not ticket.is_granted:
            await _look(call, limiter, ticket, since)
    except BaseException:
        ticket.give_up()
        raise
    finally:
        times = call.record.times
        times.queue = (times.queue or 0.0) + call.io.now() - since


async def _look(call: Call, limiter: Limiter, ticket: Ticket, since: float) -> None:
    """Wait for news, but not for longer than may be waited without looking."""
    now = call.io.now()
    if now >= ticket.until:
        raise _too_late(call, limiter, now - since)
    news, pause = ticket.look()
    if news is not None:
        with contextlib.suppress(TimeoutError):
            await call.io.wait(news, min(pause, ticket.until - now))


def _too_late(call: Call, limiter: Limiter, waited: float) -> LimiterTimeoutError:
    response = stub_response(429, limiter.account.base_url.rstrip("/") + call.path)
    return LimiterTimeoutError(response=response, waited=waited, limit=limiter.limit, in_flight=limiter.in_flight)


def _settle(ticket: Ticket, progress: Progress, ending: Ending, error: BaseException | None) -> None:
    if ending == "complete":
        ticket.release("success", _total(progress.usage))
    else:
        _release_after(ticket, error)


def _release_after(ticket: Ticket, error: BaseException | None) -> None:
    if error is not None and classify(error).reason == "rate_limit":
        # What was refused used no tokens.
        ticket.release("overload", 0, getattr(error, "limit", None))
    else:
        ticket.release("other")


def _total(usage: dict[str, object] | None) -> int | None:
    total = (usage or {}).get("total_tokens")
    return total if isinstance(total, int) else None
