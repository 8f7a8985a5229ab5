"""Counts equal what the service bills: its own figures, its own encoder, and the emulator's bills."""

from __future__ import annotations

import functools
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.tokens import Counter, EstimatedVocabulary, Vocabulary
from deepseek_sdk.tokens.own_rendering import OwnRenderer
from deepseek_sdk.tokens.rendering import RecipeRenderer
from deepseek_sdk.tokens.request import Prompt, read_request
from deepseek_sdk.tokens.vocabulary import _installed_vocabulary
from tests.live_counts import LIVE_COUNTS
from tests.tokens.conversations import requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver, StartEmulator

recipe = pytest.importorskip("deepseek_recipe")

OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
QUESTION = {"role": "user", "content": "Why is the sky blue?"}
PARTS, SHARE = 8, 250


def user(content: Any) -> dict[str, Any]:
    """Make a user's message."""
    return {"role": "user", "content": content}


def body(*messages: dict[str, Any], model: str = "deepseek-flash", **fields: Any) -> dict[str, Any]:
    """Make a request."""
    return {"model": model, "messages": list(messages), **fields}


@pytest.fixture(scope="module")
def counter(vocabulary: Vocabulary) -> Counter:
    """Count with what is installed, one counter for all tests."""
    return Counter(vocabulary=vocabulary)


@pytest.fixture(scope="module")
def bill() -> Callable[[dict[str, Any]], int]:
    """Count whole requests by DeepSeek's own encoder and tokenizer, without any code of ours."""
    file = json.loads(_installed_vocabulary().read_text(encoding="utf-8"))
    # V4.1's own special tokens are not in the file of V4.
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    top = max(token["id"] for token in file["added_tokens"])
    for offset, content in enumerate(("<｜System｜>", "<｜deepseek_image｜>"), start=1):
        file["added_tokens"].append({"id": top + offset, "content": content, **plain})
    tokenizer = recipe.Tokenizer.from_str(json.dumps(file))
    encodings = {
        "deepseek-flash": recipe.DeepseekV41Encoding().with_tokenizer(tokenizer),
        "deepseek-v4-pro": recipe.DeepseekV4Encoding().with_tokenizer(tokenizer),
    }
    versions = (recipe.ModelVersion.DeepseekV41Flash, recipe.ModelVersion.DeepseekV4Pro)
    options = recipe.ConversionOptions().with_model_versions_by_name(dict(zip(encodings, versions, strict=True)))

    def count(request: dict[str, Any]) -> int:
        conversation = recipe.ChatCompletionRequest(request).convert(options).conversation
        return len(encodings[request["model"]].encode(conversation))

    return count


@pytest.mark.parametrize(("content", "tokens"), LIVE_COUNTS)
def test_live_figures(counter: Counter, content: str, tokens: int) -> None:
    """Counts are those of the live service, to which special spellings in a text are plain characters."""
    count = counter.count(body(user(content), **OFF))

    assert (tokens, True, tokens, tokens) == (count.total, count.exact, count.low, count.high)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_generated_conversations(counter: Counter, bill: Callable[[dict[str, Any]], int], part: int) -> None:
    """2,000 conversations of every shape have as many tokens as DeepSeek's own encoder makes of them."""
    wrong = []
    for request in requests(SHARE, seed=part * SHARE):
        count, billed = counter.count(request), bill(request)
        if (count.total, count.exact, count.low, count.high) != (billed, True, billed, billed):
            wrong.append((billed, count, request))
        assert len(count.by_message) == len(request["messages"])
        assert min(*count.by_message, count.overhead) >= 0

    assert [] == wrong


@pytest.mark.slow
def test_own_rendering_is_within_its_bounds(bill: Callable[[dict[str, Any]], int], vocabulary: Vocabulary) -> None:
    """Without DeepSeek's encoder a count says that it is an estimate, and the truth is between its bounds."""
    counter = Counter(vocabulary=vocabulary, renderer=OwnRenderer())
    counts = [(counter.count(request), bill(request)) for request in requests(200, seed=10_000)]

    assert {(False, ("no encoder installed",))} == {(count.exact, count.why) for count, _ in counts}
    assert [] == [(count, billed) for count, billed in counts if not count.low <= billed <= count.high]
    assert 2 >= max(abs(count.total - billed) for count, billed in counts)


def test_estimates_are_within_their_bounds(bill: Callable[[dict[str, Any]], int]) -> None:
    """Without a vocabulary the bounds are those of the bytes, which the truth keeps."""
    counter = Counter(vocabulary=EstimatedVocabulary(), renderer=OwnRenderer())
    counts = [(counter.count(request), bill(request)) for request in requests(40, seed=20_000)]

    assert {("no encoder installed", "no vocabulary installed")} == {count.why for count, _ in counts}
    assert [] == [(count, billed) for count, billed in counts if not count.low <= billed <= count.high]


SYSTEM_LINE = (
    "<｜System｜>Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough the reasoning)\n\n"
)


@pytest.mark.parametrize("renderer", [RecipeRenderer(), OwnRenderer()], ids=["recipe", "own"])
@pytest.mark.parametrize(
    ("request_", "rendered"),
    [
        (body(user("Hello"), **OFF), "<｜User｜>Hello<｜Assistant｜></think>"),
        (body(user("question")), SYSTEM_LINE + "<｜User｜>question<｜Assistant｜><think>"),
        (
            body(user("question"), {"role": "system", "content": "answer briefly"}, **OFF),
            "<｜User｜>question<｜System｜>answer briefly<｜Assistant｜></think>",
        ),
        (
            body(user("code"), {"role": "assistant", "content": "```python\n", "prefix": True}, **OFF),
            "<｜User｜>code<｜Assistant｜></think>```python\n",
        ),
        (
            body({"role": "developer", "content": "be brief"}, user("q"), **OFF),
            "<｜System｜>be brief<｜User｜>q<｜Assistant｜></think>",
        ),
    ],
)
def test_known_renderings(renderer: RecipeRenderer | OwnRenderer, request_: dict[str, Any], rendered: str) -> None:
    """Both renderers write what the template is known to be."""
    prompt = read_request(request_)
    assert isinstance(prompt, Prompt)

    assert "<｜begin▁of▁sentence｜>" + rendered == "".join(part.text for part in renderer.render(prompt))


def test_old_reasoning_costs_nothing_without_tools(counter: Counter) -> None:
    """Thoughts of earlier turns are part of the prompt where there are tools, and only there."""
    thought = {"role": "assistant", "content": "It scatters.", "reasoning_content": "blue light " * 512}
    plain = {"role": "assistant", "content": "It scatters."}

    assert counter.count(body(QUESTION, plain, QUESTION)) == counter.count(body(QUESTION, thought, QUESTION))
    with_tools = [counter.count(body(QUESTION, answer, QUESTION, tools=TOOLS)).total for answer in (plain, thought)]
    assert 1000 < with_tools[1] - with_tools[0]


@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro"])
def test_tools_that_may_not_be_called_cost_nothing(counter: Counter, model: str) -> None:
    """`tool_choice: none` removes the tools from the prompt."""
    none = counter.count(body(QUESTION, model=model, tools=TOOLS, tool_choice="none"))

    assert counter.count(body(QUESTION, model=model)) == none
    assert counter.count(body(QUESTION, model=model, tools=TOOLS)).total > none.total + 200


@pytest.mark.parametrize(
    ("name", "like"),
    [
        ("deepseek-v4-flash", body(QUESTION)),
        ("deepseek-chat", body(QUESTION, **OFF)),
        ("deepseek-reasoner", body(QUESTION, thinking={"type": "enabled"})),
    ],
)
def test_other_names(counter: Counter, name: str, like: dict[str, Any]) -> None:
    """An alias counts as what serves it, a retired name as the mode that it stood for."""
    assert counter.count(like) == counter.count(body(QUESTION, model=name))


@pytest.mark.parametrize("effort", ["minimal", "low", "medium", "high", "xhigh", "max", "ultra", "none"])
@pytest.mark.parametrize("model", ["deepseek-flash", "deepseek-v4-pro"])
def test_efforts(counter: Counter, bill: Callable[[dict[str, Any]], int], model: str, effort: str) -> None:
    """Every word for the effort counts as what the service makes of it."""
    request = body(QUESTION, model=model, reasoning_effort=effort)

    assert bill(request) == counter.count(request).total


@pytest.mark.parametrize("renderer", [None, OwnRenderer()], ids=["recipe", "own"])
def test_what_nobody_knows_is_bounded(vocabulary: Vocabulary, renderer: OwnRenderer | None) -> None:
    """JSON mode, strict tools and images are estimates, with the reason, and bounds around what they can be."""
    counter = Counter(vocabulary=vocabulary, renderer=renderer)
    image = user([{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://x.test/a"}}])
    strict = [{"type": "function", "function": {**TOOLS[0]["function"], "strict": True}}]  # type: ignore[dict-item]
    plain, asked = counter.count(body(QUESTION)), counter.count(body(QUESTION, response_format=JSON))

    assert "response format" in asked.why
    assert asked.low <= plain.total < asked.total <= asked.high
    assert "strict tools" in counter.count(body(QUESTION, tools=strict)).why
    seen = counter.count(body(image))
    assert ("image", True) == (seen.why[0], seen.low + 1000 <= seen.high)
    assert seen.low <= seen.total <= seen.high


JSON: dict[str, Any] = {"type": "json_object"}


@pytest.mark.parametrize("model", ["auto", "deepseek-v9", "llama-4", None, 7])
def test_unknown_models(counter: Counter, model: Any) -> None:
    """A model of another name may count otherwise."""
    count = counter.count(body(QUESTION, model=model))

    assert (False, ("unknown model",)) == (count.exact, count.why)
    assert count.low <= count.total <= count.high


@pytest.mark.parametrize(
    "request_",
    [
        body(),
        body({"role": "tool", "tool_call_id": "1", "content": "x"}),
        body({"role": "wizard", "content": "x"}),
        body(user(None)),
        body(user("x"), tools=[{"type": "web_search"}]),
        body(user("x"), tools=TOOLS, tool_choice="required"),
        {"model": "deepseek-flash", "messages": [3, None, "x"]},
        body({"role": {"a": 1}, "content": "x"}),
        body({"role": ["user"], "content": [5, None, {"text": 5}]}),
        body(user("x"), {"role": "assistant", "tool_calls": 5}, user("y")),
        body(user("x"), {"role": "assistant", "tool_calls": [5]}, user("y")),
        body(user("x"), {"role": "assistant", "tool_calls": [{"function": 5}]}, user("y")),
        body(user("x"), tools=[5]),
        body(user("x"), tools=TOOLS, tool_choice={"function": 5}),
        body(user("x"), response_format={"type": "json_schema", "json_schema": 5}),
        body(user("x"), {"role": "assistant", "content": "y", "prefix": True}, tools=TOOLS),
        {"model": "deepseek-flash", "messages": None},
        {},
    ],
)
def test_requests_that_the_service_refuses(counter: Counter, request_: dict[str, Any]) -> None:
    """What would be refused is estimated, and the reason says so."""
    count = counter.count(request_)

    assert not count.exact
    assert any(why.startswith("refused: ") for why in count.why)
    assert count.low <= count.total <= count.high


def test_half_a_character(counter: Counter) -> None:
    """A lone surrogate, which cannot be sent, is estimated."""
    assert not counter.count(body(user("a\ud800b"))).exact


def test_forced_tool(counter: Counter, bill: Callable[[dict[str, Any]], int]) -> None:
    """A forced call begins the answer, and what begins it is part of the prompt."""
    choice = {"type": "function", "function": {"name": "weather"}}
    request = body(QUESTION, tools=TOOLS, tool_choice=choice, **OFF)

    assert bill(request) == counter.count(request).total
    assert counter.count(body(QUESTION, tools=TOOLS, **OFF)).total < counter.count(request).total


def test_fill_in_the_middle(counter: Counter) -> None:
    """A completion is its two texts and what stands around the hole, which no live count confirms."""
    count = counter.count({"model": "deepseek-flash", "prompt": "def f(", "suffix": ")"})
    texts = counter.count_text("def f(") + counter.count_text(")")

    assert (texts + 4, False, ("fill-in-the-middle",)) == (count.total, count.exact, count.why)
    assert (texts, texts + 5) == (count.low, count.high)
    assert (count.total, ()) == (count.overhead, count.by_message)


def test_shares_of_messages(counter: Counter) -> None:
    """Each message has its own tokens, and the template the rest."""
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    called = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "1", "content": "rain " * 50}
    count = counter.count(
        body({"role": "system", "content": "Be brief."}, QUESTION, called, result, user("And now?"), tools=TOOLS)
    )
    own = [counter.count_text(text) for text in ("Be brief.", "Why is the sky blue?", "And now?")]

    assert own == [count.by_message[index] for index in (0, 1, 4)]
    assert counter.count_text("rain " * 50) < count.by_message[3] < counter.count_text("rain " * 50) + 20
    assert 15 < count.by_message[2] < 40
    assert count.total == sum(count.by_message) + count.overhead


def test_hoisted_system_messages(counter: Counter) -> None:
    """V4 moves every system message to the head; each keeps its share."""
    late = {"role": "system", "content": "Answer in one word."}
    count = counter.count(body({"role": "system", "content": "Hi."}, QUESTION, late, QUESTION, model="deepseek-v4-pro"))

    assert counter.count_text("Hi.") == count.by_message[0]
    assert 4 <= count.by_message[2] <= 7
    assert 0 < count.overhead


def test_bytes_decide_first() -> None:
    """Whether a request fits is told by its bytes alone, where they are enough: nothing is loaded or counted."""
    counter = Counter(vocabulary=Unloadable(), renderer=OwnRenderer())

    assert counter.fits(body(QUESTION), 1000)
    assert counter.fits(body(user("a" * 200_000)), 1000) is False
    assert counter.fits(body(user("a" * 2000)), 1000) is None
    assert counter.fits({"model": "deepseek-flash", "prompt": "a" * 300, "suffix": "b"}, 400)


class Unloadable(EstimatedVocabulary):
    """A vocabulary that must not be used."""

    def counts(self, texts: Any) -> list[int]:
        """Fail."""
        raise AssertionError(texts)


@pytest.mark.parametrize("request_", [*requests(40, seed=30_000), body(user("a" * 3000))])
def test_bytes_are_never_too_few(counter: Counter, request_: dict[str, Any]) -> None:
    """What the bytes say is so."""
    total = counter.count(request_).total

    assert counter.fits(request_, total) is not False
    assert counter.fits(request_, total - 1) is not True


def test_known_requests(vocabulary: Vocabulary) -> None:
    """A request that was counted is known afterwards, changed in place or grown it is not."""
    counter = Counter(vocabulary=vocabulary)
    request = body({"role": "system", "content": "Be brief."}, QUESTION)
    before = counter.known(request)
    total = counter.count(request).total

    assert (None, total) == (before, counter.known(request))
    assert total == counter.known(json.loads(json.dumps(request)))
    request["messages"][0] = {"role": "system", "content": "Be long.."}
    assert counter.known(request) is None
    assert counter.fits(body(user("a" * 3000)), 500) is None
    counter.count(body(user("a" * 3000)))
    assert counter.fits(body(user("a" * 3000)), 500) is True


def test_inexact_requests_are_not_known(counter: Counter) -> None:
    """An estimate is no count to compare a bill with."""
    counter.count(body(QUESTION, response_format=JSON))

    assert counter.known(body(QUESTION, response_format=JSON)) is None
    assert counter.known(body(QUESTION, model=["x"])) is None  # type: ignore[arg-type]
    assert counter.known({"model": "deepseek-flash", "prompt": "x"}) is None


class Noting:
    """Notes what it is asked to count."""

    is_exact = True

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.asked: list[str] = []

    def load(self) -> None:
        """Load."""
        self.vocabulary.load()

    def counts(self, texts: Any) -> list[int]:
        """Count."""
        self.asked += texts
        return self.vocabulary.counts(texts)

    def ids(self, text: str) -> Any:
        """Encode."""
        return self.vocabulary.ids(text)

    def pieces(self, text: str) -> Any:
        """Cut."""
        return self.vocabulary.pieces(text)


def test_each_text_is_counted_once(vocabulary: Vocabulary) -> None:
    """A conversation that grows costs what is new in it."""
    noting = Noting(vocabulary)
    counter = Counter(vocabulary=noting)
    messages = [{"role": "system", "content": "Be brief."}]
    for turn in range(5):
        messages.append(user(f"Question {turn}?"))
        counter.count(body(*messages))
        messages.append({"role": "assistant", "content": f"Answer {turn}."})

    assert len(noting.asked) == len(set(noting.asked))
    assert [f"Question {turn}?" for turn in range(5)] == [text for text in noting.asked if text[:8] == "Question"]


def test_threads(vocabulary: Vocabulary) -> None:
    """Counts are right from many threads at once."""
    made = requests(30, seed=40_000)
    expected = [Counter(vocabulary=vocabulary).count(request) for request in made]
    counter = Counter(vocabulary=vocabulary, memo_bytes=20_000)
    found: list[list[Any]] = []
    threads = [
        threading.Thread(target=lambda: found.append([counter.count(request) for request in made])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [expected] * 8 == found


REQUESTS = [
    body(QUESTION),
    body({"role": "system", "content": "你是助手。"}, user("<think>你好 🙂"), model="deepseek-v4-pro", **OFF),
    body(QUESTION, {"role": "assistant", "content": "a", "reasoning_content": "r"}, QUESTION, tools=TOOLS),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_bills_of_the_emulator(
    driver: Driver, emulator: StartEmulator, counter: Counter, request_: dict[str, Any]
) -> None:
    """The emulator's bill is what was counted."""
    client = driver.client(base_url=emulator().url)
    create = functools.partial(
        client.chat.completions.create, extra_body={k: request_[k] for k in OFF if k in request_}
    )
    answer = driver.call(create, **{name: value for name, value in request_.items() if name not in OFF})

    assert answer.usage.prompt_tokens == counter.count(request_).total
