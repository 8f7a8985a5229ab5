"""The judge where `deepseek-recipe` is installed: DeepSeek's own request parser and prompt encoder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import deepseek_recipe as recipe

from deepseek_sdk.testing import house_rules, refusals
from deepseek_sdk.testing.job import ALIASES, SERVED_MODELS, Verdict
from deepseek_sdk.testing.vocabulary import special_id
from deepseek_sdk.tokens.rendering import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["RecipeJudge"]

_END = recipe.SpecialToken.Eos.default_str()
_ENCODER_PREFIX = re.compile(r"^invalid (?:request body|JSON request): ")


class RecipeJudge:
    """
    Validate and count with DeepSeek's own code, and add what the live API refuses beyond it.

    Args:
        vocabulary: Counts the text between the special tokens.
        reasoning_rule: See `house_rules.check_reasoning()`.
        context_tokens: The size of the model's window.
    """

    def __init__(self, vocabulary: Vocabulary, *, reasoning_rule: str, context_tokens: int) -> None:
        self._vocabulary = vocabulary
        self._reasoning_rule = reasoning_rule
        self._context_tokens = context_tokens
        versions = (recipe.ModelVersion.DeepseekV41Flash, recipe.ModelVersion.DeepseekV4Pro)
        self._encodings: dict[str, Any] = {
            SERVED_MODELS[0]: recipe.DeepseekV41Encoding(),
            SERVED_MODELS[1]: recipe.DeepseekV4Encoding(),
        }
        # By default the encoder fills missing reasoning with nothing; the live API refuses it.
        self._options = recipe.ConversionOptions(
            reasoning_content_behavior=recipe.ReasoningContentBehavior.Reject,
        ).with_model_versions_by_name(dict(zip(SERVED_MODELS, versions, strict=True)))

    def judge(self, body: Mapping[str, Any], raw: bytes, *, is_beta: bool) -> Verdict:
        """Validate a chat request; see `Judge`."""
        house_rules.check_roles(body, raw)
        parsed = self._parse(body if is_beta else _without_strict(body), raw)
        house_rules.check(body, raw, is_beta=is_beta, reasoning_rule=self._reasoning_rule)
        converted = self._convert(parsed)
        ids = self._ids(body, converted)
        return Verdict(
            ids=ids,
            thinking=converted.conversation.thinking_mode,
            max_tokens=self._max_tokens(converted, len(ids)),
            answer_starts_in=_answer_starts_in(converted),
        )

    def ids_with_answer(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
        """Count what a next turn will begin with; see `Judge`."""
        # The encoder wants calls to be followed by their results.
        messages = [*body["messages"], dict(answer), *_results_for(answer)]
        extended = {**body, "messages": messages, "tool_choice": None}
        ids = self._ids(body, self._convert(self._parse(extended, b"")))
        # The last end-of-sentence is the answer's own: what follows it belongs to the turn after.
        end = special_id(_END)
        return ids[: len(ids) - list(reversed(ids)).index(end)] if end in ids else ids

    def _parse(self, body: Mapping[str, Any], raw: bytes) -> Any:
        model = body.get("model")
        served = {"model": ALIASES[model]} if isinstance(model, str) and model in ALIASES else {}
        try:
            return recipe.ChatCompletionRequest({**body, **served})
        except ValueError as error:
            raise refusals.malformed(_ENCODER_PREFIX.sub("", str(error)), raw=raw) from error

    def _convert(self, parsed: Any) -> Any:
        try:
            return parsed.convert(self._options)
        except recipe.ConversionError as error:
            raise refusals.Refusal(error.status_code, json.loads(error.body)) from error

    def _ids(self, body: Mapping[str, Any], converted: Any) -> list[int]:
        rendered = self._encodings[house_rules.served_model(body["model"])].render_conversation(converted.conversation)
        ids: list[int] = []
        for part in parts_of(rendered):
            ids += self._vocabulary.ids(part.text) if part.tokens is None else [special_id(part.text)]
        return ids

    def _max_tokens(self, converted: Any, prompt_tokens: int) -> int:
        try:
            return int(converted.resolve_max_tokens(prompt_tokens, self._context_tokens))
        except recipe.ConversionError as error:
            raise refusals.Refusal(error.status_code, json.loads(error.body)) from error


def _without_strict(body: Mapping[str, Any]) -> Mapping[str, Any]:
    # Off the beta paths the live API takes `strict` and does nothing with it, not even look at the schema.
    tools = body.get("tools")
    if not isinstance(tools, list) or not any("strict" in _function(tool) for tool in tools):
        return body
    loose = [{**tool, "function": {**_function(tool), "strict": False}} for tool in tools]
    return {**body, "tools": loose}


def _function(tool: Any) -> dict[str, Any]:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function if isinstance(function, dict) else {}


def _answer_starts_in(converted: Any) -> str:
    stage = converted.parsing_options.thinking_initial_stage
    return "reasoning" if stage is not None and stage.starts_in_reasoning() else "content"


def _results_for(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": call["id"], "content": ""} for call in answer.get("tool_calls") or ()]
