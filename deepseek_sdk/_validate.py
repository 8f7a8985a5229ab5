"""What can be seen to be wrong before anything is sent."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import openai

from deepseek_sdk._wire import host_and_path
from deepseek_sdk.errors import ConfigurationError

__all__ = ["check_api_key", "check_base_url", "check_stages", "check_timeout", "request_problem", "unsendable_field"]

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
_ITEMS: dict[str, tuple[tuple[type, ...], str]] = {
    "stop": ((str,), "a string"),
    "tools": ((dict, Mapping), "a dictionary"),
}


def check_stages(stages: object) -> None:
    """
    Check a pipeline.

    Args:
        stages: It.

    Raises:
        ConfigurationError: It is no list of stages.
    """
    if not isinstance(stages, Sequence) or isinstance(stages, str):
        raise ConfigurationError(f"stages must be a list of stages, not {type(stages).__name__}")
    for index, stage in enumerate(stages):
        if not callable(stage) or isinstance(stage, type):
            raise ConfigurationError(f"stages[{index}] must be an object that answers calls, not {stage!r}")


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
    # A URL may hold a password.
    shown = re.sub(r"//[^/]*@", "//***@", text)
    try:
        host, _ = host_and_path(text)
    except Exception as error:
        message = f"base_url is no URL: {shown!r}"
        raise ConfigurationError(message) from error
    if not text.lower().startswith(("http://", "https://")) or not host or "#" in text:
        message = f"base_url must begin with https:// or http://, name a host and have no fragment, not {shown!r}"
        raise ConfigurationError(message)


def check_timeout(timeout: object) -> None:
    """
    Check openai's *timeout*.

    Args:
        timeout: It.

    Raises:
        ConfigurationError: It is neither a number of seconds, nor None, nor one for each part.
    """
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout >= 0
    is_other = timeout is None or isinstance(timeout, (openai.NotGiven, tuple)) or hasattr(timeout, "read")
    if not (is_number or is_other):
        message = f"timeout must be a number of seconds, None or an openai.Timeout, not {timeout!r}"
        raise ConfigurationError(message)


def request_problem(path: str, body: object) -> tuple[str, str] | None:
    """
    Look for what no server could accept.

    Args:
        path: "/chat/completions" or "/completions".
        body: The request.

    Returns:
        The argument that is wrong and what is wrong with it, or None.
    """
    if not isinstance(body, dict):
        return "body", f"body must be a dictionary, not {type(body).__name__}"
    model = body.get("model")
    if not isinstance(model, str) or not model.strip():
        return "model", f"model must be a name, such as 'deepseek-flash', not {model!r}"
    return (_messages_problem(body) if path == "/chat/completions" else _prompt_problem(body)) or _types_problem(body)


def _prompt_problem(body: Mapping[str, Any]) -> tuple[str, str] | None:
    prompt = body.get("prompt")
    if isinstance(prompt, (str, list, tuple)):
        return None
    return "prompt", f"prompt must be a string, not {prompt!r}"


def _messages_problem(body: Mapping[str, Any]) -> tuple[str, str] | None:
    messages = body.get("messages")
    if not isinstance(messages, (list, tuple)):
        return "messages", f"messages must be a list of messages, not {type(messages).__name__}"
    if not messages:
        return "messages", "messages is empty: there is nothing to answer"
    for index, message in enumerate(messages):
        if problem := _message_problem(message):
            return "messages", f"messages[{index}] {problem}"
    return None


def _message_problem(message: object) -> str | None:
    if not isinstance(message, (dict, Mapping)):
        return f"must be a dictionary, not {type(message).__name__}"
    if not isinstance(message.get("role"), str):
        return "has no role; it must be a string such as 'user'"
    content = message.get("content")
    if not (content is None or isinstance(content, (str, list, tuple))):
        return f"has a content that is neither a string nor a list of parts: {content!r}"
    return None


def _types_problem(body: Mapping[str, Any]) -> tuple[str, str] | None:
    for name in body.keys() & _TYPES.keys():
        kinds, wanted = _TYPES[name]
        value = body[name]
        if value is None:
            continue
        if not _fits(name, value, kinds):
            return name, f"{name} must be {wanted}, not {value!r}"
        if name.startswith("max_") and value < 1:
            return name, f"{name} must be at least 1, not {value!r}"
        if problem := _item_problem(name, value):
            return name, problem
    return None


def _fits(name: str, value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool) and name not in _TAKES_BOOL:
        return False
    return isinstance(value, kinds) and not (isinstance(value, float) and not math.isfinite(value))


def _item_problem(name: str, value: Any) -> str | None:
    if name not in _ITEMS or isinstance(value, str):
        return None
    kinds, wanted = _ITEMS[name]
    for index, item in enumerate(value):
        if not isinstance(item, kinds):
            return f"{name}[{index}] must be {wanted}, not {item!r}"
    return None


def unsendable_field(body: Mapping[str, Any]) -> str | None:
    """
    Find what of a request is no JSON, when sending it has failed.

    Args:
        body: The request.

    Returns:
        The field, or None where none can be blamed.
    """
    for name, value in body.items():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError):
            return name
    return None
