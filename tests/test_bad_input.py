"""Input that cannot be right: an error that names the argument, before anything is sent, never showing the key."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Deadlines, DeepSeekError, options
from deepseek_sdk.errors import ConfigurationError
from tests.raw_server import (
    RawServer,
    answer,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Driver

USER = {"role": "user", "content": "Hello"}

# The arguments of a call, and the name that the error must say.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "no model": ({"model": None}, "model"),
    "empty model": ({"model": ""}, "model"),
    "blank model": ({"model": " "}, "model"),
    "model of another type": ({"model": 5}, "model"),
    "no messages": ({"messages": []}, "messages"),
    "messages as text": ({"messages": "Hello"}, "messages"),
    "messages as one message": ({"messages": USER}, "messages"),
    "messages of text": ({"messages": ["Hello"]}, "messages[0]"),
    "message without role": ({"messages": [USER, {"content": "x"}]}, "messages[1]"),
    "message with a strange role": ({"messages": [{"role": 5, "content": "x"}]}, "messages[0]"),
    "message with a number": ({"messages": [USER, {"role": "user", "content": 5}]}, "messages[1]"),
    "temperature as text": ({"temperature": "hot"}, "temperature"),
    "temperature as truth": ({"temperature": True}, "temperature"),
    "top_p as text": ({"top_p": "1"}, "top_p"),
    "max_tokens as text": ({"max_tokens": "10"}, "max_tokens"),
    "max_tokens as truth": ({"max_tokens": True}, "max_tokens"),
    "no max_tokens": ({"max_tokens": 0}, "max_tokens"),
    "fewer than no max_tokens": ({"max_tokens": -1}, "max_tokens"),
    "max_tokens with a fraction": ({"max_tokens": 1.5}, "max_tokens"),
    "stop as number": ({"stop": 5}, "stop"),
    "stop of numbers": ({"stop": [5]}, "stop"),
    "tools as dictionary": ({"tools": {"type": "function"}}, "tools"),
    "tools of text": ({"tools": ["f"]}, "tools"),
    "response_format as text": ({"response_format": "json"}, "response_format"),
    "stream_options as truth": ({"stream_options": True}, "stream_options"),
    "thinking as truth": ({"extra_body": {"thinking": True}}, "thinking"),
    "user_id as number": ({"extra_body": {"user_id": 5}}, "user_id"),
    "n as text": ({"n": "1"}, "n"),
    "seed as text": ({"seed": "1"}, "seed"),
    "not a number": ({"temperature": float("nan")}, "temperature"),
    "infinite": ({"top_p": float("inf")}, "top_p"),
    "no json": ({"extra_body": {"user_id": "u", "odd": object()}}, "odd"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    """Keep one server that would answer anything."""
    with RawServer(stream(*answer("Hi"))) as server:
        yield server


@pytest.mark.parametrize("is_stream", [True, False], ids=["streamed", "plain"])
@pytest.mark.parametrize("name", CALLS)
def test_bad_call(driver: Driver, server: RawServer, name: str, is_stream: bool) -> None:  # noqa: FBT001
    """A call that no server could accept fails before anything is sent, and the error names the argument."""
    arguments, argument = CALLS[name]
    server.requests.clear()
    with pytest.raises((openai.BadRequestError, TypeError, ValueError)) as caught:
        driver.create(driver.client(base_url=server.url, api_key="sk-secret"), stream=is_stream, **arguments)

    assert argument in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert [] == server.requests


def test_bad_call_is_openais_and_ours(driver: Driver, server: RawServer) -> None:
    """The error is a `BadRequestError` with *param*, a `ValueError`, and this library's own."""
    with pytest.raises(openai.BadRequestError) as caught:
        driver.create(driver.client(base_url=server.url), messages=[])

    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, DeepSeekError)
    assert ("messages", 400) == (caught.value.param, caught.value.status_code)


@pytest.mark.parametrize("prompt", [None, 5, {"a": 1}])
def test_bad_prompt(driver: Driver, server: RawServer, prompt: object) -> None:
    """A completion needs a prompt."""
    server.requests.clear()
    with pytest.raises((openai.BadRequestError, TypeError), match="prompt"):
        driver.call(driver.client(base_url=server.url).completions.create, model="deepseek-v4-pro", prompt=prompt)

    assert [] == server.requests


def test_generator_of_messages(driver: Driver, server: RawServer) -> None:
    """A generator of messages, which openai's types allow, is taken or refused by name, never sent as nothing."""
    server.requests.clear()
    with contextlib.suppress(openai.BadRequestError):
        driver.create(driver.client(base_url=server.url), messages=iter([USER]))

    assert all([USER] == request.body["messages"] for request in server.requests)


KEYS = [
    "sk-secret\n",
    "sk-secret\r\nX-Evil: 1",
    "sk secret",
    "\nsk-secret",
    "sk-secrét",
    "sk-sec\x00ret",
    "sk-secret\u200b",
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_bad_key(driver: Driver, key: str) -> None:
    """A key that cannot be sent is refused when the client is made, and is not shown."""
    with pytest.raises(openai.OpenAIError, match="api_key") as caught:
        driver.client(api_key=key)

    assert "secr" not in f"{caught.value}{caught.value!r}"


@pytest.mark.parametrize("key", [5, b"sk-secret", ["sk-secret"], True])
def test_key_of_another_type(driver: Driver, key: object) -> None:
    """A key of another type is refused without being shown."""
    with pytest.raises(openai.OpenAIError, match="api_key") as caught:
        driver.client(api_key=key)

    assert "secret" not in str(caught.value)


def test_bad_key_of_the_environment(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment is looked at in the same way."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-secret\n")

    with pytest.raises(openai.OpenAIError, match="api_key") as caught:
        driver.client(api_key=None)

    assert "secret" not in str(caught.value)


def test_bad_key_of_a_child(driver: Driver) -> None:
    """A child's key is looked at as well."""
    with pytest.raises(openai.OpenAIError, match="api_key") as caught:
        driver.client().with_options(api_key="sk-secret\n")

    assert "secret" not in str(caught.value)


def test_bad_key_from_a_function(driver: Driver, server: RawServer) -> None:
    """A key that a function gives is looked at before it is sent."""

    def sync_key() -> str:
        return "sk-secret\nX-Evil: 1"

    async def async_key() -> str:
        return sync_key()

    server.requests.clear()
    client = driver.client(base_url=server.url, api_key=async_key if driver.is_async else sync_key, max_retries=0)
    with pytest.raises(openai.OpenAIError) as caught:
        driver.create(client)

    assert "secret" not in f"{caught.value}{caught.value!r}"
    assert [] == server.requests


URLS = [
    "api.deepseek.com",
    "localhost:8000",
    "",
    " ",
    "https://",
    "http:///path",
    "ftp://api.deepseek.com",
    "//host",
    5,
    "http://[::1",
]


@pytest.mark.parametrize("url", URLS, ids=map(str, URLS))
def test_bad_url(driver: Driver, url: object) -> None:
    """A base URL without scheme or host is refused when the client is made."""
    with pytest.raises(openai.OpenAIError, match="base_url"):
        driver.client(base_url=url)


def test_bad_url_of_the_environment(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base URL in the environment is looked at in the same way."""
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "api.deepseek.com")

    with pytest.raises(openai.OpenAIError, match="base_url"):
        driver.client()


def test_bad_url_of_a_child(driver: Driver) -> None:
    """A child's base URL is looked at as well."""
    with pytest.raises(openai.OpenAIError, match="base_url"):
        driver.client().with_options(base_url="api.deepseek.com")


def test_url_with_a_password(driver: Driver) -> None:
    """An error about a base URL does not show a password in it."""
    with pytest.raises(openai.OpenAIError, match="base_url") as caught:
        driver.client(base_url="ftp://me:hunter2@host/")

    assert "hunter2" not in str(caught.value)


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "plain": ({"plain": "sometimes"}, "plain"),
    "priority": ({"priority": "urgent"}, "priority"),
    "deadlines": ({"deadlines": 5}, "deadlines"),
    "session_id": ({"session_id": 5}, "session_id"),
    "negative max_retries": ({"max_retries": -1}, "max_retries"),
    "max_retries as text": ({"max_retries": "2"}, "max_retries"),
    "unknown": ({"colour": "blue"}, "colour"),
    "timeout as text": ({"timeout": "5"}, "timeout"),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("is_child", [True, False], ids=["child", "client"])
def test_bad_option(driver: Driver, name: str, is_child: bool) -> None:  # noqa: FBT001
    """An option that cannot be used is refused by its name, when it is given."""
    given, argument = OPTIONS[name]
    with pytest.raises((openai.OpenAIError, TypeError, ValueError), match=argument):
        driver.client().with_options(**given) if is_child else driver.client(**given)


def test_no_max_retries(driver: Driver) -> None:
    """None is no number of retries, as in openai."""
    with pytest.raises((openai.OpenAIError, TypeError), match="max_retries"):
        driver.client(max_retries=None)


@pytest.mark.parametrize("value", [0, -1, "5", True, float("nan")])
@pytest.mark.parametrize("name", ["connect", "first_token", "stall", "total"])
def test_bad_deadline(name: str, value: Any) -> None:
    """A clock takes a number of seconds above zero, or None; the error names it."""
    with pytest.raises((TypeError, ValueError), match=name):
        Deadlines(**{name: value})


def test_bad_context_option() -> None:
    """`options()` refuses what does not exist, and says what does."""
    with pytest.raises(ConfigurationError, match=r"colour.*session_id"), options(colour="blue"):
        pass


def test_headers_that_say_nothing(driver: Driver, server: RawServer) -> None:
    """Headers that this library reads are no reason to fail, whatever they say."""
    headers = {"X-Mode": "warp", "X-Batch": "perhaps", "X-Session-ID": ""}

    assert "Hi" == driver.create(driver.client(base_url=server.url), extra_headers=headers).choices[0].message.content


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_post_without_a_body(driver: Driver, server: RawServer, body: Any) -> None:
    """`client.post()` of something that is no request is refused by name."""
    server.requests.clear()
    with pytest.raises((openai.BadRequestError, TypeError), match=r"model|body"):
        driver.call(driver.client(base_url=server.url).post, "/chat/completions", cast_to=object, body=body)

    assert [] == server.requests
