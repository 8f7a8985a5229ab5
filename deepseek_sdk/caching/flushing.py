"""The flush of a whole cache: what was kept before an instant counts no more, however much of it there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepseek_sdk.caching.disk import DiskTier

__all__ = ["flush", "flushed_ms"]

# diskcache's own table of settings, which it leaves alone but for names of its own.
_NAME = "deepseek_sdk_flushed_ms"
_READ = "SELECT value FROM Settings WHERE key = ?"
_WRITE = (
    "INSERT INTO Settings (key, value) VALUES (?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = max(CAST(value AS INTEGER), excluded.value)"
)


def flush(tier: DiskTier, now_ms: int) -> None:
    """
    Let nothing that was kept up to now be given any more, by any process.

    Args:
        tier: The cache on disk.
        now_ms: The time, in milliseconds since 1970.

    Raises:
        StoreError: The disk cannot be used.
    """
    tier.write(lambda lane: lane.insist(_WRITE, (_NAME, now_ms)))
    tier.bump()


def flushed_ms(tier: DiskTier) -> int:
    """
    Tell up to when the cache was flushed.

    Args:
        tier: The cache on disk.

    Returns:
        The instant of the last flush, in milliseconds since 1970, or 0.

    Raises:
        StoreError: The disk cannot be used.
    """
    row = tier.read(lambda lane: lane.execute(_READ, (_NAME,)).fetchone())
    return 0 if row is None else int(row[0])
