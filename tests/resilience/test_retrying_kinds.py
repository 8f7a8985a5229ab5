from __future__ import annotations

import concurrent.futures
from decimal import Decimal
from typing import Any

import httpx2
import openai
import pytest
import tenacity
from openai.types.chat import ChatCompletion

from deepseek_sdk.errors import (
    BudgetExceededError,
    CacheMissError,
    ConfigurationError,
    ContextOverflowError,
    DeadlineError,
    DeepSeekError,
    EmptyAnswerError,
    FirstTokenTimeout,
    InvalidRequestError,
    LedgerError,
    LimiterTimeoutError,
    MalformedResponseError,
    NoRuleError,
    OutputInvalidError,
    QueueTimeoutError,
    ReasoningBudgetExhausted,
    RequestRejectedError,
    ServerEventError,
    StallTimeout,
    StreamInterruptedError,
    SystemResourceError,
    TotalTimeout,
    UnknownFinishReasonError,
)
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from tests.resilience.failures import REQUEST, answered, caused, decided, failed, opened, refused

EVENT = {"message": "busy", "type": "server_error"}
REFUSAL = {"message": "bad", "type": "invalid_request_error"}
OVERFLOW = "This model's maximum context length is 8 tokens."
CLOSED = opened(9, is_cooling=False)
LIMITER = LimiterTimeoutError(response=answered(429), waited=1.0, limit=1, in_flight=1)

NOTHING = Decimal(0)
BUDGET = BudgetExceededError(
    response=answered(429),
    budget="b",
    scope="all",
    unit="CNY",
    limit=NOTHING,
    spent=NOTHING,
    reserved=NOTHING,
    requested=NOTHING,
    until=None,
)

# error, by the table, and by a rule that says yes to everything
ERRORS: list[tuple[Exception, bool, bool]] = [
    (refused(400), False, False),
    (refused(400, OVERFLOW), False, False),
    (refused(401), False, False),
    (refused(402), False, False),
    (refused(403), False, False),
    (refused(404), False, False),
    (refused(408), True, True),
    (refused(409), False, True),
    (refused(413), False, True),
    (refused(422), False, False),
    (refused(429), True, True),
    (refused(429, "Your current concurrency is 40"), True, True),
    (refused(500), True, True),
    (refused(501), True, True),
    (refused(502), True, True),
    (refused(503), True, True),
    (refused(504), True, True),
    (refused(529), True, True),
    (openai.APIConnectionError(request=REQUEST), True, True),
    (NoRuleError(request=REQUEST), False, True),
    (caused(openai.APITimeoutError(REQUEST), httpx2.ConnectTimeout("slow")), True, True),
    (caused(openai.APITimeoutError(REQUEST), httpx2.PoolTimeout("full")), True, True),
    (caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")), False, True),
    (openai.APITimeoutError(REQUEST), False, True),
    (FirstTokenTimeout(request=REQUEST, limit=1), False, True),
    (StallTimeout(request=REQUEST, limit=1), False, True),
    (TotalTimeout(request=REQUEST, limit=1), False, True),
    (QueueTimeoutError(request=REQUEST, limit=None), True, True),
    (StreamInterruptedError("cut", request=REQUEST), True, True),
    (SystemResourceError("cut", request=REQUEST), True, True),
    (UnknownFinishReasonError("cut", request=REQUEST), False, True),
    (ServerEventError("busy", request=REQUEST, body=EVENT), True, True),
    (ServerEventError("bad", request=REQUEST, body=REFUSAL), False, False),
    (EmptyAnswerError(response=answered()), True, True),
    (MalformedResponseError("odd", raw="<html>", response=answered()), False, True),
    (InvalidRequestError("no", param="n", response=answered(400)), False, False),
    (ConfigurationError("no"), False, False),
    (concurrent.futures.CancelledError(), False, False),
    (LIMITER, False, True),
    (CLOSED, False, False),
    (BUDGET, False, True),
    (OutputInvalidError(kind="invalid", problems=[], raw="", response=answered()), False, True),
    (ReasoningBudgetExhausted(completion=ChatCompletion.construct(usage=None)), False, True),
    (LedgerError("x", path="p"), False, True),
    (CacheMissError(key="k", response=answered(404)), False, False),
    (ValueError("a mistake"), False, True),
]
by_error = pytest.mark.parametrize(
    ("error", "by_table", "by_rule"),
    ERRORS,
    ids=[f"{type(error).__name__}-{getattr(error, 'status_code', '')}" for error, *_ in ERRORS],
)


@by_error
def test_what_the_table_says(error: Exception, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """Without a rule `classify()` decides."""
    expected = (0.5, "") if by_table else (None, "not retryable")

    assert expected == decided(RetryPolicy(), failed(error))[:2]


@by_error
@pytest.mark.parametrize("rule", [tenacity.retry_always, lambda _: True], ids=["tenacity", "function"])
def test_what_a_rule_says(error: Exception, rule: Any, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """A rule decides in place of the table, but not about what never passes."""
    assert (0.5 if by_rule else None) == decided(RetryPolicy(retry=rule), failed(error)).wait


@by_error
def test_a_rule_that_says_no(error: Exception, *, by_table: bool, by_rule: bool) -> None:  # noqa: ARG001
    """A rule that says no is obeyed."""
    assert "not retryable" == decided(RetryPolicy(retry=lambda _: False), failed(error)).reason


def test_every_error_is_in_these_tables() -> None:
    """Each class of `deepseek_sdk.errors` that a call can end with was asked about, or is a refusal with 400."""
    every = {kind for kind in subclasses(DeepSeekError) if kind.__module__ == "deepseek_sdk.errors"}
    asked = {type(error) for error, *_ in ERRORS}
    alike = (RequestRejectedError, ConfigurationError)

    assert {DeadlineError} == {kind for kind in every - asked if not issubclass(kind, alike)}
    assert asked >= {ContextOverflowError, ConfigurationError}


def subclasses(kind: type[Exception]) -> list[type[Exception]]:
    """List all classes below one."""
    return [found for child in kind.__subclasses__() for found in (child, *subclasses(child))]


SILENCES = [
    FirstTokenTimeout(request=REQUEST, limit=1),
    StallTimeout(request=REQUEST, limit=1),
    openai.APITimeoutError(REQUEST),
    caused(openai.APITimeoutError(REQUEST), httpx2.ReadTimeout("slow")),
]


@pytest.mark.parametrize("error", SILENCES, ids=lambda error: type(error).__name__)
def test_a_silence_is_asked_again_on_request(error: Exception) -> None:
    """`on_read_timeout` allows to ask again what the server may be answering, and billing, all the same."""
    assert "not retryable" == decided(RetryPolicy(), failed(error)).reason
    assert 0.5 == decided(RetryPolicy(on_read_timeout=True), failed(error)).wait


def test_on_read_timeout_is_about_silences() -> None:
    """It changes nothing about other errors."""
    for error in (refused(400), ValueError("a mistake"), TotalTimeout(request=REQUEST, limit=1)):
        assert "not retryable" == decided(RetryPolicy(on_read_timeout=True), failed(error)).reason


@pytest.mark.parametrize(
    ("status", "advice", "rule", "expected"),
    [
        (503, "false", None, None),
        (503, "true", None, 0.5),
        (503, "maybe", None, 0.5),
        (409, "true", None, 0.5),
        (409, "maybe", None, None),
        (413, "true", None, 0.5),
        (400, "true", None, None),
        (401, "true", None, None),
        (422, "true", None, None),
        (503, "false", True, None),
        (409, "true", False, None),
    ],
)
def test_the_servers_advice(status: int, advice: str, rule: bool | None, expected: float | None) -> None:  # noqa: FBT001
    """`x-should-retry: false` forbids, `true` allows what the table does not know to pass; a rule's no stands."""
    policy = RetryPolicy(retry=None if rule is None else lambda _: rule)

    assert expected == decided(policy, failed(refused(status, x_should_retry=advice))).wait
