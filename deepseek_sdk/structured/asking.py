"""What to ask after an answer that is not what was wanted, and what to say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk._clock import is_thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.structured.judging import Finding

__all__ = ["asked_again", "asked_larger", "larger_limit"]

# The service refuses more: its valid range is [1, 393216].
_MOST_TOKENS = 393_216
# Where a request names no limit (defaults of the service by mode; the last as measured).
_PLAIN_TOKENS, _THINKING_TOKENS, _MAX_EFFORT_TOKENS = 8_192, 65_536, 131_072

_EMPTY = "Your last answer was empty. Answer now, with the JSON alone."
_INVALID = "Your last answer is not what was asked for:\n{problems}\nAnswer again, with the corrected JSON alone."
_CALL = (
    "Your last call of the function {tool} had arguments that are not what its schema asks for:\n{problems}\n"
    "The arguments were:\n{raw}\nCall it again with corrected arguments, as JSON."
)


def asked_again(body: Mapping[str, Any], finding: Finding) -> dict[str, Any]:
    """
    Ask once more, and say what was wrong.

    Args:
        body: What was asked.
        finding: What is wrong with the answer.

    Returns:
        The same request with the answer and a message after it; the same alone where an answer was begun for the model.
    """
    messages = [*body["messages"]]
    last = messages[-1] if messages else None
    # What follows a prefix would be no continuation of it any more.
    if isinstance(last, dict) and last.get("role") == "assistant":
        return dict(body)
    return {**body, "messages": [*messages, *_answered(body, finding), {"role": "user", "content": _told(finding)}]}


def _answered(body: Mapping[str, Any], finding: Finding) -> list[dict[str, Any]]:
    # A call with broken arguments, and without results, is nothing that a server takes back.
    if finding.tool is not None or not finding.raw.strip():
        return []
    message: dict[str, Any] = {"role": "assistant", "content": finding.raw}
    reasoning = finding.answer["choices"][0]["message"].get("reasoning_content")
    # "For requests carrying the tools parameter, the reasoning_content must be fully passed back" (thinking guide).
    if body.get("tools") and isinstance(reasoning, str):
        message["reasoning_content"] = reasoning
    return [message]


def _told(finding: Finding) -> str:
    if finding.kind == "empty":
        return _EMPTY
    problems = "\n".join(f"- {problem}" for problem in finding.problems)
    text = _INVALID if finding.tool is None else _CALL
    return text.format(problems=problems, tool=finding.tool, raw=finding.raw)


def asked_larger(body: Mapping[str, Any], finding: Finding) -> dict[str, Any] | None:
    """
    Ask once more with twice the room.

    Args:
        body: What was asked.
        finding: What has come of it.

    Returns:
        The same request with more tokens, or None where there are no more.
    """
    limit = larger_limit(body, finding.answer)
    return None if limit is None else {**body, _limit_name(body): limit}


def larger_limit(body: Mapping[str, Any], answer: Mapping[str, Any]) -> int | None:
    """
    Choose a larger *max_tokens*.

    Args:
        body: What was asked.
        answer: What has come, cut at the limit.

    Returns:
        Twice the limit, in tokens, as far as the service goes; None where it was met already.
    """
    given = body.get(_limit_name(body))
    usage = answer.get("usage")
    used = usage.get("completion_tokens") if isinstance(usage, dict) else None
    limit = given if isinstance(given, int) else max(_default_limit(body), used if isinstance(used, int) else 0)
    return min(2 * limit, _MOST_TOKENS) if limit < _MOST_TOKENS else None


def _limit_name(body: Mapping[str, Any]) -> str:
    return "max_completion_tokens" if isinstance(body.get("max_completion_tokens"), int) else "max_tokens"


def _default_limit(body: Mapping[str, Any]) -> int:
    if not is_thinking(body):
        return _PLAIN_TOKENS
    return _MAX_EFFORT_TOKENS if body.get("reasoning_effort") in ("max", "ultra") else _THINKING_TOKENS
