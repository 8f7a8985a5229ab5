"""
What makes two requests equal: the whole body counts, but for the few fields that say how the answer travels.

A field that nobody thought of makes another key, and so costs a miss; it can never give one request the answer to
another.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, TypeGuard

from deepseek_sdk.caching.entry import SCHEMA
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TRANSPORT", "UncacheableError", "check_context", "exact_key", "last_text", "partition_key"]

TRANSPORT = frozenset({"stream", "stream_options"})

_INSTRUCTIONS = ("system", "developer")
_WINDOW = re.compile(r"window:([1-9][0-9]{0,5})")
# Chinese is not escaped: that would take five times as long.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


class UncacheableError(ValueError):
    """A request has no key: something in it is no JSON."""


def exact_key(path: str, body: Mapping[str, Any], *, tenant: str, params: Mapping[str, Any] | None = None) -> str:
    """
    Give what only equal requests have in common.

    Args:
        path: Where the request goes.
        body: Its JSON body. 1, 1.0 and true differ, as do null, "" and what is missing; the order of fields does not
            matter, that of lists does. Texts are compared as they are, not normalised.
        tenant: Whose it is.
        params: Its query.

    Returns:
        64 hex digits.

    Raises:
        UncacheableError: It holds something that is no JSON.
    """
    return _digest(["exact", path, tenant, dict(params or {}), _without_transport(body)])


def partition_key(
    path: str,
    body: Mapping[str, Any],
    *,
    tenant: str,
    context: str = "full",
    params: Mapping[str, Any] | None = None,
    schema: int = SCHEMA,
) -> str:
    """
    Give what only requests have in common that differ in nothing but the last text of the user.

    Args:
        path: Where the request goes.
        body: Its JSON body.
        tenant: Whose it is.
        context: What of the conversation counts: "full"; "system_only": the instructions; "window:n": these and the
            last *n* of the messages between them and the last one.
        params: Its query.
        schema: The shape of the records.

    Returns:
        64 hex digits.

    Raises:
        ConfigurationError: There is no such context.
        UncacheableError: It holds something that is no JSON.
    """
    kept = _in_context(_without_transport(body), context)
    blanked = []
    for place, name in _places(kept):
        place[name] = ""
        blanked.append(name)
    # How much was blanked is told beside it: a text that is empty is another request than one that is left out here.
    # The third stood for an embedder once; where there is no query, the key is the same as it was then.
    return _digest(["partition", schema, "", path, tenant, context, blanked, kept, *([dict(params)] if params else ())])


def check_context(context: object) -> int | None:
    """
    Read how much of a conversation counts.

    Args:
        context: "full", "system_only" or "window:n".

    Returns:
        How many messages between the instructions and the last one count, or None: all.

    Raises:
        ConfigurationError: It is something else.
    """
    if context in ("full", "system_only"):
        return None if context == "full" else 0
    window = _WINDOW.fullmatch(context) if isinstance(context, str) else None
    if window is None:
        message = f"context must be 'full', 'system_only' or 'window:n' with n from 1, not {context!r}"
        raise ConfigurationError(message)
    return int(window[1])


def last_text(body: Mapping[str, Any]) -> str:
    """
    Give what the user said last.

    Args:
        body: The body of a request.

    Returns:
        The text of the last message if it is the user's, its parts joined by line ends; the prompt where there are no
        messages; "" where there is no text.
    """
    return "\n".join(place[name] for place, name in _places(dict(body)))


def _digest(told: list[Any]) -> str:
    try:
        text = _ENCODER.encode(told)
    except (TypeError, ValueError, RecursionError) as error:
        # The message names a type, and never what the request says.
        message = f"the request is no JSON: {type(error).__name__}"
        raise UncacheableError(message) from error
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _without_transport(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in TRANSPORT}


def _in_context(body: dict[str, Any], context: str) -> dict[str, Any]:
    """Leave out the messages that do not count; the last one, and the list it is in, are copies."""
    window = check_context(context)
    messages = body.get("messages")
    if not _is_list(messages) or not messages:
        return body
    *earlier, last = messages
    if window is not None:
        others = [place for place, message in enumerate(earlier) if not _is_instruction(message)]
        counts = set(others[len(others) - window :] if window < len(others) else others)
        earlier = [m for place, m in enumerate(earlier) if _is_instruction(m) or place in counts]
    return {**body, "messages": [*earlier, _copied(last)]}


def _copied(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if _is_list(content):
        return {**message, "content": [dict(part) if isinstance(part, dict) else part for part in content]}
    return dict(message)


def _places(body: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Find where the last texts of the user stand."""
    messages = body.get("messages")
    if messages is None:
        if isinstance(body.get("prompt"), str):
            yield body, "prompt"
        return
    last = messages[-1] if _is_list(messages) and messages else None
    if not isinstance(last, dict) or last.get("role") != "user":
        return
    if isinstance(last.get("content"), str):
        yield last, "content"
    elif _is_list(last.get("content")):
        yield from ((part, "text") for part in last["content"] if _is_text(part))


def _is_list(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, list | tuple)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _is_instruction(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in _INSTRUCTIONS
