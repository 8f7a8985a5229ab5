"""What the fields of a policy may be; each check raises a `ConfigurationError` that names the field."""

from __future__ import annotations

import math
from typing import Any

from deepseek_sdk.errors import ConfigurationError

__all__ = ["check_count", "check_number", "check_seconds", "check_share"]


def check_count(name: str, value: Any, *, least: int = 0) -> None:
    """
    Check a whole number.

    Args:
        name: The field.
        value: What was given.
        least: The smallest that will do.

    Raises:
        ConfigurationError: It is another thing, or smaller.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{name} must be a whole number, {least} or more, not {value!r}")


def check_number(name: str, value: Any, *, least: float = 0) -> None:
    """
    Check a number.

    Args:
        name: The field.
        value: What was given.
        least: The smallest that will do.

    Raises:
        ConfigurationError: It is no finite number, or smaller.
    """
    if not _is_number(value) or not least <= value < math.inf:
        raise ConfigurationError(f"{name} must be a number, {least:g} or more, not {value!r}")


def check_seconds(name: str, value: Any, *, may_be_zero: bool = True) -> None:
    """
    Check a duration.

    Args:
        name: The field.
        value: What was given, in seconds.
        may_be_zero: No time at all will do.

    Raises:
        ConfigurationError: It is no finite number of seconds.
    """
    is_good = _is_number(value) and 0 <= value < math.inf and (may_be_zero or value > 0)
    if not is_good:
        least = "0 or more" if may_be_zero else "above 0"
        raise ConfigurationError(f"{name} must be a number of seconds, {least}, not {value!r}")


def check_share(name: str, value: Any, *, may_be_zero: bool = False) -> None:
    """
    Check a part of a whole.

    Args:
        name: The field.
        value: What was given.
        may_be_zero: Nothing of it will do.

    Raises:
        ConfigurationError: It is not above 0 and at most 1.
    """
    is_good = _is_number(value) and 0 <= value <= 1 and (may_be_zero or value > 0)
    if not is_good:
        least = "from 0 to 1" if may_be_zero else "above 0 and at most 1"
        raise ConfigurationError(f"{name} must be {least}, not {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
