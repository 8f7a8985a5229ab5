"""What people teach a semantic cache: that an answer was wrong, and which questions are not the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk._report import CallReport, report
from deepseek_sdk.caching import operations
from deepseek_sdk.caching.learning.learner import NOTHING, Facts
from deepseek_sdk.caching.learning.memory import EVERYBODY
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.learning.learner import Consequence
    from deepseek_sdk.caching.semantic import SemanticCache

__all__ = ["feedback", "veto"]


def feedback(cache: SemanticCache, said_of: Any, *, good: bool) -> Consequence:
    """
    Take what a person says of an answer; see `SemanticCache.feedback()`.

    Args:
        cache: Which.
        said_of: A report, an answer, a stream, or what `report().cache` gives.
        good: The answer was right.

    Returns:
        What follows, and was done.

    Raises:
        ConfigurationError: It is nothing of the kind, the cache had no part in it, or the disk cannot be used.
    """
    if not isinstance(good, bool):
        raise ConfigurationError(f"good must be True or False, not {good!r}")
    outcome = _outcome(said_of)
    entry = None if outcome.entry_id is None else operations.inspect(cache, outcome.entry_id)
    if entry is None or outcome.created_ms not in (None, entry.created_ms):
        # It is gone, by itself or since somebody has said so; another answer may have its place.
        return NOTHING
    facts = _facts(outcome, entry)
    consequence = cache.learner.feedback(facts, good=good)
    place = None if outcome.decision is None else outcome.decision.place
    cache.lessons.follow(facts, place or entry.partition, consequence)
    return consequence


def veto(cache: SemanticCache, one: Any, other: Any, *, tenant: str | None) -> bool:
    """
    Never give two questions each other's answers; see `SemanticCache.veto()`.

    Args:
        cache: Which.
        one: A question.
        other: Another.
        tenant: Whose, as the cache writes it, or None: everybody's.

    Returns:
        Whether that is new.

    Raises:
        ConfigurationError: One is no text.
    """
    for name, text in (("one", one), ("other", other)):
        if not isinstance(text, str) or not text.strip():
            raise ConfigurationError(f"{name} must be the text of a question, not {text!r}")
    return cache.learnt.veto(EVERYBODY if tenant is None else tenant, one, other)


def _outcome(said_of: Any) -> CacheOutcome:
    if isinstance(said_of, CacheOutcome):
        return said_of
    try:
        found = said_of if isinstance(said_of, CallReport) else report(said_of)
    except (TypeError, ValueError, AttributeError) as error:
        message = f"feedback() needs an answer, a stream or a report of one, not {type(said_of).__name__}"
        raise ConfigurationError(message) from error
    if found.cache is None:
        raise ConfigurationError("the cache had no part in this call: there is nothing to learn")
    return found.cache


def _facts(outcome: CacheOutcome, entry: Entry) -> Facts:
    decision = outcome.decision
    is_semantic = outcome.tier == "semantic" and decision is not None
    score = None if decision is None or decision.score is None else decision.score - decision.correction
    kept = entry.text if decision is None or decision.kept is None else decision.kept
    return Facts(
        tenant=entry.tenant,
        key=entry.key,
        asked=(outcome.question or entry.text) if is_semantic else entry.text,
        kept=kept if is_semantic else entry.text,
        own=entry.text,
        cosine=(outcome.similarity or 0.0) if is_semantic else 1.0,
        score=score or 0.0,
        was_served=outcome.hit,
    )
