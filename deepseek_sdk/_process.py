"""What a process may not take over from the one that it was forked from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Owner", "PerProcess"]

T = TypeVar("T")


class Owner:
    """The process that made something: in a forked child it is not for the child to end."""

    __slots__ = ("_pid",)

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is that process."""
        return os.getpid() == self._pid


class PerProcess(Generic[T]):
    """
    Something that holds sockets, threads or locks: the first to ask for it in a forked child gets a new one.

    What was inherited is kept, untouched: its locks may be held by threads that do not exist here, and its end would
    be the end of connections that the parent still uses.

    Args:
        make: Makes one; of two that threads of a child make at once, one is thrown away unused.
        leave: Called in a child with each that it inherited, at least once; must take no lock.
    """

    __slots__ = ("_by_pid", "_leave", "_make")

    def __init__(self, make: Callable[[], T], leave: Callable[[T], None] | None = None) -> None:
        self._make = make
        self._leave = leave
        self._by_pid: dict[int, T] = {}

    def get(self) -> T:
        """
        Give the one of this process, and make it where there is none.

        Returns:
            It; the same to every thread.
        """
        pid = os.getpid()
        if pid in self._by_pid:
            return self._by_pid[pid]
        self.leave_inherited()
        # Not a lock, which a fork might copy while it is held: setdefault() is atomic, and all threads get the first.
        return self._by_pid.setdefault(pid, self._make())

    def made(self) -> T | None:
        """
        Give the one of this process, if there is one.

        Returns:
            It, or None.
        """
        return self._by_pid.get(os.getpid())

    def leave_inherited(self) -> None:
        """Let go of what belongs to other processes, as far as that can be done here."""
        pid = os.getpid()
        if self._leave is not None:
            for owner, inherited in list(self._by_pid.items()):
                if owner != pid:
                    self._leave(inherited)
