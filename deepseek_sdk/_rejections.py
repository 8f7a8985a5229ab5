"""Requests that are refused here, and the answers of a server that such refusals stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import InvalidRequestError, RequestRejectedError, rejected

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk.resilience.account import Account

__all__ = ["rejected_here", "stub_refusal"]


def stub_refusal(call: Call, status: int) -> Any:
    """
    Make the response that a refusal would have come with, had the call been sent.

    Args:
        call: It.
        status: The HTTP status.

    Returns:
        A response without a body.
    """
    account: Account | None = getattr(call.upstream, "account", None)
    if account is None or account.backend is not None or "://" not in account.base_url:
        return stub_response(status, f"http://backend.invalid{call.path}")
    return stub_response(status, account.base_url.rstrip("/") + call.path)


def rejected_here(
    kind: type[RequestRejectedError | InvalidRequestError], message: str, *, param: str, call: Call, **facts: Any
) -> RequestRejectedError | InvalidRequestError:
    """
    Describe a request that the server would refuse, before it is sent.

    Args:
        kind: What is wrong.
        message: The same in words, without a full stop.
        param: Where in the request, such as "messages[3].content".
        call: What was to be sent, and to whom.
        **facts: Attributes of *kind*.

    Returns:
        The error that the server's refusal would have become.
    """
    response = stub_refusal(call, 400)
    if issubclass(kind, RequestRejectedError):
        return rejected(kind, message, param=param, response=response, **facts)
    return kind(message, param=param, response=response)
