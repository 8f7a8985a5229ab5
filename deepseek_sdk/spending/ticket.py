"""`Ticket`: what one call has reserved, until it is over."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence

    from deepseek_sdk.spending.purse import Part

__all__ = ["Ticket"]

_log = logging.getLogger("deepseek_sdk")


class Ticket:
    """
    A reservation, which is settled once: when its call says so, or when nobody knows of it any more.

    Args:
        parts: What is reserved, one for each budget.
        ended: Where to put it when it is over.

    Attributes:
        parts: As given.
        counted: Tells what the call has spent, a number for each part; None while nothing can have been.
    """

    __slots__ = ("_ended", "_is_over", "counted", "parts")

    def __init__(self, parts: list[Part], ended: deque[Ticket]) -> None:
        self.parts = parts
        self.counted: Callable[[], Sequence[int]] | None = None
        self._ended = ended
        self._is_over = False

    @property
    def is_open(self) -> bool:
        """Whether it is reserved."""
        return all(part.is_open for part in self.parts)

    def end(self, ending: object = None, error: object = None) -> None:  # noqa: ARG002  a hook is told them
        """
        Say that the call is over: from any thread, at any time; it waits for nothing.

        Args:
            ending: How; it does not matter.
            error: Why; likewise.
        """
        if not self._is_over:
            self._is_over = True
            self._ended.append(self)

    def bill(self) -> Sequence[int]:
        """
        Tell what was spent.

        Returns:
            A number for each part; what was reserved where that cannot be told.
        """
        if self.counted is None:
            return [0] * len(self.parts)
        try:
            return self.counted()
        except Exception:  # noqa: BLE001  other tickets wait behind it
            _log.exception("what a call has spent could not be counted: all that it had reserved is")
            return [part.amount for part in self.parts]

    def __del__(self) -> None:
        # Its call was cancelled before it could take it, or a key press came between.
        for part in self.parts:
            if part.is_open:
                self._ended.append(self)
                return
