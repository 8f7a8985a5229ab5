from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deepseek_sdk.errors import ContextOverflowError
from deepseek_sdk.tokens.fitting import CutMemory, Fit, TokenBudget, fit
from deepseek_sdk.tokens.fitting.graphemes import is_between_characters
from tests.tokens.fitting.world import SimpleCounter, assistant, conversations, judge, user

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

POLICIES = ("head_tail", "middle", "semantic", "history")
MARK = "[cut {tokens}]"

policies = st.sampled_from(POLICIES)
shares = st.floats(0.2, 1.1)


def fitted(body: dict[str, Any], policy: Any, share: float, **options: Any) -> Fit:
    """Fit a conversation to a share of its own length, where that can be done."""
    limit = max(1, int(SimpleCounter().count(body).total * share))
    try:
        return fit(body, TokenBudget(policy=policy, limit=limit, marker=MARK), SimpleCounter(), **options)
    except ContextOverflowError:
        assume(False)
        raise


def said(message: dict[str, Any]) -> list[str]:
    """List the texts of a message."""
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


@given(conversations(), policies, shares)
@settings(max_examples=100, deadline=None)
def test_result_fits_and_is_valid(body: dict[str, Any], policy: str, share: float) -> None:
    """What comes out is within the limit, and the server takes it."""
    before = json.dumps(body)
    result = fitted(body, policy, share)

    assert result.limit is not None
    assert result.total <= result.limit
    assert result.total == SimpleCounter().count(result.body).total
    judge(result.body)
    assert before == json.dumps(body)


@given(conversations(), policies, shares)
@settings(max_examples=60, deadline=None)
def test_what_fits_is_left_alone(body: dict[str, Any], policy: str, share: float) -> None:
    """A request that fits is the very same, so fitting twice is fitting once."""
    once = fitted(body, policy, share)
    twice = fit(dict(once.body), TokenBudget(policy=policy, limit=once.limit), SimpleCounter())  # type: ignore[arg-type]

    assert twice.messages is once.messages
    assert (False, (), once.total) == (twice.is_changed, twice.removed, twice.total)


@given(conversations(), policies, shares)
@settings(max_examples=100, deadline=None)
def test_messages_are_whole_or_cut_in_their_content(body: dict[str, Any], policy: str, share: float) -> None:
    """The system prompt stays whole; of other messages the content may change, and nothing besides."""
    result = fitted(body, policy, share)
    kept = [index for index in range(len(body["messages"])) if index not in gone(result)]
    pairs = [(body["messages"][index], message) for index, message in zip(kept, result.messages, strict=True)]

    assert [m for m in body["messages"] if m["role"] == "system"] == [
        m for m in result.messages if m["role"] == "system"
    ]
    for old, new in pairs:
        assert {**old, "content": ""} == {**new, "content": ""}
    assert body["messages"][-1]["role"] == result.messages[-1]["role"] == "user"


def gone(result: Fit) -> set[int]:
    """Tell which messages are missing."""
    return {removed.message for removed in result.removed if removed.is_whole}


@given(conversations(), policies, shares)
@settings(max_examples=100, deadline=None)
def test_last_question_is_whole_unless_it_is_too_long_alone(body: dict[str, Any], policy: str, share: float) -> None:
    """What the user asks last is only cut where all else that may be cut would not be enough."""
    result = fitted(body, policy, share)
    last = body["messages"][-1]
    is_cut = any(removed.message == len(body["messages"]) - 1 for removed in result.removed)

    if is_cut:
        system = [message for message in body["messages"] if message["role"] == "system"]
        alone = SimpleCounter().count({**body, "messages": [*system, last]}).total
        assert alone + 60 > (result.limit or 0)
    else:
        assert "".join(said(result.messages[-1])).endswith(last["content"])


@given(conversations(), policies, shares)
@settings(max_examples=100, deadline=None)
def test_no_cut_falls_into_a_character_a_fence_or_json(body: dict[str, Any], policy: str, share: float) -> None:
    """Cuts lie between characters as readers see them, fences come in pairs, and JSON stays JSON."""
    result = fitted(body, policy, share)

    for cut in result.cut.texts:
        original = said(body["messages"][cut.message])[cut.part or 0]
        for start, end in cut.kept:
            assert is_between_characters(original, start)
            assert is_between_characters(original, end)
    for message in result.messages:
        for text in said(message):
            assert text.count("```") % 2 == 0
            if text.startswith("[{"):
                json.loads(text)


@given(conversations(), policies, st.floats(0.3, 0.9), st.lists(st.text("ab 中。", max_size=40), max_size=6))
@settings(max_examples=100, deadline=None)
def test_prefix_stays_while_a_conversation_grows(
    body: dict[str, Any], policy: str, share: float, more: Sequence[str]
) -> None:
    """The next turns are cut where the first was, until they outgrow the limit; the messages sent only grow."""
    memory = CutMemory()
    limit = max(1, int(SimpleCounter().count(body).total * share))
    budget = TokenBudget(policy=policy, limit=limit)  # type: ignore[arg-type]
    try:
        first = fit(body, budget, SimpleCounter(), memory=memory)
        before = first
        for text in more:
            body = {**body, "messages": [*body["messages"], assistant(text), user("Go on.")]}
            result = fit(body, budget, SimpleCounter(), memory=memory)
            if policy in ("head_tail", "history") and before.is_changed:
                grown = before.total + SimpleCounter().count({"messages": body["messages"][-2:]}).total - 3
                assert result.is_remembered == (grown <= limit)
            if result.is_remembered:
                assert list(before.messages) == list(result.messages)[: len(before.messages)]
            before = result
    except ContextOverflowError:
        return


@pytest.mark.parametrize("policy", POLICIES)
def test_the_impossible_is_refused(policy: Any) -> None:
    """Where nothing more can be left out, an error says how long the prompt is."""
    body = {"model": "deepseek-flash", "messages": [{"role": "system", "content": "word " * 100}, user("Hi")]}

    with pytest.raises(ContextOverflowError) as caught:
        fit(body, TokenBudget(policy=policy, limit=50), SimpleCounter())

    assert (50, SimpleCounter().count(body).total) == (caught.value.limit, caught.value.requested)
