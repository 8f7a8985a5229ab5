"""What lets one coroutine serve both colours: in the sync one nothing it awaits suspends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["finish"]

T = TypeVar("T")


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """
    Run a coroutine that never suspends, on this thread.

    Args:
        coroutine: It; everything it awaits must come from a `SyncIO`.

    Returns:
        Its result.

    Raises:
        RuntimeError: It suspended: some stage awaited what only an event loop can do.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    coroutine.close()
    message = "a stage awaited something other than proceed() and call.io"
    raise RuntimeError(message)
