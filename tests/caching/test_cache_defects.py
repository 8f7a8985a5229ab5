"""What once was wrong with cached calls: answers that were not to be given, refusals that were not to come again."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import Route
from deepseek_sdk._io import AsyncIO
from deepseek_sdk.caching import ExactCache, flushing
from deepseek_sdk.caching.question import is_long
from deepseek_sdk.spending import Budgets, SpendBudget
from tests.caching.cached_calls import Wall, in_memory, outcome, status, until
from tests.caching.test_cache_failures import caches  # noqa: F401  a fixture
from tests.caching.test_flight import BODY, Gate, gate, options_for, seats  # noqa: F401  a fixture among them
from tests.raw_server import (
    DONE,
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
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator
    from tests.raw_server import Exchange

NEW = whole(completion("new"))
FAILING = refusal(500, "Internal error.")
# What ends the answers of a cache: the words for it, and what does so.
EMPTYING: dict[str, Callable[[ExactCache], object]] = {
    "flush": lambda cache: cache.flush(),
    "invalidate": lambda cache: cache.invalidate(model="deepseek-flash"),
}


def texts(driver: Driver, found: list[Any]) -> list[str]:
    """Give what calls said, of either shape."""
    return [one.choices[0].message.content if hasattr(one, "choices") else driver.stream_text(one) for one in found]


def refused(driver: Driver, client: Any) -> str | None:
    """Ask, and be refused; tell what the cache had to do with it."""
    with pytest.raises(openai.UnprocessableEntityError) as raised:
        driver.create(client)
    return outcome(raised.value).status


# An answer that is not to be given.


def test_a_lighter_model(driver: Driver, emulator: StartEmulator) -> None:
    """What a lighter model says, for want of money, is not kept as what the heavier one says."""
    limit = SpendBudget(limit=10**6, unit="tokens", per="user", name="users", soft=0.5, on_soft="lighter")
    budgets = Budgets([limit], path=":memory:")
    budgets.adjust("users", 600_000, scope="poor")
    client = driver.client(base_url=emulator().url, cache=in_memory(), spend_budget=budgets)
    told = []
    for user in ("poor", "rich", "poor"):
        found = driver.create(client.with_options(user=user), model="deepseek-v4-pro")
        told.append((found.model, status(found), outcome(found).refused))
    budgets.close()

    assert [("deepseek-flash", "miss", "degraded"), ("deepseek-v4-pro", "miss", None)] == told[:2]
    assert ("deepseek-v4-pro", "hit", None) == told[2]


@pytest.mark.parametrize("way", EMPTYING)
def test_emptied_elsewhere_while_many_ask(
    driver: Driver,
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
    way: str,
) -> None:
    """Of those who ask at the moment when another process has emptied the cache, nobody gets an old answer."""
    wall = Wall()
    with RawServer(whole(completion("old")), NEW) as server:
        cache, other = (caches(tmp_path / "answers", wall=wall) for _ in range(2))
        client = driver.client(**options_for(server, cache))
        driver.create(client)
        driver.create(client)
        wall.forward(1)
        EMPTYING[way](other)
        wall.forward(1)
        found = driver.together(*[partial(client.chat.completions.create, **BODY)] * 6)

        assert ["new"] * 6 == texts(driver, found)
        assert 2 == len(server.requests)


def test_a_flush_that_could_not_be_read_at_once(
    driver: Driver,
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
) -> None:
    """Where the disk cannot tell at first up to when it was flushed, it is asked again: what is older never comes."""
    wall = Wall()
    with RawServer(whole(completion("old")), NEW) as server:
        cache, other = (caches(tmp_path / "answers", wall=wall) for _ in range(2))
        client = driver.client(**options_for(server, cache))
        driver.create(client)
        wall.forward(1)
        # The answers themselves are still there: whoever flushed has not come to removing them.
        flushing.flush(other.store.disk.tier, other.now_ms())
        wall.forward(1)
        cache.store.disk._rests_until, cache.store.disk._resting = float("inf"), "io"
        found = [driver.create(client.with_options(cache="no-store"))]
        cache.store.disk._rests_until = 0.0
        found += [driver.create(client), driver.create(client)]

        assert ["new"] * 3 == texts(driver, found)
        assert ["miss", "miss", "hit"] == [status(one) for one in found]


@pytest.mark.parametrize("where", ["memory", "disk"])
@pytest.mark.parametrize("way", EMPTYING)
def test_emptied_while_a_call_fails(
    driver: Driver,
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
    way: str,
    where: str,
) -> None:
    """An answer that has ended is no last resort where it was removed while the model was being asked."""
    wall = Wall()
    limits: dict[str, Any] = {"wall": wall, "ttl_s": 60, "stale_if_error_s": 10**6}
    cache = in_memory(**limits) if where == "memory" else caches(tmp_path / "answers", memory_bytes=0, **limits)

    def emptying(exchange: Exchange) -> None:
        wall.forward(1)
        EMPTYING[way](cache)
        FAILING(exchange)

    with RawServer(whole(completion("old")), FAILING, emptying, FAILING) as server:
        client = driver.client(**options_for(server, cache))
        driver.create(client)
        wall.forward(100)

        assert "stale" == status(driver.create(client))
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                driver.create(client)


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_flush_by_a_clock_that_is_ahead(
    driver: Driver,
    emulator: StartEmulator,
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
    where: str,
) -> None:
    """It removes what is there; what is kept after that is given, until it is flushed."""
    wall = Wall()
    cache = in_memory(wall=wall) if where == "memory" else caches(tmp_path / "answers", wall=wall, memory_bytes=0)
    client = driver.client(base_url=emulator().url, cache=cache)
    told = [status(driver.create(client))]
    wall.forward(86_400)
    cache.flush()
    wall.forward(-86_390)
    told += [status(driver.create(client)) for _ in range(2)]
    wall.forward(1)
    cache.flush()
    told += [status(driver.create(client)) for _ in range(2)]

    assert ["miss", "miss", "hit", "miss", "hit"] == told


# What those wish who join others.


def test_a_ttl_of_one_who_joins(driver: Driver, gate: Gate) -> None:  # noqa: F811  the fixture
    """The answer to a call that may be kept for a moment is not kept for longer because others asked the same."""
    wall = Wall()
    cache = in_memory(wall=wall)
    with RawServer(gate.then(whole(completion("long"))), gate.then(whole(completion("short"))), NEW) as server:
        client = driver.client(**options_for(server, cache))
        brief = client.with_options(cache="ttl=5")
        opener = threading.Thread(target=opened, args=(gate, lambda: len(server.requests) == 2))
        opener.start()
        told = driver.together(*(partial(one.chat.completions.create, **BODY) for one in (client, brief)))
        opener.join()
        wall.forward(3600)
        found = driver.create(client)

        assert {"long", "short"} == set(texts(driver, told))
        assert texts(driver, [found])[0] in ("new", texts(driver, told)[0])


def opened(gate: Gate, holds: Callable[[], bool]) -> None:  # noqa: F811  no fixture here
    """Open a gate as soon as something holds."""
    until(holds, 10)
    gate.is_open.set()


WISHES: dict[str, tuple[bool, dict[str, Any]]] = {
    "refresh": (False, {"cache": "refresh"}),
    "max-age": (False, {"cache": "max-age=5"}),
    "usage": (True, {}),
}


@pytest.mark.parametrize("wish", WISHES)
def test_wishes_of_one_who_waits_for_another_process(
    driver: Driver,
    gate: Gate,  # noqa: F811  the fixture
    tmp_path: Path,
    caches: Any,  # noqa: F811  the fixture
    wish: str,
) -> None:
    """Who waits with others for what another process asks takes its answer only if that is what he wished for."""
    wall = Wall()
    is_stream, options = WISHES[wish]
    pieces = (delta(role="assistant", content=""), delta(content="old"), event(chunk("stop", None, content="")), DONE)
    first = stream(*pieces) if is_stream else whole(completion("old"))
    with RawServer(gate.then(first), NEW) as server:
        there, here = (caches(tmp_path / "answers", wall=wall) for _ in range(2))
        elsewhere = threading.Thread(target=asked, args=(options_for(server, there), is_stream))
        elsewhere.start()
        assert until(lambda: len(server.requests) == 1)
        wall.forward(10)
        opener = threading.Thread(target=opened, args=(gate, lambda: seats(here) == 2 or len(server.requests) == 2))
        opener.start()
        client = driver.client(**options_for(server, here))
        ask = client.chat.completions.create
        also = client.with_options(**options).chat.completions.create
        found = driver.together(partial(ask, **BODY, stream=is_stream), partial(also, **BODY))
        elsewhere.join()
        opener.join()

        assert "new" == found[1].choices[0].message.content
        assert found[1].usage is not None
        assert 2 == len(server.requests)


def asked(options: dict[str, Any], is_stream: bool) -> None:  # noqa: FBT001  an argument of a thread
    """Ask as another process does."""
    from deepseek_sdk import Client  # noqa: PLC0415  it stands for another process

    with Client(**options) as client:
        found: Any = client.chat.completions.create(**BODY, stream=is_stream)
        if is_stream:
            list(found)


def test_no_money_is_no_reason_for_others(driver: Driver, emulator: StartEmulator) -> None:
    """However many of those who ask the same have spent all their money: who has some left is answered."""
    budgets = Budgets([SpendBudget(limit=10**6, unit="tokens", per="user", name="users")], path=":memory:")
    budgets.adjust("users", 10**6, scope="poor")
    server = emulator(replies=["Hi"])
    client = driver.client(base_url=server.url, cache=in_memory(), spend_budget=budgets)
    users = [*["poor"] * 5, "rich"]
    found = driver.together(
        *(partial(client.with_options(user=user).chat.completions.create, **BODY) for user in users)
    )
    budgets.close()

    assert "Hi" == found[-1].choices[0].message.content
    assert 1 == len(server.requests)


# Refusals.


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_answer_beats_a_refusal(driver: Driver, emulator: StartEmulator, *, is_kept: bool) -> None:
    """Once a request was answered after all, nobody is refused any more, be the answer kept or not."""
    server = emulator(faults=["status_422", None])
    cache = in_memory() if is_kept else in_memory(max_entry_bytes=1)
    client = driver.client(base_url=server.url, cache=cache)

    assert ["miss", "negative"] == [refused(driver, client) for _ in range(2)]
    assert "refresh" == status(driver.create(client.with_options(cache="refresh")))
    assert ("hit" if is_kept else "miss") == status(driver.create(client))
    assert ("hit" if is_kept else "miss") == status(driver.create(client.with_options(cache="max-age=60")))


def test_a_kept_answer_beats_a_refusal(driver: Driver, emulator: StartEmulator) -> None:
    """What is there is given, though an equal call was refused a moment ago."""
    server = emulator(faults=[None, "status_422"])
    client = driver.client(base_url=server.url, cache=in_memory())
    driver.create(client)

    assert "refresh" == refused(driver, client.with_options(cache="refresh"))
    assert ["hit", "hit"] == [status(driver.create(one)) for one in (client, client.with_options(cache="only"))]


@pytest.mark.parametrize("way", EMPTYING)
def test_emptying_forgets_refusals(driver: Driver, emulator: StartEmulator, way: str) -> None:
    """Whoever empties a cache has mended something: refusals are forgotten with the answers."""
    client = driver.client(base_url=emulator(faults=["status_422", None]).url, cache=in_memory())
    refused(driver, client)
    EMPTYING[way](client.cache.store)

    assert "miss" == status(driver.create(client))


@pytest.mark.parametrize("way", ["model", "server"])
def test_a_refusal_by_who_stood_in(driver: Driver, way: str) -> None:
    """What the second route refused, when the first had a bad moment, says nothing of the first."""
    no = refusal(422, "No.")
    with RawServer(FAILING, *([no] if way == "model" else []), NEW) as server, RawServer(no) as other:
        second = (
            Route("deepseek-v4-pro") if way == "model" else Route("deepseek-flash", base_url=other.url, api_key="other")
        )
        client = driver.client(**options_for(server, in_memory(), routes=[Route("deepseek-flash"), second]))
        refused(driver, client)

        assert "new" == driver.create(client).choices[0].message.content


# What takes long goes to another thread.

LONG = "wörd, abc " * 20_000
CALL = {"id": "x", "type": "function", "function": {"name": "f", "arguments": LONG}}
PROPERTIES = {f"p{number}": {"type": "string", "description": "x" * 50} for number in range(10)}
FUNCTION = {"name": "f", "description": "d" * 400, "parameters": {"type": "object", "properties": PROPERTIES}}


def messages(*said: dict[str, Any]) -> dict[str, Any]:
    """Give a body with these messages."""
    return {**BODY, "messages": list(said)}


BODIES: dict[str, dict[str, Any]] = {
    "text": messages({"role": "user", "content": LONG}),
    "parts": messages({"role": "user", "content": [{"type": "text", "text": LONG}]}),
    "reasoning": messages({"role": "assistant", "content": "x", "reasoning_content": LONG}),
    "arguments": messages({"role": "assistant", "content": None, "tool_calls": [CALL]}),
    "many messages": messages(*[{"role": "user", "content": "hi you"}] * 12_000),
    "tools": {**BODY, "tools": [{"type": "function", "function": FUNCTION}] * 128},
    "schema": {**BODY, "response_format": {"type": "json_schema", "json_schema": {"schema": {"description": LONG}}}},
}


@pytest.mark.parametrize("name", BODIES)
def test_long_requests(name: str) -> None:
    """Whatever makes a request long, its key is made off the event loop."""
    assert is_long(BODIES[name])
    assert not is_long(BODY)


def test_a_large_answer_as_a_stream(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large answer, given as a stream, is cut into pieces off the event loop."""
    offloaded: list[str] = []
    offload = AsyncIO.offload

    async def seen(self: AsyncIO, work: Any, *args: Any) -> Any:
        offloaded.append(getattr(getattr(work, "func", work), "__name__", ""))
        return await offload(self, work, *args)

    monkeypatch.setattr(AsyncIO, "offload", seen)
    large = "x" * 60_000
    with RawServer(whole(completion(large))) as server:
        client = driver.client(**options_for(server, in_memory()))
        driver.create(client)
        offloaded.clear()

        found = driver.create(client, stream=True)
        driver.call(found.close)

        assert "hit" == status(found)
        assert (["Replay"] if driver.is_async else []) == offloaded


def test_a_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A path below `~` is below the home of the user."""
    monkeypatch.setenv("HOME" if os.name == "posix" else "USERPROFILE", str(tmp_path))

    assert tmp_path / "answers" == ExactCache("~/answers").path
