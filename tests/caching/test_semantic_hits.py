"""Questions that ask the same in other words, through clients of both colours: who gets which kept answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import options, report
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.matching.eligibility import Eligibility
from deepseek_sdk.errors import CacheMissError
from tests.caching.cached_calls import SHAPES, TOOLS, Wall, said, streamed
from tests.caching.wordings import (
    AGAIN,
    ASKED,
    CLOSE,
    LATER,
    NEAR,
    OPEN,
    OPENED,
    OTHER,
    SAME,
    ask,
    decided,
    semantic,
    settled,
    vector,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

MODEL = "deepseek-flash"
ANSWER = "在订单页点“退款”，三个工作日内到账。"
ORDER, SAME_ORDER = "我的订单到哪里了", "我的订单到哪儿了"


def raising(kind: type[BaseException]) -> Any:
    """Give a function that raises something."""

    def fail(*_: Any) -> Any:
        raise kind("坏了")

    return fail


def spoken(text: str, *before: tuple[str, str]) -> dict[str, Any]:
    """Give the messages of a conversation that ends with a text of the user."""
    return {"messages": [{"role": role, "content": said} for role, said in (*before, ("user", text))]}


@pytest.mark.parametrize(("stream", "is_on_disk"), [(False, False), (False, True), (True, True)])
def test_a_hit(driver: Driver, emulator: StartEmulator, tmp_path: Path, *, stream: bool, is_on_disk: bool) -> None:
    """What asks the same in other words gets the kept answer; the report says by what, how old, and what it saved."""
    server, wall = emulator(replies=ANSWER), Wall()
    cache = semantic(tmp_path / "cache" if is_on_disk else None, wall=wall)
    client = driver.client(base_url=server.url, cache=cache)
    first = ask(driver, client)
    wall.forward(90)
    answer = driver.create(client, SAME, stream=stream)
    text = driver.stream_text(answer) if stream else answer.choices[0].message.content
    found = report(answer).cache

    assert (ANSWER, 1) == (text, len(server.requests))
    assert found is not None
    assert found.decision is not None
    cosine: Any = pytest.approx(float(vector(ASKED) @ vector(SAME)), abs=1e-3)
    assert ("hit", "semantic", "memory", cosine) == (found.status, found.tier, found.level, found.similarity)
    assert (first.entry_id, 90, MODEL) == (found.entry_id, found.age, found.model)
    assert found.usage is not None
    assert found.saved is not None
    assert (found.saved.cny or 0) > 0
    told = found.decision
    assert ("served", found.similarity, 0.95, 1, None) == (
        told.reason,
        told.similarity,
        told.threshold,
        told.candidates,
        told.guard,
    )
    assert (found.entry_id, ASKED, SAME) == (told.entry_id, told.kept, found.question)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_that_an_answer_has(driver: Driver, emulator: StartEmulator, shape: str) -> None:
    """A similar question gets reasoning, tool calls and log probabilities, too, in either way."""
    reply, body = SHAPES[shape]
    server = emulator(replies=reply)
    client = driver.client(base_url=server.url, cache=semantic())
    told: list[Any] = []
    for text, way in ((ASKED, "kept"), (SAME, "streamed"), (AGAIN, "plain"), (OPEN, "streamed"), (OPENED, "plain")):
        answer = driver.create(client, text, stream=way == "streamed", **body)
        told.append(streamed(driver.iterate(answer)) if way == "streamed" else said(answer))

    assert [told[0]] * 2 == told[1:3]
    assert told[3] == told[4]
    assert 2 == len(server.requests)


def test_a_miss_tells_of_its_decision(driver: Driver, emulator: StartEmulator) -> None:
    """What is near and no more is asked, and so is the first question of all; the report says how near it was."""
    server = emulator(replies=ANSWER)
    client = driver.client(base_url=server.url, cache=semantic())
    first, near, other = (ask(driver, client, text) for text in (ASKED, NEAR, OTHER))

    assert 3 == len(server.requests)
    assert ["no_candidate", "below", "below"] == [
        None if one.decision is None else one.decision.reason for one in (first, near, other)
    ]
    assert ("miss", None) == (near.status, near.tier)
    assert 0.85 < (near.similarity or 0) < 0.95


@pytest.mark.parametrize("stream", [False, True])
def test_a_guard(driver: Driver, emulator: StartEmulator, *, stream: bool) -> None:
    """What differs in one word that turns the question round is asked; without guards it would get the answer."""
    server = emulator(replies=lambda request: request.last_user_text)
    client = driver.client(base_url=server.url, cache=semantic())
    ask(driver, client, OPEN)
    found = ask(driver, client, CLOSE, stream=stream)
    unguarded = driver.client(base_url=server.url, cache=semantic(policy=Static(0.95)))
    ask(driver, unguarded, OPEN)

    assert ("miss", "antonym") == (found.status, found.guard)
    assert found.decision is not None
    assert ("guard", "antonym", OPEN) == (found.decision.reason, found.decision.guard, found.decision.kept)
    assert (found.decision.similarity or 0) > 0.95
    assert "semantic" == ask(driver, unguarded, CLOSE).tier
    assert "exact" == ask(driver, client, CLOSE).tier


WALLS: dict[str, dict[str, Any]] = {
    "system prompt": spoken(SAME, ("system", "你是客服。")),
    "history": spoken(SAME, ("user", "你好"), ("assistant", "你好！")),
    "tools": {"tools": TOOLS},
    "parameter": {"temperature": 0.3},
    "model": {"model": "deepseek-v4-pro"},
    "user of the body": {"user": "u1"},
    "query": {"extra_query": {"version": "2"}},
    "API key": {"extra_headers": {"Authorization": "Bearer other-key"}},
    "format": {"response_format": {"type": "json_object"}, **spoken(SAME, ("system", "用 json 回答。"))},
}


def test_walls(driver: Driver, emulator: StartEmulator) -> None:
    """What differs in anything but the wording of the last text never gets the answer, however similar that is."""
    server = emulator(replies='{"a": 1}')
    client = driver.client(base_url=server.url, cache=semantic())
    ask(driver, client)
    # Within a wall, what asks the same is found.
    beyond = {
        wall: [ask(driver, client, text, **_worded(fields, text)).tier for text in (SAME, AGAIN)]
        for wall, fields in WALLS.items()
    }

    assert {wall: [None, "semantic"] for wall in WALLS} == beyond
    assert "semantic" == ask(driver, client, SAME).tier


def _worded(fields: dict[str, Any], text: str) -> dict[str, Any]:
    if "messages" not in fields:
        return fields
    *before, last = fields["messages"]
    return {**fields, "messages": [*before, {**last, "content": text}]}


def test_tenants(driver: Driver, emulator: StartEmulator) -> None:
    """A tenant's answers are for this tenant."""
    server = emulator(replies=ANSWER)
    client = driver.client(base_url=server.url, cache=semantic())
    with options(tenant="甲"):
        ask(driver, client)
    with options(tenant="乙"):
        theirs = ask(driver, client, SAME)
    with options(tenant="甲"):
        own = ask(driver, client, SAME)

    assert ("miss", "semantic") == (theirs.status, own.tier)


def test_two_keys(driver: Driver, emulator: StartEmulator) -> None:
    """Of two clients of one cache with different keys, neither gets the other's answers."""
    server, cache = emulator(replies=ANSWER), semantic()
    one, other = (driver.client(base_url=server.url, cache=cache, api_key=key) for key in ("key-1", "key-2"))
    ask(driver, one)

    assert ("miss", "semantic") == (ask(driver, other, SAME).status, ask(driver, one, SAME).tier)


HISTORY = (
    ("system", "你是客服。"),
    ("user", "你好"),
    ("assistant", "你好！"),
    ("user", "在吗"),
    ("assistant", "在的。"),
)


@pytest.mark.parametrize(
    ("context", "told"),
    [("full", [False, False, False]), ("window:2", [True, False, False]), ("system_only", [True, True, False])],
)
def test_context(driver: Driver, emulator: StartEmulator, context: str, told: list[bool]) -> None:
    """How much of the conversation has to be the same can be said; the instructions always have to be."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic(context=context))
    driver.call(client.chat.completions.create, model=MODEL, **spoken(ASKED, *HISTORY))
    others = (
        (HISTORY[0], ("user", "早"), ("assistant", "早！"), *HISTORY[3:]),
        (HISTORY[0], ("user", "早"), ("assistant", "早！")),
        (("system", "你是医生。"), *HISTORY[1:]),
    )
    with options(cache="no-store"):
        found = [ask(driver, client, **spoken(SAME, *before)) for before in others]

    assert told == [one.tier == "semantic" for one in found]


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CALLED = {
    "role": "assistant",
    "content": "",
    "reasoning_content": "查一下",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}],
}
REFUSED: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "volatile": (
        "volatile",
        [{"messages": [{"role": "user", "content": text}]} for text in ("今天天气怎么样", "今天天气如何")],
    ),
    "personal": ("personal", [{"messages": [{"role": "user", "content": text}]} for text in (ORDER, SAME_ORDER)]),
    "too long": (
        "length",
        [{"messages": [{"role": "user", "content": text + "。" * 50}]} for text in ("退" * 200, "款" * 200)],
    ),
    "tool result": (
        "role",
        [
            {
                "tools": TOOLS,
                "messages": [
                    {"role": "user", "content": "杭州天气"},
                    CALLED,
                    {"role": "tool", "tool_call_id": "c1", "content": text},
                ],
            }
            for text in (ASKED, SAME)
        ],
    ),
}


def test_the_exact_tier_alone(driver: Driver, emulator: StartEmulator) -> None:
    """Questions of the hour, a person's own, very long ones, and results of tools get the exact tier alone."""
    cache = semantic(eligibility=Eligibility(max_chars=100), policy=Static(-1.0))
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    for reason, bodies in REFUSED.values():
        found = [ask(driver, client, **body) for body in (*bodies, bodies[0])]

        assert ["miss", "miss", "hit"] == [one.status for one in found]
        assert [reason, reason, None] == [None if one.decision is None else one.decision.reason for one in found]
        assert "exact" == found[2].tier


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_is_refused_is_found_by_nobody(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, *, is_on_disk: bool
) -> None:
    """The answer to a question that has the exact tier alone is not given to another that may have the other one."""
    cache = semantic(tmp_path / "cache" if is_on_disk else None)
    client = driver.client(base_url=emulator(replies="在路上。").url, cache=cache)
    personal = ask(driver, client, ORDER)
    found = []
    for _ in range(2):
        found.append(decided(driver, client, "订单到哪了", cache="no-store").reason)
        settled(cache)

    assert ["no_candidate"] * 2 == found
    assert "personal" == (personal.decision and personal.decision.reason)


def test_what_is_a_persons_own(driver: Driver, emulator: StartEmulator) -> None:
    """With a user, a person's own questions have the semantic tier, for this user alone; others share it."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    with options(user="甲"):
        ask(driver, client, ORDER)
        ask(driver, client)
    with options(user="乙"):
        theirs = [ask(driver, client, text) for text in ("我的订单到哪了", SAME)]
    with options(user="甲"):
        own = ask(driver, client, SAME_ORDER)

    assert [("miss", None), ("hit", "semantic")] == [(one.status, one.tier) for one in theirs]
    assert "semantic" == own.tier


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Can I see my order?", "can i see my order"),
        ("How do I cancel my order 12345?", "How can I cancel my order 12345?"),
        ("我的退款能到账吗", "我的退款能到账吗？"),
    ],
)
def test_what_may_be_a_persons_own(driver: Driver, emulator: StartEmulator, text: str, same: str) -> None:
    """With a user, what others might ask as well is compared among this user's, where it may be about one order."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    found = []
    for user, wording in (("甲", text), ("乙", same), ("甲", same)):
        with options(user=user):
            found.append(ask(driver, client, wording).tier)

    assert [None, None] == found[:2]
    assert found[2] in {"semantic", "exact"}


@pytest.mark.parametrize("broken", ["refusal", "is_personal"])
def test_rules_that_raise(driver: Driver, emulator: StartEmulator, caplog: Any, broken: str) -> None:
    """Where rules of the caller's raise, calls go on without the tier, and a warning says so."""

    class Rules(Eligibility):
        def refusal(self, body: Any, *, has_user_scope: bool) -> str | None:
            if broken == "refusal":
                raise KeyError(body["model"])
            return super().refusal(body, has_user_scope=has_user_scope)

        def is_personal(self, body: Any) -> bool:
            raise SystemExit(body["model"])

    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic(eligibility=Rules()))
    with options(user="甲"):
        found = [ask(driver, client, text) for text in (ASKED, SAME)]

    assert ["miss", "miss"] == [one.status for one in found]
    assert {"failed"} == {one.decision.reason for one in found if one.decision}
    assert "the rules of eligibility raised" in caplog.text


@pytest.mark.parametrize("name", ["user", "user_id"])
def test_a_user_of_the_request(driver: Driver, emulator: StartEmulator, name: str) -> None:
    """Where the request itself names the user, a person's own questions have the semantic tier for this one."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    bodies: list[dict[str, Any]] = [
        {"user": user} if name == "user" else {"extra_body": {"user_id": user}} for user in "甲乙甲"
    ]
    texts = (ORDER, SAME_ORDER, "我的订单到哪了")
    found = [ask(driver, client, text, **body) for text, body in zip(texts, bodies, strict=True)]

    assert [None, None, "semantic"] == [one.tier for one in found]


def test_what_callers_forbid(driver: Driver, emulator: StartEmulator) -> None:
    """Callers forbid it as they forbid exact hits: nothing is looked up, only that, nothing kept, nothing too old."""
    server, wall = emulator(replies=ANSWER), Wall()
    client = driver.client(base_url=server.url, cache=semantic(wall=wall))
    ask(driver, client)
    wall.forward(60)
    found = {way: ask(driver, client, SAME, cache=way) for way in ("bypass", "max-age=30", "max-age=90", "no-store")}
    with pytest.raises(CacheMissError) as missed:
        ask(driver, client, NEAR, cache="only")

    assert ["bypass", "miss", "hit", "hit"] == [one.status for one in found.values()]
    told = found["max-age=30"]
    assert "unusable" == (told.decision and told.decision.reason)
    assert "semantic" == ask(driver, client, AGAIN, cache="only").tier
    outcome = report(missed.value).cache
    assert outcome is not None
    assert ("miss", "below") == (outcome.status, outcome.decision and outcome.decision.reason)


def test_refresh(driver: Driver, emulator: StartEmulator) -> None:
    """A new answer can be asked for; it is found by similar questions from then on."""
    server = emulator(replies=["旧", "新"])
    client = driver.client(base_url=server.url, cache=semantic())
    ask(driver, client)
    refreshed = ask(driver, client, cache="refresh")
    answer = driver.create(client, SAME)

    assert ("refresh", None) == (refreshed.status, refreshed.decision)
    assert "新" == answer.choices[0].message.content


def test_no_store(driver: Driver, emulator: StartEmulator) -> None:
    """What is not to be kept is not found by similar questions either."""
    server = emulator(replies=ANSWER)
    client = driver.client(base_url=server.url, cache=semantic())
    ask(driver, client, cache="no-store")

    assert "no_candidate" == decided(driver, client).reason


@pytest.mark.parametrize(
    ("way", "is_on_disk"),
    [("expired", False), ("flushed", False), ("flushed", True), ("invalidated", False), ("invalidated", True)],
)
def test_what_is_gone(driver: Driver, emulator: StartEmulator, tmp_path: Path, way: str, *, is_on_disk: bool) -> None:
    """What has ended, or was taken out of the cache, is given to no similar question; what is asked then is."""
    server, wall = emulator(replies=ANSWER), Wall()
    cache = semantic(tmp_path / "cache" if is_on_disk else None, wall=wall, ttl_s=100)
    client = driver.client(base_url=server.url, cache=cache)
    found = ask(driver, client)
    wall.forward(1)
    if way == "expired":
        wall.forward(200)
    elif way == "flushed":
        driver.call(client.cache.flush)
    else:
        driver.call(client.cache.invalidate, key=found.entry_id)
    wall.forward(1)
    again, later = ask(driver, client, SAME), ask(driver, client, AGAIN)

    assert ("miss", 2) == (again.status, len(server.requests))
    assert ("semantic", again.entry_id) == (later.tier, later.entry_id)


def test_what_is_not_judged(driver: Driver, emulator: StartEmulator) -> None:
    """A stream that nobody has judged is given to no plain call that wants JSON, exactly or by similarity."""
    server = emulator(replies=["不是 JSON", '{"a": 1}'])
    client = driver.client(base_url=server.url, cache=semantic())
    body: dict[str, Any] = {"response_format": {"type": "json_object"}}
    before = ("system", "用 json 回答。")
    streamed_first = ask(driver, client, stream=True, **body, **spoken(ASKED, before))
    plain = ask(driver, client, **body, **spoken(SAME, before))

    assert ("miss", "miss") == (streamed_first.status, plain.status)
    assert "unusable" == (plain.decision and plain.decision.reason)


@pytest.mark.parametrize(
    ("verify", "told"),
    [
        (lambda *_: True, "served"),
        (lambda *_: 0.2, "verifier"),
        (lambda *_: 1 / 0, "verifier"),
        (raising(SystemExit), "verifier"),
        (raising(asyncio.CancelledError), "verifier"),
        (raising(concurrent.futures.CancelledError), "verifier"),
    ],
)
def test_a_hook(driver: Driver, emulator: StartEmulator, verify: Any, told: str) -> None:
    """What the caller has pairs checked with has the last word; where it fails, that is a no."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic(verify=verify))
    ask(driver, client)

    assert told == decided(driver, client).reason


def test_the_next_candidate(driver: Driver, emulator: StartEmulator) -> None:
    """Where the nearest answer is not for the call, the next one is looked at."""
    wall = Wall()
    cache = semantic(wall=wall, ttl_by_tag={"kind=news": 10})
    client = driver.client(base_url=emulator(replies=["旧", "新"]).url, cache=cache)
    with options(tags={"kind": "news"}):
        ask(driver, client, SAME)
    ask(driver, client, AGAIN, cache="refresh")
    wall.forward(20)
    found = ask(driver, client, LATER, cache="no-store")

    assert found.decision is not None
    assert ("hit", AGAIN) == (found.status, found.decision.kept)
