"""`Lessons`: what a semantic cache learns from: near misses that are judged, hits that are asked again, and people."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.caching.learning.answers import same_answer
from deepseek_sdk.caching.learning.budget import JudgeBudget
from deepseek_sdk.caching.learning.judge import (
    ModelJudge,
    Pair,
    Verdict,
    is_judgeable,
    judge_body,
    judged_by,
    judged_by_model,
)
from deepseek_sdk.caching.learning.labels import digest_of
from deepseek_sdk.caching.learning.learner import Facts
from deepseek_sdk.caching.learning.nearness import is_near_miss, is_rechecked

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.deciding.decision import Decision
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.learning.judge import Judge
    from deepseek_sdk.caching.learning.learner import Consequence, Learner
    from deepseek_sdk.caching.learning.memory import Learnt
    from deepseek_sdk.caching.neighbours import Neighbours
    from deepseek_sdk.caching.similar import Wording
    from deepseek_sdk.caching.store import Store

__all__ = ["AskModel", "Lessons", "Reply", "said_by"]

# So far below a threshold of cosines a miss is near: with the vectors of common models, what is unrelated is further.
_NEAR = 0.05


class AskModel(Protocol):
    """Asks a model what a body says, outside the cache."""

    async def __call__(self, io: IO, body: dict[str, Any], /) -> bytes:
        """Give the JSON answer."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """
    A new answer to what was asked.

    Attributes:
        content: The JSON answer.
        model: The model that was asked for.
        system: What it was told before, or None.
    """

    content: bytes
    model: str
    system: str | None = None


class Lessons:
    """
    Learns in the background; nothing here makes a caller wait.

    Args:
        learner: Takes verdicts.
        learnt: What was said before.
        neighbours: Where the vectors are.
        store: Where the answers are.
        judge: The model itself, a function, or None: nobody judges.
        recheck_share: What share of the hits is asked again.
        chance: Draws numbers from 0 to 1.
        discard: Removes an answer that is wrong for its own question.
        recalibrate: Sets the threshold anew, if there is reason to.
        now_ms: Tells the time, in milliseconds since 1970.
    """

    def __init__(
        self,
        learner: Learner,
        learnt: Learnt,
        neighbours: Neighbours,
        store: Store,
        *,
        judge: ModelJudge | Judge | None,
        recheck_share: float,
        chance: Callable[[], float],
        discard: Callable[[str], object],
        recalibrate: Callable[[], object],
        now_ms: Callable[[], int],
    ) -> None:
        self._learner = learner
        self._learnt = learnt
        self._neighbours = neighbours
        self._store = store
        self._judge = judge
        self._recheck_share = recheck_share
        self._chance = chance
        self._discard = discard
        self._recalibrate = recalibrate
        self._now_ms = now_ms
        self._has_warned = False
        bounds = judge if isinstance(judge, ModelJudge) else ModelJudge()
        self._budget = JudgeBudget(bounds.per_hour, bounds.max_share)

    def draws_recheck(self) -> bool:
        """Decide by chance whether a hit is asked again."""
        return self._judge is not None and is_rechecked(self._recheck_share, self._chance)

    def wants(self, wording: Wording) -> bool:
        """
        Tell whether a miss is worth a verdict, and one may be asked for.

        Args:
            wording: What was asked, and how it was decided.

        Returns:
            Whether a verdict is to be had; then it counts.
        """
        if self._judge is None:
            return False
        self._budget.note_call()
        decided, candidate = wording.decided, wording.candidate
        if decided is None or candidate is None or not is_near_miss(decided, least_cosine=_least_cosine(decided)):
            return False
        return not self._learnt.is_known(candidate.key, digest_of(wording.text)) and self._budget.take()

    async def near_miss(self, io: IO, wording: Wording, reply: Reply, ask: AskModel) -> None:
        """
        Have a near miss judged; where the kept answer would have been right, the question leads to it from then on.

        Args:
            io: The caller's, in the background.
            wording: What was asked, and how it was decided.
            reply: What the model said to it.
            ask: Asks a model.
        """
        candidate: Any = wording.candidate
        found = await self._store.find(io, candidate.key, self._now_ms())
        if found is None:
            self._budget.give_back()
            return
        await self._taught(io, wording, found.entry, reply, ask, was_served=False)

    async def rechecked(self, io: IO, wording: Wording, entry: Entry, reply: Reply, ask: AskModel) -> bool | None:
        """
        Compare the answer that was given with a new one.

        Args:
            io: The caller's, in the background.
            wording: What was asked, and how it was decided.
            entry: What was given.
            reply: The new answer.
            ask: Asks a model.

        Returns:
            Whether it was right, or None: nobody can tell.
        """
        verdict = Verdict(same_answer(said_by(entry.answer), said_by(reply.content)))
        if verdict.is_right is None and not self._budget.take():
            return None
        return await self._taught(io, wording, entry, reply, ask, was_served=True, verdict=verdict)

    async def _taught(
        self,
        io: IO,
        wording: Wording,
        entry: Entry,
        reply: Reply,
        ask: AskModel,
        *,
        was_served: bool,
        verdict: Verdict | None = None,
    ) -> bool | None:
        facts = facts_of(wording, entry, was_served=was_served)
        if verdict is None or verdict.is_right is None:
            pair = Pair(facts.asked, facts.own, said_by(entry.answer), said_by(reply.content), reply.system)
            verdict = await self._verdict(io, pair, reply.model, ask)
        self.follow(facts, wording.place, self._learner.judged(facts, verdict), wording.row)
        await io.offload(self._recalibrate)
        return verdict.is_right

    async def _verdict(self, io: IO, pair: Pair, model: str, ask: AskModel) -> Verdict:
        judge: Any = self._judge
        # He may fail each time, and once is enough for a log.
        level = logging.DEBUG if self._has_warned else logging.WARNING
        if not isinstance(judge, ModelJudge):
            verdict = await judged_by(judge, pair, io, level)
        elif is_judgeable(pair):
            verdict = await judged_by_model(partial(_asked, ask, io, judge_body(pair, judge.model or model)), level)
        else:
            self._budget.give_back()
            return Verdict(None, "unfit")
        self._has_warned |= verdict.reason in {"failed", "invalid"}
        return verdict

    def follow(self, facts: Facts, place: str, consequence: Consequence, row: Any = None) -> None:
        """
        Do what follows from a verdict.

        Args:
            facts: About the pair.
            place: Where it is compared.
            consequence: What follows.
            row: The vector of what was asked, or None: it is not there.
        """
        if consequence.promote and row is not None:
            self._neighbours.add(place, facts.key, facts.asked, row, is_alias=True)
        if consequence.demote:
            self._neighbours.take_out(place, facts.key, facts.kept)
        if consequence.discard:
            self._discard(facts.key)


async def _asked(ask: AskModel, io: IO, body: dict[str, Any]) -> str:
    return said_by(await ask(io, body))


def _least_cosine(decided: Decision) -> float | None:
    """Tell from where on a miss is near for a policy that knows no probabilities, but a threshold of cosines."""
    return None if decided.threshold is None else decided.threshold - _NEAR


def facts_of(wording: Wording, entry: Entry, *, was_served: bool) -> Facts:
    """
    Say what is known of a pair.

    Args:
        wording: What was asked, and how it was decided.
        entry: The kept answer that this was about.
        was_served: It was given.

    Returns:
        That.
    """
    decided, candidate = wording.decided, wording.candidate
    return Facts(
        tenant=wording.tenant,
        key=entry.key,
        asked=wording.text,
        kept=entry.text if candidate is None else candidate.text,
        own=entry.text,
        cosine=0.0 if candidate is None else candidate.cosine,
        score=_score(decided),
        was_served=was_served,
    )


def _score(decided: Decision | None) -> float:
    if decided is None or decided.score is None:
        return 0.0
    score = decided.score - decided.correction
    # What a guard forbids is served by no threshold: it says nothing of those below which it would lie.
    return score if decided.guard is None or decided.threshold is None else min(score, decided.threshold)


def said_by(answer: bytes) -> str:
    """
    Give what an answer says.

    Args:
        answer: The JSON completion.

    Returns:
        The text of its first choice; "" where there is none.
    """
    choice = json.loads(answer)["choices"][0]
    said = choice.get("text") or (choice.get("message") or {}).get("content")
    return said if isinstance(said, str) else ""
