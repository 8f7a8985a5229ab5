"""The rule engine as a backend: through the real clients, in both colours."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import openai
import pydantic
import pytest

from deepseek_sdk import report
from deepseek_sdk.backends.rules import Rule, RuleEngine
from deepseek_sdk.errors import ConfigurationError, DeepSeekError, InvalidRequestError, NoRuleError
from tests.backends.rules.conftest import wide

if TYPE_CHECKING:
    from tests.conftest import Driver

RULES = [
    Rule("退款将在三个工作日内原路退回。", keywords=["退款", "refund"], name="refund"),
    Rule("Order {id} was asked of {model} on {date} at {time}: {question}", patterns=[r"order (?P<id>\w+)"]),
    Rule('{"status": "down", "asked": "{question}"}', phrases=["status"]),
]
NOON = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)
REPLY = "退款将在三个工作日内原路退回。"


def client_of(driver: Driver, engine: Any = None, **options: Any) -> Any:
    """Make a client without a key."""
    return driver.client(api_key=None, backend=engine or RuleEngine(RULES), **options)


def test_plain_answers(driver: Driver) -> None:
    """A plain call gets an ordinary completion that cost nothing and says who answered."""
    answer = driver.create(client_of(driver), "我要退欵")
    usage = answer.usage

    assert (REPLY, "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)
    assert ("rule-engine", "rule-engine") == (answer.model, answer.system_fingerprint)
    assert (0, 0, 0) == (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
    assert ("rules", "rule-engine", 1) == (report(answer).route, report(answer).model, len(report(answer).attempts))


def test_streams(driver: Driver) -> None:
    """A stream brings the role, the text in pieces, the ending, and the usage where it is asked for."""
    client = client_of(driver)
    chunks = list(driver.iterate(driver.create(client, "refund", stream=True, stream_options={"include_usage": True})))
    deltas = [chunk.choices[0].delta for chunk in chunks[:-1]]

    assert ("assistant", "") == (deltas[0].role, deltas[0].content)
    assert [REPLY[:8], REPLY[8:], None] == [delta.content for delta in deltas[1:]]
    assert "stop" == chunks[-2].choices[0].finish_reason
    assert ([], 0) == (chunks[-1].choices, chunks[-1].usage.total_tokens)
    assert [None] == list({chunk.usage for chunk in driver.iterate(driver.create(client, "refund", stream=True))})


def test_other_surfaces(driver: Driver) -> None:
    """Raw responses, the stream helper, several choices and text completions work as well."""
    client = client_of(driver)
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "refund"}]}
    raw = driver.call(client.chat.completions.with_raw_response.create, **body)
    with driver.entered(client.chat.completions.stream(**body)) as helper:
        events = [event.type for event in driver.iterate(helper)]
    several = driver.call(client.chat.completions.create, **body, n=2)
    text = driver.call(client.completions.create, model="m", prompt=["a", "refund"])
    parts = driver.call(client.completions.create, model="m", prompt="refund", stream=True)

    assert ("rules", REPLY) == (raw.headers["x-deepseek-sdk-route"], raw.parse().choices[0].message.content)
    assert "content.done" in events
    assert [REPLY] * 2 == [choice.message.content for choice in several.choices]
    assert (REPLY, "stop", "text_completion") == (text.choices[0].text, text.choices[0].finish_reason, text.object)
    assert REPLY == "".join(part.choices[0].text for part in driver.iterate(parts))


class Message(pydantic.BaseModel):
    """What a reply looks like where an object is asked for."""

    message: str


def test_json(driver: Driver) -> None:
    """Where JSON is asked for, a reply that is an object stays one, and any other becomes the message of one."""
    client = client_of(driver)
    form = {"type": "json_object"}
    wrapped = driver.create(client, "refund", response_format=form).choices[0].message.content
    own = driver.create(client, "Status?", response_format=form).choices[0].message.content
    parsed = driver.call(
        client.chat.completions.parse,
        model="m",
        messages=[{"role": "user", "content": "refund"}],
        response_format=Message,
    )

    assert {"message": REPLY} == json.loads(wrapped)
    assert {"status": "down", "asked": "Status?"} == json.loads(own)
    assert Message(message=REPLY) == parsed.choices[0].message.parsed


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([{"role": "user", "content": "refund"}, {"role": "assistant", "content": "What?"}], REPLY),
        ([{"role": "user", "content": "refund"}, {"role": "user", "content": "hello"}], None),
        ([{"role": "system", "content": "refund"}, {"role": "user", "content": "hello"}], None),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "refund"}]}], REPLY),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "refund"}}]}], None),
        ([{"role": "system", "content": "refund"}], None),
    ],
)
def test_the_last_message_of_the_user_counts(driver: Driver, messages: Any, reply: str | None) -> None:
    """Rules look at the texts of the last message of the user, and at nothing else."""
    client = client_of(driver, RuleEngine(RULES, default="default"))
    answer = driver.call(client.chat.completions.create, model="m", messages=messages)

    assert (reply or "default") == answer.choices[0].message.content


def test_tools_are_ignored(driver: Driver) -> None:
    """Where tools are offered, the reply is a text all the same."""
    tool = {"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "properties": {}}}}
    message = driver.create(client_of(driver), "refund", tools=[tool]).choices[0].message

    assert (REPLY, None) == (message.content, message.tool_calls)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("How are you?", "The service is unavailable right now. Please try again in a few minutes."),
        ("最近 how are you", "服务暂时不可用，请稍后再试。"),
        ("お元気ですか、最近は", "The service is unavailable right now. Please try again in a few minutes."),
        ("", "The service is unavailable right now. Please try again in a few minutes."),
    ],
)
def test_built_in_default(driver: Driver, question: str, reply: str) -> None:
    """Where no rule matches, the engine excuses itself in Chinese or English."""
    assert reply == driver.create(client_of(driver), question).choices[0].message.content


def test_own_default() -> None:
    """A default of one's own may show the question, the model and the time."""
    engine = RuleEngine(RULES, default="{model} cannot say {question} at {time}.")

    assert "m cannot say {0} at 12:05." == engine.answer("{0}", model="m", now=NOON)


def test_no_default(driver: Driver) -> None:
    """Without a default the engine answers what it knows, and refuses everything else as one that cannot be reached."""
    client = client_of(driver, RuleEngine(RULES, default=None), max_retries=0)

    assert REPLY == driver.create(client, "refund").choices[0].message.content
    with pytest.raises(NoRuleError, match="No rule matches") as caught:
        driver.create(client, "How are you?")
    assert isinstance(caught.value, (DeepSeekError, openai.APIConnectionError))


def test_replies_show_what_was_asked() -> None:
    """A reply shows parts of the question as they were written, and what is in them is not filled in again."""
    engine = RuleEngine(RULES)

    expected = f"Order {wide('AB1')} was asked of m on 2026-11-30 at 12:05: {{date}} ORDER {wide('AB1')}"
    assert expected == engine.answer(f"{{date}} ORDER {wide('AB1')}", model="m", now=NOON)


def test_a_blank_reply_gives_way() -> None:
    """A reply that comes out blank gives way to the default, and so does a blank default."""
    rules = [Rule("{rest}", patterns=["a(?P<rest>b)?"])]

    assert "default" == RuleEngine(rules, default="default").answer("a")
    assert "b" == RuleEngine(rules, default="default").answer("ab")
    assert "The service" == RuleEngine(default="{question}").answer("")[:11]


def test_case_can_matter() -> None:
    """Where case matters, keywords and patterns differ from what is written otherwise."""
    engine = RuleEngine([Rule("k", keywords="US"), Rule("p", patterns="It")], default="d", case_sensitive=True)

    assert ["k", "d", "p", "d"] == [engine.answer(text) for text in ("the US", "with us", "It is", "it is")]


@pytest.mark.parametrize("wanted", [0, -1, 129, 10**5, True, "2", 1.5])
def test_numbers_of_choices(driver: Driver, wanted: Any) -> None:
    """A number of choices that nobody can give is refused by name, before anything is answered."""
    client = client_of(driver)

    assert 128 == len(driver.create(client, "refund", n=128).choices)
    for is_stream in (False, True):
        with pytest.raises(InvalidRequestError, match=rf"n must be a whole number.*, not {wanted!r}") as caught:
            driver.create(client, "refund", n=wanted, stream=is_stream)
        assert "n" == caught.value.param


@pytest.mark.parametrize("path", ["chat", "text"])
@pytest.mark.parametrize(
    ("options", "count"), [({}, 0), ({"include_usage": False}, 0), ({"include_usage": True}, 1), (None, 0)]
)
def test_usage_of_streams(driver: Driver, path: str, options: dict[str, bool] | None, count: int) -> None:
    """A stream has one chunk of usage, its last and all zeros, where it is asked for, and none otherwise."""
    client = client_of(driver)
    asked: dict[str, Any] = {} if options is None else {"stream_options": options}
    if path == "chat":
        stream = driver.create(client, "refund", stream=True, n=2, **asked)
    else:
        stream = driver.call(client.completions.create, model="m", prompt="refund", stream=True, **asked)
    chunks = list(driver.iterate(stream))
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]

    assert [0] * count == [usage.total_tokens + usage.prompt_cache_hit_tokens for usage in usages]
    assert bool(count) == (chunks[-1].usage is not None)
    assert [bool(chunk.choices) for chunk in chunks] == [True] * (len(chunks) - count) + [False] * count


@pytest.mark.parametrize("surface", ["create", "parse", "text"])
def test_usage_of_plain_answers(driver: Driver, surface: str) -> None:
    """A plain answer has a usage of zeros."""
    client = client_of(driver)
    if surface == "text":
        answer = driver.call(client.completions.create, model="m", prompt="refund")
    else:
        method = getattr(client.chat.completions, surface)
        answer = driver.call(method, model="m", messages=[{"role": "user", "content": "refund"}])
    counts = answer.usage.model_dump(exclude_none=True)

    assert {"reasoning_tokens": 0} == counts.pop("completion_tokens_details")
    assert {0} == set(counts.values())


def test_odd_replies(driver: Driver) -> None:
    """Halves of surrogate pairs in a reply, as JSON may hold them, do not keep it from being sent."""
    answer = driver.create(client_of(driver, RuleEngine([Rule("Hi \ud83d!", phrases=["hi"])], default="\udc00?")), "hi")

    assert "Hi \ufffd!" == answer.choices[0].message.content


def test_engines_share_nothing() -> None:
    """Engines that are made of the same rules answer each for itself."""
    rules = [Rule("hit", keywords=["US"], patterns=["^ß$"])]
    strict = RuleEngine(rules, case_sensitive=True, default="a")
    loose = RuleEngine(rules, default="b")

    assert [["hit", "a", "a"], ["hit", "hit", "hit"]] == [
        [engine.answer(text) for text in ("US", "us", "SS")] for engine in (strict, loose)
    ]


def test_long_questions(driver: Driver) -> None:
    """A question that is too long to look at on an event loop is answered like any other."""
    assert REPLY == driver.create(client_of(driver), "a " * 50_000 + "退款").choices[0].message.content


def test_odd_text(driver: Driver) -> None:
    """Halves of surrogate pairs in a question do not keep its answer from being sent."""
    answer = driver.create(client_of(driver), "order a \ud800")

    assert answer.choices[0].message.content.endswith(": order a \ufffd")


def test_names() -> None:
    """The engine is the last resort of a chain, and its name and model can be chosen."""
    assert (True, "rules") == (RuleEngine.is_last_resort, RuleEngine().name)
    assert "canned" == RuleEngine(name="canned").name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": ["refund"]}, "rules must be a list of Rule, not of 'refund'"),
        ({"default": ""}, "default must be text, not ''"),
        ({"default": "{0}"}, r"default has an unknown placeholder \{0\}"),
        ({"name": ""}, "name must be text, not ''"),
        ({"model": None}, "model must be text, not None"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    """Arguments that cannot be used are refused by name."""
    with pytest.raises(ConfigurationError, match=message):
        RuleEngine(**options)


PROBE = """
import sys
import deepseek_sdk.backends.rules
print(sorted({"ahocorasick_rs", "opencc", "tomllib"} & set(sys.modules)))
"""


@pytest.mark.slow
def test_importing_is_cheap() -> None:
    """The packages that the engine needs are imported when one is made."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)

    assert "[]\n" == done.stdout
