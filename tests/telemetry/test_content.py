"""What was asked and answered: nowhere by default, redacted where it is wanted."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.telemetry.content import Texts, input_messages, output_messages, tool_definitions
from deepseek_sdk.testing import Reply

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

MARK = "密钥MARKER42"


def everywhere() -> dict[str, Any]:
    """Make a request with the mark in every field that a user fills."""
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": json.dumps({"q": MARK})}}
    return {
        "messages": [
            {"role": "system", "content": f"system {MARK}"},
            {"role": "user", "content": f"question {MARK}"},
            {
                "role": "assistant",
                "content": f"text {MARK}",
                "reasoning_content": f"thought {MARK}",
                "tool_calls": [call],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": f"result {MARK}"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look",
                    "description": MARK,
                    "parameters": {"type": "object", "properties": {"q": {"type": "string", "description": MARK}}},
                },
            }
        ],
        "extra_body": {"user_id": f"user-{MARK}"},
    }


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("fault", [None, "status_400(message='bad 密钥MARKER42')", "cut_by_eof(after_events=4)"])
def test_nothing_leaks(
    driver: Driver,
    emulator: StartEmulator,
    heard: Heard,
    caplog: pytest.LogCaptureFixture,
    *,
    fault: Any,
    is_stream: bool,
) -> None:
    """With content off, nothing that was said, by whom or about what, is told or logged, whatever happens."""
    caplog.set_level(logging.DEBUG, "deepseek_sdk")
    server = emulator(replies=[Reply(content=f"answer {MARK} " * 5, reasoning=f"thought {MARK}")], faults=[fault])
    client = driver.client(
        base_url=server.url, telemetry=heard.telemetry(session_ids="hash"), session_id=MARK, tenant=MARK, max_retries=0
    )
    try:
        ask(driver, client, is_stream=is_stream)
    except openai.APIError:
        assert fault is not None

    assert 1 == len(heard.spans("chat "))
    assert MARK not in heard.everything()
    assert MARK not in caplog.text
    assert {"user.hash", "deepseek_sdk.session.hash", "deepseek_sdk.tenant.hash"} <= heard.chat().keys()


def ask(driver: Driver, client: Any, *, is_stream: bool) -> None:
    """Ask with the mark everywhere, and read all of the answer."""
    answer = driver.call(client.chat.completions.create, model="deepseek-flash", stream=is_stream, **everywhere())
    if is_stream:
        driver.stream_text(answer)


def test_tags_and_sessions_stand_on_spans_alone(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Tags and sessions are told on spans, since that is what they are for, and on no metric."""
    client = driver.client(
        base_url=emulator(replies=["Hi"]).url, telemetry=heard.telemetry(), session_id="s-7", tags={"team": "搜索"}
    )
    driver.create(client)
    told = heard.chat()

    assert ("s-7", "搜索") == (told["session.id"], told["deepseek_sdk.tags.team"])
    metrics = json.dumps({name: metric.to_json() for name, metric in heard.metrics().items()}, ensure_ascii=False)
    assert [] == [text for text in ("s-7", "搜索") if text in metrics]


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_content_on_spans(driver: Driver, emulator: StartEmulator, heard: Heard, *, is_stream: bool) -> None:
    """Where it is asked for, messages stand on spans as JSON, in the shape of the conventions."""
    server = emulator(replies=[Reply(content="答案", reasoning="思考")])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry(content="spans"))
    ask(driver, client, is_stream=is_stream)

    told = heard.chat()
    asked, said = json.loads(told["gen_ai.input.messages"]), json.loads(told["gen_ai.output.messages"])
    assert ["system", "user", "assistant", "tool"] == [message["role"] for message in asked]
    assert {"type": "text", "content": f"question {MARK}"} == asked[1]["parts"][0]
    assert ["reasoning", "text", "tool_call"] == [part["type"] for part in asked[2]["parts"]]
    assert "tool_call_response" == asked[3]["parts"][0]["type"]
    parts = [{"type": "reasoning", "content": "思考"}, {"type": "text", "content": "答案"}]
    assert [{"role": "assistant", "parts": parts, "finish_reason": "stop"}] == said
    assert "look" == json.loads(told["gen_ai.tool.definitions"])[0]["name"]
    assert [] == heard.events()


def test_content_on_events(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """On events the same stands as structures, and on spans nothing."""
    client = driver.client(base_url=emulator(replies=["答案"]).url, telemetry=heard.telemetry(content="events"))
    driver.create(client)

    ((name, told),) = heard.events()
    assert "gen_ai.client.inference.operation.details" == name
    assert "答案" == told["gen_ai.output.messages"][0]["parts"][-1]["content"]
    assert "gen_ai.output.messages" not in heard.chat()


def test_half_an_answer(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """Of a stream that was cut, what had come is told, with "error" as its finish reason."""
    server = emulator(replies=["one two three four five"], faults=["cut_by_eof(after_events=20)", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry(content="both"), max_retries=0)
    with pytest.raises(openai.APIConnectionError):
        driver.stream_text(driver.create(client, stream=True))

    (message,) = json.loads(heard.chat()["gen_ai.output.messages"])
    assert "error" == message["finish_reason"]
    names = [name for name, _ in heard.events()]
    assert ["gen_ai.client.inference.operation.details", "gen_ai.client.inference.exception"] == names
    told = dict(heard.events()[-1][1])
    assert {"exception.type", "exception.message", "exception.stacktrace"} == told.keys()


def test_a_key_in_a_refusal(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A key that a server repeats is not told, also where content is."""
    server = emulator(faults=["status_401(message='no such key: my-own-key-1234')"])
    client = driver.client(base_url=server.url, api_key="my-own-key-1234", telemetry=heard.telemetry(content="both"))
    with pytest.raises(openai.AuthenticationError):
        driver.create(client)

    assert "my-own-key-1234" not in heard.everything()
    assert "no such key" in heard.everything()


def test_redaction_before_the_cut() -> None:
    """A text is redacted first and cut afterwards, so that no half of a secret is left."""
    texts = Texts(lambda text: text.replace("secret-1234", "[gone]"), 8)

    assert "ab [gone… [1 more]" == texts("ab secret-1234")


def test_a_redactor_that_fails() -> None:
    """Where redaction fails nothing of the text is told."""
    texts = Texts(lambda text: text[1000], 100)

    assert "[withheld: redaction failed]" == texts("secret")


@pytest.mark.parametrize("given", [None, 5, 0.5, True, b"secret", ["secret"], {"text": "secret"}])
def test_a_redactor_that_gives_no_string(given: Any) -> None:
    """Where redaction gives anything else than a string, nothing is told, neither the text nor what was given."""
    texts = Texts(lambda _text: given, 100)

    assert "[withheld: redaction failed]" == texts("secret")
    assert {"a": ["[withheld: redaction failed]", 7]} == texts.inside({"a": ["secret", 7]})


def test_a_redactor_that_forgets_to_return(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """On spans the text is withheld, and the call is answered."""
    telemetry = heard.telemetry(content="spans", redact=lambda _text: None)
    driver.create(driver.client(base_url=emulator(replies=["答案"]).url, telemetry=telemetry))

    (message,) = json.loads(heard.chat()["gen_ai.output.messages"])
    assert "[withheld: redaction failed]" == message["parts"][-1]["content"]


def test_half_characters() -> None:
    """Half a character, as JSON may hold it, does not keep a text from being told."""
    assert "a?" == Texts(None, 100)("a\ud83d")


def test_shapes() -> None:
    """Pictures are named and left out, and what has no known shape is told as it is."""
    texts = Texts(None, 100)
    body = {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "看"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                    {"type": "image_url", "image_url": {"url": "http://a.b/c.png"}},
                    {"type": "other", "value": [1, "x"]},
                ],
            },
            "no message",
        ],
        "tools": ["no tool", {"type": "function", "function": {"name": "f"}}],
    }
    (message,) = input_messages(body, texts)

    assert [
        {"type": "text", "content": "看"},
        {"type": "blob", "modality": "image", "mime_type": "image/png"},
        {"type": "uri", "modality": "image", "uri": "http://a.b/c.png"},
        {"type": "other", "content": {"type": "other", "value": [1, "x"]}},
    ] == message["parts"]
    assert [{"type": "function", "name": "f"}] == tool_definitions(body, texts)
    assert [{"role": "user", "parts": [{"type": "text", "content": "def"}]}] == input_messages({"prompt": "def"}, texts)
    fim = {"choices": [{"text": "return", "finish_reason": "length"}]}
    (said,) = output_messages(fim, texts, is_complete=True)
    assert ("return", "length") == (said["parts"][0]["content"], said["finish_reason"])
