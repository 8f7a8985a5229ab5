"""Headers that mean something to this library: read, and taken off before the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from openai import Omit

from deepseek_sdk._call import CallOptions, Priority
from deepseek_sdk._wire import RAW_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openai._models import FinalRequestOptions

__all__ = ["CREDENTIALS", "for_any_endpoint", "options_in", "raw_mode", "without_own"]

_SESSION, _MODE, _BATCH, _CACHE = "x-session-id", "x-mode", "x-batch", "x-deepseek-cache"
_OWN = frozenset({_SESSION, _MODE, _BATCH, _CACHE})
# What proves an identity is for one key alone.
CREDENTIALS = frozenset({"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"})
# Of a call's headers any may be a secret between the caller and one endpoint; these are none.
_ANYWHERE = ("accept", "baggage", "traceparent", "tracestate", "x-correlation-id", "x-request-id", "x-trace")
# openai's raw mode is asked for by a header: it is for the last response, not for the server's.
_TAKEN_OFF = _OWN | {RAW_RESPONSE.lower()}


def options_in(headers: Mapping[str, Any]) -> CallOptions:
    """
    Read the options that headers express, for callers that can set nothing else.

    Args:
        headers: The client's and the call's headers, the call's last.

    Returns:
        The options.
    """
    own = {name.lower(): value for name, value in headers.items() if name.lower() in _OWN and isinstance(value, str)}
    given: dict[str, Any] = {}
    if _SESSION in own:
        given["session_id"] = own[_SESSION]
    if (mode := own.get(_MODE, "").lower()) in get_args(Priority):
        given["priority"] = mode
    if own.get(_BATCH, "").lower() in ("1", "true"):
        given["priority"] = "batch"
    if _CACHE in own:
        given["cache"] = own[_CACHE]
    return CallOptions(**given)


def raw_mode(options: FinalRequestOptions) -> str | None:
    """
    Tell whether the caller wants a raw response.

    Args:
        options: The request, as openai made it.

    Returns:
        The value of openai's header for it, or None.
    """
    headers = options.headers if isinstance(options.headers, dict) else {}
    value = headers.get(RAW_RESPONSE)
    return value if isinstance(value, str) else None


def without_own(defaults: Mapping[str, Any], headers: Mapping[str, Any]) -> dict[str, Any]:
    """
    Take off what the server does not know.

    Args:
        defaults: The client's headers.
        headers: The call's headers.

    Returns:
        The call's headers for the wire; those of the client that must not be sent are omitted.
    """
    kept: dict[str, Any] = {name: value for name, value in headers.items() if name.lower() not in _TAKEN_OFF}
    return {**kept, **{name: Omit() for name in defaults if name.lower() in _OWN}}


def without_credentials(headers: Mapping[str, Any]) -> dict[str, Any]:
    """
    Take off what proves an identity.

    Args:
        headers: The call's headers.

    Returns:
        Those that may be sent with another key.
    """
    return {name: value for name, value in headers.items() if name.lower() not in CREDENTIALS}


def for_any_endpoint(headers: Mapping[str, Any]) -> dict[str, Any]:
    """
    Leave what is a secret to no endpoint.

    Args:
        headers: The call's headers, meant for the client's own endpoint.

    Returns:
        Those that another endpoint may see: what follows a request on its way.
    """
    return {name: value for name, value in headers.items() if name.lower().startswith(_ANYWHERE)}
