"""`Keeper`: a thread that looks after a desk as long as it holds something."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import TYPE_CHECKING

from deepseek_sdk._process import Owner

if TYPE_CHECKING:
    from deepseek_sdk.spending.desk import Desk

__all__ = ["Keeper"]

_log = logging.getLogger("deepseek_sdk")

_PAUSE_S = 0.25


class Keeper:
    """
    Writes down what was spent four times a second, gives back what is not used, and ends when nothing is left to do.

    Args:
        desk: What to look after.
        pause_s: How long to wait in between, in seconds.
    """

    def __init__(self, desk: Desk, pause_s: float = _PAUSE_S) -> None:
        self._desk = desk
        self._pause_s = pause_s
        self._owner = Owner()
        self._lock = threading.Lock()
        self._is_running = False
        self._was_asked = False

    def wake(self) -> None:
        """Begin, unless it is going on."""
        with self._lock:
            self._was_asked = True
            if not self._is_running:
                self._is_running = self._start()

    def _start(self) -> bool:
        try:
            threading.Thread(target=self._run, name="deepseek-sdk-budgets", daemon=True).start()
        except RuntimeError:
            # The system has no thread to give, or the program is ending: the next call tries again.
            return False
        # A daemon thread does not live to see the end of the program.
        atexit.register(self._leave)
        return True

    def _run(self) -> None:
        pause = threading.Event()
        while self._goes_on():
            pause.wait(self._pause_s)
            self._tend()

    def _goes_on(self) -> bool:
        with self._lock:
            if self._was_asked:
                return True
            self._is_running = False
        atexit.unregister(self._leave)
        return False

    def _tend(self) -> None:
        with self._lock:
            self._was_asked = False
        try:
            has_more = self._desk.tend()
        except Exception:  # noqa: BLE001  what comes next time may succeed
            _log.exception("budgets could not be looked after")
            has_more = True
        if has_more:
            with self._lock:
                self._was_asked = True

    def _leave(self) -> None:
        # A forked child has inherited this, and nothing of what it is for.
        if self._owner.is_here:
            self._desk.leave()
