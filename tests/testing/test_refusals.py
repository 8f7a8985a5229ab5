"""Every refusal, word for word, by both validators; and the counts of the live API."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.testing import EstimatedVocabulary
from deepseek_sdk.testing.own_judge import OwnJudge
from deepseek_sdk.testing.recipe_judge import RecipeJudge
from deepseek_sdk.testing.refusals import Refusal
from tests.live_counts import LIVE_COUNTS

if TYPE_CHECKING:
    from deepseek_sdk.testing import Vocabulary
    from deepseek_sdk.testing.job import Judge, Verdict
    from tests.testing.conftest import Serve

U = {"role": "user", "content": "Hello"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALL2 = {**CALL, "id": "call_2"}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
OFF = {"type": "disabled"}
IMAGE = {
    "role": "user",
    "content": [
        {"type": "text", "text": "x"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ],
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def tool(name: str = "f", **fields: Any) -> dict[str, Any]:
    """Define a tool."""
    return {"type": "function", "function": {"name": name, "parameters": SCHEMA, **fields}}


def turn(**fields: Any) -> dict[str, Any]:
    """Make an assistant message."""
    return {"role": "assistant", "content": "", **fields}


MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
INSUFFICIENT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)"
)
ORPHAN = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
NEITHER = "Invalid assistant message: content or tool_calls must be set"
UNKNOWN = "The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed {}."
SHAPE = "Failed to deserialize the JSON body into the target type: "
ROLES = "expected one of `system`, `user`, `assistant`, `tool`, `latest_reminder`"
TOKENS = "Invalid max_tokens value, the valid range of max_tokens is [1, 393216]"
FORCED = "Thinking mode does not support this tool_choice"
JSON_WORD = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
MANY_TOOLS = "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 129 instead."
LONG_NAME = "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64."
BETA = "The prefix field is a beta feature: use base_url https://api.deepseek.com/beta"
MISPLACED = (
    "Invalid completion message: prefix set true with message which is not final message "
    "or message role is not assistant"
)
NAMED = {"type": "function", "function": {"name": "f"}}
JSON_SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
FLAT = {"id": "c", "name": "f", "arguments": "{}"}


def strict(**changes: Any) -> dict[str, Any]:
    """Define a strict tool whose schema differs from a right one."""
    return tool("f", strict=True, parameters={**SCHEMA, **changes})


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "retired name": ({"model": "deepseek-chat"}, UNKNOWN.format("deepseek-chat")),
    "other retired name": ({"model": "deepseek-reasoner"}, UNKNOWN.format("deepseek-reasoner")),
    "reseller's name": ({"model": "deepseek-v4.1-flash"}, UNKNOWN.format("deepseek-v4.1-flash")),
    "no messages": ({"messages": []}, "Empty input messages"),
    "max_tokens above": ({"max_tokens": 393_217}, TOKENS),
    "max_tokens below": ({"max_tokens": 0}, TOKENS),
    "temperature": ({"temperature": 2.5}, "Invalid temperature value, the valid range of temperature is [0, 2]"),
    "top_p": ({"top_p": 0}, "Invalid top_p value, the valid range of top_p is (0, 1.0]"),
    "stops": ({"stop": ["x"] * 17}, "Stop string array too long: 17"),
    "n": ({"n": 2}, "Invalid n value (currently only n = 1 is supported)"),
    "json_schema": ({"response_format": JSON_SCHEMA}, "This response_format type is unavailable now"),
    "json without the word": ({"response_format": {"type": "json_object"}}, JSON_WORD),
    "stream_options": (
        {"stream_options": {"include_usage": True}},
        "stream_options should be set along with stream = true",
    ),
    "required tool while thinking": ({"tools": [tool()], "tool_choice": "required"}, FORCED),
    "named tool while thinking": ({"tools": [tool()], "tool_choice": NAMED}, FORCED),
    "missing reasoning": ({"tools": [tool()], "messages": [U, turn(tool_calls=[CALL]), RESULT]}, MISSING),
    "missing reasoning of a plain turn": ({"tools": [tool()], "messages": [U, turn(content="x"), U]}, MISSING),
    "result missing": (
        {"messages": [U, turn(tool_calls=[CALL, CALL2], reasoning_content="r"), RESULT, U]},
        INSUFFICIENT,
    ),
    "result without call": ({"messages": [U, RESULT]}, ORPHAN),
    "neither content nor calls": ({"messages": [U, {"role": "assistant", "content": None}, U]}, NEITHER),
    "user_id too long": ({"user_id": "x" * 513}, "Invalid user_id: it may take no more than 512 bytes"),
    "129 tools": ({"tools": [tool(f"f{index}") for index in range(129)]}, MANY_TOOLS),
    "long tool name": ({"tools": [tool("f" * 65)]}, LONG_NAME),
    "prefix on a plain path": ({"messages": [U, turn(content="x", prefix=True)]}, BETA),
}
MISSHAPEN: dict[str, tuple[dict[str, Any], str]] = {
    "developer": (
        {"messages": [{"role": "developer", "content": "x"}, U]},
        f"messages[0].role: unknown variant `developer`, {ROLES}",
    ),
    "image on pro": (
        {"model": "deepseek-v4-pro", "messages": [U, IMAGE]},
        "messages[1]: unknown variant `image_url`, expected `text`",
    ),
    "flat tool call": ({"messages": [U, turn(tool_calls=[FLAT])]}, "missing field `type`"),
    "tool type": ({"tools": [{"type": "namespace"}]}, "unknown variant `namespace`, expected `function`"),
    "messages that are none": ({"messages": "x"}, "invalid type"),
    "user_id that is none": ({"user_id": 5}, "user_id: invalid type: int, expected a string"),
}
BETA_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "prefix with tools": (
        {"tools": [tool()], "messages": [U, turn(content="x", prefix=True)], "thinking": OFF},
        "Function call should not be used with prefix",
    ),
    "misplaced prefix": ({"messages": [turn(content="x", prefix=True), U]}, MISPLACED),
    "mixed strict": (
        {"tools": [strict(), tool("g")]},
        "Strict mode needs `strict: true` on every function of the request",
    ),
    "open object": (
        {"tools": [strict(additionalProperties=True)]},
        "Invalid schema for function 'f': parameters: 'additionalProperties' must be false",
    ),
    "optional property": (
        {"tools": [strict(required=[])]},
        "Invalid schema for function 'f': parameters: every property must be in 'required', 'a' is not",
    ),
    "min length": (
        {"tools": [strict(properties={"a": {"type": "string", "minLength": 1}})]},
        "Invalid schema for function 'f': parameters.a: 'minLength' is not supported",
    ),
    "format": (
        {"tools": [strict(properties={"a": {"type": "string", "format": "date"}})]},
        "Invalid schema for function 'f': parameters.a: format 'date' is not supported",
    ),
    "type": (
        {"tools": [strict(properties={"a": {"anyOf": [{"type": "tuple"}]}})]},
        "Invalid schema for function 'f': parameters.a.anyOf[0]: type 'tuple' is not supported",
    ),
}


@pytest.fixture(params=["recipe", "own"])
def judge(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Judge:
    """Run the test with both validators."""
    if request.param == "own":
        return OwnJudge(EstimatedVocabulary(), reasoning_rule="every", context_tokens=1000)
    return RecipeJudge(vocabulary, reasoning_rule="every", context_tokens=1000)


def judged(judge: Judge, *, is_beta: bool = False, **fields: Any) -> Verdict:
    """Have a request judged."""
    body = {"model": "deepseek-flash", "messages": [U], **fields}
    return judge.judge(body, json.dumps(body).encode(), is_beta=is_beta)


@pytest.mark.parametrize(("fields", "message"), CASES.values(), ids=CASES)
def test_refusals(judge: Judge, fields: dict[str, Any], message: str) -> None:
    """The text is that of the live API, in the body that it uses for a 400."""
    with pytest.raises(Refusal) as caught:
        judged(judge, **fields)
    error = caught.value.body["error"]

    assert message == error["message"]
    assert (400, "invalid_request_error", None) == (caught.value.status, error["type"], error["param"])


@pytest.mark.parametrize(("fields", "detail"), MISSHAPEN.values(), ids=MISSHAPEN)
def test_refusals_of_the_wrong_shape(judge: Judge, fields: dict[str, Any], detail: str) -> None:
    """What is no request says where, as the live API's parser does."""
    with pytest.raises(Refusal) as caught:
        judged(judge, **fields)
    message = caught.value.body["error"]["message"]

    assert message.startswith(SHAPE)
    assert detail in message
    assert re.search(r" at line 1 column \d+$", message)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": "many"},
        {"max_tokens": True},
        {"temperature": "hot"},
        {"thinking": "yes"},
        {"stream": "x"},
        {"tools": "x"},
        {"messages": [{"content": "x"}]},
        {"messages": ["x"]},
        {"messages": [{"role": "tool", "content": "x"}]},
    ],
)
def test_fields_of_the_wrong_kind(judge: Judge, fields: dict[str, Any]) -> None:
    """A field whose JSON is of another kind than expected is refused."""
    with pytest.raises(Refusal, match="Failed to deserialize the JSON body into the target type"):
        judged(judge, **fields)


def test_the_last_turn_must_have_its_results(judge: Judge) -> None:
    """Calls without results at the end are refused too, and a result comes only once."""
    call = turn(tool_calls=[CALL], reasoning_content="r")
    with pytest.raises(Refusal, match="insufficient tool messages"):
        judged(judge, messages=[U, call])
    with pytest.raises(Refusal, match="must be a response to a preceding message"):
        judged(judge, messages=[U, call, RESULT, U, RESULT])


@pytest.mark.parametrize(("fields", "message"), BETA_CASES.values(), ids=BETA_CASES)
def test_refusals_of_the_beta_paths(judge: Judge, fields: dict[str, Any], message: str) -> None:
    """Strict tools are checked on the beta paths, where a prefix must be the last message."""
    with pytest.raises(Refusal) as caught:
        judged(judge, is_beta=True, **fields)

    assert message == caught.value.body["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [tool("f", strict=True, parameters={"type": "object", "properties": {}}), tool("g")]},
        {"tools": [tool()], "messages": [U, turn(tool_calls=[CALL], reasoning_content=""), RESULT]},
        {"tools": [tool()], "messages": [U, turn(content="x"), U], "thinking": OFF},
        {"messages": [U, turn(content="x"), U]},
        {"messages": [IMAGE]},
        {"tools": [tool()], "tool_choice": "required", "thinking": OFF},
        {"reasoning_effort": "none"},
        {"foo": 1, "seed": 1, "presence_penalty": 1, "user_id": "alice"},
        {"messages": [{"role": "system", "content": "Say json"}, U], "response_format": {"type": "json_object"}},
        {
            "messages": [
                U,
                turn(tool_calls=[CALL, CALL2], reasoning_content="r"),
                RESULT,
                {**RESULT, "tool_call_id": "call_2"},
            ]
        },
    ],
)
def test_what_is_fine(judge: Judge, fields: dict[str, Any]) -> None:
    """What the live API takes is taken; on the plain paths strict tools are not looked at."""
    assert judged(judge, **fields).ids


def test_context_overflow(judge: Judge) -> None:
    """Prompt and completion together must fit the window, and the text says what was asked for."""
    with pytest.raises(Refusal, match=r"maximum context length is 1000 tokens\. However, you requested") as caught:
        judged(judge, max_tokens=990)

    assert "(990 in the completion)" not in caught.value.body["error"]["message"]
    assert "990 in the completion" in caught.value.body["error"]["message"]
    with pytest.raises(Refusal, match="maximum context length"):
        judged(judge, messages=[{"role": "user", "content": "word " * 2000}])


@pytest.mark.parametrize(
    ("fields", "thinking", "tokens", "starts_in"),
    [
        ({"thinking": OFF}, False, 8192, "content"),
        ({}, True, 65_536, "reasoning"),
        ({"reasoning_effort": "max"}, True, 131_072, "reasoning"),
        ({"max_tokens": 7}, True, 7, "reasoning"),
        ({"messages": [U, turn(content="x", prefix=True)]}, True, 65_536, "content"),
        ({"messages": [U, turn(reasoning_content="x", prefix=True)]}, True, 65_536, "reasoning"),
    ],
)
def test_defaults(
    vocabulary: Vocabulary, fields: dict[str, Any], *, thinking: bool, tokens: int, starts_in: str
) -> None:
    """Thinking is on, and the default of `max_tokens` depends on it; a prefix may have ended the thought."""
    for kind in (RecipeJudge, OwnJudge):
        verdict = judged(kind(vocabulary, reasoning_rule="every", context_tokens=1_048_576), is_beta=True, **fields)

        assert (thinking, tokens, starts_in) == (verdict.thinking, verdict.max_tokens, verdict.answer_starts_in)


@pytest.mark.parametrize(
    ("rule", "refused"),
    [("every", ["absent", "plain"]), ("tool_calls", ["absent"]), ("non_empty", ["absent", "plain", "empty"])],
)
def test_reasoning_rules(vocabulary: Vocabulary, rule: str, refused: list[str]) -> None:
    """How strict the server is about missing reasoning can be chosen."""
    histories = {
        "absent": [U, turn(tool_calls=[CALL]), RESULT],
        "plain": [U, turn(content="x"), U],
        "empty": [U, turn(content="x", reasoning_content=""), U],
    }
    judge = RecipeJudge(vocabulary, reasoning_rule=rule, context_tokens=1000)
    found = []
    for name, messages in histories.items():
        try:
            judged(judge, tools=[tool()], messages=messages)
        except Refusal:
            found.append(name)

    assert refused == found


@pytest.mark.parametrize(("content", "count"), LIVE_COUNTS)
def test_counts_of_the_live_api(serve: Serve, content: str, count: int) -> None:
    """Prompts count what the live API counts."""
    answer = serve().ask(content, extra_body={"thinking": OFF}, max_tokens=1)

    assert count == answer.usage.prompt_tokens


def test_historical_reasoning_costs_nothing_without_tools(vocabulary: Vocabulary) -> None:
    """Without tools old thoughts are dropped from the prompt, with tools they stay."""
    judge = RecipeJudge(vocabulary, reasoning_rule="every", context_tokens=100_000)

    def count(thought: str, **fields: Any) -> int:
        return len(judged(judge, messages=[U, turn(content="x", reasoning_content=thought), U], **fields).ids)

    assert count("") == count("word " * 1024)
    assert count("", tools=[tool()]) + 1024 <= count("word " * 1024, tools=[tool()])


def test_a_tool_costs_what_the_live_api_says(vocabulary: Vocabulary) -> None:
    """The tools block is only rendered where tools may be chosen, and costs about 265 tokens for a small one."""
    judge = RecipeJudge(vocabulary, reasoning_rule="every", context_tokens=100_000)
    without = len(judged(judge, tools=[tool()], tool_choice="none").ids)

    assert 200 < len(judged(judge, tools=[tool()]).ids) - without < 330


@pytest.mark.parametrize("kind", [RecipeJudge, OwnJudge])
def test_a_next_turn_begins_with_the_last(vocabulary: Vocabulary, kind: Any) -> None:
    """What is persisted at the end of an output is what the next prompt begins with."""
    judge = kind(vocabulary, reasoning_rule="every", context_tokens=100_000)
    answers: tuple[dict[str, Any], ...] = (
        turn(content="Fine."),
        turn(content="Fine.", reasoning_content="Hm."),
        turn(content=None, reasoning_content="Hm.", tool_calls=[CALL]),
    )
    modes: tuple[dict[str, Any], ...] = ({"thinking": OFF}, {"tools": [tool()]}, {"tools": [tool()]})
    for answer, fields in zip(answers, modes, strict=True):
        body = {"model": "deepseek-flash", "messages": [U], **fields}
        follow = RESULT if answer.get("tool_calls") else U
        persisted = judge.ids_with_answer(body, answer)
        later = judged(judge, messages=[U, answer, follow], **fields).ids

        assert list(persisted) == list(later)[: len(persisted)]
        assert len(persisted) > len(judged(judge, **fields).ids) - 1


def test_the_own_validator_serves_where_the_recipe_does_not(serve: Serve) -> None:
    """Without the recipe and the vocabulary the emulator runs on estimates."""
    server = serve(validator="own", vocabulary=EstimatedVocabulary(), cache_delay_s=0)
    answers = [server.ask("word " * 300, tools=[tool()]) for _ in range(2)]

    assert "You said: word" in answers[0].choices[0].message.content
    assert 128 < answers[1].usage.prompt_cache_hit_tokens < answers[1].usage.prompt_tokens
    assert (400, UNKNOWN.format("x")) == server.refusal(model="x")


PARSE = "Failed to parse the request body as JSON: "


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{bad", f"{PARSE}Expecting property name enclosed in double quotes at line 1 column 2"),
        (b"", f"{PARSE}Expecting value at line 1 column 1"),
        (b"\xff", f"{PARSE}invalid unicode code point at line 1 column 1"),
        (b"[]", f"{SHAPE}invalid type: list, expected an object at line 1 column 2"),
        (b"{}", f"{SHAPE}missing field `messages` at line 1 column 2"),
    ],
)
def test_bodies_that_are_no_request(serve: Serve, raw: bytes, message: str) -> None:
    """What is no JSON, or no object, is refused with a place."""
    exchange = serve().exchange(raw)

    assert (400, message) == (exchange.status, json.loads(exchange.body)["error"]["message"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"model": "deepseek-v4-pro"}, "missing field `prompt`"),
        ({"model": "x", "prompt": "x"}, UNKNOWN.format("x")),
        ({"model": "deepseek-v4-pro", "prompt": 5}, "prompt: invalid type: int, expected a string"),
        ({"model": "deepseek-v4-pro", "prompt": "x", "max_tokens": 4097}, "the valid range of max_tokens is [1, 4096]"),
        ({"model": "deepseek-v4-pro", "prompt": "x", "logprobs": 21}, "the valid range of logprobs is [0, 20]"),
        ({"model": "deepseek-v4-pro", "prompt": "x", "stop": ["x"] * 17}, "Stop string array too long: 17"),
        ({"model": "deepseek-v4-pro", "prompt": "x", "stream_options": {}}, None),
        (
            {"model": "deepseek-v4-pro", "prompt": "x", "stream_options": {"include_usage": True}},
            "stream_options should",
        ),
    ],
)
def test_refusals_of_fill_in_the_middle(serve: Serve, body: dict[str, Any], message: str | None) -> None:
    """Its limits are its own."""
    exchange = serve().exchange(body, path="/beta/completions")

    assert (200 if message is None else 400) == exchange.status
    assert message is None or message in json.loads(exchange.body)["error"]["message"]
