"""Plan what is left out of a conversation, in an order of increasing loss."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.fitting.choosing import shares
from deepseek_sdk.tokens.fitting.cut import Cut, Drop, Text, TextCut, texts_of
from deepseek_sdk.tokens.fitting.turns import last_user, steps, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deepseek_sdk.tokens.fitting.budget import TokenBudget
    from deepseek_sdk.tokens.fitting.textcut import TextCutter

__all__ = ["SUMMARY_SHARE", "Planner"]

# What part of the limit a summary may be.
SUMMARY_SHARE = 16
# From here on a text is long: a part of the limit, but never more than so many tokens.
_LONG_SHARE, _LONG = 8, 4096
# Long texts are cut to this part of that, before anything else is touched.
_FLOOR = 4


class Planner:
    """
    Plans cuts of one conversation.

    Args:
        messages: It.
        sizes: How long each message is, in tokens.
        total: How long the whole request is.
        budget: What may be left out.
        count_text: Counts the tokens of a text.
        cutter: Cuts texts.
    """

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]],
        sizes: Sequence[int],
        *,
        total: int,
        budget: TokenBudget,
        count_text: Callable[[str], int],
        cutter: TextCutter,
    ) -> None:
        self.messages = messages
        self.sizes = sizes
        self.total = total
        self.budget = budget
        self.cutter = cutter
        self._count = count_text
        self._tokens: dict[Text, int] = {}
        self._last_user = last_user(messages)
        self._texts = [text for text in texts_of(messages) if self._may_be_cut(text)]

    def plan(self, target: int, limit: int) -> Cut:
        """
        Plan.

        Args:
            target: How long the request should be, in tokens, if that costs no more than old turns and long texts.
            limit: How long it may be.

        Returns:
            What is left out. The rest may still be too long: no more can be left out, or the sizes were not exact.
        """
        state = _State(self)
        if self.budget.policy == "history":
            state.drop_turns(target - self._room_for_summary(limit), head=0.0, keep=self.budget.keep_turns)
        else:
            for _ in range(2):
                # Not all that has to go does: blocks are left out as a whole. The second time makes up for that.
                state.cut_texts(self._long_texts(limit), target, floor=self._floor(limit))
            if state.size > target:
                target -= self._room_for_summary(limit)
            state.drop_turns(target, head=self.budget.head_share, keep=self.budget.keep_turns)
        if state.size > limit:
            state.drop_turns(limit, head=0.0, keep=1)
            state.drop_steps(limit if self.budget.policy != "history" else target)
        # What the user asks now stays whole as long as anything else can be cut.
        rest = [text for text in self._texts if text.message != self._last_user]
        state.cut_texts(rest, limit, floor=self._floor(limit))
        state.cut_texts(rest, limit, floor=0)
        state.cut_texts(self._texts, limit, floor=0)
        return state.cut()

    def tokens(self, text: Text) -> int:
        """Count a text, once."""
        if text not in self._tokens:
            self._tokens[text] = self._count(text.text)
        return self._tokens[text]

    def text_of(self, piece: range) -> str:
        """Give what is said in some messages."""
        return "\n".join(text.text for text in self._texts if text.message in piece)

    def _may_be_cut(self, text: Text) -> bool:
        return self.messages[text.message].get("role") in ("user", "assistant", "tool", "function")

    def _long_texts(self, limit: int) -> list[Text]:
        long = min(limit // _LONG_SHARE, _LONG)
        others = [text for text in self._texts if text.message != self._last_user and self.sizes[text.message] > long]
        return [text for text in others if self.tokens(text) > long]

    def _floor(self, limit: int) -> int:
        return min(limit // _LONG_SHARE, _LONG) // _FLOOR

    def _room_for_summary(self, limit: int) -> int:
        is_told = self.budget.compressor or (self.budget.policy == "history" and self.budget.summarise_with)
        return limit // SUMMARY_SHARE if is_told else 0


class _State:
    """What is left out so far."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._drops: list[range] = []
        self._cuts: dict[tuple[int, int | None], TextCut] = {}
        self._sizes = list(planner.sizes)
        self.size = planner.total

    def drop_turns(self, target: int, *, head: float, keep: int) -> None:
        """Drop turns: the first ones stay if they are part of the front, and the last *keep* ones."""
        old = [turn for turn in turns(self._planner.messages)[:-keep] if self._sizes[turn.start] >= 0]
        if head and self._planner.budget.policy in ("middle", "semantic"):
            self._drop_others(old, target)
        old = [turn for turn in old if self._sizes[turn.start] >= 0]
        self._drop_run(old, target, head)

    def drop_steps(self, target: int) -> None:
        """Drop the oldest steps of long turns, never the last of a turn."""
        for turn in turns(self._planner.messages):
            if self._sizes[turn.start] >= 0:
                self._drop_run(steps(self._planner.messages, turn)[:-1], target, 0.0)

    def _drop_others(self, pieces: list[range], target: int) -> None:
        """Drop what has least to do with the question, in the middle."""
        if self.size <= target or not pieces:
            return
        gap, sizes = self._planner.cutter.gap, [self._length(piece) for piece in pieces]
        room = sum(sizes) - (self.size - target) - gap
        chosen = self._planner.cutter.best([self._planner.text_of(piece) for piece in pieces], sizes, room)
        for is_chosen, places in groupby(range(len(pieces)), chosen.__getitem__):
            run = list(places)
            if not is_chosen:
                self._drop(range(pieces[run[0]].start, pieces[run[-1]].stop))

    def _drop_run(self, pieces: list[range], target: int, head: float) -> None:
        """Drop as many neighbours as it takes."""
        need = self.size - target + self._planner.cutter.gap
        if self.size <= target or not pieces:
            return
        sizes = [self._length(piece) for piece in pieces]
        start = _front(sizes, (sum(sizes) - need) * head)
        stop, gone = start, 0
        while gone < need and stop < len(pieces):
            gone, stop = gone + sizes[stop], stop + 1
        while gone < need and start:
            start -= 1
            gone += sizes[start]
        self._drop(range(pieces[start].start, pieces[stop - 1].stop))

    def _length(self, piece: range) -> int:
        return sum(self._sizes[index] for index in piece if self._sizes[index] >= 0)

    def _drop(self, gone: range) -> None:
        self.size += self._planner.cutter.gap - self._length(gone)
        for index in gone:
            self._sizes[index] = -1
        apart = [drop for drop in self._drops if drop.stop < gone.start or gone.stop < drop.start]
        touching = [drop for drop in self._drops if drop not in apart] + [gone]
        self._drops = [*apart, range(min(drop.start for drop in touching), max(drop.stop for drop in touching))]

    def cut_texts(self, texts: list[Text], target: int, *, floor: int) -> None:
        """Cut texts, the longest first, until the request is short enough or none is longer than *floor*."""
        if self.size <= target:
            return
        left = [text for text in texts if self._sizes[text.message] >= 0]
        lengths = [self._planner.tokens(text) for text in left]
        cuts = [self._cuts.get((text.message, text.part)) for text in left]
        spared = sum(self._saved(cut) for cut in cuts if cut is not None)
        keeps = shares(lengths, self.size - target + spared, floor=floor)
        for text, length, keep in zip(left, lengths, keeps, strict=True):
            if keep < length:
                self._cut(text, length, keep)

    def _cut(self, text: Text, length: int, keep: int) -> None:
        cut = self._planner.cutter.cut(text, length, keep)
        if cut is None or self._saved(cut) <= 0:
            return
        before = self._cuts.get((text.message, text.part))
        change = self._saved(cut) - (self._saved(before) if before is not None else 0)
        self._cuts[text.message, text.part] = cut
        self._sizes[text.message] = max(self._sizes[text.message] - change, 0)
        self.size -= change

    def _saved(self, cut: TextCut) -> int:
        return cut.tokens - self._planner.cutter.gap * len(cut.markers)

    def cut(self) -> Cut:
        """Put together what is left out."""
        drops = sorted(self._drops, key=lambda drop: drop.start)
        gone = {index for drop in drops for index in drop}
        texts = [cut for (message, _), cut in sorted(self._cuts.items(), key=_place) if message not in gone]
        return Cut(drops=tuple(map(self._described, drops)), texts=tuple(texts))

    def _described(self, drop: range) -> Drop:
        tokens = sum(self._planner.sizes[index] for index in drop)
        marker = self._planner.budget.marked(tokens)
        return Drop(start=drop.start, stop=drop.stop, tokens=tokens, marker=marker)


def _place(item: tuple[tuple[int, int | None], TextCut]) -> tuple[int, int]:
    (message, part), _ = item
    return message, -1 if part is None else part


def _front(sizes: Sequence[int], room: float) -> int:
    """Count how many pieces at the front stay."""
    for place, size in enumerate(sizes):
        room -= size
        if room < 0:
            return place
    return max(len(sizes) - 1, 0)
