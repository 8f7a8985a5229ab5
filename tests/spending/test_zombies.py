"""Processes that have ended and were not waited for yet: they spend nothing any more."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk._processes import born, is_alive

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of them in /proc")

WAITS = "print('ready', flush=True); import sys; sys.stdin.read()"
# The main thread alone ends, as by `pthread_exit()`: the number is that of the call `exit` of Linux.
WITHOUT_MAIN = """
import ctypes, platform, sys, threading
threading.Thread(target=sys.stdin.read).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


def started(code: str) -> subprocess.Popen[str]:
    """Start a program that has said that it is ready."""
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert "ready\n" == child.stdout.readline()
    return child


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """Start a child that waits, and wait for it in the end."""
    with started(WAITS) as process:
        yield process
        process.kill()


def end(child: subprocess.Popen[str], how: str) -> None:
    """End a child, and see its end without taking it away, as `wait()` would."""
    child.send_signal(signal.Signals[how])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT"])
@pytest.mark.parametrize("knows_birth", [True, False])
def test_who_has_ended_is_dead(child: subprocess.Popen[str], *, how: str, knows_birth: bool) -> None:
    """However it ended, and whether or not it is known when it began, who was not waited for is dead."""
    birth = born(child.pid)
    asked = birth if knows_birth else ""
    before = is_alive(child.pid, asked, 0.0)
    end(child, how)
    after = is_alive(child.pid, asked, 0.0)

    os.kill(child.pid, 0)
    assert (True, False) == (before, after)
    assert "" != birth
    assert "" == born(child.pid)


def test_who_stands_still_is_alive(child: subprocess.Popen[str]) -> None:
    """Who was stopped may go on."""
    birth = born(child.pid)
    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)

    assert is_alive(child.pid, birth, 0.0)
    assert birth == born(child.pid)


@pytest.mark.skipif(platform.machine() not in {"x86_64", "aarch64"}, reason="the call has another number")
def test_who_has_threads_is_alive() -> None:
    """Where the main thread has ended the others may still spend; the end of all of them is the end."""
    with started(WITHOUT_MAIN) as child:
        birth, state = born(child.pid), ""
        while state != "Z":
            with open(f"/proc/{child.pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123  read anew each time
                state = stat.read().rpartition(")")[2].split()[0]
        alive = is_alive(child.pid, birth, 0.0)
        end(child, "SIGKILL")

        assert (True, False) == (alive, is_alive(child.pid, birth, 0.0))
