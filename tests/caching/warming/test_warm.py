"""Answers that nobody has asked for become entries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import report
from deepseek_sdk._cache import CacheControl
from deepseek_sdk._estimate import estimate_billed
from deepseek_sdk._usage import Usage
from deepseek_sdk._wire import stub_response
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.admission import Limits
from deepseek_sdk.caching.entry import decode, encode
from deepseek_sdk.caching.handle import Cache
from deepseek_sdk.caching.key import exact_key, partition_key
from deepseek_sdk.caching.lines import line_of, read_line
from deepseek_sdk.caching.question import questioned
from deepseek_sdk.caching.warming.pairs import Pair, RefusedPairError, read_pairs
from deepseek_sdk.caching.warming.warm import Asked, Warmed, entry_of, warmed
from deepseek_sdk.errors import ConfigurationError, InvalidRequestError
from tests.caching.kept_answers import AT_MS, keep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.entry import Entry
    from tests.conftest import Driver

LIMITS = Limits(max_entry_bytes=2_000)


def asked(pair: Pair, **more: Any) -> Asked:
    """Make the request that a question would be."""
    body = {"model": "deepseek-flash", "messages": list(pair.messages), **more}
    path = "/chat/completions"
    return Asked(
        key=exact_key(path, body, tenant="tenant:小明"),
        path=path,
        body=body,
        tenant="tenant:小明",
        model="deepseek-flash",
        expires_ms=AT_MS + 1_000,
        tags=(("source", "faq"),),
    )


def pair(question: str = "如何退款？", answer: str = "在订单页点“退款”。", number: int = 1) -> Pair:
    """Make a pair."""
    return Pair(number, ({"role": "user", "content": question},), answer)


def test_entries() -> None:
    """An entry is as if a model had answered: it can be written, exported, and read again."""
    found = entry_of(pair(), asked(pair()), now_ms=AT_MS, limits=LIMITS)
    answer = json.loads(found.answer)

    assert "在订单页点“退款”。" == answer["choices"][0]["message"]["content"]
    assert ("chat.completion", "stop", AT_MS // 1000) == (answer["object"], found.finish_reason, answer["created"])
    assert ("如何退款？", "warm", True, AT_MS + 1_000) == (found.text, found.route, found.is_judged, found.expires_ms)
    assert partition_key("/chat/completions", asked(pair()).body, tenant="tenant:小明") == found.partition
    assert found == decode(encode(found, secret=b"x"), found.key, secret=b"x")
    assert replace(found, answer=b"", usage=None) == replace(read_line(line_of(found), LIMITS), answer=b"", usage=None)


def test_usage_is_estimated() -> None:
    """An entry tells what a model would have used, and that this is an estimate."""
    found = entry_of(pair(), asked(pair()), now_ms=AT_MS, limits=LIMITS)
    usage = Usage.parse(json.loads(found.usage or "{}"))

    assert ("usage", "estimated") in found.provenance
    assert (0, 6) == (usage.hit, usage.output)
    assert estimate_billed(asked(pair()).body) == usage.miss


def test_completions() -> None:
    """A prompt without a conversation is answered as such."""
    request = asked(pair())._replace(path="/completions", body={"model": "m", "prompt": "从前"})
    found = entry_of(pair(), request, now_ms=AT_MS, limits=LIMITS)
    answer = json.loads(found.answer)

    assert ("text_completion", "在订单页点“退款”。") == (answer["object"], answer["choices"][0]["text"])
    assert "从前" == found.text


def test_half_a_character() -> None:
    """An answer with half of a character is kept as JSON has it."""
    found = entry_of(pair(answer="好\ud83d"), asked(pair()), now_ms=AT_MS, limits=LIMITS)

    assert "好\ud83d" == json.loads(found.answer)["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [({"answer": "长" * 900}, "too_large"), ({"n": 2}, "incomplete"), ({"temperature": 2}, "temperature")],
)
def test_what_is_not_kept(changed: dict[str, Any], reason: str) -> None:
    """What would not be kept of a call is not kept of a file."""
    given = pair(answer=changed.pop("answer", "好"))
    with pytest.raises(RefusedPairError) as caught:
        entry_of(given, asked(given, **changed), now_ms=AT_MS, limits=replace(LIMITS, max_temperature=1.5))

    assert reason == caught.value.reason


class Shelf:
    """Keeps entries as a cache would."""

    def __init__(self, *refused: str) -> None:
        self.batches: list[list[Entry]] = []
        self.refused = refused

    def keep(self, entries: Sequence[Entry]) -> list[str | None]:
        """Keep some; those whose question is not wanted are refused."""
        self.batches.append(list(entries))
        return ["quota" if entry.text in self.refused else None for entry in entries]


def warm(source: Any, keep: Callable[..., Any], ask: Callable[[Pair], Asked | None] = asked, **options: Any) -> Warmed:
    """Warm up."""
    return warmed(read_pairs(source), ask, keep, now_ms=AT_MS, limits=LIMITS, **options)


def test_pairs_are_kept_in_batches() -> None:
    """Each pair is kept once, a hundred at a time, whatever is wrong with others; what is wrong is told."""
    shelf, told = Shelf("问题7"), []
    source = [(f"问题{n}", f"答案{n}") for n in range(250)]
    source[3:3] = [("", "x"), ("问题1", "答案1"), ("问题1", "另一个"), ("太长", "长" * 900)]
    found = warm(source, shelf.keep, skip=lambda number, reason: told.append((number, reason)))

    skipped = {"empty": 1, "duplicate": 1, "conflict": 1, "too_large": 1, "quota": 1}
    assert Warmed(kept=249, skipped=skipped) == found
    assert [100, 100, 50] == [len(batch) for batch in shelf.batches]
    assert [(4, "empty"), (5, "duplicate"), (6, "conflict"), (7, "too_large"), (12, "quota")] == told
    assert {f"问题{n}" for n in range(250)} == {entry.text for batch in shelf.batches for entry in batch}


def test_there_is_a_limit() -> None:
    """No more are kept than was said; the rest is counted."""
    shelf = Shelf()

    assert Warmed(kept=2, skipped={"limit": 3}) == warm({f"问题{n}": "答" for n in range(5)}, shelf.keep, most=2)


def test_what_the_cache_has() -> None:
    """An answer that the cache has is not written again."""
    shelf = Shelf()
    found = warm({"a": "1", "b": "2"}, shelf.keep, is_known=lambda entry: entry.text == "a")

    assert (Warmed(kept=1, skipped={"known": 1}), ["b"]) == (found, [entry.text for entry in shelf.batches[0]])


def test_what_cannot_be_asked() -> None:
    """A question that no server would accept, or that the cache would not look for, is skipped."""

    def ask(given: Pair) -> Asked | None:
        if given.number == 1:
            raise refusal()
        if given.number == 3:
            raise ConfigurationError("there is nobody to ask")
        return None

    shelf = Shelf()

    assert Warmed(kept=0, skipped={"request": 1, "uncacheable": 1}) == warm({"a": "1", "b": "2"}, shelf.keep, ask)
    with pytest.raises(ConfigurationError, match="nobody"):
        warm({"a": "1", "b": "2", "c": "3"}, shelf.keep, ask)
    assert [] == shelf.batches


def refusal() -> InvalidRequestError:
    """Make what is raised for a request that no server could accept."""
    return InvalidRequestError("wrong", param="messages", response=stub_response(400, "http://127.0.0.1/"))


def test_nothing_to_warm() -> None:
    """An empty file is no mistake; a limit of nothing is."""
    shelf = Shelf()

    assert Warmed(kept=0, skipped={}) == warm([], shelf.keep)
    assert [] == shelf.batches
    with pytest.raises(ConfigurationError, match="most"):
        warm([], shelf.keep, most=0)


def test_calls_find_them(driver: Driver) -> None:
    """A call that asks such a question gets the answer, whole or as a stream, and nobody is asked."""
    cache = ExactCache(max_bytes=0)
    client = driver.client(base_url="http://127.0.0.1:9", cache=cache, tenant="小明")
    face = client.cache if isinstance(client.cache, Cache) else client.cache._cache

    def ask(given: Pair) -> Asked | None:
        call = face._rehearse(model="deepseek-flash", messages=list(given.messages))
        question = questioned(call, cache.tenants, CacheControl(), cache.limits)
        assert question is not None
        return Asked(question.key, call.path, call.body, question.tenant, call.model)

    def put(entries: Sequence[Entry]) -> list[None]:
        keep(cache, *entries)
        return [None] * len(entries)

    found = warmed(read_pairs({"如何退款？": "在订单页。"}), ask, put, now_ms=cache.now_ms(), limits=cache.limits)
    answer = driver.create(client, "如何退款？")
    stream = driver.create(client, "如何退款？", stream=True)

    assert Warmed(kept=1, skipped={}) == found
    assert ("在订单页。", "stop") == (answer.choices[0].message.content, answer.choices[0].finish_reason)
    assert "在订单页。" == driver.stream_text(stream)
    told = report(answer)
    assert told.cache is not None
    assert ("hit", 0) == (told.cache.status, len(told.attempts))
