"""`client.tokens` in both colours, and whether counts agree with bills."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import openai
import pydantic
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.tokens import AsyncTokens, Counter, DeepSeekVocabulary, Drift, Tokens
from deepseek_sdk.tokens.encoders import KitokenEncoder, TokenizersEncoder
from deepseek_sdk.tokens.fitting import TokenBudget

if TYPE_CHECKING:
    from deepseek_sdk.testing import Vocabulary
    from tests.conftest import Driver, StartEmulator

MESSAGES = [{"role": "user", "content": "Why is the sky blue?"}]
OFF = {"thinking": {"type": "disabled"}}


@pytest.fixture(scope="module")
def counter(vocabulary: Vocabulary) -> Counter:
    """Count with what is installed."""
    return Counter(vocabulary=vocabulary)


@pytest.fixture
def tokens(driver: Driver, counter: Counter) -> Tokens | AsyncTokens:
    """Give the tokens of a client of either colour."""
    return AsyncTokens(lambda: counter) if driver.is_async else Tokens(lambda: counter)


def test_arguments_of_create(driver: Driver, tokens: Tokens, counter: Counter) -> None:
    """A request is given as `create()` takes it; what no prompt depends on makes no difference."""
    body = {"model": "deepseek-flash", "messages": MESSAGES, **OFF}
    counted = driver.call(tokens.count, MESSAGES, extra_body=OFF, temperature=0.3, stop=openai.omit, stream=True)

    assert counter.count(body) == counted == driver.call(tokens.count, messages=iter(MESSAGES), **OFF)
    assert driver.call(tokens.count, MESSAGES).total > counted.total
    assert 3 == driver.call(tokens.count_text, "<think>")
    assert "<think>" == "".join(piece.text for piece in driver.call(tokens.pieces, "<think>"))
    driver.call(tokens.load)


def test_completions(driver: Driver, tokens: Tokens) -> None:
    """A prompt with a hole is counted, too."""
    assert 4 < driver.call(tokens.count, prompt="def f(", suffix=")").total


def test_nothing_to_count(driver: Driver, tokens: Tokens) -> None:
    """Neither messages nor a prompt is a mistake of the program."""
    with pytest.raises(TypeError, match="messages or a prompt"):
        driver.call(tokens.count)


# Conversations that are none, and what is said of them.
NO_MESSAGES: list[tuple[Any, str]] = [
    ("你好", "messages must be a list of messages, not "),
    (5, "messages must be a list of messages, not int"),
    (True, "messages must be a list of messages, not bool"),
    (MESSAGES[0], "messages must be a list of messages, not dict"),
    (ChatCompletionMessage(role="assistant", content="x"), "messages must be a list of messages, not "),
    (object(), "messages must be a list of messages, not object"),
    (b"hello", "messages[0] must be a message, not int"),
    (["hello"], "messages[0] must be a message, not str"),
    ([*MESSAGES, None], "messages[1] must be a message, not NoneType"),
    ({"a": 1}.values(), "messages[0] must be a message, not int"),
    ((MESSAGES,), "messages[0] must be a message, not list"),
]


@pytest.mark.parametrize(("wrong", "text"), NO_MESSAGES)
@pytest.mark.parametrize("name", ["count", "fit"])
def test_messages_that_are_none(driver: Driver, tokens: Tokens, name: str, wrong: Any, text: str) -> None:
    """What is no conversation is refused by its name, and what it says is not shown."""
    more = {"budget": TokenBudget()} if name == "fit" else {}
    with pytest.raises(ConfigurationError, match=f"^{re.escape(text)}") as caught:
        driver.call(getattr(tokens, name), wrong, **more)

    assert "hello" not in str(caught.value)


def test_texts_have_their_own_method(driver: Driver, tokens: Tokens) -> None:
    """Who counts a text as a conversation is told what counts it."""
    with pytest.raises(ConfigurationError, match=r"count_text\(\)"):
        driver.call(tokens.count, "你好")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"prompt": 5}, "prompt"),
        ({"prompt": {"a": "b"}}, "prompt"),
        ({"prompt": [1, 2]}, "prompt[0]"),
        ({"prompt": "def", "suffix": 5}, "suffix"),
        ({"prompt": "def", "suffix": b"x"}, "suffix"),
        ({"messages": MESSAGES, "tools": 5}, "tools"),
        ({"messages": MESSAGES, "tools": {"type": "function"}}, "tools"),
        ({"messages": MESSAGES, "extra_body": 5}, "extra_body"),
        ({"messages": MESSAGES, "extra_body": {"messages": "hello"}}, "messages"),
    ],
)
def test_other_arguments_are_checked(driver: Driver, tokens: Tokens, given: dict[str, Any], name: str) -> None:
    """What else a prompt is made of is refused by its name, where it is of another type."""
    with pytest.raises(ConfigurationError, match=f"^{re.escape(name)} must be "):
        driver.call(tokens.count, **given)


@pytest.mark.parametrize("name", ["count_text", "pieces"])
@pytest.mark.parametrize("wrong", [None, 5, b"hello", ["hello"], MESSAGES])
def test_texts_that_are_none(driver: Driver, tokens: Tokens, name: str, wrong: Any) -> None:
    """What is no text is refused by its name."""
    with pytest.raises(ConfigurationError, match=r"^text must be a string, not "):
        driver.call(getattr(tokens, name), wrong)


@pytest.mark.parametrize("wrong", [None, 5, "history", {"limit": 5}, TokenBudget])
def test_budgets_that_are_none(driver: Driver, tokens: Tokens, wrong: Any) -> None:
    """What is no budget is refused by its name, as is the class."""
    with pytest.raises(ConfigurationError, match=r"^budget must be a TokenBudget, not "):
        driver.call(tokens.fit, MESSAGES, budget=wrong)


@pytest.mark.parametrize("make", [list, tuple, iter, lambda messages: (message for message in messages)])
@pytest.mark.parametrize("name", ["count", "fit"])
def test_any_iterable_of_messages(driver: Driver, tokens: Tokens, name: str, make: Any) -> None:
    """Messages come in any iterable, as dictionaries, other mappings or objects of openai."""
    spoken = [*MESSAGES, MappingProxyType(MESSAGES[0]), ChatCompletionMessage(role="assistant", content="x")]
    more = {"budget": TokenBudget()} if name == "fit" else {}
    made = driver.call(getattr(tokens, name), make(spoken), **more)

    assert made == driver.call(getattr(tokens, name), spoken, **more)


@pytest.mark.parametrize("nothing", [None, openai.omit, openai.NOT_GIVEN])
def test_prompts_without_messages(driver: Driver, tokens: Tokens, nothing: Any) -> None:
    """With a prompt there need be no messages."""
    total = driver.call(tokens.count, nothing, prompt="def f(x", suffix=nothing, extra_body=nothing).total

    assert total == driver.call(tokens.count, nothing, prompt=("def f(", "x")).total
    assert total == driver.call(tokens.fit, nothing, budget=TokenBudget(), prompt="def f(x").total


def test_answers_as_they_came(driver: Driver, emulator: StartEmulator, tokens: Tokens, counter: Counter) -> None:
    """Messages may be objects of openai, as an answer brings them."""
    client = driver.client(base_url=emulator(replies=["It scatters."]).url)
    answer: ChatCompletion = driver.create(client)
    message = answer.choices[0].message
    conversation = [*MESSAGES, message, *MESSAGES]
    sent = {"model": "deepseek-flash", "messages": [*MESSAGES, message.model_dump(exclude_unset=True), *MESSAGES]}

    assert counter.count(sent) == driver.call(tokens.count, conversation)


class City(pydantic.BaseModel):
    """A form of an answer."""

    name: str


def test_forms_given_as_classes(driver: Driver, tokens: Tokens) -> None:
    """A response format given as a class counts as its schema, which is in doubt."""
    counted = driver.call(tokens.count, MESSAGES, response_format=City)

    assert ("response format",) == counted.why
    assert driver.call(tokens.count, MESSAGES).total + 20 < counted.total


def test_colours_have_one_signature() -> None:
    """Both colours take the same arguments."""
    names = [name for name in vars(Tokens) if not name.startswith("_")]

    assert names == [name for name in vars(AsyncTokens) if not name.startswith("_")]
    for name in names:
        sync, other = (inspect.signature(getattr(owner, name)) for owner in (Tokens, AsyncTokens))
        assert sync.parameters == other.parameters


@pytest.mark.slow
@pytest.mark.parametrize("maker", [KitokenEncoder, TokenizersEncoder])
async def test_the_loop_goes_on(maker: type[KitokenEncoder | TokenizersEncoder]) -> None:
    """While a long text is counted, the event loop turns."""
    counter = Counter(vocabulary=DeepSeekVocabulary(encoders=[maker]))
    tokens = AsyncTokens(lambda: counter)
    await tokens.load()
    text = "\n".join(f"{number} The quick brown fox, 敏捷的棕色狐狸 {number * 7919}." for number in range(8000))
    task = asyncio.create_task(tokens.count_text(text))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1

    assert 100_000 < await task
    assert 500 < turns


async def test_cancelled_counts(counter: Counter) -> None:
    """Who is cancelled while he waits for a count is free at once."""
    task = asyncio.create_task(AsyncTokens(lambda: counter).count_text("word " * 100_000))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_messages_that_are_plain_stay_the_same() -> None:
    """What needs no change is passed on as the very same list."""
    from deepseek_sdk.tokens.client import _plain  # noqa: PLC0415  what `fit()` stands on

    objects: list[Any] = [ChatCompletionMessage(role="assistant", content="x")]

    assert MESSAGES is _plain(MESSAGES)
    assert [{"role": "assistant", "content": "x"}] == _plain(objects)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Tell the time, in seconds."""
        return self.now


def test_agreement_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    """Counts within one per cent of the bills are reported, and nothing is said."""
    drift = Drift(Clock())
    for _ in range(3):
        drift.note("deepseek-flash", 1000, 1009)
    report = drift.reports()["deepseek-flash"]

    assert (3, 3000, 3027, False, 1.009) == (report.calls, report.counted, report.told, report.is_over, report.ratio)
    assert [] == caplog.records


def test_drift_warns_once_an_hour(caplog: pytest.LogCaptureFixture) -> None:
    """A difference of more than one per cent is a warning, for each model once an hour."""
    clock = Clock()
    drift = Drift(clock)
    for clock.now in (0.0, 10.0, 3599.0, 3600.0):
        drift.note("deepseek-flash", 1000, 1020)
    drift.note("deepseek-v4-pro", 1000, 900)

    assert ["deepseek-flash", "deepseek-flash", "deepseek-v4-pro"] == [r.message.split(":")[0] for r in caplog.records]
    assert "+2.0 %" in caplog.records[0].message
    assert {logging.WARNING} == {record.levelno for record in caplog.records}
    assert drift.reports()["deepseek-v4-pro"].is_over


def test_drift_forgets_old_calls() -> None:
    """The comparison is of the latest calls, so a model that was mended agrees again."""
    drift = Drift(Clock())
    for told in [2000] * 10 + [1000] * 256:
        drift.note("deepseek-flash", 1000, told)
    for number in range(100):
        drift.note(f"model {number}", 1, 1)

    assert not drift.reports()["deepseek-flash"].is_over
    assert 64 == len(drift.reports())


def test_drift_of_a_client(driver: Driver, counter: Counter) -> None:
    """`drift()` tells by model how counts compare."""
    drift = Drift(Clock())
    drift.note("deepseek-flash", 100, 100)
    tokens = (AsyncTokens if driver.is_async else Tokens)(lambda: counter, drift)

    assert 1.0 == tokens.drift()["deepseek-flash"].ratio
