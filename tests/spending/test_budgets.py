from __future__ import annotations

import contextlib
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.errors import ConfigurationError, LedgerError
from deepseek_sdk.spending import Budgets, SpendBudget
from deepseek_sdk.spending.desk import Shortage, Want
from tests.spending.desks import end
from tests.spending.prices import NOON, in_memory

if TYPE_CHECKING:
    from deepseek_sdk.spending.ticket import Ticket

DAY = SpendBudget(limit=5, period="day")
USERS = SpendBudget(limit="0.5", unit="USD", per="user", name="users")


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Make budgets in memory, or in a file; each file is closed at the end."""
    made: list[Budgets] = []

    def build(*budgets: SpendBudget, **options: Any) -> Budgets:
        path = ":memory:" if request.param == "memory" else tmp_path / "budgets.sqlite3"
        made.append(Budgets(budgets, path=path, **{"now": lambda: NOON, **options}))
        return made[-1]

    yield build
    for one in made:
        one.close()


def reserve(budgets: Budgets, budget: SpendBudget, amount: str, scope: str = "") -> Ticket | Shortage:
    """Reserve so much, in the unit of the budget."""
    wants = [Want(budgets.purse(budget, scope, budgets.now()), int(Decimal(amount) * 10**12))]
    return budgets.take(wants) or budgets.acquire(wants)


def spend(budgets: Budgets, budget: SpendBudget, amount: str, scope: str = "") -> bool:
    """Spend so much; say whether that was possible."""
    ticket = reserve(budgets, budget, amount, scope)
    if isinstance(ticket, Shortage):
        return False
    end(ticket, int(Decimal(amount) * 10**12))
    return True


def test_state_tells_how_it_stands(make: Any) -> None:
    """A state says what is spent, reserved and left, for whom and until when."""
    budgets = make(DAY, USERS)
    assert spend(budgets, DAY, "1.25")
    held = reserve(budgets, DAY, "0.5")
    assert spend(budgets, USERS, "0.125", "小明")
    total, user = budgets.state()

    assert ("all/day/CNY", "all", "CNY", Decimal(5)) == (total.name, total.scope, total.unit, total.limit)
    assert tuple(map(Decimal, ("1.25", "0.5", "3.25", "0"))) == (
        total.spent,
        total.reserved,
        total.remaining,
        total.written_off,
    )
    assert (NOON - 12 * 3600, NOON + 12 * 3600, None) == (total.period_start, total.until, total.degraded)
    assert ("users", "user 小明", Decimal("0.125"), None) == (user.name, user.scope, user.spent, user.until)
    assert None is user.period_start
    end(held, 0)  # type: ignore[arg-type]
    assert Decimal("1.25") == budgets.state()[0].spent


def test_budgets_that_nobody_used_are_told_too(make: Any) -> None:
    """A budget of all calls has a state from the start, one by user has none before the first user."""
    assert [Decimal(5)] == [state.remaining for state in make(DAY, USERS).state()]


def test_reset_begins_anew(make: Any) -> None:
    """A budget, or one scope of it, is reset; what is in flight stays reserved."""
    budgets = make(DAY, USERS)
    for scope in ("a", "b"):
        assert spend(budgets, USERS, "0.5", scope)
    assert spend(budgets, DAY, "4")
    held = reserve(budgets, DAY, "1")
    budgets.reset("users", scope="a")

    assert spend(budgets, USERS, "0.5", "a")
    assert not spend(budgets, USERS, "0.5", "b")
    budgets.reset()
    assert spend(budgets, USERS, "0.5", "b")
    assert (Decimal(0), Decimal(1)) == (budgets.state()[0].spent, budgets.state()[0].reserved)
    assert spend(budgets, DAY, "4")
    assert not spend(budgets, DAY, "0.1")
    end(held, 0)  # type: ignore[arg-type]


def test_adjust_corrects_what_is_spent(make: Any) -> None:
    """What was spent elsewhere is added, and what was not is taken off."""
    budgets = make(DAY, USERS)
    budgets.adjust("all/day/CNY", "4.5")
    assert not spend(budgets, DAY, "0.6")
    budgets.adjust("all/day/CNY", -0.1)
    budgets.adjust("users", Decimal("0.5"), scope="小红")

    assert spend(budgets, DAY, "0.6")
    assert not spend(budgets, USERS, "0.01", "小红")
    assert spend(budgets, USERS, "0.5", "小明")


@pytest.mark.parametrize("call", ["reset", "adjust"])
def test_names_must_exist(call: str) -> None:
    """A budget that is not there cannot be changed; the message names those that are."""
    with pytest.raises(ConfigurationError, match="all/day/CNY"):
        getattr(in_memory(DAY), call)("day", *((1,) if call == "adjust" else ()))


@pytest.mark.parametrize("amount", ["much", None, float("inf"), True])
def test_amounts_must_be_numbers(amount: Any) -> None:
    """An adjustment is a number."""
    with pytest.raises(ConfigurationError, match="amount"):
        in_memory(DAY).adjust("all/day/CNY", amount)


def test_two_objects_on_one_file(tmp_path: Path) -> None:
    """Each counts what the other one spends, as two processes do; a reset reaches both."""
    one, two = (Budgets([DAY], path=tmp_path / "budgets.sqlite3", now=lambda: NOON) for _ in range(2))
    assert spend(one, DAY, "3")
    one.close()

    assert not spend(two, DAY, "2.5")
    assert spend(two, DAY, "2")
    two.close()
    assert [Decimal(5)] == [state.spent for state in one.state()]
    one.reset()
    assert spend(two, DAY, "5")
    two.close()


def test_without_a_file_state_says_why(tmp_path: Path) -> None:
    """Where the file cannot be used, the state is that of this process, and says so; a reset is refused."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    budgets = Budgets([DAY], path=blocked / "budgets.sqlite3", now=lambda: NOON)
    assert spend(budgets, DAY, "3")
    (state,) = budgets.state()

    assert (Decimal(3), Decimal(2)) == (state.spent, state.remaining)
    assert state.degraded
    assert state.degraded == budgets.degraded
    assert not spend(budgets, DAY, "2.5")
    with pytest.raises(LedgerError, match=r"budgets\.sqlite3"):
        budgets.reset()
    budgets.adjust("all/day/CNY", -1)
    assert spend(budgets, DAY, "2.5")


def test_a_reset_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file is locked, a reset raises, and nothing is forgotten."""
    monkeypatch.setattr("deepseek_sdk.spending.store._BUSY_S", 0.05)
    path = tmp_path / "budgets.sqlite3"
    budgets = Budgets([DAY], path=path, now=lambda: NOON)
    assert spend(budgets, DAY, "5")
    budgets.close()
    budgets.state()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="locked"):
            budgets.reset()
        database.rollback()

    assert not spend(budgets, DAY, "0.01")


def test_what_was_never_used_can_be_closed(tmp_path: Path) -> None:
    """Closing budgets that no call has asked writes nothing."""
    Budgets([DAY], path=tmp_path / "budgets.sqlite3").close()

    assert [] == list(tmp_path.iterdir())


def test_any_number_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """More users than are kept at hand are all counted."""
    monkeypatch.setattr("deepseek_sdk.spending.budgets._MOST_NEAR", 3)
    budgets = in_memory(USERS)
    for name in "abcdefgh" * 2:
        assert spend(budgets, USERS, "0.25", name)

    assert [False] * 8 == [spend(budgets, USERS, "0.1", name) for name in "abcdefgh"]


def test_looking_alone_finds_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    """The state is told also where nothing was spent and the file cannot be read."""
    (tmp_path / "file").write_text("")
    budgets = Budgets([DAY], path=tmp_path / "file" / "budgets.sqlite3")

    assert [(Decimal(5), True)] == [(state.remaining, state.degraded is not None) for state in budgets.state()]


def test_the_file_is_in_the_users_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a path it lies where the system keeps the data of a user; nothing is written before it is needed."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    budgets = Budgets([DAY])

    assert "budgets.sqlite3" == (budgets.path or Path()).name
    assert "deepseek-sdk" in str(budgets.path)
    assert [] == list(tmp_path.iterdir())
    assert "<Budgets: all/day/CNY, in memory>" == repr(in_memory(DAY))
    assert in_memory(DAY).is_in_memory


async def test_on_an_event_loop(tmp_path: Path) -> None:
    """What looks at the disk has a twin that does not hold up an event loop."""
    budgets = Budgets([DAY], path=tmp_path / "budgets.sqlite3", now=lambda: NOON)
    await budgets.aadjust("all/day/CNY", 2)
    before = await budgets.astate()
    await budgets.areset()

    assert [Decimal(2)] == [state.spent for state in before]
    assert [Decimal(0)] == [state.spent for state in await budgets.astate()]
    await budgets.aclose()


def test_more_spent_elsewhere_leaves_nothing_in_the_hand(make: Any) -> None:
    """What a process had taken ready for its calls is given back where an adjustment needs it."""
    budgets = make(DAY)
    purse = budgets.purse(DAY, "", NOON)
    purse.refills, purse.wish = 1, 10**12
    assert spend(budgets, DAY, "0.01")
    assert purse.free > 0
    budgets.adjust("all/day/CNY", 5)

    assert not spend(budgets, DAY, "0.01")
