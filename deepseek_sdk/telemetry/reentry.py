"""What to do where the garbage collector ends a call while its thread is inside of OpenTelemetry."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["is_inside"]


def is_inside(package: str) -> bool:
    """
    Tell whether this thread is in the middle of a function of a package.

    A forgotten stream ends inside the garbage collector, which may run in the middle of anything: where that is a
    function of OpenTelemetry's SDK, the thread holds one of its locks, and would wait for itself.

    Args:
        package: Its name.

    Returns:
        Whether a caller of the caller belongs to it.
    """
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  the only way to see it
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False
