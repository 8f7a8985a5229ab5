from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from deepseek_sdk._process import Owner
from deepseek_sdk.spending.keeper import Keeper
from tests.spending.desks import Counter, end

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def threads() -> list[threading.Thread]:
    """List the threads that look after budgets."""
    return [thread for thread in threading.enumerate() if thread.name == "deepseek-sdk-budgets"]


def test_it_looks_after_a_desk_as_long_as_there_is_something(tmp_path: Path) -> None:
    """One thread writes everything down and gives back what is not used, then ends; it can begin again."""
    before = threads()
    one, two = (Counter(tmp_path / "budgets.sqlite3") for _ in range(2))
    keeper = Keeper(one.desk, pause_s=0.001)
    for used in (300, 100):
        ticket = one.got(400)
        for _ in range(3):
            keeper.wake()
        (running,) = [thread for thread in threads() if thread not in before]
        end(ticket, used)
        running.join(10)
        assert not running.is_alive()

    assert two.spend(600)
    assert not two.spend(1)


def test_it_goes_on_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """What goes wrong once is logged and does not end it."""
    looks: list[int] = []

    class Desk:
        def tend(self) -> bool:
            looks.append(1)
            if len(looks) == 1:
                raise ZeroDivisionError
            return False

    before, desk = threads(), Desk()
    keeper = Keeper(desk, pause_s=0.001)  # type: ignore[arg-type]
    keeper.wake()
    for thread in [thread for thread in threads() if thread not in before]:
        thread.join(10)

    assert 2 == len(looks)
    assert [logging.ERROR] == [record.levelno for record in caplog.records]


def test_without_a_thread_to_be_had_calls_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the system gives no thread, the next call tries again."""
    one = Counter(tmp_path / "budgets.sqlite3")
    keeper = Keeper(one.desk, pause_s=0.001)

    def refuse(_: Any) -> None:
        message = "can't start new thread"
        raise RuntimeError(message)

    ticket, before = one.got(1), threads()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        keeper.wake()
    assert before == threads()
    keeper.wake()
    end(ticket, 1)
    for thread in [thread for thread in threads() if thread not in before]:
        thread.join(10)

    assert not one.desk.tend()


def test_at_the_end_only_the_own_process_leaves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A forked child inherits what is to be done at the end of its parent, and does not do it."""
    one = Counter(tmp_path / "budgets.sqlite3")
    keeper = Keeper(one.desk)
    ticket = one.got(400)
    ticket.counted = lambda: [300]
    ticket.end()
    with monkeypatch.context() as patch:
        patch.setattr(Owner, "is_here", property(lambda _: False))
        keeper._leave()
    before = one.purse().held
    keeper._leave()

    assert (400, 0) == (before, one.purse().held)
