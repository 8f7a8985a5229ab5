"""
What the live API refuses although the request encoder takes it: decisions on a decoded body, nothing else.

Each rule raises a `Refusal` or returns nothing; `check()` runs them in the order in which the live API seems to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import refusals
from deepseek_sdk.testing.job import ALIASES, SERVED_MODELS
from deepseek_sdk.testing.strict_tools import check_strict_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReasoningRule", "check", "check_reasoning", "is_thinking", "served_model"]

ReasoningRule = str
REASONING_RULES = ("every", "tool_calls", "non_empty")
ROLES = ("system", "user", "assistant", "tool", "latest_reminder")
_KINDS: Mapping[str, tuple[tuple[type, ...], tuple[str, ...]]] = {
    "u32": ((int,), ("max_tokens", "max_completion_tokens", "top_logprobs", "n")),
    "f32": ((int, float), ("temperature", "top_p", "frequency_penalty", "presence_penalty")),
    "a boolean": ((bool,), ("stream", "echo")),
    "a sequence": ((list,), ("messages", "tools")),
    "a string": ((str,), ("prompt", "suffix", "reasoning_effort")),
    "a string or a sequence": ((str, list), ("stop",)),
    "a map": ((dict,), ("thinking", "response_format", "stream_options")),
}
MAX_TOOLS = 128
MAX_TOOL_NAME = 64
MAX_USER_ID_BYTES = 512


def check(body: Mapping[str, Any], raw: bytes, *, is_beta: bool, reasoning_rule: ReasoningRule) -> None:
    """
    Apply every rule to a body that has the shape of a request.

    Args:
        body: The decoded body.
        raw: The same as it arrived.
        is_beta: Whether it came to a beta path.
        reasoning_rule: Which assistant messages must carry their reasoning; see `check_reasoning()`.

    Raises:
        Refusal: A rule is broken.
    """
    served_model(body.get("model"))
    _check_images(body, raw)
    _check_response_format(body)
    _check_tools(body)
    if is_beta:
        check_strict_tools(body.get("tools") or ())
    else:
        _check_prefix(body)
    _check_user(body)
    check_reasoning(body, reasoning_rule)


def check_kinds(body: Mapping[str, Any], raw: bytes) -> None:
    """Refuse fields whose JSON is of the wrong kind; for bodies that no other parser has seen."""
    for kind, (types, names) in _KINDS.items():
        for name in names:
            value = body.get(name)
            if value is not None and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
                raise refusals.malformed(f"{name}: invalid type: {type(value).__name__}, expected {kind}", raw=raw)


def served_model(model: object) -> str:
    """Return the name under which *model* is served, or refuse it."""
    if not isinstance(model, str) or model not in ALIASES:
        raise refusals.unknown_model(model, SERVED_MODELS)
    return ALIASES[model]


def check_roles(body: Mapping[str, Any], raw: bytes) -> None:
    """Refuse a role that the API does not know, `developer` above all."""
    for index, message in enumerate(_messages(body)):
        role = message.get("role")
        if isinstance(role, str) and role not in ROLES:
            wanted = ", ".join(f"`{known}`" for known in ROLES)
            detail = f"unknown variant `{role}`, expected one of {wanted}"
            raise refusals.malformed(detail, raw=raw, path=f"messages[{index}].role", at=f'"{role}"')


def is_thinking(body: Mapping[str, Any]) -> bool:
    """Return whether the model thinks: by default it does."""
    # On by default (thinking guide); the encoder also takes an effort of `none` for off.
    if (body.get("thinking") or {}).get("type") == "disabled":
        return False
    return body.get("reasoning_effort") != "none" or "thinking" in body


def check_reasoning(body: Mapping[str, Any], rule: ReasoningRule) -> None:
    """
    Refuse a history that lacks the reasoning it must bring back.

    Args:
        body: The decoded body.
        rule: With tools and thinking, `every` wants the field on every assistant message, `tool_calls` on those that
            called tools, `non_empty` wants text on every one. Reports of the live API differ; the first is documented.

    Raises:
        Refusal: It is missing.
    """
    # "For requests carrying the `tools` parameter, the `reasoning_content` must be fully passed back" (thinking guide).
    if not body.get("tools") or not is_thinking(body):
        return
    for message in _messages(body):
        if message.get("role") == "assistant" and _lacks_reasoning(message, rule):
            raise refusals.invalid(refusals.MISSING_REASONING)


def _lacks_reasoning(message: Mapping[str, Any], rule: ReasoningRule) -> bool:
    reasoning = message.get("reasoning_content")
    if rule == "tool_calls":
        return reasoning is None and bool(message.get("tool_calls"))
    return not reasoning if rule == "non_empty" else reasoning is None


def _check_images(body: Mapping[str, Any], raw: bytes) -> None:
    # The model table gives vision to flash only; the live refusal reads as if the parser had never heard of images.
    if served_model(body.get("model")) != "deepseek-v4-pro":
        return
    for index, message in enumerate(_messages(body)):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            kind = part.get("type") if isinstance(part, dict) else None
            if kind in {"image_url", "file"}:
                detail = f"unknown variant `{kind}`, expected `text`"
                raise refusals.malformed(detail, raw=raw, path=f"messages[{index}]", at=f'"{kind}"')


def _check_response_format(body: Mapping[str, Any]) -> None:
    # The encoder knows schemas and regular expressions; the chat endpoint of the live API answers 400 to them.
    kind = (body.get("response_format") or {}).get("type", "text")
    if kind in {"json_schema", "regex"}:
        raise refusals.invalid(refusals.RESPONSE_FORMAT)


def _check_tools(body: Mapping[str, Any]) -> None:
    # At most 128 functions, with names of at most 64 characters (chat reference).
    tools = body.get("tools") or ()
    if len(tools) > MAX_TOOLS:
        raise refusals.invalid(refusals.TOO_MANY_TOOLS.format(len(tools)))
    for index, tool in enumerate(tools):
        if len(tool["function"]["name"]) > MAX_TOOL_NAME:
            raise refusals.invalid(refusals.LONG_TOOL_NAME.format(index))


def _check_prefix(body: Mapping[str, Any]) -> None:
    # Prefix completion needs the beta base URL (prefix guide).
    if any(message.get("prefix") for message in _messages(body)):
        raise refusals.invalid(refusals.PREFIX_NEEDS_BETA)


def _check_user(body: Mapping[str, Any]) -> None:
    # At most 512 bytes; which characters it may contain is only recommended (rate-limit page).
    user = body.get("user_id")
    if user is not None and not isinstance(user, str):
        raise refusals.malformed(f"user_id: invalid type: {type(user).__name__}, expected a string")
    if user and len(user.encode("utf-8", "replace")) > MAX_USER_ID_BYTES:
        raise refusals.invalid(refusals.LONG_USER_ID)


def _messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = body.get("messages")
    return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
