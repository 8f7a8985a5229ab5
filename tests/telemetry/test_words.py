"""How errors and servers are named, as tables."""

from __future__ import annotations

import asyncio
import concurrent.futures

import openai
import pytest

from deepseek_sdk._wire import stub_request, stub_response
from deepseek_sdk.errors import (
    FirstTokenTimeout,
    InvalidRequestError,
    LimiterTimeoutError,
    QueueTimeoutError,
    StallTimeout,
    StreamInterruptedError,
    SystemResourceError,
    TotalTimeout,
)
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.telemetry.outcome import error_type, failure_of
from deepseek_sdk.telemetry.place import Place, place_of

REQUEST = stub_request("http://a")
RESPONSE = stub_response(429, "http://a")


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (FirstTokenTimeout(request=REQUEST, limit=1), "timeout.first_token"),
        (QueueTimeoutError(request=REQUEST, limit=None), "timeout.first_token"),
        (StallTimeout(request=REQUEST, limit=1), "timeout.idle"),
        (TotalTimeout(request=REQUEST, limit=1), "timeout.total"),
        (openai.APITimeoutError(REQUEST), "timeout.idle"),
        (openai.APIConnectionError(request=REQUEST), "connection_error"),
        (StreamInterruptedError("cut", request=REQUEST), "StreamInterruptedError"),
        (SystemResourceError("cut", request=REQUEST), "SystemResourceError"),
        (openai.RateLimitError("no", response=RESPONSE, body=None), "429"),
        (LimiterTimeoutError(response=RESPONSE, waited=1, limit=1, in_flight=1), "LimiterTimeoutError"),
        (InvalidRequestError("no", param="x", response=RESPONSE), "InvalidRequestError"),
        (asyncio.CancelledError(), "cancelled"),
        (concurrent.futures.CancelledError(), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (ValueError("x"), "ValueError"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_words(error: BaseException, word: str) -> None:
    """Each error has one of few words."""
    assert word == error_type(error)


def test_connecting() -> None:
    """A connection that took too long to be made is told from a server that is silent."""
    error = openai.APITimeoutError(REQUEST)
    error.__cause__ = type("ConnectTimeout", (Exception,), {})()

    assert "timeout.connect" == error_type(error)


def test_what_was_never_sent() -> None:
    """What looks like a server's refusal, and was made here, has no status."""
    error = openai.BadRequestError("no", response=RESPONSE, body=None)

    assert "BadRequestError" == error_type(error, was_sent=False)


def test_no_text_of_an_error() -> None:
    """Where content stays out, of an error its class is told, and neither its text nor its lines of source."""
    failure = failure_of(ValueError("the prompt"), None)

    assert ("ValueError", None, None) == (failure.exception, failure.message, failure.stacktrace)


@pytest.mark.parametrize(
    ("url", "model", "place"),
    [
        ("https://api.deepseek.com", "deepseek-flash", Place("deepseek", "api.deepseek.com", 443)),
        ("https://api.deepseek.com/beta", "x", Place("deepseek", "api.deepseek.com", 443)),
        ("http://127.0.0.1:8000/v1", "deepseek-flash", Place("deepseek", "127.0.0.1", 8000)),
        ("http://gpu-7:8000/v1", "DeepSeek-R1-Distill", Place("vllm", "gpu-7", 8000)),
        ("http://other:8000/v1", "deepseek-r1-distill", Place("openai_compatible", "other", 8000)),
        ("http://notdeepseek.com", "qwen", Place("openai_compatible", "notdeepseek.com", 80)),
        ("backend:VLLMBackend", "m", Place("vllm", None, None)),
        ("backend:Mine", "m", Place("mine", None, None)),
    ],
)
def test_places(url: str, model: str, place: Place) -> None:
    """A server is named by its host, by what is said of it, or by the model it serves."""
    assert place == place_of(Account(url, model), {"gpu-7:8000": "vllm"})
