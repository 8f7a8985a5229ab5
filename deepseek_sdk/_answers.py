"""`Answers`: what one line of work has asked for, and must not leave open."""

from __future__ import annotations

import logging
from typing import Protocol

__all__ = ["Answers"]

_log = logging.getLogger("deepseek_sdk")


class Answer(Protocol):
    """A reply, as far as this is concerned."""

    def abandon(self) -> None:
        """Let go without waiting, from any thread; harmless when it has ended."""
        ...


class Answers:
    """The answers of a call, or of background work: they end together."""

    def __init__(self) -> None:
        self._open: list[Answer] = []

    def add(self, answer: Answer) -> None:
        """
        Note an answer.

        Args:
            answer: One that has just been made.
        """
        self._open.append(answer)

    def let_go(self, *, spare: Answer | None = None) -> None:
        """
        End every answer that has not ended: nobody else will.

        Args:
            spare: The one whose end this is.
        """
        # Emptied first: an answer leads to its call, and so to this list.
        opened, self._open = self._open, []
        for answer in opened:
            if answer is not spare:
                _abandon(answer)


def _abandon(answer: Answer) -> None:
    try:
        answer.abandon()
    except Exception:  # noqa: BLE001  the caller has an error, or an answer, that matters more
        _log.exception("an answer could not be abandoned")
