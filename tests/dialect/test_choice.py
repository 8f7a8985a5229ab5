from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deepseek_sdk import Route
from deepseek_sdk.dialect import dialect_of
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.account import Account


def endpoint(base_url: str, route: Route | None = None) -> Any:
    """Give a target over HTTP."""
    return SimpleNamespace(account=Account(base_url, "any", ""), route=route)


def backend(**attributes: Any) -> Any:
    """Give a target in this process."""
    return SimpleNamespace(account=None, route=None, is_in_process=True, backend=SimpleNamespace(**attributes))


@pytest.mark.parametrize(
    ("base_url", "model", "dialect"),
    [
        ("https://api.deepseek.com", "anything", "deepseek"),
        ("https://API.DeepSeek.com:443/beta", "anything", "deepseek"),
        ("https://user:key@api.deepseek.com/v1", "anything", "deepseek"),
        ("https://deepseek.com.example/v1", "anything", "openai"),
        ("https://example/deepseek.com/", "anything", "openai"),
        ("https://notdeepseek.com", "anything", "openai"),
        ("http://127.0.0.1:8000", "deepseek-flash", "deepseek"),
        ("http://127.0.0.1:8000", "deepseek-v4-flash", "deepseek"),
        ("http://127.0.0.1:8000", "deepseek-reasoner", "deepseek"),
        ("https://api.deepseek.com", "deepseek-v5", "deepseek"),
        ("http://127.0.0.1:8000", "deepseek-v5", "openai"),
        ("http://127.0.0.1:11434/v1", "deepseek-r1:7b", "openai"),
        ("https://models.example/v1", "deepseek-v3", "openai"),
        ("http://127.0.0.1:8000", "deepseek-ai/DeepSeek-V3", "openai"),
        ("http://127.0.0.1:8000", "deepseek-r1-distill-qwen-32b", "openai"),
        ("http://127.0.0.1:8000", "qwen3", "openai"),
    ],
)
def test_host_and_model_say_the_dialect(base_url: str, model: str, dialect: str) -> None:
    """DeepSeek's hosts and its models speak DeepSeek's dialect; about others nothing is known."""
    assert dialect == dialect_of(endpoint(base_url), model)


def test_a_route_says_its_dialect() -> None:
    """What a route says goes over host and model."""
    assert "vllm" == dialect_of(endpoint("https://api.deepseek.com", Route("m", dialect="vllm")), "deepseek-flash")
    assert "deepseek" == dialect_of(endpoint("http://10.0.0.5", Route("m", dialect="deepseek")), "m")
    assert "openai" == dialect_of(endpoint("http://10.0.0.5", Route("m")), "m")


def test_a_backend_says_its_dialect() -> None:
    """A backend may name the dialect it wants; what it does not know is none."""
    assert "deepseek" == dialect_of(backend(dialect="deepseek"), "local")
    assert "openai" == dialect_of(backend(dialect="klingon"), "deepseek-flash")
    assert "openai" == dialect_of(backend(), "deepseek-flash")


def test_a_dialect_that_nobody_speaks_is_an_error() -> None:
    """A route with an unknown dialect cannot be made."""
    with pytest.raises(ConfigurationError, match="m: dialect must be one of deepseek, vllm, openai, not 'sglang'"):
        Route("m", dialect="sglang")  # type: ignore[arg-type]
