"""`Later`: measurements wait until they are collected, so that calls do not wait for them."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Later", "later_of"]

T = TypeVar("T")

_Attributes: TypeAlias = "Mapping[str, Any] | None"
_Sum: TypeAlias = tuple[Any, float, _Attributes]
_Value: TypeAlias = tuple[Any, float, _Attributes, Any]

_KEY = "_deepseek_sdk_later"
# So many wait at most: those of a few thousand calls.
_MOST = 20_000


class Later:
    """
    Measurements that wait for the next collection.

    The SDK takes many microseconds for each, most of them for its attributes, and locks that the garbage collector must
    not wait for. Here it is appended, and sums are added up before they are handed over.
    """

    def __init__(self) -> None:
        self._sums: deque[_Sum] = deque()
        self._values: deque[_Value] = deque()
        self._active: dict[int, None] = {}
        self._pid = os.getpid()

    @property
    def active(self) -> int:
        """How many calls have begun and not ended."""
        return len(self._active)

    def begin(self, call: int) -> None:
        """
        Note that a call begins.

        Args:
            call: What tells it from others that have not ended.
        """
        if self._pid != os.getpid():
            # What waits in a forked child is the parent's.
            self._pid = os.getpid()
            self._sums.clear()
            self._values.clear()
            self._active.clear()
        self._active[call] = None

    def end(self, call: int) -> None:
        """
        Note that a call has ended.

        Args:
            call: What it began as.
        """
        self._active.pop(call, None)

    def add(self, counter: Any, value: float, attributes: Mapping[str, Any] | None = None) -> None:
        """
        Add to a counter.

        Args:
            counter: It.
            value: How much.
            attributes: What tells the series from others; not to be changed afterwards.
        """
        self._sums.append((counter, value, attributes))

    def record(
        self, histogram: Any, value: float, attributes: Mapping[str, Any] | None = None, context: Any = None
    ) -> None:
        """
        Record a value.

        Args:
            histogram: Where.
            value: It.
            attributes: What tells the series from others; not to be changed afterwards.
            context: The context of the span that it is an example of.
        """
        self._values.append((histogram, value, attributes, context))

    def trim(self) -> None:
        """Hand over what is too much to wait, where nobody collects."""
        if len(self._sums) > _MOST:
            _add(_taken(self._sums, len(self._sums)))
        _record(_taken(self._values, len(self._values) - _MOST))

    def work_off(self) -> None:
        """Hand over everything that waits."""
        _add(_taken(self._sums, len(self._sums)))
        _record(_taken(self._values, len(self._values)))


def _taken(waiting: deque[T], most: int) -> Iterator[T]:
    # Another reader may collect at the same time.
    with contextlib.suppress(IndexError):
        for _ in range(most):
            yield waiting.popleft()


def _record(values: Iterable[_Value]) -> None:
    for histogram, value, attributes, context in values:
        histogram.record(value, attributes, context)


def _add(sums: Iterable[_Sum]) -> None:
    series: dict[tuple[Any, ...], list[Any]] = {}
    for counter, value, attributes in sums:
        series.setdefault((counter, *(attributes or {}).items()), [0, attributes])[0] += value
    for (counter, *_), (total, attributes) in series.items():
        counter.add(total, attributes)


def later_of(meter: Any) -> Later:
    """
    Find what waits for the collections of a meter: all clients of a process share it.

    Args:
        meter: The meter.

    Returns:
        It; a meter that cannot hold it gets a new one.
    """
    held: Any = getattr(meter, "__dict__", {})
    return held.setdefault(_KEY, Later())  # type: ignore[no-any-return]
