"""Whatever goes wrong, a call is answered completely, by whoever can, or raises a clean error in bounded time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import openai
import pytest

from deepseek_sdk import Deadlines, DeepSeekError, RetryPolicy, Route, RuleEngine, errors, report
from deepseek_sdk.errors import REASONS, classify
from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Fault, Reply
from tests.raw_server import without_certificates  # noqa: F401  a fixture
from tests.test_faults import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Driver

REPLY = Reply(content="One two 五 🙂", reasoning="Hm.")
OTHER = Reply(content="The fallback's own words.", reasoning="So.")
RULES = "Nobody is there."
WAYS = ("plain", "stream")
CHAINS = ("fallback", "rules", "none")

# What never ends by itself is waited for no longer than this; all other clocks are only there to end a test that hangs.
SILENT = {"no_answer", "keep_alive_forever", "stall", "stall_with_keep_alives"}
SILENCE_S, TOTAL_S = 0.3, 4.0

# What strikes in the middle, struck before the first token instead: a stream has shown nothing yet.
EARLY: dict[str, Any] = {
    "cut_by_eof(after_events=1)": errors.StreamInterruptedError,
    "cut_by_close(after_events=1)": errors.StreamInterruptedError,
    "cut_by_broken_chunking(after_events=1)": errors.StreamInterruptedError,
    "cut_by_reset(after_events=1)": errors.StreamInterruptedError,
    "cut_mid_event(after_events=1)": errors.StreamInterruptedError,
    "stall(after_events=1)": errors.FirstTokenTimeout,
    "stall_with_keep_alives(after_events=1)": errors.FirstTokenTimeout,
    "malformed_event(after_events=1)": errors.MalformedResponseError,
    "error_event_late(after_events=1)": errors.ServerEventError,
    "insufficient_system_resource(after_events=1)": errors.SystemResourceError,
    "content_filter(after_events=1)": "prefix",
}
# The same as without the header, after a wait.
ASKING_TO_WAIT: dict[str, Any] = {
    f"status_{code}_retry_after{form}(retry_after_s=0.02)": kind
    for code, kind in ((429, openai.RateLimitError), (503, openai.InternalServerError))
    for form in ("", "_ms", "_date")
}
FAULTS = {**OUTCOMES, **EARLY, **ASKING_TO_WAIT}

# By the time these show, a stream has shown tokens: nobody can take over any more.
AFTER_TOKENS = {name.partition("(")[0] for name in EARLY} | {"missing_finish_reason", "unknown_finish_reason"}
# Another target would refuse these requests, too.
FINAL = {"octet_stream_error", "status_400", "status_409", "status_413", "status_422"}
# Not asked again at the same place: it was silent, its key or model is refused, or asking again mends nothing.
ASKED_ONCE = {
    *FINAL,
    *SILENT,
    *("malformed_event", "html_200", "unknown_finish_reason", "status_401", "status_402", "status_404"),
}


class Fate(NamedTuple):
    """
    What becomes of a call whose primary fails in the same way each time.

    Attributes:
        outcome: "whole", "prefix" or "nothing" of the primary's answer, or the error of each attempt.
        is_open: Another target may answer: nothing was shown, and the request itself is not refused.
        attempts: How often the primary is asked, with one retry.
    """

    outcome: Any
    is_open: bool
    attempts: int


def fate(fault: str, way: str, chain: str) -> Fate:
    """Say what becomes of a call."""
    name, outcome = fault.partition("(")[0], FAULTS[fault]
    if isinstance(outcome, dict):
        outcome = outcome[""]
    has_shown = way == "stream" and name in AFTER_TOKENS and fault not in EARLY
    is_failure = not isinstance(outcome, str)
    # Where a further route could answer at once the same one is not asked again.
    is_asked_again = is_failure and not has_shown and name not in ASKED_ONCE and chain != "fallback"
    return Fate(outcome, is_failure and not has_shown and name not in FINAL, 2 if is_asked_again else 1)


@pytest.fixture(scope="module")
def primary() -> Iterator[Emulator]:
    """Keep one failing server for all calls."""
    with Emulator(replies=REPLY, vocabulary=EstimatedVocabulary()) as server:
        yield server


@pytest.fixture(scope="module")
def fallback() -> Iterator[Emulator]:
    """Keep one healthy server for all calls."""
    with Emulator(replies=OTHER, vocabulary=EstimatedVocabulary()) as server:
        yield server


@pytest.fixture(scope="module")
def routes(fallback: Emulator) -> dict[str, Any]:
    """Keep what may answer in the primary's place, by the name of the chain."""
    patient = Deadlines(first_token=TOTAL_S, stall=TOTAL_S)
    other = Route("deepseek-v4-pro", name="fallback", base_url=fallback.url, api_key="another-key", deadlines=patient)
    return {"fallback": [other], "rules": [RuleEngine(default=RULES)], "none": []}


def client_for(driver: Driver, primary: Emulator, fault: str, routes: list[Any]) -> Any:
    """Make a client with one quick retry, and with short clocks for what would never end."""
    silence = SILENCE_S if fault.partition("(")[0] in SILENT else TOTAL_S
    return driver.client(
        base_url=primary.url,
        routes=routes,
        deadlines=Deadlines(first_token=silence, stall=silence, total=TOTAL_S),
        retry=RetryPolicy(max_retries=1, first_wait=0.01),
    )


def ask(driver: Driver, client: Any, way: str) -> tuple[str, Any]:
    """Make a call and give its text, and what `report()` reads."""
    answer = driver.create(client, stream=way == "stream")
    if way == "stream":
        return driver.stream_text(answer), answer
    return answer.choices[0].message.content, answer


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_fault(driver: Driver, primary: Emulator, routes: dict[str, Any], fault: str, way: str, chain: str) -> None:
    """A call ends in the full text of whoever answers, or in its own error; never in half an answer, never late."""
    primary.faults = Fault.named(fault)
    expected = fate(fault, way, chain)
    client = client_for(driver, primary, fault, routes[chain])
    started = time.monotonic()
    if isinstance(expected.outcome, str):
        check_own_answer(expected, *ask(driver, client, way))
    elif expected.is_open and chain != "none":
        check_other_answer(expected, chain, *ask(driver, client, way))
    else:
        with pytest.raises(openai.OpenAIError) as caught:
            ask(driver, client, way)
        check_error(fault, expected, caught.value)

    # The call's own clock ends at that; the rest is a slow machine's.
    assert time.monotonic() - started < TOTAL_S + 1
    assert [0] * len(client.limiters) == [limiter.in_flight for limiter in client.limiters]
    assert [0] * len(client.breakers) == [breaker.in_flight for breaker in client.breakers]


def check_own_answer(expected: Fate, text: str, answer: Any) -> None:
    """Check an answer of the primary: whole, or ended early in a way that its finish reason names."""
    told = report(answer)

    assert text == {"whole": REPLY.content, "nothing": "", "prefix": REPLY.content[: len(text)]}[expected.outcome]
    assert "content_filter" == told.finish_reason if expected.outcome == "prefix" else "stop" == told.finish_reason
    assert ["default"] == [attempt.route for attempt in told.attempts]


def check_other_answer(expected: Fate, chain: str, text: str, answer: Any) -> None:
    """Check an answer of whoever took over: whole, and with the primary's failures in its report."""
    told, name = report(answer), {"fallback": "fallback", "rules": "rules"}[chain]
    *failed, last = told.attempts

    assert {"fallback": OTHER.content, "rules": RULES}[chain] == text
    assert ["default"] * expected.attempts == [attempt.route for attempt in failed]
    assert {"failed"} == {attempt.outcome for attempt in failed}
    assert {attempt.reason for attempt in failed} <= REASONS
    assert (name, "complete", "stop") == (last.route, last.outcome, told.finish_reason)
    assert {"fallback": 0, "rules": 3}[chain] == told.degradation


def check_error(fault: str, expected: Fate, error: Any) -> None:
    """Check an error: of its class, as the table of errors has it, with every attempt, and only with what was said."""
    name, row = fault.partition("(")[0], classify(error)

    assert isinstance(error, expected.outcome), repr(error)
    assert row.reason in REASONS - {"unexpected"}
    assert (name not in FINAL, name not in ASKED_ONCE) == (row.move_on, row.retry)
    assert ["default"] * expected.attempts == [attempt.route for attempt in error.attempts]
    assert {"failed"} == {attempt.outcome for attempt in error.attempts}
    assert all(attempt.ended is not None for attempt in error.attempts)
    if isinstance(error, DeepSeekError):
        assert REPLY.content.startswith(error.partial.text)
        assert str(REPLY.reasoning).startswith(error.partial.reasoning)


def test_menu_is_covered() -> None:
    """Every fault of the menu is in the table, and every one with a place in the stream strikes at two of them."""
    names = {fault.partition("(")[0] for fault in FAULTS}
    placed = {name for name in Fault.menu() if "after_events" in dict(Fault.named(name).parameters)}

    assert set(Fault.menu()) == names
    assert placed == {name.partition("(")[0] for name in EARLY}
