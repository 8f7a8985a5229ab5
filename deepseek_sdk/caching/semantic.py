"""`SemanticCache`: an `ExactCache` that also answers questions which ask the same in other words."""

from __future__ import annotations

import logging
import random
from concurrent import futures
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from deepseek_sdk.caching import calibrating, operations, teaching
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.drift import Drift
from deepseek_sdk.caching.embedding.choosing import embedder_of
from deepseek_sdk.caching.embedding.service import service_of
from deepseek_sdk.caching.exact import ExactCache
from deepseek_sdk.caching.failure import contained
from deepseek_sdk.caching.identity import query_of
from deepseek_sdk.caching.judgement import Judgement
from deepseek_sdk.caching.key import check_context, last_text, partition_key
from deepseek_sdk.caching.learning.judge import ModelJudge
from deepseek_sdk.caching.learning.learner import Learner
from deepseek_sdk.caching.learning.memory import Learnt
from deepseek_sdk.caching.learning.nearness import is_near_miss
from deepseek_sdk.caching.learning.recalibrating import Recalibrator
from deepseek_sdk.caching.learning.verifying import Verifier
from deepseek_sdk.caching.lessons import Lessons
from deepseek_sdk.caching.matching.eligibility import Eligibility
from deepseek_sdk.caching.neighbours import Neighbours
from deepseek_sdk.caching.partitions import Partitions
from deepseek_sdk.caching.similar import Patience, Similar, Wording, is_patient
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_number, check_seconds, check_share

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.deciding.calibration import Calibration
    from deepseek_sdk.caching.deciding.decision import Policy
    from deepseek_sdk.caching.embedding.service import EmbeddingService
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.frames import Frame
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.learning.judge import Judge
    from deepseek_sdk.caching.learning.learner import Consequence
    from deepseek_sdk.caching.learning.recalibrating import Recalibration
    from deepseek_sdk.caching.matching.guards import Guards
    from deepseek_sdk.caching.operations import Invalidated
    from deepseek_sdk.caching.question import Question

__all__ = ["ExactOptions", "SemanticCache"]

_log = logging.getLogger("deepseek_sdk")

# The bound is on the share of all lookups, and the alarm hears of hits alone: about one lookup in four is one.
_LOOKUPS_PER_HIT, _WORST = 4.0, 0.15
# How long many vectors at once, and a model that is loaded for them, may take.
_BULK_S = 120.0
# What each of these must be able to do, and what is said of one that cannot.
_PARTS = {
    "policy": (("decide", "threshold_at"), "a policy, such as Calibrated(0.01)"),
    "eligibility": (("refusal", "accepts", "is_personal"), "an Eligibility"),
    "guards": (("against",), "Guards"),
    "judge": (("__call__",), "a ModelJudge or a function of a Pair"),
}


class ExactOptions(TypedDict, total=False):
    """The arguments of `ExactCache`."""

    ttl_s: float | None
    ttl_by_tag: Mapping[str, float] | None
    ttl_by_model: Mapping[str, float] | None
    stale_while_revalidate_s: float
    stale_if_error_s: float
    max_bytes: int
    memory_bytes: int
    max_entry_bytes: int
    max_temperature: float | None
    eviction: str
    key_filter: bool
    negative_ttl_s: float | None
    secret: str | bytes | None
    tenant_max_bytes: int | None
    tenant_writes_per_minute: int | None
    canary_share: float
    pace: float | None
    claim_s: float | None
    keep_requests: bool
    wall: Callable[[], float]
    chance: Callable[[], float]


class SemanticCache(ExactCache):
    """
    Keeps answers, and gives them to requests that are the same, or that differ in how the user's last text is worded.

        SemanticCache()                                             in the user's cache directory, with its own model
        SemanticCache("answers", max_false_hit=0.005)               surer, and seldomer
        SemanticCache(embedder=OnnxEmbedder("bge", pooling="cls"))  another model: a directory, or a name on a model hub
        SemanticCache(context="system_only")                        earlier turns do not count
        SemanticCache(judge=ModelJudge())                           near misses are judged, so that the next one hits
        SemanticCache(ttl_s=3600)                                   every argument of ExactCache

    Everything but that text has to be the same: model, instructions, earlier turns, tools, parameters, tenant. A
    similar question is answered where nothing that a guard sees stands against it, and a score, whose threshold is set
    for *max_false_hit* on labelled pairs, says that one answer does for both. `report()` tells of every decision.

    Whatever goes wrong with the embedder, calls go on without the semantic tier.

    The model that comes with it is read in the background as soon as the cache is made, if it is built: for a second
    or so that holds up all threads of the process, an event loop too, so make the cache before you serve. A process
    that is forked later, and any other model, does so at the first lookup, or in `wait_until_ready()`.

    Args:
        path: As for `ExactCache`.
        embedder: What makes vectors of texts: None for multilingual-e5-small, a directory or a name on a model hub, a
            function from texts to vectors, or an embedder such as `OnnxEmbedder` and `RemoteEmbedder`.
        max_false_hit: What share of all requests may get a wrong answer, from 0.0005 to 0.5.
        context: What of the conversation must be the same: "full"; "system_only": the instructions; "window:n": these
            and the last *n* messages before the question.
        policy: What decides in place of the calibrated score: see `deepseek_sdk.caching.deciding`.
        eligibility: Which requests may have the semantic tier, or None: see `Eligibility`.
        guards: What may never differ, or None: see `Guards`.
        judge: Judges near misses in the background: `ModelJudge()` for the client's own model, a function of a `Pair`,
            or None: nobody does.
        verify: A function of two texts that has to agree before an answer is given to another wording, or None.
        recheck_share: What share of the semantic hits is asked again in the background and compared, where there is a
            judge; 0: none.
        candidates: How many kept questions are looked at.
        embed_s: How long a call waits for the vector of its text, in seconds.
        load_s: How long it waits, in seconds, for the model that comes with it to be loaded, if that is built, and if
            there is something to compare with; for any other it waits *embed_s*.
        max_vectors: How many vectors are in memory at most.
        **exact: The arguments of `ExactCache`.

    Raises:
        ConfigurationError: One of them cannot be used.
        MissingExtraError: The extra `cache` is not installed.
    """

    similar: Similar
    lessons: Lessons
    service: EmbeddingService

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        embedder: Any = None,
        max_false_hit: float = 0.01,
        context: str = "full",
        policy: Policy | None = None,
        eligibility: Eligibility | None = None,
        guards: Guards | None = None,
        judge: ModelJudge | Judge | None = None,
        verify: Callable[[str, str], Any] | None = None,
        recheck_share: float = 0.01,
        candidates: int = 8,
        embed_s: float = 0.05,
        load_s: float = 10.0,
        max_vectors: int = 400_000,
        **exact: Unpack[ExactOptions],
    ) -> None:
        super().__init__(path, **exact)
        check_context(context)
        _check_parts(policy=policy, eligibility=eligibility, guards=guards, judge=judge)
        check_share("recheck_share", recheck_share, may_be_zero=True)
        check_count("candidates", candidates, least=1)
        check_count("max_vectors", max_vectors, least=1)
        for name, value in (("embed_s", embed_s), ("load_s", load_s)):
            check_number(name, value)
        self.context = context
        self.eligibility = Eligibility() if eligibility is None else eligibility
        self._max_vectors = max_vectors
        self.service = service_of(embedder_of(embedder))
        self.learnt = Learnt(disk=self.store.disk, now_ms=self.now_ms)
        self.neighbours = Neighbours(
            self.service,
            self._partitions,
            self.store.disk,
            secret=self.store.secret,
            is_eligible=self.eligibility.accepts,
        )
        self.neighbours.follow(self.store)
        self.policy = Calibrated(max_false_hit, guards=guards) if policy is None else policy
        calibrating.adopt_kept(self.path, self.policy)
        drift = Drift(target=min(max_false_hit * _LOOKUPS_PER_HIT, _WORST))
        learner = Learner(self.learnt, threshold_at=self._threshold_at, now_ms=self.now_ms, drift=drift)
        self.learner = learner
        self.similar = Similar(
            service=self.service,
            neighbours=self.neighbours,
            judgement=Judgement(self.policy, self.learnt, learner, lambda: self.service.fingerprint),
            store=self.store,
            patience=Patience(embed_s, load_s),
            most=candidates,
            verifier=None if verify is None else Verifier(verify),
            note=self._note,
        )
        self.lessons = Lessons(
            learner,
            self.learnt,
            self.neighbours,
            self.store,
            judge=judge,
            recheck_share=recheck_share,
            chance=exact.get("chance", random.random),
            discard=self._discard,
            recalibrate=self._recalibrate,
            now_ms=self.now_ms,
        )
        self._recalibrator = Recalibrator(
            self.learnt, max_false_hit=max_false_hit, now_ms=self.now_ms, told=self._recalibrated
        )
        if is_patient(self.service.embedder):
            # To read its tokenizer stops all threads for a second: rather now than under a call.
            self.service.begin()

    def __repr__(self) -> str:
        return f"Semantic{super().__repr__().removeprefix('Exact')}"

    def similarly(self, call: Call, tenant: str) -> Wording:
        """
        Look at a call as the semantic tier does.

        Args:
            call: It.
            tenant: Whose it is.

        Returns:
            Its text, and what it may be compared with.
        """
        user, tenant_of_place = call.options.user, tenant
        refusal, is_own = self._judged(call.body, user)
        if is_own:
            # Answers to such questions are for this user alone.
            refusal, tenant_of_place = None if refusal == "personal" else refusal, f"{tenant}\n{user}"
        place = partition_key(call.path, call.body, tenant=tenant_of_place, context=self.context, params=query_of(call))
        return Wording(last_text(call.body), tenant, place, refusal)

    def _judged(self, body: Mapping[str, Any], user: object) -> tuple[str | None, bool]:
        """Say why the tier has nothing to do with a request, or None, and whether the answer may be this user's own."""
        # Both are in the request, and so in what has to be the same.
        has_user_scope = bool(body.get("user") or body.get("user_id"))
        try:
            with contained():
                refusal = self.eligibility.refusal(body, has_user_scope=has_user_scope)
                is_own = isinstance(user, str) and (refusal == "personal" or self.eligibility.is_personal(body))
                return refusal, is_own
        except Exception:  # noqa: BLE001  rules of the caller's: the call goes on without the tier
            _log.warning("Similar questions cannot be compared: the rules of eligibility raised", exc_info=True)
            return "failed", False

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """
        Load the embedder, and wait until it can be used; the first call would load it by itself.

        Args:
            timeout_s: How long to wait, in seconds; None: for as long as it takes.

        Returns:
            Whether it can be used; False also where it takes longer. The log says what is wrong with it.

        Raises:
            ConfigurationError: *timeout_s* is no number of seconds.
        """
        if timeout_s is not None:
            check_seconds("timeout_s", timeout_s)
        self.service.begin()
        try:
            return self.service.ready.result(timeout_s)
        except TimeoutError:
            return False

    def feedback(self, said_of: Any, *, good: bool) -> Consequence:
        """
        Say whether an answer was right.

        A wrong one of a similar question is not given to that question again, and the kept answer has to be surer from
        then on; after two wrong ones it is given to its own question alone. One that is wrong for its own question is
        removed. What was said is kept beside the answers, for all processes.

        Args:
            said_of: The answer, a stream, a raw response, or a report of one.
            good: It was right.

        Returns:
            What follows.

        Raises:
            ConfigurationError: The cache had no part in it, it is no answer, or the disk cannot be used.
        """
        return teaching.feedback(self, said_of, good=good)

    def veto(self, one: str, other: str, *, tenant: str | None = None) -> bool:
        """
        Never give two questions each other's answers, whatever else is between them.

        Args:
            one: The text of a question.
            other: Another.
            tenant: Whose questions, as `ls()` shows it; None: everybody's.

        Returns:
            Whether that is new.

        Raises:
            ConfigurationError: One is no text.
        """
        return teaching.veto(self, one, other, tenant=tenant)

    def calibrate(self, pairs: Iterable[Any], max_false_hit: float = 0.01) -> Calibration:
        """
        Set the thresholds by labelled pairs of questions, such as come to this cache; they are kept beside it.

        The threshold is that of conformal risk control: for traffic like the pairs, the share of all lookups that get
        a wrong answer stays below the bound on average. Pairs that are near and not the same are what it is about; it
        takes at least 1 / *max_false_hit* pairs, and some hundreds to be worth it.

        Args:
            pairs: Each of two texts, and whether one answer does for both: True or False, 1 or 0.
            max_false_hit: The bound that there must be a threshold for; the cache goes on with its own.

        Returns:
            What came of it.

        Raises:
            ConfigurationError: The pairs are too few, one is none, or the policy, the embedder or the disk cannot be
                used.
        """
        return calibrating.calibrate(self, pairs, max_false_hit)

    def close(self) -> None:
        """Write down what waits, and let go of files and memory; a client that is still used opens them again."""
        super().close()
        if self.store.disk is not None:
            self.neighbours.clear()

    def flush(self) -> Invalidated:
        """
        Empty the cache, as `ExactCache.flush()` does; what was said of questions, such as a veto, is still known.

        Returns:
            How many answers were removed.

        Raises:
            ConfigurationError: The disk cannot be used.
        """
        gone = super().flush()
        self.neighbours.clear()
        return gone

    def _partitions(self) -> Partitions:
        dimensions, fingerprint = self.service.dimensions, self.service.fingerprint
        if dimensions is None or fingerprint is None:
            raise RuntimeError("the embedder is not ready")
        return Partitions(dimensions, fingerprint, secret=self.store.secret, max_rows=self._max_vectors)

    def beside(
        self, entry: Entry, question: Question | None, frame: Frame | None = None
    ) -> Callable[[Lane], object] | None:
        """Give what writes the vector of a question in the transaction of its answer, and what is kept of the rest."""
        rest = super().beside(entry, question, frame)
        wording = None if question is None else question.wording
        if self.store.disk is None or wording is None or wording.refusal is not None or wording.row is None:
            return rest
        wording.is_beside = True
        vector = self.neighbours.writing(wording.place, entry.key, wording.text, wording.row)
        return vector if rest is None else lambda lane: (vector(lane), rest(lane))

    def was_kept(self, entry: Entry, question: Question | None) -> None:
        """Have the vector of a question kept, where it does not stand beside the answer yet."""
        if self.learnt.observations(entry.key):
            # They were about another answer.
            self.learnt.forget((entry.key,))
        wording = None if question is None else question.wording
        if wording is None or wording.refusal is not None:
            return
        if wording.is_beside and not self.store.is_alone(entry.key):
            return
        vector = wording.vector or self.service.submit([wording.text], is_urgent=False)
        if vector is not None:
            self.neighbours.add_later(wording.place, entry.key, wording.text, vector)

    def embed(self, questions: Sequence[Question]) -> None:
        """Make the vectors of many questions."""
        wordings = [question.wording for question in questions]
        made = [one for one in wordings if one is not None and one.refusal is None]
        for one in made:
            one.vector = self.service.submit([one.text], is_urgent=False)
        futures.wait([one.vector for one in made if one.vector is not None], _BULK_S)

    def _note(self, wording: Wording) -> None:
        if wording.decision is not None:
            self.tally.decide(wording.decision)
        if wording.decided is not None and wording.candidate is not None:
            self._recalibrator.saw(is_hit=wording.decided.serve, is_near=is_near_miss(wording.decided))

    def _recalibrate(self) -> None:
        if isinstance(self.policy, Calibrated):
            self._recalibrator.run(self.policy.threshold_at(0))

    def _recalibrated(self, found: Recalibration) -> None:
        if isinstance(self.policy, Calibrated):
            self.policy.use_threshold(found.after)
            self.learner.recalibrated(found.at_ms)

    def _threshold_at(self, level: int) -> float:
        return self.policy.threshold_at(level, self.service.fingerprint)

    def _discard(self, key: str) -> None:
        operations.invalidate(self, operations.selected(key=key), dry_run=False)


def _check_parts(**parts: object) -> None:
    for name, part in parts.items():
        abilities, expected = _PARTS[name]
        is_able = all(callable(getattr(part, ability, None)) for ability in abilities)
        # A class has them as well, and can do nothing.
        is_good = isinstance(part, ModelJudge) or (is_able and not isinstance(part, type))
        if part is not None and not is_good:
            raise ConfigurationError(f"{name} must be {expected}, not {part!r}")
