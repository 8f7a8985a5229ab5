"""Ledgers of several processes, and of processes that end in the middle of their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.ledger import Ledger
from deepseek_sdk.ledger.period import BEIJING
from deepseek_sdk.ledger.question import ask
from deepseek_sdk.ledger.reader import read_usage
from tests.ledger.conftest import AT, command, run

if TYPE_CHECKING:
    from deepseek_sdk.ledger import UsageReport

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")]


def usage(path: Path, *, now: float = AT, by: str | None = None) -> UsageReport:
    """Ask what a file says."""
    return read_usage(path, ask(since=None, until=None, by=by, only=None, tz=BEIJING, now=now))


def test_four_processes_write_at_once(tmp_path: Path) -> None:
    """Processes that begin a file and write to it at the same time lose nothing."""
    program = """
    ledger = Ledger(PATH, flush_s=0.02)
    for n in range(1000):
        ledger(ended(user=sys.argv[2]))
        if n % 100 == 0:
            time.sleep(0.02)
    """
    path = tmp_path / "data" / "ledger.sqlite3"
    running = [subprocess.Popen(command(program, path, f"p{n}"), stderr=subprocess.PIPE) for n in range(4)]
    errors = [process.communicate(timeout=50)[1] for process in running]
    report = usage(path, by="user")

    assert ([b""] * 4, [0] * 4) == (errors, [process.returncode for process in running])
    assert {f"p{n}": 1000 for n in range(4)} == {row.key: row.calls for row in report.rows}
    assert report.is_complete


def test_killed_process(tmp_path: Path) -> None:
    """What was flushed survives kill -9, and whoever asks is told that there may have been more."""
    program = """
    ledger = Ledger(PATH, flush_s=60, wall=lambda: AT)
    done = 0
    while True:
        for _ in range(50):
            ledger(ended())
        assert ledger.flush()
        done += 50
        print(done, flush=True)
    """
    path = tmp_path / "ledger.sqlite3"
    with subprocess.Popen(command(program, path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(5)]
        process.kill()
        told += process.stdout.readlines()
    acknowledged = int([line for line in told if line.endswith("\n")][-1])
    report = usage(path)

    assert acknowledged <= report.total.calls
    assert not report.is_complete
    end = f"The process {process.pid} ended without a flush after 2026-11-30 10:00:00 UTC+08:00"
    assert (f"{end}; up to a second of calls may be missing.",) == report.notes
    assert f"进程 {process.pid} 在" in report.findings[0].text("zh")


def test_thread_loses_at_most_a_second(tmp_path: Path) -> None:
    """Without a flush, a process that is killed a second after a call has written it."""
    program = """
    ledger = Ledger(PATH)
    ledger(ended())
    print(flush=True)
    time.sleep(60)
    """
    path = tmp_path / "ledger.sqlite3"
    with subprocess.Popen(command(program, path), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        assert usage(path).is_complete  # it lives
        process.kill()

    assert 1 == usage(path).total.calls


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "raise KeyError", "import signal; signal.raise_signal(signal.SIGINT)", "del ledger"]
)
def test_program_that_ends(tmp_path: Path, end: str) -> None:
    """What waits is written when the program ends, however it does by itself."""
    path = tmp_path / "ledger.sqlite3"
    run(f"ledger = Ledger(PATH, flush_s=60)\nfor _ in range(10): ledger(ended())\n{end}", path)
    report = usage(path)

    assert (10, ()) == (report.total.calls, report.notes)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children(tmp_path: Path) -> None:
    """Parent and children write their own calls, each once; also where a thread writes while the process is forked."""
    program = """
    ledger = Ledger(PATH, flush_s=0.01)
    stop = threading.Event()
    def write():
        while not stop.is_set():
            ledger(ended(user="thread"))
            time.sleep(0.0005)
    thread = threading.Thread(target=write)
    thread.start()
    ledger(ended(user="parent"))
    for n in range(5):
        pid = os.fork()
        if pid == 0:
            assert ledger.state().waiting == 0
            ledger(ended(user=f"child{n}"))
            assert ledger.flush(), ledger.state()
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    stop.set()
    thread.join()
    ledger(ended(user="parent"))
    """
    path = tmp_path / "ledger.sqlite3"
    done = run(program, path)
    calls = {row.key: row.calls for row in usage(path, by="user").rows}

    assert (0, "") == (done.returncode, done.stderr)
    assert {"parent": 2, **{f"child{n}": 1 for n in range(5)}} == {k: v for k, v in calls.items() if k != "thread"}
    assert usage(path).is_complete


def test_children_of_multiprocessing(tmp_path: Path) -> None:
    """Children of multiprocessing, which end without the functions of atexit, write what they have."""
    program = """
    import multiprocessing

    ledger = Ledger(PATH, flush_s=60)

    def work(n):
        ledger(ended(user="child"))

    multiprocessing.set_start_method("fork")
    children = [multiprocessing.Process(target=work, args=(n,)) for n in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    """
    path = tmp_path / "ledger.sqlite3"
    done = run(program, path)

    assert (0, "") == (done.returncode, done.stderr)
    assert (3, True) == ((report := usage(path)).total.calls, report.is_complete)


def test_full_disk(tmp_path: Path) -> None:
    """On a full disk calls go on with one warning; what there is no room for is counted, and room is used again."""
    program = """
    import logging, resource
    logging.basicConfig(format="%(message)s")
    ledger = Ledger(PATH, flush_s=60, max_waiting=2000)
    ledger(ended(user="before"))
    assert ledger.flush()
    ledger.close()
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))
    for _ in range(3000):
        ledger(ended(user="during"))
    assert not ledger.flush() and not ledger.flush()
    state = ledger.state()
    assert state.status == "degraded" and state.waiting + state.written >= 1900, state
    assert ledger.usage().notes
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert ledger.flush()
    state = ledger.state()
    assert state.status == "ok" and state.written + state.dropped == 3001, state
    print(state.dropped)
    """
    path = tmp_path / "ledger.sqlite3"
    done = run(program, path)
    report = usage(path)

    assert 0 == done.returncode, done.stderr
    assert 1 == done.stderr.count("cannot be written")
    assert 3001 - int(done.stdout) == report.total.calls
    assert (f"{done.stdout.strip()} calls could not be written and were dropped.",) == report.notes


def test_files_that_may_only_be_read() -> None:
    """A file and a directory that this user may not write to are a degraded ledger, which can be read; calls go on."""
    program = """
    import logging
    logging.basicConfig(format="%(message)s")
    ledger = Ledger(PATH)
    ledger(ended())
    ledger.close()
    directory = os.path.dirname(PATH)
    os.chmod(PATH, 0o444)
    os.chmod(directory, 0o555)
    if os.geteuid() == 0:
        os.setuid(65534)  # root may write anywhere
    for path in (PATH, os.path.join(directory, "new", "ledger.sqlite3")):
        ledger = Ledger(path)
        ledger(ended())
        print(ledger.flush(), ledger.state().status, ledger.usage().total.calls, ledger.usage().is_complete)
    """
    with tempfile.TemporaryDirectory() as directory:
        done = run(program, Path(directory) / "ledger.sqlite3")
        Path(directory).chmod(0o700)

    assert (0, "False degraded 1 False\nFalse degraded 0 False\n") == (done.returncode, done.stdout)
    assert 2 == done.stderr.count("cannot be written")


def test_terminated_process_is_noticed(tmp_path: Path) -> None:
    """A process that SIGTERM ends has written nothing more either; a process that lives is not told of."""
    program = """
    ledger = Ledger(PATH)
    ledger(ended())
    ledger.flush()
    print(flush=True)
    time.sleep(60)
    """
    path = tmp_path / "ledger.sqlite3"
    with subprocess.Popen(command(program, path), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert usage(path).is_complete
        process.send_signal(signal.SIGTERM)

    assert ["killed"] == [note.kind for note in usage(path).findings]


def test_this_process_lives(tmp_path: Path) -> None:
    """Asking from the process that writes says nothing about its end."""
    ledger = Ledger(tmp_path / "ledger.sqlite3", wall=lambda: AT)
    ledger.flush()

    assert ledger.usage().is_complete
    ledger.close()
