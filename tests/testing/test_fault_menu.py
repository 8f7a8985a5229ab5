"""The menu of faults as values."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.testing import EstimatedVocabulary, Fault, RecordedRequest, Reply, ToolCall
from deepseek_sdk.testing.answer import plan_answer
from deepseek_sdk.testing.encoding import Envelope, encode_answer, usage_block
from deepseek_sdk.testing.fault_effects import _BLUNT, _REWRITING, blunt_script, is_blunt, rewritten_script
from deepseek_sdk.testing.faults import FaultQueue, as_fault
from deepseek_sdk.testing.job import Job

if TYPE_CHECKING:
    from deepseek_sdk.testing.script import Script

REQUEST = RecordedRequest(number=0, method="POST", path="/chat/completions")


def test_the_menu_is_long_and_says_what_each_fault_is() -> None:
    """At least 25 faults, each with a line that ends like a sentence."""
    menu = Fault.menu()

    assert len(menu) > 25
    assert all(text.endswith(".") for text in menu.values())


def test_every_fault_has_an_effect() -> None:
    """The menu and the tables of effects hold the same names."""
    named = {name for name in Fault.menu() if not name.startswith("status_")}

    assert set(_BLUNT) | set(_REWRITING) == named
    assert not set(_BLUNT) & set(_REWRITING)


@pytest.mark.parametrize("name", Fault.menu())
def test_every_name_gives_its_fault(name: str) -> None:
    """A name of the menu stands for the fault with its usual parameters."""
    fault = Fault.named(name)

    assert name.startswith(fault.name)
    assert hash(fault) == hash(Fault.named(name))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("cut_by_eof(after_events=2)", Fault.cut_by_eof(after_events=2)),
        ("stall(after_events=1, seconds=0.5)", Fault.stall(after_events=1, seconds=0.5)),
        ("stall(seconds=None)", Fault.stall()),
        ("unknown_finish_reason(reason=tired)", Fault.unknown_finish_reason(reason="tired")),
        ("status_429_retry_after_ms", Fault.status(429, retry_after_s=1.0, form="milliseconds")),
        ("status_429_retry_after_ms(retry_after_s=3)", Fault.status(429, retry_after_s=3, form="milliseconds")),
        ("status_503(message=busy)", Fault.status(503, message="busy")),
    ],
)
def test_parameters_may_be_written_out(text: str, fault: Fault) -> None:
    """A command line can name a fault with its parameters."""
    assert fault == Fault.named(text)


@pytest.mark.parametrize("text", ["cut_by_eo", "nonsense", "stall(minutes=1)", "menu", "named"])
def test_unknown_names_are_refused(text: str) -> None:
    """What the menu does not have is an error at once."""
    with pytest.raises(ValueError, match=text.partition("(")[0]):
        Fault.named(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cut_by_oef", "perhaps cut_by_eof, cut_by_close or cut_by_reset"),
        ("nonsense", r"see Fault\.menu\(\)"),
        ("stall(minutes=1)", "stall takes after_events or seconds, not 'minutes'"),
        ("cut_by_eof(3)", "cut_by_eof takes after_events, not '3'"),
        ("gzip(level=9)", "gzip takes no arguments, not 'level'"),
        ("status_429(code=500)", "status_429 takes retry_after_s, form or message, not 'code'"),
    ],
)
def test_a_misspelt_name_gets_a_hint(text: str, hint: str) -> None:
    """The error names what was probably meant, in words."""
    with pytest.raises(ValueError, match=hint):
        Fault.named(text)


MAKERS = [name for name in Fault.menu() if not name.startswith("status_")]
ARGUMENTS = [(name, parameter) for name in MAKERS for parameter, _ in Fault.named(name).parameters]
ARGUMENTS += [("status_429", "retry_after_s"), ("status_429", "form"), ("status_429", "message")]


def make(name: str, **arguments: object) -> Fault:
    """Make a fault by its function."""
    if name.startswith("status_"):
        return Fault.status(int(name.removeprefix("status_")), **arguments)  # type: ignore[arg-type]
    return getattr(Fault, name)(**arguments)  # type: ignore[no-any-return]


@pytest.mark.parametrize("value", [[], -1, True, math.nan])
@pytest.mark.parametrize(("name", "parameter"), ARGUMENTS)
def test_every_argument_is_checked_when_the_fault_is_made(name: str, parameter: str, value: object) -> None:
    """A value of a wrong type, or below what there can be, is refused by name, whichever way the fault is made."""
    message = f"{name}: {parameter} must be .*, not "
    usual = make(name)
    strange = tuple((known, value if known == parameter else kept) for known, kept in usual.parameters)

    with pytest.raises(ValueError, match=message):
        make(name, **{parameter: value})
    with pytest.raises(ValueError, match=message):
        Fault(usual.name, strange)
    with pytest.raises(ValueError, match=message):
        Fault.named(f"{name}({parameter}={json.dumps(value)})")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cut_by_eof(after_events=x)", "after_events must be a whole number, 0 or more, not 'x'"),
        ("cut_by_eof(after_events=1.5)", "after_events must be a whole number"),
        ("stall(seconds)", "seconds must be a number of seconds, 0 or more, not ''"),
        ("slow_headers(seconds=None)", "seconds must be a number of seconds"),
        ("keep_alive_forever(every_s=0)", "every_s must be a number of seconds above 0"),
        ("octet_stream_error(code=200)", "code must be an HTTP status from 400 to 599"),
        ("status_429(form=hours)", "form must be 'seconds', 'milliseconds' or 'date', not 'hours'"),
    ],
)
def test_values_that_cannot_be(text: str, told: str) -> None:
    """The message says what an argument must be."""
    with pytest.raises(ValueError, match=told):
        Fault.named(text)


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        ("nonsense", (), "no fault is named 'nonsense'"),
        ("status_x", (("code", "x"),), "status_x is made of code, retry_after_s, form or message, not of code"),
        ("stall", (), "stall is made of after_events or seconds, not of none"),
        ("gzip", (("level", 9),), "gzip is made of no arguments, not of level"),
    ],
)
def test_fault_without_an_effect(name: str, parameters: tuple[tuple[str, object], ...], told: str) -> None:
    """A value that no effect could be made of is not a fault."""
    with pytest.raises(ValueError, match=told):
        Fault(name, parameters)


@pytest.mark.parametrize("fault", [Fault.cut_by_eof(), Fault.status(503), Fault.named("status_429_retry_after_ms")])
def test_repr_is_what_one_types(fault: Fault) -> None:
    """A fault prints as the call that makes it."""
    assert fault == eval(repr(fault), {"Fault": Fault})  # noqa: S307  what it prints is an expression


def test_a_list_gives_one_fault_per_request() -> None:
    """After its end requests are healthy; more can be queued."""
    queue = FaultQueue(["stall", None, Fault.gzip()])
    taken = [queue.take(REQUEST) for _ in range(4)]
    queue.add(["missing_done"])

    assert [Fault.stall(), None, Fault.gzip(), None] == taken
    assert Fault.missing_done() == queue.take(REQUEST)


@pytest.mark.parametrize("source", ["gzip", Fault.gzip(), lambda _: "gzip"])
def test_a_single_fault_befalls_every_request(source: object) -> None:
    """A fault, a name and a callable do not run out."""
    queue = FaultQueue(source)  # type: ignore[arg-type]

    assert [Fault.gzip()] * 3 == [queue.take(REQUEST) for _ in range(3)]


def test_random_faults_repeat_with_their_seed() -> None:
    """Equal seeds draw equal faults, at about the rate asked for."""
    first, second, other = (FaultQueue(None, rate=0.5, seed=seed) for seed in (1, 1, 2))
    draws = [[queue.take(REQUEST) for _ in range(400)] for queue in (first, second, other)]

    assert draws[0] == draws[1] != draws[2]
    assert 150 < sum(fault is not None for fault in draws[0]) < 250


def test_random_faults_come_from_the_mix() -> None:
    """A mix limits the draw."""
    queue = FaultQueue(None, rate=1, mix=["gzip"])

    assert {Fault.gzip()} == {queue.take(REQUEST) for _ in range(5)}


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_share(rate: float) -> None:
    """Any other number is refused."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        FaultQueue(None, rate=rate)


def test_other_values_are_refused() -> None:
    """A fault is a fault, a name or None."""
    with pytest.raises(TypeError, match="not 3"):
        as_fault(3)  # type: ignore[arg-type]


ENVELOPE = Envelope(id="x", created=0, first_token_s=0.0, token_s=0.1, keep_alive_s=None, usage_shape="finish")
REPLIES = {
    "text": Reply(content="One two 三 🙂.", reasoning="Hm."),
    "calls": Reply(tool_calls=[ToolCall("f", {"a": 1})], reasoning=""),
    "nothing": Reply(content="", reasoning=""),
}


def healthy(reply: Reply, *, is_stream: bool, is_chat: bool, thinking: bool) -> Script:
    """Write down an answer without faults."""
    job = Job(
        model="deepseek-flash",
        ids=[1, 2, 3],
        thinking=thinking,
        thinks_now=thinking,
        max_tokens=100,
        is_stream=is_stream,
        is_chat=is_chat,
        include_usage=thinking,
    )
    answer = plan_answer(job, reply, EstimatedVocabulary(), asked="", salt="")
    return encode_answer(job, answer, reply, ENVELOPE, usage_block(job, answer, reply, hit_tokens=0))


@pytest.mark.parametrize("name", Fault.menu())
def test_every_fault_befalls_every_answer(name: str) -> None:
    """Whatever was asked for and answered, a fault makes a script of it whose parts come in the order of their time."""
    fault = Fault.named(name)
    modes = ((True, True), (True, False), (False, False))
    for reply, is_stream, (is_chat, thinking) in itertools.product(REPLIES.values(), (True, False), modes):
        answer = healthy(reply, is_stream=is_stream, is_chat=is_chat, thinking=thinking)
        blunt = is_blunt(fault)
        script = blunt_script(fault, is_stream=is_stream) if blunt else rewritten_script(fault, answer)
        times = [part.at for part in script.parts]

        assert sorted(times) == times
        assert "content-type" in script.headers


def test_no_fault_changes_nothing() -> None:
    """A healthy answer stays as it is."""
    script = healthy(REPLIES["text"], is_stream=True, is_chat=True, thinking=True)

    assert script is rewritten_script(None, script)
