"""What is remembered from one peak to the next, in the database of the cache: how much is asked, and what was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.warming.schedule import Rollout, Window, rollout_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.warming.history import Ask

__all__ = ["Remembered", "remember", "remembered", "settled"]

# diskcache's own table of settings, which it leaves alone but for names of its own.
_NAME = "deepseek_sdk_prewarm"
_READ = "SELECT value FROM Settings WHERE key = ?"
_WRITE = "INSERT INTO Settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
# More ids are not needed to know whether it pays.
_MOST_IDS = 2_000
_ID_DIGITS = 16


class Remembered(NamedTuple):
    """
    What is known of the last peak.

    Attributes:
        rollout: How much is asked beforehand.
        window: The peak that something was asked before, or None: that is settled.
        ids: Of the answers that were asked for before it.
    """

    rollout: Rollout = Rollout()
    window: Window | None = None
    ids: tuple[str, ...] = ()

    def having_asked(self, keys: Iterable[str], window: Window) -> Remembered:
        """
        Note what was asked.

        Args:
            keys: Of the answers.
            window: The peak that it was for.

        Returns:
            What is known now.
        """
        ids = dict.fromkeys([*(self.ids if self.window == window else ()), *(key[:_ID_DIGITS] for key in keys)])
        return Remembered(self.rollout, window, tuple(ids)[:_MOST_IDS])


def remembered(tier: DiskTier) -> Remembered:
    """
    Read what is remembered.

    Args:
        tier: The cache on disk, open.

    Returns:
        It; nothing where there is none, or it cannot be read.

    Raises:
        StoreError: The disk cannot be used.
    """
    row = tier.read(lambda lane: lane.execute(_READ, (_NAME,)).fetchone())
    try:
        told = json.loads(row[0])
        rollout = rollout_of(told["rollout"])
        window = None if told["window"] is None else Window(*map(float, told["window"]))
        return Remembered(rollout, window, tuple(map(str, told["ids"])))
    except (TypeError, ValueError, KeyError):
        return Remembered()


def remember(tier: DiskTier, known: Remembered) -> None:
    """
    Write down what is known.

    Args:
        tier: The cache on disk, open.
        known: It.

    Raises:
        StoreError: The disk cannot be used.
    """
    told: dict[str, Any] = known._asdict()
    text = json.dumps(told, separators=(",", ":"))
    tier.write(lambda lane: lane.insist(_WRITE, (_NAME, text)))


def settled(known: Remembered, now: float, asks: Callable[[float, float], Iterable[Ask]]) -> Remembered:
    """
    Learn from a peak, if it is over.

    Args:
        known: What is remembered.
        now: The time, in seconds since 1970.
        asks: Gives what was asked between two instants, in seconds since 1970.

    Returns:
        What is known now.
    """
    if known.window is None or now < known.window.ends:
        return known
    then = {ask.entry for ask in asks(*known.window)}
    wanted = sum(one in then for one in known.ids)
    return Remembered(known.rollout.after(asked=len(known.ids), wanted=wanted))
