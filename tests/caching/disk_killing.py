"""
Kills a process that writes, evicts and compacts, again and again, and looks at what is left.

Run: python -m tests.caching.disk_killing DIRECTORY TIMES SEED

The processes are forked from this one, which never opens the directory itself. What a child has done it says through a
pipe: what was said is what was acknowledged.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deepseek_sdk.caching.claims import Claims
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.partitions import Partitions
from deepseek_sdk.caching.selection import Selection
from tests.caching.disks import NOW_MS, is_sound, key_of, meta_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# How long a child lives at most, in seconds, mostly from when it has opened the directory. Rounds share a directory,
# so that it fills up.
LONGEST_S = 0.06
ROUNDS = 20
DIMENSIONS = 16
SMALL, LARGE = 60_000, 2**30


def vector_of(number: int) -> NDArray[np.float64]:
    """Give a vector that belongs to a number."""
    return np.random.default_rng(number).uniform(-0.25, 0.25, DIMENSIONS)


def work(directory: Path, first: int, max_bytes: int, say: Callable[..., object]) -> None:
    """Write records with numbers from *first* on, and do all else that a cache does, until killed."""
    tier = DiskTier(directory, max_bytes=max_bytes)
    partitions = Partitions(DIMENSIONS, "e5")
    tier.open()
    say("open", first)
    rng = random.Random(first)  # noqa: S311  reproducible
    for number in range(first, first + 100_000):
        key = key_of(number)
        say("begin", number)
        value, beside = (
            value_of(key, 0, rng.randrange(100, 6_000)),
            partitions.writing("p", key, key, vector_of(number)),
        )
        say("put", number, tier.put(key, value, meta_of(), NOW_MS, beside))
        tier.get(key_of(rng.randrange(first, number + 1)), NOW_MS + number)
        if number % 5 == 4:
            say("begin", number)
            say("again", number, tier.put(key, value_of(key, 1, 50), meta_of(), NOW_MS))
        if number % 7 == 6:
            say("delete", number - 3)
            say("deleted", number - 3, int(tier.delete(key_of(number - 3))))
        if number % 11 == 10:
            Claims(tier).take(key, "me", 1, NOW_MS)
            tier.write_hits(NOW_MS)
            tier.bump()
        if number % 29 == 28:
            tier.compact(NOW_MS)


def forked(run: Callable[[Callable[..., object]], None]) -> tuple[int, int]:
    """Run something in a child; give its number, and what to read its words from."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)
    try:
        run(lambda *words: os.write(writer, json.dumps(words).encode() + b"\n"))
    except BaseException as error:  # noqa: BLE001  the parent says it
        os.write(writer, json.dumps(["failed", repr(error)]).encode() + b"\n")
    os._exit(0)


def read_until(reader: int, end: float) -> list[Any]:
    """Read what a child says, until it is over or *end* has come."""
    data = b""
    while (left := end - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        more = os.read(reader, 65_536)
        if not more:
            break
        data += more
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def look(directory: Path, say: Callable[..., object]) -> None:
    """Open a directory, as any process would, and say what is there."""
    started = time.monotonic()
    tier = DiskTier(directory, max_bytes=LARGE)
    tier.open()
    seconds = time.monotonic() - started
    keys = [row.key for row in tier.rows(Selection())]
    versions = {}
    for key in keys:
        value = tier.get(key, NOW_MS)
        if value is None:
            raise AssertionError(f"{key} is listed and not there")
        fitting = [v for v in (0, 1) if value == value_of(key, v, len(value))]
        if not fitting:
            raise AssertionError(f"{key} is damaged or mixed")
        versions[key] = fitting[0]
    found = {candidate.key for candidate in Partitions(DIMENSIONS, "e5").searched(tier, "p", vector_of(0), 100_000)}
    if found != set(keys):
        raise AssertionError(f"{len(found ^ set(keys))} records are not found by their vectors, or are found and gone")
    tier.close()
    with contextlib.closing(sqlite3.connect(directory / "cache.db")) as database:
        say("there", is_sound(database), versions, seconds)


class Ledger:
    """What was acknowledged in one directory."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.count = 0
        self.unsure: str | None = None
        self.is_unsure_of_delete = False

    def read(self, said: list[Any]) -> None:
        """Take note of what a child said before it was killed."""
        self.unsure = None
        for what, number, *gone in said:
            if what == "failed":
                raise AssertionError(number)
            key = key_of(number)
            self.unsure = key if what in ("begin", "delete") else None
            self.is_unsure_of_delete = what == "delete"
            if what in ("put", "again"):
                self.versions[key] = int(what == "again")
                self.count += (what == "put") - gone[0]
            elif what == "deleted":
                self.deleted.add(key)
                self.count -= gone[0]

    def check(self, found: dict[str, int], *, is_large: bool) -> None:
        """Compare with what is there; whether the last thing was done that nobody heard of, one cannot know."""
        known = self.versions
        strange = {key for key in found if (key not in known or key in self.deleted) and key != self.unsure}
        old = {key for key, version in found.items() if version < known.get(key, 0)}
        missing = {key for key in known if key not in found and key not in self.deleted}
        if self.unsure in missing and self.is_unsure_of_delete:
            missing.remove(self.unsure)
            self.deleted.add(self.unsure)
        if strange or old or (is_large and missing):
            raise AssertionError(f"strange {strange}, old {old}, missing {missing}")
        # What is not there was evicted by writes that said so, or by the last one.
        least = self.count if self.unsure is None else self.count - len(missing) - 1
        if not least <= len(found) <= self.count + (self.unsure is not None):
            raise AssertionError(f"{len(found)} entries are there, {self.count} should be")
        self.count = len(found)
        if self.unsure in found:
            known[self.unsure] = found[self.unsure]
            self.deleted.discard(self.unsure)


def main() -> None:
    """Kill, look, and say how often."""
    base, times, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))  # noqa: S311  reproducible
    acknowledged, slowest, ledger = 0, 0.0, Ledger()
    # What numpy loads when it is first used is loaded here, once: children live for moments only.
    Partitions(DIMENSIONS, "e5").writing("p", "", "", vector_of(0))
    for number in range(times):
        is_large = number // ROUNDS % 2 == 0
        directory = base / str(number // ROUNDS)
        if number % ROUNDS == 0:
            ledger = Ledger()
        limit = LARGE if is_large else SMALL
        pid, reader = forked(lambda say, d=directory, n=number, m=limit: work(d, n * 100_000, m, say))  # type: ignore[misc]
        if number % 5:
            select.select([reader], [], [], 10)
        said = read_until(reader, time.monotonic() + rng.random() * LONGEST_S)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        said += read_until(reader, time.monotonic() + 10)
        os.close(reader)
        ledger.read(said)
        acknowledged += len([words for words in said if words[0] == "put"])
        pid, reader = forked(lambda say, d=directory: look(d, say))  # type: ignore[misc]
        (what, *rest) = read_until(reader, time.monotonic() + 30)[-1]
        os.waitpid(pid, 0)
        os.close(reader)
        if what != "there" or not rest[0]:
            raise AssertionError(f"{what} {rest}")
        ledger.check(rest[1], is_large=is_large)
        slowest = max(slowest, rest[2])
    sys.stdout.write(f"{times} kills, {acknowledged} records acknowledged, slowest opening {slowest:.3f} s\n")


if __name__ == "__main__":
    main()
