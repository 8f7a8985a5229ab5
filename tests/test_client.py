"""The client: what it takes from where, what it hands on, where its requests go, and what it tells about them."""

from __future__ import annotations

import contextlib
import copy
import gc
import pickle
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pydantic
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion

import deepseek_sdk
from deepseek_sdk import Client, DeepSeekError, errors, options, report
from deepseek_sdk._call import Call
from deepseek_sdk._record import Record
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Reply
from tests.raw_server import (
    RawServer,
    answer,
    completion,
    refusal,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Driver

HI = stream(*answer("Hi"))
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}]
ASKED: dict[str, Any] = {"model": "deepseek-flash", "messages": MESSAGES}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
STRICT = {"type": "function", "function": {"name": "f", "strict": True, "parameters": NOTHING}}
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_cache_hit_tokens": 80,
    "prompt_cache_miss_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 80},
    "completion_tokens_details": {"reasoning_tokens": 7},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Emulator]:
    """Keep one emulator for all tests of this file."""
    with Emulator(vocabulary=EstimatedVocabulary()) as server:
        yield server


@pytest.fixture(autouse=True)
def _fresh(server: Emulator) -> None:
    server.requests.clear()


# What the environment says.


def test_key_and_url_from_the_environment(driver: Driver, server: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key and the endpoint come from DEEPSEEK_* variables."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-environment")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
    driver.create(driver.client(api_key=None))

    assert "Bearer sk-environment" == server.requests[0].headers["authorization"]


def test_openai_variables_are_not_read(driver: Driver, server: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of OPENAI_* reaches DeepSeek: no key, no URL, no organization, no header."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/nowhere")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    monkeypatch.setenv("OPENAI_WEBHOOK_SECRET", "whsec-secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: yes\nAuthorization: Bearer sk-openai")
    client = driver.client(base_url=server.url)
    driver.create(client)
    driver.create(client.with_options(timeout=5))
    driver.call(client.models.list)

    sent = "\n".join(f"{name}: {value}" for request in server.requests for name, value in request.headers.items())
    assert "secret" not in sent
    assert "sk-openai" not in sent
    assert {"Bearer test-key"} == {request.headers["authorization"] for request in server.requests}
    assert (None, None, None) == (client.organization, client.project, client.webhook_secret)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", None])
def test_no_key(driver: Driver, monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    """Without a key a client is not made, and the variable that would give one is named."""
    if name is not None:
        monkeypatch.setenv(name, "sk-openai")

    with pytest.raises(openai.OpenAIError, match="DEEPSEEK_API_KEY"):
        driver.client(api_key=None)


def test_default_url(driver: Driver) -> None:
    """Without being told a client asks DeepSeek."""
    assert "https://api.deepseek.com" == str(driver.client().base_url).rstrip("/")


def test_arguments_come_before_the_environment(
    driver: Driver, server: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is passed wins over the environment."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-environment")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "http://127.0.0.1:9")
    driver.create(driver.client(api_key="sk-argument", base_url=server.url))

    assert "Bearer sk-argument" == server.requests[0].headers["authorization"]


def test_key_from_a_function(driver: Driver, server: Emulator) -> None:
    """A key may be a function, that is asked for each request."""
    keys = iter(["sk-first", "sk-second"])

    def sync_key() -> str:
        return next(keys)

    async def async_key() -> str:
        return next(keys)

    client = driver.client(api_key=async_key if driver.is_async else sync_key, base_url=server.url)
    driver.create(client)
    driver.create(client)

    assert ["Bearer sk-first", "Bearer sk-second"] == [r.headers["authorization"] for r in server.requests]


# What is handed on.


def test_headers_and_query_of_the_client(driver: Driver, server: Emulator) -> None:
    """`default_headers` and `default_query` are sent with every request."""
    client = driver.client(base_url=server.url, default_headers={"X-Mine": "1"}, default_query={"q": "2"})
    driver.create(client)

    request = server.requests[0]
    assert ("1", "q=2") == (request.headers["x-mine"], request.query)


def test_extras_of_a_call(driver: Driver, server: Emulator) -> None:
    """`extra_headers`, `extra_query` and `extra_body` are sent as openai sends them, the body's at the top level."""
    extra_body = {"user_id": "u", "thinking": {"type": "disabled"}}
    client = driver.client(base_url=server.url)
    driver.create(client, extra_headers={"X-Mine": "1"}, extra_query={"q": "2"}, extra_body=extra_body)

    request = server.requests[0]
    assert ("1", "q=2") == (request.headers["x-mine"], request.query)
    assert extra_body == {name: request.body[name] for name in extra_body}
    assert "extra_body" not in request.body


def test_extra_body_wins(driver: Driver, server: Emulator) -> None:
    """A field of `extra_body` replaces one of the call."""
    driver.create(driver.client(base_url=server.url), temperature=0.1, extra_body={"temperature": 0.2})

    assert 0.2 == server.requests[0].body["temperature"]


def test_own_headers_are_not_sent(driver: Driver, server: Emulator) -> None:
    """Headers that mean something to this library are taken off, from the client's as from the call's."""
    own = {"X-Session-ID": "s-1", "X-Mode": "realtime", "X-Batch": "true", "X-DeepSeek-Cache": "bypass"}
    answered = driver.create(driver.client(base_url=server.url), extra_headers=own)
    driver.create(driver.client(base_url=server.url, default_headers=own))

    sent = {name for request in server.requests for name in request.headers}
    assert set() == sent & {name.lower() for name in own}
    assert "s-1" == report(answered).session_id


def test_user_agent(driver: Driver, server: Emulator) -> None:
    """The user agent names this library and openai's version."""
    driver.create(driver.client(base_url=server.url))

    agent = server.requests[0].headers["user-agent"]
    assert agent.startswith(f"deepseek-sdk/{deepseek_sdk.__version__} ")
    assert f"OpenAI/Python {openai.__version__}" in agent


def test_the_raw_header_stays_here(driver: Driver, server: Emulator) -> None:
    """The header by which openai asks itself for a raw response is not sent."""
    driver.call(driver.client(base_url=server.url).chat.completions.with_raw_response.create, **ASKED)

    assert "x-stainless-raw-response" not in server.requests[0].headers


def test_http_client_of_the_caller(driver: Driver, server: Emulator) -> None:
    """The caller's HTTP client sends the requests, and is there to be used afterwards."""
    http_client = (httpx2.AsyncClient if driver.is_async else httpx2.Client)(headers={"X-From": "mine"})
    client = driver.client(base_url=server.url, http_client=http_client)
    driver.create(client)
    driver.create(client.with_options(timeout=5))

    assert ["mine", "mine"] == [request.headers["x-from"] for request in server.requests]
    assert 1 == len({request.client for request in server.requests})


def test_messages_are_not_changed(driver: Driver, server: Emulator) -> None:
    """What the caller passes in is left as it was."""
    given: dict[str, Any] = {"messages": list(MESSAGES), "extra_body": {"user_id": "u"}, "stop": ["x"]}
    kept = copy.deepcopy(given)
    driver.create(driver.client(base_url=server.url, plain="stream"), **given)

    assert kept == given


# Children.


def test_children_keep_everything(driver: Driver, server: Emulator) -> None:
    """A child has all that its parent was given, but for what was changed."""
    given: dict[str, Any] = {
        "max_retries": 4, "timeout": 33.0, "default_headers": {"X-Mine": "1"}, "default_query": {"q": "2"},
        "organization": "org", "project": "proj",
    }  # fmt: skip
    client = driver.client(base_url=server.url, plain="stream", session_id="s-1", **given)
    child = client.with_options(max_retries=1).copy()
    answered = driver.create(child)

    request = server.requests[0]
    assert type(client) is type(child)
    assert (1, 33.0, "test-key") == (child.max_retries, child.timeout, child.api_key)
    assert ("1", "q=2", True) == (request.headers["x-mine"], request.query, request.body["stream"])
    assert ("org", "proj") == (child.organization, child.project)
    assert "s-1" == report(answered).session_id


def test_children_share_connections(driver: Driver, server: Emulator) -> None:
    """Ten children use their parent's connection."""
    client = driver.client(base_url=server.url)
    for n in range(10):
        driver.create(client.with_options(timeout=10 + n))

    assert 1 == len({request.client for request in server.requests})


def test_children_replace(driver: Driver, server: Emulator) -> None:
    """A child's own key, endpoint, headers and options are its own."""
    client = driver.client(base_url="http://127.0.0.1:9", default_headers={"X-Mine": "1"}, session_id="s-1")
    child = client.with_options(
        base_url=server.url, api_key="other", set_default_headers={"X-Other": "2"}, session_id="s-2"
    )
    answered = driver.create(child)

    request = server.requests[0]
    assert "Bearer other" == request.headers["authorization"]
    assert ("2", False) == (request.headers["x-other"], "x-mine" in request.headers)
    assert ("s-2", "test-key") == (report(answered).session_id, client.api_key)


def test_session_can_be_taken_off(driver: Driver, server: Emulator) -> None:
    """None takes a session off again."""
    child = driver.client(base_url=server.url, session_id="s-1").with_options(session_id=None)

    assert None is report(driver.create(child)).session_id


def test_context_options(driver: Driver, server: Emulator) -> None:
    """`options()` holds for every call inside the block, under what the call itself says."""
    client = driver.client(base_url=server.url, session_id="client")
    with options(session_id="context"):
        inside = driver.create(client)
        nearest = driver.create(client, extra_headers={"X-Session-ID": "call"})
    outside = driver.create(client)

    assert ["context", "call", "client"] == [report(item).session_id for item in (inside, nearest, outside)]


def test_context_manager(driver: Driver, server: Emulator) -> None:
    """A client is a context manager, that closes its connections."""
    with driver.entered(driver.client(base_url=server.url)) as client:
        driver.create(client)

    assert client.is_closed()


# Where requests go.

PREFIX = [*MESSAGES, {"role": "assistant", "content": "You", "prefix": True}]
THOUGHTLESS = {"thinking": {"type": "disabled"}}
PATHS: dict[str, tuple[dict[str, Any], str]] = {
    "chat": ({}, "/chat/completions"),
    "prefix": ({"messages": PREFIX, "extra_body": THOUGHTLESS}, "/beta/chat/completions"),
    "no prefix": (
        {"messages": [*MESSAGES, {"role": "assistant", "content": "x", "prefix": False}, *MESSAGES]},
        "/chat/completions",
    ),
    "strict tool": ({"tools": [STRICT]}, "/beta/chat/completions"),
    "lax tool": (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]},
        "/chat/completions",
    ),
}


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("base", ["", "/beta", "/v1"])
@pytest.mark.parametrize("name", PATHS)
def test_chat_goes_where_it_is_served(driver: Driver, name: str, base: str, is_stream: bool) -> None:  # noqa: FBT001
    """Prefix completion and strict tools go to /beta by themselves; all else stays where it was sent."""
    body, path = PATHS[name]
    with RawServer(HI) as server:
        driver.create(driver.client(base_url=f"{server.url}{base}"), stream=is_stream, **body)

    expected = path if path.startswith("/beta") and base != "/v1" else f"{base}{path}"
    if base == "/v1" and path.startswith("/beta"):
        # A server with a path of its own may be no DeepSeek at all, so it is not asked for what it may not have.
        expected = "/v1/chat/completions"
    assert expected == server.requests[0].target


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("base", ["", "/beta"])
def test_fim_goes_to_beta(driver: Driver, server: Emulator, base: str, is_stream: bool) -> None:  # noqa: FBT001
    """Completions that fill in the middle go to /beta."""
    client = driver.client(base_url=f"{server.url}{base}")
    answered = driver.call(client.completions.create, model="deepseek-v4-pro", prompt="a", suffix="b", stream=is_stream)
    if is_stream:
        list(driver.iterate(answered))

    assert "/beta/completions" == server.requests[0].path


@pytest.mark.parametrize("base", ["", "/beta", "/anthropic"])
def test_account_data_is_at_the_root(driver: Driver, server: Emulator, base: str) -> None:
    """Models and balance are asked for at the root, whatever path the base URL has."""
    client = driver.client(base_url=f"{server.url}{base}")
    names = [model.id for model in driver.call(client.models.list).data]
    balance = driver.call(client.get, "/user/balance", cast_to=object)

    assert ["deepseek-flash", "deepseek-v4-pro"] == names
    assert balance["is_available"]
    assert ["/models", "/user/balance"] == [request.path for request in server.requests]


# What is given back.


def test_types(driver: Driver, server: Emulator) -> None:
    """Answers and streams are of exactly openai's types."""
    client = driver.client(base_url=server.url)
    completions = client.chat.completions
    with driver.entered(driver.create(client, stream=True)) as streamed:
        chunk = next(driver.iterate(streamed))

    assert ChatCompletion is type(driver.create(client))
    assert (openai.AsyncStream if driver.is_async else openai.Stream) is type(streamed)
    assert ChatCompletionChunk is type(chunk)
    assert issubclass(type(driver.call(completions.parse, **ASKED)), ParsedChatCompletion)
    raw = driver.call(completions.with_raw_response.create, **ASKED)
    assert openai._legacy_response.LegacyAPIResponse is type(raw)
    assert isinstance(client, openai.AsyncOpenAI if driver.is_async else openai.OpenAI)


class Place(pydantic.BaseModel):
    """What `parse()` is asked for."""

    city: str


def test_parse_json(driver: Driver) -> None:
    """`parse()` gives a parsed object where the endpoint takes a schema."""
    with RawServer(whole(completion('{"city": "杭州"}'))) as server:
        parsed = driver.call(driver.client(base_url=server.url).chat.completions.parse, **ASKED, response_format=Place)

    assert Place(city="杭州") == parsed.choices[0].message.parsed
    assert "default" == report(parsed).route


# What is told.


@pytest.mark.parametrize("plain", ["stream", "direct"])
def test_report_of_a_completion(driver: Driver, server: Emulator, plain: str) -> None:
    """The report of an answer tells route, model, attempts, usage, times and how it ended."""
    server.script(Reply(content="Hi", usage=USAGE))
    told = report(driver.create(driver.client(base_url=server.url, plain=plain), model="deepseek-v4-flash"))

    assert ("default", "deepseek-flash", "stop") == (told.route, told.model, told.finish_reason)
    assert deepseek_sdk.Usage(hit=80, miss=20, output=20, reasoning=7) == told.usage
    assert ["complete"] == [attempt.outcome for attempt in told.attempts]
    assert 0 == told.possibly_billed_attempts
    assert told.trace_id is not None
    times = told.times
    assert 0 <= (times.first_event or 0) <= (times.first_token or 0) <= (times.first_answer or 0) <= (times.total or -1)


def test_report_of_a_stream(driver: Driver, server: Emulator) -> None:
    """The report of a stream tells what is known so far, and all of it at the end."""
    server.script(Reply(content="Hi", usage=USAGE))
    streamed = driver.create(driver.client(base_url=server.url), stream=True)
    before = report(streamed)
    list(driver.iterate(streamed))
    after = report(streamed)

    assert (None, "running") == (before.times.total, before.attempts[0].outcome)
    assert (100, "stop", "complete") == (
        after.usage and after.usage.prompt,
        after.finish_reason,
        after.attempts[0].outcome,
    )
    assert after.times.total is not None


def test_report_of_an_abandoned_stream(driver: Driver) -> None:
    """A stream that the caller leaves is abandoned, and possibly billed."""
    with RawServer(stream(*answer("Hi")[:2], end="hold")) as server:
        streamed = driver.create(driver.client(base_url=server.url), stream=True)
        next(driver.iterate(streamed))
        driver.call(streamed.close)

    told = report(streamed)
    assert ("abandoned", 1) == (told.attempts[0].outcome, told.possibly_billed_attempts)


def test_report_of_the_helper(driver: Driver, server: Emulator) -> None:
    """The stream helper has a report as well."""
    client = driver.client(base_url=server.url)
    with driver.entered(client.chat.completions.stream(**ASKED)) as helper:
        driver.call(helper.until_done)

    assert "stop" == report(helper).finish_reason


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
def test_report_of_a_raw_response(driver: Driver, server: Emulator, is_stream: bool) -> None:  # noqa: FBT001
    """A raw response has a report, and tells what was known when its headers were made in headers of its own."""
    create = driver.client(base_url=server.url, plain="stream").chat.completions.with_raw_response.create
    raw = driver.call(create, **ASKED, stream=is_stream)
    parsed = driver.call(raw.parse)
    if is_stream:
        list(driver.iterate(parsed))

    assert ("default", "1") == (raw.headers["x-deepseek-sdk-route"], raw.headers["x-deepseek-sdk-attempts"])
    assert "deepseek-flash" == raw.headers["x-deepseek-sdk-model"]
    assert report(raw).trace_id == raw.headers["x-ds-trace-id"]
    assert "stop" == report(raw).finish_reason
    if is_stream:
        assert "stop" == report(parsed).finish_reason


def test_report_of_a_streaming_response(driver: Driver, server: Emulator) -> None:
    """A streaming response has a report and the headers."""
    manager = driver.client(base_url=server.url).chat.completions.with_streaming_response.create(**ASKED)
    with driver.entered(manager) as response:
        driver.call(response.parse)

    assert "default" == response.headers["x-deepseek-sdk-route"]
    assert "stop" == report(response).finish_reason


def test_report_of_parse(driver: Driver, server: Emulator) -> None:
    """The answer of `parse()` has a report."""
    parsed = driver.call(driver.client(base_url=server.url).chat.completions.parse, **ASKED)

    assert "stop" == report(parsed).finish_reason


def test_report_of_an_error(driver: Driver) -> None:
    """An error tells its attempts, itself and by its report."""
    with (
        RawServer(refusal(503, "busy", retry_after_ms="1")) as server,
        pytest.raises(openai.InternalServerError) as caught,
    ):
        driver.create(driver.client(base_url=server.url, max_retries=1))

    told = report(caught.value)
    assert ["overloaded", "overloaded"] == [attempt.reason for attempt in told.attempts]
    assert told.attempts == caught.value.attempts  # type: ignore[attr-defined]
    assert told.times.total is not None


def test_report_of_an_error_in_a_stream(driver: Driver) -> None:
    """An error in the middle of a stream has a report, which is the stream's."""
    with RawServer(stream(*answer("Hi")[:2])) as server:
        streamed = driver.create(driver.client(base_url=server.url), stream=True)
        with pytest.raises(errors.StreamInterruptedError) as caught:
            list(driver.iterate(streamed))

    assert report(streamed) == report(caught.value)
    assert ["interrupted"] == [attempt.reason for attempt in report(streamed).attempts]


def test_no_report() -> None:
    """What did not come from here has no report, and that is said."""
    with pytest.raises(TypeError, match="int"):
        report(5)


@pytest.mark.parametrize("plain", ["stream", "direct"])
def test_attached_record_does_not_disturb(driver: Driver, server: Emulator, plain: str) -> None:
    """Equality, dumping, copies and pickles of an answer are those of an answer without a report."""
    answered = driver.create(driver.client(base_url=server.url, plain=plain))
    twin = ChatCompletion.construct(**answered.to_dict())

    assert twin.to_dict() == answered.to_dict()
    assert twin.to_json() == answered.to_json()
    assert "_deepseek" not in f"{answered!r}{answered.model_dump()}"
    for copied in (
        copy.copy(answered), copy.deepcopy(answered), answered.model_copy(), answered.model_copy(deep=True),
        pickle.loads(pickle.dumps(answered)),  # noqa: S301
    ):  # fmt: skip
        assert answered == copied
        assert answered.model_dump() == copied.model_dump()


def test_pickle_needs_no_report(driver: Driver, server: Emulator) -> None:
    """A pickled answer keeps its report or loses it, but does not carry the HTTP response along."""
    answered = driver.create(driver.client(base_url=server.url))

    assert len(pickle.dumps(answered)) < len(answered.model_dump_json()) + 8000


def test_errors_are_both(driver: Driver, server: Emulator) -> None:
    """What this library raises is its own error and openai's."""
    with pytest.raises(DeepSeekError) as caught:
        driver.create(driver.client(base_url=server.url), model="deepseek-v0")

    assert isinstance(caught.value, openai.BadRequestError)


def calls_alive() -> list[object]:
    """List what is there of calls, of whatever test."""
    return [found for found in gc.get_objects() if isinstance(found, Record | Call)]


@pytest.mark.parametrize("status", [400, 500])
def test_a_refused_call_is_gone_with_its_error(status: int) -> None:
    """Nothing keeps a call that was refused once its error is forgotten: no garbage collection is needed."""
    with RawServer(refusal(status, "no")) as server:
        # A breaker remembers which calls failed last.
        client = Client(base_url=server.url, api_key="k", max_retries=0, breaker=None)
        gc.collect()
        others = calls_alive()
        gc.disable()
        try:
            with contextlib.suppress(openai.APIStatusError):
                client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}])
            left = [found for found in calls_alive() if not any(found is other for other in others)]
        finally:
            gc.enable()

    assert [] == left


def test_other_surfaces_are_passed_on(driver: Driver) -> None:
    """What is not guarded goes straight to openai's own code, with the client's own retries."""
    with RawServer(
        refusal(503, "busy", retry_after_ms="1"), whole({"object": "list", "data": [{"index": 0}]})
    ) as server:
        found = driver.call(driver.client(base_url=server.url, max_retries=1).embeddings.create, model="m", input="x")

    assert 1 == len(found.data)
    assert "/embeddings" == server.requests[1].target


def test_identity_in_place_of_a_key(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload identity is taken as openai takes it, though a key is set as well; children take it over."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-unused-unused")
    provider = {"token_type": "jwt", "get_token": lambda: "token"}
    identity: Any = {
        "client_id": "c",
        "identity_provider_id": "i",
        "service_account_id": "s",
        "provider": provider,
    }
    client = driver.client(api_key=None, workload_identity=identity)

    assert identity == client.workload_identity
    assert identity == client.with_options(timeout=3).workload_identity
