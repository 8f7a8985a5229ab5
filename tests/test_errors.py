from __future__ import annotations

import functools
import json
from decimal import Decimal
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletion

from deepseek_sdk import errors
from deepseek_sdk._wire import stub_request, stub_response
from deepseek_sdk.errors import (
    BudgetExceededError,
    CacheMissError,
    CircuitOpenError,
    ConcurrencyLimitError,
    ConfigurationError,
    ContextOverflowError,
    DeadlineError,
    DeepSeekError,
    EmptyAnswerError,
    EmptyMessageError,
    FirstTokenTimeout,
    ImagesUnsupportedError,
    InsufficientBalanceError,
    InvalidRequestError,
    LedgerError,
    LimiterTimeoutError,
    MalformedResponseError,
    MaxTokensError,
    MissingExtraError,
    NoRuleError,
    OutputInvalidError,
    Partial,
    PriceFileError,
    QueueTimeoutError,
    ReasoningBudgetExhausted,
    ReasoningMissingError,
    RequestRejectedError,
    ResponseFormatError,
    RuleFileError,
    ServerEventError,
    StallTimeout,
    StopSequencesError,
    StreamInterruptedError,
    SystemResourceError,
    ToolChoiceInThinkingError,
    ToolOrderError,
    TotalTimeout,
    UnknownFinishReasonError,
    UnknownModelError,
    classify,
    refine,
    rejected,
    trace_id,
)
from deepseek_sdk.resilience.account import Account

KEY = "sk-0123456789abcdef"
URL = "http://test.invalid/chat/completions"
REQUEST = stub_request(URL)
REQUEST.headers["authorization"] = f"Bearer {KEY}"
RESPONSE = httpx2.Response(200, request=REQUEST)


def refused(status: int, body: Any, headers: dict[str, str] | None = None) -> openai.APIStatusError:
    """Give what openai makes of a refusal: the text of a body that is no JSON, or the object."""
    content = body if isinstance(body, str) else json.dumps(body)
    response = httpx2.Response(status, content=content.encode(), headers=headers, request=REQUEST)
    return client()._make_status_error_from_response(response)


@functools.cache
def client() -> openai.OpenAI:
    """Give one client for all: it takes long to make."""
    return openai.OpenAI(api_key=KEY, http_client=httpx2.Client(transport=httpx2.MockTransport(lambda _: RESPONSE)))


def said(status: int, message: str) -> openai.APIStatusError:
    """Give what openai makes of DeepSeek's error body."""
    kind = "invalid_request_error"
    return refused(status, {"error": {"message": message, "type": kind, "param": None, "code": kind}})


OVERFLOW = (
    "This model's maximum context length is 1048565 tokens. However, you requested 1048631 tokens "
    "(1048531 in the messages, 100 in the completion). Please reduce the length of the messages or completion."
)
IMAGE = (
    "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, "
    "expected `text` at line 1 column 210"
)
TOOLS = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)"
)
CONCURRENCY = (
    "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining balance. "
    "Please top up your balance to restore your concurrency."
)
REJECTIONS: list[tuple[str, type[RequestRejectedError], dict[str, Any]]] = [
    (OVERFLOW, ContextOverflowError,
     {"limit": 1048565, "requested": 1048631, "in_messages": 1048531, "in_completion": 100}),
    (OVERFLOW.replace(". However", ".\nHowever"), ContextOverflowError, {"limit": 1048565, "requested": 1048631}),
    ("This model's maximum context length is 65536 tokens. However, you requested 70000 tokens.", ContextOverflowError,
     {"limit": 65536, "requested": 70000, "in_messages": None, "in_completion": None}),
    ("This model's maximum context length is 131072 tokens.", ContextOverflowError,
     {"limit": 131072, "requested": None, "in_messages": None, "in_completion": None}),
    ("Invalid max_tokens value, the valid range of max_tokens is [1, 393216]", MaxTokensError,
     {"minimum": 1, "maximum": 393216}),
    ("the valid range of max_tokens is [1,8192]", MaxTokensError, {"minimum": 1, "maximum": 8192}),
    ("The `reasoning_content` in the thinking mode must be passed back to the API.",
     ReasoningMissingError, {"index": None}),
    ("The `reasoning_text` in the thinking mode must be passed back to the API.",
     ReasoningMissingError, {"index": None}),
    ("Missing `reasoning_content` field in the assistant message at message index 3. For more information, see",
     ReasoningMissingError, {"index": 3}),
    ("Missing `reasoning_content` field in the assistant message.", ReasoningMissingError, {"index": None}),
    ("Thinking mode does not support this tool_choice", ToolChoiceInThinkingError, {}),
    ("This response_format type is unavailable now", ResponseFormatError, {}),
    (IMAGE, ImagesUnsupportedError, {"index": 1}),
    ("unknown variant `image_url`, expected `text`", ImagesUnsupportedError, {"index": None}),
    ("Model Not Exist", UnknownModelError, {"model": None, "supported": ()}),
    ("The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed deepseek-chat.",
     UnknownModelError, {"model": "deepseek-chat", "supported": ("deepseek-flash", "deepseek-v4-pro")}),
    ("The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed `deepseek-v4.1-flash`.",
     UnknownModelError, {"model": "deepseek-v4.1-flash", "supported": ("deepseek-flash", "deepseek-v4-pro")}),
    ("The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed my/model:1",
     UnknownModelError, {"model": "my/model:1"}),
    ("The supported API model names are deepseek-flash, but you passed my model.",
     UnknownModelError, {"model": "my model"}),
    ("Stop string array too long: 17", StopSequencesError, {"count": 17}),
    ("content or tool_calls must be set", EmptyMessageError, {}),
    ("Invalid assistant message: content or tool_calls must be set", EmptyMessageError, {}),
    (TOOLS, ToolOrderError, {}),
    ("Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", ToolOrderError, {}),
    ("Duplicate value for 'tool_call_id' of call_1 in message[3]", ToolOrderError, {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "facts"), REJECTIONS)
def test_refusals_are_told_apart(text: str, kind: type[RequestRejectedError], facts: dict[str, Any]) -> None:
    """Each of DeepSeek's texts has an error of its own, with the numbers it names."""
    error = refine(said(400, text))

    assert kind is type(error)
    assert facts == {name: getattr(error, name) for name in facts}


@pytest.mark.parametrize(("text", "kind", "facts"), REJECTIONS)
def test_refusals_say_what_to_do(text: str, kind: type[RequestRejectedError], facts: dict[str, Any]) -> None:
    """The message is the server's, and the hint after it; body and response are as openai had them."""
    del facts
    original = said(400, text)
    error = refine(original)

    assert str(error).startswith(original.message.rstrip("."))
    assert str(error).endswith(kind.hint)
    assert ".." not in str(error)
    assert (original.body, original.response, 400) == (error.body, error.response, error.status_code)
    assert isinstance(error, openai.BadRequestError)


@pytest.mark.parametrize(
    "error",
    [
        said(400, "Invalid temperature value"),
        said(401, "Authentication Fails, Your api key: ****cdef is invalid"),
        said(404, "Model Not Exist"),
        said(422, "content or tool_calls must be set"),
        said(500, OVERFLOW),
        said(429, "Too many requests"),
        said(503, "Service is too busy"),
        refused(400, "<html>Bad Request</html>"),
        refused(400, ""),
        refused(400, []),
        refused(404, {"error_msg": "Not found. Please check the configuration."}),
    ],
)
def test_other_errors_pass_through(error: openai.APIStatusError) -> None:
    """An error whose text says nothing known, or whose status is no refusal, stays the very same."""
    assert error is refine(error)


def test_a_refusal_is_read_whatever_its_content_type() -> None:
    """DeepSeek sends error bodies as octet streams at times; the text counts."""
    original = said(400, "Model Not Exist")
    original.response.headers["content-type"] = "application/octet-stream"

    assert isinstance(refine(original), UnknownModelError)


@pytest.mark.parametrize(
    "body", [{"error": {"message": "Insufficient Balance", "type": "unknown_error"}}, {"error_msg": "x"}, "Pay", ""]
)
def test_an_empty_account_says_where_to_look(body: Any) -> None:
    """A 402 of any text is a balance error that names the way to see what is left."""
    error = refine(refused(402, body, {"x-ds-trace-id": "t-1"}))

    assert isinstance(error, InsufficientBalanceError)
    assert ("client.balance()" in str(error), 402, "t-1") == (True, error.status_code, error.trace_id)


@pytest.mark.parametrize(
    ("text", "current", "limit"),
    [
        (CONCURRENCY, 40, 39),
        ("You reached your request rate or concurrency limit", None, None),
        ("concurrency limit of 500 reached", None, 500),
    ],
)  # fmt: skip
def test_too_many_at_once_is_told(text: str, current: int | None, limit: int | None) -> None:
    """A 429 about concurrency carries the numbers that its text names."""
    error = refine(said(429, text))

    assert isinstance(error, ConcurrencyLimitError)
    assert (current, limit) == (error.current, error.limit)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"x-request-id": "r"}, "r"),
        ({"x-deepseek-request-id": "d"}, "d"),
        ({"x-request-id": "r", "x-ds-trace-id": "t"}, "t"),
        ({"x-ds-trace-id": "", "x-deepseek-request-id": "d", "x-request-id": "r"}, "r"),
    ],
)
def test_the_servers_id_is_found(headers: dict[str, str], expected: str | None) -> None:
    """DeepSeek's trace id comes first, then a gateway's request id; an empty one is none."""
    assert expected == trace_id(headers)
    assert expected == getattr(refine(refused(402, "no", headers)), "trace_id", None)


def status(code: int) -> openai.APIStatusError:
    """Give openai's error for a status."""
    return refused(code, {"error": {"message": "x"}})


def timeout(cause: str | None) -> openai.APITimeoutError:
    """Give a time-out with a cause of some class."""
    error = openai.APITimeoutError(REQUEST)
    error.__cause__ = None if cause is None else type(cause, (Exception,), {})()
    return error


def event(kind: str | None) -> ServerEventError:
    """Give an error inside a stream."""
    return ServerEventError("x", request=REQUEST, body={"message": "x", "type": kind})


# reason, may be retried, another route may answer, counts against the route
CIRCUIT = CircuitOpenError(request=REQUEST, account=Account("u", "m"), retry_in=1.0, is_cooling=False)
LIMITER = LimiterTimeoutError(response=stub_response(429, "http://u"), waited=1.0, limit=1, in_flight=1)
BUDGET = BudgetExceededError(
    response=stub_response(429, "http://u"),
    budget="daily",
    scope="user 用户",
    unit="CNY",
    limit=Decimal(1),
    spent=Decimal("0.9"),
    reserved=Decimal("0.05"),
    requested=Decimal("0.2"),
    until=1_796_054_400.0,
)
INVALID = OutputInvalidError(kind="invalid", problems=["age: not a number"], raw="{}", response=RESPONSE)
COMPLETION = ChatCompletion.construct(usage=None)
RULES: list[tuple[BaseException, str, bool, bool, bool]] = [
    (ConfigurationError("x"), "configuration", False, False, False),
    (MissingExtraError("The cache", "cache"), "configuration", False, False, False),
    (InvalidRequestError("x", param="n", response=RESPONSE), "invalid_request", False, False, False),
    (refine(said(400, "Model Not Exist")), "unknown_model", False, True, False),
    (refine(said(400, OVERFLOW)), "context_overflow", False, True, False),
    (refine(said(400, "Stop string array too long: 17")), "rejected", False, False, False),
    (refine(said(422, "content or tool_calls must be set")), "rejected", False, False, False),
    (refine(status(402)), "balance", False, True, False),
    (refine(said(429, "concurrency limit")), "rate_limit", True, True, False),
    (FirstTokenTimeout(request=REQUEST, limit=1), "first_token_timeout", False, True, True),
    (StallTimeout(request=REQUEST, limit=1), "stall", False, True, True),
    (TotalTimeout(request=REQUEST, limit=1), "total_timeout", False, False, False),
    (QueueTimeoutError(request=REQUEST, limit=None), "queue_timeout", True, True, True),
    (DeadlineError(request=REQUEST, limit=1), "timeout", False, True, True),
    (SystemResourceError("x", request=REQUEST), "system_resource", True, True, True),
    (UnknownFinishReasonError("x", request=REQUEST), "unknown_finish_reason", False, True, False),
    (StreamInterruptedError("x", request=REQUEST), "interrupted", True, True, True),
    (event(None), "server_event", True, True, True),
    (event("server_error"), "server_event", True, True, True),
    (event("invalid_request_error"), "rejected", False, False, False),
    (EmptyAnswerError(response=RESPONSE), "empty_answer", True, True, False),
    (MalformedResponseError("x", raw="", response=RESPONSE), "malformed", False, True, True),
    (timeout(None), "timeout", False, True, True),
    (timeout("ReadTimeout"), "timeout", False, True, True),
    (timeout("ConnectTimeout"), "connect_timeout", True, True, True),
    (timeout("PoolTimeout"), "pool_timeout", True, True, False),
    (openai.APIConnectionError(request=REQUEST), "connection", True, True, True),
    (RuleFileError(["a:1: x"]), "configuration", False, False, False),
    (NoRuleError(request=REQUEST), "no_rule", False, True, False),
    (CIRCUIT, "circuit_open", False, True, False),
    (BUDGET, "budget", False, False, False),
    (INVALID, "invalid_output", False, False, False),
    (ReasoningBudgetExhausted(completion=COMPLETION), "reasoning_budget", False, False, False),
    (PriceFileError("x", path="p"), "configuration", False, False, False),
    (LedgerError("x", path="p"), "ledger", False, False, False),
    (CacheMissError(key="k", response=RESPONSE), "cache_miss", False, False, False),
    (LIMITER, "limiter_timeout", False, True, False),
    (status(400), "rejected", False, False, False),
    (status(401), "authentication", False, True, False),
    (status(402), "balance", False, True, False),
    (status(403), "permission", False, True, False),
    (status(404), "not_found", False, True, False),
    (status(408), "server_timeout", True, True, True),
    (status(409), "conflict", False, False, False),
    (status(413), "rejected", False, False, False),
    (status(418), "rejected", False, False, False),
    (status(422), "rejected", False, False, False),
    (status(429), "rate_limit", True, True, False),
    (status(500), "server_error", True, True, True),
    (status(501), "server_error", True, True, True),
    (status(502), "server_error", True, True, True),
    (status(503), "overloaded", True, True, True),
    (status(504), "server_timeout", True, True, True),
    (status(529), "server_error", True, True, True),
    (openai.OpenAIError("x"), "unexpected", False, False, False),
    (ValueError("x"), "unexpected", False, False, False),
    (KeyboardInterrupt(), "unexpected", False, False, False),
]


@pytest.mark.parametrize(
    ("error", "reason", "retry", "move_on", "trips"),
    RULES,
    ids=[f"{type(rule[0]).__name__}-{rule[1]}" for rule in RULES],
)
def test_what_may_be_done_about_an_error(
    error: BaseException, reason: str, *, retry: bool, move_on: bool, trips: bool
) -> None:
    """Every error has one row that says whether to retry, to move on, and to count it."""
    found = classify(error)

    assert (reason, retry, move_on, trips) == (found.reason, found.retry, found.move_on, found.trips)


def test_every_class_has_a_row() -> None:
    """No class of the tree is missing from the table above."""
    public = {getattr(errors, name) for name in errors.__all__}
    leaves = {kind for kind in public if isinstance(kind, type) and issubclass(kind, DeepSeekError)}
    leaves -= {DeepSeekError, RequestRejectedError, *RequestRejectedError.__subclasses__()}

    assert leaves <= {type(rule[0]) for rule in RULES}


@pytest.mark.parametrize(
    ("kind", "limit", "partial", "expected"),
    [
        (FirstTokenTimeout, 8.0, None, "No first token within 8 s. Nothing of the answer had arrived."),
        (StallTimeout, 0.25, Partial(text="abc", reasoning="d"),
         "The answer stalled: nothing new within 0.25 s. 3 characters of text and 1 of reasoning had arrived."),
        (TotalTimeout, 60, None, "The answer was not complete within 60 s. Nothing of the answer had arrived."),
        (QueueTimeoutError, None, None,
         "The server queued the request and closed without an answer. Nothing of the answer had arrived."),
        (DeadlineError, None, None, "The call took too long. Nothing of the answer had arrived."),
    ],
)  # fmt: skip
def test_deadline_errors_say_what_ran_out(
    kind: type[DeadlineError], limit: float | None, partial: Partial | None, expected: str
) -> None:
    """The message names the clock, its limit, and how much had come."""
    error = kind(request=REQUEST, limit=limit, partial=partial)

    assert (expected, expected, limit) == (str(error), error.message, error.limit)
    assert isinstance(error, openai.APITimeoutError)
    assert (partial or Partial()) == error.partial


def test_a_budget_says_whose_how_much_and_until_when() -> None:
    """The message has every amount with its unit, and the instant of the next beginning."""
    expected = (
        "The budget 'daily' of user 用户 is used up until 2026-11-30 16:00 UTC: "
        "0.9 CNY of 1 are spent, 0.05 reserved, and the call may need 0.2"
    )

    assert expected == str(BUDGET)
    assert isinstance(BUDGET, openai.RateLimitError)


def test_what_is_refused_here_is_what_the_server_would_have_refused() -> None:
    """A refusal before the wire has the class, the hint and the parameter of the server's own."""
    message = "messages[2]: no result for call_1"
    error = rejected(ToolOrderError, message, param="messages[2]", response=stub_response(400, "http://u"))

    assert (message, "messages[2]", 400) == (error.message, error.param, error.status_code)
    assert isinstance(error, openai.BadRequestError)


def test_a_missing_extra_says_how_to_install_it() -> None:
    """The message holds the line to run, and the error is an ImportError too."""
    error = MissingExtraError("The cache", "cache")

    assert "python -m pip install 'deepseek-client-sdk[cache]'" in str(error)
    assert isinstance(error, ImportError)
    assert ("The cache", "cache") == (error.feature, error.extra)


def test_an_invalid_request_names_its_argument() -> None:
    """The argument is where openai's errors have it."""
    error = InvalidRequestError("n must be at least 1", param="n", response=stub_response(400, URL))

    assert ("n", "n must be at least 1", 400) == (error.param, str(error), error.status_code)
    assert isinstance(error, ValueError)


def test_a_malformed_response_shows_its_beginning() -> None:
    """Of what could not be read 2,000 characters are kept and 200 are shown."""
    error = MalformedResponseError("Broken JSON", raw="x" * 5000, response=RESPONSE)

    assert (2000, True) == (len(error.raw), len(str(error)) < 300)


@pytest.mark.parametrize(
    ("partial", "expected"),
    [
        (Partial(), False),
        (Partial(text="a"), True),
        (Partial(reasoning="a"), True),
        (Partial(tool_calls=({"id": "a"},)), True),
    ],
)
def test_a_partial_answer_is_true_when_anything_came(partial: Partial, *, expected: bool) -> None:
    """Text, reasoning or a tool call makes a partial answer true."""
    assert expected == bool(partial)


def test_an_error_starts_without_a_history() -> None:
    """Every error of the library has a partial answer, attempts and a trace id, empty unless something fills them."""
    error = DeepSeekError("x")

    assert (Partial(), (), None) == (error.partial, error.attempts, error.trace_id)


@pytest.mark.parametrize("error", [rule[0] for rule in RULES], ids=[type(rule[0]).__name__ for rule in RULES])
def test_no_message_holds_the_key(error: BaseException) -> None:
    """Neither the text nor the representation of any error shows the key of the client."""
    assert KEY not in str(error) + repr(error)
