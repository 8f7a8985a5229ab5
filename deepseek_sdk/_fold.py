"""Fold the chunks of a stream into the answer that a plain request gets, and the reverse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk._deltas import check_text

if TYPE_CHECKING:
    from deepseek_sdk._sse import Event

__all__ = ["Fold", "Gathered", "unfold"]

_CHUNK_OF = {"chat.completion": "chat.completion.chunk"}
_WHOLE_OF = {chunk: whole for whole, chunk in _CHUNK_OF.items()}


class _Text(list[str]):
    """A string that is still growing: adding to a str would copy all of it for every token."""


class Fold:
    """Adds up chunks whose deltas are normalised (see `_deltas`). Unknown fields are kept: the last value wins."""

    __slots__ = ("_answer", "_choices")

    def __init__(self) -> None:
        self._answer: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """
        Take the next chunk.

        Args:
            chunk: It, decoded; not changed.
        """
        for key, value in chunk.items():
            if key == "choices":
                self._add_choices(value)
            # A chunk without usage often says "usage": null; what was counted before stands.
            elif value is not None or key not in self._answer:
                self._answer[key] = value

    def answer(self) -> dict[str, Any]:
        """
        Put the answer together.

        Returns:
            A completion in the shape of a plain response.
        """
        choices = [_joined(self._choices[index]) for index in sorted(self._choices)]
        for choice in choices:
            # A stream says null where a plain answer says "" (DeepSeek's tool-calls guide: content is "" beside calls).
            if "message" in choice and choice["message"]["content"] is None:
                choice["message"]["content"] = ""
        answer = {**self._answer, "choices": choices}
        if isinstance(answer.get("object"), str):
            answer["object"] = _WHOLE_OF.get(answer["object"], answer["object"])
        return answer

    def _add_choices(self, choices: list[dict[str, Any]]) -> None:
        for choice in choices or ():
            index = choice.get("index") or 0
            known = self._choices.setdefault(index, {"index": index})
            for key, value in choice.items():
                _add_field(known, key, value)


class Gathered:
    """The events of one answer on their way to a plain response: chunks to fold, or the whole answer at once."""

    def __init__(self) -> None:
        self._fold: Fold | None = None
        self._whole = b""

    def take(self, event: Event) -> None:
        """
        Take the next event.

        Args:
            event: It.
        """
        if event.is_whole:
            self._whole = event.data
        elif not event.is_done:
            self._fold = self._fold or Fold()
            self._fold.add(event.json())

    def content(self) -> bytes:
        """
        Put the answer together.

        Returns:
            The JSON body of a plain response.
        """
        return self._whole if self._fold is None else json.dumps(self._fold.answer()).encode()


def _add_field(choice: dict[str, Any], key: str, value: Any) -> None:
    if key == "delta":
        _add_delta(choice.setdefault("message", {"role": "assistant", "content": None}), value or {})
    elif key == "text":
        _add_text(choice, key, value or "")
    elif key == "logprobs" and isinstance(value, dict):
        choice["logprobs"] = _add_logprobs(choice.get("logprobs"), value)
    elif value is not None or key not in choice:
        choice[key] = value


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if key == "tool_calls":
            _add_tool_calls(message, value or ())
        elif isinstance(value, str) and key != "role":
            _add_text(message, key, value)
        elif value is not None or key not in message:
            message[key] = value


def _add_text(target: dict[str, Any], key: str, text: object) -> None:
    piece = check_text(key, text)
    if isinstance(target.get(key), _Text):
        target[key].append(piece)
    else:
        target[key] = _Text([piece])


def _add_tool_calls(message: dict[str, Any], fragments: Any) -> None:
    for fragment in fragments:
        calls: list[dict[str, Any]] = message.setdefault("tool_calls", [])
        calls.extend({} for _ in range(fragment["index"] + 1 - len(calls)))
        _add_fragment(calls[fragment["index"]], fragment)


def _add_fragment(call: dict[str, Any], fragment: dict[str, Any]) -> None:
    for key, value in fragment.items():
        if key == "function":
            _add_function(call.setdefault("function", {}), value or {})
        elif value is not None or key not in call:
            call[key] = value


def _add_function(function: dict[str, Any], fragment: dict[str, Any]) -> None:
    for key, value in fragment.items():
        if key == "arguments":
            _add_text(function, key, value or "")
        elif value is not None or key not in function:
            function[key] = value


def _joined(value: Any) -> Any:
    if isinstance(value, _Text):
        return "".join(value)
    if isinstance(value, dict):
        return {key: item if key == "logprobs" else _joined(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_joined(item) for item in value]
    return value


def _add_logprobs(known: Any, new: dict[str, Any]) -> dict[str, Any]:
    if known is None:
        return {key: list(value) if isinstance(value, list) else value for key, value in new.items()}
    for key, value in new.items():
        if isinstance(value, list) and isinstance(known.get(key), list):
            known[key] += value
        elif value is not None or key not in known:
            known[key] = list(value) if isinstance(value, list) else value
    return known  # type: ignore[no-any-return]


def unfold(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """
    Take a whole answer apart, for a caller that asked for a stream and was answered whole.

    Args:
        answer: A completion in the shape of a plain response.

    Returns:
        Chunks in the shape of a stream: one with everything, and one with finish reasons and usage.
    """
    head = {key: value for key, value in answer.items() if key not in ("choices", "usage")}
    head["object"] = _CHUNK_OF.get(head.get("object", ""), head.get("object", ""))
    choices = answer.get("choices") or []
    first = {**head, "choices": [_as_delta(choice) for choice in choices]}
    last = {**head, "choices": [_as_finish(choice) for choice in choices]}
    return [first, {**last, "usage": answer["usage"]} if "usage" in answer else last]


def _as_delta(choice: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in choice.items() if key != "message"}
    rest["finish_reason"] = None
    if "message" not in choice:
        return rest
    delta = dict(choice["message"])
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(delta["tool_calls"])]
    return {**rest, "delta": delta}


def _as_finish(choice: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"delta": {}} if "message" in choice else {"text": ""}
    return {"index": choice.get("index", 0), **empty, "finish_reason": choice.get("finish_reason")}
