"""An answer as a line of JSON that people and programs can read, and back; what is read is not trusted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from deepseek_sdk._usage import Usage
from deepseek_sdk.caching.admission import finding_of, refusal
from deepseek_sdk.caching.entry import SCHEMA, BadRecordError, Entry
from deepseek_sdk.caching.pieces import join
from deepseek_sdk.caching.replay import chunks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepseek_sdk.caching.admission import Limits

__all__ = ["RefusedLineError", "line_of", "read_line"]

_KEY = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("tenant", "asked", "model", "route", "text")
_OBJECTS = ("chat.completion", "text_completion")
# What the chunks of one answer may come to: a few bytes of a file could ask for any number of them.
_LEAST_BYTES, _MOST_BYTES, _BYTES_PER_BYTE = 2**20, 256 * 2**20, 1000
_WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


class RefusedLineError(ValueError):
    """
    A line is none of an export, or holds what is not kept.

    Attributes:
        reason: Why, in one word.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def line_of(entry: Entry) -> bytes:
    """
    Write an answer as a line.

    Args:
        entry: It.

    Returns:
        JSON in UTF-8, with the end of the line.

    Raises:
        ValueError: The answer holds a number that JSON does not have.
    """
    told = {"schema": SCHEMA, "key": entry.key, "partition": entry.partition}
    told |= {name: getattr(entry, name) for name in _TEXTS}
    told |= {"finish_reason": entry.finish_reason, "is_judged": entry.is_judged}
    told |= {"created_ms": entry.created_ms, "expires_ms": entry.expires_ms}
    told |= {"tags": dict(entry.tags), "provenance": dict(entry.provenance)}
    told |= {"usage": _value(entry.usage), "cost": _value(entry.cost)}
    told |= {"answer": _value(entry.answer), "pieces": _value(entry.pieces)}
    return _dumped(told) + b"\n"


def _value(text: str | bytes | None) -> Any:
    return None if text is None else json.loads(text)


def _dumped(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half of a character has no UTF-8.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def read_line(line: bytes, limits: Limits) -> Entry:
    """
    Read an answer from a line.

    Args:
        line: Anything.
        limits: What is not kept.

    Returns:
        The answer. What it says of itself twice is taken from the completion.

    Raises:
        RefusedLineError: It cannot be used.
    """
    told = _object(line)
    if type(told.get("schema")) is not int or told["schema"] != SCHEMA:
        raise RefusedLineError("schema")
    for name in ("key", "partition"):
        if not isinstance(told.get(name), str) or _KEY.fullmatch(told[name]) is None:
            raise RefusedLineError("key")
    answer: Any = told.get("answer")
    _check_answer(answer)
    content = _dumped(answer)
    finding = finding_of(answer, {"n": len(answer["choices"])}, size=len(content))
    if (reason := refusal(finding, limits)) is not None:
        raise RefusedLineError(reason)
    usage = None if answer.get("usage") is None else json.dumps(answer["usage"])
    return Entry(
        **_facts(told),
        answer=content,
        pieces=_pieces(told.get("pieces"), content),
        finish_reason=answer["choices"][0]["finish_reason"],
        usage=usage,
    )


def _object(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line.decode(), parse_constant=_refused)
    except (ValueError, RecursionError):
        raise RefusedLineError("json") from None
    if not isinstance(told, dict):
        raise RefusedLineError("json")
    return told


def _refused(name: str) -> Any:
    raise ValueError(name)


def _facts(told: Mapping[str, Any]) -> dict[str, Any]:
    """Check what is told beside the answer."""
    facts: dict[str, Any] = {name: told.get(name) for name in ("key", "partition", *_TEXTS)}
    facts |= {name: told.get(name) for name in ("is_judged", "created_ms", "expires_ms")}
    facts |= {name: _pairs(told.get(name)) for name in ("tags", "provenance")}
    is_time = type(facts["created_ms"]) is int and facts["created_ms"] >= 0
    is_end = facts["expires_ms"] is None or (type(facts["expires_ms"]) is int and 0 <= facts["expires_ms"] < 2**53)
    if not (
        is_time and is_end and type(facts["is_judged"]) is bool and all(isinstance(facts[name], str) for name in _TEXTS)
    ):
        raise RefusedLineError("facts")
    cost = told.get("cost")
    if not (cost is None or (isinstance(cost, dict) and all(isinstance(value, str | None) for value in cost.values()))):
        raise RefusedLineError("facts")
    return {**facts, "cost": None if cost is None else json.dumps(cost)}


def _pairs(said: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise RefusedLineError("facts")
    return tuple(said.items())


def _check_answer(answer: Any) -> None:
    """See to it that an answer is a completion, by making of it all that is made of one."""
    try:
        _check_shape(answer)
        _ = Usage.parse(answer["usage"]) if answer.get("usage") is not None else None
        for _ in chunks_of(answer, wants_usage=True):
            pass
    except _WRONG:
        raise RefusedLineError("answer") from None


def _check_shape(answer: Any) -> None:
    if answer["object"] not in _OBJECTS or not isinstance(answer["choices"], list) or not answer["choices"]:
        raise ValueError
    if not isinstance(answer.get("usage"), dict | None) or not isinstance(answer["id"], str):
        raise TypeError
    is_chat = answer["object"] == _OBJECTS[0]
    for choice in answer["choices"]:
        _check_message(choice["message"]) if is_chat else _check_text(choice["text"])


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise TypeError


def _check_message(message: Any) -> None:
    texts = [message.get(name) for name in ("content", "reasoning_content", "refusal")]
    if not all(isinstance(text, str | None) for text in texts):
        raise TypeError
    for call in message.get("tool_calls") or ():
        if not isinstance(call["id"], str):
            raise TypeError
        if call["type"] == "function":
            _check_text(call["function"]["name"])
            _check_text(call["function"]["arguments"])


def _pieces(said: Any, answer: bytes) -> bytes | None:
    if said is None:
        return None
    pieces = json.dumps(said, separators=(",", ":")).encode()
    try:
        _bound(join(pieces, answer), min(_LEAST_BYTES + _BYTES_PER_BYTE * len(answer), _MOST_BYTES))
    except (BadRecordError, *_WRONG):
        raise RefusedLineError("pieces") from None
    return pieces


def _bound(chunks: Iterable[Any], most: int) -> None:
    size = 0
    for chunk in chunks:
        size += len(json.dumps(chunk))
        if size > most:
            raise ValueError
