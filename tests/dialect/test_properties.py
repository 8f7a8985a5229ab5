"""Whatever is asked: what the service takes passes as it is, and what is mended is mended for good."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepseek_sdk.dialect import Finding, lint, repaired
from deepseek_sdk.dialect.examine import _MESSAGE_RULES, _TOOL_RULES
from deepseek_sdk.dialect.request import Policy, Request
from deepseek_sdk.dialect.sound import is_sound
from deepseek_sdk.dialect.tools import are_sound
from deepseek_sdk.testing import refusals
from tests.dialect.cases import JSON_SCHEMA, PICTURE, PREFIX, USER, answered, call, calling, result, tool

if TYPE_CHECKING:
    from deepseek_sdk.testing import Vocabulary

# What the service takes, and is told otherwise all the same, because it goes badly or does nothing.
EXCEPTIONS = {"effort_none", "empty_tool_output", "max_completion_tokens", "text_parts"}

GOOD = [
    USER,
    answered(),
    answered(reasoning_content=""),
    answered(reasoning_content="Hm", tool_calls=None),
    {"role": "system", "content": "Reply in JSON. 用中文"},
    {"role": "user", "content": [{"type": "text", "text": "这是什么？"}, PICTURE]},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "user", "content": "Hello", "name": "Li"},
    {"role": "latest_reminder", "content": "周一"},
]
BAD = [
    {"role": "developer", "content": "短"},
    answered(content=None),
    {"role": "user", "content": None},
    {"role": "user", "content": ["Hello", {"type": "output_text", "text": "x"}]},
    answered(tool_calls=[]),
    answered(reasoning="Hm"),
    PREFIX,
    {"role": "critic", "content": "Hm"},
    {"role": "user"},
    result("orphan"),
    result("a", content=None),
    result("a", content=""),
    {"role": "tool", "content": "no id"},
]
TURNS = [
    [calling(call()), result()],
    [calling(call(), call("b"), content=None), result("b"), result()],
    [calling(call(), call("b")), result()],
    [calling(call())],
    [calling(call()), USER, result()],
    [result(), calling(call())],
    [calling(call(), call()), result(), result()],
    [calling({"id": "a", "name": "f", "arguments": {"城市": "北京"}}), result()],
    [calling(call(7)), result(7)],
    [calling(call(reasoning_content=None)), result()],
    [{**calling(call()), "reasoning_content": None}, result()],
]
FIELDS: dict[str, list[Any]] = {
    "model": ["deepseek-flash", "deepseek-v4-pro", "deepseek-v4-flash", "deepseek-chat", "deepseek-reasoner"],
    "thinking": [None, {"type": "enabled"}, {"type": "disabled"}, {}, {"type": "adaptive"}],
    "reasoning_effort": [None, "none", "low", "max", "HIGH", "auto"],
    "tools": [
        None,
        [],
        [tool()],
        [tool(), tool("g-2")],
        [tool(), tool()],
        [tool(strict=True)],
        [tool(strict=True), tool("g")],
        [tool(parameters={})],
        [{"type": "function", "name": "f"}],
        [tool("天气")],
    ],
    "tool_choice": [None, "auto", "none", "required", "any", {"type": "function", "function": {"name": "f"}}],
    "response_format": [None, {"type": "text"}, {"type": "json_object"}, JSON_SCHEMA],
    "max_tokens": [None, 1, 393_216, 393_217],
    "max_completion_tokens": [None, 5],
    "n": [None, 1, 2],
    "stop": [None, "x", [], ["x"], ["", "x"], "", ["x"] * 17, [f"{n}" for n in range(16)]],
    "logprobs": [None, True, False, 1],
    "top_logprobs": [None, 0, 3, 20, 21],
    "stream": [None, True, False],
    "stream_options": [None, {"include_usage": True}],
    "temperature": [None, 0, 2, 2.1],
    "top_p": [None, 0, 0.5, 1, 1.1],
    "frequency_penalty": [None, -2, 2.5],
    "user_id": [None, "u", "用" * 170, "用" * 171],
    "parallel_tool_calls": [None, True, "no"],
    "seed": [1],
    "metadata": [{"a": "b"}],
}
messages: st.SearchStrategy[list[Any]] = st.lists(
    st.one_of(
        st.sampled_from([[message] for message in GOOD]),
        st.sampled_from([[message] for message in GOOD]),
        st.sampled_from([[message] for message in BAD]),
        st.sampled_from(TURNS),
    ),
    min_size=1,
    max_size=4,
).map(lambda groups: [message for group in groups for message in group])


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a body, with a few fields besides model and messages."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=5, unique=True))
    body = {"model": "deepseek-flash", **{name: draw(st.sampled_from(FIELDS[name])) for name in names}}
    endings: list[list[Any]] = [[], [USER], [PREFIX]]
    ending = draw(st.sampled_from(endings))
    return {**body, "messages": [*draw(messages), *ending]}


@pytest.fixture(scope="module")
def judge(vocabulary: Vocabulary) -> Any:
    """Give the service's own judge of requests."""
    pytest.importorskip("deepseek_recipe")
    from deepseek_sdk.testing.recipe_judge import RecipeJudge  # noqa: PLC0415  not everywhere

    return RecipeJudge(vocabulary, reasoning_rule="every", context_tokens=1_048_576)


def is_accepted(judge: Any, body: dict[str, Any]) -> bool:
    """Ask the service, at the host that the client would choose."""
    last = body["messages"][-1]
    is_prefix = last.get("role") == "assistant" and last.get("prefix") is True
    functions = [given.get("function") or {} for given in body.get("tools") or ()]
    is_beta = is_prefix or any(function.get("strict") is True for function in functions)
    try:
        judge.judge(body, json.dumps(body, ensure_ascii=False).encode(), is_beta=is_beta)
    except refusals.Refusal:
        return False
    return True


def codes(findings: list[Finding]) -> set[str]:
    """Name what was found."""
    return {finding.code for finding in findings}


many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.slow
@many
@given(body=bodies())
def test_what_the_service_takes_passes(judge: Any, body: dict[str, Any]) -> None:
    """A request that the service takes passes as the same object; a few are told in better words."""
    if not is_accepted(judge, body):
        return
    found = codes(lint(body))

    assert set() == found - EXCEPTIONS
    assert found or repaired(body) is body
    assert is_accepted(judge, repaired(body))


@pytest.mark.slow
@many
@given(body=bodies())
def test_what_is_mended_is_taken(judge: Any, body: dict[str, Any]) -> None:
    """A request in which everything could be mended is one that the service takes."""
    findings = lint(body)
    if any(finding.repair is None for finding in findings):
        return

    assert is_accepted(judge, repaired(body))


@pytest.mark.slow
@many
@given(body=bodies())
def test_repairs_are_idempotent_and_change_nothing_in_place(body: dict[str, Any]) -> None:
    """What was mended is as it should be, and the caller's own body as it was."""
    before = copy.deepcopy(body)
    mended = repaired(body)

    assert before == body
    assert mended is repaired(mended)
    assert [] == [finding.code for finding in lint(mended) if finding.repair is not None]


@pytest.mark.slow
@many
@given(body=bodies())
def test_unchanged_messages_are_the_same_objects(body: dict[str, Any]) -> None:
    """A message that nothing is wrong with is not copied, so that what is cached for it is found."""
    mended = repaired(body)["messages"]

    assert all(any(message is sent for sent in mended) for message in body["messages"] if message is USER)


@pytest.mark.slow
@many
@given(body=bodies())
def test_the_quick_look_misses_nothing(body: dict[str, Any]) -> None:
    """Where the quick looks see nothing, no rule finds anything."""
    request = Request(body, Policy())
    is_quiet = is_sound(
        body["messages"],
        needs_reasoning=request.needs_reasoning,
        is_thinking=request.is_thinking,
        takes_lists=not request.is_text_only,
    )
    rules = [*(_MESSAGE_RULES if is_quiet else ()), *(_TOOL_RULES if are_sound(request.tools) else ())]
    found = [finding.code for rule in rules if (finding := rule(request))]

    assert [] == found


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "text", "id", "name", "function"]), inner)
    ),
    max_leaves=8,
)
fields = st.fixed_dictionaries({}, optional=dict.fromkeys([*FIELDS, "messages"], anything))


@pytest.mark.slow
@many
@given(body=fields)
def test_nonsense_is_no_crash(body: dict[str, Any]) -> None:
    """Whatever JSON comes, the linter says what it sees, and no more."""
    before = copy.deepcopy(body)

    for dialect in ("deepseek", "vllm"):
        assert all(finding.line for finding in lint(body, dialect=dialect))
    assert before == body


def test_an_id_twice_beside_what_cannot_be_read() -> None:
    """Calls that share an id, beside one that is none, are left to the server."""
    calls = [call(), call(), {"type": "other"}]
    findings = lint({"model": "deepseek-flash", "messages": [USER, calling(*calls), result(), result()]})

    assert ["unknown_call"] == [finding.code for finding in findings if not finding.is_certain]


@pytest.mark.slow
@many
@given(message=st.dictionaries(st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "prefix"]), anything))
def test_nonsense_in_messages_is_no_crash(message: dict[str, Any]) -> None:
    """The same holds inside a message."""
    for role in ("user", "assistant", "tool"):
        body = {"model": "deepseek-v4-pro", "messages": [{**message, "role": role}, USER]}

        assert all(finding.line for finding in lint(body))
