from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk._mode import thinking_mode
from deepseek_sdk._truncation import tell_truncation
from deepseek_sdk._usage import Usage
from deepseek_sdk.tokens.lengths.level import Answer
from deepseek_sdk.tokens.lengths.prior import assumed

OFF = {"thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"messages": []}, "high"),
        ({"messages": [], "thinking": {"type": "enabled"}}, "high"),
        ({"messages": [], **OFF}, "off"),
        ({"messages": [], **OFF, "reasoning_effort": "max"}, "off"),
        ({"messages": [], "reasoning_effort": "none"}, "off"),
        ({"messages": [], "reasoning_effort": "minimal"}, "low"),
        ({"messages": [], "reasoning_effort": "low"}, "low"),
        ({"messages": [], "reasoning_effort": "medium"}, "high"),
        ({"messages": [], "reasoning_effort": "xhigh"}, "high"),
        ({"messages": [], "reasoning_effort": "max"}, "max"),
        ({"messages": [], "reasoning_effort": "ultra"}, "max"),
        ({"messages": [], "reasoning_effort": "another"}, "high"),
        ({"messages": [], "reasoning_effort": ["low"]}, "high"),
        ({"messages": [], "thinking": "disabled"}, "high"),
        ({"prompt": "def f():", "suffix": "return x"}, "fim"),
        ({}, "high"),
    ],
)
def test_how_much_a_request_lets_think(body: dict[str, Any], expected: str) -> None:
    """The mode is the effort as the service maps it; it thinks by default, and never where code is completed."""
    assert expected == thinking_mode(body)


@pytest.mark.parametrize(
    ("finish_reason", "output", "reasoning", "has_answer", "expected"),
    [
        ("stop", 10, 5, True, None),
        ("stop", 10, 10, False, None),
        (None, 10, 10, False, None),
        ("tool_calls", 10, 5, True, None),
        ("length", 10, 5, True, "answer"),
        ("length", 10, 10, False, "reasoning"),
        ("length", 10, 0, True, "answer"),
        ("length", 1, 0, False, "answer"),
        ("length", None, None, True, "answer"),
        ("length", None, None, False, "reasoning"),
    ],
)
def test_what_a_limit_has_cut(
    finish_reason: str | None, output: int | None, reasoning: int | None, expected: str | None, *, has_answer: bool
) -> None:
    """An answer that was cut is told from one that never began, because all tokens went into reasoning."""
    usage = None if output is None else Usage(hit=0, miss=1, output=output, reasoning=reasoning or 0)

    assert expected == tell_truncation(finish_reason, usage, has_answer=has_answer)


@pytest.mark.parametrize(
    ("output", "reasoning", "finish_reason", "expected"),
    [
        (30, 10, "stop", Answer(10, 20)),
        (30, 10, "length", Answer(10, 20, "answer")),
        (30, 30, "length", Answer(30, 0, "reasoning")),
        (30, 30, "stop", Answer(30, 0)),
        (30, 40, "stop", Answer(30, 0)),
        (-3, 0, "stop", Answer(0, 0)),
        (30, -4, "content_filter", Answer(0, 30)),
    ],
)
def test_an_answer_is_measured(output: int, reasoning: int, finish_reason: str, expected: Answer) -> None:
    """Content is what is not reasoning; counts that cannot be are put right."""
    usage = Usage(hit=0, miss=1, output=output, reasoning=reasoning)

    assert expected == Answer.of(usage, finish_reason)


@pytest.mark.parametrize("mode", ["fim", "off", "low", "high", "max"])
def test_assumptions_are_sound(mode: str) -> None:
    """Each assumption rises with its quantiles, has no samples, and stays within what the service writes by default."""
    told = assumed(mode)

    assert ("prior", 0) == (told.source, told.samples)
    for quantity in (told.reasoning, told.content, told.total):
        assert sorted(quantity) == list(quantity)
    assert told.total.p95 <= (8192 if mode in {"fim", "off"} else 65_536)


def test_an_unknown_mode_is_the_default() -> None:
    """What no request of today says is taken for the service's default effort."""
    assert assumed("high") == assumed("tomorrow")
