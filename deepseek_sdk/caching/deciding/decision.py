"""What is decided about, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.caching.deciding.correction import Correction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["NOTHING_SAID", "Asked", "Candidate", "Decision", "Observed", "Policy", "Said"]


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The question that a caller asks now.

    Args:
        text: What it says.
        vector: Its unit vector, float32; None where nobody has one.
        fingerprint: Of the embedder that made the vector.
    """

    text: Text
    vector: Any = None
    fingerprint: str | None = None


class Candidate(Protocol):
    """A question that an entry answers."""

    @property
    def key(self) -> str:
        """The entry."""
        ...

    @property
    def text(self) -> str:
        """The question: the entry's own, or another that it answers as well."""
        ...

    @property
    def cosine(self) -> float:
        """Its cosine similarity to what is asked."""
        ...

    @property
    def vector(self) -> Any:
        """Its unit vector, float32 or float16; None where nobody has it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """
    What was decided, and why: everything that a report tells of it.

    Args:
        serve: The candidate's answer is served.
        reason: Why, in a few words.
        candidate: The best; None where there was none.
        score: Its logit, with the entry's correction; None where it was not scored.
        p: The probability that its answer is right; None likewise.
        threshold: What the score must be above; None where no score was asked for.
        margin: How much nearer it is than the best candidate of another entry; None where there is none.
        guard: What forbade it; None where nothing did.
        correction: The entry's own share of the score.
        is_explored: The model is asked to learn whether the candidate's answer is right, so a judge is to say it.
    """

    serve: bool
    reason: str
    candidate: Candidate | None = None
    score: float | None = None
    p: float | None = None
    threshold: float | None = None
    margin: float | None = None
    guard: str | None = None
    correction: float = 0.0
    is_explored: bool = False

    @classmethod
    def miss(cls, reason: str, **known: Any) -> Decision:
        """
        Decide against serving.

        Args:
            reason: Why, in a few words.
            known: Other fields.

        Returns:
            The decision.
        """
        return cls(serve=False, reason=reason, **known)

    @property
    def cosine(self) -> float | None:
        """The cosine similarity of the best candidate."""
        return None if self.candidate is None else self.candidate.cosine


class Observed(Protocol):
    """A question that came near an entry."""

    @property
    def cosine(self) -> float:
        """How near."""
        ...

    @property
    def is_right(self) -> bool:
        """Whether the entry's answer would have been right for it."""
        ...


class Said(Protocol):
    """What people and judges have said of answers."""

    @property
    def level(self) -> int:
        """The steps that the threshold is raised by, since hits were wrong too often."""
        ...

    def correction(self, key: str, /) -> Correction:
        """Give what the labels of an entry add to its score."""
        ...

    def observations(self, key: str, /) -> Sequence[Observed]:
        """Give the cosines of questions that came near an entry, and whether its answer was right for them."""
        ...


class _Nothing:
    level = 0

    def correction(self, _: str, /) -> Correction:
        return Correction()

    def observations(self, _: str, /) -> Sequence[Observed]:
        return ()


NOTHING_SAID: Said = _Nothing()


class Policy(Protocol):
    """Decides whether one of the candidates answers the question."""

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID, /) -> Decision:
        """
        Decide.

        Args:
            asked: The question.
            candidates: The nearest first.
            said: What was said of answers before.

        Returns:
            What was decided.
        """
        ...

    def threshold_at(self, level: int, fingerprint: str | None = None, /) -> float:
        """Tell what a score has to exceed while the threshold is raised by that many steps."""
        ...
