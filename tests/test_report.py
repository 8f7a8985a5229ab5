from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletion

from deepseek_sdk._progress import Progress
from deepseek_sdk._record import RECORD_EXTENSION, Record
from deepseek_sdk._report import attached, blame, report
from deepseek_sdk._sse import encode
from deepseek_sdk._usage import Usage
from deepseek_sdk.errors import EmptyAnswerError, StallTimeout, StreamInterruptedError, redact
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.testing.scripted import chunk

REQUEST = httpx2.Request("POST", "http://test.invalid")
RESPONSE = httpx2.Response(200, headers={"x-ds-trace-id": "t-1"}, request=REQUEST)
USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20}


def completion() -> ChatCompletion:
    """Make an answer."""
    message = {"role": "assistant", "content": "a"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    head = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "deepseek-flash"}
    return ChatCompletion.model_validate({**head, "choices": choices})


def progress(*chunks: dict[str, Any]) -> Progress:
    """Give the progress of an answer."""
    found = Progress(RESPONSE)
    for item in chunks:
        found.observe(encode(item))
    return found


def filled() -> Record:
    """Make the record of a call whose second attempt answered."""
    record = Record(started=100.0, session_id="s", headers=RESPONSE.headers)
    first = record.begin(route="default", model="asked", now=100.0)
    record.settle(first, None, 101.0, StallTimeout(request=REQUEST, limit=1))
    second = record.begin(route="other", model="asked", now=101.5)
    record.note(second, progress(chunk(role="assistant")), 102.0)
    record.note(second, progress(chunk(reasoning_content="a")), 103.0)
    record.note(second, progress(chunk("a")), 104.0)
    record.settle(second, progress(chunk("a"), chunk(finish="stop", usage=USAGE)), 105.0, None)
    record.times.total = 5.5
    return record


def test_a_report_tells_what_a_call_went_through() -> None:
    """Route, model, attempts, usage, times and ids are told from the answer."""
    found = report(attached(completion(), filled()))
    told = (found.route, found.model, found.finish_reason, found.session_id, found.trace_id)

    assert ("other", "deepseek-flash", "stop", "s", "t-1") == told
    assert Usage(hit=80, miss=20, output=7, reasoning=0) == found.usage
    assert (2.0, 3.0, 4.0, 5.5) == (
        found.times.first_event,
        found.times.first_token,
        found.times.first_answer,
        found.times.total,
    )
    assert [("default", "failed", "stall", True, 0.0, 1.0), ("other", "complete", None, False, 1.5, 5.0)] == [
        (a.route, a.outcome, a.reason, a.is_possibly_billed, a.started, a.ended) for a in found.attempts
    ]
    assert (1, (), False) == (found.possibly_billed_attempts, found.repairs, found.answer_in_reasoning)


def test_a_report_of_a_call_that_has_just_begun() -> None:
    """Before any attempt there is little to tell, and nothing is made up."""
    found = report(attached(completion(), Record(started=0)))

    assert (None, None, (), None, None, 0) == (
        found.route,
        found.model,
        found.attempts,
        found.usage,
        found.trace_id,
        found.possibly_billed_attempts,
    )


def test_a_report_does_not_change_afterwards() -> None:
    """It says what was known when it was asked for."""
    record = filled()
    found = report(attached(completion(), record))
    record.begin(route="third", model="m", now=110)
    record.attempts[0].outcome = "changed"
    record.times.total = 99

    assert (2, "failed", 5.5) == (len(found.attempts), found.attempts[0].outcome, found.times.total)


@pytest.mark.parametrize("name", ["response", "http_response", "_response"])
def test_a_report_is_found_through_the_response(name: str) -> None:
    """A stream or a raw answer leads to it by the response that it wraps."""
    response = httpx2.Response(200, extensions={RECORD_EXTENSION: filled()})

    assert "other" == report(SimpleNamespace(**{name: response})).route


@pytest.mark.parametrize(
    "answer",
    [None, 5, "x", completion(), ValueError("x"), SimpleNamespace(response=RESPONSE), SimpleNamespace(response=5)],
)
def test_what_did_not_come_from_a_call_has_no_report(answer: object) -> None:
    """Anything else is a TypeError that names what it was."""
    with pytest.raises(TypeError, match=type(answer).__name__):
        report(answer)


def test_an_answer_is_the_same_with_its_record() -> None:
    """The record is no field: it is not compared, dumped, shown or copied into a request."""
    plain, noted = completion(), attached(completion(), filled())

    assert plain == noted
    assert (plain.model_dump(), plain.to_json(), repr(plain)) == (noted.model_dump(), noted.to_json(), repr(noted))
    assert plain.model_fields_set == noted.model_fields_set


def test_an_answer_can_be_copied_and_pickled() -> None:
    """Programs that copy or store answers go on doing so, and the copy has its report."""
    noted = attached(completion(), filled())

    for copied in (copy.copy(noted), copy.deepcopy(noted), noted.model_copy(), pickle.loads(pickle.dumps(noted))):  # noqa: S301
        assert (noted, "other") == (copied, report(copied).route)


def test_objects_without_room_are_left_alone() -> None:
    """What takes no attribute is given back as it is."""
    assert 5 == attached(5, filled())


def test_an_error_tells_its_history() -> None:
    """Attempts and trace id are on the error, openai's own errors included, and `report()` takes it."""
    for error in (StreamInterruptedError("x", request=REQUEST), openai.APIConnectionError(request=REQUEST)):
        blame(error, filled())

        assert ["default", "other"] == [attempt.route for attempt in error.attempts]  # type: ignore[attr-defined]
        assert "other" == report(error).route


def test_other_exceptions_have_a_report_and_no_more() -> None:
    """An exception that is not openai's gets no attributes of ours that show."""
    error = KeyError("x")
    blame(error, filled())

    assert "other" == report(error).route
    assert not hasattr(error, "attempts")


def test_a_failed_call_has_a_total() -> None:
    """An error that came before any answer ends the clock of the call; a total that is there stays."""
    early, late = Record(started=0), filled()
    blame(KeyError(), early)
    blame(KeyError(), late)

    assert early.times.total is not None
    assert 5.5 == late.times.total


class TestRecord:
    """What is noted while a call goes on."""

    def test_the_first_times_stay(self) -> None:
        """Later events change no time that was noted."""
        record = Record(started=10)
        attempt = record.begin(route="r", model="m", now=11)
        for now in (12.0, 13.0, 14.0):
            record.note(attempt, progress(chunk("a")), now)

        assert (1, 2, 2, 2, 2) == (
            attempt.started,
            attempt.first_token,
            record.times.first_event,
            record.times.first_token,
            record.times.first_answer,
        )

    def test_an_attempt_ends_once(self) -> None:
        """The first ending stands."""
        record = Record(started=0)
        attempt = record.begin(route="r", model="m", now=0)
        record.settle(attempt, None, 1, KeyError())
        record.settle(attempt, progress(chunk("a")), 2, None)
        record.abandon(attempt, progress(chunk("a"), chunk(finish="stop")), 3)

        assert ("failed", "unexpected", 1, "m") == (attempt.outcome, attempt.reason, attempt.ended, attempt.model)

    @pytest.mark.parametrize(
        ("error", "chunks", "expected"),
        [
            (StreamInterruptedError("x", request=REQUEST), [], ("failed", False)),
            (StreamInterruptedError("x", request=REQUEST), [chunk(role="assistant")], ("failed", False)),
            (StreamInterruptedError("x", request=REQUEST), [chunk(reasoning_content="a")], ("failed", True)),
            (StallTimeout(request=REQUEST, limit=1), [], ("failed", True)),
            (openai.APITimeoutError(REQUEST), None, ("failed", True)),
            (openai.APIConnectionError(request=REQUEST), None, ("failed", False)),
            (EmptyAnswerError(response=RESPONSE), [chunk(role="assistant")], ("failed", True)),
            (KeyboardInterrupt(), None, ("abandoned", False)),
            (None, [chunk("a"), chunk(finish="stop")], ("complete", False)),
        ],
    )
    def test_what_may_be_billed(
        self, error: BaseException | None, chunks: list[dict[str, Any]] | None, expected: tuple[str, bool]
    ) -> None:
        """A failed attempt may be billed where tokens came, or where the server was silent after taking the request."""
        record = Record(started=0)
        attempt = record.begin(route="r", model="m", now=0)
        record.settle(attempt, None if chunks is None else progress(*chunks), 1, error)

        assert expected == (attempt.outcome, attempt.is_possibly_billed)

    @pytest.mark.parametrize(
        ("chunks", "expected"),
        [
            ([], ("abandoned", True)),
            ([chunk("a")], ("abandoned", True)),
            ([chunk("a"), chunk(finish="stop")], ("complete", False)),
        ],
    )
    def test_what_the_caller_let_go_of(self, chunks: list[dict[str, Any]], expected: tuple[str, bool]) -> None:
        """An answer that was let go of before its end goes on costing; one that was complete is complete."""
        record = Record(started=0)
        attempt = record.begin(route="r", model="m", now=0)
        record.abandon(attempt, progress(*chunks), 1)

        assert expected == (attempt.outcome, attempt.is_possibly_billed)

    @pytest.mark.parametrize(
        ("error", "chunks", "expected"),
        [
            (StallTimeout(request=REQUEST, limit=1), [chunk(reasoning_content="x" * 10), chunk("你好")], (0, 60, 5, 3)),
            (openai.APITimeoutError(REQUEST), None, (0, 60, 0, 0)),
            (openai.APIConnectionError(request=REQUEST), None, None),
        ],
    )
    def test_what_the_server_gives_no_account_of_is_estimated(
        self, error: Exception, chunks: list[dict[str, Any]] | None, expected: tuple[int, ...] | None
    ) -> None:
        """A failed attempt that may be billed has an estimate: its prompt, and what had come of the answer."""
        body = {"messages": [{"role": "", "content": "a" * 100}]}
        record = Record(started=0)
        attempt = record.begin(route="r", model="m", now=0)
        record.settle(attempt, None if chunks is None else progress(*chunks), 1, error, body)
        usage = attempt.usage

        assert expected == (None if usage is None else (usage.hit, usage.miss, usage.output, usage.reasoning))
        assert (expected is not None, None) == (attempt.is_estimated, record.usage_told)

    def test_a_complete_answer_without_usage_is_estimated(self) -> None:
        """A stream that ended well and told no tokens cost something all the same; a backend of the process nothing."""
        found = []
        for url in ("https://h.example", "backend:local"):
            record = Record(started=0)
            attempt = record.begin(route="r", model="m", now=0, account=Account(url, "m"))
            answer = progress(chunk("a" * 10), chunk(finish="stop"))
            record.settle(attempt, answer, 1, None, {"messages": [{"role": "", "content": "a" * 100}]})
            found.append((attempt.usage, attempt.is_estimated))

        assert [(Usage(hit=0, miss=60, output=3, reasoning=0), True), (None, False)] == found

    def test_usage_is_that_of_all_attempts(self) -> None:
        """What the server told of each attempt is added up; what it told twice for one attempt is not."""
        record, usage = Record(started=0), {"prompt_tokens": 3, "completion_tokens": 2}
        for _ in range(2):
            attempt = record.begin(route="r", model="m", now=0)
            answer = progress(chunk("a", usage=usage), chunk(finish="stop", usage=usage))
            record.settle(attempt, answer, 1, None)

        assert Usage(hit=0, miss=6, output=4, reasoning=0) == record.usage_told

    def test_a_watcher_learns_of_attempts(self) -> None:
        """It is told once when each begins, and once when it ends; one that is taken back ends, too."""
        told: list[tuple[Any, ...]] = []
        watcher = SimpleNamespace(
            began=lambda attempt: told.append(("began", attempt.route)),
            ended=lambda attempt, error: told.append((attempt.outcome, attempt.route, error)),
        )
        record, error = Record(started=0, watcher=watcher), KeyError()
        first = record.begin(route="a", model="m", now=0)
        record.settle(first, None, 1, error)
        record.settle(first, None, 2, None)
        record.forget(record.begin(route="b", model="m", now=0))

        assert [("began", "a"), ("failed", "a", error), ("began", "b"), ("running", "b", None)] == told
        assert [first] == record.attempts

    @pytest.mark.parametrize(
        ("usage", "finish", "says", "expected"),
        [
            ({"completion_tokens": 8, "completion_tokens_details": {"reasoning_tokens": 8}}, "length", {}, "reasoning"),
            ({"completion_tokens": 8, "completion_tokens_details": {"reasoning_tokens": 3}}, "length",
             {"content": "a"}, "answer"),
            ({"completion_tokens": 8}, "length", {}, "reasoning"),
            ({"completion_tokens": 8}, "length", {"content": "a"}, "answer"),
            ({"completion_tokens": 8}, "stop", {"content": "a"}, None),
        ],
    )  # fmt: skip
    def test_what_a_limit_has_cut(
        self, usage: dict[str, Any], finish: str, says: dict[str, Any], expected: str | None
    ) -> None:
        """An answer that was cut is told from one that never began because reasoning had used everything up."""
        record = Record(started=0)
        attempt = record.begin(route="r", model="m", now=0)
        answer = progress(chunk(reasoning_content="a"), chunk(**says), chunk(finish=finish, usage=usage))
        record.note(attempt, answer, 1)
        record.settle(attempt, answer, 2, None)

        assert expected == record.truncated

    def test_the_cost_is_worked_out_once(self) -> None:
        """While the call runs it is asked for anew; of a call that is over it stays."""
        asked: list[Record] = []
        record = Record(started=0, price=asked.append)
        record.cost()
        record.end("complete", None, 1)
        record.cost()
        record.cost()

        assert 2 == len(asked)

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda record: pickle.loads(pickle.dumps(record))])  # noqa: S301
    def test_a_copy_keeps_the_cost_and_leaves_the_client(self, copied: Any) -> None:
        """What a record has of its client stays behind, the cost that it was told goes along."""
        record = Record(started=0, price=lambda _: "much", session_id="s")  # type: ignore[arg-type,return-value]
        record.begin(route="r", model="m", now=0)
        found = copied(record)

        assert ("much", None, "s", "r") == (found.cost(), found.price, found.session_id, found.attempts[0].route)

    def test_the_last_answer_counts(self) -> None:
        """Usage and finish reason are those of the attempt that ended last."""
        record = filled()
        third = record.begin(route="r", model="m", now=200)
        record.settle(third, progress(chunk(reasoning_content="a"), chunk(finish="stop")), 201, None)

        assert (None, "stop", True) == (record.usage, record.finish_reason, record.answer_in_reasoning)


@pytest.mark.parametrize(
    "block",
    [
        {"prompt_tokens": "100"},
        {"prompt_tokens": [1]},
        {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": "x"}},
        {"prompt_tokens": 1, "prompt_cache_hit_tokens": {}},
        {"completion_tokens_details": {"reasoning_tokens": []}},
        {"prompt_tokens_details": [], "completion_tokens_details": "x"},
    ],
)
def test_a_usage_block_of_nonsense_hides_no_error(block: dict[str, Any]) -> None:
    """Whatever a server sends as usage, a report can be made, and every count is a number."""
    record = filled()
    record.usage = block
    error = StreamInterruptedError("x", request=REQUEST)
    blame(error, record)
    usage = report(error).usage

    assert usage is not None
    assert all(isinstance(n, int) for n in (usage.hit, usage.miss, usage.output, usage.reasoning, usage.prompt))


def test_a_key_in_an_error_is_masked() -> None:
    """A key that a server echoes is taken out of the text, the body and the raw bytes of an error."""
    key = "sk-0123456789"
    response = httpx2.Response(401, json={"error": {"message": f"bad key {key}", "more": [key, 5]}}, request=REQUEST)
    client = openai.OpenAI(api_key=key, http_client=httpx2.Client(transport=httpx2.MockTransport(lambda _: response)))
    error = client._make_status_error_from_response(response)
    redact(error, key)

    assert "bad key ****6789" in str(error)
    assert key not in repr((str(error), error.args, error.message, error.body))
    assert [5] == [item for item in error.body["more"] if item != "****6789"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("error", "secret"), [(KeyError("sk-0123456789"), "sk-0123456789"), (openai.OpenAIError("ab"), "ab")]
)
def test_other_texts_are_not_masked(error: Exception, secret: str) -> None:
    """An error that is not openai's, or a secret too short to be a key, is left alone."""
    redact(error, secret)

    assert secret in str(error)
