"""`OpenStreams`: the streams that callers hold. They end with their client at the latest, or with the program."""

from __future__ import annotations

import atexit
import logging
import weakref
from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk._process import Owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._reply import Ending, Reply

__all__ = ["OpenStreams"]

_log = logging.getLogger("deepseek_sdk")


class OpenStreams:
    """
    Knows the streams of a client and its children in this process.

    Args:
        settle: Called at the end of the program, when streams that were still open have ended.
    """

    def __init__(self, settle: Callable[[], object]) -> None:
        self._settle = settle
        self._open: set[Reply] = set()
        self._owner = Owner()
        self._is_awaited = False

    def add(self, reply: Reply) -> None:
        """
        Note a stream that a caller gets.

        Args:
            reply: It.
        """
        if not self._is_awaited:
            self._await_exit()
        self._open.add(reply)
        reply.on_end(partial(self._forget, reply))

    def end(self) -> None:
        """End those that have not ended: whoever reads on is told that the stream was closed."""
        for reply in list(self._open):
            try:
                reply.abandon()
            except Exception:  # noqa: BLE001  the others are to end, too
                _log.exception("a stream could not be ended")

    def leave(self) -> None:
        """End what is open when the program ends; what a forked child has inherited is its parent's to end."""
        if not self._owner.is_here:
            for reply in list(self._open):
                reply.disown()
        elif self._open:
            self.end()
            self._settle()

    def _forget(self, reply: Reply, ending: Ending, error: BaseException | None) -> None:
        del ending, error
        self._open.discard(reply)

    def _await_exit(self) -> None:
        # With the first stream, which is after everything that the program's end must find written was begun.
        self._is_awaited = True
        leave = partial(_leave, weakref.ref(self))
        atexit.register(leave)
        weakref.finalize(self, atexit.unregister, leave).atexit = False


def _leave(held: weakref.ref[OpenStreams]) -> None:
    if (streams := held()) is not None:
        streams.leave()
