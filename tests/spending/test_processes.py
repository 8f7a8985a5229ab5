"""Budgets of several processes on one file: real ones, which fork, end and are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.spending.desk import Shortage, Want

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="there are no signals here")]

BUDGET = SpendBudget(limit=20_000, unit="tokens")

BEGINNING = """
import os, sys, threading
from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.spending.desk import Shortage, Want

budget = SpendBudget(limit=20_000, unit="tokens")
budgets = Budgets([budget], path=sys.argv[1])

def ask(amount):
    wants = [Want(budgets.purse(budget, "", budgets.now()), amount)]
    return budgets.take(wants) or budgets.acquire(wants)

def spend(amount):
    ticket = ask(amount)
    if isinstance(ticket, Shortage):
        return ticket
    ticket.counted = lambda: [amount]
    ticket.end()
    return None
"""


def started(program: str, path: Path) -> subprocess.Popen[str]:
    """Start a program that spends."""
    code = BEGINNING + textwrap.dedent(program)
    # Later versions of Python warn of forks beside threads, which is what some of these tests are about.
    options = ["-W", "error", "-W", "ignore::DeprecationWarning"]
    return subprocess.Popen(
        [sys.executable, *options, "-c", code, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for its end, and tell what it said."""
    out, err = process.communicate(timeout=50)

    assert (code, "") == (process.returncode, err)
    return out


def state(path: Path) -> tuple[int, ...]:
    """Tell what is spent, reserved and written off, by the word of a process that comes later."""
    budgets = Budgets([BUDGET], path=path)
    (found,) = budgets.state()
    budgets.close()
    return tuple(map(int, (found.spent, found.reserved, found.written_off)))


def test_four_processes_spend_what_there_is(tmp_path: Path) -> None:
    """Four busy processes, of four threads each, spend all of the limit together, and nothing more."""
    program = """
    spent = []
    pause = threading.Event()

    def work():
        while True:
            refusal = spend(7)
            if refusal is None:
                spent.append(7)
            elif refusal.may_return:
                pause.wait(0.03)
            else:
                return

    pids = []
    while len(pids) < 3:
        pids.append(os.fork())
        if pids[-1] == 0:
            pids = []
            break
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, f"{sum(spent)} ".encode())
    for pid in pids:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    path = tmp_path / "budgets.sqlite3"
    spent = [int(text) for text in ended(started(program, path)).split()]

    assert 4 == len(spent)
    assert 20_000 - 7 < sum(spent) <= 20_000
    assert (sum(spent), 0, 0) == state(path)


def test_what_a_killed_process_held_counts_as_spent(tmp_path: Path) -> None:
    """After kill -9 whatever the process may have spent is spent; what it had ended well is no more than it was."""
    program = """
    spend(1000)
    held = ask(3000)
    budgets.state()
    print("ready", flush=True)
    sys.stdin.read()
    """
    path = tmp_path / "budgets.sqlite3"
    process = started(program, path)
    assert process.stdout is not None
    assert "ready\n" == process.stdout.readline()
    before = state(path)
    process.send_signal(signal.SIGKILL)
    assert "" == ended(process, -signal.SIGKILL)
    budgets = Budgets([BUDGET], path=path)
    refused, taken = (budgets.acquire([Want(budgets.purse(BUDGET, "", 0), amount)]) for amount in (17_000, 16_000))

    assert (1000, 3000, 0) == before
    assert isinstance(refused, Shortage)
    assert not refused.may_return
    assert not isinstance(taken, Shortage)
    assert (4000, 16_000, 3000) == state(path)
    taken.end()
    budgets.close()


def test_the_end_of_a_program_writes_everything_down(tmp_path: Path) -> None:
    """A program that just ends has given back what it held and lost nothing, whether or not it closes its budgets."""
    path = tmp_path / "budgets.sqlite3"
    ended(started("for _ in range(300): spend(10)", path))

    assert (3000, 0, 0) == state(path)


def test_a_forked_child_has_a_share_of_its_own(tmp_path: Path) -> None:
    """A child does not spend what its parent holds, nor end what its parent began; its end closes nothing of it."""
    program = """
    held = ask(5000)
    spend(100)
    pid = os.fork()
    if pid == 0:
        held.counted = lambda: [5000]
        held.end()
        del held
        assert spend(200) is None
        assert spend(14_701) is not None
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    held.counted = lambda: [50]
    held.end()
    spend(100)
    """
    path = tmp_path / "budgets.sqlite3"
    ended(started(program, path))

    assert (450, 0, 0) == state(path)


def test_a_full_disk(tmp_path: Path) -> None:
    """Where the file may not grow any more, calls go on, limits hold in the process, and it says so."""
    program = """
    import logging, resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    logging.basicConfig(stream=sys.stdout, format="%(levelname)s")
    spend(1000)
    budgets.state()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    print(spend(19_000), type(spend(1)).__name__, budgets.degraded is not None, budgets.state()[0].remaining)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    """
    said = ended(started(program, tmp_path / "budgets.sqlite3"))

    assert ["ERROR", "None Shortage True 0"] == said.splitlines()


def test_a_directory_without_rights(tmp_path: Path) -> None:
    """The same holds where nothing may be written at all."""
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "shut").mkdir(mode=0o500)
    said = ended(started("print(spend(1), budgets.degraded is not None)", tmp_path / "shut" / "budgets.sqlite3"))

    assert "None True\n" == said
