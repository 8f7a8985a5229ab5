"""What a caller may write into a request: with content off none of it is told, wherever it stands."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.telemetry.attributes import request_attributes, stop_attributes
from deepseek_sdk.telemetry.content import Texts

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

MARK = "暗号MARKER77"
NAME = "marker77_name"
FUNCTION = {"name": NAME, "description": MARK, "parameters": {"type": "object", "title": MARK, "properties": {}}}
SCHEMA = {"name": NAME, "description": MARK, "schema": {"type": "object", "title": MARK}}
FIELDS: dict[str, dict[str, Any]] = {
    "a stop": {"stop": MARK},
    "stops": {"stop": ["END", MARK]},
    "user": {"user": MARK},
    "effort": {"reasoning_effort": MARK},
    "format": {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
    "type of format": {"response_format": {"type": MARK}},
    "tools": {"tools": [{"type": "function", "function": FUNCTION}]},
    "choice": {
        "tools": [{"type": "function", "function": FUNCTION}],
        "tool_choice": {"type": "function", "function": {"name": NAME}},
    },
    "metadata": {"metadata": {NAME: MARK}},
    "unknown": {"extra_body": {NAME: MARK, "note": {"text": [MARK]}}},
    "user id": {"extra_body": {"user_id": NAME}},
    "thinking": {"extra_body": {"thinking": {"type": MARK}}},
    "names": {"messages": [{"role": "user", "content": "Hi", "name": NAME}]},
    "prefix": {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": MARK, "prefix": True}]},
}


def ask(driver: Driver, client: Any, options: dict[str, Any]) -> None:
    """Ask, whether or not it is refused."""
    messages = [{"role": "user", "content": "A word of json"}]
    try:
        driver.call(client.chat.completions.create, **{"model": "deepseek-flash", "messages": messages, **options})
    except (openai.OpenAIError, ValueError):
        return


@pytest.mark.parametrize("options", FIELDS.values(), ids=FIELDS)
@pytest.mark.parametrize("fault", [None, "status_400(message='bad 暗号MARKER77 marker77_name')"], ids=["", "refused"])
@pytest.mark.parametrize("has_events", [False, True], ids=["", "events"])
def test_no_field_leaks(
    driver: Driver,
    emulator: StartEmulator,
    heard: Heard,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    options: dict[str, Any],
    fault: Any,
    has_events: bool,
) -> None:
    """With content off no text of a request is on spans, events, metrics or in the log, however it ends."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "true" if has_events else "false")
    caplog.set_level(logging.DEBUG, "deepseek_sdk")
    server = emulator(replies=['{"a": 1}'], faults=[fault])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry(), max_retries=0)
    ask(driver, client, options)

    told = heard.everything() + caplog.text
    assert [] != heard.spans()
    assert [] == [text for text in (MARK, NAME, "MARKER77", "\\u6697") if text in told]


@pytest.mark.parametrize("content", ["spans", "events", "both"])
def test_stops_stand_where_content_does(driver: Driver, emulator: StartEmulator, heard: Heard, *, content: str) -> None:
    """Where content is told, and only there, stop sequences are, after your function has seen them."""
    telemetry = heard.telemetry(content=content, redact=lambda text: text.replace("secret", "[gone]"))
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=telemetry)
    ask(driver, client, {"stop": ["END", "a secret"]})

    name, wanted = "gen_ai.request.stop_sequences", ["END", "a [gone]"]
    events = [list(told[name]) for _, told in heard.events() if name in told]
    spans = [list(told[name]) for told in (heard.chat(),) if name in told]
    assert (
        [wanted] if content != "events" else [],
        [wanted] if content != "spans" else [],
    ) == (spans, events)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("a", ["a"]),
        (["a", "b"], ["a", "b"]),
        ("", None),
        ([], None),
        (None, None),
        (5, None),
        (True, None),
        ([1], None),
    ],
)
def test_stops(stop: Any, told: Any) -> None:
    """What is no text is no stop sequence, and nothing fails of it."""
    assert told == stop_attributes({"stop": stop}, Texts(None, 100)).get("gen_ai.request.stop_sequences")


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"])
def test_known_efforts(effort: str) -> None:
    """An effort that the API knows is told as it was sent."""
    told = request_attributes({"reasoning_effort": effort}, is_stream=False, template=None)

    assert effort == told["gen_ai.request.reasoning.level"]


@pytest.mark.parametrize("effort", ["", "HIGH", "high ", MARK, 5, None, ["high"], {"a": "high"}])
def test_other_efforts(effort: Any) -> None:
    """Any other one is left out."""
    told = request_attributes({"reasoning_effort": effort}, is_stream=False, template=None)

    assert "reasoning" not in json.dumps(told)
