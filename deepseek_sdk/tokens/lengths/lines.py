"""What a tracker knows, as lines of JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.tokens.lengths.level import Answer
from deepseek_sdk.tokens.lengths.quantities import LengthKey

if TYPE_CHECKING:
    from deepseek_sdk._truncation import Truncation
    from deepseek_sdk.tokens.lengths.level import Level

__all__ = ["Line", "read_line", "write_line"]

_CUTS: tuple[Truncation | None, ...] = (None, "answer", "reasoning")


class Line(NamedTuple):
    """
    What one line says.

    Attributes:
        key: Whose answers these were.
        answers: Their lengths.
        first_tokens_ms: How long their first tokens took, in milliseconds.
        per_token_us: How long each further token took, in microseconds.
    """

    key: LengthKey
    answers: list[Answer]
    first_tokens_ms: list[int]
    per_token_us: list[int]


def write_line(key: LengthKey, level: Level) -> str:
    """
    Write a key down.

    Args:
        key: It.
        level: What is known of it.

    Returns:
        JSON on one line, in which an answer is [reasoning, content, what was cut].
    """
    answers = [[answer.reasoning, answer.content, _CUTS.index(answer.cut)] for answer in level.answers()]
    first_tokens, speeds = level.times()
    told = {**key._asdict(), "answers": answers, "first_token_ms": first_tokens, "token_us": speeds}
    return json.dumps(told, separators=(",", ":"))


def read_line(line: str, number: int) -> Line:
    """
    Read a key.

    Args:
        line: JSON, as `write_line()` writes it.
        number: Which line it is.

    Returns:
        What it says.

    Raises:
        ValueError: It is something else.
    """
    try:
        told = json.loads(line)
        key = LengthKey(_text(told["model"]), _text(told["mode"]), told["template"] and _text(told["template"]))
        answers = [Answer(_count(r), _count(c), _CUTS[_count(cut)]) for r, c, cut in told["answers"]]
        times = [[_count(value) for value in told[name]] for name in ("first_token_ms", "token_us")]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ValueError(f"line {number} holds no lengths of answers: {error}") from error
    return Line(key, answers, *times)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value
