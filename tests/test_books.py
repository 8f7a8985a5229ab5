from __future__ import annotations

import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import (
    Balance,
    BalanceAmount,
    Budgets,
    Client,
    Ledger,
    PriceBook,
    RoutingPolicy,
    SpendBudget,
    Telemetry,
    TokenBudget,
    Usage,
    report,
)
from deepseek_sdk._books import Books
from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk._record import Record
from deepseek_sdk.errors import BudgetExceededError, ConfigurationError, MalformedResponseError, PriceFileError
from deepseek_sdk.stages import default_stages
from tests.raw_server import RawServer, whole

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

CARD = """
as_of = 2026-11-01
[[card]]
model = "deepseek-flash"
CNY.flat = { hit = 1, miss = 10, output = 100 }
"""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"prices": 5}, "prices must be a file or a PriceBook, not 5"),
        ({"prices": "/nowhere/prices.toml"}, "/nowhere/prices.toml: it cannot be read"),
        ({"telemetry": 5}, "telemetry must be a Telemetry, True or False, not 5"),
        ({"telemetry": None}, "telemetry must be a Telemetry"),
        ({"spend_budget": 5}, "spend_budget must be a SpendBudget, several of them, Budgets or None, not 5"),
        ({"routing": "cheap"}, "routing must be a RoutingPolicy, not 'cheap'"),
        ({"ledger": 5}, "ledger must be True"),
    ],
)
def test_arguments_are_checked_when_the_client_is_made(given: dict[str, Any], text: str) -> None:
    """What cannot be used is named at once, not by the first call."""
    with pytest.raises(ConfigurationError) as caught:
        Client(api_key="k", **given)

    assert text in str(caught.value)


def test_a_file_of_prices_in_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The setting names a file like the argument does; a broken one is told by its name."""
    (tmp_path / "good.toml").write_text(CARD, encoding="utf-8")
    (tmp_path / "bad.toml").write_text("as_of =", encoding="utf-8")
    monkeypatch.setenv("DEEPSEEK_SDK_PRICES", str(tmp_path / "good.toml"))
    found = Client(api_key="k").prices
    monkeypatch.setenv("DEEPSEEK_SDK_PRICES", str(tmp_path / "bad.toml"))
    with pytest.raises(PriceFileError) as caught:
        Client(api_key="k")

    assert found.version != PriceBook.builtin().version
    assert str(tmp_path / "bad.toml") == caught.value.path


def test_most_is_made_when_it_is_needed(tmp_path: Path) -> None:
    """A client that nobody asks about money, counts or files has made none of it."""
    client = Client(api_key="k", ledger=tmp_path / "ledger.sqlite3")
    made = vars(client._heritage.family.policies.books)

    assert set() == {"prices", "counter", "drift", "cuts"} & set(made)
    assert not (tmp_path / "ledger.sqlite3").exists()


def test_a_child_shares_the_books() -> None:
    """What is counted, priced and written down is the same for a client and all its children."""
    client = Client(api_key="k", spend_budget=SpendBudget(limit=1, unit="tokens"))
    child = client.with_options(user="42")

    assert client.ledger is child.ledger
    assert client.budgets is child.budgets
    assert client.prices is child.prices
    assert client.lengths is child.lengths


def test_stages_of_ones_own_leave_no_room_for_what_stages_do() -> None:
    """What would have no effect beside a pipeline of one's own is refused."""
    for name in ("spend_budget", "telemetry"):
        given: dict[str, Any] = {name: None}
        with pytest.raises(ConfigurationError, match=f"{name} would have no effect"):
            Client(api_key="k", stages=default_stages(), **given)


def test_a_pipeline_of_ones_own_is_written_down(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Whatever the pipeline, the client's ledger has the calls, each once, and its lengths are learnt."""
    url, path = emulator(replies="Hi").url, tmp_path / "ledger.sqlite3"
    for stages in ([], default_stages()):
        client = driver.client(base_url=url, stages=stages, ledger=path)
        driver.create(client)
        driver.call(client.close)

    assert 2 == driver.call(driver.client(base_url=url, ledger=path).usage).total.calls


def test_what_calls_used_and_cost(driver: Driver, emulator: StartEmulator) -> None:
    """Without a ledger the calls of the client itself are added up, by whatever tells them apart."""
    client = driver.client(base_url=emulator(replies="你好").url)
    answers = [driver.create(client.with_options(user=user, tags={"team": "搜索"})) for user in ("甲", "甲", "乙")]
    found = driver.call(client.usage, by="user")
    costs: list[Any] = [report(answer).cost for answer in answers]

    assert [("甲", 2), ("乙", 1)] == [(row.key, row.calls) for row in found.rows]
    assert sum(cost.cny for cost in costs) == found.total.cny
    assert [3] == [row.calls for row in driver.call(client.usage, by="tag:team").rows]


def test_a_ledger_outlives_its_client(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """What one client wrote down the next one finds."""
    url, path = emulator(replies="Hi").url, tmp_path / "ledger.sqlite3"
    first = driver.client(base_url=url, ledger=path)
    driver.call(driver.create(first, stream=True).close)
    driver.create(first)
    driver.call(first.close)
    found = driver.call(driver.client(base_url=url, ledger=path).usage)

    assert (2, 1) == (found.total.calls, found.total.abandoned)


def test_books_that_were_given_stay_open(emulator: StartEmulator, tmp_path: Path) -> None:
    """A ledger, or budgets, that several clients share are not closed by one of them."""
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    budgets = Budgets([SpendBudget(limit=10**9, unit="tokens")], path=tmp_path / "budgets.sqlite3")
    url = emulator(replies="Hi").url
    clients = [Client(api_key="k", base_url=url, ledger=ledger, spend_budget=budgets) for _ in range(2)]
    for client in clients:
        client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "x"}])
        client.close()
    ledger.flush()

    assert 2 == ledger.usage().total.calls
    assert budgets.state()[0].spent > 0


def test_a_budget_is_asked_before_anything_is_sent(driver: Driver, emulator: StartEmulator) -> None:
    """A call that there is no room for raises, and the server never hears of it."""
    server = emulator(replies="Hi")
    budgets = Budgets([SpendBudget(limit=10, unit="tokens", per="user")], path=":memory:")
    client = driver.client(base_url=server.url, spend_budget=budgets, user="42")
    with pytest.raises(BudgetExceededError) as caught:
        driver.create(client)

    assert "42" in caught.value.scope
    assert [] == server.requests
    assert () == report(caught.value).attempts


def test_counts_are_compared_with_bills(driver: Driver, emulator: StartEmulator) -> None:
    """A request that was counted before it is sent is compared with what the server says."""
    client = driver.client(base_url=emulator(replies="Hi").url)
    body: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "你好"}]}
    counted = driver.call(client.tokens.count, **body)
    answer = driver.call(client.chat.completions.create, **body)
    drift = client.tokens.drift()["deepseek-flash"]

    assert counted.exact
    assert counted.total == answer.usage.prompt_tokens
    assert (1, 1.0) == (drift.calls, drift.ratio)


def test_a_conversation_is_cut_where_it_was_cut_before(driver: Driver) -> None:
    """The next turn begins with what was kept of the last one: the beginning stays in the server's cache."""
    client = driver.client()
    budget = TokenBudget(limit=400, policy="history")
    turns = [{"role": role, "content": f"{role} {n} " * 20} for n in range(20) for role in ("user", "assistant")]
    first = driver.call(client.tokens.fit, [*turns, {"role": "user", "content": "Go on."}], budget=budget)
    answer = {"role": "assistant", "content": "Yes."}
    longer = [*turns, {"role": "user", "content": "Go on."}, answer, {"role": "user", "content": "And?"}]
    second = driver.call(client.tokens.fit, longer, budget=budget)

    assert first.is_changed
    assert first.messages == second.messages[: len(first.messages)]


@pytest.mark.parametrize(
    ("routing", "expected"), [(None, "deepseek-flash"), (RoutingPolicy(cost=0), "deepseek-v4-pro")]
)
def test_auto_goes_by_price(
    driver: Driver, routing: RoutingPolicy | None, expected: str, emulator: StartEmulator
) -> None:
    """The cheaper route is asked, unless the policy says otherwise; the report says why."""
    given = {} if routing is None else {"routing": routing}
    client = driver.client(base_url=emulator(replies="Hi").url, routes=["deepseek-v4-pro", "deepseek-flash"], **given)
    found = report(driver.create(client, model="auto"))
    routing_of: Any = found.routing

    assert (expected, "direct") == (found.route, routing_of.band)


def test_prices_of_one_host_are_budgets_prices_too(emulator: StartEmulator, tmp_path: Path) -> None:
    """What the report says a call costs, by the prices of the host that answers, is what the budget counts."""
    prices = tmp_path / "prices.toml"
    prices.write_text(CARD.replace("CNY.flat", 'host = "127.0.0.1"\nCNY.flat'), encoding="utf-8")
    budgets = Budgets([SpendBudget(limit=1000)], path=":memory:")
    client = Client(api_key="k", base_url=emulator(replies="Hi").url, prices=prices, spend_budget=budgets)
    answer = client.chat.completions.create(model="deepseek-flash", messages=[{"role": "user", "content": "x"}])
    cost: Any = report(answer).cost

    assert cost.cny == budgets.state()[0].spent
    assert cost.cny > Decimal("0.001")


def test_the_balance(driver: Driver, emulator: StartEmulator) -> None:
    """Amounts are decimals, by currency."""
    found = driver.call(driver.client(base_url=emulator().url).balance)
    amount = BalanceAmount(
        currency="CNY", total=Decimal("110.00"), granted=Decimal("0.00"), topped_up=Decimal("110.00")
    )

    assert Balance(is_available=True, amounts=(amount,)) == found


@pytest.mark.parametrize(
    "body",
    [
        {"error": "?"},
        {"is_available": True},
        {"is_available": True, "balance_infos": [{"currency": "CNY", "total_balance": "much"}]},
        ["?"],
    ],
)
def test_what_is_no_balance(driver: Driver, body: Any) -> None:
    """An endpoint that says something else is quoted."""
    with RawServer(whole(body)) as server, pytest.raises(MalformedResponseError) as caught:
        driver.call(driver.client(base_url=server.url).balance)

    assert repr(body) == caught.value.raw


def test_books_by_themselves_have_defaults() -> None:
    """Without arguments and settings there are the built-in prices, no budget, and a memory in place of a ledger."""
    books = Books()

    assert PriceBook.builtin().version == books.prices.version
    assert books.budgets is None
    assert isinstance(books.telemetry, Telemetry)
    assert books.known_tokens({"messages": []}) is None
    assert copy.copy(books.observers) == books.observers


# --- what the cache answers

KEPT = Usage(hit=0, miss=1000, output=50, reasoning=20)
OFF_PEAK, PEAK = 1_795_917_600.0, 1_796_004_000.0  # 10:00 in Beijing, on a Sunday and on the Monday after it


def test_what_the_cache_saves() -> None:
    """An answer of the cache saves what it would cost if the server's cache had all of its prompt."""
    books = Books()
    found = [books.saving(KEPT, "deepseek-flash", at=at) for at in (OFF_PEAK, PEAK)]

    assert [(Decimal("0.00022"), "off_peak"), (Decimal("0.00044"), "peak")] == [
        (cost and cost.cny, cost and cost.tier) for cost in found
    ]
    assert found[0] == books.cost_of(
        Usage(hit=1000, miss=0, output=50, reasoning=20), "deepseek-flash", OFF_PEAK, OFF_PEAK
    )
    assert books.saving(KEPT, "no-such-model") is None
    now = books.saving(KEPT, "deepseek-flash")
    assert (now and now.cny) in (Decimal("0.00022"), Decimal("0.00044"))


def test_answers_of_the_cache_teach_nothing(tmp_path: Path) -> None:
    """How long answers are, how the counts compare and which route is warm is learnt from what was asked alone."""
    books = Books({"ledger": tmp_path / "ledger.sqlite3"})
    record = Record(started=0.0, asked="deepseek-flash", path="/chat/completions", session_id="s", counted=999)
    record.cache = CacheOutcome(status="hit", tier="exact", usage=KEPT, model="deepseek-flash", price=books.saving)
    record.price, record.finish_reason = books.price, "stop"
    record.usage = {"prompt_tokens": 1000, "completion_tokens": 50}
    record.end("complete", None, 1.0)
    for observer in books.observers:
        observer(record)
    total = books.usage(None, None, None, only=None, tz=None).total
    books.close()

    assert 0 == books.expect(model="deepseek-flash", mode="", template=None).samples
    assert "drift" not in vars(books)
    assert books.router.memory.warm("s") is None
    assert (1, 1, 0) == (total.calls, total.cached, total.output)
    assert 0 == total.cny
    assert total.saved_cny is not None
    assert total.saved_cny > 0
