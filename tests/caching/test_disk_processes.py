from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.caching.disks import ROOT, is_sound, run_child

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked"),
]

TOGETHER = """
import os, random, sys
from deepseek_sdk.caching.claims import Claims
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.selection import Selection
from tests.caching.disks import *

def work(child):
    # Keys of all children are written by all of them; the last bytes tell who wrote which version.
    tier, rng = DiskTier(sys.argv[1], max_bytes=int(sys.argv[2])), random.Random(child)
    for n in range(60):
        own, shared = key_of(1000 * (child + 1) + n), key_of(n % 10)
        tier.put(own, value_of(own), meta_of(tenant=str(child)), NOW_MS)
        tier.put(shared, value_of(shared, child), meta_of(tenant="shared"), NOW_MS)
        found = tier.get(shared, NOW_MS + n)
        assert found is None or found in {value_of(shared, c) for c in range(8)}, "mixed"
        other = key_of(1000 * rng.randrange(1, 9) + rng.randrange(60))
        assert tier.get(other, NOW_MS + n) in (None, value_of(other)), "mixed"
        if n % 20 == 19:
            tier.compact(NOW_MS)
            Claims(tier).take(shared, str(child), 1, NOW_MS + 2000 * n)
        if n == 30:
            doomed = key_of(500 + child)
            tier.put(doomed, b"x", meta_of(model="doomed"), NOW_MS)
            tier.delete_where(Selection(model="doomed"))
    tier.close(NOW_MS)

go, start = os.pipe()
children = []
for child in range(8):
    pid = os.fork()
    if pid == 0:
        os.close(start)
        os.read(go, 1)
        try:
            work(child)
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__} {getattr(error, 'reason', '')} {error}\\n")
            os._exit(1)
        os._exit(0)
    children.append(pid)
os.close(start)
codes = [os.waitpid(pid, 0)[1] for pid in children]
tier = DiskTier(sys.argv[1], max_bytes=int(sys.argv[2]))
rows = list(tier.rows())
own = {key_of(1000 * (child + 1) + n) for child in range(8) for n in range(60)}
shared = {key_of(n) for n in range(10)}
keys = {row.key for row in rows}
right = all(tier.get(key, NOW_MS) in {value_of(key, c) for c in (range(8) if key in shared else [0])} for key in keys)
print(codes == [0] * 8, len(keys) == len(rows), keys <= own | shared, len(keys), right, tier.totals().bytes)
tier.close()
"""


@pytest.mark.parametrize("max_bytes", [2**30, 200_000])
def test_eight_processes_on_one_new_directory(tmp_path: Path, max_bytes: int) -> None:
    """Processes that make, fill, empty and read one directory at once lose nothing, mix nothing, and never fail."""
    *checks, count, right, size = run_child(TOGETHER, tmp_path / "cache", max_bytes).split()

    assert (["True"] * 3, "True") == (checks, right)
    assert int(size) <= max_bytes
    assert int(count) == 490 if max_bytes == 2**30 else 30 < int(count) < 100
    with contextlib.closing(sqlite3.connect(tmp_path / "cache" / "cache.db")) as database:
        assert is_sound(database)


@pytest.mark.timeout(150)
def test_two_hundred_kills(tmp_path: Path) -> None:
    """After each kill the directory opens; what was acknowledged is there, and right, or was evicted."""
    command = [sys.executable, "-W", "error", "-m", "tests.caching.disk_killing"]
    with contextlib.ExitStack() as stack:
        killers = []
        for seed in ("1", "2"):
            (tmp_path / seed).mkdir()
            whole = [*command, tmp_path / seed, "100", seed]
            killer = subprocess.Popen(whole, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            killers.append(stack.enter_context(killer))
        said = [killer.communicate(timeout=140) for killer in killers]

    assert [0, 0] == [killer.returncode for killer in killers], said
    assert all(re.match(r"100 kills, [1-9]\d\d+ records acknowledged", out) for out, _ in said)
