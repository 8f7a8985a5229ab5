"""Headers that mean something to this library: read, and taken off before the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openai import Omit

from deepseek_sdk._call import CallOptions
from deepseek_sdk._wire import RAW_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openai._models import FinalRequestOptions

__all__ = ["options_in", "raw_mode", "without_credentials", "without_own"]

_SESSION, _MODE, _BATCH = "x-session-id", "x-mode", "x-batch"
_OWN = frozenset({_SESSION, _MODE, _BATCH, "x-deepseek-cache"})
# What proves an identity to one endpoint is a secret to every other.
_CREDENTIALS = frozenset({"api-key", "authorization", "cookie", "proxy-authorization", "x-api-key"})
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
    if own.get(_MODE, "").lower() == "realtime":
        given["priority"] = "realtime"
    if own.get(_BATCH, "").lower() in ("1", "true"):
        given["priority"] = "batch"
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
    Take off what is meant for one endpoint alone.

    Args:
        headers: The call's headers.

    Returns:
        Those that may be sent to another endpoint.
    """
    return {name: value for name, value in headers.items() if name.lower() not in _CREDENTIALS}
