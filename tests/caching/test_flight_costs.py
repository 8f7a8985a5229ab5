"""What equal calls cost: each upstream call stands in the books of exactly one of them, whoever leaves when."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Budgets, Deadlines, Ledger, SpendBudget, report
from tests.caching.cached_calls import in_memory, outcome, status, until
from tests.caching.test_flight import BODY, Gate, gate, options_for  # noqa: F401  a fixture among them
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    delta,
    refusal,
    silence,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

REST = (delta(content="llo"), FINISH, DONE)


def test_the_bill(driver: Driver, emulator: StartEmulator) -> None:
    """What calls used and cost, added up, is what the server counts; what the cache gave is in no sum."""
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory())
    together = [partial(client.chat.completions.create, **BODY)] * 4
    found = driver.together(*together)
    found += [driver.create(client), driver.create(client), driver.create(client, "Other")]
    for _ in driver.iterate(driver.create(client, "Other", stream=True)):
        pass
    driver.create(client.with_options(cache="bypass"))
    total = driver.call(client.usage).total

    asked = server.requests
    assert 3 == len(asked)
    assert (9, 3, 6) == (total.calls, total.attempts, total.cached)
    assert [
        sum(request.cache_hit_tokens or 0 for request in asked),
        sum(request.cache_miss_tokens or 0 for request in asked),
        sum(request.completion_tokens or 0 for request in asked),
    ] == [total.hit, total.miss, total.output]
    assert 0 < (total.saved_cny or 0) < 6 * (total.cny or 0)
    assert [1, 0, 0, 0] == sorted([len(report(one).attempts) for one in found[:4]], reverse=True)
    costs = [report(one).cost for one in found]
    assert total.cny is not None
    # One that comes late finds what is kept by then.
    assert {"miss"} == {status(one) for one in found[:4]} - {"coalesced", "hit"}
    assert all(outcome(one).saved for one in found if status(one) != "miss")
    assert sum(bool(cost and cost.cny) for cost in costs) == 2


def books(driver: Driver, client: Any) -> tuple[int, int, int, int]:
    """Give what the ledger adds up to: calls, attempts, tokens of prompts, tokens of answers."""
    total = driver.call(client.usage).total
    return total.calls, total.attempts, total.hit + total.miss, total.output


def run_on(driver: Driver) -> None:
    """Let the event loop of the test do what waits."""
    if driver.is_async:
        from anyio import sleep  # noqa: PLC0415  only this colour needs it

        for _ in range(5):
            driver.call(sleep, 0)


@pytest.mark.parametrize("stays", [0, 1, 2])
def test_some_leave(driver: Driver, gate: Gate, stays: int) -> None:  # noqa: F811  the fixture
    """Of three who get one answer two leave in the middle: the one who stays pays, with the server's own count."""
    with RawServer(gate.within(ROLE, delta(content="Hé"), rest=REST)) as server:
        client = driver.client(**options_for(server, in_memory()))
        opened = [driver.create(client, stream=True) for _ in range(3)]
        readers = [driver.iterate(one) for one in opened]
        for reader in readers:
            next(reader)
        for place in {0, 1, 2} - {stays}:
            driver.call(opened[place].close)
        gate.is_open.set()
        text = "".join(chunk.choices[0].delta.content or "" for chunk in readers[stays])
        told = books(driver, client)

        assert 1 == len(server.requests)
    assert "Héllo" == text
    assert (3, 1, 3, 2) == told
    assert [int(place == stays) for place in range(3)] == [len(report(one).attempts) for one in opened]
    assert ["complete"] == [attempt.outcome for attempt in report(opened[stays]).attempts]
    assert "miss" == status(opened[stays])


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_all_leave(driver: Driver, order: tuple[int, ...]) -> None:
    """Where all of them leave, in any order, what was generated stands in the books of one of them."""
    with RawServer(stream(ROLE, delta(content="Hé" * 50), end="hold")) as server:
        client = driver.client(**options_for(server, in_memory()))
        opened = [driver.create(client, stream=True) for _ in range(3)]
        for one in opened:
            next(driver.iterate(one))
        for place in order:
            driver.call(opened[place].close)
        run_on(driver)
        assert server.wait_for_abort()
        calls, attempts, prompt, output = books(driver, client)

        assert 1 == len(server.requests)
    assert (3, 1) == (calls, attempts)
    assert prompt > 0
    assert output > 0
    found = [attempt for one in opened for attempt in report(one).attempts]
    assert [("abandoned", True, True)] == [(one.outcome, one.is_possibly_billed, one.is_estimated) for one in found]
    assert 1 == sum(report(one).cost is not None and report(one).cost.cny > 0 for one in opened)  # type: ignore[union-attr,operator]


def test_all_leave_before_it_begins(driver: Driver) -> None:
    """What is cut off before the server has said anything is abandoned, and no failure of the route."""
    cache = in_memory()
    with RawServer(silence) as server:
        client = driver.client(**options_for(server, cache))
        errors = driver.together(*[partial(client.with_options(deadlines=Deadlines(total=0.2)).chat.completions.create,
                                           **BODY) for _ in range(3)])  # fmt: skip
        run_on(driver)
        assert server.wait_until_closed()
        calls, attempts, _, _ = books(driver, client)

    # Where one has a moment left when the first gives up, he asks.
    assert 1 <= len(server.requests) <= 3
    assert ["TotalTimeout"] * 3 == [type(error).__name__ for error in errors]
    assert (3, sum(len(report(error).attempts) for error in errors)) == (calls, attempts)
    assert 1 <= attempts <= 3
    assert until(lambda: not cache.flights._under_way.get())


def test_elected(driver: Driver, gate: Gate) -> None:  # noqa: F811  the fixture
    """Where one fails and another asks in its place, each has its own attempt, and the others none."""
    with RawServer(gate.then(refusal(500, "no")), stream(ROLE, delta(content="Hé"), *REST)) as server:
        client = driver.client(**options_for(server, in_memory()))
        gate.is_open.set()
        found = driver.together(*[partial(client.chat.completions.create, **BODY)] * 4)
        attempts = sorted(len(report(one).attempts) for one in found)

        assert len(server.requests) == sum(attempts) == books(driver, client)[1]
    assert 1 == sum(isinstance(one, Exception) for one in found)


def test_budgets(driver: Driver, gate: Gate) -> None:  # noqa: F811  the fixture
    """A budget is charged once for a crowd, and nothing stays reserved when its leader has left."""
    budgets = Budgets([SpendBudget(limit=10**6, unit="tokens")], path=":memory:")
    with RawServer(gate.within(ROLE, delta(content="Hé"), rest=REST)) as server:
        client = driver.client(**options_for(server, in_memory(), spend_budget=budgets))
        opened = [driver.create(client, stream=True) for _ in range(3)]
        for one in opened:
            next(driver.iterate(one))
        driver.call(opened[0].close)
        gate.is_open.set()
        for one in opened[1:]:
            driver.stream_text(one)
        driver.create(client)
        (state,) = budgets.state()
    budgets.close()

    assert [5, 0] == [state.spent, state.reserved]


def test_the_ledger(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """The file says of each call how the cache answered it, and has each upstream call once."""
    path = tmp_path / "ledger.sqlite3"
    server = emulator()
    client = driver.client(base_url=server.url, cache=in_memory(), ledger=path)
    driver.together(*[partial(client.chat.completions.create, **BODY)] * 3)
    driver.create(client)
    driver.create(client.with_options(cache="refresh"))
    driver.call(client.close)
    with closing(Ledger(path)) as ledger:
        told = {row.key: (row.calls, row.attempts) for row in ledger.usage(by="cache").rows}

    assert {"hit": (1, 0), "coalesced": (2, 0), None: (2, 2)} == told
    assert 2 == len(server.requests)
