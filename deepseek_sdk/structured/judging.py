"""Judge a whole answer: is it what was wanted, can it be made so without asking, and what is wrong with it else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pydantic
from openai.types.chat import ChatCompletion

from deepseek_sdk._truncation import tell_truncation
from deepseek_sdk._usage import Usage
from deepseek_sdk.structured.mending import mend
from deepseek_sdk.structured.schemas import place, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from deepseek_sdk.structured.schemas import Validators
    from deepseek_sdk.structured.wish import Wish

__all__ = ["Finding", "Kind", "Verdict", "judge"]

Kind: TypeAlias = Literal["empty", "truncated", "invalid"]

_MOST_PROBLEMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    What is wrong with an answer.

    Attributes:
        kind: "empty", "truncated" or "invalid".
        problems: What is wrong, a line for each place.
        raw: The text that is wrong: the content, or the arguments of a call.
        answer: The whole answer.
        tool: The function whose arguments are wrong, or None: the content is.
        is_reasoning: Nothing but reasoning came before the limit of tokens.
    """

    kind: Kind
    problems: tuple[str, ...]
    raw: str
    answer: dict[str, Any]
    tool: str | None = None
    is_reasoning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What is to be done about an answer.

    Attributes:
        finding: What is wrong with it, or None.
        mended: The answer rewritten, or None where it stays as it is.
        edits: What was mended, a few words each.
    """

    finding: Finding | None = None
    mended: bytes | None = None
    edits: tuple[str, ...] = ()


_AS_IT_IS = Verdict()


def judge(wish: Wish, answer: bytes, validators: Validators) -> Verdict:
    """
    Judge an answer.

    Args:
        wish: What it has to be.
        answer: The JSON body.
        validators: What schemas are checked with.

    Returns:
        The verdict. Refusals, filtered answers and answers of several choices are left to the caller.
    """
    if not wish.wants_json and b'"tool_calls"' not in answer:
        return _AS_IT_IS
    try:
        decoded = json.loads(answer)
        choice = decoded["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        is_alone = len(decoded["choices"]) == 1
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return _AS_IT_IS
    if not is_alone or not isinstance(message, dict) or message.get("refusal") or finish == "content_filter":
        return _AS_IT_IS
    if finish == "length":
        return Verdict(finding=_cut(decoded, message))
    return _Judge(wish, validators, decoded, message).verdict()


def _cut(answer: dict[str, Any], message: Mapping[str, Any]) -> Finding:
    usage, content = answer.get("usage"), message.get("content")
    told = Usage.parse(usage) if isinstance(usage, dict) else None
    cut = tell_truncation("length", told, has_answer=bool(content or message.get("tool_calls")))
    is_reasoning = cut == "reasoning" and bool(told is not None or message.get("reasoning_content"))
    problem = "all of max_tokens went into reasoning" if is_reasoning else "the answer was cut at max_tokens"
    raw = content if isinstance(content, str) else ""
    return Finding(kind="truncated", problems=(problem,), raw=raw, answer=answer, is_reasoning=is_reasoning)


class _Judge:
    """One answer that ended by itself."""

    def __init__(self, wish: Wish, validators: Validators, answer: dict[str, Any], message: dict[str, Any]) -> None:
        self._wish = wish
        self._validators = validators
        self._answer = answer
        self._message = message
        self._edits: dict[str, None] = {}

    def verdict(self) -> Verdict:
        calls = self._message.get("tool_calls")
        finding = self._judge_calls(calls) if calls else self._judge_content()
        if finding is not None:
            return Verdict(finding=finding)
        mended = json.dumps(self._answer).encode() if self._edits else None
        return Verdict(mended=mended, edits=tuple(self._edits))

    def _judge_content(self) -> Finding | None:
        content = self._message.get("content")
        if not self._wish.wants_json or not isinstance(content, str | None):
            return None
        text = content or ""
        if not text.strip():
            return self._finding("empty", ("the answer has no content",), text)
        problems = self._content_problems(text)
        return self._finding("invalid", problems, text) if problems else None

    def _content_problems(self, text: str) -> tuple[str, ...]:
        problem = _json_problem(text)
        if problem is not None:
            mended = None if self._wish.has_logprobs else mend(text)
            if mended is None:
                return (problem,)
            self._message["content"] = text = mended.text
            self._edits.update(dict.fromkeys(mended.edits))
        return self._misfits(self._wish.schema, text, self._message)

    def _judge_calls(self, calls: object) -> Finding | None:
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            tool = self._wish.tools.get(str(function.get("name"))) if isinstance(function, dict) else None
            if tool is not None and isinstance(function, dict):
                raw = function.get("arguments")
                problems = self._argument_problems(call, function, tool) if isinstance(raw, str) else ()
                if problems:
                    return self._finding("invalid", problems, str(raw), tool=str(function.get("name")))
        return None

    def _argument_problems(self, call: Any, function: dict[str, Any], tool: Mapping[str, Any]) -> tuple[str, ...]:
        """Mend the arguments of a call in place; what is wrong with them matters where the tool is strict."""
        problem = _json_problem(function["arguments"])
        if problem is not None:
            mended = _mended_arguments(function["arguments"], tool)
            if mended is None:
                return (problem,)
            function["arguments"], edits = mended
            self._edits.update(dict.fromkeys(edits))
        if tool.get("strict") is not True:
            return ()
        return self._misfits(_parameters(tool), function["arguments"], {**self._message, "tool_calls": [call]})

    def _misfits(self, schema: Mapping[str, Any] | None, text: str, message: Mapping[str, Any]) -> tuple[str, ...]:
        if self._wish.parse is not None:
            choice = {**self._answer["choices"][0], "message": message}
            problems = _parse_problems(self._wish.parse, {**self._answer, "choices": [choice]})
            if problems is not None:
                return problems
        return () if schema is None else self._validators.problems(schema, json.loads(text))

    def _finding(self, kind: Kind, problems: tuple[str, ...], raw: str, tool: str | None = None) -> Finding:
        return Finding(kind=kind, problems=problems, raw=raw, answer=self._answer, tool=tool)


def _parse_problems(parse: Callable[[Any], Any], answer: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Let the caller's own `parse()` try, and say what it finds wrong; None where it has no model to go by."""
    try:
        message = parse(ChatCompletion.construct(**answer)).choices[0].message
    except pydantic.ValidationError as error:
        return _told(error)
    except ValueError as error:
        return (shortened(str(error)),)
    except Exception:  # noqa: BLE001  a validator of the caller's that fails otherwise will do so again
        return ()
    return () if _has_object(message) else None


def _has_object(message: Any) -> bool:
    """Tell whether a model has made something of the answer: a format or a tool may also be given as a dictionary."""
    calls = message.tool_calls or ()
    return message.parsed is not None or any(_is_object(call.function.parsed_arguments) for call in calls)


def _is_object(arguments: object) -> bool:
    return isinstance(arguments, pydantic.BaseModel)


def _json_problem(text: str) -> str | None:
    try:
        json.loads(text)
    except ValueError as error:
        return f"not JSON: {shortened(str(error))}"
    except RecursionError:
        return "not JSON: nested too deeply"
    return None


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = tool.get("parameters")
    return schema if isinstance(schema, dict) else {}


def _mended_arguments(text: str, tool: Mapping[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    schema = _parameters(tool)
    if not text.strip() and not schema.get("required"):
        return "{}", ("a call without arguments",)
    mended = mend(text)
    return mended if mended is not None and _suits(json.loads(mended.text), schema) else None


def _suits(arguments: object, schema: Mapping[str, Any]) -> bool:
    """Tell whether arguments have the names that a function has; all else is checked where the tool is strict."""
    known, needed = schema.get("properties"), schema.get("required")
    if not isinstance(arguments, dict) or not set(needed or ()) <= arguments.keys():
        return False
    return not isinstance(known, dict) or arguments.keys() <= known.keys()


def _told(error: pydantic.ValidationError) -> tuple[str, ...]:
    found: Iterable[Any] = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{place(one['loc'])}: {shortened(one['msg'])}" for one in found]
    return tuple(lines[:_MOST_PROBLEMS])
