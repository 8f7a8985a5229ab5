"""`Budgets`: the spend budgets of a client, kept in a file that all processes of the machine share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio.to_thread

from deepseek_sdk._process import PerProcess
from deepseek_sdk.errors import ConfigurationError, LedgerError
from deepseek_sdk.spending.budget import SpendBudget, parts_of, told
from deepseek_sdk.spending.desk import Desk, Shortage, Want
from deepseek_sdk.spending.keeper import Keeper
from deepseek_sdk.spending.moves import Row, StoreError
from deepseek_sdk.spending.purse import Key, Purse
from deepseek_sdk.spending.state import BudgetState

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from typing import Literal

    from deepseek_sdk.spending.store import Store
    from deepseek_sdk.spending.ticket import Ticket

__all__ = ["Budgets", "budgets_of"]

_IN_MEMORY = ":memory:"
# How many purses are found without a look at the calendar.
_MOST_NEAR = 4096


class _Office(NamedTuple):
    """What one process has; *near* are the purses of the periods that ran when they were last used."""

    desk: Desk
    keeper: Keeper | None
    near: dict[tuple[str, str], Purse]


class Budgets:
    """
    Spend budgets; one object may serve a `Client` and an `AsyncClient`, and each process has a share of its own.

    What looks at the disk has a twin for event loops: `astate()`, `areset()`, `aadjust()`, `aclose()`.

        Budgets([SpendBudget(limit=20, period="day")])                 in the user's data directory
        Budgets([SpendBudget(limit=20)], path="budgets.sqlite3")       in a file of one's own
        Budgets([SpendBudget(limit=20)], path=":memory:")              nowhere: for this process, while it runs
        for state in budgets.state(): print(state.remaining)           how much is left, and for whom
        budgets.adjust("all/day/CNY", -5)                              5 CNY more for today
        budgets.reset(scope="42")                                      user 42 begins anew

    What calls may spend is taken from the file in slices, so that most calls do not touch the disk. A process that is
    killed may have spent any part of its slice, and of what its calls had reserved: all of that counts as spent, since
    a limit that may have been reached must hold. `adjust()` corrects it. What ended before was written down within half
    a second.

    Where the file cannot be used (a full disk, no rights, a lock that nobody gives back) the limits hold for this
    process alone, what was known of others counted in; `degraded` says why. A file that is broken is renamed, and begun
    anew with what this process knows. The file must not be on a network file system.

    Args:
        budgets: They, or one alone. Names must differ.
        path: The file, ":memory:" for none, or None for "deepseek-sdk/budgets.sqlite3" in the user's data directory.
        on_store_error: What happens to calls while the file cannot be used: "memory" as above, "refuse" raises
            `LedgerError`.
        now: Tells the time, in seconds since 1970.

    Raises:
        ConfigurationError: One of them cannot be used.
    """

    def __init__(
        self,
        budgets: SpendBudget | Iterable[SpendBudget],
        path: str | os.PathLike[str] | None = None,
        *,
        on_store_error: Literal["memory", "refuse"] = "memory",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._budgets = _checked(budgets)
        if on_store_error not in ("memory", "refuse"):
            raise ConfigurationError(f'on_store_error must be "memory" or "refuse", not {on_store_error!r}')
        self._must_store = on_store_error == "refuse"
        self._path = _path_of(path)
        self._now = now
        self._offices = PerProcess(partial(_opened, self._path, now))
        self._current: dict[str, tuple[int, int | None]] = {}

    def __repr__(self) -> str:
        return f"<Budgets: {', '.join(budget.name for budget in self._budgets) or 'none'}, in {self._path or 'memory'}>"

    def __iter__(self) -> Iterator[SpendBudget]:
        return iter(self._budgets)

    def __len__(self) -> int:
        return len(self._budgets)

    @property
    def path(self) -> Path | None:
        """The file, or None where amounts are kept in memory."""
        return self._path

    @property
    def degraded(self) -> str | None:
        """Why amounts are kept in this process alone although there should be a file, or None."""
        return self._offices.get().desk.trouble

    @property
    def is_in_memory(self) -> bool:
        """Whether there is no file, so that nothing here waits for a disk."""
        return self._path is None

    @property
    def must_store(self) -> bool:
        """Whether no call may go while the file cannot be used."""
        return self._must_store

    def now(self) -> float:
        """
        Tell the time.

        Returns:
            Seconds since 1970.
        """
        return self._now()

    def purse(self, budget: SpendBudget, scope: str, now: float) -> Purse:
        """
        Find what this process holds of a budget.

        Args:
            budget: It.
            scope: Whose.
            now: The time, in seconds since 1970.

        Returns:
            The purse of the period that the instant lies in.
        """
        office = self._offices.get()
        found = office.near.get((budget.name, scope))
        if found is not None and found.covers(now):
            return found
        start, until = self._period(budget, now)
        key = Key(budget.name, budget.unit, scope, start)
        found = office.desk.purse(key, lambda key: Purse(key, budget, until))
        if len(office.near) > _MOST_NEAR:
            office.near.clear()
        office.near[budget.name, scope] = found
        return found

    def take(self, wants: Sequence[Want]) -> Ticket | None:
        """
        Reserve, without a look at the disk.

        Args:
            wants: What a call may need.

        Returns:
            The reservation, or None where `acquire()` is needed.
        """
        return self._offices.get().desk.take(wants)

    def acquire(self, wants: Sequence[Want]) -> Ticket | Shortage:
        """
        Reserve; may wait for the disk.

        Args:
            wants: What a call may need.

        Returns:
            The reservation, or what stands against it.
        """
        office = self._offices.get()
        taken = office.desk.acquire(wants)
        if office.keeper is not None:
            office.keeper.wake()
        return taken

    def state(self) -> list[BudgetState]:
        """
        Tell how all budgets stand in the period that runs. Looks at the disk.

        Returns:
            A state for each budget without *per*, and for each user, session, tenant or tag value that has one.
        """
        desk, now = self._offices.get().desk, self._now()
        with desk.undisturbed() as store:
            rows = [(budget, self._rows(desk, store, budget, now)) for budget in self._budgets]
        trouble = desk.trouble
        return [_state(budget, row, now, trouble) for budget, found in rows for row in found]

    def shares(self) -> dict[str, float]:
        """
        Tell how much of each budget is left in the period that runs, by what this process knows. Waits for no disk.

        Returns:
            By the name of the budget: 1.0 where all of the limit is left, 0.0 or less where nothing is; of those that
            this process knows of several users, sessions, tenants or tag values the least.
        """
        office, now = self._offices.made(), self._now()
        left = {budget.name: float(budget.parts > 0) for budget in self._budgets}
        if office is None:
            return left
        office.desk.drain()
        # Not under the lock that calls need: what one of them moves meanwhile may be missed.
        for purse in office.desk.purses():
            if purse.limit and purse.covers(now):
                left[purse.key.name] = min(left[purse.key.name], 1 - purse.used / purse.limit)
        return left

    def reset(self, name: str | None = None, *, scope: str | None = None) -> None:
        """
        Let budgets begin anew: what was spent in the period that runs is forgotten; calls in flight stay reserved.

        Args:
            name: Which budget, or None: all.
            scope: Whose, such as "42", or None: everybody's.

        Raises:
            ConfigurationError: There is no budget of that name.
            LedgerError: The file cannot be used: what others know of would come back with it.
        """
        desk, now = self._offices.get().desk, self._now()
        named = self._named(name)
        with desk.undisturbed() as store:
            if store is None and desk.trouble is not None:
                raise LedgerError(f"budgets cannot be reset: {desk.trouble}", path=str(self._path))
            for budget in named:
                start, _ = self._period(budget, now)
                if store is not None:
                    self._forgive(store, budget, start, scope)
                desk.forgive(budget.name, budget.unit, start, scope)

    def adjust(self, name: str, amount: Any, *, scope: str = "") -> None:
        """
        Count as spent what no call of these clients did, in the period that runs; or the reverse.

        Args:
            name: Which budget.
            amount: How much, in its unit; below 0 gives so much more room.
            scope: Whose, such as "42"; "" for a budget without *per*.

        Raises:
            ConfigurationError: There is no budget of that name, or *amount* is no number.
        """
        desk, now = self._offices.get().desk, self._now()
        for budget in self._named(name):
            desk.adjust(self.purse(budget, scope, now), parts_of(amount, budget.unit))

    def close(self) -> None:
        """Write down what is not, and give back what is not needed; later calls begin again."""
        office = self._offices.made()
        if office is not None:
            office.desk.leave()

    async def astate(self) -> list[BudgetState]:
        """
        Do as `state()`, off the event loop.

        Returns:
            The states.
        """
        return await anyio.to_thread.run_sync(self.state)

    async def areset(self, name: str | None = None, *, scope: str | None = None) -> None:
        """
        Do as `reset()`, off the event loop.

        Args:
            name: Which budget, or None: all.
            scope: Whose, or None: everybody's.
        """
        await anyio.to_thread.run_sync(partial(self.reset, name, scope=scope))

    async def aadjust(self, name: str, amount: Any, *, scope: str = "") -> None:
        """
        Do as `adjust()`, off the event loop.

        Args:
            name: Which budget.
            amount: How much, in its unit.
            scope: Whose.
        """
        await anyio.to_thread.run_sync(partial(self.adjust, name, amount, scope=scope))

    async def aclose(self) -> None:
        """Do as `close()`, off the event loop."""
        await anyio.to_thread.run_sync(self.close)

    def _forgive(self, store: Store, budget: SpendBudget, start: int, scope: str | None) -> None:
        try:
            store.forgive(budget.name, budget.unit, start, scope, self._now())
        except StoreError as error:
            raise LedgerError(f"budgets cannot be reset: {error}", path=str(self._path)) from error

    def _named(self, name: str | None) -> list[SpendBudget]:
        found = [budget for budget in self._budgets if name in (None, budget.name)]
        if name is not None and not found:
            names = ", ".join(repr(budget.name) for budget in self._budgets)
            raise ConfigurationError(f"there is no budget {name!r}; there are {names or 'none'}")
        return found

    def _period(self, budget: SpendBudget, now: float) -> tuple[int, int | None]:
        start, until = self._current.get(budget.name, (0, 0))
        if until is not None and not start <= now < until:
            start, until = self._current[budget.name] = budget.period_at(now)
        return start, until

    def _rows(self, desk: Desk, store: Store | None, budget: SpendBudget, now: float) -> list[Row]:
        start, _ = self._period(budget, now)
        rows = desk.rows(budget.name, budget.unit, start)
        if budget.per is None:
            rows.setdefault("", Row("", 0, 0, 0, 0))
        for row in [] if store is None else desk.stored(store, budget.name, budget.unit, start):
            known = rows.get(row.scope)
            # What calls of this process have reserved, and not yet written down, the file does not say.
            rows[row.scope] = row if known is None else row._replace(reserved=known.reserved)
        return [rows[scope] for scope in sorted(rows)]


def budgets_of(given: Any) -> Budgets | None:
    """
    Read the argument *spend_budget* of a client.

    Args:
        given: A SpendBudget, several, Budgets, or None.

    Returns:
        The budgets, or None where there are none.

    Raises:
        ConfigurationError: It is something else.
    """
    if given is None or isinstance(given, Budgets):
        return given
    if isinstance(given, SpendBudget) or _are_several(given):
        return Budgets(given)
    raise ConfigurationError(f"spend_budget must be a SpendBudget, several of them, Budgets or None, not {given!r}")


def _are_several(given: object) -> bool:
    """Tell what may hold budgets from what is one thing although it can be iterated over."""
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)


def _checked(budgets: SpendBudget | Iterable[SpendBudget]) -> tuple[SpendBudget, ...]:
    if isinstance(budgets, SpendBudget):
        return (budgets,)
    if not _are_several(budgets):
        raise ConfigurationError(f"budgets must be a SpendBudget or several of them, not {budgets!r}")
    kept = tuple(budgets)
    for budget in kept:
        if not isinstance(budget, SpendBudget):
            raise ConfigurationError(f"a spend budget must be a SpendBudget, not {budget!r}")
    names = [budget.name for budget in kept]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"two budgets are called {name!r}: give them a name each")
    return kept


def _path_of(path: str | os.PathLike[str] | None) -> Path | None:
    if path is None:
        # Needed by those alone that have budgets.
        import platformdirs  # noqa: PLC0415  not part of importing the library

        return Path(platformdirs.user_data_dir("deepseek-sdk", appauthor=False)) / "budgets.sqlite3"
    if path == _IN_MEMORY:
        return None
    try:
        return Path(path)
    except TypeError as error:
        raise ConfigurationError(f'path must be a path, ":memory:" or None, not {path!r}') from error


def _opened(path: Path | None, now: Callable[[], float]) -> _Office:
    if path is None:
        return _Office(Desk(None, now), None, {})
    from deepseek_sdk.spending.store import Store  # noqa: PLC0415  SQLite is not part of importing the library

    desk = Desk(Store(path), now)
    return _Office(desk, Keeper(desk), {})


def _state(budget: SpendBudget, row: Row, now: float, trouble: str | None) -> BudgetState:
    start, until = budget.period_at(now)
    reserved, unit = row.others + row.reserved, budget.unit
    return BudgetState(
        name=budget.name,
        scope=budget.label(row.scope),
        unit=unit,
        limit=budget.limit,
        spent=told(row.spent, unit),
        reserved=told(reserved, unit),
        remaining=told(budget.parts - row.spent - reserved, unit),
        written_off=told(row.written_off, unit),
        period_start=None if budget.period is None else start,
        until=until,
        degraded=trouble,
    )
