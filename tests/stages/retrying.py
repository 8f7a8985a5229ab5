"""What the tests of the retry stage have in common."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from deepseek_sdk._clock import UNSET
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.stages import Retry
from tests.resilience.failures import ACCOUNT

if TYPE_CHECKING:
    from deepseek_sdk._clock import Unset
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.retrying.policy import RetryPolicy


def chain(
    backend: Any, policy: RetryPolicy | Unset | None = UNSET, *, chance: float = 1.0, breakers: Any = None
) -> Any:
    """Put the stage, with a chance of its own, before a backend."""
    return compose([Retry(policy, chance=lambda: chance, breakers=breakers)], backend)


class Target(SimpleNamespace):
    """What a call is sent to; unlike its base it can be watched until it is gone."""


def target(account: Account | None = ACCOUNT, *, is_last_resort: bool = False) -> Any:
    """Give a target of a call."""
    return Target(name="flash", account=account, is_last_resort=is_last_resort)


def text(reply: Reply) -> str:
    """Read the content of a reply."""
    parts = []
    while batch := finish(reply.next()):
        parts += [event.json()["choices"][0]["delta"].get("content", "") for event in batch if not event.is_done]
    return "".join(parts)
