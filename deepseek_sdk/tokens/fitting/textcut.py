"""Cut one text by a policy."""

from __future__ import annotations

import logging
import re
from itertools import groupby
from typing import TYPE_CHECKING

from deepseek_sdk.tokens.fitting.bm25 import scores
from deepseek_sdk.tokens.fitting.choosing import by_score, ends, fused
from deepseek_sdk.tokens.fitting.cut import TextCut
from deepseek_sdk.tokens.fitting.layout import Layout, lay_out
from deepseek_sdk.tokens.fitting.topics import cosine, topic_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.tokens.fitting.budget import TokenBudget
    from deepseek_sdk.tokens.fitting.cut import Text

__all__ = ["TextCutter", "question_in", "rated"]

_log = logging.getLogger("deepseek_sdk")

# A part of what is kept, in characters, that one block may be; and the limits of that.
_BLOCKS, _SHORTEST_BLOCK = 16, 24
_LONGEST_BLOCK = {"head_tail": 2000, "middle": 600, "semantic": 300}
# More blocks than that are too many to compare with their neighbours.
_MOST_BLOCKS = 4000
_PINNED = 0.25
# What a gap costs besides its marker: the blank lines around it.
GAP = 4
_COMPRESSED_SHARE = 10
_LONGEST_QUESTION = 600


def question_in(text: str) -> str:
    """
    Find what is asked in a message that holds a document, too.

    Args:
        text: The message.

    Returns:
        The last paragraph, and the first one if it is short: one of them is the question, as a rule.
    """
    paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    if not paragraphs:
        return ""
    first = [paragraphs[0]] if len(paragraphs) > 1 and len(paragraphs[0]) <= _LONGEST_QUESTION else []
    return "\n".join([*first, paragraphs[-1][-_LONGEST_QUESTION:]])


class TextCutter:
    """
    Cuts texts by the policy of a budget.

    Args:
        budget: It.
        count_text: Counts the tokens of a text.
        question: What the answer will be about.
    """

    def __init__(self, budget: TokenBudget, count_text: Callable[[str], int], question: str) -> None:
        self.notes: list[str] = []
        self._budget = budget
        self._count = count_text
        self._question = question
        self._marker_tokens = count_text(budget.marked(1_000_000)) + GAP

    @property
    def gap(self) -> int:
        """What a gap costs, in tokens."""
        return self._marker_tokens

    def cut(self, text: Text, tokens: int, keep: int) -> TextCut | None:
        """
        Cut a text.

        Args:
            text: It.
            tokens: How long it is.
            keep: How much of it there is room for, markers included.

        Returns:
            The cut, or None where nothing can be left out.
        """
        # head + tail is the most that is kept of a text that has to be cut.
        keep = min(keep, self._budget.head + self._budget.tail) - self.gap
        room_for_compressed = max(keep, 0) // _COMPRESSED_SHARE if self._budget.compressor else 0
        keep -= room_for_compressed
        layout = self._laid_out(text.text, tokens, keep)
        outside, sizes = self._sizes(layout, tokens)
        layout, sizes, chosen = self._chosen(layout, sizes, keep - outside)
        if all(chosen):
            return None
        left = round(sum(size for size, is_chosen in zip(sizes, chosen, strict=True) if not is_chosen))
        markers = self._markers(layout, sizes, chosen, room_for_compressed / max(left, 1))
        return TextCut(
            message=text.message,
            part=text.part,
            form=layout.form,
            kept=layout.kept(chosen),
            markers=tuple(markers),
            tokens=left,
        )

    def is_about(self, texts: Sequence[str]) -> int:
        """
        Find what the question has most to do with.

        Args:
            texts: Some texts.

        Returns:
            The number of the text, or -1 where none shares a word with it.
        """
        rating = scores(self._question, texts)
        best = max(range(len(rating)), key=rating.__getitem__, default=-1)
        return best if best >= 0 and rating[best] else -1

    def _sizes(self, layout: Layout, tokens: int) -> tuple[int, list[float]]:
        """Count what stands around the blocks, and the blocks: with what is between them, they are the whole text."""
        if not layout.blocks:
            return tokens, []
        ends = (layout.text[: layout.blocks[0][0]], layout.text[layout.blocks[-1][1] :])
        outside = sum(self._count(end) for end in ends if end)
        sizes = [self._count(layout.text[start:end]) for start, end in layout.blocks]
        scale = (tokens - outside) / max(sum(sizes), 1)
        return outside, [size * scale for size in sizes]

    def is_about_what_is_left_out(self, text: str, cut: TextCut) -> bool:
        """
        Tell whether a new question is about something that an old cut has left out.

        Args:
            text: The text that was cut.
            cut: How.

        Returns:
            True where no block has more to do with the question than one that was left out.
        """
        kept = sum(end - start for start, end in cut.kept)
        spans = lay_out(text, max(_SHORTEST_BLOCK, min(_LONGEST_BLOCK["middle"], kept // _BLOCKS))).blocks
        best = self.is_about([text[start:end] for start, end in spans])
        if best < 0:
            return False
        start, end = spans[best]
        # Blocks need not be those of the old cut.
        return sum(max(min(end, b) - max(start, a), 0) for a, b in cut.kept) * 2 < end - start

    def _laid_out(self, text: str, tokens: int, keep: int) -> Layout:
        characters = len(text) * max(keep, 1) // max(tokens, 1)
        policy = self._budget.policy if self._budget.policy in _LONGEST_BLOCK else "head_tail"
        most = max(_SHORTEST_BLOCK, min(_LONGEST_BLOCK[policy], characters // _BLOCKS))
        if policy == "semantic":
            most = max(most, len(text) // _MOST_BLOCKS)
        return lay_out(text, most)

    def _chosen(self, layout: Layout, sizes: list[float], keep: int) -> tuple[Layout, list[float], list[bool]]:
        policy, head = self._budget.policy, int(keep * self._budget.head_share)
        if policy == "semantic":
            layout, sizes = self._by_topic(layout, sizes, keep)
        if keep <= 0 or policy not in ("middle", "semantic"):
            return layout, sizes, ends(sizes, min(head, self._budget.head), keep - head)
        texts = [layout.text[start:end] for start, end in layout.blocks]
        return layout, sizes, self.best(texts, sizes, keep)

    def best(self, texts: list[str], sizes: Sequence[float], room: float) -> list[bool]:
        """
        Choose what is kept of some texts: both ends, and what has most to do with the question.

        Args:
            texts: They, in order.
            sizes: Their lengths, in tokens.
            room: How much there is room for, in tokens.

        Returns:
            Whether each is kept.
        """
        return by_score(sizes, self._rated(texts), room, pinned=_PINNED, gap=self.gap)

    def _rated(self, texts: list[str]) -> list[float]:
        try:
            return rated(self._question, texts, self._budget)
        except Exception as error:  # noqa: BLE001  words are compared instead
            self._fall_back("embed", error)
            return scores(self._question, texts)

    def _by_topic(self, layout: Layout, sizes: list[float], keep: int) -> tuple[Layout, list[float]]:
        """Put blocks together that are about the same, none longer than what a place in the middle may take."""
        texts = [layout.text[start:end] for start, end in layout.blocks]
        try:
            starts = set(topic_starts(texts, self._budget.embed))
        except Exception as error:  # noqa: BLE001  words are compared instead
            self._fall_back("embed", error)
            starts = set(topic_starts(texts))
        spans, joined = list[tuple[int, int]](), list[float]()
        for place, (span, size) in enumerate(zip(layout.blocks, sizes, strict=True)):
            if place in starts or joined[-1] + size > keep * _PINNED:
                spans.append(span)
                joined.append(size)
            else:
                spans[-1] = (spans[-1][0], span[1])
                joined[-1] += size
        return layout._replace(blocks=spans), joined

    def _markers(self, layout: Layout, sizes: list[float], chosen: list[bool], share: float) -> list[str]:
        gaps = [list(places) for is_chosen, places in groupby(range(len(chosen)), chosen.__getitem__) if not is_chosen]
        return [self._marker(layout, places, round(sum(sizes[place] for place in places)), share) for places in gaps]

    def _marker(self, layout: Layout, places: list[int], tokens: int, share: float) -> str:
        marker = self._budget.marked(tokens)
        if self._budget.compressor is None:
            return marker
        left = layout.text[layout.blocks[places[0]][0] : layout.blocks[places[-1]][1]]
        compressed = self.compressed([left], int(tokens * share))
        return f"{marker}\n\n{compressed}" if compressed else marker

    def compressed(self, texts: Sequence[str], limit: int) -> str:
        """
        Let the compressor of the budget say in short what is left out.

        Args:
            texts: That.
            limit: How many tokens it may have.

        Returns:
            What it says, or "" where it fails or says too much.
        """
        if self._budget.compressor is None or limit < 1:
            return ""
        try:
            short = self._budget.compressor(texts, limit)
            if self._count(short) <= limit:
                return short
            self.notes.append(f"compressor: its result was longer than the {limit} tokens it might have, and not used")
        except Exception as error:  # noqa: BLE001  the marker stands alone
            self._fall_back("compressor", error)
        return ""

    def _fall_back(self, what: str, error: Exception) -> None:
        _log.warning("token_budget: %s failed (%s), going on without it", what, type(error).__name__)
        self.notes.append(f"{what} failed ({type(error).__name__}), and was done without")


def rated(question: str, texts: Sequence[str], budget: TokenBudget) -> list[float]:
    """
    Rate blocks by a question: by the words they share, and with *embed* by what they mean, too.

    Args:
        question: It.
        texts: The blocks.
        budget: Holds *embed*, or None.

    Returns:
        A number for each.
    """
    by_words = scores(question, texts)
    if budget.embed is None or not question:
        return by_words
    asked, *vectors = ({i: float(x) for i, x in enumerate(vector)} for vector in budget.embed([question, *texts]))
    return fused(by_words, [cosine(asked, vector) for vector in vectors])
