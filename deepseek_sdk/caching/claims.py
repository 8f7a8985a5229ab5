"""`Claims`: which process asks for an answer that others wait for, until when."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from deepseek_sdk._processes import born, is_alive

if TYPE_CHECKING:
    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.lane import Lane

__all__ = ["Claims", "new_owner"]

_TAKE = (
    "INSERT INTO claim (key, owner, until_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " owner = excluded.owner, until_ms = excluded.until_ms WHERE claim.until_ms <= ? OR claim.owner = excluded.owner"
)
_RELEASE = "DELETE FROM claim WHERE key = ? AND owner = ?"
_HOLDER = "SELECT owner FROM claim WHERE key = ? AND until_ms > ?"


def new_owner() -> str:
    """
    Make a name to claim by, which tells others whether its process is still there.

    Returns:
        A name that is nobody else's.
    """
    pid = os.getpid()
    return f"{pid}/{born(pid)}/{secrets.token_hex(8)}"


def _has_died(owner: str) -> bool:
    pid, _, rest = owner.partition("/")
    birth = rest.partition("/")[0]
    # What says nothing of its process is held for as long as it was claimed.
    return bool(birth) and pid.isdecimal() and not is_alive(int(pid), birth, 0.0)


class Claims:
    """
    Claims with a lease: whoever is killed holds nothing, and whoever hangs holds nothing for longer than he said.

    Args:
        tier: In whose database they stand.
    """

    def __init__(self, tier: DiskTier) -> None:
        self._tier = tier

    def take(self, key: str, owner: str, lease_s: float, now_ms: int) -> bool:
        """
        Claim a key, unless somebody else holds it.

        Args:
            key: What.
            owner: Who; another one in each process.
            lease_s: For how long, in seconds.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            Whether it is the owner's now.

        Raises:
            StoreError: The disk cannot be used.
        """
        values = (key, owner, now_ms + int(lease_s * 1000), now_ms)
        return self._tier.write(lambda lane: _take(lane, values) or (_bury(lane, key, now_ms) and _take(lane, values)))

    def release(self, key: str, owner: str) -> bool:
        """
        Let go of a key.

        Args:
            key: What.
            owner: Who.

        Returns:
            Whether it was the owner's.

        Raises:
            StoreError: The disk cannot be used.
        """
        return self._tier.write(lambda lane: lane.insist(_RELEASE, (key, owner)).rowcount > 0)

    def is_held(self, key: str, now_ms: int) -> bool:
        """
        Tell whether somebody holds a key.

        Args:
            key: What.
            now_ms: The time, in milliseconds since 1970.

        Returns:
            Whether somebody does.

        Raises:
            StoreError: The disk cannot be used.
        """
        owner = self._tier.read(lambda lane: _owner(lane, key, now_ms))
        return owner is not None and not _has_died(owner)


def _take(lane: Lane, values: tuple[str, str, int, int]) -> bool:
    return lane.insist(_TAKE, values).rowcount > 0


def _bury(lane: Lane, key: str, now_ms: int) -> bool:
    """Take from one who is dead what he holds."""
    owner = _owner(lane, key, now_ms)
    return owner is not None and _has_died(owner) and lane.insist(_RELEASE, (key, owner)).rowcount > 0


def _owner(lane: Lane, key: str, now_ms: int) -> str | None:
    row = lane.execute(_HOLDER, (key, now_ms)).fetchone()
    return None if row is None else str(row[0])
