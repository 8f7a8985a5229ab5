from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import AsyncClient, CallOptions, Route, report
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._record import Record
from deepseek_sdk.backends.base import InProcess
from deepseek_sdk.errors import ContextOverflowError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.routing.target import aim
from deepseek_sdk.stages import Routes
from deepseek_sdk.stages.fit import WindowFit
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from deepseek_sdk.tokens.counter import Counter
from deepseek_sdk.tokens.fitting import TokenBudget
from tests.tokens.fitting.world import SimpleCounter, assistant, chat, judge, step, system, user

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply
    from tests.conftest import Driver, StartEmulator

DOCUMENT = "\n\n".join(f"Paragraph {n} says that number {n * 7} is lucky. Nobody knows why." for n in range(300))
CHINESE = "\n\n".join(f"第{n}段：{n * 7}号的颜色很特别。没有人知道为什么。" for n in range(300))


def target(backend: Any, window: int | None, name: str = "small", *, is_last_resort: bool = False) -> InProcess:
    """Make a target of a scripted backend."""
    return InProcess(
        backend=backend,
        name=name,
        account=Account(f"backend:{name}", name),
        read_timeout=None,
        is_last_resort=is_last_resort,
        route=Route(name, backend=backend),
        context_window=window,
    )


async def ask(call: Call) -> Reply:
    """Answer at the end of the chain."""
    return await call.upstream.answer(call)  # type: ignore[no-any-return]


def fit_call(
    body: dict[str, Any],
    budget: TokenBudget | None,
    *,
    window: int | None = None,
    stage: WindowFit | None = None,
    scripts: Any = None,
    more: tuple[InProcess, ...] = (),
    **changes: Any,
) -> tuple[ScriptedBackend, Call]:
    """Send a call through the stage; give what the backend was asked, and the call."""
    backend = ScriptedBackend(*([said("Hi")] if scripts is None else scripts))
    stage = WindowFit(SimpleCounter) if stage is None else stage
    targets = (target(backend, window), *more)
    options = CallOptions(token_budget=budget)
    call = make_call(body=body, options=options, upstream=targets[0], targets=targets, **changes)
    finish(finish(compose([stage], ask)(call)).gather())
    return backend, call


def long_chat(turns: int) -> dict[str, Any]:
    """Make a conversation."""
    words = "word " * 15
    messages = [m for n in range(turns) for m in (user(f"Question {n}? {words}"), assistant(f"Answer {n}. {words}"))]
    return chat(system("Be kind."), *messages, user("And now?"))


def never() -> SimpleCounter:
    """Refuse to give a counter."""
    pytest.fail("nothing had to be counted")


def test_without_a_budget_nothing_is_done() -> None:
    """A call without a token budget passes as it is, and nothing is counted."""
    body = chat(user(DOCUMENT))
    backend, call = fit_call(body, None, window=100, stage=WindowFit(never))

    assert body is backend.calls[0].body
    assert [] == call.record.repairs


def test_window_of_the_target_is_what_counts() -> None:
    """A prompt is fitted to the target that is asked, and the report says what was left out."""
    body = chat(user(DOCUMENT), max_tokens=100)
    backend, call = fit_call(body, TokenBudget(policy="head_tail"), window=2000)
    sent = SimpleCounter().count(backend.calls[0].body).total

    assert 1800 < sent <= 2000 - 100
    assert 1 == len(call.record.repairs)
    assert f"(head_tail); {sent} of 9006 tokens sent" in call.record.repairs[0]
    assert "Paragraph 299" in body["messages"][0]["content"] == DOCUMENT


def test_what_fits_is_sent_as_it_is() -> None:
    """A short prompt is not even counted; one that fits all the same is the same object."""
    for window in (10**6, 10_000):
        body = chat(user(DOCUMENT), max_tokens=100)
        backend, call = fit_call(body, TokenBudget(policy="head_tail"), window=window)

        assert body is backend.calls[0].body
        assert [] == call.record.repairs


def test_unknown_windows_and_other_bodies_are_left_alone() -> None:
    """Where there is no window and no limit, or nothing to fit, the call passes."""
    for body, window in ((chat(user(DOCUMENT)), None), ({"prompt": [1, 2]}, 10), ({"messages": ["?"]}, 10)):
        backend, _ = fit_call(body, TokenBudget(policy="head_tail"), window=window, stage=WindowFit(never))

        assert body is backend.calls[0].body


def test_last_resort_gets_the_whole_question() -> None:
    """A rule engine has no window."""
    backend = ScriptedBackend(said("Sorry."))
    call = make_call(
        body=chat(user(DOCUMENT)),
        options=CallOptions(token_budget=TokenBudget(limit=100)),
        upstream=target(backend, 100, is_last_resort=True),
    )
    finish(finish(compose([WindowFit(never)], ask)(call)).gather())

    assert call.body is backend.calls[0].body


def test_error_is_raised_before_anything_is_sent() -> None:
    """With the policy "error" a prompt that is too long raises, and nobody is asked."""
    backend = ScriptedBackend()
    call = make_call(
        body=chat(user(DOCUMENT), max_tokens=100),
        options=CallOptions(token_budget=TokenBudget()),
        upstream=target(backend, 2000),
    )

    with pytest.raises(ContextOverflowError) as caught:
        finish(compose([WindowFit(SimpleCounter)], ask)(call))

    assert (2000, 9106, []) == (caught.value.limit, caught.value.requested, backend.calls)


def test_larger_window_gets_it_whole() -> None:
    """What is too long for one route goes to the next, which has room for it."""
    small, large = ScriptedBackend(), ScriptedBackend(said("Read."))
    targets = (target(small, 2000), target(large, 100_000, "large"))
    call = make_call(
        body=chat(user(DOCUMENT), max_tokens=100),
        options=CallOptions(token_budget=TokenBudget()),
        upstream=targets[0],
        targets=targets,
    )
    finish(finish(compose([Routes(), WindowFit(SimpleCounter)], ask)(aim(call, 0))).gather())

    assert ([], "large") == (small.calls, call.record.attempts[-1].route)
    assert DOCUMENT == large.calls[0].body["messages"][0]["content"]


def test_expected_length_of_the_answer_leaves_it_room() -> None:
    """Where the request has no limit of its own, the expected length of the answer does."""
    stage = WindowFit(SimpleCounter, expected=lambda _: 700)
    backend, _ = fit_call(chat(user(DOCUMENT)), TokenBudget(policy="head_tail"), window=4000, stage=stage)

    assert 3000 < SimpleCounter().count(backend.calls[0].body).total <= 3300


@pytest.mark.parametrize("session", ["user-42", None])
def test_next_turn_is_cut_at_the_same_place(session: str | None) -> None:
    """The next request of a conversation begins as the one before, whoever names the conversation."""
    stage, budget = WindowFit(SimpleCounter), TokenBudget(policy="history", limit=800)
    sent = []
    for turns in range(20, 24):
        record = Record(started=0.0, session_id=session)
        backend, call = fit_call(long_chat(turns), budget, stage=stage, record=record)
        sent.append(backend.calls[0].body["messages"])

    assert all(old[:-1] == new[: len(old) - 1] for old, new in pairwise(sent))
    assert "as in an earlier turn" in call.record.repairs[0]


SUMMARY = TokenBudget(policy="history", limit=800, summarise_with="deepseek-flash")


def test_summary_is_asked_for_once_and_remembered() -> None:
    """A model makes the summary of what is dropped; the next turn has it without asking again."""
    stage = WindowFit(SimpleCounter)
    body = {**long_chat(20), "user_id": "u1"}
    backend, call = fit_call(body, SUMMARY, stage=stage, scripts=(said("They talked."), said("Hi")))
    again, _ = fit_call(long_chat(21), SUMMARY, stage=stage)
    asked, sent = (call.body for call in backend.calls)

    assert ("deepseek-flash", 50, {"type": "disabled"}) == (asked["model"], asked["max_tokens"], asked["thinking"])
    assert "u1" == asked["user_id"]
    assert "user: Question 0? word" in asked["messages"][1]["content"]
    assert "left out …]\n\nThey talked.\n\nQuestion" in sent["messages"][1]["content"]
    assert sent["messages"][1] == again.calls[0].body["messages"][1]
    assert "with a summary in their place" in call.record.repairs[0]
    assert 2 == len(call.record.attempts)


def test_summary_is_made_by_the_route_of_that_name() -> None:
    """A summary may be left to another route than the one that answers."""
    other = ScriptedBackend(said("They talked."))
    budget = TokenBudget(policy="history", limit=800, summarise_with="cheap")
    backend, call = fit_call(long_chat(20), budget, more=(target(other, 4000, "cheap"),))

    assert (1, 1) == (len(other.calls), len(backend.calls))
    assert "They talked." in backend.calls[0].body["messages"][1]["content"]
    assert ["cheap", "small"] == [attempt.route for attempt in call.record.attempts]


def test_times_of_the_summary_are_not_those_of_the_call() -> None:
    """The first token of the call is the first one of its answer."""
    io = VirtualIO()
    slow = [2.0, *said("They talked.")]
    _, call = fit_call(long_chat(20), SUMMARY, io=io, scripts=(slow, [3.0, *said("Hi")]))

    assert (5.0, 5.0) == (call.record.times.first_token, call.record.times.total)


@pytest.mark.parametrize(
    "failure", [ConnectionResetError("reset"), said(""), said("word " * 600)], ids=["fails", "empty", "too long"]
)
def test_summary_that_fails_is_done_without(failure: Any) -> None:
    """Where no summary can be had, the turns are dropped, the call goes on, and the report says so."""
    failure = [failure] if isinstance(failure, OSError) else failure
    backend, call = fit_call(long_chat(20), SUMMARY, scripts=(failure, said("Hi")))

    assert backend.calls[1].body["messages"][1]["content"].startswith("[… ")
    assert "summary" in call.record.repairs[1]


def test_long_transcript_is_fitted_itself() -> None:
    """What is to be summarised may be longer than the window of the one who does it."""
    other = ScriptedBackend(said("They talked."))
    body = chat(user("First?"), assistant(DOCUMENT), *long_chat(8)["messages"][1:])
    budget = TokenBudget(policy="history", limit=800, summarise_with="cheap")
    fit_call(body, budget, more=(target(other, 1000, "cheap"),))

    assert SimpleCounter().count(other.calls[0].body).total <= 1000


def test_calls_and_results_of_tools_are_in_the_transcript() -> None:
    """A summary is made of what tools were asked and said, too."""
    said_before = [
        m for n in range(6) for m in (user("Look."), *step(n, f"Page {n}: " + "word " * 30), assistant("Ok."))
    ]
    backend, _ = fit_call(chat(*said_before, user("So?")), TokenBudget(policy="history", limit=200, summarise_with="m"),
                          scripts=(said("Pages."), said("Hi")))  # fmt: skip

    assert '[calls look: {"page": 0}]\n\ntool: Page 0: word' in backend.calls[0].body["messages"][1]["content"]
    judge(backend.calls[1].body)


def test_threads_share_the_stage() -> None:
    """Many calls of the same conversations at the same time are cut like one after the other."""
    stage, budget = WindowFit(SimpleCounter), TokenBudget(policy="history", limit=800)

    def sent(number: int) -> Any:
        body = long_chat(20)
        body["messages"].insert(1, user(f"Chat {number % 4}"))
        return fit_call(body, budget, stage=stage)[0].calls[0].body["messages"]

    alone = [sent(number) for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert alone * 8 == list(pool.map(sent, range(32)))


@pytest.fixture(scope="module")
def counter() -> Counter:
    """Load DeepSeek's vocabulary."""
    counter = Counter()
    counter.load()
    return counter


@pytest.fixture
def fitting(driver: Driver, counter: Counter) -> Callable[..., Any]:
    """Make clients that fit prompts."""
    return lambda url, **options: driver.client(base_url=url, stages=[WindowFit(lambda: counter)], **options)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("document", [DOCUMENT, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("policy", ["head_tail", "middle", "semantic", "history"])
def test_server_takes_what_is_left(
    driver: Driver, emulator: StartEmulator, fitting: Any, policy: Any, document: str, stream: Any
) -> None:
    """A long prompt reaches the server within the limit, plain and streamed, and the server agrees on its length."""
    server = emulator(replies="Read.")
    client = fitting(server.url).with_options(token_budget=TokenBudget(policy=policy, limit=1500))
    messages = [system("Be kind."), user(document), assistant("Ready."), user("What about number 1029?")]
    answer = driver.create(client, messages=messages, stream=stream)

    assert "Read." == (driver.stream_text(answer) if stream else answer.choices[0].message.content)
    sent: Any = server.requests[0].prompt_tokens
    assert sent <= 1500
    assert f"; {sent} of " in report(answer).repairs[0]


def test_error_reaches_the_caller(driver: Driver, emulator: StartEmulator, fitting: Any) -> None:
    """A prompt that may not be cut is refused in both colours, and nothing is sent."""
    server = emulator()
    client = fitting(server.url).with_options(token_budget=TokenBudget(limit=100))

    with pytest.raises(ContextOverflowError) as caught:
        driver.create(client, DOCUMENT)

    assert (100, []) == (caught.value.limit, list(server.requests))


def test_summary_in_both_colours(driver: Driver, emulator: StartEmulator, fitting: Any) -> None:
    """The server is asked for the summary first, then for the answer; both count as attempts of the call."""
    server = emulator(replies=["They talked.", "Hi."])
    budget = TokenBudget(policy="history", limit=600, summarise_with="deepseek-v4-pro")
    answer = driver.create(fitting(server.url).with_options(token_budget=budget), messages=long_chat(20)["messages"])
    asked, sent = (request.body for request in server.requests)

    assert "Hi." == answer.choices[0].message.content
    assert ("deepseek-v4-pro", "deepseek-flash") == (asked["model"], sent["model"])
    assert "They talked." in sent["messages"][1]["content"]
    assert 2 == len(report(answer).attempts)


@pytest.mark.slow
def test_conversation_keeps_its_cached_prefix(driver: Driver, emulator: StartEmulator, fitting: Any) -> None:
    """Turn after turn of a conversation over the limit, most of the prompt comes from the server's cache."""
    server = emulator(replies=["Yes."] * 6, cache_delay_s=0)
    client = fitting(server.url).with_options(token_budget=TokenBudget(policy="history", limit=1500))
    usages: list[Any] = []
    for turns in range(50, 56):
        answer = driver.create(client, messages=long_chat(turns)["messages"])
        usages.append(report(answer).usage)

    assert all(usage.hit > usage.prompt // 2 for usage in usages[1:])


def test_prompts_of_completions_are_fitted(driver: Driver, emulator: StartEmulator, fitting: Any) -> None:
    """Fill-in-the-middle is fitted, too."""
    server = emulator(replies="x")
    client = fitting(server.url).with_options(token_budget=TokenBudget(policy="head_tail", limit=500))
    driver.call(client.completions.create, model="deepseek-flash", prompt=DOCUMENT, suffix="End.")

    assert len(server.requests[0].body["prompt"]) < len(DOCUMENT)
    assert json.dumps("left out")[1:-1] in server.requests[0].body["prompt"]


class SlowCounter(SimpleCounter):
    """Counts on nobody's event loop, when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_count = threading.Event()
        self.is_counting = threading.Event()
        self.threads: set[int] = set()

    def count(self, body: Any) -> Any:
        """Wait, then count."""
        self.threads.add(threading.get_ident())
        self.is_counting.set()
        self.may_count.wait(30)
        return super().count(body)


def test_long_prompts_are_counted_off_the_event_loop(emulator: StartEmulator) -> None:
    """While a long prompt is counted the event loop goes on, and a call that is cancelled meanwhile sends nothing."""
    server, counter = emulator(), SlowCounter()
    client = AsyncClient(base_url=server.url, api_key="any", stages=[WindowFit(lambda: counter)])
    fitting = client.with_options(token_budget=TokenBudget(policy="head_tail", limit=500))
    asked: Any = {"model": "deepseek-flash", "messages": [user(DOCUMENT)]}

    async def cancel_then_ask() -> None:
        async with client:
            call = asyncio.ensure_future(fitting.chat.completions.create(**asked))
            assert await asyncio.to_thread(counter.is_counting.wait, 30)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            counter.may_count.set()
            assert [] == list(server.requests)
            await fitting.chat.completions.create(**asked)
            assert threading.get_ident() not in counter.threads

    asyncio.run(cancel_then_ask())
    assert 1 == len(server.requests)
