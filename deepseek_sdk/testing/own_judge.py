"""The judge where `deepseek-recipe` has no wheel: lighter rules of our own, prompts counted by a rough rendering."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import house_rules, refusals
from deepseek_sdk.testing.job import MAX_TOKENS, Verdict, default_max_tokens
from deepseek_sdk.testing.recording import text_of
from deepseek_sdk.testing.vocabulary import special_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["OwnJudge"]

_RANGES = (
    ("temperature", 0, 2, "[0, 2]"),
    ("top_p", 0, 1, "(0, 1.0]"),
    ("frequency_penalty", -2, 2, "[-2, 2]"),
    ("presence_penalty", -2, 2, "[-2, 2]"),
    ("top_logprobs", 0, 20, "[0, 20]."),
)
_EFFORTS = {"minimal": 50, "low": 50, "medium": 75, "high": 75, "xhigh": 75, "max": 100, "ultra": 100}
_MAX_STOPS = 16
# The fixed text around the schemas costs about this much; measured through the live API with one small tool.
_TOOLS_OVERHEAD = 240


class OwnJudge:
    """
    Validate roles, tool order and ranges, with the texts of the live API where they are known.

    Args:
        vocabulary: Counts the text between the special tokens.
        reasoning_rule: See `house_rules.check_reasoning()`.
        context_tokens: The size of the model's window.
    """

    def __init__(self, vocabulary: Vocabulary, *, reasoning_rule: str, context_tokens: int) -> None:
        self._vocabulary = vocabulary
        self._reasoning_rule = reasoning_rule
        self._context_tokens = context_tokens

    def judge(self, body: Mapping[str, Any], raw: bytes, *, is_beta: bool) -> Verdict:
        """Validate a chat request; see `Judge`."""
        _check_shape(body, raw)
        house_rules.check(body, raw, is_beta=is_beta, reasoning_rule=self._reasoning_rule)
        thinking = house_rules.is_thinking(body)
        _check_numbers(body)
        _check_modes(body, thinking=thinking)
        _check_order(body["messages"])
        ids = list(self._render(body, thinking=thinking))
        return Verdict(
            ids=ids,
            thinking=thinking,
            max_tokens=self._max_tokens(body, thinking=thinking, prompt_tokens=len(ids)),
            answer_starts_in=_answer_starts_in(body, thinking=thinking),
        )

    def ids_with_answer(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
        """Count what a next turn will begin with; see `Judge`."""
        extended = {**body, "messages": [*body["messages"], answer]}
        ids = list(self._render(extended, thinking=house_rules.is_thinking(body)))
        end = special_id("end")
        return ids[: len(ids) - ids[::-1].index(end)] if end in ids else ids

    def _render(self, body: Mapping[str, Any], *, thinking: bool) -> Iterator[int]:
        yield special_id("begin")
        if thinking and house_rules.served_model(body["model"]) == "deepseek-flash":
            effort = _EFFORTS.get(body.get("reasoning_effort") or "high", 75)
            yield special_id("system")
            yield from self._vocabulary.ids(
                f"Reasoning Effort: {effort} (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
            )
        yield from self._tools(body)
        messages = body["messages"]
        for index, message in enumerate(messages):
            # Old thoughts stay only with tools, or while no user message has followed them.
            keeps = bool(body.get("tools")) or not any(after.get("role") == "user" for after in messages[index:])
            yield from self._message(message, keeps_reasoning=keeps and thinking)
        # A prefix is continued where it ends: no new turn is opened.
        if not _is_prefix(body):
            yield from (special_id("assistant"), special_id("<think>" if thinking else "</think>"))

    def _tools(self, body: Mapping[str, Any]) -> Iterator[int]:
        if body.get("tools") and body.get("tool_choice") != "none":
            yield from (special_id("tools") for _ in range(_TOOLS_OVERHEAD))
            for tool in body["tools"]:
                yield from self._vocabulary.ids(json.dumps(tool["function"], ensure_ascii=False))

    def _message(self, message: Mapping[str, Any], *, keeps_reasoning: bool) -> Iterator[int]:
        yield special_id(message["role"])
        if message["role"] == "assistant":
            yield from self._vocabulary.ids(message.get("reasoning_content") or "") if keeps_reasoning else ()
            yield special_id("</think>")
        yield from self._vocabulary.ids(text_of(message.get("content")))
        for call in message.get("tool_calls") or ():
            yield from self._vocabulary.ids(f"\n\n{call['function']['name']}: {call['function']['arguments']}")
        if message["role"] == "assistant" and not message.get("prefix"):
            yield special_id("end")

    def _max_tokens(self, body: Mapping[str, Any], *, thinking: bool, prompt_tokens: int) -> int:
        asked = body.get("max_tokens") or body.get("max_completion_tokens")
        if prompt_tokens + (asked or 0) > self._context_tokens:
            default = default_max_tokens(thinking=thinking, effort=body.get("reasoning_effort"))
            raise refusals.context_overflow(self._context_tokens, prompt=prompt_tokens, completion=asked or default)
        default = default_max_tokens(thinking=thinking, effort=body.get("reasoning_effort"))
        return int(asked or max(1, min(default, self._context_tokens - prompt_tokens)))


def _check_shape(body: Mapping[str, Any], raw: bytes) -> None:
    for name in ("messages", "model"):
        if name not in body:
            raise refusals.malformed(f"missing field `{name}`", raw=raw)
    house_rules.check_kinds(body, raw)
    house_rules.check_roles(body, raw)
    for index, message in enumerate(body["messages"]):
        if not isinstance(message, dict) or "role" not in message:
            raise refusals.malformed("missing field `role`", raw=raw, path=f"messages[{index}]")
        _check_calls(message, raw, f"messages[{index}]")
    for tool in body.get("tools") or ():
        if tool.get("type") != "function" or "name" not in (tool.get("function") or {}):
            detail = f"unknown variant `{tool.get('type')}`, expected `function`"
            raise refusals.malformed(detail, raw=raw, path="tools")


def _check_calls(message: Mapping[str, Any], raw: bytes, path: str) -> None:
    for call in message.get("tool_calls") or ():
        for name in ("id", "type", "function"):
            if name not in call:
                raise refusals.malformed(f"missing field `{name}`", raw=raw, path=f"{path}.tool_calls")
    if message["role"] == "tool" and "tool_call_id" not in message:
        raise refusals.malformed("missing field `tool_call_id`", raw=raw, path=path)


def _check_numbers(body: Mapping[str, Any]) -> None:
    for name, low, high, text in _RANGES:
        value = body.get(name)
        # Only top_p excludes its lower end.
        is_open = text.startswith("(") and value == low
        if value is not None and (is_open or not low <= value <= high):
            raise refusals.out_of_range(name, text)
    for name in ("max_tokens", "max_completion_tokens"):
        value = body.get(name)
        if value is not None and not 1 <= value <= MAX_TOKENS:
            raise refusals.out_of_range("max_tokens", f"[1, {MAX_TOKENS}]")
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > _MAX_STOPS:
        raise refusals.invalid(f"Stop string array too long: {len(stop)}")
    if (body.get("n") or 1) != 1:
        raise refusals.invalid(refusals.SEVERAL_CHOICES)


def _check_modes(body: Mapping[str, Any], *, thinking: bool) -> None:
    choice = body.get("tool_choice")
    if thinking and (choice == "required" or isinstance(choice, dict)):
        raise refusals.invalid(refusals.FORCED_TOOL_IN_THINKING)
    if body.get("tools") and _is_prefix(body):
        raise refusals.invalid(refusals.TOOLS_WITH_PREFIX)
    if body.get("stream_options") and not body.get("stream"):
        raise refusals.invalid(refusals.STREAM_OPTIONS)
    texts = (text_of(message.get("content")) for message in body["messages"] if message["role"] in {"system", "user"})
    is_json = (body.get("response_format") or {}).get("type") == "json_object"
    if is_json and not any("json" in text.lower() for text in texts):
        raise refusals.invalid(refusals.JSON_WORD)


def _check_order(messages: Sequence[Mapping[str, Any]]) -> None:
    if not messages:
        raise refusals.invalid(refusals.EMPTY_MESSAGES)
    wanted: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in wanted:
                raise refusals.invalid(refusals.TOOL_WITHOUT_CALL)
            wanted.discard(message["tool_call_id"])
            continue
        if wanted:
            raise refusals.invalid(refusals.TOOL_RESULTS_MISSING)
        wanted = _calls_of(message)
    if wanted:
        raise refusals.invalid(refusals.TOOL_RESULTS_MISSING)
    if any(message.get("prefix") for message in messages[:-1]):
        raise refusals.invalid(refusals.MISPLACED_PREFIX)


def _calls_of(message: Mapping[str, Any]) -> set[str]:
    calls = message.get("tool_calls") or ()
    if message["role"] == "assistant" and message.get("content") is None and not calls:
        raise refusals.invalid(refusals.NEITHER_CONTENT_NOR_CALLS)
    return {call["id"] for call in calls}


def _answer_starts_in(body: Mapping[str, Any], *, thinking: bool) -> str:
    is_past_thought = _is_prefix(body) and bool(body["messages"][-1].get("content"))
    return "reasoning" if thinking and not is_past_thought else "content"


def _is_prefix(body: Mapping[str, Any]) -> bool:
    return bool(body["messages"] and body["messages"][-1].get("prefix"))
