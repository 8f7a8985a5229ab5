from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.claims import Claims, new_owner
from deepseek_sdk.caching.disk import DiskTier
from tests.caching.disks import LARGE, NOW_MS, key_of, run_child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = key_of(1)


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[DiskTier]:
    """Open a directory."""
    tier = DiskTier(tmp_path / "cache", max_bytes=LARGE)
    yield tier
    tier.close()


@pytest.fixture
def claims(tier: DiskTier) -> Claims:
    """Give its claims."""
    return Claims(tier)


def test_one_holds_a_key(claims: Claims) -> None:
    """A key is held by who took it first, until he lets go."""
    took = [claims.take(KEY, owner, 10, NOW_MS) for owner in ("a", "b", "a")]
    released = [claims.release(KEY, owner) for owner in ("b", "a", "a")]

    assert ([True, False, True], [False, True, False]) == (took, released)
    assert claims.take(KEY, "b", 10, NOW_MS)


def test_a_lease_ends(claims: Claims) -> None:
    """Who has held a key for as long as he said holds it no longer."""
    claims.take(KEY, "a", 10, NOW_MS)
    held = [claims.is_held(KEY, NOW_MS + later) for later in (0, 9_999, 10_000)]
    took = [claims.take(KEY, "b", 10, NOW_MS + later) for later in (9_999, 10_000)]

    assert ([True, True, False], [False, True]) == (held, took)
    assert not claims.is_held(key_of(2), NOW_MS)


def test_old_claims_are_removed(tier: DiskTier, claims: Claims) -> None:
    """Compacting removes the claims of processes that were killed."""
    claims.take(KEY, "a", 10, NOW_MS)
    claims.take(key_of(2), "a", 100, NOW_MS)
    tier.compact(NOW_MS + 10_000)

    assert [(key_of(2),)] == tier.read(lambda lane: lane.execute("SELECT key FROM claim").fetchall())


RACE = """
import os, sys
from deepseek_sdk.caching.claims import Claims, new_owner
from deepseek_sdk.caching.disk import DiskTier
from tests.caching.disks import *
children = []
for child in range(4):
    reader, writer = os.pipe()
    if os.fork() == 0:
        claims = Claims(DiskTier(sys.argv[1], max_bytes=LARGE))
        won = [n for n in range(100) if claims.take(key_of(n), str(child), 60, NOW_MS)]
        os.write(writer, " ".join(map(str, won)).encode() + b" ")
        os._exit(0)
    os.close(writer)
    children.append(reader)
won = [int(n) for reader in children for n in os.read(reader, 65536).split()]
for _ in children:
    assert os.wait()[1] == 0
print(sorted(won) == list(range(100)))
"""


@pytest.mark.slow
def test_of_several_processes_one_wins(tmp_path: Path) -> None:
    """Of processes that take the same keys at once, one gets each."""
    assert "True\n" == run_child(RACE, tmp_path / "cache")


def test_the_dead_hold_nothing(claims: Claims) -> None:
    """What a process held that has ended is anybody's; what one holds that lives, or says nothing of itself, is its."""
    dead = run_child("print(__import__('deepseek_sdk.caching.claims', fromlist=['new_owner']).new_owner())").strip()
    for number, owner in enumerate((dead, new_owner(), "somebody")):
        claims.take(key_of(number), owner, 10, NOW_MS)
    held = [claims.is_held(key_of(number), NOW_MS) for number in range(3)]
    took = [claims.take(key_of(number), "another", 10, NOW_MS) for number in range(3)]

    assert ([False, True, True], [True, False, False]) == (held, took)
