"""Which answers are kept."""

from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.caching.admission import Finding, Limits, finding_of, refusal
from deepseek_sdk.errors import ConfigurationError


def finding(*finish_reasons: str | None, **changes: Any) -> Finding:
    """Give what is known of an answer that is kept, but for *changes*."""
    return Finding(**{"finish_reasons": finish_reasons or ("stop",), "size": 100, **changes})


def answer(*choices: Any) -> dict[str, Any]:
    """Give an answer."""
    return {"choices": list(choices)}


def choice(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """Give a choice of a chat."""
    return {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}


class TestRefusal:
    """The decision."""

    @pytest.mark.parametrize(
        ("reasons", "word"),
        [
            (("stop",), None),
            (("tool_calls",), None),
            (("function_call",), None),
            (("stop", "tool_calls"), None),
            (("length",), "length"),
            (("content_filter",), "content_filter"),
            (("insufficient_system_resource",), "finish_reason"),
            (("repetition_truncation",), "finish_reason"),
            (("STOP",), "finish_reason"),
            (("stop", "length"), "length"),
            (("stop", "stop", "content_filter"), "content_filter"),
            ((None,), "incomplete"),
            (("stop", None), "incomplete"),
            ((None, "length"), "incomplete"),
        ],
        ids=str,
    )
    def test_every_choice_must_have_come_to_its_end(self, reasons: tuple[str | None, ...], word: str | None) -> None:
        """An answer is kept only where each of its choices stopped by itself, or calls tools."""
        assert word == refusal(finding(*reasons))

    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            ({"finish_reasons": ()}, "incomplete"),
            ({"is_empty": True}, "empty"),
            ({"is_degraded": True}, "degraded"),
            ({"is_cut_prompt": True}, "cut_prompt"),
            ({"size": 1024 * 1024 + 1}, "too_large"),
            ({"size": 1024 * 1024}, None),
            ({"temperature": 2.0}, None),
        ],
        ids=str,
    )
    def test_each_reason_stands_for_itself(self, changes: dict[str, Any], word: str | None) -> None:
        """One thing that is wrong is enough, and is told in one word."""
        assert word == refusal(finding(**changes))

    def test_the_first_reason_is_told(self) -> None:
        """What is wrong with the answer itself comes before what is wrong with keeping it."""
        wrong = finding("length", is_empty=True, is_degraded=True, size=10**9)

        assert "length" == refusal(wrong)
        assert "empty" == refusal(finding(is_empty=True, is_degraded=True, size=10**9))
        assert "degraded" == refusal(finding(is_degraded=True, size=10**9))

    @pytest.mark.parametrize(
        ("limit", "temperature", "word"),
        [(None, 2.0, None), (1.0, 1.0, None), (0.0, 0.0, None), (0.5, 1.0, "temperature"), (0.0, 1e-9, "temperature")],
    )
    def test_warm_answers_may_be_left_out(self, limit: float | None, temperature: float, word: str | None) -> None:
        """Who wants another answer each time is not given the first one again, where that is set."""
        assert word == refusal(finding(temperature=temperature), Limits(max_temperature=limit))

    def test_warm_requests_are_told(self) -> None:
        """Before they are answered: their answers were not kept, so they are not looked for."""
        bodies: list[dict[str, Any]] = [{}, {"temperature": 0}, {"temperature": 0.5}, {"temperature": 0.51}]

        assert [True, False, False, True] == list(map(Limits(max_temperature=0.5).is_too_warm, bodies))
        assert [False] * 4 == list(map(Limits().is_too_warm, bodies))

    def test_the_size_is_limited(self) -> None:
        """In bytes."""
        assert [None, "too_large"] == [refusal(finding(size=n), Limits(max_entry_bytes=10)) for n in (10, 11)]

    @pytest.mark.parametrize(
        "limits",
        [
            {"max_entry_bytes": 0},
            {"max_entry_bytes": -5},
            {"max_entry_bytes": 1.5},
            {"max_entry_bytes": True},
            {"max_entry_bytes": None},
            {"max_temperature": -0.1},
            {"max_temperature": "1"},
            {"max_temperature": True},
            {"max_temperature": float("nan")},
        ],
        ids=str,
    )
    def test_limits_that_are_none_are_named(self, limits: dict[str, Any]) -> None:
        """The message says which."""
        with pytest.raises(ConfigurationError, match=next(iter(limits))):
            Limits(**limits)


class TestFinding:
    """Looking at an answer."""

    @pytest.mark.parametrize(
        ("message", "is_empty"),
        [
            ({"content": "花呗"}, False),
            ({"content": " "}, False),
            ({"content": None, "tool_calls": [{"id": "a"}]}, False),
            ({"content": "", "function_call": {"name": "f"}}, False),
            ({"content": None, "refusal": "No."}, False),
            ({"content": None, "audio": {"id": "a"}}, False),
            ({"content": ""}, True),
            ({"content": None}, True),
            ({}, True),
            ({"content": "", "reasoning_content": "I should say hello.", "tool_calls": []}, True),
        ],
        ids=str,
    )
    def test_an_answer_says_or_calls_something(self, message: dict[str, Any], is_empty: bool) -> None:  # noqa: FBT001  pytest
        """Reasoning alone is no answer: asking again may give one."""
        found = finding_of(answer(choice(**message)), {}, size=1)

        assert is_empty == found.is_empty
        assert ("empty" if is_empty else None) == refusal(found)

    def test_each_choice_says_something(self) -> None:
        """One that is empty is enough."""
        found = finding_of(answer(choice(content="a"), choice(content="")), {"n": 2}, size=1)

        assert "empty" == refusal(found)

    def test_completions_have_texts(self) -> None:
        """The answers of `/completions` are kept likewise."""
        told = [finding_of(answer({"text": text, "finish_reason": "stop"}), {}, size=1) for text in ("a", "")]

        assert [None, "empty"] == list(map(refusal, told))

    @pytest.mark.parametrize(
        ("n", "word"), [(1, None), (2, "incomplete"), (None, None), (0, None), (True, None), ("2", None)]
    )
    def test_choices_that_are_missing_are_missed(self, n: Any, word: str | None) -> None:
        """Who asks for two answers is not given one."""
        assert word == refusal(finding_of(answer(choice(content="a")), {"n": n}, size=1))

    @pytest.mark.parametrize(
        "wrong", [{}, answer(), {"choices": None}, {"choices": {}}, answer(None), answer(5)], ids=str
    )
    def test_an_answer_without_choices_is_none(self, wrong: dict[str, Any]) -> None:
        """It is not kept, whatever it is."""
        assert "incomplete" == refusal(finding_of(wrong, {}, size=1))

    @pytest.mark.parametrize("finish", [None, ""])
    def test_a_finish_reason_that_says_nothing_is_none(self, finish: Any) -> None:
        """Some gateways say "" where they mean null."""
        assert "incomplete" == refusal(finding_of(answer(choice(finish, content="a")), {}, size=1))

    @pytest.mark.parametrize(
        ("said", "temperature"),
        [
            ({}, 1.0),
            ({"temperature": 0}, 0.0),
            ({"temperature": None}, 1.0),
            ({"temperature": "x"}, 1.0),
            ({"temperature": 10**400}, 10**400),
        ],
    )
    def test_the_temperature_is_that_of_the_request(self, said: dict[str, Any], temperature: float) -> None:
        """Else the server's default."""
        assert temperature == finding_of(answer(choice(content="a")), said, size=1).temperature

    @pytest.mark.parametrize("flag", ["is_degraded", "is_cut_prompt"])
    def test_what_else_is_known_is_told(self, flag: str) -> None:
        """The stage knows more than the answer says."""
        found = finding_of(answer(choice(content="a")), {}, size=7, **{flag: True})

        assert flag.removeprefix("is_") == refusal(found)
        assert 7 == found.size
