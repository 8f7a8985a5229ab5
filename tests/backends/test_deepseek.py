from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from deepseek_sdk.backends.deepseek import guarded_path, is_deepseek, request_url


@pytest.mark.parametrize(
    ("method", "url", "expected"),
    [
        ("post", "/chat/completions", "/chat/completions"),
        ("POST", "/chat/completions", "/chat/completions"),
        ("post", "chat/completions", "/chat/completions"),
        ("post", "/chat/completions/", "/chat/completions"),
        ("post", "/chat/completions?api-version=1", "/chat/completions"),
        ("post", "https://api.deepseek.com/v1/chat/completions", "/chat/completions"),
        ("post", "/deployments/x/chat/completions", "/chat/completions"),
        ("post", "/completions", "/completions"),
        ("post", "completions", "/completions"),
        ("post", "https://api.deepseek.com/beta/completions?x=1", "/completions"),
        ("get", "/chat/completions", None),
        ("delete", "/chat/completions/chat-1", None),
        ("post", "/chat/completions/chat-1", None),
        ("post", "/embeddings", None),
        ("post", "/responses", None),
        ("post", "/models?next=/chat/completions", None),
        ("post", "/mycompletions", None),
        ("post", "", None),
        ("post", "/", None),
    ],
)
def test_what_goes_through_the_pipeline(method: str, url: str, expected: str | None) -> None:
    """Chat and text completions are guarded however their URL is written; nothing else is."""
    assert expected == guarded_path(method, url)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://api.deepseek.com", True),
        ("https://api.deepseek.com/", True),
        ("https://api.deepseek.com/v1", True),
        ("https://api.deepseek.com/v1/", True),
        ("https://api.deepseek.com/beta", True),
        ("https://API.DeepSeek.com/anything", True),
        ("https://deepseek.com/v1", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.0.0.1:8000/", True),
        ("http://127.0.0.1:8000/beta/", True),
        ("http://127.0.0.1:8000/anthropic", True),
        ("http://127.0.0.1:8000/v1", False),
        ("https://notdeepseek.com/v1", False),
        ("https://deepseek.com.evil.invalid/v1", False),
        ("https://openrouter.ai/api/v1", False),
        ("https://proxy.invalid/api.deepseek.com/v1", False),
    ],
)
def test_which_endpoints_have_deepseeks_hosts(base_url: str, *, expected: bool) -> None:
    """DeepSeek's own hosts, and those addressed as they are; not a host that only looks like one."""
    assert expected == is_deepseek(base_url)


@dataclass
class Client:
    """A client, as far as its URL goes."""

    base_url: str


PREFIX: dict[str, Any] = {"messages": [{"role": "user"}, {"role": "assistant", "content": "a", "prefix": True}]}
STRICT: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f"}}, {"function": {"strict": True}}]}
PLAIN: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
ROOT, OTHER = "https://api.deepseek.com", "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("base_url", "url", "body", "expected"),
    [
        (ROOT, "/chat/completions", PLAIN, "/chat/completions"),
        (ROOT, "/chat/completions", PREFIX, f"{ROOT}/beta/chat/completions"),
        (ROOT, "/chat/completions", STRICT, f"{ROOT}/beta/chat/completions"),
        (ROOT, "/completions", {"prompt": "x"}, f"{ROOT}/beta/completions"),
        (f"{ROOT}/", "/completions", {}, f"{ROOT}/beta/completions"),
        (f"{ROOT}/v1", "/completions", {}, f"{ROOT}/beta/completions"),
        (f"{ROOT}/v1/", "/chat/completions", PREFIX, f"{ROOT}/beta/chat/completions"),
        (f"{ROOT}/beta", "/chat/completions", PREFIX, f"{ROOT}/beta/chat/completions"),
        (f"{ROOT}/beta", "/chat/completions", PLAIN, "/chat/completions"),
        (f"{ROOT}/anthropic", "/chat/completions", STRICT, f"{ROOT}/beta/chat/completions"),
        (f"{ROOT}/v1", "/user/balance", None, f"{ROOT}/user/balance"),
        (f"{ROOT}/beta/", "/models", None, f"{ROOT}/models"),
        (ROOT, "/models/deepseek-flash", None, "/models/deepseek-flash"),
        (ROOT, "/embeddings", {"input": "x"}, "/embeddings"),
        ("http://localhost:8000", "/completions", {}, "http://localhost:8000/beta/completions"),
        (OTHER, "/completions", {"prompt": "x"}, "/completions"),
        (OTHER, "/chat/completions", PREFIX, "/chat/completions"),
        (OTHER, "/models", None, "/models"),
        (OTHER, "/user/balance", None, "/user/balance"),
        (ROOT, "https://elsewhere.invalid/chat/completions", PREFIX, "https://elsewhere.invalid/chat/completions"),
    ],
)
def test_where_a_request_is_sent(base_url: str, url: str, body: dict[str, Any] | None, expected: str) -> None:
    """FIM, prefix completion and strict tools go to `/beta`, account data to the root; other servers are left alone."""
    assert expected == request_url(Client(base_url), url, body)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": "x"},
        {"messages": ["x"]},
        {"messages": [None]},
        {"messages": [{"role": "assistant", "prefix": False}]},
        {"messages": [{"role": "assistant", "prefix": "true"}]},
        {"messages": [{"role": "user", "prefix": True}]},
        {"messages": [{"role": "assistant", "prefix": True}, {"role": "user"}]},
        {"tools": None},
        {"tools": []},
        {"tools": "x"},
        {"tools": ["x", None, {}, {"function": None}, {"function": "f"}, {"function": {"strict": False}}]},
        {"tools": [{"function": {"strict": "true"}}, {"strict": True}]},
    ],
)
def test_bodies_that_need_no_beta(body: dict[str, Any]) -> None:
    """Whatever the shape of a body, only a true `prefix` on the last assistant message or a true `strict` moves it."""
    assert "/chat/completions" == request_url(Client(ROOT), "/chat/completions", body)


def test_the_base_url_is_looked_at_only_where_it_matters() -> None:
    """For an ordinary request the client is not asked where it points."""

    class Unasked:
        @property
        def base_url(self) -> str:
            pytest.fail("it was looked at")

    assert "/chat/completions" == request_url(Unasked(), "/chat/completions", PLAIN)
