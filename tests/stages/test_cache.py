"""`ResponseCache`: what was answered is given again, as a completion or as a stream, and what the caller may forbid."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import options, report
from deepseek_sdk._cache import CacheControl
from deepseek_sdk.errors import CacheMissError, ConfigurationError
from tests.caching.cached_calls import SHAPES, THINKING, TOOLS, Wall, in_memory, outcome, said, status, streamed
from tests.raw_server import without_certificates  # noqa: F401  a fixture

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator

KEPT = {"folded": {"plain": "stream"}, "direct": {"plain": "direct"}, "streamed": {}}


def ask(driver: Driver, client: Any, way: str, **body: Any) -> tuple[Any, dict[str, Any]]:
    """Make a call; give the answer, or the stream read to its end, and what it says."""
    if way != "streamed":
        answer = driver.create(client, **body)
        return answer, said(answer)
    stream = driver.create(client, stream=True, **body)
    return stream, streamed(driver.iterate(stream))


def chunks(driver: Driver, client: Any, prompt: str = "Hello", **body: Any) -> list[dict[str, Any]]:
    """Give the chunks of a streamed call."""
    return [chunk.model_dump() for chunk in driver.iterate(driver.create(client, prompt, stream=True, **body))]


@pytest.mark.parametrize("given", ["plain", "streamed"])
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("shape", SHAPES)
def test_given_again(driver: Driver, emulator: StartEmulator, shape: str, kept: str, given: str) -> None:
    """An answer that came in any way is given in any way, with all that it had: the server is asked once."""
    reply, body = SHAPES[shape]
    server = emulator(replies=reply)
    client = driver.client(base_url=server.url, cache=in_memory(), **KEPT[kept])
    first, first_said = ask(driver, client, kept, **body)
    again, again_said = ask(driver, client, given, **body)

    assert first_said == again_said
    assert 1 == len(server.requests)
    assert ("miss", "hit", "memory") == (status(first), status(again), outcome(again).level)
    assert [reply.text, reply.thought] == [again_said["content"], again_said["reasoning"]]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_very_same_chunks(driver: Driver, emulator: StartEmulator, shape: str) -> None:
    """A stream that is kept is given with the boundaries that it had."""
    reply, body = SHAPES[shape]
    client = driver.client(base_url=emulator(replies=reply).url, cache=in_memory())

    assert chunks(driver, client, **body) == chunks(driver, client, **body)


def test_a_completion_as_a_stream(driver: Driver, emulator: StartEmulator) -> None:
    """A completion becomes a stream as a server sends it: role, reasoning, content, whole tool calls, the end."""
    reply, body = SHAPES["tool calls"]
    client = driver.client(base_url=emulator(replies=reply).url, cache=in_memory())
    driver.create(client, **body)
    found = [(chunk["choices"][0]["delta"], chunk["choices"][0]) for chunk in chunks(driver, client, **body)]

    assert "assistant" == found[0][0]["role"]
    kinds = [name for delta, _ in found for name in ("reasoning_content", "content", "tool_calls") if delta.get(name)]
    assert ["reasoning_content", "content", "tool_calls", "tool_calls"] == kinds
    assert ([None] * (len(found) - 1), "tool_calls") == (
        [choice["finish_reason"] for _, choice in found[:-1]],
        found[-1][1]["finish_reason"],
    )


WITH_USAGE: dict[str, Any] = {"stream_options": {"include_usage": True}}


def seen(found: list[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """Say of each chunk whether it has choices, and usage."""
    return [(bool(chunk["choices"]), bool(chunk["usage"])) for chunk in found]


@pytest.mark.parametrize("shape", ["finish", "own_chunk", "both"])
@pytest.mark.parametrize("kept", ["plain", "without", "with"])
def test_usage_for_who_asks(driver: Driver, emulator: StartEmulator, kept: str, shape: str) -> None:
    """A stream tells its usage to who asks for it, whatever the first caller wanted, and no chunk of it to others."""
    server = emulator(replies=THINKING, usage_shape=shape)
    client = driver.client(base_url=server.url, cache=in_memory())
    if kept == "plain":
        driver.create(client)
    else:
        chunks(driver, client, **(WITH_USAGE if kept == "with" else {}))
    without, wanted = chunks(driver, client), chunks(driver, client, **WITH_USAGE)

    assert [] == [chunk for chunk in without if not chunk["choices"]]
    assert wanted[-1]["usage"]["total_tokens"] > 0
    assert 1 == len({chunk["id"] for chunk in without})


def test_a_stream_that_told_no_usage(driver: Driver, emulator: StartEmulator) -> None:
    """A plain call, which always has usage, is not given a stream without it; nor is a stream that asks for it."""
    server = emulator(replies=THINKING, usage_shape="own_chunk")
    client = driver.client(base_url=server.url, cache=in_memory())
    chunks(driver, client)
    chunks(driver, client)
    assert 1 == len(server.requests)
    answer = driver.create(client)

    assert answer.usage is not None
    assert 2 == len(server.requests)
    assert seen(chunks(driver, client, **WITH_USAGE))[-1] == (False, True)
    assert 2 == len(server.requests)


@pytest.mark.parametrize("given", ["plain", "streamed"])
def test_helpers(driver: Driver, emulator: StartEmulator, given: str) -> None:
    """Helpers of openai, `parse()` and `stream()`, read a kept answer as they read any."""
    from pydantic import BaseModel  # noqa: PLC0415  as a caller has it

    class City(BaseModel):
        name: str

    server = emulator(replies='{"name": "杭州"}')
    client = driver.client(base_url=server.url, cache=in_memory())
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "JSON: where?"}]}
    body["response_format"] = City
    found = []
    for _ in range(2):
        if given == "plain":
            found.append(driver.call(client.chat.completions.parse, **body))
        else:
            with driver.entered(client.chat.completions.stream(**body)) as stream:
                for _event in driver.iterate(stream):
                    pass
                found.append(driver.call(stream.get_final_completion))

    assert [City(name="杭州")] * 2 == [one.choices[0].message.parsed for one in found]
    assert 1 == len(server.requests)


def test_raw_responses(driver: Driver, emulator: StartEmulator) -> None:
    """A raw response of a kept answer parses into it, and says in a header where it comes from."""
    server = emulator(replies=THINKING)
    client = driver.client(base_url=server.url, cache=in_memory())
    first = driver.create(client)
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}
    raw = driver.call(client.chat.completions.with_raw_response.create, **body)
    raw_stream = driver.call(client.chat.completions.with_raw_response.create, **body, stream=True)

    assert said(first) == said(driver.call(raw.parse))
    assert said(first) == streamed(driver.iterate(raw_stream.parse()))
    assert ["hit", "hit"] == [one.headers["x-deepseek-sdk-cache"] for one in (raw, raw_stream)]
    assert ["hit", "hit"] == [status(raw), status(raw.parse())]
    with driver.entered(client.chat.completions.with_streaming_response.create(**body)) as response:
        assert said(first) == said(driver.call(response.parse))
    with driver.entered(client.chat.completions.with_streaming_response.create(**body, stream=True)) as response:
        text = b"".join(driver.iterate(response.iter_bytes())).decode()
    assert text.endswith("data: [DONE]\n\n")
    assert 1 == len(server.requests)


@pytest.mark.parametrize("given", ["plain", "streamed"])
@pytest.mark.parametrize("kept", ["plain", "streamed"])
def test_completions(driver: Driver, emulator: StartEmulator, kept: str, given: str) -> None:
    """What is filled in the middle is kept and given likewise."""
    server = emulator()
    client = driver.client(base_url=f"{server.url}/beta", cache=in_memory())
    texts = []
    for way in (kept, given):
        body = {"model": "deepseek-v4-pro", "prompt": "def f(", "suffix": "return 1", "stream": way == "streamed"}
        found = driver.call(client.completions.create, **body)
        parts = list(driver.iterate(found)) if way == "streamed" else [found]
        texts.append("".join(part.choices[0].text for part in parts if part.choices))

    assert texts[0] == texts[1] != ""
    assert 1 == len(server.requests)


@pytest.mark.parametrize("way", ["plain", "streamed"])
def test_copies(driver: Driver, emulator: StartEmulator, way: str) -> None:
    """A kept answer is copied and pickled as any is, and tells its story afterwards."""
    client = driver.client(base_url=emulator().url, cache=in_memory())
    driver.create(client)
    found = ask(driver, client, way)[0]
    if way == "streamed":
        found = next(iter(driver.iterate(driver.create(client, stream=True))))
        assert found == pickle.loads(pickle.dumps(found))  # noqa: S301  our own
        return
    twins = [copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))]  # noqa: S301  our own
    twins.append(found.model_copy(deep=True))

    assert [found] * 4 == twins
    assert ["hit"] * 3 == [status(twin) for twin in twins[:3]]
    saved = outcome(found).saved
    assert saved is not None
    assert [saved] * 3 == [outcome(twin).saved for twin in twins[:3]]


def test_what_a_caller_does_to_an_answer(driver: Driver, emulator: StartEmulator) -> None:
    """Whatever a caller changes in what he got, or in what he asked with, the next one gets the answer as it was."""
    reply, body = SHAPES["tool calls"]
    tools = copy.deepcopy(TOOLS)
    client = driver.client(base_url=emulator(replies=reply).url, cache=in_memory())
    first = driver.create(client, tools=tools)
    expected = said(first)
    tools.clear()
    for _ in range(3):
        found = driver.create(client, **body)
        assert expected == said(found)
        found.choices[0].message.tool_calls.clear()
        found.choices[0].message.content = "no"
        found.usage = None
        report(found).tags["a"] = "b"  # type: ignore[index]
        stream = driver.create(client, stream=True, **body)
        for chunk in driver.iterate(stream):
            chunk.choices.clear()
    driver.call(
        client.chat.completions.with_raw_response.create,
        **{
            "model": "deepseek-flash",
            "messages": [{"role": "user", "content": "Hello"}],
            **body,
        },
    ).headers.clear()

    assert expected == said(driver.create(client, **body))
    assert expected == streamed(driver.iterate(driver.create(client, stream=True, **body)))


# What a call may have.


def test_bypass(driver: Driver, emulator: StartEmulator) -> None:
    """With "bypass", or None, neither is an answer looked up nor a new one kept."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    found = [driver.create(client.with_options(cache=said_)) for said_ in ("bypass", None)]
    found += [driver.create(client), driver.create(client.with_options(cache="bypass"))]

    assert ["bypass", "bypass", "miss", "bypass"] == [status(one) for one in found]
    assert 4 == len(server.requests)


def test_refresh(driver: Driver, emulator: StartEmulator) -> None:
    """With "refresh" the model is asked, and the new answer takes the place of the old one."""
    client = driver.client(base_url=emulator(replies=["old", "new"]).url, cache=in_memory())
    found = [driver.create(child) for child in (client, client.with_options(cache="refresh"), client)]

    assert ["old", "new", "new"] == [one.choices[0].message.content for one in found]
    assert ["miss", "refresh", "hit"] == [status(one) for one in found]


@pytest.mark.parametrize("way", ["plain", "streamed"])
def test_only(driver: Driver, emulator: StartEmulator, way: str) -> None:
    """With "only" nobody is asked: a miss is an error of its own, a kind of 404."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    with pytest.raises(CacheMissError) as caught:
        driver.create(client.with_options(cache="only"), stream=way == "streamed")
    driver.create(client)

    assert (404, "miss") == (caught.value.status_code, status(caught.value))
    assert 64 == len(caught.value.key or "")
    assert "hit" == status(driver.create(client.with_options(cache="only")))
    assert 1 == len(server.requests)


@pytest.mark.parametrize("has_cache", [False, True])
def test_only_where_nothing_can_be_kept(driver: Driver, emulator: StartEmulator, *, has_cache: bool) -> None:
    """With "only" nobody is asked where there is no cache, or where it has nothing to do with the call."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory(max_temperature=0.5) if has_cache else None)
    with pytest.raises(CacheMissError) as caught:
        driver.create(client.with_options(cache="only"), temperature=1)

    assert caught.value.key is None
    assert [] == server.requests


def test_no_store(driver: Driver, emulator: StartEmulator) -> None:
    """With "no-store" a kept answer is given, and a new one is not kept."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    shy = client.with_options(cache="no-store")
    found = [driver.create(one) for one in (shy, shy, client, shy)]

    assert ["miss", "miss", "miss", "hit"] == [status(one) for one in found]
    assert 3 == len(server.requests)


def test_max_age(driver: Driver, emulator: StartEmulator) -> None:
    """With "max-age" an answer that is older is not given, and a new one takes its place."""
    wall = Wall()
    client = driver.client(base_url=emulator().url, cache=in_memory(wall=wall))
    driver.create(client)
    wall.forward(61)
    found = [driver.create(client.with_options(cache=said_)) for said_ in ("max-age=120", "max-age=60", "max-age=1")]

    assert ["hit", "miss", "hit"] == [status(one) for one in found]
    assert [61.0, None, 0.0] == [outcome(one).age for one in found]


def test_ttl(driver: Driver, emulator: StartEmulator) -> None:
    """With "ttl" a new answer is kept for so long at most, to the millisecond; never longer than the cache keeps it."""
    wall = Wall()
    client = driver.client(base_url=emulator().url, cache=in_memory(wall=wall, ttl_s=100))
    driver.create(client.with_options(cache="ttl=10"))
    driver.create(client.with_options(cache="ttl=100000"), "Long")
    wall.forward(9.9)
    soon = status(driver.create(client))
    wall.forward(0.2)
    late = status(driver.create(client))
    wall.forward(111)

    assert ("hit", "miss", "miss") == (soon, late, status(driver.create(client, "Long")))


def test_said_in_headers(driver: Driver, emulator: StartEmulator) -> None:
    """A framework that can set nothing but headers says it in one, which the server does not see."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    through = driver.client(
        base_url=server.url, cache=client.cache.store, default_headers={"X-DeepSeek-Cache": "refresh"}
    )
    found = [
        driver.create(client),
        driver.create(client, extra_headers={"x-deepseek-cache": "bypass"}),
        driver.create(through),
        driver.create(through, extra_headers={"X-DeepSeek-Cache": "no-store"}),
        driver.create(client, extra_headers={"X-DeepSeek-Cache": "max-age=1000, no-store"}),
    ]

    # The header of a call stands in the place of the client's, as any header does.
    assert ["miss", "bypass", "refresh", "hit", "hit"] == [status(one) for one in found]
    assert not any("x-deepseek-cache" in request.headers for request in server.requests)


NESTED = {
    "a client within a client": ("refresh", "no-store", None, None),
    "a block": ("refresh", None, "no-store", None),
    "a header": ("refresh", None, None, "no-store"),
    "a header within a block": (None, None, "no-store", "refresh"),
    "a header in a block in a client": ("no-store", None, "ttl=5", "refresh"),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested(driver: Driver, emulator: StartEmulator, name: str) -> None:
    """What is said nearer to the call can forbid more, and allow nothing that was forbidden farther out."""
    outer, inner, block, header = NESTED[name]
    server = emulator(replies=["kept", "new", "newer"])
    client = driver.client(base_url=server.url, cache=in_memory())
    driver.create(client)
    child = client if outer is None else client.with_options(cache=outer)
    child = child if inner is None else child.with_options(cache=inner)
    headers = {} if header is None else {"X-DeepSeek-Cache": header}
    with options(**({} if block is None else {"cache": block})):
        found = driver.create(child, extra_headers=headers)

    assert ("bypass", "new") == (status(found), found.choices[0].message.content)
    assert "kept" == driver.create(client).choices[0].message.content


@pytest.mark.parametrize(
    "word", ["always", "bypas", "max-age", "ttl=-1", "ttl=1e3", "refresh only", "", 5, True, ["only"]]
)
def test_words_that_mean_nothing(driver: Driver, emulator: StartEmulator, word: Any) -> None:
    """What cannot be read is an error where it is said, and lists what can be said."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    messages = []
    with pytest.raises(ConfigurationError) as caught:
        client.with_options(cache=word)
    messages.append(str(caught.value))
    with pytest.raises(ConfigurationError) as caught, options(cache=word):
        pass
    messages.append(str(caught.value))
    if isinstance(word, str):
        with pytest.raises(ConfigurationError) as caught:
            driver.create(client, extra_headers={"X-DeepSeek-Cache": word})
        messages.append(str(caught.value))

    assert all("'bypass', 'refresh', 'only', 'no-store'" in message and repr(word) in message for message in messages)
    assert [] == server.requests


def test_a_control_of_ones_own(driver: Driver, emulator: StartEmulator) -> None:
    """A CacheControl says the same as words do."""
    client = driver.client(base_url=emulator().url, cache=in_memory())
    driver.create(client)

    assert "refresh" == status(driver.create(client.with_options(cache=CacheControl(reads=False))))
