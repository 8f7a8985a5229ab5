"""What the tests of retries have in common: errors, and decisions about them."""

from __future__ import annotations

import email.utils
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from deepseek_sdk.errors import CircuitOpenError, refine
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.retrying.decision import Decision, Failure, decide

if TYPE_CHECKING:
    from deepseek_sdk.resilience.retrying.policy import RetryPolicy

NOW = 1_800_000_000.0
REQUEST = httpx2.Request("POST", "http://test.invalid")
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "")


def refused(status: int, message: str = "no", body: Any = None, /, **headers: str) -> openai.APIStatusError:
    """Give the error for a refusal with headers, `_` for `-` in their names."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, headers=named, request=REQUEST)
    nobody: Any = None
    return refine(openai.OpenAI._make_status_error(nobody, message, body=body, response=response))


def answered(status: int = 200) -> httpx2.Response:
    """Give a response that openai's errors can hold."""
    return httpx2.Response(status, request=REQUEST)


def caused(error: Exception, cause: Exception) -> Exception:
    """Give an error its cause."""
    error.__cause__ = cause
    return error


def opened(retry_in: float | None, *, is_cooling: bool = True, may_wait: bool = False) -> CircuitOpenError:
    """Give the error of a route that is left alone."""
    return CircuitOpenError(
        request=REQUEST, account=ACCOUNT, retry_in=retry_in, is_cooling=is_cooling, may_wait=may_wait
    )


def failed(error: Exception, **changes: Any) -> Failure:
    """Describe the first failure of a call that began at 100 and may be tried thrice."""
    return Failure(**{"error": error, "retries": 0, "most": 2, "started": 100.0, "now": 101.0, **changes})


def decided(policy: RetryPolicy, failure: Failure, *, chance: float = 1.0, is_affordable: bool = True) -> Decision:
    """Decide with everything given."""
    return decide(policy, failure, chance=chance, epoch=NOW, spend=lambda: is_affordable)


def date(seconds: float) -> str:
    """Write an instant as HTTP does."""
    return email.utils.formatdate(seconds, usegmt=True)
