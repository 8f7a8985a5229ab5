"""Answers that nobody has asked for yet: questions with their answers become entries, as if a model had given them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._estimate import estimate_billed, estimate_text
from deepseek_sdk._version import __version__
from deepseek_sdk.caching.admission import finding_of, refusal
from deepseek_sdk.caching.entry import Entry
from deepseek_sdk.caching.key import last_text, partition_key
from deepseek_sdk.caching.warming.pairs import Pair, RefusedPairError
from deepseek_sdk.errors import InvalidRequestError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deepseek_sdk.caching.admission import Limits

__all__ = ["FROM_ELSEWHERE", "Asked", "Warmed", "entry_of", "warmed"]

# So many are kept at a time.
_BATCH = 100
_ROUTE = "warm"
# What is noted of an answer that no model has given.
FROM_ELSEWHERE = ("source", _ROUTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """
    What came of a warm-up.

    Attributes:
        kept: How many answers were kept.
        skipped: How many pairs were not, by the reason: "json", "shape", "empty", "encoding" and "too_large": they
            cannot be used; "duplicate": the same was there before; "conflict": the same question was there before with
            another answer; "known": the cache has that very answer; "request": no server would accept the question;
            "uncacheable": the cache would not look for an answer to it; "limit": there were too many.
    """

    kept: int
    skipped: Mapping[str, int]


class Asked(NamedTuple):
    """
    A question as the cache would see it if it were asked.

    Attributes:
        key: The SHA-256 of the request.
        path: Where it would go.
        body: Its JSON body.
        tenant: Whose it is, as the cache writes it.
        model: The model that would be asked.
        expires_ms: When the answer ends, in milliseconds since 1970; None: never.
        tags: The tags of the answer.
        partition: What the rest of the request comes to; "": that is worked out here.
    """

    key: str
    path: str
    body: Mapping[str, Any]
    tenant: str
    model: str
    expires_ms: int | None = None
    tags: tuple[tuple[str, str], ...] = ()
    partition: str = ""


def warmed(
    pairs: Iterable[Pair | tuple[int, str]],
    ask: Callable[[Pair], Asked | None],
    keep: Callable[[Sequence[Entry]], Sequence[str | None]],
    *,
    now_ms: int,
    limits: Limits,
    most: int = 100_000,
    is_known: Callable[[Entry], bool] | None = None,
    skip: Callable[[int, str], object] | None = None,
) -> Warmed:
    """
    Keep answers that nobody has asked for yet.

    Args:
        pairs: Questions with their answers, as `read_pairs()` gives them.
        ask: Makes the request that a question would be; None: the cache has nothing to do with it.
        keep: Keeps some, and says of each why it is not kept, in one word, or None.
        now_ms: The time, in milliseconds since 1970.
        limits: What is not kept.
        most: How many are kept, at most.
        is_known: Tells whether the cache has that very answer to that question.
        skip: Told the number of each pair that is skipped, and why.

    Returns:
        How many were kept.

    Raises:
        ConfigurationError: *most* cannot be used, or *ask* raised it.
    """
    check_count("most", most, least=1)
    work = _Warming(ask, keep, now_ms=now_ms, limits=limits, most=most, is_known=is_known, skip=skip)
    for pair in pairs:
        work.take(pair)
    return work.end()


class _Warming:
    """One warm-up on its way."""

    def __init__(
        self,
        ask: Callable[[Pair], Asked | None],
        keep: Callable[[Sequence[Entry]], Sequence[str | None]],
        *,
        now_ms: int,
        limits: Limits,
        most: int,
        is_known: Callable[[Entry], bool] | None,
        skip: Callable[[int, str], object] | None,
    ) -> None:
        self._ask = ask
        self._keep = keep
        self._now_ms = now_ms
        self._limits = limits
        self._most = most
        self._is_known = is_known
        self._tell = skip
        # The answer of each question so far, by its key: a hash will do.
        self._seen: dict[str, int] = {}
        self._batch: list[tuple[int, Entry]] = []
        self._skipped: Counter[str] = Counter()
        self._kept = 0

    def take(self, pair: Pair | tuple[int, str]) -> None:
        """Take the next one."""
        if not isinstance(pair, Pair):
            self._skip(*pair)
            return
        try:
            entry = self._entry(pair)
        except RefusedPairError as error:
            self._skip(pair.number, error.reason)
            return
        self._batch.append((pair.number, entry))
        if len(self._batch) >= _BATCH:
            self._write()

    def end(self) -> Warmed:
        """Keep what is left, and tell what became of it all."""
        self._write()
        return Warmed(kept=self._kept, skipped=dict(self._skipped))

    def _entry(self, pair: Pair) -> Entry:
        if self._kept + len(self._batch) >= self._most:
            raise RefusedPairError("limit")
        asked = self._asked(pair)
        answer = hash(pair.answer)
        if asked.key in self._seen:
            raise RefusedPairError("duplicate" if self._seen[asked.key] == answer else "conflict")
        entry = entry_of(pair, asked, now_ms=self._now_ms, limits=self._limits)
        self._seen[asked.key] = answer
        if self._is_known is not None and self._is_known(entry):
            raise RefusedPairError("known")
        return entry

    def _asked(self, pair: Pair) -> Asked:
        try:
            asked = self._ask(pair)
        except InvalidRequestError:
            raise RefusedPairError("request") from None
        if asked is None:
            raise RefusedPairError("uncacheable")
        return asked

    def _write(self) -> None:
        batch, self._batch = self._batch, []
        if not batch:
            return
        refused = self._keep([entry for _, entry in batch])
        for (number, _), reason in zip(batch, refused, strict=True):
            if reason is None:
                self._kept += 1
            else:
                self._skip(number, reason)

    def _skip(self, number: int, reason: str) -> None:
        self._skipped[reason] += 1
        if self._tell is not None:
            self._tell(number, reason)


def entry_of(pair: Pair, asked: Asked, *, now_ms: int, limits: Limits) -> Entry:
    """
    Make of a pair what is kept.

    Args:
        pair: A question with its answer.
        asked: The question as the cache would see it.
        now_ms: The time, in milliseconds since 1970.
        limits: What is not kept.

    Returns:
        An entry like that of a call. Its usage is estimated, and says what a model would have used.

    Raises:
        RefusedPairError: It is not kept; the reason is that of `admission.refusal()`.
    """
    usage = _usage(pair, asked)
    answer = _answer(pair, asked, usage, now_ms)
    content = _dumped(answer)
    finding = finding_of(answer, asked.body, size=len(content))
    if (reason := refusal(finding, limits)) is not None:
        raise RefusedPairError(reason)
    return Entry(
        key=asked.key,
        partition=asked.partition or partition_key(asked.path, asked.body, tenant=asked.tenant),
        tenant=asked.tenant,
        asked=asked.model,
        model=asked.model,
        route=_ROUTE,
        text=last_text(asked.body),
        answer=content,
        pieces=None,
        is_judged=True,
        finish_reason="stop",
        usage=json.dumps(usage),
        cost=None,
        created_ms=now_ms,
        expires_ms=asked.expires_ms,
        tags=asked.tags,
        provenance=(("sdk", __version__), ("path", asked.path), FROM_ELSEWHERE, ("usage", "estimated")),
    )


def _usage(pair: Pair, asked: Asked) -> dict[str, int]:
    prompt, output = estimate_billed(asked.body), estimate_text(pair.answer)
    counts = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return {**counts, "prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": prompt}


def _answer(pair: Pair, asked: Asked, usage: Mapping[str, int], now_ms: int) -> dict[str, Any]:
    head = {"id": f"warm-{asked.key[:16]}", "created": now_ms // 1000, "model": asked.model}
    end = {"index": 0, "finish_reason": "stop", "logprobs": None}
    if asked.body.get("messages") is None:
        return {**head, "object": "text_completion", "choices": [{**end, "text": pair.answer}], "usage": usage}
    message = {"role": "assistant", "content": pair.answer}
    return {**head, "object": "chat.completion", "choices": [{**end, "message": message}], "usage": usage}


def _dumped(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Half of a character has no UTF-8.
        return json.dumps(value, separators=(",", ":")).encode()
