"""`ScriptedBackend`: answers, waits and failures written down beforehand, for tests of stages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from deepseek_sdk._call import Call, CallOptions
from deepseek_sdk._clock import Clock, Limits
from deepseek_sdk._record import Record
from deepseek_sdk._reply import Reply
from deepseek_sdk._sse import DONE, Event, encode
from deepseek_sdk._wire import ConnectionLost, DeadlineReached, stub_response
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deepseek_sdk._io import IO

__all__ = ["DONE", "ScriptedBackend", "ScriptedSource", "Step", "chunk", "make_call", "said", "whole"]

# An event, its JSON, several that arrive at once, seconds of silence, or a failure.
Step: TypeAlias = Event | Mapping[str, Any] | Sequence[Event | Mapping[str, Any]] | float | Exception


def chunk(
    content: str | None = None, *, index: int = 0, finish: str | None = None, usage: Any = None, **delta: Any
) -> dict[str, Any]:
    """
    Make one chunk of a streamed chat completion.

        chunk("Hi")                                         a piece of the answer
        chunk(role="assistant")                             the preamble
        chunk(reasoning_content="Hm")                       a piece of the thought
        chunk(finish="stop", usage={"prompt_tokens": 3})    the end

    Args:
        content: Text.
        index: The choice it belongs to.
        finish: The `finish_reason`.
        usage: The usage block, left out when None.
        **delta: Other fields of the delta.

    Returns:
        The chunk.
    """
    fields = delta if content is None else {**delta, "content": content}
    choice = {"index": index, "delta": fields, "finish_reason": finish}
    head = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "deepseek-flash"}
    return {**head, "choices": [choice], **({} if usage is None else {"usage": usage})}


def said(*texts: str, usage: Any = None) -> list[Step]:
    """
    Script a whole streamed answer that ends as it should.

    Args:
        *texts: The pieces of its content.
        usage: The usage block of the last chunk, left out when None.

    Returns:
        The steps, a preamble first and `[DONE]` last.
    """
    return [chunk(role="assistant"), *map(chunk, texts), chunk(finish="stop", usage=usage), DONE]


def whole(answer: Mapping[str, Any]) -> Event:
    """
    Script an answer that comes as one JSON body, as a plain request gets it.

    Args:
        answer: The body.

    Returns:
        The step.
    """
    body = json.dumps(answer).encode()
    return Event(body, body, is_whole=True)


def make_call(*, io: IO | None = None, **changes: Any) -> Call:
    """
    Make a call for a test.

        make_call()                               a streamed call, without limits or retries, in virtual time
        make_call(is_stream=False)                a plain one
        make_call(io=io, max_retries=2)           with an `io` of your own, to look at afterwards

    Args:
        io: Time and concurrency; a new `VirtualIO` when None.
        **changes: Attributes of `Call` that matter to the test.

    Returns:
        The call.
    """
    io = VirtualIO() if io is None else io
    defaults: dict[str, Any] = {
        "body": {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]},
        "path": "/chat/completions",
        "is_stream": True,
        "is_direct": False,
        "limits": Limits(first_token=inf, stall=inf),
        "options": CallOptions(),
        "record": Record(started=io.now()),
        "upstream": None,
        "max_retries": 0,
    }
    return Call(io=io, **{**defaults, **changes})


class ScriptedSource:
    """
    Where an answer comes from, step by step; at the end of the steps the connection is closed.

    Attributes:
        response: A response with status 200.
        upstream: None: there are no bytes beside the events.
        only_waited: What the source says when asked whether nothing but keep-alives came.
        endings: The *is_done* of each `close()`.
        is_aborted: `abort()` was called.
    """

    def __init__(self, io: IO, steps: Iterable[Step], *, only_waited: bool = False) -> None:
        self.response: Any = stub_response(200, "http://scripted.invalid/chat/completions")
        self.upstream: Any = None
        self.only_waited = only_waited
        self.endings: list[bool] = []
        self.is_aborted = False
        self._io = io
        self._steps: Iterator[Step] = iter(steps)
        self._silent_for = 0.0

    async def pull(self, until: float) -> list[Event] | None:
        """
        Play the next steps, up to one that brings events.

        Args:
            until: The instant at which to give up; what is left of a silence goes on with the next pull.

        Returns:
            The events, or None at the end of the steps.

        Raises:
            DeadlineReached: The instant came first.
            ConnectionLost: The step is an `OSError`.
            Exception: The step is another exception.
        """
        await self._wait(until)
        for step in self._steps:
            if isinstance(step, (int, float)):
                self._silent_for = step
                await self._wait(until)
            else:
                return _played(step)
        return None

    async def close(self, *, is_done: bool) -> None:
        """Take note."""
        self.endings.append(is_done)

    def abort(self) -> None:
        """Take note."""
        self.is_aborted = True

    async def _wait(self, until: float) -> None:
        silence, left = self._silent_for, max(until - self._io.now(), 0.0)
        self._silent_for = max(silence - left, 0.0)
        if silence:
            await self._io.sleep(min(silence, left))
        if self._silent_for:
            raise DeadlineReached


def _played(step: Event | Mapping[str, Any] | Sequence[Event | Mapping[str, Any]] | Exception) -> list[Event]:
    if isinstance(step, OSError):
        raise ConnectionLost(str(step) or type(step).__name__) from step
    if isinstance(step, Exception):
        raise step
    batch = [step] if isinstance(step, (Event, Mapping)) else step
    return [item if isinstance(item, Event) else encode(item) for item in batch]


class ScriptedBackend:
    """
    The end of a chain: answers each call with the next script.

        ScriptedBackend(said("Hi"))                          one answer
        ScriptedBackend(an_error, said("Hi"))                the first attempt fails before an answer begins
        ScriptedBackend([chunk("H"), 30, chunk("i")])        half a minute of silence, then a cut

    Attributes:
        calls: Every call it was asked.
        sources: The source of every answer it gave.
    """

    def __init__(self, *scripts: Sequence[Step] | Exception, route: str = "scripted") -> None:
        self.calls: list[Call] = []
        self.sources: list[ScriptedSource] = []
        self._scripts = list(scripts)
        self._route = route

    async def __call__(self, call: Call) -> Reply:
        """
        Answer a call.

        Args:
            call: It.

        Returns:
            The answer in flight.

        Raises:
            Exception: The script is one.
            AssertionError: There are no more scripts.
        """
        self.calls.append(call)
        if len(self.calls) > len(self._scripts):
            message = f"the backend was asked {len(self.calls)} times and has {len(self._scripts)} scripts"
            raise AssertionError(message)
        script, now = self._scripts[len(self.calls) - 1], call.io.now()
        route = getattr(call.upstream, "name", "") or self._route
        account = getattr(call.upstream, "account", None)
        attempt = call.record.begin(route=route, model=call.model, now=now, account=account)
        if isinstance(script, Exception):
            call.record.settle(attempt, None, now, script)
            raise script
        self.sources.append(ScriptedSource(call.io, script))
        return Reply(call, self.sources[-1], Clock(call.limits, call_started=call.record.started, now=now), attempt)
