"""What a semantic cache learns from a call, behind its back: the calls that are made for it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deepseek_sdk._cache import CacheControl

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk._pipeline import Proceed, Stage
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.lessons import Lessons
    from deepseek_sdk.caching.similar import Wording

__all__ = ["Pupil"]

# What the ledger and spans tell such calls by.
_TAGS = {"deepseek_sdk": "cache_judge"}


class Pupil:
    """
    Has near misses judged, and hits that were asked again compared.

    Args:
        lessons: What the cache learns.
        call: The call that it learns from.
        proceed: The rest of the chain.
        around: The stage that observes calls, or None.
    """

    def __init__(self, lessons: Lessons, call: Call, proceed: Proceed, around: Stage | None) -> None:
        self._lessons = lessons
        self._call = call
        self._proceed = proceed
        self._around = around

    def landed(self, io: IO, wording: Wording, content: bytes) -> None:
        """
        Learn from a new answer, in the background, if it is worth it.

        Args:
            io: Of whoever has the answer.
            wording: What was asked, and how that was decided.
            content: The JSON answer.
        """
        if self._lessons.wants(wording):
            reply = self._reply(content)
            io.spawn(lambda inner: self._lessons.near_miss(inner, wording, reply, self._ask))

    async def rechecked(self, io: IO, wording: Wording, entry: Entry, content: bytes) -> bool | None:
        """
        Compare an answer that was given with a new one.

        Args:
            io: The caller's, in the background.
            wording: What was asked, and how that was decided.
            entry: What was given.
            content: The new JSON answer.

        Returns:
            Whether it was right, or None: nobody can tell.
        """
        return await self._lessons.rechecked(io, wording, entry, self._reply(content), self._ask)

    def _reply(self, content: bytes) -> Any:
        from deepseek_sdk.caching.lessons import Reply  # noqa: PLC0415  few clients need it

        return Reply(content, self._call.model, _system(self._call.body))

    async def _ask(self, io: IO, body: dict[str, Any]) -> bytes:
        options = replace(self._call.options, cache=CacheControl.parse("bypass"), lint="off", tags=_TAGS)
        record = self._call.record.anew(io.now(), time.time())
        record.tags = {**record.tags, **_TAGS}
        record.is_stream = False
        call = self._call.replace(io=io, body=body, is_stream=False, options=options, record=record)
        around = self._around
        reply = await (self._proceed(call) if around is None else around(call, self._proceed))
        return await reply.gather()


def _system(body: dict[str, Any]) -> str | None:
    messages = body.get("messages")
    first = messages[0] if isinstance(messages, list | tuple) and messages else None
    if not isinstance(first, dict) or first.get("role") not in ("system", "developer"):
        return None
    content = first.get("content")
    return content if isinstance(content, str) else None
