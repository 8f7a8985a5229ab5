"""A memory of counts that is bounded in bytes, and may be asked from anywhere."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["Memo", "key_of_message", "key_of_text", "key_of_value"]

Value = TypeVar("Value")

# Longer texts are known by their length, their hash and their ends: whoever counts a book need not keep it.
_KEPT_WHOLE = 4096
_END = 32
# What an entry takes beside its key, about.
_ENTRY_BYTES = 100


class Memo(Generic[Value]):
    """
    Remembers values in two generations: when the younger one is full, the older one is forgotten.

    Args:
        max_bytes: How much the keys of both may take together, about.
    """

    __slots__ = ("_bytes", "_half", "_lock", "_old", "_young")

    def __init__(self, max_bytes: int) -> None:
        self._half = max_bytes // 2
        self._lock = threading.Lock()
        self._young: dict[Hashable, Value] = {}
        self._old: dict[Hashable, Value] = {}
        self._bytes = 0

    def peek(self, key: Hashable) -> Value | None:
        """Look up *key* without a lock, so that hooks may, too."""
        value = self._young.get(key)
        return self._old.get(key) if value is None else value

    def get(self, key: Hashable) -> Value | None:
        """Look up *key*, and keep it among the younger ones."""
        value = self._young.get(key)
        if value is None and (value := self._old.get(key)) is not None:
            self.put(key, value)
        return value

    def put(self, key: Hashable, value: Value) -> None:
        """Remember *value*."""
        with self._lock:
            self._young[key] = value
            self._bytes += _ENTRY_BYTES + _weight(key)
            if self._bytes > self._half:
                self._old, self._young, self._bytes = self._young, {}, 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


def key_of_text(text: str) -> Hashable:
    """
    Make a key of a text.

    Args:
        text: Any; Python remembers the hash of a string, so a long one that is met again costs next to nothing.

    Returns:
        The text where it is short; else its length, hash and ends.
    """
    return text if len(text) <= _KEPT_WHOLE else (len(text), hash(text), text[:_END], text[-_END:])


def key_of_message(message: Mapping[str, Any]) -> Hashable:
    """
    Make a key of a message.

    Args:
        message: As it goes into the request.

    Returns:
        Equal keys for equal messages.
    """
    # Nearly every message is of this shape.
    if len(message) == 2 and "role" in message:  # noqa: PLR2004  role and content
        content = message.get("content")
        if isinstance(content, str):
            return message["role"], (content if len(content) <= _KEPT_WHOLE else key_of_text(content))
    return key_of_value(message)


def key_of_value(value: Any) -> Hashable:
    """
    Make a key of a JSON value.

    Args:
        value: A mapping, list, text, number, boolean or None.

    Returns:
        Equal keys for values that are written the same way; 1, 1.0 and true are not.
    """
    if isinstance(value, str):
        return key_of_text(value)
    if isinstance(value, dict):
        return ("{", *((key, key_of_value(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("[", *map(key_of_value, value))
    return ("=", repr(value))


def _weight(key: Hashable) -> int:
    return sys.getsizeof(key) + (sum(map(_weight, key)) if isinstance(key, tuple) else 0)
