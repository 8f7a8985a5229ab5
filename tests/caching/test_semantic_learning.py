"""What a semantic cache learns from judges, from hits that are asked again, and from people, through real clients."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk import report
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.deciding.vcache import VCache
from deepseek_sdk.caching.learning.judge import ModelJudge
from deepseek_sdk.caching.learning.learner import NOTHING
from deepseek_sdk.errors import CacheMissError, ConfigurationError
from tests.caching.cached_calls import Wall, in_memory, outcome, status
from tests.caching.wordings import (
    AGAIN,
    ASKED,
    LATER,
    NEAR,
    NEARER,
    OTHER,
    SAME,
    Scored,
    ask,
    decided,
    finished,
    semantic,
    settled,
)

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.caching.learning.judge import Pair
    from deepseek_sdk.testing.recording import RecordedRequest
    from tests.conftest import Driver, StartEmulator

ANSWER = "在订单页点“退款”。"


class Judge:
    """A judge who says what he is told to, and notes what he was shown."""

    def __init__(self, says: Any) -> None:
        self.says = says
        self.pairs: list[Pair] = []

    def __call__(self, pair: Pair) -> Any:
        """Judge."""
        self.pairs.append(pair)
        if isinstance(self.says, BaseException):
            raise self.says
        return self.says


class AsyncJudge(Judge):
    """The same, as a coroutine function."""

    async def __call__(self, pair: Pair) -> Any:
        """Judge."""
        return super().__call__(pair)


def is_judging(request: RecordedRequest) -> bool:
    """Tell a request that has a pair judged."""
    return "kept_question" in request.last_user_text


def judging(verdict: str) -> Any:
    """Give what a model says that is asked, and judges."""
    return lambda request: verdict if is_judging(request) else f"答：{request.last_user_text}"


@pytest.mark.parametrize(("make", "is_on_disk"), [(Judge, False), (AsyncJudge, True)])
def test_a_near_miss(driver: Driver, emulator: StartEmulator, tmp_path: Path, make: Any, *, is_on_disk: bool) -> None:
    """A near miss is judged; where the kept answer was right, what asks the same as that gets it from then on."""
    judge = make(says=True)
    cache = semantic(tmp_path / "cache" if is_on_disk else None, judge=judge, policy=Scored())
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client)
    near = ask(driver, client, NEAR)

    assert finished(driver, client)
    settled(cache)
    assert ("miss", None) == (near.status, near.tier)
    (pair,) = judge.pairs
    assert (NEAR, ASKED, f"答：{ASKED}", f"答：{NEAR}") == (pair.asked, pair.kept, pair.answer, pair.fresh)
    found = ask(driver, client, NEARER)
    assert ("hit", "semantic", first.entry_id) == (found.status, found.tier, found.entry_id)
    assert NEAR == (found.decision and found.decision.kept)
    assert 1 == len(judge.pairs)


def test_a_near_miss_of_a_threshold(driver: Driver, emulator: StartEmulator) -> None:
    """A policy of one threshold has near misses, too: what is just below it."""
    judge = Judge(says=True)
    cache = semantic(judge=judge, policy=Static(0.92))
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    for text in (ASKED, NEAR, OTHER):
        ask(driver, client, text)

    assert finished(driver, client)
    assert [NEAR] == [pair.asked for pair in judge.pairs]


@pytest.mark.parametrize("says", [False, None, "ja", ValueError("keine Lust"), SystemExit("aus"), np.False_])
def test_a_judge_who_does_not_agree(driver: Driver, emulator: StartEmulator, says: Any) -> None:
    """Where he says no, or nothing that can be used, what asks the same gets the answer that was given to it."""
    judge = Judge(says)
    cache = semantic(judge=judge, policy=Scored())
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    ask(driver, client)
    near = ask(driver, client, NEAR)
    assert finished(driver, client)
    found = ask(driver, client, NEARER)

    assert (near.entry_id, NEAR) == (found.entry_id, found.decision and found.decision.kept)
    assert (says is False or says is np.False_) == bool(cache.learnt.vetoes)


@pytest.mark.parametrize(
    ("verdict", "labels", "stream"), [("yes", 1, False), ("是", 1, True), ("no", 1, True), ("Hard to say", 0, False)]
)
def test_the_model_as_a_judge(
    driver: Driver, emulator: StartEmulator, verdict: str, labels: int, *, stream: bool
) -> None:
    """The client's own model judges, in a call of its own that is neither cached nor repaired."""
    server = emulator(replies=judging(verdict))
    cache = semantic(judge=ModelJudge(), policy=Scored())
    client = driver.client(base_url=server.url, cache=cache)
    first = ask(driver, client, stream=stream)
    ask(driver, client, NEAR, stream=stream)
    assert finished(driver, client)
    found = ask(driver, client, NEARER)

    assert labels == cache.learnt.labels
    judged = server.requests[2]
    assert (True, "deepseek-flash") == (is_judging(judged), judged.body["model"])
    assert (verdict in ("yes", "是")) == (found.entry_id == first.entry_id)
    assert (2, 3) == (cache.tally.stats().stored, len(server.requests))


def test_what_nobody_judges(driver: Driver, emulator: StartEmulator) -> None:
    """Hits, what is far, what a guard forbids, and what is not kept are no near misses."""
    judge = Judge(says=True)
    cache = semantic(judge=judge, policy=Scored())
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    ask(driver, client)
    ask(driver, client, SAME)
    ask(driver, client, OTHER)
    ask(driver, client, NEAR, cache="no-store")
    # Were anything judged it would be by now: the next is.
    ask(driver, client, NEAR)

    assert finished(driver, client)
    assert [NEAR] == [pair.asked for pair in judge.pairs]


def test_a_budget(driver: Driver, emulator: StartEmulator) -> None:
    """The model judges as often as it may, and no more."""
    server = emulator(replies=judging("no"))
    cache = semantic(judge=ModelJudge(per_hour=2), policy=Scored(0.999))
    client = driver.client(base_url=server.url, cache=cache)
    for text in (ASKED, SAME, AGAIN, LATER, NEAR):
        ask(driver, client, text)

    assert finished(driver, client)
    assert 2 == cache.learnt.labels
    assert (5, 2) == (
        len([request for request in server.requests if not is_judging(request)]),
        len([request for request in server.requests if is_judging(request)]),
    )


@pytest.mark.parametrize("policy", [Scored(), Static(0.95)])
def test_hits_that_are_asked_again(
    driver: Driver, emulator: StartEmulator, caplog: pytest.LogCaptureFixture, policy: Any
) -> None:
    """Hits that are asked again and were wrong are vetoed; after two the answer is for its own question alone."""
    judge = Judge(says=False)
    cache = semantic(judge=judge, policy=policy, recheck_share=1.0)
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client)
    found = []
    for number, text in enumerate((SAME, AGAIN), start=1):
        found.append(ask(driver, client, text))
        assert finished(driver, client)
        assert number == cache.learnt.labels
    key = cache.inspect(first.entry_id or "")

    assert [first.entry_id] * 2 == [one.entry_id for one in found]
    assert key is not None
    assert cache.learnt.is_quarantined(key.key)
    assert 1 == len([record for record in caplog.records if "answers no others" in record.getMessage()])
    # Its own question still has it, and the questions that it was wrong for have answers of their own.
    assert "exact" == ask(driver, client).tier
    assert ["exact", "exact"] == [ask(driver, client, text).tier for text in (SAME, AGAIN)]
    assert first.entry_id != ask(driver, client, LATER).entry_id
    assert 2 == cache.tally.stats().differing


def test_a_hit_that_was_right(driver: Driver, emulator: StartEmulator) -> None:
    """A hit whose new answer says the same needs no judge, and is a point in favour of the kept one."""
    server, judge = emulator(replies=ANSWER), Judge(says=False)
    cache = semantic(judge=judge, recheck_share=1.0, policy=Scored())
    client = driver.client(base_url=server.url, cache=cache)
    ask(driver, client)
    ask(driver, client, SAME)

    assert finished(driver, client)
    assert ([], 0) == (judge.pairs, cache.tally.stats().differing)
    (label,) = cache.learnt.recent(9)
    assert ("recheck", True) == (label.source, label.is_right)


def test_an_alarm(driver: Driver, emulator: StartEmulator, caplog: pytest.LogCaptureFixture) -> None:
    """Where hits are wrong too often the threshold goes up, and the log says so."""
    caplog.set_level(logging.WARNING)
    cache = semantic(policy=Scored(0.9))
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=cache)
    words = ["甲鱼", "乙醇", "丙酮", "丁香", "戊烷", "己烯", "庚辛", "辛夷", "壬癸", "癸水"]
    for word in words:
        ask(driver, client, f"{word}怎么保存", cache="refresh")
        answer = driver.create(client, f"{word}怎么保存呢")
        assert "semantic" == outcome(answer).tier
        alarm = driver.call(client.cache.feedback, answer, good=False).alarm
        if alarm:
            break

    assert alarm
    assert 0.91 == pytest.approx(cache.similar._judgement.policy.threshold_at(cache.learner.level))
    assert 1 == len([record for record in caplog.records if "wrong too often" in record.getMessage()])


@pytest.mark.parametrize(
    ("by", "is_on_disk"), [("report", False), ("outcome", False), ("answer", True), ("stream", True)]
)
def test_feedback(driver: Driver, emulator: StartEmulator, tmp_path: Path, by: str, *, is_on_disk: bool) -> None:
    """Who says that an answer to a similar question was wrong does not get it again for that question."""
    cache = semantic(tmp_path / "cache" if is_on_disk else None)
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client)
    answer = driver.create(client, SAME, stream=by == "stream")
    if by == "stream":
        driver.stream_text(answer)
    told = {"report": report(answer), "outcome": outcome(answer)}.get(by, answer)
    consequence = driver.call(client.cache.feedback, told, good=False)
    again = ask(driver, client, SAME)

    assert consequence.veto
    assert ("miss", "vetoed") == (again.status, again.decision and again.decision.reason)
    assert first.entry_id == ask(driver, client, AGAIN).entry_id


def test_two_wrong_ones(driver: Driver, emulator: StartEmulator) -> None:
    """After two wrong ones an answer is for its own question alone; a new answer begins anew."""
    cache = semantic()
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client)
    told = [driver.call(client.cache.feedback, ask_for(driver, client, text), good=False) for text in (SAME, AGAIN)]

    assert [False, True] == [one.quarantine for one in told]
    assert "quarantined" == decided(driver, client, LATER, cache="no-store").reason
    assert "exact" == ask(driver, client).tier
    ask(driver, client, cache="refresh")
    assert (first.entry_id, "semantic") == (ask(driver, client, LATER).entry_id, ask(driver, client, LATER).tier)


def ask_for(driver: Driver, client: Any, text: str) -> Any:
    """Make a call."""
    return driver.create(client, text)


def test_praise(driver: Driver, emulator: StartEmulator) -> None:
    """Who says that it was right takes back that it was wrong."""
    cache = semantic()
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    ask(driver, client)
    answer = driver.create(client, SAME)
    driver.call(client.cache.feedback, answer, good=False)
    refused = decided(driver, client, cache="no-store").reason
    driver.call(client.cache.feedback, answer, good=True)

    assert ("vetoed", "served") == (refused, decided(driver, client).reason)


def test_an_answer_that_is_wrong_for_its_own_question(driver: Driver, emulator: StartEmulator) -> None:
    """An answer that is wrong for its own question is removed; to say so twice changes nothing more."""
    server = emulator(replies=["错", "对"])
    client = driver.client(base_url=server.url, cache=semantic())
    answer = driver.create(client, ASKED)
    again = driver.create(client, ASKED)
    told = [driver.call(client.cache.feedback, said, good=False) for said in (again, answer)]

    assert (True, NOTHING) == (told[0].discard, told[1])
    assert "对" == driver.create(client, ASKED).choices[0].message.content
    assert "semantic" == ask(driver, client, SAME).tier


def test_feedback_by_an_error(driver: Driver, emulator: StartEmulator) -> None:
    """What a failed call has to say of the cache will do, too: nothing was given, so nothing is learnt of a hit."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    with pytest.raises(CacheMissError) as missed:
        ask(driver, client, cache="only")

    assert NOTHING == driver.call(client.cache.feedback, missed.value, good=False)


def test_feedback_on_nothing(driver: Driver) -> None:
    """What is no answer is refused, and what is no word on it."""
    client = driver.client(cache=semantic(), base_url="http://127.0.0.1:9")

    for told in ("text", 5, None, object()):
        with pytest.raises(ConfigurationError, match="needs an answer"):
            driver.call(client.cache.feedback, told, good=True)
    with pytest.raises(ConfigurationError, match="True or False"):
        driver.call(client.cache.feedback, None, good="no")


def test_feedback_needs_a_semantic_cache(driver: Driver, emulator: StartEmulator) -> None:
    """An exact cache learns nothing; a call that went past the cache has nothing to learn from."""
    server = emulator(replies=ANSWER)
    exact = driver.client(base_url=server.url, cache=in_memory())
    client = driver.client(base_url=server.url, cache=semantic())
    answer = driver.create(exact)
    past = driver.create(driver.client(base_url=server.url))

    for call in (
        lambda: exact.cache.feedback(answer, good=True),
        lambda: exact.cache.veto("a", "b"),
        lambda: exact.cache.wait_until_ready(1),
    ):
        with pytest.raises(ConfigurationError, match="needs a semantic cache"):
            driver.call(call)
    with pytest.raises(ConfigurationError, match="no part in this call"):
        driver.call(client.cache.feedback, past, good=True)


def test_a_veto(driver: Driver, emulator: StartEmulator) -> None:
    """Two questions can be kept apart for ever, in either order; others still get the answer."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    is_new = [driver.call(client.cache.veto, *pair) for pair in ((SAME, ASKED), (ASKED, SAME))]
    ask(driver, client)

    assert [True, False] == is_new
    assert "vetoed" == decided(driver, client, cache="no-store").reason
    assert "served" == decided(driver, client, AGAIN).reason
    with pytest.raises(ConfigurationError, match="other must be the text of a question"):
        driver.call(client.cache.veto, "a", " ")


def test_a_veto_is_told_where_nothing_else_is_served(driver: Driver, emulator: StartEmulator) -> None:
    """That the next question is too far is not what a miss is for; one that is near enough is served instead."""
    client = driver.client(base_url=emulator(replies=ANSWER).url, cache=semantic())
    driver.call(client.cache.veto, SAME, ASKED)
    for kept in (ASKED, NEAR):
        ask(driver, client, kept)
    told = decided(driver, client, cache="no-store")
    explained = driver.call(client.cache.explain, [{"role": "user", "content": SAME}]).decision
    ask(driver, client, LATER, cache="refresh")

    assert ("vetoed", ASKED, 2) == (told.reason, told.kept, told.candidates)
    assert told == explained
    assert ("served", LATER) == (decided(driver, client).reason, decided(driver, client, cache="no-store").kept)
    assert 1 == driver.call(client.cache.stats).decisions["vetoed"]


def test_streams_of_hits_can_be_judged(driver: Driver, emulator: StartEmulator) -> None:
    """A hit that came as a stream is asked again as well."""
    cache = semantic(judge=Judge(says=True), recheck_share=1.0, policy=Scored())
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    ask(driver, client)
    answer = driver.create(client, SAME, stream=True)
    driver.stream_text(answer)

    assert "hit" == status(answer)
    assert finished(driver, client)
    assert (1, 0) == (cache.learnt.labels, cache.learnt.vetoes)


@pytest.mark.parametrize("is_on_disk", [False, True])
@pytest.mark.parametrize("by", ["hit", "miss", "paraphrase"])
def test_feedback_on_an_answer_that_was_replaced(
    driver: Driver, emulator: StartEmulator, tmp_path: Path, by: str, *, is_on_disk: bool
) -> None:
    """What is said of an answer says nothing of the one that has its place now, of which it can still be said."""
    wall = Wall()
    cache = semantic(tmp_path / "cache" if is_on_disk else None, wall=wall)
    client = driver.client(base_url=emulator(replies=["旧", "新"]).url, cache=cache)
    texts = {"miss": ASKED, "hit": ASKED, "paraphrase": SAME}
    answers = {name: driver.create(client, text) for name, text in texts.items()}
    wall.forward(1)
    ask(driver, client, cache="refresh")
    told = driver.call(client.cache.feedback, answers[by], good=False)
    found = [driver.create(client, text) for text in (ASKED, SAME)]

    assert NOTHING == told
    assert ["exact", "semantic"] == [outcome(answer).tier for answer in found]
    assert {"新"} == {answer.choices[0].message.content for answer in found}
    assert NOTHING != driver.call(client.cache.feedback, found[by == "paraphrase"], good=False)


def test_a_policy_that_explores(driver: Driver, emulator: StartEmulator) -> None:
    """What it asks a model about in order to learn is judged, however far it is, and then it knows enough to serve."""
    judge = Judge(says=True)
    cache = semantic(judge=judge, policy=VCache(0.1, chance=lambda: 1.0))
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client)
    for text in (SAME, AGAIN, LATER, NEAR):
        assert "miss" == ask(driver, client, text).status
        assert finished(driver, client)
    found = ask(driver, client, NEARER)

    assert 4 == len(judge.pairs) == cache.learnt.labels
    assert ("hit", "semantic", first.entry_id) == (found.status, found.tier, found.entry_id)


def test_a_guard_that_errs(driver: Driver, emulator: StartEmulator) -> None:
    """What the guard of names forbids is judged, where it is likely without it; no threshold learns from that."""
    judge = Judge(says=True)
    cache = semantic(judge=judge, policy=Calibrated())
    client = driver.client(base_url=emulator(replies=judging("?")).url, cache=cache)
    first = ask(driver, client, "How does Albert Einstein explain relativity?")
    guarded = decided(driver, client, "How does Einstein explain relativity?")
    assert finished(driver, client)
    found = ask(driver, client, "how does Einstein explain relativity", cache="no-store")

    assert ("guard", "name") == (guarded.reason, guarded.guard)
    assert ["How does Einstein explain relativity?"] == [pair.asked for pair in judge.pairs]
    assert ("semantic", first.entry_id) == (found.tier, found.entry_id)
    (label,) = cache.learnt.recent(9)
    assert label.score <= cache.policy.threshold_at(0)


@pytest.mark.parametrize("kind", ["function", "model", "nonsense"])
def test_a_judge_who_always_fails(
    driver: Driver, emulator: StartEmulator, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """One who fails each time is told of once, without a traceback."""
    server = emulator(replies=lambda request: 1 / 0 if is_judging(request) else f"答：{request.last_user_text}")
    judges = {"function": Judge(ValueError("坏了")), "model": ModelJudge(), "nonsense": Judge(np.array([True]))}
    cache = semantic(judge=judges[kind], policy=Scored(0.999))
    client = driver.client(base_url=server.url, cache=cache, max_retries=0)
    for text in (ASKED, SAME, AGAIN, LATER):
        ask(driver, client, text)
        assert finished(driver, client)

    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert 1 == len([record for record in warnings if "The judge of the cache" in record.getMessage()])
    assert [] == [record for record in warnings if record.exc_info]
