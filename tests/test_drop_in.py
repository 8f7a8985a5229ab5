"""
The same calls against `openai` and against this library's clients give equal objects.

Each case is a function of a `Desk`: it makes a call and gives whatever a program could look at.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import openai
import pydantic
import pytest

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Reply, ToolCall
from tests.conftest import Driver
from tests.raw_server import (
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.testing import RecordedRequest

Case: TypeAlias = "Callable[[Desk], Any]"

NO_THINKING = {"thinking": {"type": "disabled"}}
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
STRICT_WEATHER = {"type": "function", "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]
ONE_CALL = Reply(reasoning="I look.", tool_calls=[ToolCall("get_weather", {"city": "杭州"}, id="call_00_a")])
TWO_CALLS = Reply(
    content="Two cities.",
    reasoning="I look twice.",
    tool_calls=[
        ToolCall("get_weather", {"city": "Paris"}, id="call_00_a"),
        ToolCall("get_weather", {"city": "Zürich"}, id="call_01_b"),
    ],
)
SCRIPTED: dict[str, Reply] = {
    "one tool": ONE_CALL,
    "two tools": TWO_CALLS,
    "broken arguments": Reply(reasoning="", tool_calls=[ToolCall("get_weather", '{"city": ', id="call_00_a")]),
    "strict": Reply(reasoning="", tool_calls=[ToolCall("get_weather", {"city": "Rome"}, id="call_00_a")]),
    "emoji": Reply(content='👩‍👩‍👧 🇨🇳 é \u2028 \\ " \t end', reasoning="🤔"),
    "long": Reply(content="word " * 400),
    "filtered": Reply(content="I may not", finish_reason="content_filter"),
    "silent thought": Reply(content="Plain.", reasoning=""),
}


def reply(request: RecordedRequest) -> Reply | None:
    """Answer the same question in the same way, whoever asks."""
    return SCRIPTED.get(request.last_user_text)


class Point(pydantic.BaseModel):
    """What `parse()` is asked for as a tool."""

    x: int
    y: int


@dataclass(frozen=True)
class Desk:
    """
    A client under test and what drives it.

    Attributes:
        driver: The colour.
        client: Of `openai`, or ours.
        beta: The same for calls that DeepSeek serves under /beta: ours finds the way by itself.
        server: Where both are connected to.
        memory: What has come of which case.
    """

    driver: Driver
    client: Any
    beta: Any
    server: Emulator
    memory: dict[Case, Any] = field(default_factory=dict)

    def remembered(self, case: Case) -> Any:
        """Make a call once, and remember what came of it."""
        if case not in self.memory:
            self.memory[case] = shape(case(self))
        return self.memory[case]

    def ask(self, prompt: str = "Hello", **options: Any) -> Any:
        """Make a chat call."""
        return self.driver.create(self.client, prompt, **options)

    def streamed(self, prompt: str = "Hello", **options: Any) -> list[Any]:
        """Make a streamed chat call and take all of it."""
        return list(self.driver.iterate(self.ask(prompt, stream=True, **options)))

    def fim(self, **options: Any) -> Any:
        """Make a call that fills in the middle."""
        body = {"model": "deepseek-v4-pro", "prompt": "def add(a, b):", **options}
        return self.driver.call(self.beta.completions.create, **body)

    @property
    def last_body(self) -> Any:
        """What the server was sent last."""
        return self.server.requests[-1].body


def shape(value: Any) -> Any:
    """Reduce an answer to what must be equal: types by name, fields by value, ids and times left out."""
    if isinstance(value, pydantic.BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return [type(value).__name__, shape({**fields, **(value.model_extra or {})})]
    if isinstance(value, Mapping):
        # The id of an answer is a UUID of its own, that of a tool call was scripted.
        kept = {name: item for name, item in value.items() if name not in {"created", "snapshot"}}
        return {name: shape(item) for name, item in kept.items() if not (name == "id" and is_answer_id(item))}
    if isinstance(value, (list, tuple)):
        return [shape(item) for item in value]
    return value


def is_answer_id(value: object) -> bool:
    """Tell the id of an answer from that of a tool call."""
    return isinstance(value, str) and not value.startswith("call_")


def failure(desk: Desk, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Make a call that the server refuses and give what a handler could look at."""
    with pytest.raises(openai.APIStatusError) as caught:
        desk.driver.call(function, *args, **options)
    error = caught.value
    kind = next(kind for kind in type(error).__mro__ if kind.__module__.startswith("openai"))
    return [kind.__name__, error.status_code, error.body, error.code, error.param, error.type]


def refused(desk: Desk, fault: str, **options: Any) -> Any:
    """Make a chat call that a fault refuses."""
    desk.server.inject(fault)
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}], **options}
    return failure(desk, desk.client.chat.completions.create, **body)


def _plain(desk: Desk) -> Any:
    """Ask for a plain answer, with the thought that is on by default."""
    return desk.ask()


def _not_thinking(desk: Desk) -> Any:
    return desk.ask(extra_body=NO_THINKING)


def _effort(desk: Desk) -> Any:
    return desk.ask(reasoning_effort="low")


def _no_thought(desk: Desk) -> Any:
    return desk.ask("silent thought")


def _chinese(desk: Desk) -> Any:
    return desk.ask("请介绍一下杭州。")


def _emoji(desk: Desk) -> Any:
    return desk.ask("emoji")


def _long_answer(desk: Desk) -> Any:
    return desk.ask("long")


def _system_message(desk: Desk) -> Any:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    return desk.ask(messages=messages)


def _content_parts(desk: Desk) -> Any:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    return desk.ask(messages=[{"role": "user", "content": parts}])


def _history(desk: Desk) -> Any:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    return desk.ask(messages=[*turns, {"role": "user", "content": "And now?"}])


def _sampling(desk: Desk) -> Any:
    """Parameters that the service ignores do not disturb."""
    options: dict[str, Any] = {"temperature": 0.3, "top_p": 0.9, "frequency_penalty": 0.1, "presence_penalty": 0.1}
    return [desk.ask(seed=7, n=1, **options), desk.last_body["seed"], desk.last_body["n"]]


def _user_id(desk: Desk) -> Any:
    return [desk.ask(extra_body={"user_id": "user-42"}), desk.last_body["user_id"]]


def _stopped(desk: Desk) -> Any:
    return desk.ask("one two three four", stop=["three"], extra_body=NO_THINKING)


def _cut_at_length(desk: Desk) -> Any:
    return desk.ask("long", max_tokens=20, extra_body=NO_THINKING)


def _spent_on_thinking(desk: Desk) -> Any:
    return desk.ask("long", max_tokens=3)


def _filtered(desk: Desk) -> Any:
    return desk.ask("filtered")


def _json_mode(desk: Desk) -> Any:
    return desk.ask("Answer in json.", response_format={"type": "json_object"})


def _logprobs(desk: Desk) -> Any:
    return desk.ask("Hi", logprobs=True, top_logprobs=3)


def _logprobs_not_thinking(desk: Desk) -> Any:
    return desk.ask("Hi", logprobs=True, extra_body=NO_THINKING)


def _one_tool(desk: Desk) -> Any:
    return desk.ask("one tool", tools=[WEATHER])


def _parallel_tools(desk: Desk) -> Any:
    return desk.ask("two tools", tools=[WEATHER])


def _broken_arguments(desk: Desk) -> Any:
    return desk.ask("broken arguments", tools=[WEATHER])


def _no_tools(desk: Desk) -> Any:
    return desk.ask(tools=[])


def _tool_choice_none(desk: Desk) -> Any:
    return desk.ask(tools=[WEATHER], tool_choice="none")


def _forced_tool(desk: Desk) -> Any:
    choice = {"type": "function", "function": {"name": "get_weather"}}
    answer = desk.ask("strict", tools=[WEATHER], tool_choice=choice, extra_body=NO_THINKING)
    return answer.choices[0].message


def _round_trip(desk: Desk) -> Any:
    """Send the message of an answer back as it is, reasoning included, with the results of its calls."""
    first = desk.ask("two tools", tools=[WEATHER]).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in first.tool_calls]
    messages = [{"role": "user", "content": "two tools"}, first, *results, {"role": "user", "content": "Thanks"}]
    return [desk.ask(messages=messages, tools=[WEATHER]), desk.last_body["messages"]]


def _round_trip_as_json(desk: Desk) -> Any:
    first = desk.ask("one tool", tools=[WEATHER]).choices[0].message
    kept = json.loads(json.dumps(first.to_dict()))
    result = {"role": "tool", "tool_call_id": "call_00_a", "content": "(no output)"}
    messages = [{"role": "user", "content": "one tool"}, kept, result]
    return [desk.ask(messages=messages, tools=[WEATHER]), desk.last_body["messages"]]


def _streamed(desk: Desk) -> Any:
    return desk.streamed()


def _streamed_not_thinking(desk: Desk) -> Any:
    return desk.streamed("你好，世界 🌏", extra_body=NO_THINKING)


def _streamed_emoji(desk: Desk) -> Any:
    return desk.streamed("emoji")


def _streamed_usage(desk: Desk) -> Any:
    return desk.streamed(stream_options={"include_usage": True})


def _streamed_tools(desk: Desk) -> Any:
    return desk.streamed("two tools", tools=[WEATHER])


def _streamed_logprobs(desk: Desk) -> Any:
    return desk.streamed("Hi", logprobs=True, top_logprobs=2)


def _streamed_to_the_length(desk: Desk) -> Any:
    return desk.streamed("long", max_tokens=20, extra_body=NO_THINKING)


def _streamed_type(desk: Desk) -> Any:
    stream = desk.ask(stream=True)
    return [type(stream).__name__, stream.response.status_code, len(list(desk.driver.iterate(stream)))]


def _streamed_as_context(desk: Desk) -> Any:
    with desk.driver.entered(desk.ask(stream=True)) as stream:
        return list(desk.driver.iterate(stream))


def _prefix(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "You", "prefix": True}]
    return desk.driver.create(desk.beta, messages=messages, stop=["\n"], extra_body=NO_THINKING)


def _strict_tool(desk: Desk) -> Any:
    return desk.driver.create(desk.beta, "strict", tools=[STRICT_WEATHER])


def _fim(desk: Desk) -> Any:
    return desk.fim(suffix="    return c", max_tokens=30)


def _fim_logprobs(desk: Desk) -> Any:
    return desk.fim(logprobs=2)


def _fim_echo(desk: Desk) -> Any:
    return desk.fim(echo=True)


def _fim_streamed(desk: Desk) -> Any:
    return list(desk.driver.iterate(desk.fim(suffix="    return c", stream=True)))


def _parsed(desk: Desk) -> Any:
    tool = openai.pydantic_function_tool(Point)
    desk.server.script(Reply(reasoning="", tool_calls=[ToolCall("Point", {"x": 1, "y": 2}, id="call_00_p")]))
    answer = desk.driver.call(
        desk.beta.chat.completions.parse,
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Where?"}],
        tools=[tool],
    )
    return [answer, answer.choices[0].message.tool_calls[0].function.parsed_arguments]


def _parsed_text(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    return desk.driver.call(desk.client.chat.completions.parse, model="deepseek-flash", messages=messages)


def _helper(desk: Desk) -> Any:
    return _helped(desk, "Hello")


def _helper_with_tools(desk: Desk) -> Any:
    return _helped(desk, "two tools", tools=[WEATHER])


def _helped(desk: Desk, prompt: str, **options: Any) -> Any:
    messages = [{"role": "user", "content": prompt}]
    manager = desk.client.chat.completions.stream(model="deepseek-flash", messages=messages, **options)
    with desk.driver.entered(manager) as stream:
        events = list(desk.driver.iterate(stream))
        return [*events, desk.driver.call(stream.get_final_completion)]


def _raw(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    create = desk.client.chat.completions.with_raw_response.create
    response = desk.driver.call(create, model="deepseek-flash", messages=messages)
    named = [type(response).__name__, response.status_code, response.headers["content-type"].partition(";")[0]]
    return [*named, desk.driver.call(response.parse), response.retries_taken, response.http_version, response.method]


def _raw_streamed(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    create = desk.client.chat.completions.with_raw_response.create
    response = desk.driver.call(create, model="deepseek-flash", messages=messages, stream=True)
    stream = desk.driver.call(response.parse)
    return [type(response).__name__, type(stream).__name__, list(desk.driver.iterate(stream))]


def _streaming_response(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    manager = desk.client.chat.completions.with_streaming_response.create(model="deepseek-flash", messages=messages)
    with desk.driver.entered(manager) as response:
        return [type(response).__name__, response.status_code, desk.driver.call(response.parse)]


def _streaming_response_text(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    manager = desk.client.chat.completions.with_streaming_response.create(model="deepseek-flash", messages=messages)
    with desk.driver.entered(manager) as response:
        return json.loads(desk.driver.call(response.text))


def _streaming_response_lines(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    manager = desk.client.chat.completions.with_streaming_response.create(
        model="deepseek-flash", messages=messages, stream=True
    )
    with desk.driver.entered(manager) as response:
        lines = [line for line in desk.driver.iterate(response.iter_lines()) if line]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]] + lines[-1:]


def _beta_surface(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    return desk.driver.call(desk.client.beta.chat.completions.parse, model="deepseek-flash", messages=messages)


def _posted(desk: Desk) -> Any:
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
    kind = openai.types.chat.ChatCompletion
    return desk.driver.call(desk.client.post, "/chat/completions", cast_to=kind, body=body)


def _posted_as_object(desk: Desk) -> Any:
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
    return desk.driver.call(desk.client.post, "/chat/completions", cast_to=object, body=body)


def _with_options(desk: Desk) -> Any:
    child = desk.client.with_options(timeout=20, max_retries=1, default_headers={"X-Mine": "1"})
    return [desk.driver.create(child), child.timeout, child.max_retries, desk.server.requests[-1].headers["x-mine"]]


def _extras(desk: Desk) -> Any:
    extra_body = {"user_id": "u", **NO_THINKING}
    answer = desk.ask(extra_headers={"X-Mine": "yes"}, extra_query={"a": "b"}, extra_body=extra_body)
    request = desk.server.requests[-1]
    sent = {name: value for name, value in request.body.items() if name not in {"stream", "stream_options"}}
    return [answer, request.headers["x-mine"], request.query, sent]


def _models(desk: Desk) -> Any:
    return [model.id for model in desk.driver.call(desk.client.models.list).data]


def _balance(desk: Desk) -> Any:
    return desk.driver.call(desk.client.get, "/user/balance", cast_to=object)


def _unknown_model(desk: Desk) -> Any:
    messages = [{"role": "user", "content": "Hello"}]
    return failure(desk, desk.client.chat.completions.create, model="deepseek-v0", messages=messages)


def _unknown_path(desk: Desk) -> Any:
    return failure(desk, desk.client.post, "/nowhere", cast_to=object, body={})


def _refused_stream(desk: Desk) -> Any:
    return refused(desk, "status_400", stream=True)


REFUSALS = ("400", "401", "402", "404", "409", "413", "422", "429", "500", "502", "503", "504")
CASES: dict[str, Case] = {
    case.__name__.removeprefix("_"): case
    for case in (
        _plain, _not_thinking, _effort, _no_thought, _chinese, _emoji, _long_answer, _system_message,
        _content_parts, _history, _sampling, _user_id, _stopped, _cut_at_length, _spent_on_thinking,
        _filtered, _json_mode, _logprobs, _logprobs_not_thinking, _one_tool, _parallel_tools,
        _broken_arguments, _no_tools, _tool_choice_none, _forced_tool, _round_trip, _round_trip_as_json,
        _streamed, _streamed_not_thinking, _streamed_emoji, _streamed_usage, _streamed_tools,
        _streamed_logprobs, _streamed_to_the_length, _streamed_type, _streamed_as_context, _prefix,
        _strict_tool, _fim, _fim_logprobs, _fim_echo, _fim_streamed, _parsed, _parsed_text, _helper,
        _helper_with_tools, _raw, _raw_streamed, _streaming_response, _streaming_response_text,
        _streaming_response_lines, _beta_surface, _posted, _posted_as_object, _with_options, _extras, _models,
        _balance, _unknown_model, _unknown_path, _refused_stream,
    )
}  # fmt: skip
CASES |= {f"status_{code}": lambda desk, code=code: refused(desk, f"status_{code}") for code in REFUSALS}  # type: ignore[misc]


@pytest.fixture(scope="module", params=["sync", "async"])
def module_driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """Keep one driver, and so one set of clients, for all cases of a colour."""
    driver = Driver(request.param)
    try:
        yield driver
    finally:
        driver.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    """Keep one server, whose prefix cache never hits, so that the first asker is not told otherwise than the second."""
    with Emulator(replies=reply, cache_delay_s=1e9, vocabulary=EstimatedVocabulary()) as server:
        yield server


@pytest.fixture(scope="module")
def bare(module_driver: Driver, server: Emulator) -> Desk:
    """Sit at `openai`."""
    kind = openai.AsyncOpenAI if module_driver.is_async else openai.OpenAI
    client = kind(base_url=server.url, api_key="test-key", max_retries=0)
    module_driver._clients.append(client)
    return Desk(module_driver, client, client.with_options(base_url=f"{server.url}/beta"), server)


@pytest.fixture(scope="module", params=["auto", "stream", "direct"])
def ours(request: pytest.FixtureRequest, module_driver: Driver, server: Emulator) -> Desk:
    """Sit at our client, reading plain answers in each of the ways."""
    client = module_driver.client(base_url=server.url, max_retries=0, plain=request.param)
    return Desk(module_driver, client, client, server)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_equal_answers(case: Case, bare: Desk, ours: Desk) -> None:
    """Our client gives what `openai` gives: the same types with the same values, or the same refusal."""
    expected = bare.remembered(case)

    assert expected == shape(case(ours))


def test_enough_cases() -> None:
    """At least forty different calls are compared."""
    assert len(CASES) >= 40


@pytest.mark.parametrize(("ours", "theirs"), [(Client, openai.OpenAI), (AsyncClient, openai.AsyncOpenAI)])
@pytest.mark.parametrize("method", ["__init__", "copy", "with_options"])
def test_signatures(ours: type, theirs: type, method: str) -> None:
    """Every keyword that `openai` takes is taken, by its name or by `**`, and none is required."""
    parameters = inspect.signature(getattr(ours, method)).parameters
    has_rest = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    missing = set(inspect.signature(getattr(theirs, method)).parameters) - set(parameters)
    required = [p.name for p in parameters.values() if p.default is p.empty and p.kind is p.KEYWORD_ONLY]

    assert has_rest or not missing
    assert [] == required


@pytest.mark.parametrize(("ours", "theirs"), [(Client, openai.OpenAI), (AsyncClient, openai.AsyncOpenAI)])
def test_subclass(ours: type, theirs: type) -> None:
    """A client is an instance of the class that frameworks ask for."""
    assert issubclass(ours, theirs)
