"""`CallFitter`: calls whose prompt is too long, and what is sent in their place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deepseek_sdk._record import Times
from deepseek_sdk.routing.target import aim
from deepseek_sdk.tokens.fitting.budget import TokenBudget
from deepseek_sdk.tokens.fitting.fitter import Fit, Fitter
from deepseek_sdk.tokens.fitting.memory import CutMemory
from deepseek_sdk.tokens.fitting.request import can_be_fitted
from deepseek_sdk.tokens.fitting.room import Room, find_room
from deepseek_sdk.tokens.fitting.summary import summary_request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk.tokens.fitting.counts import Counts

__all__ = ["CallFitter"]

# What is longer than that takes longer to count than an event loop should stand still, in characters.
_LONG = 8000


class CallFitter:
    """
    Fits the prompts of calls.

    Args:
        counter: Gives what counts tokens; asked when it is first needed.
        expected: Tells how long the answer of a call may become, in tokens, or None where nobody knows.
        memory: Where cuts are remembered; None: in one of its own.
    """

    def __init__(
        self,
        counter: Callable[[], Counts],
        expected: Callable[[Call], int | None] | None = None,
        memory: CutMemory | None = None,
    ) -> None:
        self._counter = counter
        self._expected = expected
        self._memory = CutMemory() if memory is None else memory

    async def fitted(self, call: Call, budget: TokenBudget, proceed: Proceed) -> Call:
        """
        Fit a call.

        Args:
            call: It.
            budget: How.
            proceed: Asks for a summary, where there is to be one.

        Returns:
            A call with as much of the prompt as there is room for; the same one where all of it fits.
        """
        room = self._room(call, budget)
        if room is None or _surely_fits(call.body, budget, room, self._counter()):
            return call
        if _characters(call.body) > _LONG:
            fitter, fit = await call.io.offload(self._fit, call, budget, room)
        else:
            fitter, fit = self._fit(call, budget, room)
        if fit.to_summarise and isinstance(budget.summarise_with, str):
            fit = await self._with_summary(call, proceed, fitter, fit, budget.summarise_with)
        if not fit.is_changed:
            call.record.counted = self._known(call.body)
            return call
        call.record.repairs.extend([_told(fit), *(f"token_budget: {note}" for note in fit.notes)])
        return call.replace(body=fit.body)

    def _known(self, body: Mapping[str, Any]) -> int | None:
        # Just counted: what is compared with the bill is what is sent, and only where every part of it is known.
        known: Callable[[Mapping[str, Any]], int | None] | None = getattr(self._counter(), "known", None)
        return None if known is None else known(body)

    def _room(self, call: Call, budget: TokenBudget) -> Room | None:
        if getattr(call.upstream, "is_last_resort", False) or not can_be_fitted(call.body):
            return None
        expected = None if self._expected is None else self._expected(call)
        return find_room(call.body, budget.limit, getattr(call.upstream, "context_window", None), expected)

    def _fit(self, call: Call, budget: TokenBudget, room: Room) -> tuple[Fitter, Fit]:
        session = call.record.session_id
        fitter = Fitter(call.body, budget, self._counter(), room=room, memory=self._memory, session_id=session)
        return fitter, fitter.fit()

    async def _with_summary(self, call: Call, proceed: Proceed, fitter: Fitter, fit: Fit, name: str) -> Fit:
        """Ask for a summary, once; it is remembered with the cut."""
        try:
            asked = await call.io.offload(self._asking, call, fitter, fit, name)
            reply = await proceed(asked)
            summary = _content(await reply.gather())
        except Exception as error:  # noqa: BLE001  the call goes on without it
            return fitter.without_summary(fit, error)
        return await call.io.offload(fitter.with_summary, fit, summary)

    def _asking(self, call: Call, fitter: Fitter, fit: Fit, name: str) -> Call:
        # An attempt of the call, which is paid for like the others; its times and its ending are not the call's.
        record = replace(call.record, times=Times())
        body = summary_request(fit.to_summarise, name, fitter.room_for_summary, thinking=_knows_thinking(call))
        if "user_id" in call.body:
            # What the server keeps apart for one user stays apart.
            body["user_id"] = call.body["user_id"]
        asked = call.replace(body=body, is_stream=False, record=record)
        place = next((i for i, target in enumerate(call.targets) if _is_called(target, name)), None)
        asked = asked if place is None else aim(asked, place)
        budget = TokenBudget(policy="head_tail")
        room = self._room(asked, budget)
        return asked.replace(body=Fitter(asked.body, budget, self._counter(), room=room).fit().body)


def _surely_fits(body: Mapping[str, Any], budget: TokenBudget, room: Room, counter: Counts) -> bool:
    share = budget.high_water if budget.policy == "history" else 1.0
    return counter.fits(body, int(room.limit * share)) is True


def _characters(body: Mapping[str, Any]) -> int:
    messages = body.get("messages") or [{"content": body.get("prompt")}]
    contents = [message.get("content") for message in messages]
    texts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    said = (text.get("text") if isinstance(text, dict) else text for text in texts)
    return sum(len(text) for text in said if isinstance(text, str))


def _knows_thinking(call: Call) -> bool:
    # Servers of other models may refuse a field that they do not know; without it, DeepSeek's would think.
    return call.model.startswith("deepseek-")


def _is_called(target: Any, name: str) -> bool:
    route = getattr(target, "route", None)
    return name in {getattr(target, "name", ""), None if route is None else route.model}


def _content(answer: bytes) -> str:
    message = json.loads(answer)["choices"][0]["message"]
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _told(fit: Fit) -> str:
    where = "message" if len(fit.removed) == 1 else "messages"
    how = ", as in an earlier turn" if fit.is_remembered else ""
    how += ", with a summary in their place" if fit.summary else ""
    return (
        f"token_budget: left out {fit.removed_tokens} tokens of {len(fit.removed)} {where} ({fit.policy}){how}; "
        f"{fit.total} of {fit.total_before} tokens sent"
    )
