"""`client.cache`, in both colours: what the cache would do with a call, and what people do with the cache."""

from __future__ import annotations

import inspect
import io
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from deepseek_sdk import options, report
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.handle import AsyncCache, Cache
from deepseek_sdk.caching.rehearsal import unsent
from deepseek_sdk.errors import CacheMissError, ConfigurationError, InvalidRequestError
from deepseek_sdk.testing import Reply
from tests.caching.cached_calls import TOOLS, Wall, in_memory

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.caching.explaining import Explanation
    from tests.conftest import Driver, StartEmulator

MESSAGES = [{"role": "user", "content": "Hello"}]


def explain(driver: Driver, client: Any, **fields: Any) -> Explanation:
    """Tell what would become of what `driver.create()` asks."""
    found: Explanation = driver.call(client.cache.explain, MESSAGES, **{"model": "deepseek-flash", **fields})
    return found


def test_without_a_cache(driver: Driver) -> None:
    """A client without a cache has no handle."""
    assert driver.client().cache is None


def test_both_colours_have_the_same_methods() -> None:
    """What one colour has, the other has with the same arguments, and its methods are coroutines."""
    names = [name for name in vars(Cache) if not name.startswith("_")]

    assert names == [name for name in vars(AsyncCache) if not name.startswith("_")]
    for name in names:
        assert inspect.signature(getattr(Cache, name)) == inspect.signature(getattr(AsyncCache, name))
        assert inspect.iscoroutinefunction(getattr(AsyncCache, name))


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_operations(driver: Driver, emulator: StartEmulator, tmp_path: Path, *, is_on_disk: bool) -> None:
    """Answers of calls can be counted, listed, looked at, written out, removed and taken in again."""
    store = ExactCache(tmp_path / "cache") if is_on_disk else in_memory()
    client = driver.client(base_url=emulator(replies="你好").url, cache=store, tags={"feature": "search"})
    key = report(driver.create(client)).cache
    assert key is not None
    found: dict[str, Any] = {name: driver.call(getattr(client.cache, name)) for name in ("stats", "ls")}
    (row,) = found["ls"]

    assert (1, 1) == (found["stats"].entries, found["stats"].misses)
    assert "你好" in driver.call(client.cache.inspect, row.key[:16]).answer.decode()
    target = io.StringIO()
    assert 1 == driver.call(client.cache.export, target)
    assert 1 == driver.call(client.cache.invalidate, tag="feature=search", dry_run=True).count
    assert 1 == driver.call(client.cache.invalidate, tag="feature=search").count
    assert "miss" == explain(driver, client).status
    target.seek(0)
    assert 1 == driver.call(client.cache.import_, target).kept
    assert "hit" == explain(driver, client).status
    assert 0 == driver.call(client.cache.compact)
    assert 1 == driver.call(client.cache.flush).count
    assert [] == driver.call(client.cache.ls)
    store.close()


def test_one_cache_for_two_clients(driver: Driver, emulator: StartEmulator) -> None:
    """What `client.cache.store` is can be given to another client."""
    server = emulator(replies="one")
    first = driver.client(base_url=server.url, cache=in_memory())
    second = driver.client(base_url=server.url, cache=first.cache.store)
    driver.create(first)
    driver.create(second)

    assert 1 == len(server.requests)


SAME: dict[str, dict[str, Any]] = {
    "plain": {},
    "stream": {"stream": True},
    "sampling": {"temperature": 0.3, "max_tokens": 100, "stop": ["x"]},
    "extra body": {"extra_body": {"thinking": {"type": "disabled"}}, "model": "deepseek-v4-pro"},
    "extra query": {"extra_query": {"a": "1"}},
    "another key": {"extra_headers": {"Authorization": "Bearer sk-other"}},
    "tools": {"tools": TOOLS, "tool_choice": "auto"},
    "json": {"response_format": {"type": "json_object"}},
    "tenant": {"extra_headers": {"X-DeepSeek-Cache": "max-age=60"}},
}


@pytest.mark.parametrize("fields", SAME.values(), ids=SAME)
def test_explains_the_very_call(driver: Driver, emulator: StartEmulator, fields: dict[str, Any]) -> None:
    """What is explained is the call that the same arguments make: its key and tenant are those of the answer."""
    server = emulator(replies=Reply(content='{"a": 1}'))
    client = driver.client(base_url=server.url, cache=in_memory(), tenant="小明")
    before = explain(driver, client, **fields)
    answer = driver.create(client, **fields)
    _ = driver.stream_text(answer) if fields.get("stream") else None
    (row,) = driver.call(client.cache.ls)
    after = explain(driver, client, **fields)

    assert ("miss", "no_answer", True, True) == (before.status, before.reason, before.is_asked, before.is_kept)
    assert (row.key, row.tenant) == (before.key, before.tenant) == (after.key, after.tenant)
    assert ("hit", None, "memory", row.key[:16], False) == (
        after.status,
        after.reason,
        after.level,
        after.entry_id,
        after.is_asked,
    )
    assert (after.expires, row.model) == ((row.expires_ms or 0) / 1000, after.model)


def test_explains_a_completion_and_a_parsed_answer(driver: Driver, emulator: StartEmulator) -> None:
    """Prompts are explained as well as conversations, and so are classes that answers are parsed into."""

    class Number(BaseModel):
        """What is asked for."""

        a: int

    client = driver.client(base_url=emulator(replies=Reply(content='{"a": 1}')).url, cache=in_memory())
    driver.call(client.completions.create, model="deepseek-flash", prompt="def f(", suffix=")")
    driver.call(client.chat.completions.parse, model="deepseek-flash", messages=MESSAGES, response_format=Number)
    of_prompt = driver.call(client.cache.explain, model="deepseek-flash", prompt="def f(", suffix=")")

    assert ["hit", "hit"] == [of_prompt.status, explain(driver, client, response_format=Number).status]


def test_explaining_changes_nothing(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Nothing is sent, counted or written down."""
    server, store = emulator(replies="one"), ExactCache(tmp_path / "cache", memory_bytes=0)
    client = driver.client(base_url=server.url, cache=store)
    driver.create(client)
    before = driver.call(client.cache.stats)
    found = [explain(driver, client), explain(driver, client, temperature=0.5)]

    assert [("hit", "disk"), ("miss", None)] == [(one.status, one.level) for one in found]
    assert before == driver.call(client.cache.stats)
    assert 1 == len(server.requests)
    store.close()
    assert [1] == [row.calls for row in [driver.call(client.usage).total]]
    store.close()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("bypass", ("bypass", "control", True, False)),
        ("refresh", ("refresh", "control", True, True)),
        ("only", ("hit", None, False, False)),
        ("max-age=5", ("miss", "too_old", True, True)),
        ("no-store", ("hit", None, False, False)),
        ("no-store, max-age=5", ("miss", "too_old", True, False)),
        ("only, max-age=5", ("miss", "too_old", False, False)),
    ],
)
def test_explains_what_a_call_wants(
    driver: Driver, emulator: StartEmulator, said: str, expected: tuple[Any, ...]
) -> None:
    """What a child, the context, or a header say of the cache is part of what is explained."""
    wall = Wall()
    client = driver.client(base_url=emulator(replies="one").url, cache=in_memory(wall=wall))
    driver.create(client)
    wall.forward(10)
    with options(cache=said):
        by_context = explain(driver, client)
    by_child = explain(driver, client.with_options(cache=said))
    by_header = explain(driver, client, extra_headers={"X-DeepSeek-Cache": said})

    assert expected == (by_context.status, by_context.reason, by_context.is_asked, by_context.is_kept)
    assert by_context == by_child == by_header
    if by_child.status == "miss" and not by_child.is_asked:
        with pytest.raises(CacheMissError):
            driver.create(client.with_options(cache=said))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (99, ("hit", None, False, False)),
        (105, ("stale", None, True, False)),
        (150, ("miss", "expired", True, True)),
        (201, ("miss", "expired", True, False)),
    ],
)
def test_explains_what_has_ended(
    driver: Driver, emulator: StartEmulator, seconds: float, expected: tuple[Any, ...]
) -> None:
    """An answer past its time is renewed, or a last resort, or nothing."""
    wall = Wall()
    store = in_memory(wall=wall, ttl_s=None, stale_while_revalidate_s=10, stale_if_error_s=100)
    client = driver.client(base_url=emulator(replies="one").url, cache=store)
    driver.create(client.with_options(cache="ttl=100"))
    wall.forward(seconds)
    found = explain(driver, client)

    assert expected == (found.status, found.reason, found.is_asked, found.is_last_resort)
    assert (seconds, wall.seconds + 100 - seconds) == (found.age, found.expires)


def test_explains_what_is_not_kept(driver: Driver, emulator: StartEmulator) -> None:
    """Requests that the cache leaves alone are told with the reason, and how long a new answer would be kept."""
    wall = Wall()
    store = in_memory(wall=wall, max_temperature=1.0, ttl_s=None, ttl_by_tag={"news": 50})
    client = driver.client(base_url=emulator(replies="one").url, cache=store)
    warm = explain(driver, client, temperature=1.5)
    news = explain(driver, client.with_options(tags={"news": "1"}, cache="ttl=20"))

    assert ("bypass", "temperature", None, True) == (warm.status, warm.reason, warm.key, warm.is_asked)
    assert wall.seconds + 20 == news.kept_until
    assert explain(driver, client).kept_until is None
    assert ("miss", False) == (
        (only := explain(driver, client.with_options(cache="only"), temperature=1.5)).status,
        only.is_asked,
    )


def test_explains_a_refusal(driver: Driver, emulator: StartEmulator) -> None:
    """What the server refused a moment ago would be refused without asking it."""
    client = driver.client(base_url=emulator(replies="one", faults=["status_400"]).url, cache=in_memory())
    with pytest.raises(Exception, match="400"):
        driver.create(client)
    found = explain(driver, client)

    assert ("negative", "refused", False) == (found.status, found.reason, found.is_asked)


def test_explains_a_stream_that_nobody_judged(driver: Driver, emulator: StartEmulator) -> None:
    """A stream that is no JSON is no answer for a plain call that wants JSON."""
    client = driver.client(base_url=emulator(replies="no JSON").url, cache=in_memory())
    wanted: dict[str, Any] = {"response_format": {"type": "json_object"}}
    driver.stream_text(driver.create(client, stream=True, **wanted))
    plain, streamed = explain(driver, client, **wanted), explain(driver, client, stream=True, **wanted)

    assert [("miss", "unjudged"), ("hit", None)] == [(one.status, one.reason) for one in (plain, streamed)]


def test_explains_a_disk_that_cannot_be_used(driver: Driver, tmp_path: Path) -> None:
    """Where the disk cannot be used the model is asked, and that is said."""
    (tmp_path / "mine.txt").write_text("", encoding="utf-8")
    client = driver.client(cache=ExactCache(tmp_path))
    found = explain(driver, client)

    assert ("miss", "unusable", True) == (found.status, found.reason, found.is_asked)


def test_what_is_explained_cannot_be_sent() -> None:
    """Should a stage ever try to send a call that is only looked at, it fails."""
    with pytest.raises(AssertionError, match="not to be sent"):
        unsent()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, ConfigurationError),
        ({"messages": MESSAGES, "prompt": "x"}, ConfigurationError),
        ({"messages": "x"}, InvalidRequestError),
        ({"messages": MESSAGES, "nonsense": 1}, TypeError),
    ],
)
def test_explains_no_call(driver: Driver, fields: dict[str, Any], error: type[Exception]) -> None:
    """What is no call cannot be explained, with the error that the call would raise."""
    with pytest.raises(error):
        driver.call(driver.client(cache=in_memory()).cache.explain, **fields)
