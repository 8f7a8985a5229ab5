"""A request that passed validation: all that the model and the encoder of the answer need to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.testing import recording

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ALIASES", "CONTEXT_TOKENS", "SERVED_MODELS", "Job", "Judge", "Verdict", "default_max_tokens"]

SERVED_MODELS = ("deepseek-flash", "deepseek-v4-pro")
# Served by V4.1-Flash since 2026-09-10; the response names `deepseek-flash` for each of them. `deepseek-chat` and
# `deepseek-reasoner` were switched off on 2026-07-24.
ALIASES = {
    "deepseek-flash": "deepseek-flash",
    "deepseek-v4-flash": "deepseek-flash",
    "deepseek-v4-flash-vision-exp": "deepseek-flash",
    "deepseek-v4-pro": "deepseek-v4-pro",
}
# "1M" in the model table, this number in the text of the refusal.
CONTEXT_TOKENS = 1_048_576
# "384K" in the model table; one more is refused.
MAX_TOKENS = 393_216
MAX_FIM_TOKENS = 4096
# What the official encoder fills in.
_DEFAULTS = {"off": 8192, "on": 65_536, "max": 131_072}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What a judge found in a valid request.

    Attributes:
        ids: The tokens of the prompt.
        thinking: Whether the model thinks before it answers.
        max_tokens: The most tokens it may write.
        answer_starts_in: `reasoning` or `content`: a prefix may have ended the thought already.
    """

    ids: Sequence[int]
    thinking: bool
    max_tokens: int
    answer_starts_in: str


class Judge(Protocol):
    """Whatever validates chat requests and counts their prompts."""

    def judge(self, body: Mapping[str, Any], raw: bytes, *, is_beta: bool) -> Verdict:
        """
        Validate a chat request.

        Args:
            body: The decoded body.
            raw: The same as it arrived.
            is_beta: Whether it came to a beta path.

        Returns:
            The verdict.

        Raises:
            Refusal: The live API would refuse it.
        """

    def ids_with_answer(self, body: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
        """
        Count what a next turn will begin with.

        Args:
            body: A request that was accepted.
            answer: The assistant message that answered it.

        Returns:
            The tokens from the start of the prompt to the end of the answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """
    What to answer.

    Attributes:
        model: The name of the model that serves it.
        ids: The tokens of the prompt.
        thinking: Whether the model thinks.
        thinks_now: Whether the answer begins with a thought.
        max_tokens: The most tokens it may write.
        stop: The sequences at which the answer ends.
        top_logprobs: How many alternatives each token gets; None for no log probabilities.
        is_stream: Whether events were asked for.
        include_usage: Whether `stream_options.include_usage` was set.
        is_json: Whether the answer must be JSON.
        forced_tool: The function the request insists on; None for none.
        prefix: The beginning of the answer that the request brings along.
        thought_prefix: The beginning of the thought that the request brings along.
        is_chat: Whether it is a chat, not a fill-in-the-middle.
        echoed: The prompt to repeat in front of a completion.
    """

    model: str
    ids: Sequence[int]
    thinking: bool
    thinks_now: bool
    max_tokens: int
    stop: tuple[str, ...] = ()
    top_logprobs: int | None = None
    is_stream: bool = False
    include_usage: bool = False
    is_json: bool = False
    forced_tool: Mapping[str, Any] | None = None
    prefix: str = ""
    thought_prefix: str = ""
    is_chat: bool = True
    echoed: str = ""


def chat_job(body: Mapping[str, Any], verdict: Verdict) -> Job:
    """Read a valid chat request, given the judge's *verdict*."""
    last = body["messages"][-1]
    prefix = last if last.get("prefix") else {}
    return Job(
        model=ALIASES[body["model"]],
        ids=verdict.ids,
        thinking=verdict.thinking,
        thinks_now=verdict.thinking and verdict.answer_starts_in == "reasoning",
        max_tokens=verdict.max_tokens,
        stop=stop_sequences(body),
        top_logprobs=(body.get("top_logprobs") or 0) if body.get("logprobs") else None,
        is_stream=bool(body.get("stream")),
        include_usage=includes_usage(body),
        is_json=(body.get("response_format") or {}).get("type") == "json_object",
        forced_tool=_forced_tool(body),
        prefix=recording.text_of(prefix.get("content")),
        thought_prefix=prefix.get("reasoning_content") or "",
    )


def default_max_tokens(*, thinking: bool, effort: str | None) -> int:
    """Return how many tokens may be written when the request does not say."""
    if not thinking:
        return _DEFAULTS["off"]
    return _DEFAULTS["max" if effort in {"max", "ultra"} else "on"]


def stop_sequences(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the stop sequences of a request, the empty ones left out."""
    stop = body.get("stop") or ()
    return tuple(text for text in ([stop] if isinstance(stop, str) else stop) if text)


def includes_usage(body: Mapping[str, Any]) -> bool:
    """Return whether a stream was asked to carry its usage."""
    return bool((body.get("stream_options") or {}).get("include_usage"))


def _forced_tool(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choice = body.get("tool_choice")
    functions: list[Mapping[str, Any]] = [tool["function"] for tool in body.get("tools") or ()]
    if choice == "required":
        return functions[0] if functions else None
    name = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    return next((function for function in functions if function["name"] == name), None)
