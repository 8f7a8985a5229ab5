"""A chain of the circuit breaker and a backend, in virtual time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.errors import classify
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.breaking.breaker import Breaker, BreakerPolicy, Breakers
from deepseek_sdk.stages.breaker import CircuitBreaker
from deepseek_sdk.testing.scripted import make_call
from deepseek_sdk.testing.virtual import VirtualIO

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")
# The name is that of the attempts of a ScriptedBackend.
TARGET = SimpleNamespace(name="scripted", account=ACCOUNT)
REQUEST = httpx2.Request("POST", "http://test.invalid")
CUT = ConnectionResetError("reset")
THINKING: dict[str, Any] = {"model": "deepseek-flash", "messages": []}
NOT_THINKING = {**THINKING, "thinking": {"type": "disabled"}}


def refused(status: int) -> openai.APIStatusError:
    """Give openai's error for a refusal."""
    return openai.APIStatusError("no", response=httpx2.Response(status, request=REQUEST), body=None)


class World:
    """A chain of the stage and a backend, in virtual time; by chance 0.5, nothing is jittered."""

    def __init__(self, backend: Any, **policy: Any) -> None:
        self.io = VirtualIO()
        self.breakers = Breakers(BreakerPolicy(**policy), lambda: 0.5, self.io.now)
        self.breaker: Breaker = self.breakers[ACCOUNT]
        self.proceed: Any = compose([CircuitBreaker(self.breakers)], backend)

    def state(self) -> str:
        """Tell the state of the breaker."""
        return self.breaker.state

    def call(self, **changes: Any) -> Call:
        """Make a call to the primary."""
        return make_call(io=self.io, **{"upstream": TARGET, "can_move_on": True, **changes})

    def ask(self, **changes: Any) -> Reply:
        """Ask the primary."""
        return finish(self.proceed(self.call(**changes)))  # type: ignore[no-any-return]

    def attempt(self, **changes: Any) -> str:
        """Ask the primary, read the answer, and tell how that went in one word."""
        try:
            read(self.ask(**changes))
        except openai.APIError as error:
            return classify(error).reason
        return "complete"


def read(reply: Reply) -> None:
    """Read a reply to its end."""
    while finish(reply.next()):
        pass
