"""Every fault of the emulator's menu has one outcome, and every refusal its class, whichever way the call is made."""

from __future__ import annotations

import json
import traceback
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Deadlines, DeepSeekError, errors, report
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Fault, Reply
from tests.raw_server import (
    RawServer,
    answer,
    completion,
    delta,
    refusal,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Driver

REPLY = Reply(content="One two 五 🙂", reasoning="Hm.")
WAYS = ("streamed", "folded", "direct")

# What becomes of a call without retries: the text, or the error; by way of calling where they differ.
OUTCOMES: dict[str, Any] = {
    "reset_before_headers": openai.APIConnectionError,
    "close_before_headers": openai.APIConnectionError,
    "no_answer": {"direct": errors.TotalTimeout, "": errors.FirstTokenTimeout},
    "slow_headers(seconds=0.02)": "whole",
    "slow_first_token(seconds=0.02)": "whole",
    "keep_alive_forever": {"direct": errors.TotalTimeout, "": errors.FirstTokenTimeout},
    "keep_alive_then_close(seconds=0.06)": errors.QueueTimeoutError,
    "cut_by_eof": errors.StreamInterruptedError,
    "cut_by_close": errors.StreamInterruptedError,
    "cut_by_broken_chunking": errors.StreamInterruptedError,
    "cut_by_reset": errors.StreamInterruptedError,
    "cut_mid_event": errors.StreamInterruptedError,
    "stall": {"direct": errors.TotalTimeout, "": errors.StallTimeout},
    "stall_with_keep_alives": {"direct": errors.TotalTimeout, "": errors.StallTimeout},
    # A plain body that stops in the middle of its JSON is a cut one.
    "malformed_event": {"direct": errors.StreamInterruptedError, "": errors.MalformedResponseError},
    "error_event_early": errors.ServerEventError,
    "error_event_late": errors.ServerEventError,
    "byte_by_byte": "whole",
    "split_utf8": "whole",
    "crlf_events": "whole",
    "comments_and_ids": "whole",
    "gzip": "whole",
    "missing_done": "whole",
    # A whole body whose end never comes cannot be told from one that is cut, unless it is read as JSON.
    "missing_done_open(seconds=0.02)": {"direct": errors.StreamInterruptedError, "": "whole"},
    "held_after_done(seconds=0.02)": "whole",
    "missing_finish_reason": errors.StreamInterruptedError,
    "empty_answer": errors.EmptyAnswerError,
    "insufficient_system_resource": errors.SystemResourceError,
    "content_filter": "prefix",
    "unknown_finish_reason": errors.UnknownFinishReasonError,
    "reasoning_only": "nothing",
    "repeated_roles": "whole",
    "missing_tool_index": "whole",
    "empty_tool_calls": "whole",
    "usage_finish": "whole",
    "usage_own_chunk": "whole",
    "usage_both": "whole",
    "usage_missing": "whole",
    "html_200": errors.MalformedResponseError,
    "html_502": openai.InternalServerError,
    "blank_200": errors.QueueTimeoutError,
    "empty_200": errors.StreamInterruptedError,
    "json_error_200": errors.ServerEventError,
    "octet_stream_error": openai.BadRequestError,
    "plain_to_stream": "whole",
    "stream_to_plain": "whole",
    "status_400": openai.BadRequestError,
    "status_401": openai.AuthenticationError,
    "status_402": errors.InsufficientBalanceError,
    "status_404": openai.NotFoundError,
    "status_408": openai.APIStatusError,
    "status_409": openai.ConflictError,
    "status_413": openai.APIStatusError,
    "status_422": openai.UnprocessableEntityError,
    "status_429": openai.RateLimitError,
    "status_500": openai.InternalServerError,
    "status_502": openai.InternalServerError,
    "status_503": openai.InternalServerError,
    "status_504": openai.InternalServerError,
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Emulator]:
    """Keep one emulator for all faults."""
    with Emulator(replies=REPLY, vocabulary=EstimatedVocabulary()) as server:
        yield server


def ask(driver: Driver, client: Any, way: str) -> str:
    """Make a call and give its text."""
    if way == "streamed":
        return driver.stream_text(driver.create(client, stream=True))
    return driver.create(client).choices[0].message.content  # type: ignore[no-any-return]


def client_for(driver: Driver, way: str, url: str, *, is_hurried: bool) -> Any:
    """Make a client without retries, and with short clocks for what would never end."""
    plain = {"streamed": "auto", "folded": "stream", "direct": "direct"}[way]
    seconds = 0.4 if is_hurried else 10
    deadlines = Deadlines(first_token=seconds, stall=seconds, total=seconds if way == "direct" else None)
    return driver.client(base_url=url, plain=plain, deadlines=deadlines, max_retries=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OUTCOMES)
def test_outcome(driver: Driver, shared: Emulator, name: str, way: str) -> None:
    """A fault ends in the full text or in its own error with a true prefix of it."""
    shared.faults = [name]
    expected: Any = OUTCOMES[name]
    if isinstance(expected, dict):
        expected = expected.get(way, expected[""])
    is_hurried = expected in {errors.FirstTokenTimeout, errors.StallTimeout, errors.TotalTimeout}
    client = client_for(driver, way, shared.url, is_hurried=is_hurried)
    if not isinstance(expected, str):
        with pytest.raises(openai.OpenAIError) as caught:
            ask(driver, client, way)

        assert isinstance(caught.value, expected), repr(caught.value)
        if isinstance(caught.value, DeepSeekError):
            assert REPLY.content.startswith(caught.value.partial.text)
            assert str(REPLY.reasoning).startswith(caught.value.partial.reasoning)
        return
    text = ask(driver, client, way)
    if expected == "prefix":
        assert REPLY.content.startswith(text)
    else:
        assert {"whole": REPLY.content, "nothing": ""}[expected] == text


def test_menu_is_covered() -> None:
    """Every fault of the menu stands in the table."""
    covered = {name.partition("(")[0] for name in OUTCOMES}
    known = {name for name in Fault.menu() if "retry_after" not in name}

    assert known == covered


# Refusals.

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
IMAGE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]

# A request that the emulator refuses as the live API would, the class of the error, and what it has read from the text.
REFUSED: dict[str, tuple[dict[str, Any], type[openai.BadRequestError], dict[str, Any]]] = {
    "too long": (
        {"max_tokens": 393_216, "messages": [{"role": "user", "content": "word " * 40}]},
        errors.ContextOverflowError,
        {"limit": 1000, "in_completion": 393_216},
    ),
    "max_tokens": ({"max_tokens": 393_217}, errors.MaxTokensError, {"minimum": 1, "maximum": 393_216}),
    "reasoning": (
        {"messages": [*MESSAGES, CALLED, {"role": "tool", "tool_call_id": "call_1", "content": "ok"}], "tools": [TOOL]},
        errors.ReasoningMissingError,
        {},
    ),
    "tool choice": ({"tools": [TOOL], "tool_choice": "required"}, errors.ToolChoiceInThinkingError, {}),
    "response format": (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
        errors.ResponseFormatError,
        {},
    ),
    "tool order": (
        {"messages": [*MESSAGES, {**CALLED, "reasoning_content": "hm"}], "tools": [TOOL]},
        errors.ToolOrderError,
        {},
    ),
    "stray tool": (
        {"messages": [*MESSAGES, {"role": "tool", "tool_call_id": "x", "content": "y"}]},
        errors.ToolOrderError,
        {},
    ),
    "image": (
        {"model": "deepseek-v4-pro", "messages": [*MESSAGES, {"role": "user", "content": IMAGE}]},
        errors.ImagesUnsupportedError,
        {"index": 1},
    ),
    "model": (
        {"model": "deepseek-chat"},
        errors.UnknownModelError,
        {"model": "deepseek-chat", "supported": ("deepseek-flash", "deepseek-v4-pro")},
    ),
    "stop": ({"stop": [str(n) for n in range(17)]}, errors.StopSequencesError, {"count": 17}),
    "empty message": (
        {"messages": [*MESSAGES, {"role": "assistant", "content": None}, *MESSAGES]},
        errors.EmptyMessageError,
        {},
    ),
}


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("name", REFUSED)
def test_refusal(driver: Driver, name: str, is_stream: bool) -> None:  # noqa: FBT001
    """Each refusal of the API has its class, which has read the numbers in the text and keeps the server's trace id."""
    body, kind, facts = REFUSED[name]
    with Emulator(vocabulary=EstimatedVocabulary(), context_tokens=1000) as server:
        client = driver.client(base_url=server.url, lint="off")
        with pytest.raises(openai.BadRequestError) as caught:
            driver.create(client, stream=is_stream, **body)

        assert 1 == len(server.requests)
    error: Any = caught.value
    assert kind.__name__ == type(error).__name__
    assert facts == {name: getattr(error, name) for name in facts}
    assert error.response.headers["x-ds-trace-id"] == error.trace_id == report(error).trace_id
    assert error.body["message"] in str(error)
    assert 400 == error.status_code


# The texts that the emulator does not bring forth.
TEXTS: dict[str, tuple[type[openai.BadRequestError], dict[str, Any]]] = {
    "Missing `reasoning_content` field in the assistant message at message index 3. For more information": (
        errors.ReasoningMissingError,
        {"index": 3},
    ),
    "The `reasoning_text` in the thinking mode must be passed back to the API.": (errors.ReasoningMissingError, {}),
    "This model's maximum context length is 1048565 tokens. However, you requested 1050000 tokens "
    "(1041808 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.": (
        errors.ContextOverflowError,
        {"limit": 1_048_565, "requested": 1_050_000, "in_messages": 1_041_808, "in_completion": 8192},
    ),
    "Model Not Exist": (errors.UnknownModelError, {"model": None, "supported": ()}),
    "The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed v4": (
        errors.UnknownModelError,
        {"model": "v4", "supported": ("deepseek-flash", "deepseek-v4-pro")},
    ),
    "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected "
    "`text` at line 1 column 9": (errors.ImagesUnsupportedError, {"index": 1}),
    "content or tool_calls must be set": (errors.EmptyMessageError, {}),
    "Stop string array too long: 17": (errors.StopSequencesError, {"count": 17}),
}


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_refusal_text(driver: Driver, text: str) -> None:
    """The texts seen of the live API are known."""
    kind, facts = TEXTS[text]
    with RawServer(refusal(400, text)) as server, pytest.raises(openai.APIStatusError) as caught:
        driver.create(driver.client(base_url=server.url))

    assert kind is type(caught.value)
    assert facts == {name: getattr(caught.value, name) for name in facts}
    assert 400 == caught.value.status_code


def test_422_stays_what_openai_makes_of_it(driver: Driver) -> None:
    """A program that catches `UnprocessableEntityError` goes on catching a 422 whose text is known."""
    with RawServer(refusal(422, "Model Not Exist")) as server, pytest.raises(openai.UnprocessableEntityError):
        driver.create(driver.client(base_url=server.url))


def test_402_hint(driver: Driver) -> None:
    """An empty account is told how to look at its balance, and is not asked again."""
    with Emulator(balance={"CNY": "0.00"}, vocabulary=EstimatedVocabulary()) as server:
        with pytest.raises(errors.InsufficientBalanceError) as caught:
            driver.create(driver.client(base_url=server.url))

        assert 1 == len(server.requests)
    assert "client.balance()" in str(caught.value)
    assert "Insufficient Balance" in str(caught.value)
    assert 402 == caught.value.status_code


def test_concurrency_limit(driver: Driver) -> None:
    """The limit on requests in flight is read from the text of the 429."""
    with (
        Emulator(concurrency_limit=0, vocabulary=EstimatedVocabulary()) as server,
        pytest.raises(errors.ConcurrencyLimitError) as caught,
    ):
        driver.create(driver.client(base_url=server.url, max_retries=0))

    assert (1, 0) == (caught.value.current, caught.value.limit)


@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/html", "text/plain", ""])
def test_error_body_of_any_type(driver: Driver, content_type: str) -> None:
    """An error body is read as JSON whatever its content type."""
    script = whole({"error": {"message": "Model Not Exist", "type": "t", "code": "c", "param": "p"}}, 400, content_type)
    with RawServer(script) as server, pytest.raises(errors.UnknownModelError) as caught:
        driver.create(driver.client(base_url=server.url))

    assert ("t", "c", "p") == (caught.value.type, caught.value.code, caught.value.param)


@pytest.mark.parametrize(
    "body", [b"<html>502</html>", b"", b"null", b"[]", b'"text"', b'{"error": "text"}', b"\xff\xfe"]
)
def test_error_body_of_any_shape(driver: Driver, body: bytes) -> None:
    """An error body of any shape is a status error, with the body kept."""
    with RawServer(whole(body, 502, "text/html")) as server, pytest.raises(openai.InternalServerError) as caught:
        driver.create(driver.client(base_url=server.url, max_retries=0))

    assert 502 == caught.value.status_code


def test_404_of_another_shape(driver: Driver) -> None:
    """An unknown path, whose body has a shape of its own, is a `NotFoundError` that shows the text."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server, pytest.raises(openai.NotFoundError) as caught:
        driver.call(
            driver.client(base_url=f"{server.url}/nowhere").chat.completions.create, model="m", messages=MESSAGES
        )

    assert "Please check the configuration" in str(caught.value)


@pytest.mark.parametrize("status", [400, 401, 402, 429, 500])
def test_echoed_key_is_masked(driver: Driver, status: int) -> None:
    """A server that repeats the key in its refusal does not get it into any message."""
    key = "sk-0123456789abcdef0123456789abcdef"
    text = f"Authentication Fails, Your api key: {key} is invalid; concurrency limit"
    with RawServer(refusal(status, text)) as server, pytest.raises(openai.APIStatusError) as caught:
        driver.create(driver.client(base_url=server.url, api_key=key, max_retries=0))

    error = caught.value
    shown = (str(error), repr(error), error.message, json.dumps(error.body), repr(error.args))
    assert key not in "".join((*shown, *traceback.format_exception(error)))


def test_echoed_key_in_an_answer_is_masked(driver: Driver) -> None:
    """Neither does a server that repeats it in the middle of an answer, or in a body that cannot be read."""
    key = "sk-0123456789abcdef0123456789abcdef"
    bodies = [
        stream(delta(content="Hi"), b'data: {"error": {"message": "bad key %b"}}\n\n' % key.encode()),
        stream(delta(content="Hi"), b"data: {bad key %b\n\n" % key.encode()),
        whole(b"<html>bad key %b</html>" % key.encode(), content_type="text/html"),
    ]
    for body in bodies:
        with RawServer(body) as server, pytest.raises(openai.OpenAIError) as caught:
            driver.create(driver.client(base_url=server.url, api_key=key, max_retries=0, plain="stream"))

        shown = "".join((str(caught.value), repr(caught.value), str(getattr(caught.value, "raw", ""))))
        assert key not in shown


@pytest.mark.parametrize("header", ["x-ds-trace-id", "x-request-id", "x-deepseek-request-id"])
def test_trace_id(driver: Driver, header: str) -> None:
    """The server's id of a request is kept in the report of an answer, of a stream and of an error."""
    headers = {header.replace("-", "_"): "trace-1"}
    scripts = [
        whole(completion("Hi"), headers=headers),
        stream(*answer("Hi"), headers=headers),
        refusal(400, "no", **headers),
    ]
    with RawServer(*scripts) as server:
        client = driver.client(base_url=server.url)
        plain, streamed = driver.create(client), driver.create(client, stream=True)
        driver.stream_text(streamed)
        with pytest.raises(openai.BadRequestError) as caught:
            driver.create(client)

    assert ["trace-1"] * 3 == [report(item).trace_id for item in (plain, streamed, caught.value)]
