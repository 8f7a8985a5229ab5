"""Tell OpenTelemetry, and whoever else wants to know, how calls went."""

from __future__ import annotations

import contextlib
import logging
from _thread import start_new_thread
from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk.telemetry.reentry import is_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk.telemetry.settings import Telemetry
    from deepseek_sdk.telemetry.watch import Watch

__all__ = ["Observation"]

_log = logging.getLogger("deepseek_sdk")


class Observation:
    """
    Watches calls: the outermost stage, so that it sees all that happens to them.

    Args:
        telemetry: What spans, metrics and events tell, or None: there are none.
        observers: Called in this order with the record of each call that is over, on whatever thread that happens; what
            one raises is logged.

    Attributes:
        telemetry: What it was given.
    """

    def __init__(
        self, telemetry: Telemetry | None = None, observers: Sequence[Callable[[Record], object]] = ()
    ) -> None:
        self.telemetry = telemetry
        self._listening = None if telemetry is None else telemetry.listening
        self._observers = tuple(observers)

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call, and tell how that went."""
        emitter = None if self._listening is None else self._listening.emitter()
        if emitter is None and not self._observers:
            return await proceed(call)
        watch = None if emitter is None else emitter.begin(call)
        if watch is not None:
            call.record.watcher = watch
        over = partial(self._over, call.record, watch)
        try:
            reply = await (proceed(call) if watch is None else _watched(call, proceed, watch))
        except BaseException as error:
            ending: Ending = "failed" if isinstance(error, Exception) else "abandoned"
            call.record.end(ending, error, call.io.now())
            over(ending, error)
            raise
        if watch is not None:
            watch.listen(reply)
        reply.on_end(over)
        return reply

    def _over(self, record: Record, watch: Watch | None, ending: Ending, error: BaseException | None) -> None:
        """Tell that a call is over; the garbage collector may be who says so."""
        if watch is not None:
            record.watcher = None
            if ending == "abandoned" and is_inside("opentelemetry"):
                _tell_elsewhere(watch, ending, error)
            else:
                _tell(watch, ending, error)
        for observer in self._observers:
            try:
                observer(record)
            except Exception:  # noqa: BLE001  the call is over, and went as it went
                _log.exception("an observer of calls failed")


async def _watched(call: Call, proceed: Proceed, watch: Watch) -> Reply:
    with watch.inside():
        return await proceed(call)


def _tell_elsewhere(watch: Watch, ending: Ending, error: BaseException | None) -> None:
    # At the end of the interpreter there are no more threads: then nothing is told.
    with contextlib.suppress(RuntimeError):
        # Not threading.Thread: that would take a lock, which this thread may hold as well.
        start_new_thread(_tell, (watch, ending, error))


def _tell(watch: Watch, ending: Ending, error: BaseException | None) -> None:
    try:
        watch.end(ending, error)
    except Exception as failure:  # noqa: BLE001  a span less is better than a call less
        # Its text may hold what a prompt said.
        _log.warning(
            "telemetry of a call failed: %s", type(failure).__name__, exc_info=_log.isEnabledFor(logging.DEBUG)
        )
