"""Requests that are refused here: the answer that a refusal stands for is one of whoever would have been asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from deepseek_sdk._rejections import rejected_here, stub_refusal
from deepseek_sdk.errors import InvalidRequestError
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.testing.scripted import make_call

NOWHERE = "http://backend.invalid/chat/completions"
PLACES = [
    (Account("https://api.deepseek.com", "m"), "https://api.deepseek.com/chat/completions"),
    (Account("http://127.0.0.1:8000/v1/", "m"), "http://127.0.0.1:8000/v1/chat/completions"),
    (Account.of_backend("local", "m"), NOWHERE),
    (Account.of_backend("http://odd", "m"), NOWHERE),
    (None, NOWHERE),
]


@pytest.mark.parametrize(("account", "url"), PLACES)
def test_url_of_a_refusal(account: Account | None, url: str) -> None:
    """The URL is that of the request as it would have been sent; what answers in this process has none."""
    call = make_call(upstream=SimpleNamespace(account=account))
    response = stub_refusal(call, 429)
    error = rejected_here(InvalidRequestError, "no", param="model", call=call)

    assert (429, url) == (response.status_code, str(response.request.url))
    assert (400, url) == (error.status_code, str(error.request.url))


def test_target_without_an_account() -> None:
    """The end of a chain of somebody's own need not know accounts."""
    assert NOWHERE == str(stub_refusal(make_call(), 400).request.url)


@pytest.mark.parametrize("name", ["local", "", "backend:twice", "本地"])
def test_account_of_a_backend(name: str) -> None:
    """A backend of this process is told from endpoints, by its name."""
    assert name == Account.of_backend(name, "m").backend
    assert None is Account(f"https://{name}.example", "m").backend
