"""Requests that are refused here, because the server behind the target of a call would refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import InvalidRequestError, RequestRejectedError, rejected

if TYPE_CHECKING:
    from deepseek_sdk._call import Call

__all__ = ["rejected_here"]


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
    account = getattr(call.upstream, "account", None)
    url = (
        account.base_url if account is not None and "://" in account.base_url else f"http://backend.invalid{call.path}"
    )
    response = stub_response(400, url)
    if issubclass(kind, RequestRejectedError):
        return rejected(kind, message, param=param, response=response, **facts)
    return kind(message, param=param, response=response)
