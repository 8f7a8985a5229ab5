"""What the arguments of the decision may be."""

from __future__ import annotations

from typing import Any

from deepseek_sdk.errors import ConfigurationError

__all__ = ["check_cosine", "check_risk"]


def check_risk(name: str, value: Any) -> None:
    """
    Check a bound on the share of wrong hits.

    Args:
        name: The argument.
        value: What was given.

    Raises:
        ConfigurationError: It is not above 0 and below 1.
    """
    if not _is_number(value) or not 0 < value < 1:
        raise ConfigurationError(f"{name} must be a share above 0 and below 1, not {value!r}")


def check_cosine(name: str, value: Any) -> None:
    """
    Check a cosine similarity.

    Args:
        name: The argument.
        value: What was given.

    Raises:
        ConfigurationError: It is not between -1 and 1.
    """
    if not _is_number(value) or not -1 <= value <= 1:
        raise ConfigurationError(f"{name} must be a cosine similarity, -1 to 1, not {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
