from __future__ import annotations

import gc
import logging
import threading
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk import report
from deepseek_sdk._call import options
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk.errors import BudgetExceededError, InvalidRequestError, LedgerError, classify
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.stages import default_stages
from deepseek_sdk.stages.budget import SpendLimit
from deepseek_sdk.testing.scripted import ScriptedBackend, chunk, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.spending.prices import COST, NOON, USAGE, cost_of, in_memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deepseek_sdk._reply import Reply
    from deepseek_sdk.stages import Call
    from tests.conftest import Driver, StartEmulator

ANSWER = said("one", "two", usage=USAGE)
CUT: list[Any] = [chunk(role="assistant"), chunk("one"), ConnectionResetError("reset")]
BODY = {
    "model": "deepseek-flash",
    "messages": [{"role": "user", "content": "Hello"}],
    "thinking": {"type": "disabled"},
    "max_tokens": 500,
}
# 8 tokens of prompt, 4 of them written around it, and 500 of answer.
EXPECTED = Decimal("0.002008")
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")


class Endless:
    """A backend that answers every call in the same way, and says whose attempt it was."""

    def __init__(self, script: Any = ANSWER) -> None:
        self.script = script
        self.calls: list[Call] = []

    async def __call__(self, call: Call) -> Reply:
        """Answer, and take note."""
        self.calls.append(call)
        try:
            return await ScriptedBackend(self.script)(call)
        finally:
            call.record.attempts[-1].account = ACCOUNT


def chain(budgets: Budgets | None, backend: Any = None, **about: Any) -> Any:
    """Make a pipeline of the stage alone."""
    return compose([SpendLimit(budgets, **{"cost_of": cost_of, **about})], backend or Endless())


def call(**changes: Any) -> Call:
    """Make a call at noon."""
    named = {name: changes.pop(name) for name in ("user", "session_id", "tenant", "tags") if name in changes}
    return make_call(**{"body": BODY, "record": Record(started=0, at=NOON, **named), **changes})


def text(reply: Reply) -> str:
    """Read the content of a streamed reply."""
    parts = []
    while batch := finish(reply.next()):
        parts += [event.json()["choices"][0]["delta"].get("content", "") for event in batch if not event.is_done]
    return "".join(parts)


def amounts(budgets: Budgets) -> list[tuple[Any, ...]]:
    """Tell of each scope what is spent and reserved."""
    return [(state.scope, state.spent, state.reserved) for state in budgets.state()]


@pytest.mark.parametrize("budgets", [None, in_memory()])
def test_without_budgets_calls_are_let_through(budgets: Budgets | None) -> None:
    """Where there is nothing to keep, nothing is looked at."""
    assert "onetwo" == text(finish(chain(budgets)(call())))


def test_a_call_is_reserved_for_and_then_counted() -> None:
    """While an answer comes in, what it may cost is reserved; then what it has cost is spent."""
    budgets = in_memory(SpendBudget(limit=1))
    reply = finish(chain(budgets)(call()))
    before = amounts(budgets)
    assert "onetwo" == text(reply)

    assert [("all", 0, EXPECTED)] == before
    assert [("all", COST, 0)] == amounts(budgets)


def test_a_plain_call_is_counted() -> None:
    """A plain call costs what a streamed one does."""
    budgets = in_memory(
        SpendBudget(limit=1), SpendBudget(limit=10_000, unit="tokens"), SpendBudget(limit=1, unit="USD")
    )
    finish(finish(chain(budgets)(call(is_stream=False))).gather())

    assert [("all", COST, 0), ("all", 1500, 0), ("all", COST / 10, 0)] == amounts(budgets)


def test_what_has_no_room_is_not_sent() -> None:
    """A call that may cost more than is left raises what says whose budget, how much and until when."""
    budgets, backend = in_memory(SpendBudget(limit="0.005", period="day", per="user")), Endless()
    proceed = chain(budgets, backend)
    assert "onetwo" == text(finish(proceed(call(user="小明"))))
    held = finish(proceed(call(user="小明", body={**BODY, "max_tokens": 100})))
    with pytest.raises(openai.RateLimitError) as caught:
        finish(proceed(call(user="小明")))

    error = caught.value
    assert isinstance(error, BudgetExceededError)
    assert ("user/day/CNY", "user 小明", "CNY") == (error.budget, error.scope, error.unit)
    assert (Decimal("0.005"), COST, EXPECTED) == (error.limit, error.spent, error.requested)
    assert (Decimal("0.000408"), NOON + 12 * 3600) == (error.reserved, error.until)
    assert 2 == len(backend.calls)
    assert not classify(error).retry
    assert "onetwo" == text(finish(proceed(call(user="小红"))))
    held.abandon()


def test_a_new_day_lets_calls_through_again() -> None:
    """Budgets go by their own clock: after midnight there is all of the limit again."""
    clock = [NOON]
    budgets = in_memory(SpendBudget(limit=2000, unit="tokens", period="day"), now=lambda: clock[0])
    proceed = chain(budgets)
    text(finish(proceed(call())))
    with pytest.raises(BudgetExceededError):
        finish(proceed(call()))
    clock[0] += 12 * 3600

    assert "onetwo" == text(finish(proceed(call())))


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"per": "user"}, {"user": "a"}),
        ({"per": "session"}, {"session_id": "a"}),
        ({"per": "tenant"}, {"tenant": "a"}),
        ({"per": "tag:team"}, {"tags": {"team": "a"}}),
    ],
)
def test_calls_of_nobody(rules: dict[str, Any], named: dict[str, Any]) -> None:
    """A call that does not say whose it is, is not counted; or it is refused, where a key is required."""
    loose, strict = (in_memory(SpendBudget(limit=0, require_key=required, **rules)) for required in (False, True))

    assert "onetwo" == text(finish(chain(loose)(call())))
    assert [] == loose.state()
    with pytest.raises(InvalidRequestError) as caught:
        finish(chain(strict)(call()))
    assert (next(iter(named)), 400) == (caught.value.param, caught.value.status_code)
    for budgets in (loose, strict):
        with pytest.raises(BudgetExceededError):
            finish(chain(budgets)(call(**named)))


def endpoint(model: str = "deepseek-flash", base_url: str = "https://api.deepseek.com") -> Any:
    """Make a target with a route."""
    route = SimpleNamespace(model=model, deadlines=None)
    account = Account(base_url, model)
    return SimpleNamespace(
        account=account, route=route, context_window=None, name=model, is_last_resort=False, read_timeout=None
    )


def test_models_without_a_price(caplog: pytest.LogCaptureFixture) -> None:
    """What has no price is let through and logged once, or refused; an engine in the process is free."""
    unknown, local = endpoint("qwen", "https://other.example"), endpoint("qwen", "backend:local")
    body = {**BODY, "model": "qwen"}
    loose, strict = (in_memory(SpendBudget(limit=0, unpriced=rule)) for rule in ("allow", "refuse"))
    proceed = chain(loose)
    for _ in range(2):
        assert "onetwo" == text(finish(proceed(call(body=body, upstream=unknown, targets=(unknown,)))))

    assert ["calls to 'qwen' are not counted by budgets of money: its price is unknown"] == caplog.messages
    with pytest.raises(InvalidRequestError, match="qwen"):
        finish(chain(strict)(call(body=body, upstream=unknown, targets=(unknown,))))
    assert "onetwo" == text(finish(chain(strict)(call(body=body, upstream=local, targets=(local,)))))
    assert [("all", 0, 0)] == amounts(strict)


def test_without_prices_tokens_are_counted() -> None:
    """A chain that knows no prices can still keep budgets of tokens."""
    budgets = in_memory(SpendBudget(limit=2000, unit="tokens"))
    proceed = chain(budgets, cost_of=None)
    text(finish(proceed(call())))

    with pytest.raises(BudgetExceededError):
        finish(proceed(call()))


def test_a_failed_call_costs_what_it_may_have_been_billed() -> None:
    """An answer that is cut costs what is estimated of it; a call that never began costs nothing."""
    budgets = in_memory(SpendBudget(limit=10_000, unit="tokens"))
    with pytest.raises(openai.APIConnectionError):
        text(finish(chain(budgets, Endless(CUT))(call())))
    (cut,) = amounts(budgets)
    with pytest.raises(ConnectionError):
        finish(chain(budgets, Endless(ConnectionError("no")))(call()))

    assert 0 < cut[1] < 20
    assert [(cut[0], cut[1], 0)] == amounts(budgets)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit])
def test_a_cancelled_call_gives_back_what_it_had_reserved(kind: type[BaseException]) -> None:
    """Whatever ends a call before its answer begins, nothing stays reserved."""
    budgets = in_memory(SpendBudget(limit=1))

    async def cancelled(_: Call) -> Reply:
        raise kind

    with pytest.raises(kind):
        finish(chain(budgets, cancelled)(call()))
    assert [("all", 0, 0)] == amounts(budgets)


def test_a_forgotten_stream_is_counted() -> None:
    """A stream that nobody reads to its end, nor closes, is settled when it is collected."""
    budgets = in_memory(SpendBudget(limit=10_000, unit="tokens"))
    reply = finish(chain(budgets)(call()))
    finish(reply.next())
    reply.abandon()
    del reply
    gc.collect()
    ((_, spent, reserved),) = amounts(budgets)

    assert 0 < spent < 20
    assert 0 == reserved


def test_an_answer_without_usage_costs_what_it_is_estimated_at() -> None:
    """Where the server does not say what a streamed answer has used, its texts do."""
    budgets = in_memory(SpendBudget(limit=1))
    text(finish(chain(budgets, Endless(said("one", "two")))(call())))

    assert [("all", Decimal("0.000015"), 0)] == amounts(budgets)


@pytest.mark.parametrize(("name", "expected"), [("deepseek-v4-pro", Decimal("0.01125")), ("a-name-of-its-own", COST)])
def test_the_model_that_answers_is_paid_for(name: str, expected: Decimal) -> None:
    """What counts is the model that the server names; where the price list does not know it, the one that was asked."""
    budgets = in_memory(SpendBudget(limit=1))
    answer = [{**step, "model": name} if isinstance(step, dict) else step for step in ANSWER]
    text(finish(chain(budgets, Endless(answer))(call())))

    assert [("all", expected, 0)] == amounts(budgets)


def test_only_what_was_asked_below_is_counted() -> None:
    """Where an outer stage asks again, each time counts its own attempts and not those before."""
    budgets = in_memory(SpendBudget(limit=1))
    proceed, asked = chain(budgets), call()
    for _ in range(3):
        text(finish(proceed(asked)))

    assert 3 == len(asked.record.attempts)
    assert [("all", 3 * COST, 0)] == amounts(budgets)


def test_what_is_settled_late_counts_no_later_attempts() -> None:
    """A thread may settle a ticket when an outer stage has asked again already: what that took is not counted twice."""
    budgets = in_memory(SpendBudget(limit=1))
    proceed, asked = chain(budgets), call()
    text(finish(proceed(asked)))
    ended = budgets._offices.get().desk.ended
    late = ended.popleft()
    text(finish(proceed(asked)))
    ended.append(late)

    assert 2 == len(asked.record.attempts)
    assert [("all", 2 * COST, 0)] == amounts(budgets)


def test_every_attempt_of_a_call_is_counted() -> None:
    """Attempts that failed after they had begun are part of what a call costs."""
    budgets = in_memory(SpendBudget(limit=10_000, unit="tokens"))
    backend = ScriptedBackend(CUT, ANSWER)
    proceed = compose([SpendLimit(budgets, cost_of=cost_of), *default_stages()], backend)
    finish(finish(proceed(call(is_stream=False, max_retries=2))).gather())
    ((_, spent, reserved),) = amounts(budgets)

    assert 2 == len(backend.calls)
    assert 1500 < spent < 1520
    assert 0 == reserved


ENDINGS = ("read", "plain", "cut", "refused", "abandon", "close", "forget", "cancel")


def run(proceed: Any, ending: str) -> Reply | None:
    """Make a call that ends in one way or another."""
    script = {"cut": CUT, "refused": ConnectionError("no"), "cancel": KeyboardInterrupt()}.get(ending, ANSWER)
    try:
        reply: Reply = finish(proceed(call(is_stream=ending != "plain", upstream=SimpleNamespace(script=script))))
        if ending == "plain":
            finish(reply.gather())
        elif ending in ("read", "cut"):
            text(reply)
        elif ending in ("abandon", "forget"):
            finish(reply.next())
            reply.abandon()
        elif ending == "close":
            finish(reply.close())
    except (openai.APIError, ConnectionError, KeyboardInterrupt, BudgetExceededError):
        return None
    return None if ending == "forget" else reply


async def by_script(asked: Call) -> Reply:
    """Answer as the call says."""
    script = asked.upstream.script
    if isinstance(script, KeyboardInterrupt):
        raise script
    return await ScriptedBackend(script)(asked.replace(upstream=None))


@pytest.mark.slow
@settings(deadline=None)
@given(endings=st.lists(st.sampled_from(ENDINGS), max_size=12), limit=st.integers(100, 20_000))
def test_whatever_the_ending_it_is_settled_once(endings: list[str], limit: int) -> None:
    """After any calls with any endings nothing is reserved, and what the records tell is spent."""
    budgets = in_memory(SpendBudget(limit=limit, unit="tokens"))
    records: list[Record] = []

    async def noted(asked: Call) -> Reply:
        records.append(asked.record)
        return await by_script(asked)

    proceed = chain(budgets, noted)
    kept = [run(proceed, ending) for ending in endings]
    used = sum(a.usage.prompt + a.usage.output for record in records for a in record.attempts if a.usage is not None)
    ((_, spent, reserved),) = amounts(budgets)

    assert (used, 0) == (spent, reserved)
    assert len(kept) == len(endings)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["memory", "file"])
def test_threads_never_pass_the_limit(where: str, tmp_path: Path) -> None:
    """64 threads with "worst" never spend more than the limit; whoever is refused is told, and most of it is used."""
    path = ":memory:" if where == "memory" else tmp_path / "budgets.sqlite3"
    limit = Decimal("0.5")
    budgets = Budgets([SpendBudget(limit=limit, reserve="worst")], path=path, now=lambda: NOON)
    proceed, counts = chain(budgets), {"done": 0, "refused": 0}
    lock = threading.Lock()

    def work() -> None:
        for _ in range(6):
            try:
                text(finish(proceed(call())))
                ending = "done"
            except BudgetExceededError:
                ending = "refused"
            with lock:
                counts[ending] += 1

    threads = [threading.Thread(target=work) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    budgets.close()
    ((_, spent, reserved),) = amounts(budgets)

    assert 64 * 6 == counts["done"] + counts["refused"]
    assert (counts["done"] * COST, 0) == (spent, reserved)
    assert limit * Decimal("0.9") < spent <= limit
    assert counts["refused"]


def test_soft_limits_warn_once(caplog: pytest.LogCaptureFixture) -> None:
    """From the soft limit on a warning is logged, once for each user and period; calls go on."""
    clock = [NOON]
    budget = SpendBudget(limit=10_000, unit="tokens", soft=0.35, per="user", period="day")
    proceed = chain(in_memory(budget, now=lambda: clock[0]))

    def ask(user: str) -> int:
        caplog.clear()
        assert "onetwo" == text(finish(proceed(call(user=user))))
        return sum(record.levelno == logging.WARNING for record in caplog.records)

    assert [0, 0, 1, 0] == [ask("小明") for _ in range(4)]
    assert [0] == [ask("小红")]
    clock[0] += 86_400
    assert [0, 0, 1] == [ask("小明") for _ in range(3)]


def test_past_the_soft_limit_a_lighter_model_answers() -> None:
    """deepseek-v4-pro gives way to deepseek-flash, and the report says so; other models stay what they are."""
    budgets, backend = in_memory(SpendBudget(limit=10, soft=0.001, on_soft="lighter")), Endless()
    proceed, pro = chain(budgets, backend), {**BODY, "model": "deepseek-v4-pro"}
    asked = [call(body=pro), call(body=pro), call()]
    for one in asked:
        text(finish(proceed(one)))
        text(finish(proceed(call(body={**BODY, "max_tokens": 5}))))

    assert ["deepseek-v4-pro", "deepseek-flash", "deepseek-flash"] == [one.model for one in backend.calls[::2]]
    assert [0, 1, 0] == [len(one.record.repairs) for one in asked]
    assert "deepseek-flash in place of deepseek-v4-pro" in asked[1].record.repairs[0]


def test_past_the_soft_limit_the_lighter_route_goes_first() -> None:
    """Among routes the lighter one is asked first, and the others after it; where there is none, nothing changes."""
    budgets, backend = in_memory(SpendBudget(limit=10, soft=0.0001, on_soft="lighter")), Endless()
    pro, flash, other = endpoint("deepseek-v4-pro"), endpoint(), endpoint("deepseek-v4-pro")
    asked = call(body={**BODY, "model": "deepseek-v4-pro"}, upstream=pro, targets=(pro, other, flash))
    proceed = chain(budgets, backend)
    text(finish(proceed(asked)))
    text(finish(proceed(asked.replace(targets=(pro, other)))))

    first, second = backend.calls
    assert ("deepseek-flash", flash, (flash, pro, other)) == (first.model, first.upstream, first.targets)
    assert ("deepseek-v4-pro", (pro, other)) == (second.model, second.targets)


def test_another_process_gives_back_what_it_does_not_need(tmp_path: Path) -> None:
    """A call that finds nothing left waits a little for what others hold in reserve."""
    one, two = (
        Budgets([SpendBudget(limit=2000, unit="tokens")], path=tmp_path / "b.sqlite3", now=lambda: NOON)
        for _ in range(2)
    )
    held = finish(chain(one)(call()))
    io = VirtualIO()
    looks: list[float] = []

    class Watching(VirtualIO):
        async def sleep(self, seconds: float) -> None:
            looks.append(seconds)
            held.abandon()
            one.close()
            await super().sleep(seconds)

    asked = call(io=Watching(), body={**BODY, "max_tokens": 1985})

    assert "onetwo" == text(finish(chain(two)(asked)))
    assert 1 == len(looks)
    with pytest.raises(BudgetExceededError):
        finish(chain(two)(call(io=io)))
    assert 0 == io.now()
    two.close()


def test_a_call_does_not_wait_long(tmp_path: Path) -> None:
    """Where others need what they hold, a call is refused after less than a second."""
    one, two = (
        Budgets([SpendBudget(limit=1000, unit="tokens")], path=tmp_path / "b.sqlite3", now=lambda: NOON)
        for _ in range(2)
    )
    held, io = finish(chain(one)(call())), VirtualIO()
    with pytest.raises(BudgetExceededError) as caught:
        finish(chain(two)(call(io=io)))

    assert 0.5 < io.now() < 1
    assert [0, 508] == [caught.value.spent, caught.value.reserved]
    held.abandon()
    one.close()
    two.close()


def test_calls_can_be_refused_while_nothing_is_stored(tmp_path: Path) -> None:
    """With on_store_error="refuse" no call goes while the file cannot be used, and calls go again when it can."""
    place = tmp_path / "place"
    place.write_text("")
    budgets = Budgets([SpendBudget(limit=1)], path=place / "b.sqlite3", on_store_error="refuse")
    proceed = chain(budgets)
    for _ in range(2):
        with pytest.raises(LedgerError):
            finish(proceed(call()))
    place.unlink()
    budgets._offices.get().desk._retry_at = 0

    assert "onetwo" == text(finish(proceed(call())))
    budgets.close()


def limited(driver: Driver, url: str, budgets: Budgets, **about: Any) -> Any:
    """Make a client with budgets."""
    stages = (SpendLimit(budgets, cost_of=cost_of, **about), *default_stages())
    return driver.client(base_url=url, stages=stages, max_retries=0)


def scopes(budgets: Budgets) -> Sequence[str]:
    """Name who has spent something, and check that nothing is reserved."""
    states = budgets.state()
    assert all(state.spent > 0 == state.reserved for state in states)
    return [state.scope for state in states]


def test_over_real_http(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Both colours, plain and streamed: each user has a budget, which is in a file and holds."""
    budgets = Budgets([SpendBudget(limit=3000, unit="tokens", per="user")], path=tmp_path / "b.sqlite3")
    client = limited(driver, emulator(replies="one two three").url, budgets)
    body: dict[str, Any] = {"max_tokens": 1000, "extra_body": {"thinking": {"type": "disabled"}}}

    assert "one two three" == driver.create(client, user="小明", **body).choices[0].message.content
    assert "one two three" == driver.stream_text(driver.create(client, user="小红", stream=True, **body))
    assert ["user 小明", "user 小红"] == scopes(budgets)
    with pytest.raises(BudgetExceededError):
        driver.create(client, user="小明", max_tokens=1000, n=3, extra_body=body["extra_body"])
    budgets.close()


def test_at_the_same_time_over_real_http(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """Calls at the same time do not pass the limit together: some are refused before they are sent."""
    server = emulator(replies="one two three")
    budgets = Budgets([SpendBudget(limit=5000, unit="tokens", reserve="worst")], path=tmp_path / "b.sqlite3")
    client = limited(driver, server.url, budgets)

    def ask() -> Any:
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1000}
        return client.chat.completions.create(**body)

    answers = driver.together(*[ask] * 8)
    refused = [answer for answer in answers if isinstance(answer, Exception)]

    assert refused
    assert all(isinstance(error, BudgetExceededError) for error in refused)
    assert 8 - len(refused) == len(server.requests)
    assert ["all"] == scopes(budgets)
    budgets.close()


def test_a_stream_that_is_cut_over_real_http(driver: Driver, emulator: StartEmulator) -> None:
    """What had come of a stream that breaks, or that the caller closes, is paid for."""
    budgets = in_memory(SpendBudget(limit=10_000, unit="tokens", per="tag:way"))
    client = limited(driver, emulator(replies="one two three four five six", faults=["cut_by_eof", None]).url, budgets)
    with options(tags={"way": "cut"}), pytest.raises(openai.APIConnectionError):
        driver.stream_text(driver.create(client, stream=True))
    with options(tags={"way": "closed"}):
        stream = driver.create(client, stream=True)
        next(driver.iterate(stream))
        driver.call(stream.close)

    assert ["tag:way closed", "tag:way cut"] == scopes(budgets)


def test_a_client_with_a_budget(driver: Driver, emulator: StartEmulator, tmp_path: Path) -> None:
    """A client keeps its budget by DeepSeek's prices: what its reports say is what is spent."""
    budgets = Budgets([SpendBudget(limit=1, period="day")], path=tmp_path / "b.sqlite3")
    client = driver.client(base_url=emulator(replies="one two three").url, spend_budget=budgets)
    answers = [driver.create(client, user="小明") for _ in range(3)]
    costs = [report(answer).cost for answer in answers]
    ((_, spent, reserved),) = amounts(budgets)

    assert client.budgets is budgets
    assert 0 < sum(cost.cny_high or 0 for cost in costs if cost is not None) == spent
    assert 0 == reserved
    budgets.adjust("all/day/CNY", 1)
    with pytest.raises(BudgetExceededError, match="all/day/CNY"):
        driver.create(client)
    budgets.close()
