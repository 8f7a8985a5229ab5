"""What makes two calls different: each field of a request, changed alone, end to end; and whose call it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.caching.cached_calls import in_memory, status
from tests.raw_server import (
    RawServer,
    completion,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver
    from tests.raw_server import Exchange

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
SYSTEM = {"role": "system", "content": "Be short."}
USER = {"role": "user", "content": "Café?"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BASE: dict[str, Any] = {"model": "deepseek-flash", "messages": [SYSTEM, USER]}

MESSAGES: dict[str, list[Any]] = {
    "another text": [SYSTEM, {**USER, "content": "Cafés?"}],
    "decomposed": [SYSTEM, {**USER, "content": "Cafe\u0301?"}],
    "a blank more": [SYSTEM, {**USER, "content": "Café? "}],
    "another case": [SYSTEM, {**USER, "content": "café?"}],
    "full width": [SYSTEM, {**USER, "content": "Café？"}],
    "in parts": [SYSTEM, {**USER, "content": [{"type": "text", "text": "Café?"}]}],
    "in two parts": [SYSTEM, {**USER, "content": [{"type": "text", "text": "Ca"}, {"type": "text", "text": "fé?"}]}],
    "with a name": [SYSTEM, {**USER, "name": "Wang"}],
    "another system": [{**SYSTEM, "content": "Be long."}, USER],
    "no system": [USER],
    "another role": [{**SYSTEM, "role": "developer"}, USER],
    "another order": [USER, SYSTEM],
    "an earlier turn": [SYSTEM, USER, {"role": "assistant", "content": "Yes."}, USER],
    "another earlier turn": [SYSTEM, USER, {"role": "assistant", "content": "No."}, USER],
    "an earlier thought": [SYSTEM, USER, {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}, USER],
    "the user twice": [SYSTEM, USER, USER],
    "a tool": [SYSTEM, USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "call_1",
               "content": "1"}],
    "another result": [SYSTEM, USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool",
                       "tool_call_id": "call_1", "content": "2"}],
    "a prefix": [SYSTEM, USER, {"role": "assistant", "content": "Well", "prefix": True}],
}  # fmt: skip
FIELDS: dict[str, dict[str, Any]] = {
    "model": {"model": "deepseek-v4-pro"},
    "temperature 0": {"temperature": 0},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 1": {"temperature": 1},
    "temperature 1.0": {"temperature": 1.0},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 100},
    "max_tokens 101": {"max_tokens": 101},
    "max_completion_tokens": {"max_completion_tokens": 100},
    "stop": {"stop": "x"},
    "stop in a list": {"stop": ["x"]},
    "two stops": {"stop": ["x", "y"]},
    "two stops, in another order": {"stop": ["y", "x"]},
    "presence_penalty": {"presence_penalty": 0.5},
    "frequency_penalty": {"frequency_penalty": 0.5},
    "seed": {"seed": 1},
    "n": {"n": 1},
    "logprobs": {"logprobs": True},
    "top_logprobs": {"logprobs": True, "top_logprobs": 2},
    "logit_bias": {"logit_bias": {"1": 2}},
    "response_format": {"response_format": {"type": "text"}},
    "JSON": {"response_format": {"type": "json_object"}},
    "tools": {"tools": [TOOL]},
    "two tools": {"tools": [TOOL, TOOL]},
    "tool_choice": {"tools": [TOOL], "tool_choice": "none"},
    "parallel_tool_calls": {"tools": [TOOL], "parallel_tool_calls": False},
    "reasoning_effort": {"reasoning_effort": "high"},
    "thinking": {"extra_body": {"thinking": {"type": "enabled"}}},
    "no thinking": {"extra_body": {"thinking": {"type": "disabled"}}},
    "user": {"user": "42"},
    "user_id": {"extra_body": {"user_id": "42"}},
    "metadata": {"metadata": {"a": "b"}},
    "store": {"store": False},
    "service_tier": {"service_tier": "flex"},
    "verbosity": {"verbosity": "low"},
    "unknown": {"extra_body": {"x": 1}},
    "unknown, a float": {"extra_body": {"x": 1.0}},
    "unknown, true": {"extra_body": {"x": True}},
    "unknown, a text": {"extra_body": {"x": "1"}},
    "unknown, null": {"extra_body": {"x": None}},
    "unknown, deeper": {"extra_body": {"x": {"y": [1]}}},
    "extra_query": {"extra_query": {"a": "1"}},
    "another extra_query": {"extra_query": {"a": "2"}},
    "another key in a header": {"extra_headers": {"Authorization": "Bearer another"}},
    "a third key in a header": {"extra_headers": {"authorization": "Bearer third"}},
    "a cookie": {"extra_headers": {"Cookie": "session=1"}},
}
VARIATIONS = [
    {},
    *({"messages": messages} for messages in MESSAGES.values()),
    *FIELDS.values(),
]


def numbered() -> Callable[[Exchange], None]:
    """Make a script that counts."""
    count = 0

    def script(exchange: Exchange) -> None:
        nonlocal count
        count += 1
        whole(completion(f'{{"answer": {count}}}'))(exchange)

    return script


def ask(driver: Driver, client: Any, **changed: Any) -> tuple[str, str]:
    """Make a call with some fields changed; say what it gave, and where from."""
    found = driver.call(client.chat.completions.create, **{**BASE, **changed})
    if changed.get("stream"):
        return driver.stream_text(found), status(found)
    return found.choices[0].message.content, status(found)


@pytest.mark.slow
def test_each_field(driver: Driver) -> None:
    """Whatever is changed, alone, is another request; asked once more, each has its own answer."""
    with RawServer(numbered()) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct", lint="off", max_retries=0)
        first = [ask(driver, client, **variation) for variation in VARIATIONS]
        again = [ask(driver, client, **variation) for variation in VARIATIONS]
        streams = [ask(driver, client, **variation, stream=True) for variation in VARIATIONS]

        assert len(VARIATIONS) == len(server.requests)
    assert ["miss"] * len(VARIATIONS) == [where for _, where in first]
    assert [(text, "hit") for text, _ in first] == again == streams
    assert len(VARIATIONS) == len({text for text, _ in first})


SAME: dict[str, dict[str, Any]] = {
    "stream": {"stream": True},
    "stream_options": {"stream": True, "stream_options": {"include_usage": True}},
    "timeout": {"timeout": 5.0},
    "extra_headers": {"extra_headers": {"X-Request-Id": "1", "X-Session-Id": "s", "X-Mode": "batch"}},
    "the order of fields": {"messages": [dict(reversed(SYSTEM.items())), dict(reversed(USER.items()))]},
    "an empty query": {"extra_query": {}},
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_matter(driver: Driver, name: str) -> None:
    """How an answer travels, and what is said of a call besides, is not part of what is asked."""
    with RawServer(numbered()) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct")
        ask(driver, client)

        assert ('{"answer": 1}', "hit") == ask(driver, client, **SAME[name])
        child = client.with_options(session_id="s", user="u", tags={"a": "b"}, priority="batch", max_retries=7)
        assert ('{"answer": 1}', "hit") == ask(driver, child)


def key_of_a_function(text: str, *, is_async: bool) -> Callable[[], Any]:
    """Make a function that gives a key."""

    async def give() -> str:
        return text

    return give if is_async else lambda: text


OWNERS: dict[str, Callable[[Driver, Any, Any], Any]] = {
    "another key": lambda _, client, __: client.with_options(api_key="another-key-0000"),
    "a client with another key": lambda driver, _, given: driver.client(**{**given, "api_key": "another-key-0000"}),
    "a tenant": lambda _, client, __: client.with_options(tenant="a"),
    "a tenant that is named as a key": lambda _, client, __: client.with_options(tenant="test-key"),
    "a tenant without a name": lambda _, client, __: client.with_options(tenant=""),
    "a key by default": lambda driver, _, given: driver.client(
        **given, default_headers={"Authorization": "Bearer another"}
    ),
    "a cookie by default": lambda driver, _, given: driver.client(**given, default_headers={"cookie": "a=b"}),
    "a query by default": lambda driver, _, given: driver.client(**given, default_query={"version": "2"}),
}


@pytest.mark.parametrize("name", OWNERS)
def test_whose_it_is(driver: Driver, name: str) -> None:
    """Nobody is given what another has asked, though they share a cache; and everybody his own."""
    with RawServer(numbered()) as server:
        given: dict[str, Any] = {"base_url": server.url, "cache": in_memory(), "plain": "direct", "max_retries": 0}
        client = driver.client(**given)
        other = OWNERS[name](driver, client, given)
        told = [ask(driver, one) for one in (client, other, client, other)]

    assert [("1", "miss"), ("2", "miss"), ("1", "hit"), ("2", "hit")] == [(text[-2], where) for text, where in told]


def test_the_same_tenant(driver: Driver) -> None:
    """Keys that belong to one tenant, by the caller's word, share their answers."""
    with RawServer(numbered()) as server:
        given: dict[str, Any] = {"base_url": server.url, "cache": in_memory(), "plain": "direct", "tenant": "a"}
        told = [ask(driver, driver.client(**given, api_key=f"key-{number}-0000000")) for number in range(2)]

    assert ["miss", "hit"] == [where for _, where in told]


def test_a_key_that_a_function_gives(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """A function may give another's key each time: its calls are not cached, which is said once, unless named."""
    with RawServer(numbered()) as server:
        provider = key_of_a_function("test-key", is_async=driver.is_async)
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct", api_key=provider)
        told = [ask(driver, client)[1] for _ in range(2)]
        told += [ask(driver, client.with_options(tenant="a"))[1] for _ in range(2)]

    assert ["bypass", "bypass", "miss", "hit"] == told
    assert 1 == caplog.text.count("say whose they are by tenant=")
