"""`Fitter`: fits one request, by what is remembered of its conversation or by a new plan."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import ContextOverflowError, rejected
from deepseek_sdk.tokens.fitting.cut import Cut, applied, digest, texts_of
from deepseek_sdk.tokens.fitting.memory import budget_key, conversation_key
from deepseek_sdk.tokens.fitting.plan import SUMMARY_SHARE, Planner
from deepseek_sdk.tokens.fitting.request import Request
from deepseek_sdk.tokens.fitting.textcut import TextCutter, question_in
from deepseek_sdk.tokens.fitting.turns import last_user

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from deepseek_sdk.tokens.fitting.budget import Policy, TokenBudget
    from deepseek_sdk.tokens.fitting.counts import Counted, Counts
    from deepseek_sdk.tokens.fitting.memory import CutMemory
    from deepseek_sdk.tokens.fitting.room import Room

__all__ = ["Fit", "Fitter", "Removed"]

_log = logging.getLogger("deepseek_sdk")

# Counts of parts do not add up to the token: how often a plan is made a little smaller, and by how much at least.
_ROUNDS, _SLACK = 8, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """
    What was left out of one message.

    Attributes:
        message: The index of the message in the request as it was.
        tokens: How much.
        characters: The same in characters of its content.
        is_whole: All of the message is gone.
    """

    message: int
    tokens: int
    characters: int
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """
    A request that fits.

    Attributes:
        body: The request; the very same object where nothing had to be changed.
        messages: Its messages, likewise; of a request without any, none.
        total: How long its prompt is, in tokens.
        total_before: How long it was.
        limit: How long it may be.
        policy: By which policy it was fitted.
        removed: What was left out, message by message.
        kept_prefix_tokens: How much of the front is as it was, in tokens: what the server may have in its cache.
        is_changed: Something was left out.
        is_remembered: The same was left out of an earlier turn of this conversation.
        summary: What stands in the place of the messages that were left out, or "".
        to_summarise: The messages that a summary is still to be made of.
        notes: What went wrong on the way, a line each.
        cut: What was left out, to leave out the same again.
    """

    body: Mapping[str, Any]
    messages: Sequence[Any]
    total: int
    total_before: int
    limit: int | None
    policy: Policy
    removed: tuple[Removed, ...] = ()
    kept_prefix_tokens: int = 0
    is_changed: bool = False
    is_remembered: bool = False
    summary: str = ""
    to_summarise: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    cut: Cut = field(default_factory=Cut, repr=False)

    @property
    def removed_tokens(self) -> int:
        """How much was left out in all."""
        return sum(removed.tokens for removed in self.removed)


class Fitter:
    """
    Fits one request.

    Args:
        body: It; never changed.
        budget: How.
        counter: Counts tokens.
        room: How long it may be, or None for any length.
        memory: Where earlier cuts of the conversation are remembered, or None.
        session_id: The name of the conversation, if it has one.
    """

    def __init__(
        self,
        body: Mapping[str, Any],
        budget: TokenBudget,
        counter: Counts,
        *,
        room: Room | None,
        memory: CutMemory | None = None,
        session_id: str | None = None,
    ) -> None:
        self._request = Request(body, counter)
        self._budget = budget
        self._counter = counter
        self._room = room
        self._memory = memory
        self._session_id = session_id
        self._question = _question(self._request.messages)
        self._cutter = TextCutter(budget, counter.count_text, self._question)

    @cached_property
    def _key(self) -> Hashable:
        window = "any" if self._room is None else self._room.window
        return conversation_key(self._request.messages, self._session_id, budget_key(self._budget), window)

    def fit(self) -> Fit:
        """
        Fit it.

        Returns:
            What fits.

        Raises:
            ContextOverflowError: The policy is "error", or nothing more can be left out.
        """
        counted = self._request.count(self._request.messages)
        if self._room is None or counted.total <= self._threshold(self._room.limit):
            return self._unchanged(counted.total)
        if self._budget.policy == "error":
            raise self._overflow(counted.total)
        return self._cut(counted, self._room.limit)

    def _threshold(self, limit: int) -> int:
        return int(limit * self._budget.high_water) if self._budget.policy == "history" else limit

    def _unchanged(self, total: int) -> Fit:
        return Fit(
            body=self._request.body,
            messages=self._request.given,
            total=total,
            total_before=total,
            limit=None if self._room is None else self._room.limit,
            policy=self._budget.policy,
            kept_prefix_tokens=total,
        )

    def _cut(self, counted: Counted, limit: int) -> Fit:
        before = None if self._memory is None else self._memory.recall(self._key, self._request.messages, self._room)
        if before is not None and self._still_serves(before):
            again = self._made(before, counted, is_remembered=True)
            if again.total <= self._threshold(limit):
                return again
        goal = limit
        if before is not None or self._budget.policy == "history":
            goal = int(limit * self._budget.low_water)
        fit = self._summarised(self._planned(counted, goal, limit), before)
        if self._memory is not None:
            self._memory.keep(self._key, fit.cut, before)
        return fit

    def _still_serves(self, cut: Cut) -> bool:
        """Where parts were chosen by a question, another one may be about what was left out."""
        if self._budget.policy not in ("middle", "semantic") or cut.question == self._question:
            return True
        texts = {(text.message, text.part): text.text for text in texts_of(self._request.messages[:-1])}
        places = list(texts)
        best = self._cutter.is_about(list(texts.values()))
        if best >= 0 and places[best][0] in cut.dropped:
            return False
        cuts = [(texts[place], text) for text in cut.texts if (place := (text.message, text.part)) in texts]
        return not any(self._cutter.is_about_what_is_left_out(*pair) for pair in cuts)

    def _planned(self, counted: Counted, goal: int, limit: int) -> Fit:
        planner = Planner(
            self._request.messages,
            counted.by_message,
            total=counted.total,
            budget=self._budget,
            count_text=self._counter.count_text,
            cutter=self._cutter,
        )
        allowed = limit
        for _ in range(_ROUNDS):
            fit = self._made(self._sealed(planner.plan(min(goal, allowed), allowed)), counted)
            if fit.total <= limit:
                return fit
            allowed -= fit.total - limit + _SLACK
            if allowed < 1:
                break
        raise self._overflow(counted.total)

    def _sealed(self, cut: Cut) -> Cut:
        covered = self._request.messages[: cut.reach]
        limit = 0 if self._room is None else self._room.limit
        return replace(cut, question=self._question, limit=limit, covers=cut.reach, digest=digest(covered))

    def _made(self, cut: Cut, counted: Counted, *, is_remembered: bool = False) -> Fit:
        messages = applied(self._request.messages, cut)
        body = self._request.with_messages(messages)
        return Fit(
            body=body,
            messages=body.get("messages", ()),
            total=self._request.count(messages).total,
            total_before=counted.total,
            limit=None if self._room is None else self._room.limit,
            policy=self._budget.policy,
            removed=self._removed(cut, counted.by_message),
            kept_prefix_tokens=self._kept_prefix(cut, counted.by_message),
            is_changed=bool(cut.drops or cut.texts),
            is_remembered=is_remembered,
            summary=cut.summary,
            notes=tuple(dict.fromkeys(self._cutter.notes)),
            cut=cut,
        )

    def _removed(self, cut: Cut, sizes: Sequence[int]) -> tuple[Removed, ...]:
        lengths: dict[int, int] = {}
        for text in texts_of(self._request.messages):
            lengths[text.message] = lengths.get(text.message, 0) + len(text.text)
        gone = [
            Removed(message=index, tokens=sizes[index], characters=lengths.get(index, 0), is_whole=True)
            for index in cut.dropped
        ]
        parts = [
            Removed(message=text.message, tokens=text.tokens, characters=_characters(text.kept), is_whole=False)
            for text in cut.texts
        ]
        return tuple(sorted([*gone, *parts], key=lambda removed: removed.message))

    def _kept_prefix(self, cut: Cut, sizes: Sequence[int]) -> int:
        first = min([drop.start for drop in cut.drops] + [text.message for text in cut.texts], default=len(sizes))
        kept = sum(sizes[:first])
        text = next((text for text in cut.texts if text.message == first), None)
        if text is None:
            return kept
        original = {(item.message, item.part): item.text for item in texts_of(self._request.messages)}
        return kept + self._counter.count_text(original[text.message, text.part][: text.kept[0][1]])

    def _summarised(self, fit: Fit, before: Cut | None) -> Fit:
        """Let a summary stand in the place of what was dropped, or say what it is still to be made of."""
        if not fit.cut.drops:
            return fit
        messages = self._request.messages
        if self._budget.policy != "history":
            # Turns of the middle may come back with the next question: no earlier text is to tell of them still.
            return self._compressed(fit, _to_tell(messages, fit.cut, None))
        told = _to_tell(messages, fit.cut, before)
        if callable(self._budget.summarise_with):
            try:
                return self.with_summary(fit, self._budget.summarise_with(told))
            except Exception as error:  # noqa: BLE001  the marker stands alone
                return self.without_summary(fit, error)
        if isinstance(self._budget.summarise_with, str):
            return replace(fit, to_summarise=told)
        return self._compressed(fit, told)

    def _compressed(self, fit: Fit, told: Sequence[Mapping[str, Any]]) -> Fit:
        if self._budget.compressor is None:
            return fit
        texts = [text.text for text in texts_of(told)]
        return self.with_summary(fit, self._cutter.compressed(texts, self.room_for_summary))

    @property
    def room_for_summary(self) -> int:
        """How long a summary may be, in tokens."""
        return 0 if self._room is None else max(self._room.limit // SUMMARY_SHARE, 1)

    def with_summary(self, fit: Fit, summary: str) -> Fit:
        """
        Put a summary in the place of what was dropped, and remember it.

        Args:
            fit: Where.
            summary: It.

        Returns:
            The fit with it; without it where it is empty or too long.
        """
        summary = summary.strip()
        if not summary:
            return replace(fit, to_summarise=(), notes=tuple(dict.fromkeys([*fit.notes, *self._cutter.notes])))
        counted = self._request.count(self._request.messages)
        longer = self._made(replace(fit.cut, summary=summary), counted)
        if fit.limit is not None and longer.total > fit.limit:
            return replace(fit, to_summarise=(), notes=(*fit.notes, "the summary was too long, and not used"))
        if self._memory is not None:
            self._memory.keep(self._key, longer.cut, fit.cut)
        return longer

    def without_summary(self, fit: Fit, error: Exception) -> Fit:
        """
        Go on without a summary.

        Args:
            fit: The fit.
            error: Why there is none.

        Returns:
            The fit, with a note.
        """
        name = type(error).__name__
        _log.warning("token_budget: the summary failed (%s), going on without it", name)
        return replace(fit, to_summarise=(), notes=(*fit.notes, f"the summary failed ({name}), and was done without"))

    def _overflow(self, total: int) -> Exception:
        room = self._room
        limit, answer = (0, 0) if room is None else (room.window or room.limit, room.answer if room.window else 0)
        message = (
            f"This model's maximum context length is {limit} tokens. However, you requested {total + answer} tokens "
            f"({total} in the messages, {answer} in the completion)"
            if room is not None and room.window
            else f"The prompt has {total} tokens, and the token budget allows {limit}"
        )
        return rejected(
            ContextOverflowError,
            message,
            param="messages",
            response=stub_response(400, "http://backend.invalid/chat/completions"),
            limit=limit,
            requested=total + answer,
            in_messages=total,
            in_completion=answer or None,
        )


def _characters(kept: Sequence[tuple[int, int]]) -> int:
    return sum(after[0] - before[1] for before, after in pairwise(kept))


def _question(messages: Sequence[Mapping[str, Any]]) -> str:
    last = last_user(messages)
    return question_in("\n\n".join(text.text for text in texts_of(messages) if text.message == last))


def _to_tell(messages: Sequence[Mapping[str, Any]], cut: Cut, before: Cut | None) -> tuple[Mapping[str, Any], ...]:
    """List what a summary is made of: the one before, and what was dropped since."""
    gone = sorted(cut.dropped - (before.dropped if before is not None and before.summary else set()))
    old = [{"role": "user", "content": before.summary}] if before is not None and before.summary else []
    return (*old, *(messages[index] for index in gone))
