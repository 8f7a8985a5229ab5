"""Calls to an account that is limited, for the tests of the stage that limits them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from deepseek_sdk._finish import finish
from deepseek_sdk.errors import refine
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.limiting.limiter import Limiters
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._io import IO
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.stages import Call

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")


@dataclass
class Endpoint:
    """What a call is sent to, as far as the stage looks at it."""

    account: Account | None = ACCOUNT
    is_in_process: bool = False


def refused(status: int, text: str = "no") -> openai.APIStatusError:
    """Give the error that a refusal becomes."""
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://test.invalid"))
    kind = {429: openai.RateLimitError, 400: openai.BadRequestError}.get(status, openai.InternalServerError)
    return refine(kind(text, response=response, body=None))


def limiters(**policy: Any) -> Limiters:
    """Make limiters; the time they go by is that of the calls."""
    return Limiters(LimiterPolicy(**policy))


def single(**policy: Any) -> Limiters:
    """Make limiters that let one call through at a time."""
    return limiters(initial=1, maximum=1, **policy)


def call_on(io: IO, account: Account | None = ACCOUNT, **changes: Any) -> Call:
    """Make a call to an account, with answers of its own."""
    return make_call(io=beside(io), upstream=Endpoint(account), **changes)


def beside(io: IO) -> IO:
    """Give another call an `io` on the same clock."""
    if type(io) is not VirtualIO or io._task is not None:
        return io
    other = VirtualIO()
    other._world, other._background = io._world, io._background
    return other


def text(reply: Reply) -> str:
    """Read the content of a streamed reply."""
    parts = []
    while batch := finish(reply.next()):
        parts += [event.json()["choices"][0]["delta"].get("content", "") for event in batch if not event.is_done]
    return "".join(parts)


class Endless:
    """A backend that answers every call in the same way."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script or said("one", "two"))
        self.calls = 0

    async def __call__(self, call: Call) -> Reply:
        """Answer, and count."""
        self.calls += 1
        return await ScriptedBackend(self.script)(call)
