"""`Similar`: the semantic tier, which finds a kept question that asks the same in other words."""

from __future__ import annotations

import contextlib
import logging
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from deepseek_sdk._cache import CacheDecision
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.failure import contained
from deepseek_sdk.caching.neighbours import row_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future

    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.deciding.decision import Decision
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.embedding.base import Vectors
    from deepseek_sdk.caching.embedding.service import EmbeddingService
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.judgement import Judged, Judgement
    from deepseek_sdk.caching.learning.verifying import Verifier
    from deepseek_sdk.caching.neighbours import Neighbours
    from deepseek_sdk.caching.partitions import Candidate
    from deepseek_sdk.caching.store import Found, Store

__all__ = ["Answers", "Lateness", "Patience", "Similar", "Wording", "is_patient"]

_log = logging.getLogger("deepseek_sdk")

# So many vectors in a row that come too late, and nobody waits for such texts for so long, in seconds; then one call
# does, and where that was in vain, too, it is twice as long, up to the most.
_LATE, _REST_S, _MOST_REST_S = 3, 30.0, 600.0


class Patience(NamedTuple):
    """
    How long a call waits for the semantic tier.

    Attributes:
        embed_s: For the vector of its text, in seconds.
        load_s: For a model that is being loaded, in seconds, where something is kept to compare with.
    """

    embed_s: float
    load_s: float


class Lateness:
    """
    Remembers for which texts it makes no sense to wait: where the embedder is too slow, each would cost time for good.

    A long text takes longer than a short one, so texts are told apart by their length, each class twice the one before.
    """

    def __init__(self) -> None:
        self._late: dict[int, _Late] = {}

    def is_known(self, size: int, now: float) -> bool:
        """
        Tell whether the vectors of such texts come too late, as far as is known.

        Args:
            size: The length of the text.
            now: The time, in seconds.

        Returns:
            Whether nobody waits for them now.
        """
        return (late := self._late.get(size.bit_length())) is not None and now < late.until

    def lets(self, size: int, now: float) -> bool:
        """
        Let a call wait for a vector, or not.

        Args:
            size: The length of the text.
            now: The time, in seconds.

        Returns:
            Whether it may; after a rest, the first one alone.
        """
        late = self._late.get(size.bit_length())
        if late is None or late.rest_s == 0:
            return True
        if now < late.until:
            return False
        late.until = now + late.rest_s
        return True

    def late(self, size: int, began: float, now: float) -> None:
        """
        Note that a call has waited in vain.

        Args:
            size: The length of the text.
            began: When it began to wait, in seconds.
            now: The time, in seconds.
        """
        late = self._late.setdefault(size.bit_length(), _Late())
        if began < late.ended:
            # Those that wait at one moment are late for one reason.
            return
        late.count, late.ended = late.count + 1, now
        if late.count >= _LATE:
            late.rest_s = min(2 * late.rest_s or _REST_S, _MOST_REST_S)
            late.until = now + late.rest_s

    def in_time(self, size: int) -> None:
        """
        Note that a vector came in time.

        Args:
            size: The length of the text.
        """
        self._late.pop(size.bit_length(), None)


@dataclass(slots=True)
class _Late:
    """Of texts of one class: how often in a row they were late, until when that was, and until when nobody waits."""

    count: int = 0
    ended: float = float("-inf")
    rest_s: float = 0.0
    until: float = float("-inf")


class Answers(NamedTuple):
    """
    The kept answers, as a call has them.

    Attributes:
        look: Gives the one with a key, however old, or None.
        may_have: Tells whether it may be given to the call.
        is_quiet: Nothing is changed for the look.
    """

    look: Callable[[str], Awaitable[Found | None]]
    may_have: Callable[[Entry], bool]
    is_quiet: bool = False


@dataclass(slots=True)
class Wording:
    """
    The text of a question, on its way through the semantic tier.

    Attributes:
        text: What the user said last.
        tenant: Whose it is.
        place: What all of the request but this text comes to: only what is kept there is compared with it.
        refusal: Why the exact tier alone may answer, or None.
        vector: Its vector, as soon as that is there, or None: nobody works on it.
        decision: What is told of the decision, or None: there is none yet.
        decided: The decision itself, or None: nothing could be compared.
        is_beside: Its vector is written with its answer.
    """

    text: str
    tenant: str
    place: str
    refusal: str | None = None
    vector: Future[Vectors] | None = field(default=None, repr=False)
    decision: CacheDecision | None = None
    decided: Decision | None = field(default=None, repr=False)
    is_beside: bool = False

    @property
    def candidate(self) -> Candidate | None:
        """The kept question that was decided about, or None."""
        return None if self.decided is None else cast("Candidate | None", self.decided.candidate)

    @property
    def row(self) -> Any:
        """Its vector, or None: it is not there yet, or never will be."""
        return row_of(self.vector)


class Similar:
    """
    Finds kept questions that ask the same in other words.

    Args:
        service: Makes vectors of texts.
        neighbours: Where the vectors are.
        judgement: Decides about candidates.
        store: Where the answers are.
        patience: How long calls wait.
        most: How many candidates are looked at.
        verifier: What the caller has the best candidate checked with, or None.
        note: Called with each text that was decided about.
    """

    def __init__(
        self,
        *,
        service: EmbeddingService,
        neighbours: Neighbours,
        judgement: Judgement,
        store: Store,
        patience: Patience,
        most: int,
        verifier: Verifier | None,
        note: Callable[[Wording], object],
    ) -> None:
        self._service = service
        self._neighbours = neighbours
        self._judgement = judgement
        self._store = store
        self._patience = patience
        self._most = most
        self._verifier = verifier
        self._note = note
        self._lateness = Lateness()
        self._has_warned = False

    async def find(self, io: IO, wording: Wording, now_ms: int, may_have: Callable[[Entry], bool]) -> Found | None:
        """
        Look for a kept answer to a similar question; *wording* tells afterwards what was decided.

        Args:
            io: The caller's.
            wording: The text of the question.
            now_ms: The time, in milliseconds since 1970.
            may_have: Tells whether an answer may be given to the call.

        Returns:
            It, or None.
        """
        look = partial(self._store.find, io, now_ms=now_ms)
        found = await self.look(io, wording, Answers(look, may_have))
        if wording.decision is not None:
            self._note(wording)
        return found

    async def look(self, io: IO, wording: Wording, answers: Answers) -> Found | None:
        """
        Do the same, and count nothing.

        Args:
            io: The caller's.
            wording: The text of the question.
            answers: What is kept.

        Returns:
            It, or None.
        """
        found = None
        try:
            refusal = wording.refusal or await self._embedded(io, wording)
            if refusal is None:
                found = await self._found(io, wording, answers)
        except CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  a call must not fail for want of this tier
            refusal, wording.decided = "failed", None
            self._warn(error)
        if refusal is not None:
            wording.decision = CacheDecision(reason=refusal)
        return found

    def _warn(self, error: Exception) -> None:
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        message = "Similar questions cannot be compared, calls go on without: %s: %s"
        _log.log(level, message, type(error).__name__, error)

    async def _embedded(self, io: IO, wording: Wording) -> str | None:
        """Have a vector made of the text; say why nothing can be compared, or None: it can."""
        service, size = self._service, len(wording.text)
        # What nobody waits for comes after what somebody does.
        wording.vector = service.submit([wording.text], is_urgent=not self._lateness.is_known(size, io.now()))
        if wording.vector is None:
            return "off" if service.state == "off" else "slow"
        if not await self._neighbours.has_any(io, wording.place):
            return "no_candidate"
        if not await self._is_loaded(io):
            return "off" if service.state == "off" else "loading"
        if service.is_stuck(self._patience.embed_s):
            return "slow"
        if not wording.vector.done() and not self._lateness.lets(size, io.now()):
            return "slow"
        return await self._waited(io, wording)

    async def _is_loaded(self, io: IO) -> bool:
        if self._service.state == "ready":
            return True
        # A model that was built and tried gets there; of any other file, or code, one cannot know.
        limit = self._patience.load_s if is_patient(self._service.embedder) else self._patience.embed_s
        if self._service.is_stuck(limit):
            return False
        try:
            return await io.wait(self._service.ready, limit)
        except TimeoutError:
            return False

    async def _waited(self, io: IO, wording: Wording) -> str | None:
        began, size = io.now(), len(wording.text)
        until = began + self._patience.embed_s
        try:
            await io.wait(cast("Future[Any]", wording.vector), self._patience.embed_s)
        except TimeoutError:
            self._lateness.late(size, began, io.now())
            return "slow"
        except CancelledError:
            if not cast("Future[Any]", wording.vector).done():
                # It is the caller who is.
                raise
            return "failed"
        except Exception:  # noqa: BLE001  whatever an embedder raises
            return "failed"
        self._lateness.in_time(size)
        with contextlib.suppress(TimeoutError):
            # What was answered a moment ago may not be among those that are compared yet.
            await self._neighbours.settled(io, wording.place, max(until - io.now(), 0.0))
        return None

    async def _found(self, io: IO, wording: Wording, answers: Answers) -> Found | None:
        judge, makes_up = partial(self._judged, wording), not answers.is_quiet
        judged = await self._neighbours.judged(io, wording.place, wording.row, self._most, judge, makes_up=makes_up)
        if judged is None:
            wording.decision = CacheDecision(reason="failed")
            return None
        (decision, tellable), near = judged
        wording.decision, wording.decided = told(wording, tellable, len(near)), decision
        while decision.serve:
            found, reason = await self._looked_up(io, wording, decision.candidate, answers)
            wording.decision, wording.decided = told(wording, decision, len(near), reason), decision
            if found is not None:
                return found
            gone = cast("Candidate", decision.candidate).key
            near = [other for other in near if other.key != gone]
            (decision, _), near = await io.offload(judge, None, near)
        return None

    def _judged(self, wording: Wording, tier: DiskTier | None, near: list[Candidate]) -> tuple[Judged, list[Candidate]]:
        # Who is cancelled, or ends the program, is the caller, and not a policy.
        with contained():
            return self._judgement.decide(wording, near, tier), near

    async def _looked_up(
        self, io: IO, wording: Wording, candidate: Any, answers: Answers
    ) -> tuple[Found | None, str | None]:
        """Give the answer that was decided for, or say why it is not given after all."""
        found = await answers.look(candidate.key)
        if found is None or not (candidate.is_alias or found.entry.text == candidate.text):
            if not answers.is_quiet:
                self._neighbours.dropped(wording.place, candidate.key)
            return None, "gone"
        if found.entry.tenant != wording.tenant or not answers.may_have(found.entry):
            return None, "unusable"
        if self._verifier is not None and not await self._verifier.agrees(io, wording.text, candidate.text):
            return None, "verifier"
        return found, "served"


def is_patient(embedder: object) -> bool:
    """
    Tell whether an embedder is worth waiting for while it loads.

    Args:
        embedder: It.

    Returns:
        True for the default one where its model is built, and looks as it was left.
    """
    return isinstance(embedder, DefaultEmbedder) and embedder.is_sound


def told(wording: Wording, decision: Decision, candidates: int, reason: str | None = None) -> CacheDecision:
    """
    Tell a caller what was decided.

    Args:
        wording: What was asked.
        decision: That.
        candidates: How many were looked at.
        reason: What became of it in the end, or None: that is what was decided.

    Returns:
        It, for reports.
    """
    candidate = decision.candidate
    return CacheDecision(
        reason=reason or decision.reason,
        similarity=decision.cosine,
        score=decision.score,
        probability=decision.p,
        threshold=decision.threshold,
        margin=decision.margin,
        guard=decision.guard,
        correction=decision.correction,
        candidates=candidates,
        entry_id=None if candidate is None else candidate.key[:16],
        kept=None if candidate is None else candidate.text,
        place=wording.place,
    )
