from __future__ import annotations

import asyncio
import json
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Route, report
from deepseek_sdk._call import CallOptions
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk.errors import ImagesUnsupportedError, ReasoningMissingError, UnknownModelError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.stages import Routes
from deepseek_sdk.stages.dialect import Dialect
from deepseek_sdk.testing import Reply, ToolCall
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from tests.dialect.cases import JSON_SCHEMA, OFF, ON, PICTURE, PREFIX, PRO, TOOLS, USER, answered, asked
from tests.raw_server import RawServer, completion, refusal, whole

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator

SERVICE = Account("https://api.deepseek.com", "deepseek-flash", "")
GATEWAY = Account("https://gateway.example/v1", "deepseek-flash", "")


def sent(body: dict[str, Any], account: Account = SERVICE, *, stage: Dialect | None = None, **changes: Any) -> Any:
    """Pass a request through the stage, and give the call that came out."""
    backend = ScriptedBackend(said("Hi"))
    call = make_call(body=body, **{"upstream": SimpleNamespace(account=account, route=None), **changes})
    finish(compose([stage or Dialect()], backend)(call))
    return backend.calls[0]


def test_a_request_in_order_passes_as_it_is() -> None:
    """A call that nothing is wrong with is the same call behind the stage, with the same body."""
    body = asked(USER, temperature=1, max_tokens=100)
    call = sent(body)

    assert call.body is body
    assert [] == call.record.repairs


def test_a_repair_is_a_line_of_the_report() -> None:
    """A mended call has a body of its own, and a line says what was wrong, where, and what was done."""
    body = asked(USER, answered(content=None), USER)
    call = sent(body)

    assert "" == call.body["messages"][1]["content"]
    assert body["messages"][1]["content"] is None
    assert [
        'empty_assistant: messages[1] has neither content nor tool_calls; content "" is sent'
    ] == call.record.repairs


def test_the_same_repair_is_told_once() -> None:
    """A call that passes again, with another question or for another route, does not tell the same twice."""
    record = Record(started=0.0)
    for _ in range(2):
        sent(asked(USER, top_p=0), record=record)

    assert 1 == len(record.repairs)


def test_off_sends_anything() -> None:
    """With lint off the server sees what the caller wrote."""
    body = asked(model="deepseek-chat", n=2)

    assert sent(body, options=CallOptions(lint="off")).body is body


def test_strict_changes_nothing() -> None:
    """Strict leaves alone what the service takes, though it may go badly."""
    body = asked(reasoning_effort="none")
    call = sent(body, options=CallOptions(lint="strict"))

    assert call.body is body
    assert [] == call.record.repairs


def test_strict_names_everything() -> None:
    """The first finding is the error, and its message names all of them."""
    body = asked(USER, model="deepseek-chat", top_p=0)
    with pytest.raises(UnknownModelError, match=r"retired.*top_p must be above 0") as caught:
        sent(body, options=CallOptions(lint="strict"))

    assert "deepseek-chat" == caught.value.model
    assert ("deepseek-flash", "deepseek-v4-pro") == caught.value.supported


@pytest.mark.parametrize(("name", "mode"), [("deepseek-chat", "disabled"), ("deepseek-reasoner", "enabled")])
def test_retired_names_keep_their_mode(name: str, mode: str, driver: Driver, emulator: StartEmulator) -> None:
    """A name that is gone becomes the one that is served, in the mode that it stood for; the caller is warned."""
    server = emulator()
    client = driver.client(base_url=server.url, stages=[Dialect()])
    with pytest.warns(DeprecationWarning, match=f"model {name} was retired") as warned:
        driver.create(client, model=name)

    assert ("deepseek-flash", {"type": mode}) == (server.requests[0].body["model"], server.requests[0].body["thinking"])
    assert not warned[0].filename.startswith(str(Dialect.__module__))
    assert "/deepseek_sdk/" not in warned[0].filename


def test_a_mode_that_was_chosen_stays() -> None:
    """Who asks a retired model with a mode of his own keeps it."""
    with warnings.catch_warnings(action="ignore"):
        call = sent(asked(model="deepseek-chat", **ON))

    assert {"type": "enabled"} == call.body["thinking"]


def test_a_retired_name_at_another_server_stays() -> None:
    """A gateway may well serve a model under a name that DeepSeek has retired."""
    body = asked(model="deepseek-chat")

    assert sent(body, Account("https://gateway.example/v1", "deepseek-chat", "")).body is body


@pytest.mark.parametrize(
    ("model", "account"),
    [
        ("gpt-5", Account("https://gateway.example/v1", "gpt-5", "")),
        ("deepseek-ai/DeepSeek-V3.2", Account("http://10.0.0.5:8000/v1", "deepseek-ai/DeepSeek-V3.2", "")),
        ("deepseek-r1-distill-qwen-32b", Account("http://10.0.0.5:8000/v1", "", "")),
    ],
)
def test_other_servers_are_left_alone(model: str, account: Account) -> None:
    """What is neither DeepSeek's host nor its model is asked as the caller wrote it."""
    body = asked(model=model, n=2, response_format=JSON_SCHEMA)

    assert sent(body, account).body is body


def test_a_last_resort_is_left_alone() -> None:
    """A rule engine has no account, and reads what the caller wrote."""
    body = asked(n=2)
    target = SimpleNamespace(account=None, route=None, is_in_process=True, backend=object())

    assert sent(body, upstream=target).body is body


def test_a_backend_says_its_dialect() -> None:
    """A backend of this process is asked in the dialect that it names."""
    target = SimpleNamespace(account=None, route=None, is_in_process=True, backend=SimpleNamespace(dialect="vllm"))

    assert {"thinking": False, "enable_thinking": False} == sent(asked(**OFF), upstream=target).body[
        "chat_template_kwargs"
    ]


def test_images_may_be_left_out() -> None:
    """For a model that reads none, images are an error, unless the stage is told to leave them out."""
    body = asked({"role": "user", "content": [{"type": "text", "text": "这是什么？"}, PICTURE]}, USER, **PRO)
    with pytest.raises(ImagesUnsupportedError) as caught:
        sent(body)
    call = sent(body, stage=Dialect(images="placeholder"))

    assert 0 == caught.value.index
    assert "这是什么？\n\n[An image was left out: this model reads none.]" == call.body["messages"][0]["content"]
    assert call.body["messages"][1] is USER


def test_missing_reasoning_may_be_filled() -> None:
    """Placeholders differ from turn to turn, and are the same every time; or the error is raised."""
    body = asked(USER, answered(), USER, answered(), USER, **TOOLS)
    filled = sent(body, stage=Dialect(on_missing_reasoning="placeholder")).body
    first, second = (filled["messages"][index]["reasoning_content"] for index in (1, 3))
    with pytest.raises(ReasoningMissingError) as caught:
        sent(body, stage=Dialect(on_missing_reasoning="error"))

    assert first != second
    assert filled == sent(body, stage=Dialect(on_missing_reasoning="placeholder")).body
    assert "thinking" not in filled
    assert 1 == caught.value.index


def test_missing_reasoning_switches_thinking_off() -> None:
    """By default a history without its reasoning is answered without thinking."""
    body = asked(USER, answered(), USER, **TOOLS, reasoning_effort="max")

    assert {**asked(USER, answered(), USER, **TOOLS), **OFF} == sent(body).body


def test_a_schema_is_asked_for_by_a_strict_tool(driver: Driver, emulator: StartEmulator) -> None:
    """Without thinking the service holds the model to a schema by a strict tool; the caller gets content."""
    server = emulator(replies=Reply(tool_calls=[ToolCall("answer", {"城市": "北京"})]))
    client = driver.client(base_url=server.url, stages=[Dialect()])
    answer = driver.create(client, response_format=JSON_SCHEMA, extra_body=OFF)

    assert "/beta/chat/completions" == server.requests[0].path
    assert {"城市": "北京"} == json.loads(answer.choices[0].message.content)
    assert ("stop", None) == (answer.choices[0].finish_reason, answer.choices[0].message.tool_calls)
    assert "strict tool" in report(answer).repairs[0]


def test_a_strict_tool_that_is_refused(driver: Driver) -> None:
    """A schema that strict mode does not take after all is asked for in words, and the report says so."""
    with RawServer(refusal(400, "Invalid schema"), whole(completion('{"城市": "北京"}'))) as server:
        client = driver.client(base_url=server.url, stages=[Dialect()])
        answer = driver.create(client, response_format=JSON_SCHEMA, extra_body=OFF)

    assert {"城市": "北京"} == json.loads(answer.choices[0].message.content)
    assert ["/beta/chat/completions", "/chat/completions"] == [request.target for request in server.requests]
    assert "the strict tool was refused" in report(answer).repairs[1]


def test_a_schema_is_an_instruction_while_the_model_thinks() -> None:
    """With thinking the schema stands in the system message, and JSON is asked for."""
    call = sent(asked({"role": "system", "content": "短"}, USER, response_format=JSON_SCHEMA))
    told = call.body["messages"][0]["content"]

    assert {"type": "json_object"} == call.body["response_format"]
    assert told.startswith("短\n\n## Response Format:\n\n")
    assert "城市" in told
    assert call.body["messages"][1] is USER


def test_a_gateway_gets_no_strict_tool() -> None:
    """Elsewhere than at DeepSeek's hosts strict tools do nothing, so the schema is an instruction."""
    call = sent(asked(response_format=JSON_SCHEMA, **OFF), GATEWAY, is_stream=False)

    assert {"type": "json_object"} == call.body["response_format"]
    assert "tools" not in call.body


def test_each_route_is_asked_in_its_own_way(driver: Driver, emulator: StartEmulator) -> None:
    """What DeepSeek gets as JSON with an instruction, the route after it gets as the caller wrote it."""
    down, spare = emulator(fault_rate=1, fault_mix=["status_503"]), emulator(replies="{}")
    engine = Route("deepseek-flash", name="engine", base_url=f"{spare.url}/v1", api_key="any", dialect="openai")
    client = driver.client(base_url=down.url, routes=["deepseek-flash", engine], stages=[Routes(), Dialect()])
    with pytest.raises(Exception, match="response_format type is unavailable"):
        driver.create(client, response_format=JSON_SCHEMA, extra_body=ON)

    assert "json_object" == down.requests[0].body["response_format"]["type"]
    assert "json_schema" == spare.requests[0].body["response_format"]["type"]


def test_vllm_is_told_its_own_way() -> None:
    """DeepSeek's fields become those of vLLM's protocol, also where lint is strict."""
    body = asked(USER, PREFIX, model="v3", **OFF, user_id="u", reasoning_effort="max", response_format=JSON_SCHEMA)
    target = SimpleNamespace(account=GATEWAY, route=Route("v3", dialect="vllm"))
    for lint in ("repair", "strict"):
        call = sent(body, upstream=target, options=CallOptions(lint=lint))

        assert {
            "model": "v3",
            "messages": [USER, {"role": "assistant", "content": "Once"}],
            "response_format": JSON_SCHEMA,
            "reasoning_effort": "high",
            "chat_template_kwargs": {"thinking": False, "enable_thinking": False},
            "continue_final_message": True,
            "add_generation_prompt": False,
        } == call.body
        assert 4 == len(call.record.repairs)


def test_fill_in_the_middle_is_mended_too(driver: Driver, emulator: StartEmulator) -> None:
    """Completions have rules of their own: another limit, and no thinking."""
    server = emulator()
    client = driver.client(base_url=server.url, stages=[Dialect()])
    with pytest.warns(DeprecationWarning, match="deepseek-chat"):
        driver.call(
            client.completions.create, model="deepseek-chat", prompt="白日", suffix="尽", max_tokens=8192, logprobs=30
        )

    body = server.requests[0].body
    assert ("deepseek-flash", 4096, 20) == (body["model"], body["max_tokens"], body["logprobs"])
    assert "thinking" not in body


def test_threads_share_the_stage(driver: Driver, emulator: StartEmulator) -> None:
    """The stage keeps nothing: calls at the same time are mended each for itself."""
    server = emulator()
    client = driver.client(base_url=server.url, stages=[Dialect()])
    names = [f"{'用' * 171}{number}" for number in range(8)]
    driver.together(
        *[lambda name=name: client.chat.completions.create(**asked(), extra_body={"user_id": name}) for name in names]
    )

    assert 8 == len({request.body["user_id"] for request in server.requests})


def test_a_cancellation_passes() -> None:
    """A call that is cancelled behind the stage is cancelled, no more."""

    async def forever(call: Any) -> Any:
        del call
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(compose([Dialect()], forever)(make_call(body=asked(top_p=0))))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
