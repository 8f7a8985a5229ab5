"""What is asked after an answer that will not do."""

from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.structured.asking import asked_again, asked_larger
from deepseek_sdk.structured.judging import Finding

BODY: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "你好"}]}


def finding(raw: str = "{}", **changes: Any) -> Finding:
    """Give a finding about an answer."""
    message = {"role": "assistant", "content": raw, "reasoning_content": "Hm."}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"completion_tokens": 9}}
    return Finding(**{"kind": "invalid", "problems": ("日: no", "$: bad"), "raw": raw, "answer": answer, **changes})


def test_the_answer_and_its_problems_are_sent_back() -> None:
    """The answer and what is wrong with it follow the messages, which stay the same objects: the prefix is cached."""
    asked = asked_again(BODY, finding())

    assert [
        BODY["messages"][0],
        {"role": "assistant", "content": "{}"},
        {
            "role": "user",
            "content": "Your last answer is not what was asked for:\n- 日: no\n- $: bad\n"
            "Answer again, with the corrected JSON alone.",
        },
    ] == asked["messages"]
    assert BODY["messages"][0] is asked["messages"][0]
    assert 1 == len(BODY["messages"])


def test_reasoning_goes_back_with_tools() -> None:
    """With tools in the request the server wants the reasoning of every answer back."""
    asked = asked_again({**BODY, "tools": [{"type": "function"}]}, finding())

    assert "Hm." == asked["messages"][1]["reasoning_content"]


def test_an_empty_answer_is_not_sent_back() -> None:
    """Of an empty answer there is nothing to send back."""
    asked = asked_again(BODY, finding(" ", kind="empty"))

    assert ["user", "user"] == [message["role"] for message in asked["messages"]]


def test_an_answer_that_was_begun() -> None:
    """Where the caller has begun the answer, the same is asked: a message after it would make it another."""
    body = {**BODY, "messages": [*BODY["messages"], {"role": "assistant", "content": "{", "prefix": True}]}

    assert body == asked_again(body, finding())


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"max_tokens": 100}, {"max_tokens": 200}),
        ({"max_completion_tokens": 100}, {"max_completion_tokens": 200}),
        ({"max_tokens": 300_000}, {"max_tokens": 393_216}),
        ({"max_tokens": 393_216}, None),
        ({}, {"max_tokens": 131_072}),
        ({"reasoning_effort": "max"}, {"max_tokens": 262_144}),
        ({"thinking": {"type": "disabled"}}, {"max_tokens": 16_384}),
    ],
)
def test_twice_the_room(said: dict[str, Any], expected: dict[str, Any] | None) -> None:
    """The limit is doubled, within what the service takes; where none was given, its default is."""
    assert (None if expected is None else {**BODY, **said, **expected}) == asked_larger({**BODY, **said}, finding())


def test_a_server_with_other_defaults() -> None:
    """Where more than the default has come without a limit, twice that is asked for."""
    used = finding(answer={"choices": [], "usage": {"completion_tokens": 100_000}})

    assert 200_000 == (asked_larger(BODY, used) or {})["max_tokens"]
