"""Structured output from the caller's side: `parse()`, JSON mode and strict tools, against the emulator."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Any

import openai
import pydantic
import pytest

from deepseek_sdk import Deadlines, RetryPolicy, Route, report
from deepseek_sdk.errors import EmptyAnswerError, OutputInvalidError, ReasoningBudgetExhausted
from deepseek_sdk.testing import Emulator, Reply, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.testing import RecordedRequest
    from tests.conftest import Driver, StartEmulator

OFF: dict[str, Any] = {"extra_body": {"thinking": {"type": "disabled"}}}
ON: dict[str, Any] = {"extra_body": {"thinking": {"type": "enabled"}}}
JSON: dict[str, Any] = {"response_format": {"type": "json_object"}}
PROMPT = "Say it as JSON."


class Weekday(enum.Enum):
    """A day."""

    TUESDAY = "Tuesday"
    FRIDAY = "Friday"


class Step(pydantic.BaseModel):
    """A part."""

    what: str
    minutes: int


class Meeting(pydantic.BaseModel):
    """Nested, with a choice, a list and what may be missing."""

    topic: str
    weekday: Weekday
    steps: list[Step]
    room: str | None = None


class Folder(pydantic.BaseModel):
    """What holds more of itself."""

    name: str
    folders: list[Folder]


class Invoice(pydantic.BaseModel):
    """Chinese keys and values."""

    payer: str = pydantic.Field(alias="抬头")
    amount: float = pydantic.Field(alias="金额")
    note: str | None = pydantic.Field(alias="备注")


class Even(pydantic.BaseModel):
    """What no schema can say."""

    number: int

    @pydantic.field_validator("number")
    @classmethod
    def _even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("the number must be even")
        return number


MEETING = Meeting(topic="release", weekday=Weekday.TUESDAY, steps=[Step(what="talk", minutes=5)])
GOOD = MEETING.model_dump_json()
BROKEN = '{"topic": "release", "weekday": "Sunday", "steps": [{"what": "talk", "minutes": "many"}], "room": null}'


def say(text: str) -> Callable[[RecordedRequest], Reply]:
    """Say a text as the request wants it: as the arguments of the tool that is forced, or as content."""

    def reply(request: RecordedRequest) -> Reply:
        tools = request.body.get("tools")
        return Reply(tool_calls=[ToolCall(tools[0]["function"]["name"], text)]) if tools else Reply(content=text)

    return reply


def parse(driver: Driver, server: Emulator, wanted: Any = Meeting, *, client: Any = None, **body: Any) -> Any:
    """Ask for an object."""
    client = client or driver.client(base_url=server.url)
    asked = {"model": "deepseek-flash", "messages": [{"role": "user", "content": PROMPT}], **body}
    return driver.call(client.chat.completions.parse, response_format=wanted, **asked)


def repairs(answer: object) -> list[str]:
    """Give what the report says about structured output."""
    return [line for line in report(answer).repairs if line.startswith("structured output: ")]


@pytest.mark.parametrize("thinking", [{}, ON, OFF], ids=["default", "on", "off"])
@pytest.mark.parametrize(
    "wanted",
    [
        MEETING,
        MEETING.model_copy(update={"room": "5"}),
        Folder(name="a", folders=[Folder(name="b", folders=[])]),
        Invoice(抬头="杭州“深度”公司", 金额=12.5, 备注=None),
    ],
    ids=["nested", "optional", "recursive", "Chinese"],
)
def test_parse(driver: Driver, emulator: StartEmulator, wanted: pydantic.BaseModel, thinking: dict[str, Any]) -> None:
    """`parse()` gives the object by one request: of JSON, or where thinking is off of a strict tool, to /beta."""
    server = emulator(replies=[say(wanted.model_dump_json(by_alias=True))])
    answer = parse(driver, server, type(wanted), **thinking)

    assert wanted == answer.choices[0].message.parsed
    is_tool = thinking == OFF
    assert ["/beta/chat/completions" if is_tool else "/chat/completions"] == [each.path for each in server.requests]
    assert (None if is_tool else {"type": "json_object"}) == server.requests[0].body.get("response_format")
    assert "stop" == answer.choices[0].finish_reason
    assert [] == repairs(answer)


@pytest.mark.parametrize("thinking", [ON, OFF], ids=["on", "off"])
def test_an_invalid_answer_is_asked_for_again(
    driver: Driver, emulator: StartEmulator, thinking: dict[str, Any]
) -> None:
    """What does not fit is sent back once, with what is wrong at which place; the usage of both tries adds up."""
    server = emulator(replies=[say(BROKEN), say(GOOD)])
    answer = parse(driver, server, **thinking)

    assert MEETING == answer.choices[0].message.parsed
    *_, wrong, told = server.requests[1].body["messages"]
    assert {"role": "assistant", "content": BROKEN} == wrong
    assert "- weekday: " in told["content"]
    assert "- steps.0.minutes: " in told["content"]
    assert ["structured output: asked again: the answer was invalid"] == repairs(answer)
    assert sum(request.completion_tokens or 0 for request in server.requests) == report(answer).usage.output  # type: ignore[union-attr]
    assert [("failed", "invalid_output"), ("complete", None)] == [
        (attempt.outcome, attempt.reason) for attempt in report(answer).attempts
    ]


@pytest.mark.parametrize(
    "empty", [Reply(reasoning=""), Reply(reasoning="Hm."), "  \n"], ids=["all", "thought", "blank"]
)
def test_an_empty_answer_is_asked_for_again(driver: Driver, emulator: StartEmulator, empty: Any) -> None:
    """An answer without content is asked for once more, in other words, without a wait and without a retry."""
    server = emulator(replies=[empty, GOOD])
    client = driver.client(base_url=server.url, max_retries=0)
    answer = parse(driver, server, client=client)

    assert MEETING == answer.choices[0].message.parsed
    assert "Your last answer was empty. Answer now, with the JSON alone." == server.requests[1].last_user_text
    assert ["structured output: asked again: the answer was empty"] == repairs(answer)


def test_a_cut_answer_is_asked_for_with_more_room(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that was cut at max_tokens is asked for once more with twice as many, and nothing else changed."""
    server = emulator(replies=say(GOOD))
    answer = parse(driver, server, max_tokens=26, **OFF)

    assert MEETING == answer.choices[0].message.parsed
    assert [26, 52] == [request.body["max_tokens"] for request in server.requests]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"]
    assert ["structured output: asked again with more tokens: the answer was cut"] == repairs(answer)


def test_what_is_cut_again_is_openais_error(driver: Driver, emulator: StartEmulator) -> None:
    """After the larger try openai's own error says that the answer was cut."""
    server = emulator(replies=say(GOOD))
    with pytest.raises(openai.LengthFinishReasonError) as caught:
        parse(driver, server, max_tokens=4, **OFF)

    assert openai.LengthFinishReasonError is type(caught.value)
    assert [4, 8] == [request.body["max_tokens"] for request in server.requests]
    assert "length" == caught.value.completion.choices[0].finish_reason


def test_reasoning_that_takes_all_is_told_apart(driver: Driver, emulator: StartEmulator) -> None:
    """Where reasoning takes all of max_tokens, twice, the error says so, and openai's type still catches it."""
    server = emulator(replies=Reply(content=GOOD, reasoning="one two three four " * 20))
    with pytest.raises(openai.LengthFinishReasonError) as caught:
        parse(driver, server, max_tokens=10)

    assert isinstance(caught.value, ReasoningBudgetExhausted)
    assert 2 == len(caught.value.attempts) == len(server.requests)
    assert "" == caught.value.completion.choices[0].message.content


def test_a_cut_answer_may_then_be_invalid(driver: Driver, emulator: StartEmulator) -> None:
    """Each kind of second try is made once, and what the first has changed stays."""
    server = emulator(replies=[say(GOOD), say("{}"), say(GOOD)])
    answer = parse(driver, server, max_tokens=26, **OFF)

    assert MEETING == answer.choices[0].message.parsed
    assert [26, 52, 52] == [request.body["max_tokens"] for request in server.requests]


def test_what_stays_invalid_is_an_error(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that is invalid twice is an error with its kind, its text and its problems; there is no third try."""
    server = emulator(replies=["{}", BROKEN, GOOD])
    with pytest.raises(openai.APIResponseValidationError) as caught:
        parse(driver, server)

    error = caught.value
    assert isinstance(error, OutputInvalidError)
    assert ("invalid", BROKEN, 200) == (error.kind, error.raw, error.status_code)
    assert ["weekday", "steps.0.minutes"] == [problem.partition(":")[0] for problem in error.problems]
    assert 2 == len(report(error).attempts) == len(server.requests)


def test_what_stays_empty_is_an_error(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that is empty twice is told apart from an invalid one."""
    server = emulator(replies=Reply(reasoning=""))
    with pytest.raises(OutputInvalidError) as caught:
        parse(driver, server, client=driver.client(base_url=server.url, max_retries=0))

    assert ("empty", "", 2) == (caught.value.kind, caught.value.raw, len(server.requests))


@pytest.mark.parametrize(
    ("said", "edits"),
    [
        (f"```json\n{GOOD}\n```", "text around the JSON"),
        (f"Here it is: {GOOD} Anything else?", "text around the JSON"),
        (GOOD.replace("]", ",]").replace("}", ",}"), "trailing comma"),
        (GOOD.replace('"topic"', '"topic'), "quotes of a key"),
    ],
    ids=["fence", "around", "comma", "quote"],
)
def test_what_is_plain_is_mended_here(driver: Driver, emulator: StartEmulator, said: str, edits: str) -> None:
    """What has one reading only is read so, without asking again; the content is JSON then, and the report says why."""
    server = emulator(replies=[said])
    answer = parse(driver, server)

    assert MEETING == answer.choices[0].message.parsed
    assert MEETING.model_dump(mode="json") == json.loads(answer.choices[0].message.content)
    assert [f"structured output: mended: {edits}"] == repairs(answer)
    assert 1 == len(server.requests)


def test_the_callers_own_validators_count(driver: Driver, emulator: StartEmulator) -> None:
    """What only the caller's model knows to be wrong is sent back, too."""
    server = emulator(replies=['{"number": 3}', '{"number": 4}'])

    assert Even(number=4) == parse(driver, server, Even).choices[0].message.parsed
    assert "the number must be even" in server.requests[1].last_user_text


def test_what_the_callers_model_takes_is_right(driver: Driver, emulator: StartEmulator) -> None:
    """What pydantic reads is an answer, though the schema is stricter: a number as text, a default left out."""
    server = emulator(replies=['{"topic": "a", "weekday": "Friday", "steps": [{"what": "b", "minutes": "5"}]}'])
    meeting = parse(driver, server).choices[0].message.parsed

    assert (5, None, 1) == (meeting.steps[0].minutes, meeting.room, len(server.requests))


def test_raw_responses(driver: Driver, emulator: StartEmulator) -> None:
    """A raw response is parsed when the caller wants it, from an answer that fits."""
    server = emulator(replies=["{}", GOOD])
    client = driver.client(base_url=server.url)
    raw = driver.call(
        client.chat.completions.with_raw_response.parse,
        model="deepseek-flash",
        messages=[{"role": "user", "content": PROMPT}],
        response_format=Meeting,
    )

    assert MEETING == raw.parse().choices[0].message.parsed
    assert 2 == len(server.requests)


def test_streams_are_parsed_at_their_end(driver: Driver, emulator: StartEmulator) -> None:
    """A stream is shown as it comes; openai parses it at its end."""
    server = emulator(replies=[GOOD])
    client = driver.client(base_url=server.url)
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": PROMPT}]}
    with driver.entered(client.chat.completions.stream(response_format=Meeting, **body)) as stream:
        for _ in driver.iterate(stream):
            pass
        final = driver.call(stream.get_final_completion)

    assert MEETING == final.choices[0].message.parsed


def test_calls_at_once(driver: Driver, emulator: StartEmulator) -> None:
    """Calls at the same time, in threads or tasks, keep their tries apart."""

    def reply(request: Any) -> str:
        messages = request.body["messages"]
        number = next(m["content"] for m in messages if m["role"] == "user").split()[-1]
        return f'{{"number": {number}}}' if len(messages) > 2 else "{}"

    server = emulator(replies=reply)
    client = driver.client(base_url=server.url)

    def ask(number: int) -> Any:
        messages = [{"role": "user", "content": f"As JSON: {number}"}]
        return client.chat.completions.parse(model="deepseek-flash", messages=messages, response_format=Even)

    answers = driver.together(*[lambda number=number: ask(number) for number in range(0, 16, 2)])
    assert [*range(0, 16, 2)] == [answer.choices[0].message.parsed.number for answer in answers]


def test_other_routes_answer(driver: Driver, emulator: StartEmulator) -> None:
    """Both tries go along the routes; what the second route says is judged like what the first says."""
    first, second = emulator(faults=["status_503"] * 9), emulator(replies=["{}", GOOD])
    routes = [Route("deepseek-v4-pro", base_url=second.url, api_key="other")]
    client = driver.client(base_url=first.url, routes=routes, max_retries=0)
    answer = parse(driver, first, client=client)

    assert MEETING == answer.choices[0].message.parsed
    assert (2, 2) == (len(first.requests), len(second.requests))
    assert "deepseek-v4-pro" == report(answer).model


def test_the_deadline_is_for_both_tries(driver: Driver, emulator: StartEmulator) -> None:
    """The total time of a call does not begin anew with the second try."""
    server = emulator(replies=["{}", Reply(content=GOOD, wait_s=30)])
    client = driver.client(base_url=server.url, deadlines=Deadlines(total=1), max_retries=0)
    with pytest.raises(openai.APITimeoutError):
        parse(driver, server, client=client)

    assert 2 == len(server.requests)


def test_the_budget_of_retries_is_left_alone(driver: Driver, emulator: StartEmulator) -> None:
    """Asking again because of what an answer says is no retry: calls that may have none still have it."""
    server = emulator(replies=["{}", GOOD] * 5)
    client = driver.client(base_url=server.url, retry=RetryPolicy(max_retries=0))

    for _ in range(5):
        assert MEETING == parse(driver, server, client=client).choices[0].message.parsed


def test_a_second_try_that_fails(driver: Driver, emulator: StartEmulator) -> None:
    """Where the second try fails altogether, the error is about the answer that came, and says what became of it."""
    server = emulator(replies=["{}"], faults=[None, "status_503"])
    with pytest.raises(OutputInvalidError) as caught:
        parse(driver, server, client=driver.client(base_url=server.url, max_retries=0))

    assert "{}" == caught.value.raw
    assert ["It was asked for once more, and that failed: overloaded"] == caught.value.__notes__
    assert isinstance(caught.value.__cause__, openai.InternalServerError)


def test_a_larger_try_that_fails(driver: Driver, emulator: StartEmulator) -> None:
    """Where the larger try fails altogether, the answer that was cut is what openai judges."""
    server = emulator(replies=say(GOOD), faults=[None, "status_503"])
    with pytest.raises(openai.LengthFinishReasonError) as caught:
        parse(driver, server, client=driver.client(base_url=server.url, max_retries=0), max_tokens=4, **OFF)

    assert "length" == caught.value.completion.choices[0].finish_reason
    assert "structured output: left as it came: truncated" == repairs(caught.value)[-1]


# JSON mode: what works today goes on working.


def test_json_mode_is_asked_again(driver: Driver, emulator: StartEmulator) -> None:
    """In JSON mode what is no JSON is asked for once more."""
    server = emulator(replies=['{"a": ', '{"a": 1}'])
    answer = driver.create(driver.client(base_url=server.url), PROMPT, **JSON)

    assert {"a": 1} == json.loads(answer.choices[0].message.content)
    assert ["structured output: asked again: the answer was invalid"] == repairs(answer)


@pytest.mark.parametrize("faults", [[], [None, "status_503"], [None, "cut_by_eof"]], ids=["again", "refused", "cut"])
def test_json_mode_gives_what_came(driver: Driver, emulator: StartEmulator, faults: list[Any]) -> None:
    """In JSON mode what stays broken, or cannot be asked for again, comes as it is, and the report says so."""
    server = emulator(replies='{"a": ', faults=faults)
    answer = driver.create(driver.client(base_url=server.url, max_retries=0), PROMPT, **JSON)

    assert ('{"a": ', "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)
    assert "structured output: left as it came: invalid" == repairs(answer)[-1]
    assert 2 == len(server.requests)


def test_json_mode_that_stays_empty(driver: Driver, emulator: StartEmulator) -> None:
    """In JSON mode an answer that stays empty is the error that it is without."""
    server = emulator(replies=Reply(reasoning=""))
    with pytest.raises(EmptyAnswerError):
        driver.create(driver.client(base_url=server.url, max_retries=0), PROMPT, **JSON)

    assert 2 == len(server.requests)


def test_json_mode_may_be_cut(driver: Driver, emulator: StartEmulator) -> None:
    """In JSON mode an answer that was cut comes as it is: the caller has set the limit, and sees the reason."""
    server = emulator(replies=GOOD)
    answer = driver.create(driver.client(base_url=server.url), PROMPT, max_tokens=4, **JSON, **OFF)

    assert ("length", 1) == (answer.choices[0].finish_reason, len(server.requests))


def test_json_mode_takes_any_json(driver: Driver, emulator: StartEmulator) -> None:
    """In JSON mode nothing is asked of JSON but that it is."""
    server = emulator(replies=["[1, 2]"])
    answer = driver.create(driver.client(base_url=server.url), PROMPT, **JSON)

    assert "[1, 2]" == answer.choices[0].message.content
    assert [] == repairs(answer)


def test_nothing_is_changed_where_that_is_asked(driver: Driver, emulator: StartEmulator) -> None:
    """With lint="off" an answer comes as the model wrote it."""
    server = emulator(replies=["```json\n{}\n```"])
    client = driver.client(base_url=server.url).with_options(lint="off")

    assert "```json\n{}\n```" == driver.create(client, PROMPT, **JSON).choices[0].message.content


def test_a_schema_without_parse(driver: Driver, emulator: StartEmulator) -> None:
    """`create()` with a schema holds the answer to it; one that says it is not strict comes as it is in the end."""
    schema = {"type": "object", "properties": {"日": {"enum": ["周一", "周二"]}}, "required": ["日"]}
    server = emulator(replies='{"日": "周三"}')
    client = driver.client(base_url=server.url)

    def ask(**said: Any) -> Any:
        described = {"name": "day", "schema": schema, **said}
        return driver.create(client, PROMPT, response_format={"type": "json_schema", "json_schema": described})

    for said in ({}, {"strict": True}):
        with pytest.raises(OutputInvalidError) as caught:
            ask(**said)
        assert ("日: '周三' is not one of ['周一', '周二']",) == caught.value.problems
    assert '{"日": "周三"}' == ask(strict=False).choices[0].message.content
    assert 6 == len(server.requests)


# Tools.


def tool_body(*, strict: bool = True) -> dict[str, Any]:
    """Offer one tool, and want it called."""
    tool = openai.pydantic_function_tool(Step)
    tool["function"]["strict"] = strict
    choice = {"type": "function", "function": {"name": "Step"}}
    return {"tools": [tool], "tool_choice": choice, **OFF}


def called(arguments: str) -> Reply:
    """Call it."""
    return Reply(tool_calls=[ToolCall("Step", arguments)])


def test_a_strict_tool_is_mended(driver: Driver, emulator: StartEmulator) -> None:
    """Arguments that lack the quote of a key, as in DeepSeek-V3 #1069, are read as they were meant."""
    server = emulator(replies=[called('{"what: "talk", "minutes": 5}')])
    answer = driver.call(
        driver.client(base_url=server.url).chat.completions.parse,
        model="deepseek-flash",
        messages=[{"role": "user", "content": PROMPT}],
        **tool_body(),
    )

    assert Step(what="talk", minutes=5) == answer.choices[0].message.tool_calls[0].function.parsed_arguments
    assert ["structured output: mended: quotes of a key"] == repairs(answer)


def test_a_strict_tool_is_asked_again(driver: Driver, emulator: StartEmulator) -> None:
    """Arguments that do not fit are told, without the broken call, which no server would take back."""
    server = emulator(replies=[called('{"what": "talk", "minutes"'), called('{"what": "talk", "minutes": 5}')])
    answer = driver.create(driver.client(base_url=server.url), PROMPT, **tool_body())

    assert '{"what": "talk", "minutes": 5}' == answer.choices[0].message.tool_calls[0].function.arguments
    assert ["user", "user"] == [message["role"] for message in server.requests[1].body["messages"]]
    assert '{"what": "talk", "minutes"' in server.requests[1].last_user_text


def test_a_strict_tool_that_stays_broken(driver: Driver, emulator: StartEmulator) -> None:
    """`parse()` raises an error that keeps the arguments as they came; `create()` gives them."""
    server = emulator(replies=called('{"what": 1'))
    client = driver.client(base_url=server.url)
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": PROMPT}], **tool_body()}
    with pytest.raises(OutputInvalidError) as caught:
        driver.call(client.chat.completions.parse, **body)
    answer = driver.call(client.chat.completions.create, **body)

    assert '{"what": 1' == caught.value.raw == answer.choices[0].message.tool_calls[0].function.arguments
    assert caught.value.problems[0].startswith("Step: ")
    assert "structured output: left as it came: invalid" == repairs(answer)[-1]


def test_a_tool_that_is_not_strict(driver: Driver, emulator: StartEmulator) -> None:
    """Arguments of other tools are mended where that is plain, and never asked for again."""
    server = emulator(replies=[called('{"what: "talk", "minutes": 5,}'), called('{"what": 1'), called('{"no": 1}')])
    client = driver.client(base_url=server.url)
    answers = [driver.create(client, PROMPT, **tool_body(strict=False)) for _ in range(3)]

    arguments = [answer.choices[0].message.tool_calls[0].function.arguments for answer in answers]
    assert ['{"what": "talk", "minutes": 5}', '{"what": 1', '{"no": 1}'] == arguments
    assert [1, 1, 0] == [len(repairs(answer)) for answer in answers]
    assert 3 == len(server.requests)


def test_one_of_several_calls(driver: Driver, emulator: StartEmulator) -> None:
    """Each call is judged by itself: the error names the one that is wrong."""
    calls = [ToolCall("Step", '{"what": "talk", "minutes": 5,}'), ToolCall("Even", '{"number": 3}')]
    server = emulator(replies=[Reply(tool_calls=calls), Reply(tool_calls=calls)])
    tools = [openai.pydantic_function_tool(model) for model in (Step, Even)]
    with pytest.raises(OutputInvalidError) as caught:
        driver.call(
            driver.client(base_url=server.url).chat.completions.parse,
            model="deepseek-flash",
            messages=[{"role": "user", "content": PROMPT}],
            tools=tools,
        )

    assert '{"number": 3}' == caught.value.raw
    assert ("Even: number: Value error, the number must be even",) == caught.value.problems
