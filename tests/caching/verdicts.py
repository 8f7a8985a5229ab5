"""What tests of learning share: labels and pairs, an io of each colour, and a disk in a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import AsyncIO, SyncIO
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.guarded import GuardedDisk
from deepseek_sdk.caching.learning.labels import Label, digest_of
from deepseek_sdk.caching.learning.learner import Facts
from tests.caching.disks import LARGE, NOW_MS, key_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from deepseek_sdk._io import IO

T = TypeVar("T")

COLOURS = ("sync", "async")


def run_in(colour: str, work: Callable[[IO], Awaitable[T]]) -> T:
    """Run something that awaits, in one colour."""

    async def run(io: IO) -> T:
        return await work(io)

    return finish(run(SyncIO(Background(), Watchdog()))) if colour == "sync" else anyio.run(run, AsyncIO(Background()))


def label_of(text: str = "如何退款", number: int = 1, **known: Any) -> Label:
    """Give a label: a person says that a hit was wrong, unless something else is said."""
    facts = {"at_ms": NOW_MS, "cosine": 0.9, "score": 2.0, "is_right": False, "source": "feedback"}
    return Label(**{**facts, "key": key_of(number), "text_digest": digest_of(text), **known})


def facts_of(asked: str = "退款流程是什么", **known: Any) -> Facts:
    """Give the facts of a pair: a hit, unless something else is said."""
    facts = {"tenant": "acme", "key": key_of(1), "kept": "如何退款", "own": "如何退款", "cosine": 0.95, "score": 2.0}
    return Facts(**{**facts, "asked": asked, "was_served": True, **known})


def disk_in(directory: Path, counted: Callable[[str], object] = print) -> GuardedDisk:
    """Open a cache's disk, as a process has it."""
    return GuardedDisk(lambda due: DiskTier(directory, max_bytes=LARGE, when_due=due), counted, lambda: NOW_MS)


class WallClock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        """Tell the time, in milliseconds since 1970."""
        return self.ms
