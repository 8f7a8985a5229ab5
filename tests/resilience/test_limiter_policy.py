from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk._estimate import estimate_tokens
from deepseek_sdk._wire import default_http_client
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.limiting.limiter import Limiter
from deepseek_sdk.resilience.limiting.policy import LimiterPolicy
from tests.resilience.timed_limiter import FLASH


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"initial": 0}, "initial must be a whole number, 1 or more, not 0"),
        ({"minimum": 0}, "minimum must be a whole number, 1 or more, not 0"),
        ({"minimum": True}, "minimum must be a whole number, 1 or more, not True"),
        ({"maximum": None}, "maximum must be a whole number, 1 or more, not None"),
        ({"maximum": 2.5}, "maximum must be a whole number, 1 or more, not 2.5"),
        ({"minimum": 9, "maximum": 8}, "maximum must be at least minimum, 9, not 8"),
        ({"rpm": 0}, "rpm must be a whole number, 1 or more, not 0"),
        ({"tpm": "1000"}, "tpm must be a whole number, 1 or more, not '1000'"),
        ({"batch_every": 0}, "batch_every must be a whole number, 1 or more, not 0"),
        ({"backoff": 1}, "backoff must be above 0 and below 1, not 1"),
        ({"backoff": 0}, "backoff must be above 0 and below 1, not 0"),
        ({"backoff": None}, "backoff must be a number, 0 or more, not None"),
        ({"backoff": float("nan")}, "backoff must be a number, 0 or more, not nan"),
        ({"max_wait": -1}, "max_wait must be a number of seconds, 0 or more, not -1"),
        ({"max_wait": "5"}, "max_wait must be a number of seconds, 0 or more, not '5'"),
        ({"max_wait": float("inf")}, "max_wait must be a number of seconds, 0 or more, not inf"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(given_: dict[str, Any], message: str) -> None:
    """A value that makes no sense is named."""
    with pytest.raises(ConfigurationError) as caught:
        LimiterPolicy(**given_)

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("policy", "model", "expected"),
    [
        ({}, "deepseek-flash", (64, 2500)),
        ({}, "deepseek-v4-pro", (64, 500)),
        ({"maximum": 4000}, "deepseek-v4-pro", (64, 4000)),
        ({"maximum": 8}, "deepseek-flash", (8, 8)),
        ({"minimum": 100}, "deepseek-flash", (100, 2500)),
        ({"minimum": 600}, "deepseek-v4-pro", (500, 500)),
    ],
)
def test_where_the_limit_begins_and_ends(policy: dict[str, Any], model: str, expected: tuple[int, int]) -> None:
    """It begins at *initial*, within *minimum* and *maximum*, which is DeepSeek's for the model unless it is given."""
    account = FLASH._replace(model=model)
    made = Limiter(account, LimiterPolicy(**policy))

    assert expected == (made.limit, made.maximum)
    assert account == made.account
    assert LimiterPolicy(**policy) == made.policy


@pytest.mark.parametrize(
    ("model", "maximum"),
    [
        ("deepseek-v4-pro", 500),
        ("deepseek-ai/DeepSeek-V4-Pro", 500),
        ("deepseek-v4-pro-260424", 500),
        ("deepseek-flash", 2500),
        ("deepseek-prover-v2", 2500),
        ("deepseek-v4-proto", 2500),
        ("qwen-product", 2500),
        ("Pro/deepseek-ai/DeepSeek-V4-Flash", 2500),
        ("", 2500),
    ],
)
def test_which_models_are_pro(model: str, maximum: int) -> None:
    """The word "pro" counts where it is a word of its own: after a dash, at the end or before another dash."""
    assert maximum == LimiterPolicy().maximum_for(model)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_pool_is_larger_than_what_is_let_through(is_async: bool) -> None:  # noqa: FBT001  a parameter of a test
    """Whatever the limiters let through by default has a connection: it never waits for one of the pool."""
    http_client = default_http_client(is_async=is_async)
    transport = http_client._transport
    pool = (transport._make() if is_async else transport._pools.get())._pool
    let_through = sum(LimiterPolicy().maximum_for(model) for model in ("deepseek-flash", "deepseek-v4-pro"))

    assert 2 * let_through < pool._max_connections
    assert (100, 5.0) == (pool._max_keepalive_connections, pool._keepalive_expiry)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, 0),
        ({"messages": [{"role": "user", "content": "x" * 96}]}, 30),  # the role is counted, too
        ({"messages": [{"role": "user", "content": "问" * 100}]}, 61),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "x" * 92}]}]}, 30),
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "x" * 9000}}]}]}, 2),
        ({"prompt": "x" * 100, "max_tokens": 7}, 37),
        ({"prompt": ["x" * 50, "x" * 50], "max_completion_tokens": 7}, 37),
        ({"prompt": "x" * 100, "max_tokens": None}, 30),
        ({"prompt": "x" * 100, "max_tokens": "7"}, 30),
        ({"prompt": "x" * 100, "max_tokens": True}, 30),
        ({"prompt": "\ud800" * 100}, 60),
    ],
)
def test_what_a_request_may_use(body: dict[str, Any], expected: int) -> None:
    """It is counted by its characters, as DeepSeek's rule of thumb has it, and by what it reserves for the answer."""
    assert expected == estimate_tokens(body)
