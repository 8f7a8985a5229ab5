"""All the rules, in their order, over one body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.dialect import (
    calls,
    choices,
    contents,
    formats,
    images,
    models,
    order,
    parameters,
    prefixes,
    strict,
    thinking,
    tools,
    vllm,
)
from deepseek_sdk.dialect.request import Policy, Request
from deepseek_sdk.dialect.sound import is_sound
from deepseek_sdk.routing.models import RETIRED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk.dialect.choice import DialectName
    from deepseek_sdk.dialect.finding import Body, Finding
    from deepseek_sdk.dialect.request import Images, MissingReasoning, Rule

__all__ = ["examined", "lint", "repaired"]

_TOOL_RULES: tuple[Rule, ...] = (
    tools.tool_shapes,
    tools.repeated_tools,
    tools.too_many_tools,
    tools.tool_names,
    tools.tool_schemas,
    strict.strict_tools,
)
_MESSAGE_RULES: tuple[Rule, ...] = (
    contents.developer_role,
    contents.unknown_role,
    calls.no_calls,
    contents.empty_assistant,
    contents.null_content,
    contents.null_tool_output,
    contents.empty_tool_output,
    contents.written_parts,
    contents.unknown_part,
    images.images,
    contents.text_parts,
    calls.unknown_calls,
    calls.call_shapes,
    calls.repeated_ids,
    order.tool_order,
    prefixes.misplaced_prefix,
    prefixes.prefix_with_others,
    thinking.renamed_reasoning,
    thinking.missing_reasoning,
)
# Each is asked only where its field is there. The mode is settled before what depends on it.
_FIRST: tuple[tuple[str, Rule], ...] = (
    ("model", models.retired_model),
    ("thinking", thinking.thinking_type),
    ("reasoning_effort", thinking.unknown_effort),
    ("response_format", formats.response_format),
)
_LAST: tuple[tuple[str, Rule], ...] = (
    ("response_format", formats.json_word),
    ("response_format", strict.strict_with_format),
    ("max_completion_tokens", parameters.max_completion_tokens),
    ("max_tokens", parameters.max_tokens),
    ("n", parameters.several_choices),
    ("stop", parameters.stop_sequences),
    ("stop", parameters.too_many_stops),
    ("logprobs", parameters.logprobs),
    ("top_logprobs", parameters.top_logprobs),
    ("stream_options", parameters.stream_options),
    ("temperature", parameters.temperature),
    ("top_p", parameters.top_p),
    ("frequency_penalty", parameters.frequency_penalty),
    ("presence_penalty", parameters.presence_penalty),
    ("user_id", parameters.user_id),
    ("parallel_tool_calls", parameters.parallel_tool_calls),
)
_CHOICE: tuple[tuple[str, Rule], ...] = (
    ("tool_choice", choices.tool_choice),
    ("tool_choice", choices.unknown_choice),
    ("tool_choice", choices.forced_tool),
)
_COMPLETION: tuple[tuple[str, Rule], ...] = (
    ("model", models.retired_model_of_completions),
    ("max_tokens", parameters.completion_max_tokens),
    ("logprobs", parameters.completion_logprobs),
    ("stop", parameters.too_many_stops),
    ("stream_options", parameters.stream_options),
)
# What there are rules about in a chat, besides its model and its messages.
_FIELDS = frozenset({"tools", *(name for name, _ in (*_FIRST, *_CHOICE, *_LAST))}) - {"model"}


class _Look:
    """A walk along the rules: each looks at the body that the repairs before it have made."""

    __slots__ = ("findings", "request")

    def __init__(self, body: Body, policy: Policy) -> None:
        self.request = Request(body, policy)
        self.findings: list[Finding] = []

    def ask(self, rules: Iterable[Rule]) -> None:
        for rule in rules:
            self._take(rule(self.request))

    def ask_about(self, rules: Iterable[tuple[str, Rule]]) -> None:
        for name, rule in rules:
            if name in self.request.body:
                self._take(rule(self.request))

    def _take(self, finding: Finding | None) -> None:
        if finding is None:
            return
        self.findings.append(finding)
        if finding.repair is not None:
            self.request = Request(finding.repair(self.request.body), self.request.policy)


def examined(body: Body, policy: Policy, *, dialect: DialectName, path: str) -> tuple[Body, list[Finding]]:
    """
    Look at a request with the eyes of the server.

    Args:
        body: The JSON body.
        policy: What is done where more than one repair is possible.
        dialect: What the server speaks.
        path: "/chat/completions" or "/completions".

    Returns:
        The body with every repair that there is, the same object where nothing was found, and what was found.
    """
    if dialect == "deepseek" and path == "/chat/completions" and _is_plain(body):
        return body, []
    look = _Look(body, policy)
    if dialect == "deepseek":
        _ask_deepseek(look, path)
    elif dialect == "vllm":
        look.ask_about(vllm.FIELDS)
        look.ask(vllm.MESSAGES)
    return look.request.body, look.findings


def _is_plain(body: Body) -> bool:
    """Tell of most chats, quickly, that no rule finds anything in them."""
    model, messages = body.get("model"), body.get("messages")
    if not (_FIELDS.isdisjoint(body) and model.__class__ is str and model not in RETIRED):
        return False
    # Without tools, and with thinking as it is by default; whether the model reads lists is not looked up here.
    return messages.__class__ is list and is_sound(messages, needs_reasoning=False, is_thinking=True, takes_lists=False)


def _ask_deepseek(look: _Look, path: str) -> None:
    if path != "/chat/completions":
        look.ask_about(_COMPLETION)
        return
    look.ask_about(_FIRST)
    if look.request.body.get("tools") and not tools.are_sound(look.request.tools):
        look.ask(_TOOL_RULES)
    look.ask_about(_CHOICE)
    request = look.request
    if not is_sound(
        request.messages,
        needs_reasoning=request.needs_reasoning,
        is_thinking=request.is_thinking,
        takes_lists=not request.is_text_only,
    ):
        look.ask(_MESSAGE_RULES)
    look.ask_about(_LAST)


def lint(
    body: Body,
    *,
    model: str | None = None,
    dialect: DialectName = "deepseek",
    on_missing_reasoning: MissingReasoning = "disable_thinking",
    images: Images = "error",
) -> list[Finding]:
    """
    Say what a server would refuse, or misread, of a chat request.

        lint({"model": "deepseek-chat", "messages": [...]})[0].line      "retired_model: model deepseek-chat was ..."

    Args:
        body: The JSON body.
        model: The model it is for, where the body names none, or another.
        dialect: What the server speaks.
        on_missing_reasoning: How a history is mended that lacks the reasoning it must bring back: "error" not at all,
            "disable_thinking" by doing without thinking, "placeholder" by a text of its own for each turn.
        images: How images are mended where the model reads none: "error" not at all, "placeholder" by a text.

    Returns:
        What was found, in the order in which it would be mended; empty where all is well.
    """
    body = body if model is None else {**body, "model": model}
    policy = Policy(on_missing_reasoning=on_missing_reasoning, images=images)
    return examined(body, policy, dialect=dialect, path="/chat/completions")[1]


def repaired(
    body: Body,
    *,
    model: str | None = None,
    dialect: DialectName = "deepseek",
    on_missing_reasoning: MissingReasoning = "disable_thinking",
    images: Images = "error",
) -> Body:
    """
    Mend what can be mended of a chat request.

    Args:
        body: The JSON body.
        model: The model it is for, where the body names none, or another.
        dialect: What the server speaks.
        on_missing_reasoning: See `lint()`.
        images: See `lint()`.

    Returns:
        The mended body, the same object where nothing was found; what cannot be mended is as it was.
    """
    body = body if model is None else {**body, "model": model}
    policy = Policy(on_missing_reasoning=on_missing_reasoning, images=images)
    return examined(body, policy, dialect=dialect, path="/chat/completions")[0]
