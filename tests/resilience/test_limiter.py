from __future__ import annotations

import gc
import threading
import timeit
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.resilience.aimd import Aimd
from deepseek_sdk.resilience.limiter import Limiter, LimiterPolicy, Limiters, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable

FLASH = Account("https://api.deepseek.com", "deepseek-flash", "sha256:0123456789ab")
PRO = FLASH._replace(model="deepseek-v4-pro")


class Watch:
    """A clock that is set by hand."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


def limiter(watch: Watch | None = None, **policy: Any) -> Limiter:
    """Make a limiter with a clock of its own."""
    return Limiter(FLASH, LimiterPolicy(**policy), watch or Watch())


def fixed(size: int, watch: Watch | None = None, **policy: Any) -> Limiter:
    """Make a limiter whose limit does not rise."""
    return limiter(watch, initial=size, maximum=size, **policy)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"initial": 0}, "initial must be a whole number, at least 1, not 0"),
        ({"minimum": 0}, "minimum must be a whole number, at least 1, not 0"),
        ({"minimum": True}, "minimum must be a whole number, at least 1, not True"),
        ({"maximum": None}, "maximum must be a whole number, at least 1, not None"),
        ({"maximum": 2.5}, "maximum must be a whole number, at least 1, not 2.5"),
        ({"minimum": 9, "maximum": 8}, "maximum must be at least minimum, 9, not 8"),
        ({"rpm": 0}, "rpm must be a whole number, at least 1, not 0"),
        ({"tpm": "1000"}, "tpm must be a whole number, at least 1, not '1000'"),
        ({"batch_every": 0}, "batch_every must be a whole number, at least 1, not 0"),
        ({"backoff": 1}, "backoff must be a number above 0 and below 1, not 1"),
        ({"backoff": 0}, "backoff must be a number above 0 and below 1, not 0"),
        ({"backoff": float("nan")}, "backoff must be a number above 0 and below 1, not nan"),
        ({"max_wait": -1}, "max_wait must be a number of seconds, at least 0, or None, not -1"),
        ({"max_wait": "5"}, "max_wait must be a number of seconds, at least 0, or None, not '5'"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(given_: dict[str, Any], message: str) -> None:
    """A value that makes no sense is named."""
    with pytest.raises(ConfigurationError) as caught:
        LimiterPolicy(**given_)

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("policy", "account", "expected"),
    [
        ({}, FLASH, (64, 2500)),
        ({}, PRO, (64, 500)),
        ({}, FLASH._replace(model="Pro/deepseek-ai/x"), (64, 500)),
        ({"maximum": 4000}, PRO, (64, 4000)),
        ({"maximum": 8}, FLASH, (8, 8)),
        ({"minimum": 100}, FLASH, (100, 2500)),
    ],
)
def test_where_the_limit_begins_and_ends(policy: dict[str, Any], account: Account, expected: tuple[int, int]) -> None:
    """It begins at *initial*, within *minimum* and *maximum*, which is DeepSeek's for the model unless it is given."""
    made = Limiter(account, LimiterPolicy(**policy))

    assert expected == (made.limit, made.maximum)
    assert account == made.account
    assert LimiterPolicy(**policy) == made.policy


def run_rounds(made: Limiter, rounds: int, at_once: Callable[[], int]) -> list[int]:
    """Fill it and let all succeed, again and again; give the limit after each round."""
    limits = []
    for _ in range(rounds):
        tickets = [made.ask() for _ in range(at_once())]
        for ticket in tickets:
            ticket.release("success")
        limits.append(made.limit)
    return limits


def test_it_doubles_until_the_first_refusal() -> None:
    """While it is kept full, each success raises it by one, so it doubles with each round, up to the maximum."""
    made = limiter(initial=4, maximum=40)
    flying, limits = [made.ask() for _ in range(4)], []
    for _ in range(5):
        for _ in range(made.limit):
            flying.pop(0).release("success")
            while made.in_flight < made.limit:
                flying.append(made.ask())
        limits.append(made.limit)

    assert [8, 16, 32, 40, 40] == limits


def test_it_rises_slowly_after_a_refusal() -> None:
    """After a refusal a whole limit's worth of successes raises it by one."""
    size = Aimd(10, 1, 100, 0.8)
    size.refuse(0, None, now=0)
    limits = []
    for _ in range(18):
        size.succeed(in_flight=8, now=0)
        limits.append(int(size.limit))

    assert [8] * 8 + [9] * 9 + [10] == limits


@pytest.mark.parametrize(("in_flight", "expected"), [(31, 64), (32, 65), (64, 65)])
def test_it_rises_only_while_half_of_it_is_used(in_flight: int, expected: int) -> None:
    """A program that makes few calls proves nothing about a high limit."""
    size = Aimd(64, 1, 2500, 0.8)
    size.succeed(in_flight, now=0)

    assert expected == size.limit


def test_refusals_of_one_round_count_once() -> None:
    """All refusals of calls that were let through before the limit fell say the same thing; later ones say more."""
    made = limiter()
    for limit in (51, 40, 32, 26):
        for ticket in [made.ask() for _ in range(20)]:
            ticket.release("overload")
        assert limit == made.limit
    ticket = made.ask()
    made.ask().release("overload")
    ticket.release("overload")

    assert 20 == made.limit


def test_only_refusals_shrink_it_to_the_minimum() -> None:
    """Where every call is refused it falls to the minimum and no further; other failures leave it as it is."""
    made = limiter(minimum=3)
    for _ in range(30):
        made.ask().release("overload")

    assert 3 == made.limit
    made.ask().release("other")
    assert 3 == made.limit


@pytest.mark.parametrize(("named", "expected"), [(39, 39), (60, 51), (2, 2), (0, 1)])
def test_the_limit_that_a_server_names_is_kept(named: int, expected: int) -> None:
    """A limit in the text of a 429 holds at once, though the minimum be higher; a higher one does not raise ours."""
    made = limiter(minimum=10)
    made.ask().release("overload", 0, named)

    assert expected == made.limit


def test_a_named_limit_holds_for_a_minute() -> None:
    """For 60 s successes do not lead beyond the limit that a server named; after that they do."""
    watch = Watch()
    made = limiter(watch, initial=8)
    made.ask().release("overload", None, 5)
    watch.now += 59.9
    run_rounds(made, 20, lambda: made.limit)

    assert 5 == made.limit
    watch.now += 0.2
    run_rounds(made, 20, lambda: made.limit)
    assert 5 < made.limit


def test_a_late_refusal_still_names_a_limit() -> None:
    """A refusal of an earlier round does not shrink it again, but the limit that it names is news."""
    made = limiter()
    late = made.ask()
    made.ask().release("overload")
    late.release("overload", None, 39)

    assert 39 == made.limit


def test_a_place_goes_to_the_first_in_line() -> None:
    """First come, first served; each place is handed over directly, so nobody can slip in between."""
    made = fixed(1)
    holder, waiting = made.ask(), [made.ask() for _ in range(5)]
    order = []
    while waiting:
        holder.release("success")
        assert not made.ask(until=made._guarded.now()).is_granted
        holder = next(ticket for ticket in waiting if ticket.is_granted)
        assert holder.news is not None
        assert holder.news.done()
        order.append(5 - len(waiting) + waiting.index(holder))
        waiting.remove(holder)

    assert [0, 1, 2, 3, 4] == order


def test_nobody_slips_past_one_that_waits_for_a_rate() -> None:
    """One that needs few tokens waits behind one that needs many, though there are enough for it."""
    watch = Watch()
    made = limiter(watch, tpm=100)
    made.ask(tokens=60).release("other")
    large, small = made.ask(tokens=50), made.ask(tokens=10)
    states = [large.is_granted, small.is_granted]
    large.give_up()

    assert [False, False, True] == [*states, small.is_granted]


def served(made: Limiter, holder: Ticket, waiting: list[Ticket]) -> list[Ticket]:
    """Let one go after the other, and give the order in which the rest came."""
    order = []
    while waiting:
        holder.release("success")
        holder = next(ticket for ticket in waiting if ticket.is_granted)
        waiting.remove(holder)
        order.append(holder)
    holder.release("success")
    assert (0, 0) == (made.in_flight, made.queued)
    return order


@pytest.mark.slow
@given(kinds=st.lists(st.booleans(), max_size=40), every=st.integers(1, 9))
def test_batch_waits_but_does_not_starve(kinds: list[bool], every: int) -> None:
    """Realtime goes first, and still one of *batch_every* places is for batch; in each class the first comes first."""
    made = fixed(1, batch_every=every)
    holder, waiting = made.ask(), [made.ask(is_batch=is_batch) for is_batch in kinds]
    order = served(made, holder, list(waiting))
    left = sum(kinds)
    run = 0
    for ticket in order:
        run = 0 if ticket.is_batch or not left else run + 1
        left -= ticket.is_batch
        assert run < every

    for lane in (True, False):
        assert [t for t in waiting if t.is_batch is lane] == [t for t in order if t.is_batch is lane]
    realtime_first = [t.is_batch for t in order][: every - 1]
    assert not any(realtime_first[: kinds.count(False)])


def test_who_waits_no_longer_is_passed_over() -> None:
    """A place is never given to one whose deadline has passed, nor to one that has given up."""
    watch = Watch()
    made = fixed(1, watch)
    holder = made.ask()
    short, left, patient = made.ask(until=1005), made.ask(), made.ask(until=1010)
    left.give_up()
    watch.now = 1005
    holder.release("success")

    assert [False, False, True] == [short.is_granted, left.is_granted, patient.is_granted]
    assert (1, 0) == (made.in_flight, made.queued)


def test_the_line_holds_none_that_has_given_up() -> None:
    """However many wait and give up while nothing moves, none of them stays in the line."""
    made = fixed(1)
    made_holder = made.ask()
    for _ in range(1000):
        made.ask(is_batch=True).give_up()
        made.ask().give_up()

    assert 0 == made.queued
    assert made_holder.is_granted


def test_one_that_gives_up_after_it_was_granted_passes_it_on() -> None:
    """A place that comes too late for its waiter goes to the next at once, and costs nothing."""
    made = fixed(1, rpm=2)
    holder, late, following = made.ask(), made.ask(), made.ask()
    holder.release("success")
    assert late.is_granted
    late.give_up()

    assert (False, True, 1) == (late.is_granted, following.is_granted, made.in_flight)


def test_a_place_is_released_once() -> None:
    """Only the first release counts, whatever comes later and in whatever order."""
    made = limiter(initial=2)
    first, second = made.ask(), made.ask()
    for outcome in ("success", "overload", "other", "success"):
        first.release(outcome)
        first.give_up()

    assert (1, 3) == (made.in_flight, made.limit)
    assert second.is_granted


def test_a_forgotten_place_goes_back() -> None:
    """A place whose ticket is forgotten is free again, also where it was granted to one that waits no longer."""
    made = fixed(1)
    made.ask()
    assert 0 == made.in_flight
    holder = made.ask()
    made.ask()
    following = made.ask()
    holder.release("success")

    assert following.is_granted
    assert (1, 0) == (made.in_flight, made.queued)


def test_it_may_be_released_by_the_garbage_collector() -> None:
    """A hook that runs in the middle of the guarded lines, in the same thread, waits until they are done."""
    made = fixed(1)
    cycle: list[Any] = [made.ask()]
    cycle.append(cycle)
    del cycle
    with made._guarded.serial:
        gc.collect()
        assert 1 == made.in_flight

    assert 0 == made.in_flight


def test_a_rate_holds_back_until_it_allows() -> None:
    """With all places free a rate still holds calls back; the first in line knows for how long, to the millisecond."""
    watch = Watch()
    made = limiter(watch, rpm=120)
    flying = [made.ask() for _ in range(120) if made.in_flight < 60]
    for ticket in flying:
        ticket.release("other")
    flying = [made.ask() for _ in range(60)]
    first, second = made.ask(), made.ask()

    assert [False, False, 2] == [first.is_granted, second.is_granted, made.queued]
    assert pytest.approx(0.5) == first.look()[1]
    assert 1.0 == second.look()[1]
    watch.now += 0.5
    made.pump()
    assert [True, False] == [first.is_granted, second.is_granted]
    assert all(ticket.is_granted for ticket in flying)


def test_the_next_in_line_watches_the_clock() -> None:
    """When the first in line is let through by time alone, the second is told that it is the first now."""
    watch = Watch()
    made = limiter(watch, rpm=60)
    for _ in range(60):
        made.ask().release("other")
    first, second = made.ask(), made.ask()
    news, pause = second.look()
    assert news is not None
    assert (False, 1.0) == (news.done(), pause)
    watch.now += 1.0
    first.look()

    assert (True, False) == (news.done(), second.is_granted)
    watch.now += 0.4
    assert pytest.approx(0.6) == second.look()[1]


def test_who_is_refused_uses_up_nothing() -> None:
    """One that gives up, or whose deadline passes, takes nothing from any rate."""
    watch = Watch()
    made = fixed(2, watch, rpm=3, tpm=100)
    holder, other = made.ask(tokens=40), made.ask(tokens=40)
    for until in (1001, 1002, inf):
        made.ask(tokens=15, until=until).give_up()
    made.ask(tokens=15, until=1003)
    watch.now = 1004
    holder.release("success", 40)
    other.release("success", 40)

    assert made.ask(tokens=20).is_granted
    assert not made.ask(until=watch.now).is_granted


@pytest.mark.parametrize(
    ("used", "left"),
    [
        (None, 40),  # nobody knows: the estimate stands
        (60, 40),
        (10, 90),
        (1, 99),
        (90, 10),
    ],
)
def test_tokens_are_settled_after_the_call(used: int | None, left: int) -> None:
    """What was estimated too high is given back, and what was estimated too low is charged."""
    watch = Watch()
    made = limiter(watch, tpm=100)
    made.ask(tokens=60).release("success", used)

    assert not made.ask(tokens=left + 1, until=watch.now).is_granted
    assert made.ask(tokens=left).is_granted


def test_a_call_above_the_rate_is_not_kept_for_ever() -> None:
    """A call that needs more tokens than a minute has goes when nothing is owed, and the next ones pay for it."""
    watch = Watch()
    made = limiter(watch, tpm=100)
    made.ask(tokens=250).release("other")
    waiting = made.ask(tokens=10)
    watch.now += 95
    made.pump()
    assert not waiting.is_granted
    watch.now += 1
    made.pump()

    assert waiting.is_granted


def test_a_registry_keeps_one_for_each_account() -> None:
    """The same account has the same limiter; others have their own, which can be listed."""
    limiters = Limiters(LimiterPolicy())

    assert limiters[FLASH] is limiters[Account(*FLASH)]
    assert [64, 64] == [limiters[PRO].limit, limiters[FLASH].limit]
    assert {FLASH, PRO} == {one.account for one in limiters}
    assert (2, True) == (len(limiters), limiters.is_on)
    held = limiters[PRO].ask()
    assert "<Limiters: 2 accounts, 1 calls in flight, 0 waiting>" == repr(limiters)
    assert "<Limiter of deepseek-v4-pro at https://api.deepseek.com: 1 of 64 in flight, 0 waiting>" == repr(
        limiters[PRO]
    )
    assert held.is_granted


def test_limiters_can_be_off() -> None:
    """With no policy there is no limiter, and to ask for one is a mistake."""
    limiters = Limiters(None)

    assert (False, None, 0, "Limiters(None)") == (limiters.is_on, limiters.policy, len(limiters), repr(limiters))
    with pytest.raises(KeyError, match="limiters are switched off"):
        limiters[FLASH]


def test_one_is_idle_when_nothing_has_happened_for_a_minute() -> None:
    """One that is in use, or was a moment ago, is not thrown away for another account."""
    watch = Watch()
    made = fixed(1, watch)
    assert made.is_idle
    holder = made.ask()
    watch.now += 100
    states = [made.is_idle]
    waiting = made.ask()
    holder.release("success")
    states.append(made.is_idle)
    waiting.release("success")
    states.append(made.is_idle)
    watch.now += 61

    assert [False, False, False, True] == [*states, made.is_idle]


def test_many_threads_keep_the_limit() -> None:
    """However many threads ask, no more than the limit are ever let through, and all come through."""
    made = fixed(5)
    flying: list[int] = []
    seen: list[int] = []

    def work() -> None:
        for _ in range(60):
            ticket = made.ask()
            while not ticket.is_granted:
                news, pause = ticket.look()
                assert news is not None
                if not news.done():
                    threading.Event().wait(min(pause, 0.001))
            flying.append(1)
            seen.append(len(flying))
            flying.pop()
            ticket.release("success")

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 16 * 60 == len(seen)
    assert 5 >= max(seen)
    assert (0, 0) == (made.in_flight, made.queued)


def test_it_costs_little() -> None:
    """To let a call through and take its place back costs microseconds; far more would be another algorithm."""
    made = limiter()

    def once() -> None:
        made.ask(until=2000).release("success")

    assert 50e-6 > min(timeit.repeat(once, number=1000, repeat=5)) / 1000


@pytest.mark.slow
def test_coming_and_going_in_a_long_line_costs_little() -> None:
    """In a line of 20,000 a new one comes, and goes, as fast as in a short one."""
    made = fixed(1)
    holder = made.ask()
    waiting = [made.ask() for _ in range(20_000)]

    def once() -> None:
        made.ask().give_up()

    assert 100e-6 > min(timeit.repeat(once, number=1000, repeat=5)) / 1000
    started = timeit.default_timer()
    for ticket in reversed(waiting):
        ticket.give_up()
    assert 2.0 > timeit.default_timer() - started
    holder.release("other")
    assert (0, 0) == (made.in_flight, made.queued)


class Traffic(RuleBasedStateMachine):
    """Everything that can happen to a limiter, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.watch = Watch()
        self.open: list[Ticket] = []
        self.let_through = 0
        self.released = 0

    @initialize(
        initial=st.integers(1, 6),
        rpm=st.one_of(st.none(), st.integers(1, 200)),
        tpm=st.one_of(st.none(), st.integers(1, 2000)),
        every=st.integers(1, 4),
    )
    def begin(self, initial: int, rpm: int | None, tpm: int | None, every: int) -> None:
        """Make one."""
        self.limiter = limiter(self.watch, initial=initial, maximum=8, rpm=rpm, tpm=tpm, batch_every=every)

    @rule(tokens=st.integers(0, 300), is_batch=st.booleans(), patience=st.one_of(st.just(inf), st.integers(0, 9)))
    def ask(self, tokens: int, patience: float, *, is_batch: bool) -> None:
        """Ask for a place."""
        until = self.watch.now + patience
        self.open.append(self.limiter.ask(tokens=tokens, is_batch=is_batch, until=until))
        assert self.limiter.in_flight <= 8

    @precondition(lambda self: self.open)
    @rule(
        which=st.integers(0, 99),
        outcome=st.sampled_from(["success", "overload", "other", "give up", "forget"]),
        tokens=st.one_of(st.none(), st.integers(0, 400)),
        named=st.one_of(st.none(), st.integers(0, 9)),
        again=st.booleans(),
    )
    def end(self, which: int, outcome: Any, tokens: int | None, named: int | None, *, again: bool) -> None:
        """End one, perhaps twice; one that waits can only give up."""
        ticket = self.open.pop(which % len(self.open))
        if outcome == "forget" and ticket.is_granted:
            del ticket
            return
        for _ in range(1 + again):
            if outcome in ("give up", "forget") or not ticket.is_granted:
                ticket.give_up()
            else:
                ticket.release(outcome, tokens, named)
        assert not ticket.is_granted

    @rule(seconds=st.floats(0, 30))
    def wait(self, seconds: float) -> None:
        """Let time pass, and let one look, as every second somebody does."""
        self.watch.now += seconds
        self.limiter.pump()

    @invariant()
    def is_sound(self) -> None:
        """Check that what is in flight is what was granted, and that whoever waits does so for a reason."""
        if not hasattr(self, "limiter"):
            return
        granted = [ticket for ticket in self.open if ticket.is_granted]
        assert len(granted) == self.limiter.in_flight
        assert 1 <= self.limiter.limit <= 8
        made = self.limiter
        head = made._line.head(self.watch.now)
        if head is not None and made.in_flight < made.limit:
            assert made._gate._rate_wait(head, self.watch.now) > 0
            assert made._gate.pause(head, self.watch.now) <= 1.0

    def teardown(self) -> None:
        """When all have ended, nothing is left, and after a while the next goes at once."""
        if not hasattr(self, "limiter"):
            return
        for ticket in self.open:
            ticket.give_up()
            ticket.release("other")
        assert (0, 0) == (self.limiter.in_flight, self.limiter.queued)
        self.watch.now += 100_000
        assert self.limiter.ask(tokens=300).is_granted


TestTraffic = pytest.mark.slow(Traffic.TestCase)
TestTraffic.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
