"""An embedder that knows which questions are near to each other, and clients with a semantic cache that uses it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from anyio import to_thread

from deepseek_sdk import options
from deepseek_sdk.caching import SemanticCache
from deepseek_sdk.caching.deciding.decision import NOTHING_SAID, Decision
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.matching.guards import Guards
from tests.caching.cached_calls import outcome, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from deepseek_sdk._cache import CacheDecision, CacheOutcome
    from deepseek_sdk.caching.deciding.decision import Asked, Candidate, Said
    from tests.conftest import Driver

DIMENSIONS = 128
# What is asked, the same in other words, and what is near to it and another question.
ASKED, SAME, AGAIN, LATER, NEAR = "如何退款", "退款流程是什么", "怎样申请退款", "怎么申请退钱", "退款申请的流程"
# What asks the same as the near one.
NEARER = "要退款的话流程怎么走"
# The last one is as near as if it were the same.
OPEN, OPENED, CLOSE = "怎么开启自动续费", "自动续费如何开启", "怎么关闭自动续费"
OTHER = "红烧肉怎么做"
# Each group of questions has one direction; the number says how far from it each of its members is.
_GROUPS: tuple[dict[str, float], ...] = (
    {ASKED: 0.0, SAME: 0.15, AGAIN: 0.2, NEAR: 0.5, LATER: 0.15},
    {NEAR: 0.0, NEARER: 0.1},
    {OPEN: 0.0, CLOSE: 0.1, OPENED: 0.12},
    {"我的订单到哪里了": 0.0, "我的订单到哪儿了": 0.1, "我的订单到哪了": 0.1, "订单到哪了": 0.1},
    {"今天天气怎么样": 0.0, "今天天气如何": 0.1},
)
_FURTHER = {text: (next(iter(group)), far) for group in _GROUPS for text, far in group.items() if far}
_COMMON = frozenset(
    ("a", "an", "are", "do", "does", "for", "how", "i", "is", "it", "of", "should", "the", "to", "what", "when", "why")
)


class Meanings:
    """
    Gives questions of a group vectors that are near to each other, and others those of their words.

    Args:
        fingerprint: What it calls itself; another one has other directions.
        gate: What it waits for before each batch, but those that it is examined with; None: nothing.
    """

    dimensions = DIMENSIONS

    def __init__(self, fingerprint: str = "meanings", gate: threading.Event | None = None) -> None:
        self.fingerprint = fingerprint
        self.gate = gate
        self.texts: list[str] = []
        self.begun = threading.Semaphore(0)
        self.made: Any = None
        self._is_examined = False

    def embed(self, texts: Sequence[str]) -> Any:
        """Make vectors; what `made` is gets raised, or they go through it."""
        if not self._is_examined:
            self._is_examined = True
            return np.stack([self._vector(text) for text in texts])
        self.texts += texts
        self.begun.release()
        if self.gate is not None:
            assert self.gate.wait(30)
        if isinstance(self.made, type):
            raise self.made("坏了")
        rows = np.stack([self._vector(text) for text in texts])
        return rows if self.made is None else self.made(rows)

    def _vector(self, text: str) -> Any:
        return vector(text, self.fingerprint)


@functools.lru_cache(4096)
def vector(text: str, seed: str = "meanings") -> Any:
    """Give the unit vector of a text."""
    like, far = _FURTHER.get(text, (text, 0.0))
    if like != text:
        return _unit(vector(like, seed) + far * _direction(text, seed))
    words = [word for word in re.findall(r"[a-z]+|[\u4e00-\u9fff]", text.lower()) if word not in _COMMON]
    return _unit(sum((_direction(word, seed) for word in words), start=_direction("", seed) * 0.1))


def _direction(word: str, seed: str) -> Any:
    number = int.from_bytes(hashlib.sha256(f"{seed} {word}".encode()).digest()[:8], "big")
    return _unit(np.random.default_rng(number).standard_normal(DIMENSIONS))


def _unit(found: Any) -> Any:
    return found / np.linalg.norm(found)


class Scored:
    """A policy whose score and probability are the cosine."""

    def __init__(self, threshold: float = 0.95) -> None:
        self.threshold = threshold

    def decide(self, asked: Asked, candidates: Sequence[Candidate], said: Said = NOTHING_SAID) -> Decision:
        """Serve what is nearer than the threshold, corrected by what was said of it."""
        best = candidates[0]
        threshold, correction = self.threshold_at(said.level, asked.fingerprint), said.correction(best.key).shift
        known: dict[str, Any] = {
            "candidate": best,
            "score": best.cosine + correction,
            "p": best.cosine,
            "threshold": threshold,
        }
        serve = best.cosine > threshold
        return Decision(serve=serve, reason="served" if serve else "below", correction=correction, **known)

    def threshold_at(self, level: int, fingerprint: str | None = None) -> float:  # noqa: ARG002  the same for all
        """Tell the threshold."""
        return self.threshold + 0.01 * level


def semantic(path: Path | None = None, **options: Any) -> SemanticCache:
    """Make a cache that waits for its embedder however busy the machine is; without a path it is in memory alone."""
    given = {"embedder": Meanings(), "policy": Static(0.95, guards=Guards()), "embed_s": 20.0, **options}
    return SemanticCache(max_bytes=0, **given) if path is None else SemanticCache(path, **given)


def ask(driver: Driver, client: Any, text: str = ASKED, cache: str | None = None, **fields: Any) -> CacheOutcome:
    """Make a call to its end; tell what became of it in the cache."""
    with contextlib.nullcontext() if cache is None else options(cache=cache):
        answer = driver.create(client, text, **fields)
        if fields.get("stream"):
            driver.stream_text(answer)
    return outcome(answer)


def decided(driver: Driver, client: Any, text: str = SAME, **fields: Any) -> CacheDecision:
    """Make a call; tell how the semantic tier decided."""
    found = ask(driver, client, text, **fields).decision
    assert found is not None
    return found


def eventually(driver: Driver, holds: Callable[[], bool]) -> bool:
    """Look until something in the background has happened; in the async colour, while its loop runs."""
    found = driver.call(partial(to_thread.run_sync, until, holds) if driver.is_async else partial(until, holds))
    return bool(found)


def finished(driver: Driver, client: Any) -> bool:
    """Wait until nothing goes on in the background of a client."""
    background = client._heritage.family._background.made()
    return background is None or eventually(driver, lambda: not background._running)


def settled(cache: SemanticCache) -> None:
    """Wait until the vectors that the cache makes in the background are made, and what it writes is written."""
    made = cache.service.submit(["settled"], is_urgent=False)
    if made is not None:
        made.result(20)
    disk = cache.store.disk
    done = None if disk is None else disk.write_soon(lambda _: None)
    if done is not None:
        done.result(20)
