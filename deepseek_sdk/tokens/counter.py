"""`Counter`: how many tokens a request has, counted once for each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._process import PerProcess
from deepseek_sdk.tokens.bounds import IMAGE_TOKENS, MOST_IMAGE_TOKENS, fewest_tokens, most_tokens
from deepseek_sdk.tokens.memo import Memo, key_of_text
from deepseek_sdk.tokens.own_rendering import OwnRenderer
from deepseek_sdk.tokens.parts import UnrenderableError
from deepseek_sdk.tokens.rendering import choose_renderer
from deepseek_sdk.tokens.request import UNKNOWN_MODEL, Completion, read_request, variants
from deepseek_sdk.tokens.shares import share_out
from deepseek_sdk.tokens.turns import Plan, Stretch, plan_of, render_stretch
from deepseek_sdk.tokens.vocabulary import choose_vocabulary, is_sendable

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from deepseek_sdk.tokens.parts import Renderer
    from deepseek_sdk.tokens.request import Prompt
    from deepseek_sdk.tokens.vocabulary import Piece, Vocabulary

__all__ = ["Counter", "TokenCount"]

_MEMO_BYTES = 16 * 1024 * 1024
# What `known()` may remember of the latest requests: some hundreds of them.
_REMEMBERED_BYTES = 256 * 1024
_HOLE_TOKENS = 4  # the beginning, and around the hole
_FILL_IN = "fill-in-the-middle"
_UNSENDABLE = "half a character"
_NO_ENCODER = "no encoder installed"
_NO_VOCABULARY = "no vocabulary installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """
    How many tokens a prompt has.

    Attributes:
        total: All of it, as the service will bill it.
        exact: Whether every part is known; otherwise *total* is an estimate between *low* and *high*.
        by_message: The tokens of each message; images are in none of them.
        low: What it has at least; *total* where that is exact.
        high: What it has at most.
        why: What is not known, such as "image" or "response format".
    """

    total: int
    exact: bool
    by_message: tuple[int, ...] = ()
    low: int
    high: int
    why: tuple[str, ...] = ()

    @property
    def overhead(self) -> int:
        """What is in no message: the template's own tokens, tools, the response format and images."""
        return self.total - sum(self.by_message)


class _Tally(NamedTuple):
    """
    What was counted.

    Attributes:
        total: The tokens.
        shares: Those of each message.
        is_sendable: Whether it can go over the wire: half of a character, a lone surrogate, cannot.
    """

    total: int
    shares: tuple[int, ...]
    is_sendable: bool


class Counter:
    """
    Counts requests as the service does; from any thread, but not on an event loop: a long text takes seconds.

    Each text between two special tokens is counted once, and each turn of a conversation rendered once, so counting a
    conversation again after every turn costs what is new in it.

        counter.count({"model": "deepseek-flash", "messages": [...]}).total
        counter.fits(body, 1_000_000)      True, False, or None where only counting would tell
        counter.count_text("Hello")        a text alone, without any template

    Args:
        vocabulary: Counts texts; None takes the best one installed.
        renderer: Renders requests; None takes the best one installed.
        memo_bytes: How much memory what was counted may take, about.
    """

    def __init__(
        self,
        *,
        vocabulary: Vocabulary | None = None,
        renderer: Renderer | None = None,
        memo_bytes: int = _MEMO_BYTES,
    ) -> None:
        self.vocabulary = choose_vocabulary() if vocabulary is None else vocabulary
        self._renderer = renderer
        self._own = OwnRenderer()
        self._texts: PerProcess[Memo[int]] = PerProcess(lambda: Memo(memo_bytes // 2))
        self._tallies: PerProcess[Memo[_Tally]] = PerProcess(lambda: Memo(memo_bytes // 2))
        self._seen: PerProcess[Memo[bool]] = PerProcess(lambda: Memo(_REMEMBERED_BYTES))

    def load(self) -> None:
        """Read the vocabulary, which takes half a second; it is done at the first count otherwise."""
        self.vocabulary.load()

    def count(self, body: Mapping[str, Any]) -> TokenCount:
        """
        Count the prompt of a request.

        Args:
            body: The JSON body, of a chat or of a fill-in-the-middle completion.

        Returns:
            The count.
        """
        request = read_request(body)
        if isinstance(request, Completion):
            return self._count_completion(request)
        renderer, refusals = self._choose_renderer(), list[str]()
        try:
            tally = self._tally(request, renderer)
        except UnrenderableError as error:
            # Not the end: an estimate helps to see what is too long, and the server says what is wrong.
            renderer = self._own
            refusals.append(f"refused: {error}")
            tally = self._tally(request, renderer)
        halves = () if tally.is_sendable else (_UNSENDABLE,)
        doubts = (*request.doubts, *refusals, *halves, *self._missing())
        if not doubts and (signature := _signature(body)) is not None:
            self._seen.get().put(signature, value=True)
        return self._judged(request, tally, doubts, renderer)

    def known(self, body: Mapping[str, Any]) -> int | None:
        """
        Give the tokens of a request that was counted before, at next to no cost and without a lock.

        Args:
            body: A JSON body.

        Returns:
            The exact total; None where it was not counted lately, or is not exact.
        """
        # Few requests are counted, and to look for their turns takes longer than this.
        signature = _signature(body)
        if signature is None or self._seen.get().peek(signature) is None:
            return None
        request, memo = read_request(body), self._tallies.get()
        if isinstance(request, Completion) or request.doubts:
            return None
        found = [memo.peek(stretch.key) for stretch in _planned(request, is_exact=True).stretches]
        return None if None in found else sum(tally.total for tally in found if tally is not None)

    def fits(self, body: Mapping[str, Any], limit: int) -> bool | None:
        """
        Tell without counting whether a request has at most *limit* tokens.

        Args:
            body: The JSON body.
            limit: Tokens.

        Returns:
            True or False where its bytes decide, or where it was counted before; None where it has to be counted.
        """
        request = read_request(body)
        if most_tokens(request) <= limit:
            return True
        if fewest_tokens(request) > limit:
            return False
        known = self.known(body)
        return None if known is None else known <= limit

    def count_text(self, text: str) -> int:
        """Count a text alone: plain characters, without any template."""
        return self._counts([text])[0]

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut a text at its tokens, but never inside a character."""
        return self.vocabulary.pieces(text)

    def _choose_renderer(self) -> Renderer:
        if self._renderer is None:
            self._renderer = choose_renderer()
        return self._renderer

    def _missing(self) -> tuple[str, ...]:
        encoder = () if self._choose_renderer().is_exact else (_NO_ENCODER,)
        return (*encoder, *self._vocabulary_doubts())

    def _vocabulary_doubts(self) -> tuple[str, ...]:
        return () if self.vocabulary.is_exact else (_NO_VOCABULARY,)

    def _count_completion(self, request: Completion) -> TokenCount:
        # The template is that of the models' own documentation; no live count of it is known.
        text = self.count_text(request.prompt) + self.count_text(request.suffix)
        is_known = self.vocabulary.is_exact
        return TokenCount(
            total=text + _HOLE_TOKENS,
            exact=False,
            low=text if is_known else fewest_tokens(request),
            high=text + _HOLE_TOKENS + 1 if is_known else most_tokens(request),
            why=(_FILL_IN, *self._vocabulary_doubts()),
        )

    def _judged(self, request: Prompt, tally: _Tally, doubts: tuple[str, ...], renderer: Renderer) -> TokenCount:
        total = tally.total + (IMAGE_TOKENS - 1) * request.images
        low, high = total, total
        if {UNKNOWN_MODEL, _UNSENDABLE, _NO_VOCABULARY} & {*doubts}:
            low, high = min(total, fewest_tokens(request)), max(total, most_tokens(request))
        elif doubts:
            # Rules of our own were never more than two tokens off in two thousand conversations.
            slack = 0 if renderer.is_exact else 8 + len(request.messages) + len(request.tools)
            totals = [tally.total, *(self._tally(variant, renderer).total for variant in variants(request))]
            low = min(totals) - slack
            high = max(totals) + slack + (MOST_IMAGE_TOKENS - 1) * request.images
        return TokenCount(total=total, exact=not doubts, by_message=tally.shares, low=low, high=high, why=doubts)

    def _tally(self, request: Prompt, renderer: Renderer) -> _Tally:
        memo, tallies, plan = self._tallies.get(), list[_Tally](), _planned(request, is_exact=renderer.is_exact)
        for stretch in plan.stretches:
            tally = memo.get(stretch.key)
            if tally is None:
                tally = self._tally_stretch(plan, stretch, renderer)
                memo.put(stretch.key, tally)
            tallies.append(tally)
        shares = tuple(share for tally in tallies for share in tally.shares)
        return _Tally(sum(tally.total for tally in tallies), shares, all(tally.is_sendable for tally in tallies))

    def _tally_stretch(self, plan: Plan, stretch: Stretch, renderer: Renderer) -> _Tally:
        parts = render_stretch(plan, stretch, renderer)
        counted = iter(self._counts([part.text for part in parts if part.tokens is None]))
        sizes = [next(counted) if part.tokens is None else part.tokens for part in parts]
        messages = plan.prompt.messages[stretch.first : stretch.end]
        shares = share_out(parts, sizes, messages, plan.prompt.version, self.count_text)
        return _Tally(sum(sizes), tuple(shares), all(is_sendable(part.text) for part in parts))

    def _counts(self, texts: list[str]) -> list[int]:
        memo = self._texts.get()
        keys = [key_of_text(text) for text in texts]
        found = {key: memo.get(key) for key in keys}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if found[key] is None}
        for key, tokens in zip(missing, self.vocabulary.counts(list(missing.values())), strict=True):
            memo.put(key, tokens)
            found[key] = tokens
        return [found[key] or 0 for key in keys]


def _planned(request: Prompt, *, is_exact: bool) -> Plan:
    try:
        return plan_of(request, is_exact=is_exact)
    except RecursionError:
        # JSON goes deeper than functions of Python do: what is nested as deep is known by how it is written.
        key = ("deep", is_exact, key_of_text(repr(request)))
        return Plan(request, [Stretch(key, "whole", 0, len(request.messages))])


def _signature(body: Mapping[str, Any]) -> Hashable:
    """Give what tells most requests apart at no cost."""
    messages, model = body.get("messages"), body.get("model")
    if (
        not isinstance(model, str)
        or not isinstance(messages, list)
        or not messages
        or not isinstance(messages[-1], dict)
    ):
        return None
    content = messages[-1].get("content")
    return model, len(messages), len(content) if isinstance(content, str) else -1
