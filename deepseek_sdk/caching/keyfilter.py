"""`KeyFilter`: says of most keys that are not there that they are not, without looking; `KnownKeys`: one of a disk."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

__all__ = ["KeyFilter", "KnownKeys"]

_HALF_DIGITS = 16
_SMALLEST = 1_024
# How much more than there is now a filter is made for, and how often one is made anew, in lookups for each entry.
_GROWTH, _LOOKUPS_PART = 2, 20


class KeyFilter:
    """
    A Bloom filter over keys: it never says no to a key that was added, and seldom yes to another.

        KeyFilter(1_000_000)                    1.2 MB, 7 bits for each key, 1 % wrong
        KeyFilter(1_000_000, rate=0.001)        1.8 MB, 10 bits for each key

    Nothing can be taken out; what is gone elsewhere makes more answers wrong, until a new filter is made.

    Args:
        capacity: How many keys it is made for.
        rate: How often it may be wrong when it holds so many.

    Attributes:
        asked: How often `may_have()` was asked.
        maybe: How often it said yes.
        false: How often that was wrong, as far as `mistaken()` told.
        count: How many keys were added.

    Raises:
        ConfigurationError: *capacity* or *rate* cannot be used.
    """

    def __init__(self, capacity: int, *, rate: float = 0.01) -> None:
        if not capacity > 0:
            raise ConfigurationError(f"capacity must be a number above 0, not {capacity!r}")
        self.capacity, self.rate = capacity, _checked(rate)
        self.bits = math.ceil(-capacity * math.log(rate) / math.log(2) ** 2)
        self.hashes = max(1, round(self.bits / capacity * math.log(2)))
        self._field = bytearray(-(-self.bits // 8))
        self.asked = self.maybe = self.false = self.count = 0

    def add(self, key: str) -> None:
        """
        Take a key in.

        Args:
            key: It.
        """
        field = self._field
        for bit in self._places(key):
            field[bit >> 3] |= 1 << (bit & 7)
        self.count += 1

    def may_have(self, key: str) -> bool:
        """
        Say whether a key may have been added.

        Args:
            key: It.

        Returns:
            False: it was not.
        """
        field = self._field
        self.asked += 1
        for bit in self._places(key):
            if not field[bit >> 3] & 1 << (bit & 7):
                return False
        self.maybe += 1
        return True

    def mistaken(self) -> None:
        """Take note that the key of the last yes was not there."""
        self.false += 1

    @property
    def is_full(self) -> bool:
        """Whether it holds more than it is made for, and is wrong more often than it should be."""
        return self.count > self.capacity

    @property
    def measured_rate(self) -> float | None:
        """How often it was wrong about keys that were not there, or None where nobody asked for one."""
        absent = self.asked - self.maybe + self.false
        return self.false / absent if absent else None

    def _places(self, key: str) -> Iterator[int]:
        first, second = _halves(key)
        bits = self.bits
        return (place % bits for place in range(first, first + self.hashes * second, second))


def _checked(rate: float) -> float:
    if not 0 < rate < 1:
        raise ConfigurationError(f"rate must be a number between 0 and 1, not {rate!r}")
    return rate


def _halves(key: str) -> tuple[int, int]:
    """Take two numbers of 64 bits, the second of them odd, out of a key: its own digits where it is a SHA-256."""
    try:
        first, second = int(key[:_HALF_DIGITS], 16), int(key[_HALF_DIGITS : 2 * _HALF_DIGITS], 16)
    except ValueError:
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HALF_DIGITS).digest()
        first, second = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
    return first, second | 1


class KnownKeys:
    """
    A filter over the keys of a disk that other processes write to as well.

    It says nothing once others have written, until it is made anew; and that happens at most once in as many lookups
    as there are twentieths of the entries.

    Args:
        rate: How often it may be wrong.

    Attributes:
        filter: The filter, or None before there is one.
    """

    def __init__(self, rate: float) -> None:
        self.rate = _checked(rate)
        self.filter: KeyFilter | None = None
        self._version: Hashable = None
        self._wait = 0

    def add(self, key: str) -> None:
        """
        Take in a key that this process writes.

        Args:
            key: It.
        """
        if self.filter is not None:
            self.filter.add(key)

    def may_have(self, key: str, version: Hashable) -> bool | None:
        """
        Say whether a key may be there.

        Args:
            key: It.
            version: What has changed where another process has written.

        Returns:
            False: it is not; None: nobody knows.
        """
        if self.filter is None or version != self._version:
            return None
        return self.filter.may_have(key)

    def is_due(self, version: Hashable) -> bool:
        """
        Tell whether the filter should be made anew.

        Args:
            version: What has changed where another process has written.

        Returns:
            Whether it can be of use no longer, and the last time is long enough ago.
        """
        if self.filter is not None and version == self._version and not self.filter.is_full:
            return False
        self._wait -= 1
        return self._wait < 0

    def renew(self, keys: Iterable[str], version: Hashable) -> None:
        """
        Make the filter anew.

        Args:
            keys: All that there are.
            version: What has changed where another process has written; from before *keys* were read.
        """
        found = list(keys)
        made = KeyFilter(max(_SMALLEST, _GROWTH * len(found)), rate=self.rate)
        for key in found:
            made.add(key)
        if self.filter is not None:
            made.asked, made.maybe, made.false = self.filter.asked, self.filter.maybe, self.filter.false
        self.filter, self._version = made, version
        self._wait = len(found) // _LOOKUPS_PART

    def missed(self) -> None:
        """Take note that a key was not there after all."""
        if self.filter is not None:
            self.filter.mistaken()
