"""Which answers of calls are kept, for how long, and what they are good for when their time is over."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Route, TokenBudget
from deepseek_sdk.backends.rules import RuleEngine
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.testing import Reply
from tests.caching.cached_calls import Wall, in_memory, outcome, status, until
from tests.raw_server import (
    DONE,
    ROLE,
    RawServer,
    chunk,
    completion,
    delta,
    event,
    refusal,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver, StartEmulator

WAYS = ("plain", "streamed")
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def ask(driver: Driver, client: Any, way: str = "plain", prompt: str = "Hello", **body: Any) -> str:
    """Make a call, read all of it, and tell what became of it in the cache."""
    found = driver.create(client, prompt, stream=way == "streamed", **body)
    if way == "streamed":
        for _ in driver.iterate(found):
            pass
    return status(found)


def refused(driver: Driver, client: Any, way: str, **body: Any) -> str | None:
    """Make a call, read all of it, and tell why its answer is not kept."""
    found = driver.create(client, stream=way == "streamed", **body)
    if way == "streamed":
        for _ in driver.iterate(found):
            pass
    return outcome(found).refused


INCOMPLETE: dict[str, dict[str, Any]] = {
    "length": {"replies": Reply(content="cut off", finish_reason="length")},
    "content_filter": {"faults": ["content_filter"]},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reason", INCOMPLETE)
def test_incomplete(driver: Driver, emulator: StartEmulator, reason: str, way: str) -> None:
    """An answer that a limit has cut, or a filter, is given and not kept."""
    server = emulator(**INCOMPLETE[reason])
    cache = in_memory()
    client = driver.client(base_url=server.url, cache=cache)

    assert reason == refused(driver, client, way)
    assert "miss" == ask(driver, client, way)
    assert cache.tally.stats().refused[reason] >= 1


BROKEN = ("cut_by_eof", "cut_by_reset", "insufficient_system_resource", "error_event_late", "empty_answer",
          "missing_finish_reason", "unknown_finish_reason", "malformed_event", "status_500")  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", BROKEN)
def test_broken(driver: Driver, emulator: StartEmulator, fault: str, way: str) -> None:
    """An answer that breaks off is an error, and the next call asks."""
    server = emulator(faults=[fault])
    cache = in_memory()
    client = driver.client(base_url=server.url, cache=cache, max_retries=0)
    with pytest.raises(openai.APIError) as caught:
        ask(driver, client, way)

    assert "miss" == status(caught.value)
    assert 0 == cache.tally.stats().stored
    assert ["miss", "hit"] == [ask(driver, client, way) for _ in range(2)]


@pytest.mark.parametrize("way", WAYS)
def test_empty(driver: Driver, way: str) -> None:
    """An empty answer is not kept, even where the caller takes it for one."""
    empty = whole(completion("")) if way == "plain" else stream(ROLE, event(chunk("stop", content="")), DONE)
    with RawServer(empty) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), on_empty="accept", plain="direct")

        assert "empty" == refused(driver, client, way)
        assert "empty" == refused(driver, client, way)


def test_closed_early(driver: Driver, emulator: StartEmulator) -> None:
    """A stream whose caller has had enough of it is not kept."""
    server = emulator(replies="one two three four five six", tokens_per_s=50)
    client = driver.client(base_url=server.url, cache=in_memory())
    found = driver.create(client, stream=True)
    next(driver.iterate(found))
    driver.call(found.close)

    assert ["miss", "hit"] == [ask(driver, client, "streamed") for _ in range(2)]


@pytest.mark.parametrize("way", WAYS)
def test_degraded(driver: Driver, way: str) -> None:
    """What a last resort says, or another model than the one asked for, is not kept."""
    with RawServer(refusal(503, "down")) as down, RawServer(whole(completion("Hi"))) as second:
        rules = driver.client(base_url=down.url, cache=in_memory(), max_retries=0,
                              routes=[Route("deepseek-flash"), RuleEngine()])  # fmt: skip
        other = Route("deepseek-v4-pro", base_url=second.url, api_key="other-key-000000")
        moved = driver.client(base_url=down.url, cache=in_memory(), max_retries=0,
                              routes=[Route("deepseek-flash"), other])  # fmt: skip

        assert ["degraded"] * 2 == [refused(driver, rules, way) for _ in range(2)]
        assert ["degraded"] * 2 == [refused(driver, moved, way) for _ in range(2)]


@pytest.mark.parametrize("way", WAYS)
def test_cut_prompt(driver: Driver, emulator: StartEmulator, way: str) -> None:
    """The answer to a prompt that was cut to fit is not kept as that to the whole."""
    client = driver.client(base_url=emulator().url, cache=in_memory(),
                           token_budget=TokenBudget(limit=200, policy="head_tail"))  # fmt: skip
    messages = [{"role": "user", "content": "a long story " * 500}]

    assert "cut_prompt" == refused(driver, client, way, messages=messages)
    assert "miss" == ask(driver, client, way)
    assert "hit" == ask(driver, client, way)


def test_too_large(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that is larger than one may be is not kept."""
    client = driver.client(base_url=emulator(replies="x" * 2000).url, cache=in_memory(max_entry_bytes=1000))

    assert "too_large" == refused(driver, client, "plain")


def test_too_warm(driver: Driver, emulator: StartEmulator) -> None:
    """Above a temperature that the cache may set, calls have nothing to do with it; not said, it is 1."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory(max_temperature=0.5))
    told = [ask(driver, client, temperature=warm) for warm in (0.5, 0.5, 0.6, 0.6)]

    assert ["miss", "hit", "bypass", "bypass"] == told
    assert "bypass" == ask(driver, client)


@pytest.mark.parametrize("way", WAYS)
def test_tool_calls(driver: Driver, way: str) -> None:
    """A turn that calls tools is complete, though it says nothing."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    plain = whole(completion(None, "tool_calls", tool_calls=[call]))
    streamed = stream(ROLE, delta(tool_calls=[call]), event(chunk("tool_calls")), DONE)
    with RawServer(plain if way == "plain" else streamed) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct")

        assert ["miss", "hit"] == [ask(driver, client, way, tools=[TOOL]) for _ in range(2)]


def test_a_stream_that_nobody_judged(driver: Driver) -> None:
    """A stream whose JSON is none is given to who takes a stream as it is, and not to a plain call, which does not."""
    wrong = stream(ROLE, delta(content="no JSON"), event(chunk("stop")), DONE)
    with RawServer(wrong, whole(completion('{"a": 1}'))) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct")
        body: dict[str, Any] = {"response_format": {"type": "json_object"}, "prompt": "JSON?"}
        told = [ask(driver, client, way, **body) for way in ("streamed", "streamed", "plain", "plain", "streamed")]

        assert ["miss", "hit", "miss", "hit", "hit"] == told
        assert 2 == len(server.requests)


ODD: dict[str, Callable[[], Any]] = {
    "no usage": lambda: {**completion("Hi"), "usage": None},
    "usage of another kind": lambda: {**completion("Hi"), "usage": {"prompt_tokens": None}},
    "a lone surrogate": lambda: json.loads(json.dumps(completion("a\ud83d b"))),
    "no id": lambda: {name: value for name, value in completion("Hi").items() if name != "id"},
    "unknown fields": lambda: {**completion("Hi", x=[1, {"y": None}]), "z": 1.5},
    "a long number": lambda: {**completion("Hi"), "z": 10**40},
    "content in parts": lambda: completion([{"type": "text", "text": "Hi"}]),  # type: ignore[arg-type]
    "deep": lambda: {**completion("Hi"), "z": json.loads("[" * 300 + "]" * 300)},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_answers(driver: Driver, name: str) -> None:
    """Whatever a server adds or leaves out, the caller gets what he gets without a cache, and again."""
    body = json.dumps(ODD[name]()).encode()
    with RawServer(whole(body)) as server:
        bare = driver.client(base_url=server.url, plain="direct")
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct")
        expected = driver.create(bare)
        found = [driver.create(client) for _ in range(2)]

    assert [repr(expected)] * 2 == [repr(one) for one in found]


# Time.


def kept_for(driver: Driver, client: Any, wall: Wall, **body: Any) -> float:
    """Measure for how long an answer is given, in seconds, to a tenth."""
    ask(driver, client, **body)
    only, start = client.with_options(cache="only, no-store"), wall.seconds
    low, high = 0.0, 200_000.0
    while high - low > 0.1:
        middle = (low + high) / 2
        wall.seconds = start + middle
        try:
            driver.create(only, body.get("prompt", "Hello"))
            low = middle
        except openai.NotFoundError:
            high = middle
    wall.seconds = start
    return low


LIFETIMES: dict[str, tuple[dict[str, Any], float]] = {
    "as it is": ({}, 86_400),
    "ttl_s": ({"ttl_s": 1000}, 1000),
    "a tag": ({"ttl_by_tag": {"kind": 500}}, 500),
    "a tag with a value": ({"ttl_by_tag": {"kind=news": 60, "kind=other": 10}}, 60),
    "another tag": ({"ttl_by_tag": {"other": 10}}, 86_400),
    "a model": ({"ttl_by_model": {"deepseek-flash": 300, "other": 5}}, 300),
    "the shortest": ({"ttl_s": 700, "ttl_by_tag": {"kind": 500}, "ttl_by_model": {"deepseek-flash": 900}}, 500),
    "for ever, but for a tag": ({"ttl_s": None, "ttl_by_tag": {"kind": 500}}, 500),
}


@pytest.mark.parametrize("name", LIFETIMES)
def test_how_long(driver: Driver, emulator: StartEmulator, name: str) -> None:
    """An answer is given for the shortest time that its tags, its model and the cache set, 10 % more or less."""
    given, seconds = LIFETIMES[name]
    wall = Wall()
    client = driver.client(base_url=emulator().url, cache=in_memory(wall=wall, **given), tags={"kind": "news"})

    assert pytest.approx(seconds, rel=0.101) == kept_for(driver, client, wall)


def test_jitter(driver: Driver, emulator: StartEmulator) -> None:
    """What was kept at one moment does not end at one moment, and any process would say when the same."""
    wall = Wall()
    url = emulator().url
    client = driver.client(base_url=url, cache=in_memory(wall=wall, ttl_s=1000))
    twin = driver.client(base_url=url, cache=in_memory(wall=wall, ttl_s=1000))
    times = [kept_for(driver, client, wall, prompt=f"Question {number}") for number in range(8)]

    assert all(899 < seconds < 1101 for seconds in times)
    assert max(times) - min(times) > 20
    assert pytest.approx(times[0], abs=0.2) == kept_for(driver, twin, wall, prompt="Question 0")


def test_stale_while_revalidate(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that has ended is given for a while longer, and renewed by one call in the background."""
    wall = Wall()
    cache = in_memory(wall=wall, ttl_s=100, stale_while_revalidate_s=100)
    server = emulator(replies=["old", "new", "newer"])
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    wall.forward(120)
    found = driver.create(client)
    assert driver.call(partial(finished, driver, lambda: cache.tally.stats().revalidated == 1))
    again = driver.create(client)

    assert [("old", "stale"), ("new", "hit")] == [
        (one.choices[0].message.content, status(one)) for one in (found, again)
    ]
    assert 120.0 == outcome(found).age
    assert 2 == len(server.requests)
    usage = driver.call(client.usage).total
    assert (4, 2, 2) == (usage.calls, usage.attempts, usage.cached)
    told = cache.tally.stats()
    assert (1, 2, 2) == (told.stale, told.hits, told.stored)


def finished(driver: Driver, holds: Callable[[], bool]) -> Any:
    """Look until something in the background has happened; in the async colour, while its loop runs."""
    if not driver.is_async:
        return until(holds)
    from anyio import to_thread  # noqa: PLC0415  only this colour needs it

    return to_thread.run_sync(until, holds)


def test_one_renewal_at_a_time(driver: Driver) -> None:
    """While an answer is renewed, those who get the old one do not ask for another renewal."""
    wall = Wall()
    cache = in_memory(wall=wall, ttl_s=100, stale_while_revalidate_s=100)
    with RawServer(whole(completion("old")), stream(before_headers=30)) as server:
        client = driver.client(base_url=server.url, cache=cache, plain="direct")
        ask(driver, client)
        wall.forward(120)
        told = [ask(driver, client) for _ in range(5)]
        assert driver.call(partial(finished, driver, lambda: len(server.requests) == 2))
        told += [ask(driver, client) for _ in range(5)]

        assert ["stale"] * 10 == told
        assert 2 == len(server.requests)


@pytest.mark.parametrize("said", ["only", "no-store"])
def test_no_renewal(driver: Driver, emulator: StartEmulator, said: str) -> None:
    """A call that may not ask, or may keep nothing, renews nothing, and compares nothing."""
    wall = Wall()
    cache = in_memory(wall=wall, ttl_s=100, stale_while_revalidate_s=100, canary_share=1.0, chance=lambda: 0.0)
    server = emulator(replies=["old", "new"])
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    child = client.with_options(cache=said)
    told = [ask(driver, child)]
    wall.forward(120)
    told += [ask(driver, child) for _ in range(2)]
    driver.call(client.close)

    assert ["hit", "stale", "stale"] == told
    assert 1 == len(server.requests)
    assert 1 == cache.tally.stats().stored


def test_max_age_beats_stale(driver: Driver, emulator: StartEmulator) -> None:
    """A call that wants a young answer is given none that has ended."""
    wall = Wall()
    cache = in_memory(wall=wall, ttl_s=100, stale_while_revalidate_s=100, stale_if_error_s=100)
    client = driver.client(base_url=emulator().url, cache=cache)
    ask(driver, client)
    wall.forward(120)

    assert "miss" == ask(driver, client.with_options(cache="max-age=60"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", ["status_500", "status_429", "cut_by_reset", "reset_before_headers"])
def test_stale_if_error(driver: Driver, emulator: StartEmulator, fault: str, way: str) -> None:
    """Where no new answer can be had, one that has ended is given in its place."""
    wall = Wall()
    server = emulator(replies=["old"])
    cache = in_memory(wall=wall, ttl_s=100, stale_if_error_s=1000)
    client = driver.client(base_url=server.url, cache=cache, max_retries=0)
    ask(driver, client)
    wall.forward(500)
    # A stream of which something was seen can no longer be replaced.
    server.faults = [f"{fault}(after_events=1)" if "after" not in fault and "cut" in fault else fault]
    found = driver.create(client, stream=way == "streamed")
    text = driver.stream_text(found) if way == "streamed" else found.choices[0].message.content

    assert ("old", "stale") == (text, status(found))
    assert 2 == len(server.requests)
    wall.forward(1000)
    server.faults = "status_500"
    with pytest.raises(openai.InternalServerError):
        ask(driver, client, way)


@pytest.mark.parametrize("fault", ["status_400", "status_401", "status_402"])
def test_no_stale_answer_to_a_refusal(driver: Driver, emulator: StartEmulator, fault: str) -> None:
    """A refusal says something about the request or the account: an answer that has ended does not hide it."""
    wall = Wall()
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory(wall=wall, ttl_s=100, stale_if_error_s=1000))
    ask(driver, client)
    wall.forward(500)
    server.faults = fault

    with pytest.raises(openai.APIStatusError):
        ask(driver, client)


@pytest.mark.parametrize(("second", "differing"), [("old", 0), ("new", 1)])
def test_canary(driver: Driver, emulator: StartEmulator, second: str, differing: int) -> None:
    """A share of the hits is compared with a new answer, by a call in the background that the books know of."""
    draws = iter([0.9, 0.05, 0.9])
    cache = in_memory(canary_share=0.1, chance=lambda: next(draws))
    server = emulator(replies=["old", second])
    client = driver.client(base_url=server.url, cache=cache)
    told = [ask(driver, client) for _ in range(3)]
    assert driver.call(partial(finished, driver, lambda: cache.tally.stats().canaries == 1))

    assert ["miss", "hit", "hit"] == told
    assert 2 == len(server.requests)
    assert differing == cache.tally.stats().differing
    assert 2 == driver.call(client.usage).total.attempts


# Refusals.


def test_a_refusal_of_what_is_mended(driver: Driver) -> None:
    """What the server refused when it was sent as it is is asked again by a call that is mended before."""
    with RawServer(refusal(400, "Wrong."), whole(completion("Hi"))) as server:
        client = driver.client(base_url=server.url, cache=in_memory(), plain="direct")
        with pytest.raises(openai.BadRequestError):
            ask(driver, client.with_options(lint="off"))

        assert "miss" == ask(driver, client)
        assert 2 == len(server.requests)


def test_a_refusal_by_another_server(driver: Driver) -> None:
    """What one server refused may be right for another."""
    with RawServer(refusal(400, "Wrong.")) as first, RawServer(whole(completion("Hi"))) as second:
        cache = in_memory()
        with pytest.raises(openai.BadRequestError):
            ask(driver, driver.client(base_url=first.url, cache=cache, plain="direct"))

        assert "miss" == ask(driver, driver.client(base_url=second.url, cache=cache, plain="direct"))


def test_no_refusals_are_remembered(driver: Driver) -> None:
    """A cache may remember no refusals; a call that looks for nothing is not refused by one."""
    with RawServer(refusal(400, "Wrong.")) as server:
        forgetful = driver.client(base_url=server.url, cache=in_memory(negative_ttl_s=None))
        client = driver.client(base_url=server.url, cache=in_memory())
        for one in (forgetful, forgetful, client, client.with_options(cache="refresh"), client):
            with pytest.raises(openai.BadRequestError):
                ask(driver, one)

        assert 4 == len(server.requests)


class Unable(ExactCache):
    """A cache that cannot make of an answer what is kept."""

    def entry_of(self, *_: Any, **__: Any) -> Any:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_cannot_be_kept(driver: Driver, emulator: StartEmulator, way: str) -> None:
    """Where keeping an answer fails, the caller has it all the same, and it is counted."""
    cache = Unable(max_bytes=0)
    client = driver.client(base_url=emulator().url, cache=cache)

    assert "unexpected" == refused(driver, client, way)
    assert {"unexpected": 1} == cache.tally.stats().errors
