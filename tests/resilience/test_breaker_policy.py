from __future__ import annotations

from math import inf
from typing import Any

import pytest

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.breaking.breaker import BreakerPolicy


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("minimum_calls", [0, -1, 1.5, True, None, "20"]),
        ("consecutive_failures", [0, 2.5, False]),
        ("error_ratio", [0, 1.01, -1, float("nan"), "0.5", True]),
        ("slow_ratio", [0, 1.01, -1, float("nan"), "0.5"]),
        ("slow_first_token", [0, -1, inf, float("nan"), "8"]),
        ("window", [0, inf, None, float("nan")]),
        ("buckets", [0, 2.5, None]),
        ("open_for", [0, inf, None, "10"]),
        ("open_for_longest", [9, inf, None]),
        ("growth", [0.9, inf, None]),
        ("jitter", [-0.1, 1, None]),
        ("when_open", ["explode", None, True]),
    ],
)
def test_a_policy_that_cannot_be_is_refused(name: str, values: list[Any]) -> None:
    """The error names the field and shows the value."""
    for value in values:
        with pytest.raises(ConfigurationError, match=f"^{name} must be .*, not {value!r}"):
            BreakerPolicy(**{name: value})
