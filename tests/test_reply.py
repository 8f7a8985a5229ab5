from __future__ import annotations

import json
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
from openai.lib.streaming._deltas import accumulate_delta

from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk._sse import DONE, Event, encode
from deepseek_sdk._usage import Usage
from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import (
    DeepSeekError,
    EmptyAnswerError,
    FirstTokenTimeout,
    MalformedResponseError,
    Partial,
    QueueTimeoutError,
    StallTimeout,
    StreamInterruptedError,
    SystemResourceError,
    TotalTimeout,
)
from deepseek_sdk.testing.scripted import ScriptedBackend, ScriptedSource, chunk, make_call, said, whole

if TYPE_CHECKING:
    from deepseek_sdk._reply import Ending, Reply, Rescuer
    from deepseek_sdk.testing.scripted import Step

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
ROLE = chunk(role="assistant")
STOP = chunk(finish="stop")
CUT = ConnectionResetError("reset by peer")


def reply_of(*steps: Step, call: Any = None, **changes: Any) -> Reply:
    """Give a reply that plays *steps*."""
    return finish(ScriptedBackend(steps)(call or make_call(**changes)))


def source_of(reply: Reply) -> ScriptedSource:
    """Give the source of a reply."""
    assert isinstance(reply.source, ScriptedSource)
    return reply.source


def read(reply: Reply) -> list[list[Any]]:
    """Read a reply to its end: the batches, each event as its JSON or, at the end, as "done"."""
    batches = []
    while batch := finish(reply.next()):
        batches.append(["done" if event.is_done else event.json() for event in batch])
    return batches


def flat(reply: Reply) -> list[Any]:
    """Read a reply to its end, without regard to how its events come."""
    return [item for batch in read(reply) for item in batch]


def seen_before(reply: Reply) -> tuple[list[Any], Exception]:
    """Read a reply up to its failure."""
    seen: list[Any] = []
    try:
        while batch := finish(reply.next()):
            seen += ["done" if event.is_done else event.json() for event in batch]
    except DeepSeekError as error:
        return seen, error
    pytest.fail("it did not fail")


class Hooked:
    """Notes every ending that a hook is told."""

    def __init__(self) -> None:
        self.endings: list[tuple[str, str | None]] = []

    def __call__(self, ending: Ending, error: BaseException | None) -> None:
        """Take note."""
        self.endings.append((ending, None if error is None else type(error).__name__))


class TestReading:
    """Events on their way to the caller."""

    def test_events_come_as_they_arrive(self) -> None:
        """Each batch of the source is one batch of the reply, and then there is nothing more."""
        reply = reply_of(ROLE, [chunk("a"), chunk("b")], STOP, DONE)

        assert [[ROLE], [chunk("a"), chunk("b")], [STOP], ["done"]] == read(reply)
        assert [[], []] == [finish(reply.next()), finish(reply.next())]

    def test_bytes_are_the_events_joined(self) -> None:
        """As bytes, a batch is its events one after the other, and the end is no bytes."""
        batch = [encode(chunk("a")), encode(chunk("b"))]
        reply = reply_of(batch, encode(STOP), DONE)
        found = [finish(reply.next_bytes()) for _ in range(4)]

        assert [batch[0].raw + batch[1].raw, encode(STOP).raw, DONE.raw, b""] == found

    def test_nothing_after_done_is_read(self) -> None:
        """What a server sends after `[DONE]`, in the same batch or later, is not an answer's business."""
        reply = reply_of([chunk("a"), STOP, DONE, Event(b"", b"garbage")], chunk("b"))

        assert [[chunk("a"), STOP, "done"]] == read(reply)
        assert "a" == reply.progress.partial().text

    @pytest.mark.parametrize(
        ("trailer", "usage", "waited"),
        [
            ([], None, 0),
            ([CUT], None, 0),
            ([60], None, 1.0),
            ([60], USAGE, 0.25),
            ([0.5, {"choices": [], "usage": USAGE}, 60], None, 0.75),
        ],
        ids=["closed", "cut", "silent", "silent after usage", "late usage, then silent"],
    )
    def test_a_missing_done_is_made_up(self, trailer: list[Step], usage: Any, waited: float) -> None:
        """A complete answer whose `[DONE]` does not come ends as it should, after a short wait for usage."""
        reply = reply_of(chunk("a"), chunk(finish="stop", usage=usage), *trailer)

        assert "done" == flat(reply)[-1]
        assert (waited, True) == (reply.call.io.now(), reply.progress.is_done)

    def test_a_plain_answer_does_not_wait_for_done(self) -> None:
        """Folding ends with the usage: what would come after it can say nothing more."""
        reply = reply_of(chunk("a"), chunk(finish="stop", usage=USAGE), 60, is_stream=False)
        answer = json.loads(finish(reply.gather()))

        assert (0, USAGE) == (reply.call.io.now(), answer["usage"])

    def test_the_trailer_obeys_the_total_deadline(self) -> None:
        """A complete answer is not waited for beyond the end of the call."""
        limits = Limits(first_token=inf, stall=inf, total=0.3)
        reply = reply_of(chunk("a"), STOP, 60, limits=limits)

        assert "done" == flat(reply)[-1]
        assert pytest.approx(0.3) == reply.call.io.now()

    FAILURES: tuple[tuple[list[Any], type[DeepSeekError], str], ...] = (
        ([], StreamInterruptedError, "without a finish_reason"),
        ([chunk("a")], StreamInterruptedError, "without a finish_reason"),
        ([chunk("a"), DONE], StreamInterruptedError, r"\[DONE\]"),
        ([chunk("a"), CUT], StreamInterruptedError, "reset by peer"),
        ([CUT], StreamInterruptedError, "reset by peer"),
        ([chunk("a"), Event(b"", b"{")], MalformedResponseError, "broken JSON"),
        ([ROLE, STOP], EmptyAnswerError, "empty"),
        ([chunk("a"), chunk(finish="insufficient_system_resource")], SystemResourceError, "resources"),
    )

    @pytest.mark.parametrize(("steps", "kind", "text"), FAILURES)
    @pytest.mark.parametrize("is_stream", [True, False])
    def test_an_incomplete_answer_is_never_a_success(
        self,
        steps: list[Any],
        kind: type[DeepSeekError],
        text: str,
        is_stream: bool,  # noqa: FBT001
    ) -> None:
        """A cut, an early end or an empty answer is an error with what had come, streamed or folded."""
        reply = reply_of(*steps, is_stream=is_stream)
        with pytest.raises(kind, match=text) as caught:
            finish(reply.gather())

        assert Partial(text="a" if chunk("a") in steps else "") == caught.value.partial
        assert ["failed"] == [attempt.outcome for attempt in caught.value.attempts]

    def test_the_cause_of_a_cut_is_kept(self) -> None:
        """The transport's own error is the cause."""
        _, error = seen_before(reply_of(chunk("a"), CUT))

        assert error.__cause__ is CUT

    def test_only_blank_lines_are_a_queue(self) -> None:
        """A source in which nothing but keep-alives came tells that the request never left the queue."""
        reply = reply_of()
        source_of(reply).only_waited = True

        assert isinstance(seen_before(reply)[1], QueueTimeoutError)

    def test_what_came_before_a_failure_is_handed_on_first(self) -> None:
        """A bad event in the middle of a batch raises only after the events before it were given out."""
        seen, error = seen_before(reply_of([chunk("a"), chunk("b"), Event(b"", b"{"), chunk("c")]))

        assert [chunk("a"), chunk("b")] == seen
        assert isinstance(error, MalformedResponseError)
        assert "ab" == error.partial.text

    def test_a_failed_reply_gives_nothing_more(self) -> None:
        """After a failure there are no more events, those that were held back included."""
        reply = reply_of([ROLE, Event(b"", b"{")])
        reply.rescue_with(refusing([]))
        seen, _ = seen_before(reply)

        assert ([], []) == (seen, finish(reply.next()))

    def test_other_exceptions_fail_the_answer_too(self) -> None:
        """An unexpected exception of a source is raised as it is, after the hooks were told."""
        hook, reply = Hooked(), reply_of(chunk("a"), KeyError("bug"))
        reply.on_end(hook)
        finish(reply.next())

        with pytest.raises(KeyError, match="bug"):
            finish(reply.next())
        assert [("failed", "KeyError")] == hook.endings


CLOCKS: list[tuple[str, list[Any], type[DeepSeekError] | None, float, float]] = [
    ("no headers' worth of anything", [60], FirstTokenTimeout, 2, 2),
    ("a role is no token", [1, ROLE, 60], FirstTokenTimeout, 2, 2),
    ("an empty delta is no token", [1, chunk(""), 0.5, chunk(reasoning_content=""), 60], FirstTokenTimeout, 2, 2),
    ("a role that comes too late", [60, ROLE, chunk("a")], FirstTokenTimeout, 2, 2),
    ("a thought is a token", [1, chunk(reasoning_content="a"), 60], StallTimeout, 3, 4),
    ("a tool call is a token", [1, chunk(tool_calls=[{"index": 0, "id": "c"}]), 60], StallTimeout, 3, 4),
    ("a stall", [chunk("a"), 2, chunk("b"), 60], StallTimeout, 3, 5),
    ("slow but alive", [chunk("a"), 2.9, chunk("b"), 2.9, chunk("c"), 2.9, chunk("d"), STOP, DONE], None, 0, 8.7),
    ("too long in all", [chunk("a"), *[2.0, chunk("b")] * 9], TotalTimeout, 10, 10),
]


@pytest.mark.parametrize(
    ("steps", "kind", "limit", "at"), [case[1:] for case in CLOCKS], ids=[case[0] for case in CLOCKS]
)
@pytest.mark.parametrize("is_stream", [True, False])
def test_clocks_end_what_takes_too_long(
    steps: list[Any],
    kind: type[DeepSeekError] | None,
    limit: float,
    at: float,
    is_stream: bool,  # noqa: FBT001
) -> None:
    """With 2 s to the first token, 3 s of silence and 10 s in all, the right clock ends the answer at its instant."""
    reply = reply_of(*steps, limits=Limits(first_token=2, stall=3, total=10), is_stream=is_stream)
    error: Any = None
    try:
        finish(reply.gather())
    except DeepSeekError as caught:
        error = caught

    assert kind is (error and type(error))
    assert pytest.approx(at) == reply.call.io.now()
    assert limit == (error.limit if error else 0)


def test_a_batch_that_comes_with_the_last_instant_is_late() -> None:
    """A preamble that arrives when the first token is due does not put the clock off."""
    reply = reply_of(2.0, [ROLE], limits=Limits(first_token=2, stall=3))
    _, error = seen_before(reply)

    assert isinstance(error, FirstTokenTimeout)


def test_the_callers_time_is_not_the_servers() -> None:
    """What the caller does between two looks at an answer counts for no clock but the total one."""
    reply = reply_of([ROLE], 1.0, chunk("a"), STOP, DONE, limits=Limits(first_token=2, stall=3))
    finish(reply.next())
    finish(reply.call.io.sleep(50))

    assert [chunk("a")] == [event.json() for event in finish(reply.next())]


class TestTaps:
    """What sees every event."""

    def test_taps_see_every_event_in_order(self) -> None:
        """Each tap sees each event as the caller gets it, the rewritten and the made-up ones too."""
        seen: list[tuple[int, Any]] = []
        reply = reply_of(chunk("a", role="assistant"), chunk("b", role="assistant", finish="stop"))
        reply.tap(lambda event: seen.append((1, event)))
        reply.tap(lambda event: seen.append((2, event)))
        handed = [event for _ in range(3) for event in finish(reply.next())]

        assert [(n, event) for event in handed for n in (1, 2)] == seen
        assert DONE is handed[-1]

    def test_taps_are_told_before_the_end(self) -> None:
        """The hooks of an answer are told its end only after its taps have seen its last event."""
        order: list[str] = []
        reply = reply_of(*said("a"))
        reply.tap(lambda event: order.append("done" if event.is_done else "event"))
        reply.on_end(lambda ending, _: order.append(ending))
        flat(reply)

        assert ["event", "event", "event", "done", "complete"] == order

    def test_a_held_preamble_is_seen_before_the_end(self) -> None:
        """What was held back until the answer was complete reaches the taps before the hooks."""
        order: list[str] = []
        reply = reply_of([ROLE, chunk(finish="length"), DONE])
        reply.rescue_with(refusing([]))
        reply.tap(lambda event: order.append("done" if event.is_done else "event"))
        reply.on_end(lambda ending, _: order.append(ending))
        flat(reply)

        assert ["event", "event", "done", "complete"] == order

    def test_taps_of_what_stays_see_what_is_shown(self) -> None:
        """A tap outside the rescuer sees what the caller gets, not the preamble of an attempt that was replaced."""
        seen: list[Any] = []
        reply = reply_of(ROLE, CUT)
        reply.rescue_with(offering([reply_of(*said("b"))]))
        reply.tap(lambda event: seen.append(event.data))
        handed = [event.data for _ in range(9) for event in finish(reply.next())]

        assert handed == seen

    def test_taps_of_a_failed_attempt_see_no_more(self) -> None:
        """A tap inside the rescuer saw its own attempt, and one that the replacement brings sees the replacement."""
        first, second = list[str](), list[str]()
        other = reply_of(*said("b"))
        other.tap(lambda event: second.append(event.data.decode()))
        reply = reply_of(chunk("a"), CUT)
        reply.tap(lambda event: first.append(event.data.decode()))
        reply.rescue_with(offering([other]))
        flat(reply)

        assert (1, 4) == (len(first), len(second))


def offering(others: list[Reply], asked: list[tuple[str, str]] | None = None, name: str = "") -> Rescuer:
    """Make a rescuer that gives the next of *others* each time, and None when there are none."""

    async def rescuer(reply: Reply, error: Exception) -> Reply | None:
        del reply
        if asked is not None:
            asked.append((name, type(error).__name__))
        return others.pop(0) if others else None

    return rescuer


def refusing(asked: list[tuple[str, str]], name: str = "") -> Rescuer:
    """Make a rescuer that lets the error stand."""
    return offering([], asked, name)


def raising(later: Exception, asked: list[tuple[str, str]], name: str = "") -> Rescuer:
    """Make a rescuer that fails itself."""

    async def rescuer(reply: Reply, error: Exception) -> Reply | None:
        del reply
        asked.append((name, type(error).__name__))
        raise later

    return rescuer


ENDINGS: list[tuple[str, list[Any], str, tuple[str, str | None], str]] = [
    ("read to the end", said("a"), "r", ("complete", None), "complete"),
    ("read to the end, closed", said("a"), "rc", ("complete", None), "complete"),
    ("read, closed twice", said("a"), "rcc", ("complete", None), "complete"),
    ("read, forgotten", said("a"), "rf", ("complete", None), "complete"),
    ("closed at once", said("a"), "c", ("abandoned", None), "abandoned"),
    ("closed after one", said("a"), "nc", ("abandoned", None), "abandoned"),
    ("closed twice", said("a"), "ncc", ("abandoned", None), "abandoned"),
    ("forgotten at once", said("a"), "f", ("abandoned", None), "abandoned"),
    ("forgotten after two", said("a"), "nnf", ("abandoned", None), "abandoned"),
    ("forgotten twice", said("a"), "ff", ("abandoned", None), "abandoned"),
    ("closed, then forgotten", said("a"), "ncf", ("abandoned", None), "abandoned"),
    ("forgotten, then closed", said("a"), "nfc", ("abandoned", None), "abandoned"),
    ("closed between finish and done", [chunk("a"), STOP, DONE], "nnc", ("complete", None), "complete"),
    ("failed", [chunk("a"), CUT], "r", ("failed", "StreamInterruptedError"), "failed"),
    ("failed, closed", [chunk("a"), CUT], "rc", ("failed", "StreamInterruptedError"), "failed"),
    ("failed, forgotten", [chunk("a"), CUT], "rf", ("failed", "StreamInterruptedError"), "failed"),
]


@pytest.mark.parametrize(
    ("steps", "actions", "expected", "outcome"), [case[1:] for case in ENDINGS], ids=[case[0] for case in ENDINGS]
)
def test_hooks_are_told_the_ending_once(
    steps: list[Any], actions: str, expected: tuple[str, str | None], outcome: str
) -> None:
    """However an answer ends, each hook is told once how, and the attempt is settled once."""
    hooks, reply = [Hooked(), Hooked()], reply_of(*steps)
    for hook in hooks:
        reply.on_end(hook)
    for action in actions:
        act(reply, action)

    assert [[expected]] * 2 == [hook.endings for hook in hooks]
    assert [outcome] == [attempt.outcome for attempt in reply.call.record.attempts]
    assert reply.call.record.times.total is not None


def act(reply: Reply, action: str) -> None:
    """Do one thing to a reply: (n)ext, (r)ead to the end, (c)lose, (f)orget."""
    if action == "n":
        finish(reply.next())
    elif action == "c":
        finish(reply.close())
    elif action == "f":
        reply.abandon()
    else:
        try:
            read(reply)
        except DeepSeekError:
            return


@pytest.mark.parametrize(
    ("steps", "actions", "endings", "is_aborted"),
    [
        (said("a"), "rc", [True], False),
        (said("a"), "nc", [False], False),
        ([chunk("a"), STOP], "rc", [True], False),
        ([chunk("a"), STOP], "nnc", [False], False),
        (said("a"), "nf", [], True),
        (said("a"), "rf", [], True),
        (said("a"), "rcf", [True], False),
        (said("a"), "ff", [], True),
        ([CUT], "r", [False], False),
    ],
)
def test_sources_are_let_go(steps: list[Any], actions: str, endings: list[bool], *, is_aborted: bool) -> None:
    """A source learns whether the answer was complete; one that nobody closed is aborted instead, once."""
    reply = reply_of(*steps)
    for action in actions:
        act(reply, action)

    assert (endings, is_aborted) == (source_of(reply).endings, source_of(reply).is_aborted)


class TestRescue:
    """Another answer in the place of one that failed."""

    def test_a_replacement_before_content_is_not_seen(self) -> None:
        """The preamble of the attempt that failed is held back, and the caller sees the other answer alone."""
        reply = reply_of(ROLE, chunk(reasoning_content=""), CUT)
        reply.rescue_with(offering([reply_of(*said("b"))]))

        assert [ROLE, chunk("b"), STOP, "done"] == flat(reply)
        assert "b" == reply.progress.partial().text

    def test_a_replacement_after_content_goes_on(self) -> None:
        """What the caller has seen stays, and the other answer follows."""
        reply = reply_of(ROLE, chunk("a"), CUT)
        shown: list[bool] = []

        async def rescuer(reply: Reply, error: Exception) -> Reply:
            del error
            shown.append(reply.has_shown)
            return other

        other = reply_of(*said("b"))
        reply.rescue_with(rescuer)
        found = flat(reply)

        assert [True] == shown
        assert "ab" == "".join(item["choices"][0]["delta"].get("content", "") for item in found if item != "done")
        assert "done" == found[-1]

    def test_a_switch_in_mid_stream_says_its_role_once(self) -> None:
        """The accumulator of openai gets one role, whichever sources the stream came from."""
        reply = reply_of(ROLE, chunk("a"), CUT)
        reply.rescue_with(offering([reply_of(*said("b"))]))
        total: dict[object, object] = {}
        for item in flat(reply)[:-1]:
            total = accumulate_delta(total, item["choices"][0]["delta"])

        assert {"role": "assistant", "content": "ab"} == total

    def test_the_rescuer_is_told_whether_anything_was_shown(self) -> None:
        """Before the first token nothing was shown; of a plain call nothing ever is."""
        shown: list[bool] = []

        async def rescuer(reply: Reply, error: Exception) -> None:
            del error
            shown.append(reply.has_shown)

        for first, is_stream in (ROLE, True), (chunk("a"), True), (chunk("a"), False):
            reply = reply_of(first, CUT, is_stream=is_stream)
            reply.rescue_with(rescuer)
            with pytest.raises(StreamInterruptedError):
                finish(reply.gather())

        assert [False, True, False] == shown

    def test_rescuers_are_asked_from_the_inside_out(self) -> None:
        """The innermost is asked first; one that passes leaves it to the next; the first to help is the last asked."""
        asked: list[tuple[str, str]] = []
        reply = reply_of(CUT)
        reply.rescue_with(refusing(asked, "inner"))
        reply.rescue_with(offering([reply_of(*said("b"))], asked, "middle"))
        reply.rescue_with(refusing(asked, "outer"))

        assert "done" == flat(reply)[-1]
        assert [("inner", "StreamInterruptedError"), ("middle", "StreamInterruptedError")] == asked

    def test_a_rescuer_that_raises_changes_the_error(self) -> None:
        """The next rescuer learns of the later error, and it is the one that is raised."""
        asked: list[tuple[str, str]] = []
        later = SystemResourceError("later", request=None)
        reply = reply_of(CUT)
        reply.rescue_with(raising(later, asked, "inner"))
        reply.rescue_with(refusing(asked, "outer"))

        assert later is seen_before(reply)[1]
        assert [("inner", "StreamInterruptedError"), ("outer", "SystemResourceError")] == asked

    def test_an_outer_rescuer_may_help_after_an_inner_one_raised(self) -> None:
        """A rescuer that fails does not end the call while another can help."""
        reply = reply_of(CUT)
        reply.rescue_with(raising(KeyError(), []))
        reply.rescue_with(offering([reply_of(*said("b"))]))

        assert "done" == flat(reply)[-1]

    def test_nobody_helps(self) -> None:
        """Where every rescuer passes, the first error is raised as it was."""
        asked: list[tuple[str, str]] = []
        reply = reply_of(chunk("a"), CUT)
        reply.rescue_with(refusing(asked))
        reply.rescue_with(refusing(asked))
        seen, error = seen_before(reply)

        assert ([chunk("a")], "a", 2) == (seen, reply.progress.partial().text, len(asked))
        assert isinstance(error, StreamInterruptedError)

    def test_a_replacement_that_fails_is_replaced(self) -> None:
        """The same rescuer is asked for each failure."""
        asked: list[tuple[str, str]] = []
        reply = reply_of(CUT)
        others = [reply_of(ROLE, CUT), reply_of(ROLE, STOP), reply_of(*said("c"))]
        reply.rescue_with(offering(others, asked))

        assert [ROLE, chunk("c"), STOP, "done"] == flat(reply)
        assert ["StreamInterruptedError", "StreamInterruptedError", "EmptyAnswerError"] == [kind for _, kind in asked]

    def test_rescuers_of_a_replacement_are_asked_first(self) -> None:
        """A replacement brings its own rescuers, inside the one that supplied it."""
        asked: list[tuple[str, str]] = []
        other = reply_of(CUT)
        other.rescue_with(offering([reply_of(*said("c"))], asked, "of the other"))
        reply = reply_of(CUT)
        reply.rescue_with(offering([other], asked, "own"))
        reply.rescue_with(refusing(asked, "outer"))

        assert "done" == flat(reply)[-1]
        assert ["own", "of the other"] == [name for name, _ in asked]

    def test_hooks_inside_end_with_the_attempt(self) -> None:
        """A stage inside the rescuer learns that its attempt failed; a stage outside learns how the call ends."""
        inner, outer, others = Hooked(), Hooked(), Hooked()
        other = reply_of(*said("b"))
        other.on_end(others)
        reply = reply_of(chunk("a"), CUT)
        reply.on_end(inner)
        reply.rescue_with(offering([other]))
        reply.on_end(outer)
        flat(reply)

        assert [("failed", "StreamInterruptedError")] == inner.endings
        assert [("complete", None)] == outer.endings == others.endings

    def test_hooks_between_rescuers_end_with_what_they_saw(self) -> None:
        """When an outer rescuer helps, the legs inside it have failed, and those outside have not."""
        hooks = [Hooked(), Hooked(), Hooked()]
        reply = reply_of(CUT)
        for hook, rescuer in zip(hooks[:2], [refusing([]), offering([reply_of(*said("b"))])], strict=True):
            reply.on_end(hook)
            reply.rescue_with(rescuer)
        reply.on_end(hooks[2])
        flat(reply)

        failed = [("failed", "StreamInterruptedError")]
        assert [failed, failed, [("complete", None)]] == [hook.endings for hook in hooks]

    def test_every_hook_learns_of_a_final_failure(self) -> None:
        """When nobody helps, all legs end as failed, once, with the error that is raised."""
        hooks = [Hooked(), Hooked()]
        reply = reply_of(CUT)
        reply.on_end(hooks[0])
        reply.rescue_with(raising(KeyError(), []))
        reply.on_end(hooks[1])
        with pytest.raises(KeyError):
            finish(reply.next())
        finish(reply.close())

        assert [[("failed", "StreamInterruptedError")], [("failed", "KeyError")]] == [hook.endings for hook in hooks]

    def test_a_rescue_that_is_cancelled_tells_no_hook_twice(self) -> None:
        """When the caller is cancelled while a rescuer works, closing ends what has not ended."""

        async def cancelled(reply: Reply, error: Exception) -> Reply | None:
            del reply, error
            raise KeyboardInterrupt

        hooks = [Hooked(), Hooked()]
        reply = reply_of(CUT)
        reply.on_end(hooks[0])
        reply.rescue_with(cancelled)
        reply.on_end(hooks[1])
        with pytest.raises(KeyboardInterrupt):
            finish(reply.next())
        finish(reply.close())

        assert [[("failed", "StreamInterruptedError")], [("abandoned", None)]] == [hook.endings for hook in hooks]

    def test_the_failed_source_is_closed_first(self) -> None:
        """By the time a rescuer is asked, the connection of what failed has been let go."""
        reply = reply_of(CUT)
        first, closed = source_of(reply), list[list[bool]]()

        async def rescuer(reply: Reply, error: Exception) -> Reply:
            del reply, error
            closed.append(list(first.endings))
            return reply_of(*said("b"))

        reply.rescue_with(rescuer)
        flat(reply)
        finish(reply.close())

        assert [[False]] == closed
        assert [True] == source_of(reply).endings
        assert first is not reply.source

    def test_nothing_is_held_without_a_rescuer(self) -> None:
        """Where nothing could take over, the preamble is handed on at once."""
        reply = reply_of(ROLE, 60, chunk("a"))

        assert [ROLE] == [event.json() for event in finish(reply.next())]
        assert 0 == reply.call.io.now()

    def test_the_preamble_is_held_until_the_first_token(self) -> None:
        """Where something could take over, the preamble comes with the first token."""
        reply = reply_of(ROLE, 60, [chunk(reasoning_content=""), chunk("a")], chunk("b"), STOP, DONE)
        reply.rescue_with(refusing([]))

        assert [[ROLE, chunk(reasoning_content=""), chunk("a")], [chunk("b")], [STOP], ["done"]] == read(reply)

    def test_an_answer_without_tokens_is_released_at_its_end(self) -> None:
        """A preamble that was held until the answer was complete is not lost."""
        reply = reply_of(ROLE, chunk(finish="length"), DONE)
        reply.rescue_with(refusing([]))

        assert [ROLE, chunk(finish="length"), "done"] == flat(reply)

    @pytest.mark.parametrize(
        ("filler", "count"), [(chunk(""), 65), ({**chunk(""), "x": "y" * 100_000}, 3)], ids=["64 events", "256 KiB"]
    )
    def test_the_preamble_is_bounded(self, filler: dict[str, Any], count: int) -> None:
        """A preamble that is long in events or bytes is handed on, and counts as shown."""
        reply = reply_of(*[filler] * 200)
        reply.rescue_with(refusing([]))

        assert (count, True) == (len(finish(reply.next())), reply.has_shown)

    def test_the_history_of_a_rescue_is_on_the_record(self) -> None:
        """Every attempt has an outcome, and the answer is the last one's."""
        call = make_call()
        backend = ScriptedBackend([chunk("a"), CUT], [ROLE, 3, *said("b", usage=USAGE)])
        reply = finish(backend(call))

        async def again(reply: Reply, error: Exception) -> Reply:
            del reply, error
            return await backend(call)

        reply.rescue_with(again)
        flat(reply)
        first, second = call.record.attempts

        assert (("failed", "interrupted", True), ("complete", None, False)) == (
            (first.outcome, first.reason, first.is_possibly_billed),
            (second.outcome, second.reason, second.is_possibly_billed),
        )
        assert ("stop", USAGE) == (call.record.finish_reason, call.record.usage)
        assert (0, 3, 0, 3) == (first.first_token, second.first_token, call.record.times.first_event, second.ended)


class TestGather:
    """All of an answer at once."""

    def test_a_stream_is_folded(self) -> None:
        """The chunks of a plain call become its JSON body, and the source is closed as done."""
        reply = reply_of(*said("a", "b", usage=USAGE), is_stream=False)
        answer = json.loads(finish(reply.gather()))

        assert ("ab", "stop", USAGE) == (
            answer["choices"][0]["message"]["content"],
            answer["choices"][0]["finish_reason"],
            answer["usage"],
        )
        assert ([True], False) == (source_of(reply).endings, reply.has_shown)

    def test_a_whole_answer_is_handed_on_as_it_is(self) -> None:
        """What came as one body leaves as the same bytes."""
        event = whole({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "x": 1.50})
        hook, reply = Hooked(), reply_of(event, is_stream=False, is_direct=True)
        reply.on_end(hook)

        assert event.data == finish(reply.gather())
        assert [("complete", None)] == hook.endings

    def test_a_replacement_starts_over(self) -> None:
        """Nothing of an attempt that failed, however far it got, is in the answer."""
        reply = reply_of(ROLE, chunk("wrong"), CUT, is_stream=False)
        reply.rescue_with(offering([reply_of(*said("right"))]))
        answer = json.loads(finish(reply.gather()))

        assert "right" == answer["choices"][0]["message"]["content"]

    def test_a_whole_replacement_starts_over(self) -> None:
        """The other answer may come in another way than the one that failed."""
        reply = reply_of(chunk("wrong"), CUT, is_stream=False)
        body = whole({"choices": [{"message": {"content": "right"}, "finish_reason": "stop"}]})
        reply.rescue_with(offering([reply_of(body, is_stream=False)]))

        assert body.data == finish(reply.gather())

    def test_a_failure_closes_the_source(self) -> None:
        """A plain call that fails leaves no connection open."""
        reply = reply_of(chunk("a"), CUT, is_stream=False)
        with pytest.raises(StreamInterruptedError):
            finish(reply.gather())

        assert source_of(reply).endings
        assert not any(source_of(reply).endings)

    @pytest.mark.parametrize(
        "bad",
        [
            {"choices": [{"index": 0, "delta": [1]}]},
            chunk(index=1, tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]),
            {"choices": [{"index": 1, "text": 5}]},
            {"choices": [{"index": 0, "text": "b", "logprobs": {"tokens": ["x"]}}, {"index": 1, "text": ["b"]}]},
        ],
        ids=["delta", "arguments", "text", "text in parts"],
    )
    def test_chunks_that_do_not_fit_together_are_malformed(self, bad: dict[str, Any]) -> None:
        """What cannot be folded is told as what it is, not as a mistake of this library."""
        reply = reply_of(chunk("a"), bad, STOP, DONE, is_stream=False)
        with pytest.raises(MalformedResponseError):
            finish(reply.gather())


class TestWhole:
    """A whole answer for a caller that wants a stream."""

    def test_it_is_taken_apart(self) -> None:
        """The stream has the content, the finish reason and the usage, and ends with `[DONE]`."""
        message = {"role": "assistant", "content": "a", "reasoning_content": "b"}
        body = {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message,
                "finish_reason": "stop"}], "usage": USAGE}  # fmt: skip
        first, last, done = flat(reply_of(whole(body)))

        assert (message, "stop", USAGE, "done") == (
            first["choices"][0]["delta"],
            last["choices"][0]["finish_reason"],
            last["usage"],
            done,
        )

    @pytest.mark.parametrize(
        "body",
        [
            b"[]",
            b"5",
            b"{",
            b'{"choices":["x"]}',
            b'{"choices":[{"message":"x"}]}',
            b"<html>",
            b'{"choices":5}',
            b'{"object":[]}',
        ],
    )
    def test_what_is_no_answer_is_malformed(self, body: bytes) -> None:
        """A body that is no answer raises with its text, whether a stream or a plain answer was wanted."""
        for is_stream in (True, False):
            reply = reply_of(Event(body, body, is_whole=True), is_stream=is_stream)
            with pytest.raises(MalformedResponseError) as caught:
                finish(reply.gather())

            assert body.decode() == caught.value.raw


class TestOrdinary:
    """Bytes that may go past the events."""

    UPSTREAM: Any = object()

    def open(self, *steps: Step, **changes: Any) -> Reply:
        """Give a reply whose source has bytes of its own."""
        reply = reply_of(*steps, **changes)
        source_of(reply).upstream = self.UPSTREAM
        return reply

    def test_not_before_an_ordinary_delta(self) -> None:
        """Before the shape of a delta is known, every event is looked at."""
        reply = self.open(ROLE, chunk("a"))
        found = [reply.ordinary() is not None]
        for _ in range(2):
            finish(reply.next())
            found.append(reply.ordinary() is not None)

        assert [False, False, True] == found

    def test_they_are_read_taken_and_timed(self) -> None:
        """The way past gives the source's bytes, what takes them, and the clock."""
        reply = self.open(chunk("a"))
        finish(reply.next())
        found = reply.ordinary()

        assert found is not None
        assert (self.UPSTREAM, reply.clock) == (found[0], found[2])
        assert found[1](encode(chunk("b")).raw)
        assert "ab" == reply.progress.partial().text

    def test_not_past_a_tap(self) -> None:
        """What must see every event sees every event."""
        reply = self.open(chunk("a"))
        finish(reply.next())
        reply.tap(lambda _: None)

        assert reply.ordinary() is None

    def test_not_past_the_end_or_a_failure(self) -> None:
        """An answer that ended, or is about to fail, has no bytes to hand on."""
        ended, failing = self.open([chunk("a"), STOP, DONE]), self.open([chunk("a"), Event(b"", b"{")])
        finish(ended.next())
        finish(failing.next())

        assert (None, None) == (ended.ordinary(), failing.ordinary())

    def test_not_where_there_are_none(self) -> None:
        """A source without bytes of its own, or with an event half read, is read by events."""
        reply = reply_of(chunk("a"))
        finish(reply.next())

        assert reply.ordinary() is None


def test_closed_during_a_rescue() -> None:
    """An answer that takes over after the caller has closed the stream, in another thread, is let go of at once."""
    call = make_call()
    backend = ScriptedBackend([chunk(role="assistant"), ConnectionResetError("cut")], said("Hi"))
    reply = finish(backend(call))
    endings: list[str] = []

    async def rescue(reply: Reply, error: Exception) -> Reply:
        del error
        await reply.close()
        other = await backend(call)
        other.on_end(lambda ending, _: endings.append(ending))
        return other

    reply.rescue_with(rescue)
    with pytest.raises(StreamInterruptedError, match="closed before its end"):
        finish(reply.next())

    assert ["abandoned"] == endings
    assert [False] == backend.sources[1].endings


class TestChecks:
    """What judges a whole answer before the caller gets it."""

    def test_a_check_sees_the_whole_answer_and_may_mend_it(self) -> None:
        """Each check gets the JSON of a plain answer, the inner one first, and the next one gets what it made of it."""
        seen: list[bytes] = []
        reply = reply_of(chunk("a"), chunk("b"), STOP, DONE, is_stream=False)
        reply.check_with(lambda answer: answer.replace(b"ab", b"cd"))
        reply.check_with(seen.append)
        answer = json.loads(finish(reply.gather()))

        assert "cd" == answer["choices"][0]["message"]["content"]
        assert [answer] == [json.loads(found) for found in seen]

    def test_what_a_check_raises_is_a_failure(self) -> None:
        """Without a rescuer the caller gets the error; hooks learn of a failure, and the record tells it."""
        hook, error = Hooked(), EmptyAnswerError(response=stub_response(200, "http://u"))
        reply = reply_of(chunk("a"), chunk(finish="stop", usage=USAGE), DONE, is_stream=False)
        reply.check_with(finding_fault(error))
        reply.on_end(hook)
        with pytest.raises(EmptyAnswerError) as caught:
            finish(reply.gather())
        record = reply.call.record

        assert error is caught.value
        assert [("failed", "EmptyAnswerError")] == hook.endings
        assert ("failed", "empty_answer", "failed") == (record.ending, record.reason, record.attempts[0].outcome)

    def test_another_answer_may_take_the_place(self) -> None:
        """The rescuer of the stage that found fault may answer otherwise; that answer is judged by who is left."""
        other: list[Step] = [chunk("good"), chunk(finish="stop", usage=USAGE), DONE]
        judged: list[bytes] = []
        backend = ScriptedBackend([chunk("bad"), chunk(finish="stop", usage=USAGE), DONE], other)
        call = make_call(is_stream=False)
        reply = finish(backend(call))
        reply.check_with(finding_fault(EmptyAnswerError(response=stub_response(200, "http://u"))))

        async def rescue(reply: Reply, error: Exception) -> Reply:  # noqa: ARG001
            assert isinstance(error, EmptyAnswerError)
            return await backend(call)

        reply.rescue_with(rescue)
        reply.check_with(judged.append)
        answer = json.loads(finish(reply.gather()))

        assert "good" == answer["choices"][0]["message"]["content"]
        assert [answer] == [json.loads(found) for found in judged]
        assert ["failed", "complete"] == [attempt.outcome for attempt in call.record.attempts]
        assert Usage(hit=0, miss=6, output=4, reasoning=0) == call.record.usage_told

    def test_streams_are_not_judged(self) -> None:
        """What has been shown cannot be judged."""
        reply = reply_of(chunk("a"), STOP, DONE)
        reply.check_with(finding_fault(AssertionError()))

        assert "done" == flat(reply)[-1]


def finding_fault(error: BaseException) -> Any:
    """Give a check that finds fault with every answer."""

    def check(_: bytes) -> None:
        raise error

    return check
