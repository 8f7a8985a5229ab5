"""What the arguments of the decision may be."""

from __future__ import annotations

from typing import Any

from deepseek_sdk.errors import ConfigurationError

__all__ = ["check_chance", "check_cosine", "check_guards", "check_risk"]


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


def check_guards(name: str, value: Any) -> None:
    """
    Check what says what may never differ.

    Args:
        name: The argument.
        value: What was given; None will do.

    Raises:
        ConfigurationError: It has no `against()`, or is a class.
    """
    # A class has the method as well, and can do nothing.
    is_able = callable(getattr(value, "against", None)) and not isinstance(value, type)
    if value is not None and not is_able:
        raise ConfigurationError(f"{name} must be Guards, not {value!r}")


def check_chance(name: str, value: Any) -> None:
    """
    Check what draws numbers.

    Args:
        name: The argument.
        value: What was given.

    Raises:
        ConfigurationError: It is no function.
    """
    if not callable(value):
        raise ConfigurationError(f"{name} must be a function that gives numbers from 0 to 1, not {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
