"""What can be seen to be wrong before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepseek_sdk._wire import host_and_path
from deepseek_sdk.errors import ConfigurationError

__all__ = ["check_api_key", "check_base_url", "request_problem"]

_NUMBER: tuple[type, ...] = (int, float)
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "frequency_penalty": (_NUMBER, "a number"),
    "logprobs": ((bool, int), "a boolean, or for completions a number"),
    "max_completion_tokens": ((int,), "a whole number"),
    "max_tokens": ((int,), "a whole number"),
    "n": ((int,), "a whole number"),
    "presence_penalty": (_NUMBER, "a number"),
    "response_format": ((dict, Mapping), "a dictionary"),
    "seed": ((int,), "a whole number"),
    "stop": ((str, list, tuple), "a string or a list of strings"),
    "stream_options": ((dict, Mapping), "a dictionary"),
    "temperature": (_NUMBER, "a number"),
    "thinking": ((dict, Mapping), 'a dictionary such as {"type": "disabled"}'),
    "tools": ((list, tuple), "a list"),
    "top_logprobs": ((int,), "a whole number"),
    "top_p": (_NUMBER, "a number"),
    "user_id": ((str,), "a string"),
}
_TAKES_BOOL = frozenset({"logprobs"})


def check_api_key(api_key: object) -> None:
    """
    Check a key without ever showing it.

    Args:
        api_key: It.

    Raises:
        ConfigurationError: It cannot be sent in a header.
    """
    if callable(api_key):
        return
    if not isinstance(api_key, str):
        message = f"api_key must be a string or a function that returns one, not {type(api_key).__name__}"
        raise ConfigurationError(message)
    if not api_key.isascii() or any(character.isspace() or not character.isprintable() for character in api_key):
        message = "api_key contains a line break, a space or another character that no key has; was it copied whole?"
        raise ConfigurationError(message)


def check_base_url(base_url: object) -> None:
    """
    Check a base URL.

    Args:
        base_url: It.

    Raises:
        ConfigurationError: It is no http or https URL with a host.
    """
    text = str(base_url)
    try:
        host, _ = host_and_path(text)
    except Exception as error:
        message = f"base_url is no URL: {text!r}"
        raise ConfigurationError(message) from error
    if not text.lower().startswith(("http://", "https://")) or not host:
        message = f"base_url must begin with https:// or http:// and name a host, not {text!r}"
        raise ConfigurationError(message)


def request_problem(path: str, body: Mapping[str, Any]) -> tuple[str, str] | None:
    """
    Look for what no server could accept.

    Args:
        path: "/chat/completions" or "/completions".
        body: The request.

    Returns:
        The argument that is wrong and what is wrong with it, or None.
    """
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        return "model", f"model must be a name, such as 'deepseek-flash', not {model!r}"
    return (_messages_problem(body) if path == "/chat/completions" else None) or _types_problem(body)


def _messages_problem(body: Mapping[str, Any]) -> tuple[str, str] | None:
    messages = body.get("messages")
    if not isinstance(messages, (list, tuple)):
        return "messages", f"messages must be a list of messages, not {type(messages).__name__}"
    if not messages:
        return "messages", "messages is empty: there is nothing to answer"
    for index, message in enumerate(messages):
        if not isinstance(message, (dict, Mapping)):
            return "messages", f"messages[{index}] must be a dictionary, not {type(message).__name__}"
        if not isinstance(message.get("role"), str):
            return "messages", f"messages[{index}] has no role; it must be a string such as 'user'"
    return None


def _types_problem(body: Mapping[str, Any]) -> tuple[str, str] | None:
    for name in body.keys() & _TYPES.keys():
        kinds, wanted = _TYPES[name]
        value = body[name]
        is_stray_bool = isinstance(value, bool) and name not in _TAKES_BOOL
        if value is not None and (is_stray_bool or not isinstance(value, kinds)):
            return name, f"{name} must be {wanted}, not {value!r}"
        if name.startswith("max_") and isinstance(value, int) and value < 1:
            return name, f"{name} must be at least 1, not {value!r}"
    return None
