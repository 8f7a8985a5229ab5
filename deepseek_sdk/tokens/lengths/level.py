"""`Level`: what is known of the answers that have a key, or the beginning of one, in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk._truncation import tell_truncation
from deepseek_sdk.tokens.lengths.ordered import coded
from deepseek_sdk.tokens.lengths.quantities import LengthEstimate
from deepseek_sdk.tokens.lengths.window import LENGTHS, Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk._truncation import Truncation
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.tokens.lengths.quantities import Source

__all__ = ["Answer", "Level"]

# Quantiles of a full window are found anew when so many of its answers are new. The next answer is as likely to be
# within those of a while ago: what counts is that it was not among them.
_STALE = 25


class Answer(NamedTuple):
    """
    The length of one answer, in tokens.

    Attributes:
        reasoning: Tokens of reasoning.
        content: All others.
        cut: What of it was cut by a limit, or None.
    """

    reasoning: int
    content: int
    cut: Truncation | None = None

    def codes(self) -> tuple[int, int, int]:
        """
        Write it as windows keep it.

        Returns:
            The codes of its reasoning, its content, and both together.
        """
        reasoning, content, cut = self
        is_cut = cut is not None
        return (
            coded(reasoning, is_cut=cut == "reasoning"),
            coded(content, is_cut=is_cut),
            coded(reasoning + content, is_cut=is_cut),
        )

    @classmethod
    def of(cls, usage: Usage, finish_reason: str | None) -> Answer:
        """
        Measure an answer.

        Args:
            usage: What the server said.
            finish_reason: How it ended.

        Returns:
            Its length.
        """
        reasoning = max(min(usage.reasoning, usage.output), 0)
        content = max(usage.output - reasoning, 0)
        return cls(reasoning, content, tell_truncation(finish_reason, usage, has_answer=content > 0))


class Level:
    """
    The last answers: windows of their reasoning, their content, and both together.

    An answer that was cut is at least as long as it is; where only the content was, its reasoning is as long as it is.

    Args:
        source: What estimates say of where they are from.
    """

    __slots__ = (
        "_content",
        "_reasoning",
        "_seen",
        "_source",
        "_timed",
        "_told",
        "_told_at",
        "_total",
        "first_tokens",
        "speeds",
    )

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reasoning, self._content, self._total = Window(), Window(), Window()
        self._seen = self._timed = self._told_at = 0
        self._told: LengthEstimate | None = None
        # Milliseconds to the first token, microseconds for each further one; made where somebody measures.
        self.first_tokens: Window | None = None
        self.speeds: Window | None = None

    def __len__(self) -> int:
        return len(self._total)

    def takes_turn(self) -> bool:
        """
        Decide whether to take the next answer, which a narrower level takes in any case.

        Returns:
            True, but of a full window every fourth answer: more would cost more than they tell.
        """
        self._seen += 1
        return len(self._total) < LENGTHS or self._seen % 4 == 0

    def times_turn(self) -> bool:
        """
        Decide whether to take the next times.

        Returns:
            True, but of a full window every fourth answer: times change little from one answer to the next.
        """
        self._timed += 1
        return self.speeds is None or len(self.speeds) < LENGTHS or self._timed % 4 == 0

    def add(self, codes: tuple[int, int, int]) -> None:
        """
        Take the next answer.

        Args:
            codes: It, as `Answer.codes()` writes it.
        """
        self._reasoning.add(codes[0])
        self._content.add(codes[1])
        self._total.add(codes[2])
        self._told_at += 1
        if self._told_at >= _STALE or len(self) < LENGTHS:
            self._told = None

    def add_times(self, first_tokens_ms: Iterable[int], per_token_us: Iterable[int]) -> None:
        """
        Take the times of answers.

        Args:
            first_tokens_ms: Until their first tokens, in milliseconds.
            per_token_us: For each further token, in microseconds.
        """
        for first_token in first_tokens_ms:
            self.first_tokens = self.first_tokens or Window()
            self.first_tokens.add(coded(first_token))
        for speed in per_token_us:
            self.speeds = self.speeds or Window()
            self.speeds.add(coded(speed))

    def times(self) -> tuple[list[int], list[int]]:
        """
        List the times that are remembered.

        Returns:
            Milliseconds to first tokens, and microseconds for each further one, the oldest first.
        """
        kept = (self.first_tokens, self.speeds)
        first_tokens, speeds = ([] if window is None else [ms for ms, _ in window.values()] for window in kept)
        return first_tokens, speeds

    def estimate(self) -> LengthEstimate:
        """
        Estimate the next answer.

        Returns:
            The estimate, of some answers ago where little has changed.
        """
        if self._told is None:
            self._told_at = 0
            self._told = LengthEstimate(
                reasoning=self._reasoning.quantiles(),
                content=self._content.quantiles(),
                total=self._total.quantiles(),
                samples=len(self),
                source=self._source,
                cut=self._total.cut,
            )
        return self._told

    def answers(self) -> list[Answer]:
        """
        List what is remembered.

        Returns:
            The answers, the oldest first.
        """
        pairs = zip(self._reasoning.values(), self._content.values(), strict=True)
        return [Answer(r, c, _cut(is_reasoning=r_cut, is_any=c_cut)) for (r, r_cut), (c, c_cut) in pairs]


def _cut(*, is_reasoning: bool, is_any: bool) -> Truncation | None:
    if is_reasoning:
        return "reasoning"
    return "answer" if is_any else None
