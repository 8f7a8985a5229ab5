"""
What vLLM wants to be told in another way than DeepSeek.

It takes fields that it does not know, and ignores them, so `thinking` would do nothing there; JSON schemas, lists of
parts and several choices it serves itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect import contents, parameters, prefixes
from deepseek_sdk.dialect.finding import Finding, listed, without
from deepseek_sdk.dialect.request import with_messages

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Body, Repair
    from deepseek_sdk.dialect.request import Request, Rule

__all__ = ["FIELDS", "MESSAGES"]

# The efforts that every version of its protocol has.
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high"}
_HIGHEST = "high"


def _note(code: str, place: str, message: str, fix: str, repair: Repair) -> Finding:
    return Finding(code=code, places=(place,), message=message, fix=fix, severity="note", repair=repair)


def _templated(body: Body, *, thinking: bool | None, leave_out: tuple[str, ...]) -> Body:
    """Tell the chat template whether to think; what the caller tells it himself stays."""
    rest = without(body, *leave_out)
    if thinking is None:
        return rest
    # DeepSeek's templates call it `thinking`, those of Qwen and GLM `enable_thinking`; each ignores the other's.
    told = {"thinking": thinking, "enable_thinking": thinking}
    return {**rest, "chat_template_kwargs": {**told, **(body.get("chat_template_kwargs") or {})}}


def thinking_switch(request: Request) -> Finding | None:
    """Find DeepSeek's switch for thinking."""
    thinking = request.body["thinking"]
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    is_on = None if kind is None else kind != "disabled"
    repair = partial(_templated, thinking=is_on, leave_out=("thinking",))
    return _note("thinking", "thinking", "thinking is DeepSeek's switch", "the chat template is told", repair)


def effort(request: Request) -> Finding | None:
    """Find an effort that not every version knows."""
    given = request.body["reasoning_effort"]
    if not isinstance(given, str) or _EFFORTS.get(given) == given:
        return None
    message = f"reasoning_effort {given!r} is not known to every version of vLLM"
    if given == "none":
        repair = partial(_templated, thinking=False, leave_out=("reasoning_effort",))
        return _note("reasoning_effort", "reasoning_effort", message, "the chat template is told", repair)
    mapped = _EFFORTS.get(given, _HIGHEST)
    return _note("reasoning_effort", "reasoning_effort", message, f"{mapped!r} is sent", partial(_efforted, to=mapped))


def _efforted(body: Body, *, to: str) -> Body:
    return {**body, "reasoning_effort": to}


def user_id(request: Request) -> Finding | None:
    """Find DeepSeek's name for the user, by which it divides its cache."""
    del request
    repair = partial(_templated, thinking=None, leave_out=("user_id",))
    return _note("user_id", "user_id", "user_id is a field of DeepSeek's", "it is left out", repair)


def reminders(request: Request) -> Finding | None:
    """Find a role of DeepSeek's that no template knows."""
    changed = {index: {**message, "role": "system"} for index, message in request.of("latest_reminder")}
    if not changed:
        return None
    places = tuple(f"messages[{index}].role" for index in changed)
    message, repair = f"{listed(places)} is latest_reminder", partial(with_messages, changed=changed)
    return _note("latest_reminder", places[0], message, "it is sent as system", repair)


def prefix(request: Request) -> Finding | None:
    """Find an answer to go on with."""
    if not prefixes.has_prefix(request):
        return None
    place = f"messages[{len(request.messages) - 1}].prefix"
    return _note("prefix", place, f"{place} is DeepSeek's way", "continue_final_message is sent", _continued)


def _continued(body: Body) -> Body:
    messages: Any = body["messages"]
    last = len(messages) - 1
    # "Cannot be used at the same time as add_generation_prompt" (vLLM's protocol).
    said = {"continue_final_message": True, "add_generation_prompt": False}
    return {**with_messages(body, {last: without(messages[last], "prefix")}), **said}


FIELDS: tuple[tuple[str, Rule], ...] = (
    ("thinking", thinking_switch),
    ("reasoning_effort", effort),
    ("user_id", user_id),
    # These it refuses as well.
    ("top_logprobs", parameters.top_logprobs),
    ("stream_options", parameters.stream_options),
)
MESSAGES: tuple[Rule, ...] = (contents.developer_role, reminders, prefix)
