"""`Learner`: takes verdicts, keeps what follows from them, and says what is to be done."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Literal, NamedTuple

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.deciding.drift import Drift
from deepseek_sdk.caching.learning.labels import SERVED, Label, digest_of, normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepseek_sdk.caching.learning.judge import Verdict
    from deepseek_sdk.caching.learning.labels import Source
    from deepseek_sdk.caching.learning.memory import Learnt

__all__ = ["NOTHING", "Consequence", "Event", "Facts", "Learner"]

_log = logging.getLogger("deepseek_sdk")


class Facts(NamedTuple):
    """
    What is known of a pair that somebody speaks of.

    Attributes:
        tenant: Whose it is.
        key: Of the entry.
        asked: The question.
        kept: The question that it was found by.
        own: The question that the entry was kept for; another than *kept* where that is an alias.
        cosine: Of *asked* and *kept*.
        score: The logit of the policy, without the entry's correction.
        was_served: The answer was given; else it was a near miss.
    """

    tenant: str
    key: str
    asked: str
    kept: str
    own: str
    cosine: float
    score: float
    was_served: bool

    @property
    def is_same(self) -> bool:
        """Whether the question is the very one that the entry was kept for."""
        return normalised(self.asked) == normalised(self.own)

    @property
    def is_alias(self) -> bool:
        """Whether it was found by an alias."""
        return normalised(self.kept) != normalised(self.own)


class Consequence(NamedTuple):
    """
    What follows from a verdict. Labels and vetoes are kept already; the rest is for whoever holds the entries.

    Attributes:
        promote: The question becomes an alias of the entry.
        quarantine: From now on, the entry answers no paraphrases.
        veto: From now on, the pair is never served.
        alarm: Hits have become wrong too often: from now on, the threshold is higher.
        demote: The alias that it was found by goes.
        discard: The answer is wrong for its own question: the entry goes.
    """

    promote: bool = False
    quarantine: bool = False
    veto: bool = False
    alarm: bool = False
    demote: bool = False
    discard: bool = False


NOTHING = Consequence()


class Event(NamedTuple):
    """
    What is told of.

    Attributes:
        kind: "alarm" and "calm": the threshold went up or down a step; "quarantine", "promotion", "veto", "discard".
        key: Of the entry; None: it is about all.
        before: The threshold before; None where it stays.
        after: The threshold now; likewise.
    """

    kind: Literal["alarm", "calm", "discard", "promotion", "quarantine", "veto"]
    key: str | None = None
    before: float | None = None
    after: float | None = None


def _nothing(_: Event) -> None:
    pass


class Learner:
    """
    Learns from verdicts; any thread may use it.

    Args:
        learnt: Where labels and vetoes are kept.
        threshold_at: Tells the threshold by the number of steps that it is raised by.
        now_ms: Tells the time, in milliseconds since 1970.
        drift: The alarm, before any verdict.
        since_ms: When the threshold was set: what was said before does not count for the alarm.
        told: Called with each event; what it raises is not passed on.
    """

    def __init__(
        self,
        learnt: Learnt,
        *,
        threshold_at: Callable[[int], float],
        now_ms: Callable[[], int],
        drift: Drift | None = None,
        since_ms: int = 0,
        told: Callable[[Event], object] = _nothing,
    ) -> None:
        self._learnt = learnt
        self._threshold_at = threshold_at
        self._now_ms = now_ms
        self._first = self._drift = drift or Drift()
        self._since_ms = since_ms
        self._told = told
        # What was said before this process began is taken in, but is no news.
        self._began_ms = now_ms()
        self._cursor = (0, 0)
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)

    @property
    def level(self) -> int:
        """The steps that the threshold is raised by, by what was said in this process and in others."""
        self._take_in()
        return self._drift.level

    def feedback(self, facts: Facts, *, good: bool) -> Consequence:
        """
        Take what a person says of a pair.

        Args:
            facts: About the pair.
            good: The answer was right.

        Returns:
            What follows.
        """
        if facts.is_same:
            return NOTHING if good else self._discarded(facts)
        if good:
            for kept in {facts.kept, facts.own}:
                self._learnt.pardon(facts.tenant, facts.asked, kept)
        return self._said(facts, "feedback", is_right=good)

    def judged(self, facts: Facts, verdict: Verdict) -> Consequence:
        """
        Take what a judge says of a near miss, or of a hit that was asked again.

        Args:
            facts: About the pair.
            verdict: Of the judge.

        Returns:
            What follows; nothing where he does not know.
        """
        if verdict.is_right is None:
            return NOTHING
        if facts.is_same:
            # It was asked again, and the answer is another one now.
            return NOTHING if verdict.is_right else self._discarded(facts)
        return self._said(facts, "recheck" if facts.was_served else "judge", is_right=verdict.is_right)

    def recalibrated(self, since_ms: int) -> None:
        """
        Begin the alarm anew, since the threshold was set anew.

        Args:
            since_ms: When, in milliseconds since 1970.
        """
        with self._locks.get():
            self._since_ms = since_ms
            self._drift = self._first
            self._cursor = (-1, 0)

    def _said(self, facts: Facts, source: Source, *, is_right: bool) -> Consequence:
        was_quarantined = self._learnt.is_quarantined(facts.key)
        digest = digest_of(facts.asked)
        label = Label(self._now_ms(), facts.key, digest, facts.cosine, facts.score, is_right, source)
        self._learnt.add(label)
        alarm = self._take_in()
        is_quarantined = self._learnt.is_quarantined(facts.key)
        if is_right:
            is_free = not is_quarantined and not self._is_vetoed(facts)
            consequence = Consequence(promote=is_free and not facts.was_served)
        else:
            for kept in {facts.kept, facts.own}:
                self._learnt.veto(facts.tenant, facts.asked, kept)
            demote = facts.was_served and facts.is_alias
            consequence = Consequence(
                quarantine=is_quarantined and not was_quarantined, veto=True, alarm=alarm, demote=demote
            )
        self._tell(facts, consequence)
        return consequence

    def _discarded(self, facts: Facts) -> Consequence:
        consequence = Consequence(discard=True)
        self._tell(facts, consequence)
        return consequence

    def _is_vetoed(self, facts: Facts) -> bool:
        return any(self._learnt.is_vetoed(facts.tenant, facts.asked, kept) for kept in {facts.kept, facts.own})

    def _tell(self, facts: Facts, consequence: Consequence) -> None:
        if consequence.promote:
            self._tell_of(Event("promotion", facts.key))
        if consequence.veto:
            self._tell_of(Event("veto", facts.key))
        if consequence.discard:
            self._tell_of(Event("discard", facts.key))
        if consequence.quarantine:
            # The key alone: texts are nothing for a log.
            _log.warning("The cached answer %s was wrong for several questions: it answers no others now", facts.key)
            self._tell_of(Event("quarantine", facts.key))

    def _take_in(self) -> bool:
        """Let the alarm hear what it has not heard; tell whether it went off, and say so."""
        with self._locks.get():
            labels, cursor, is_all = self._learnt.since(self._cursor)
            if cursor == self._cursor:
                return False
            before = self._drift.level
            self._cursor = cursor
            self._drift = _heard(self._first if is_all else self._drift, labels, self._since_ms)
            level = self._drift.level
        is_news = level != before and any(label.at_ms >= self._began_ms for label in labels[-1:])
        if is_news:
            self._tell_step(before, level)
        return is_news and level > before

    def _tell_step(self, before: int, level: int) -> None:
        low, high = self._threshold_at(before), self._threshold_at(level)
        if level > before:
            message = "Cached answers to similar questions were wrong too often of late: threshold %.3f, was %.3f"
            _log.warning(message, high, low)
        else:
            _log.info("Cached answers to similar questions are right again: threshold %.3f, was %.3f", high, low)
        self._tell_of(Event("alarm" if level > before else "calm", None, low, high))

    def _tell_of(self, event: Event) -> None:
        try:
            self._told(event)
        except Exception:  # noqa: BLE001  it is the caller's code
            _log.debug("an event of the cache could not be told", exc_info=True)


def _heard(drift: Drift, labels: Iterable[Label], since_ms: int) -> Drift:
    for label in labels:
        # What a judge says of near misses says nothing of hits.
        if label.source in SERVED and label.at_ms >= since_ms:
            drift = drift.after(is_wrong=not label.is_right)
    return drift
