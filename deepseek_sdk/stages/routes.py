"""Ask the next route where one has failed: everything below this stage happens once for each route."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from deepseek_sdk.errors import NoRuleError, classify
from deepseek_sdk.routing.moves import NOT_ASKED, may_move
from deepseek_sdk.routing.target import aim

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply

__all__ = ["Routes"]

_log = logging.getLogger("deepseek_sdk")

# How far an answer from a last resort is from what was asked for: the last of the levels of degradation.
_LAST_RESORT = 3
# What somebody has to look at: no other call will fare better until then.
_LOUD = frozenset({"authentication", "balance", "not_found", "permission", "unknown_model"})
_SAYS_LITTLE = (*NOT_ASKED, NoRuleError)


class Routes:
    """
    Sends a call to its targets, one after the other, until one answers.

    The caller sees nothing of it before the first content: a failure up to there is another target's turn. Which error
    goes on to which target is decided in `routing.moves`.
    """

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call by the first of its targets that can."""
        if call.can_move_on:
            return await _Failover(call, proceed).begin()
        reply = await proceed(call)
        _mark(call)
        return reply


class _Failover:
    """One call on its way along its targets."""

    def __init__(self, call: Call, proceed: Proceed) -> None:
        self._call = call
        self._proceed = proceed
        self._place = 0
        self._telling: Exception | None = None

    async def begin(self) -> Reply:
        reply = await self._from(self._call)
        reply.rescue_with(self._rescue)
        return reply

    async def _from(self, call: Call) -> Reply:
        while True:
            try:
                reply = await self._proceed(call)
            except Exception as error:  # noqa: BLE001  raised, unless another target answers
                following = self._next(error)
                if following is None:
                    telling = self._most_telling(error)
                    _note(telling, self._call)
                    raise telling from telling.__cause__
                call = following
            else:
                _mark(call)
                return reply

    async def _rescue(self, reply: Reply, error: Exception) -> Reply | None:
        following = None if reply.has_shown else self._next(error)
        if following is None:
            _note(error, self._call)
            return None
        return await self._from(following)

    def _next(self, error: Exception) -> Call | None:
        """Choose who is asked after a failure."""
        here = self._call.targets[self._place]
        if not isinstance(error, _SAYS_LITTLE):
            self._telling = error
        for place in range(self._place + 1, len(self._call.targets)):
            there = self._call.targets[place]
            if may_move(error, here, there):
                _tell(error, here.name, there.name)
                self._place = place
                return aim(self._call, place)
        return None

    def _most_telling(self, error: Exception) -> Exception:
        """Give the caller the last failure of a model: that another one was not asked, or no rule fits, says less."""
        return self._telling or error


def _mark(call: Call) -> None:
    """Let reports say that what answers is no model."""
    if getattr(call.upstream, "is_last_resort", False):
        call.record.degradation = _LAST_RESORT


def _note(error: Exception, call: Call) -> None:
    """Let a traceback say what was asked, where that was more than what the error is about."""
    record = call.record
    attempts = [f"{attempt.route} ({attempt.reason})" for attempt in record.attempts]
    asked = [*attempts, *(f"{route} (not asked: {reason})" for route, reason in record.skipped)]
    if len(asked) > 1:
        error.add_note(f"Asked: {', '.join(asked)}")


def _tell(error: Exception, here: str, there: str) -> None:
    reason = classify(error).reason
    # The text of an error may hold what a prompt said.
    _log.log(_level(error, reason), "route %r failed (%s), going on to %r", here or "default", reason, there)


def _level(error: Exception, reason: str) -> int:
    if isinstance(error, NOT_ASKED):
        # Breaker and limiter have told why, once and not for every call.
        return logging.DEBUG
    return logging.ERROR if reason in _LOUD else logging.WARNING
