"""`Desk`: the purses of one process; it lets calls reserve, takes note of what they spent, and asks for more."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.spending.moves import Move, Row, Standing, StoreError
from deepseek_sdk.spending.purse import Part
from deepseek_sdk.spending.slices import next_wish, slice_of
from deepseek_sdk.spending.ticket import Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deepseek_sdk.spending.purse import Key, Purse
    from deepseek_sdk.spending.store import Store

__all__ = ["Desk", "Shortage", "Want"]

_log = logging.getLogger("deepseek_sdk")

# After a file could not be used, it is left alone for so long.
_RETRY_S = 5.0
# Others must hear of a process that holds something, before they take it for dead.
_BEAT_S = 10.0
# Above so many purses, idle ones are dropped: a service may have any number of users.
_MOST = 4096


class Want(NamedTuple):
    """What a call may need: *amount* of *purse*."""

    purse: Purse
    amount: int


class Shortage(NamedTuple):
    """
    Why a call cannot go.

    Attributes:
        purse: What has no room.
        amount: What the call may need.
        may_return: Another process may give back what it does not need.
    """

    purse: Purse
    amount: int
    may_return: bool


class Desk:
    """
    Hands out what this process holds, to any number of threads.

    `take()` looks at the memory alone, and so does the end of a call, which any thread may bring, the garbage collector
    within another call too: it is only put into a queue. `acquire()` and what follows may look at the disk.

    Args:
        store: The file, or None: amounts are kept in memory.
        wall: Tells the time, in seconds since 1970.

    Attributes:
        store: As given.
        ended: Tickets of calls that are over, to be settled.
        trouble: Why the file cannot be used, or None.
    """

    def __init__(self, store: Store | None, wall: Callable[[], float]) -> None:
        self.store = store
        self.ended: deque[Ticket] = deque()
        self.trouble: str | None = None
        self._wall = wall
        self._purses: dict[Key, Purse] = {}
        # For a few lines; never taken by what the garbage collector may call.
        self._lock = threading.Lock()
        # One at a time at the disk.
        self._turn = threading.Lock()
        self._retry_at = 0.0
        self._beaten_at = 0.0
        self._tidy_at = _MOST

    def purse(self, key: Key, make: Callable[[Key], Purse]) -> Purse:
        """
        Find a purse.

        Args:
            key: Which.
            make: Makes it where there is none.

        Returns:
            It; the same to every thread.
        """
        found = self._purses.get(key)
        # setdefault() is atomic: of two that are made at once, both threads get the first.
        return self._purses.setdefault(key, make(key)) if found is None else found

    def purses(self) -> list[Purse]:
        """
        List what there is.

        Returns:
            All purses.
        """
        return list(self._purses.values())

    def take(self, wants: Sequence[Want]) -> Ticket | None:
        """
        Reserve, from what this process holds.

        Args:
            wants: What a call may need; all of it or nothing is reserved.

        Returns:
            The reservation, or None where more has to be asked for.
        """
        if self.ended:
            self.drain()
        ticket = Ticket([Part(purse, amount) for purse, amount in wants], self.ended)
        with self._lock:
            return ticket if _opened(ticket) else None

    def drain(self) -> None:
        """Settle what is over."""
        while self.ended:
            try:
                ticket = self.ended.popleft()
            except IndexError:
                return
            amounts = ticket.bill()
            with self._lock:
                for part, spent in zip(ticket.parts, amounts, strict=True):
                    part.settle(spent)

    def acquire(self, wants: Sequence[Want]) -> Ticket | Shortage:
        """
        Reserve, and ask for more where that is needed. May wait for the disk.

        Args:
            wants: What a call may need.

        Returns:
            The reservation, or what stands against it.
        """
        with self._turn:
            if len(self._purses) >= self._tidy_at:
                self._tidy()
            # One may have been dropped meanwhile, and another made in its place.
            wants = [Want(self._purses.setdefault(purse.key, purse), amount) for purse, amount in wants]
            # Somebody may have asked for more while this one waited for his turn. Where the file could not be used, it
            # has to be tried.
            ticket = self.take(wants) if self.trouble is None else None
            if ticket is not None:
                return ticket
            ticket = Ticket([Part(purse, amount) for purse, amount in wants], self.ended)
            standings = self._exchange(wants, ticket)
            return ticket if ticket.is_open else _shortage(wants, standings)

    def tend(self) -> bool:
        """
        Write down what was spent, and give back what is not needed; called now and then while something is held.

        Returns:
            Whether something is held, or not written down.
        """
        with self._turn:
            self.drain()
            due = [Want(purse, 0) for purse in self._stale()]
            if due:
                self._exchange(due)
            self._tidy()
            return any(not purse.is_idle for purse in self.purses())

    def leave(self) -> None:
        """Write everything down, give back what no call in flight may need, and close the file."""
        with self._turn:
            self.drain()
            with self._lock:
                due = [purse for purse in self.purses() if not purse.is_idle]
                for purse in due:
                    purse.held = min(purse.held, purse.reserved)
            if due:
                self._exchange([Want(purse, 0) for purse in due])
            if self.store is not None:
                self.store.close()

    @contextmanager
    def undisturbed(self) -> Iterator[Store | None]:
        """
        Look at the file, or change it, when everything is written down.

        Yields:
            The file, or None where amounts are kept in this process alone.
        """
        with self._turn:
            self.drain()
            due = [Want(purse, 0) for purse in self.purses() if purse.unsaved]
            if due:
                self._exchange(due)
            yield self.store if self.trouble is None else None

    def rows(self, name: str, unit: str, start: int) -> dict[str, Row]:
        """
        Tell how a budget stands by what this process knows.

        Args:
            name: Its name.
            unit: Its unit.
            start: When the period began.

        Returns:
            A row for each scope.
        """
        with self._lock:
            found = [purse for purse in self.purses() if _is(purse.key, name, unit, start)]
            return {
                purse.key.scope: Row(
                    purse.key.scope, purse.spent + purse.unsaved, purse.written_off, purse.others, purse.reserved
                )
                for purse in found
            }

    def stored(self, store: Store, name: str, unit: str, start: int) -> list[Row]:
        """
        Tell how a budget stands by what the file knows; nothing where it cannot be used.

        Args:
            store: The file.
            name: The budget.
            unit: Its unit.
            start: When the period began.

        Returns:
            A row for each scope.
        """
        try:
            return store.rows(name, unit, start, self._wall())
        except StoreError as error:
            self._fail(store, error)
            return []

    def forgive(self, name: str, unit: str, start: int, scope: str | None) -> None:
        """
        Forget what was spent, as far as this process knows.

        Args:
            name: The budget.
            unit: Its unit.
            start: When the period began.
            scope: Whose, or None: everybody's.
        """
        with self._lock:
            for purse in self.purses():
                if _is(purse.key, name, unit, start) and scope in (None, purse.key.scope):
                    purse.spent = purse.unsaved = purse.written_off = 0
                    purse.has_warned = False

    def adjust(self, purse: Purse, amount: int) -> None:
        """
        Count as spent what no call did.

        Args:
            purse: Of which budget.
            amount: How much; below 0 for less.
        """
        with self._turn:
            with self._lock:
                purse = self._purses.setdefault(purse.key, purse)
                purse.unsaved += amount
                # What was taken ready for calls may be too much by now.
                purse.held = min(purse.held, purse.reserved)
            self._exchange([Want(purse, 0)])

    def _stale(self) -> list[Purse]:
        """Choose what is to be written down; let go of what was not used since the last time."""
        wanted = self._wanted()
        with self._lock:
            purses = self.purses()
            stale = [purse for purse in purses if _cool(purse, is_wanted=purse.key in wanted)]
        # Also where the file could not be used: it may be back.
        is_due = self.trouble is not None or (self.store is not None and time.monotonic() - self._beaten_at > _BEAT_S)
        return stale or [purse for purse in purses if not purse.is_idle][: int(is_due)]

    def _wanted(self) -> set[Key]:
        spare = [purse.key for purse in self.purses() if purse.free > 0]
        if self.store is None or not spare or not self._is_usable():
            return set()
        # A file that cannot be used is noticed where something has to be written.
        with suppress(StoreError):
            return self.store.wanted(spare, self._wall())
        return set()

    def _tidy(self) -> None:
        now, is_full = self._wall(), len(self._purses) >= self._tidy_at
        for purse in self.purses():
            is_over = purse.until is not None and purse.until <= now
            # What is kept in memory alone is lost with its purse: after its period nobody asks for it.
            is_kept = self.store is not None and self.trouble is None
            with self._lock:
                can_go = purse.is_idle if self.store is not None else not purse.reserved
                if can_go and (is_over or (is_full and is_kept)):
                    self._purses.pop(purse.key, None)
        self._tidy_at = max(_MOST, 2 * len(self._purses))

    def _exchange(self, wants: Sequence[Want], ticket: Ticket | None = None) -> list[Standing]:
        """Say what was spent, get what there is, and reserve of it at once, before others can."""
        with self._lock:
            moves = [_move(purse, amount) for purse, amount in wants]
        standings = self._written(moves)
        is_written = standings is not None
        if standings is None:
            standings = [_in_memory(purse, move) for (purse, _), move in zip(wants, moves, strict=True)]
        with self._lock:
            for (purse, _), move, standing in zip(wants, moves, standings, strict=True):
                purse.unsaved -= move.unsaved if is_written else 0
                purse.held += standing.granted
                purse.spent, purse.others, purse.written_off = standing[:3]
                purse.file = standing.file
            if ticket is not None:
                _opened(ticket)
        return standings

    def _written(self, moves: Sequence[Move]) -> list[Standing] | None:
        """Write to the file; None where that cannot be done."""
        if self.store is None or not self._is_usable():
            return None
        try:
            standings = self.store.exchange(moves, self._wall())
        except StoreError as error:
            self._fail(self.store, error)
            return None
        self._beaten_at = time.monotonic()
        if self.trouble is not None:
            _log.warning("budgets are kept in %s again", self.store.path)
            self.trouble = None
        return standings

    def _is_usable(self) -> bool:
        return self.trouble is None or time.monotonic() >= self._retry_at

    def _fail(self, store: Store, error: Exception) -> None:
        self._retry_at = time.monotonic() + _RETRY_S
        if self.trouble is None:
            _log.error("budgets are kept in this process alone: %s cannot be used (%s)", store.path, error)
        self.trouble = str(error) or type(error).__name__
        store.close()


def _is(key: Key, name: str, unit: str, start: int) -> bool:
    return (key.name, key.unit, key.start) == (name, unit, start)


def _opened(ticket: Ticket) -> bool:
    for part in ticket.parts:
        purse = part.purse
        if purse.held - purse.reserved < part.amount:
            return False
    for part in ticket.parts:
        part.open()
    return True


def _in_memory(purse: Purse, move: Move) -> Standing:
    available = move.limit - move.known - purse.others - move.unsaved - move.base
    granted = slice_of(move.short, move.wish, available)
    return Standing(move.known, purse.others, purse.written_off, granted, may_return=False, file=move.file)


def _move(purse: Purse, amount: int) -> Move:
    # What calls in flight may need is theirs, even where others have used more than they had reserved.
    base = purse.held = max(purse.held, purse.reserved)
    short = max(amount - (base - purse.reserved), 0)
    if short:
        purse.wish = next_wish(purse.wish, short, purse.refills)
        purse.refills += 1
    key, until = purse.key, purse.until
    wish = purse.wish if short else 0
    return Move(key, until, purse.limit, purse.unsaved, purse.spent, purse.file, base, short, wish)


def _cool(purse: Purse, *, is_wanted: bool) -> bool:
    """Look at one purse now and then; say whether there is something to write down."""
    if not purse.refills:
        purse.wish //= 2
    is_spare = purse.free > 0 and (is_wanted or not purse.is_warm)
    if is_spare:
        purse.held = purse.reserved
    if is_wanted:
        purse.wish = 0
    purse.refills, purse.is_warm = 0, False
    return is_spare or purse.unsaved != 0


def _shortage(wants: Sequence[Want], standings: Sequence[Standing]) -> Shortage:
    for (purse, amount), standing in zip(wants, standings, strict=True):
        if purse.free < amount:
            return Shortage(purse, amount, standing.may_return)
    # Other calls were quicker, all of them at once: what there is, they have.
    return Shortage(wants[0].purse, wants[0].amount, may_return=True)
