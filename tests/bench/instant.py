"""An answer that is there at once, for what is measured without a wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._clock import Clock
from deepseek_sdk._reply import Reply
from deepseek_sdk._sse import Event
from deepseek_sdk._wire import stub_response

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk.resilience.account import Account


class InstantSource:
    """A whole answer, given once each time that it is made ready."""

    upstream = None
    only_waited = False

    def __init__(self, answer: bytes) -> None:
        self.response = stub_response(200, "http://bench")
        self._answer = answer
        self._events: list[Event] = []
        self.make_ready()

    def make_ready(self) -> None:
        """Let the answer be there once more."""
        self._events = [Event(self._answer, self._answer, is_whole=True)]

    async def pull(self, until: float) -> list[Event] | None:
        """Give the answer, then the end."""
        del until
        events, self._events = self._events, []
        return events or None

    async def close(self, *, is_done: bool) -> None:
        """There is nothing to close."""
        del is_done

    def abort(self) -> None:
        """There is nothing to abort."""


def begin_reply(call: Call, source: InstantSource, account: Account | None) -> Reply:
    """Answer a call."""
    now = call.io.now()
    attempt = call.record.begin(route="bench", model=call.model, now=now, account=account)
    return Reply(call, source, Clock(call.limits, call_started=now, now=now), attempt)
