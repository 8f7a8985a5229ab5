"""`CutMemory`: where conversations were cut, so that the next turn is cut at the same place."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import fields
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.fitting.cut import Cut, digest
from deepseek_sdk.tokens.fitting.turns import leading

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from deepseek_sdk.tokens.fitting.budget import TokenBudget
    from deepseek_sdk.tokens.fitting.room import Room

__all__ = ["CutMemory", "budget_key", "conversation_key"]

# Conversations that begin alike and have no session id are told apart by what was cut, a few at a time.
_PER_KEY = 4
# Which part of one another limits are at least that share a cut. A window's vary from call to call with what an answer
# is expected to take, a quarter at most; those that somebody has set do not, unless they are worked out.
_ALIKE_SET, _ALIKE = 0.9, 0.7


def conversation_key(messages: Sequence[Mapping[str, Any]], session_id: str | None, *more: Hashable) -> Hashable:
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
    return (name, *more)


def budget_key(budget: TokenBudget) -> Hashable:
    """
    Name what a budget makes of a conversation.

    Args:
        budget: It.

    Returns:
        The same for budgets that leave out the same, but for their limits.
    """
    return tuple(_known_by(getattr(budget, field.name)) for field in fields(budget) if field.name != "limit")


def _known_by(value: Any) -> Hashable:
    if not isinstance(value, FunctionType):
        return _hashable(value)
    # A budget may be made anew for each call, and a function within it: what it does is told by its code and by what
    # it has around it.
    around = [*(value.__closure__ or ()), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return (value.__code__, *map(_hashable, map(_content, around)))


def _content(value: Any) -> Any:
    try:
        return value.cell_contents if isinstance(value, CellType) else value
    except ValueError:  # nothing is in it yet
        return None


def _hashable(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return _Itself(value)
    return value


class _Itself:
    """Stands for a value that has no hash: equal where it is the same object, which is kept so that none other is."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


def _is_for(cut: Cut, room: Room) -> bool:
    alike = _ALIKE_SET if room.window is None else _ALIKE
    return min(cut.limit, room.limit) >= alike * max(cut.limit, room.limit)


class CutMemory:
    """
    Remembers cuts; the least recently used go first. Any number of threads may use one.

    Args:
        capacity: How many conversations are remembered.
    """

    def __init__(self, capacity: int = 1024) -> None:
        self._capacity = capacity
        self._cuts: OrderedDict[Hashable, list[Cut]] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key: Hashable, messages: Sequence[Mapping[str, Any]], room: Room | None = None) -> Cut | None:
        """
        Find how a conversation was cut.

        Args:
            key: Its key.
            messages: What it is now.
            room: How long it may be; None for any length.

        Returns:
            The last cut of it that still fits it, or None: it is new, or its beginning has been changed, or it was cut
            for another room. One that was made for the very same limit comes before others.
        """
        with self._lock:
            cuts = list(self._cuts.get(key, ()))
            if cuts:
                self._cuts.move_to_end(key)
        if room is not None:
            cuts = sorted([cut for cut in cuts if _is_for(cut, room)], key=lambda cut: cut.limit == room.limit)
        seen: dict[int, bytes] = {}
        for cut in reversed(cuts):
            if cut.covers <= len(messages):
                if cut.covers not in seen:
                    seen[cut.covers] = digest(messages[: cut.covers])
                if seen[cut.covers] == cut.digest:
                    return cut
        return None

    def keep(self, key: Hashable, cut: Cut, instead_of: Cut | None = None) -> None:
        """
        Remember a cut.

        Args:
            key: The key of the conversation.
            cut: How it was cut.
            instead_of: An earlier cut of the same conversation.
        """
        with self._lock:
            others = [old for old in self._cuts.get(key, ()) if old is not instead_of and _is_other(old, cut)]
            self._cuts[key] = [*others, cut][-_PER_KEY:]
            self._cuts.move_to_end(key)
            while len(self._cuts) > self._capacity:
                self._cuts.popitem(last=False)

    def __len__(self) -> int:
        return len(self._cuts)


def _is_other(old: Cut, cut: Cut) -> bool:
    return (old.digest, old.limit) != (cut.digest, cut.limit)
