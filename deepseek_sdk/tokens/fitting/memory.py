"""`CutMemory`: where conversations were cut, so that the next turn is cut at the same place."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.fitting.cut import Cut, digest
from deepseek_sdk.tokens.fitting.turns import leading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CutMemory", "conversation_key"]

# Conversations that begin alike and have no session id are told apart by what was cut, a few at a time.
_PER_KEY = 4


def conversation_key(messages: Sequence[Mapping[str, Any]], session_id: str | None, *more: object) -> str:
    """
    Name a conversation.

    Args:
        messages: It.
        session_id: Its name, where it has one; else it is known by how it begins.
        *more: What else has to be the same.

    Returns:
        The key.
    """
    name = digest(messages[: leading(messages) + 1]).hex() if session_id is None else f"session {session_id}"
    return " ".join([name, *map(str, more)])


class CutMemory:
    """
    Remembers cuts; the least recently used go first. Any number of threads may use one.

    Args:
        capacity: How many conversations are remembered.
    """

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._cuts: OrderedDict[str, list[Cut]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: str, messages: Sequence[Mapping[str, Any]]) -> Cut | None:
        """
        Find how a conversation was cut.

        Args:
            key: Its key.
            messages: What it is now.

        Returns:
            The last cut of it that still fits it, or None: it is new, or its beginning has been changed.
        """
        with self._lock:
            cuts = list(self._cuts.get(key, ()))
            if cuts:
                self._cuts.move_to_end(key)
        seen: dict[int, bytes] = {}
        for cut in reversed(cuts):
            if cut.covers <= len(messages):
                if cut.covers not in seen:
                    seen[cut.covers] = digest(messages[: cut.covers])
                if seen[cut.covers] == cut.digest:
                    return cut
        return None

    def keep(self, key: str, cut: Cut, instead_of: Cut | None = None) -> None:
        """
        Remember a cut.

        Args:
            key: The key of the conversation.
            cut: How it was cut.
            instead_of: An earlier cut of the same conversation.
        """
        with self._lock:
            others = [old for old in self._cuts.get(key, ()) if old is not instead_of and old.digest != cut.digest]
            self._cuts[key] = [*others, cut][-_PER_KEY:]
            self._cuts.move_to_end(key)
            while len(self._cuts) > self._capacity:
                self._cuts.popitem(last=False)

    def __len__(self) -> int:
        return len(self._cuts)
