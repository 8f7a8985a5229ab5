"""`Validators`: JSON schemas made ready to validate with, kept as long as they are few."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Validators", "import_jsonschema", "is_imported", "place", "shortened"]

# A program has a handful of schemas; one that makes them by the thousand must not fill the memory.
_MOST = 64
_MOST_PROBLEMS = 8
_LONGEST = 200


def is_imported() -> bool:
    """Tell whether validating needs no import any more."""
    return "jsonschema" in sys.modules


def import_jsonschema() -> None:
    """Import what validates, which takes a tenth of a second: not in an event loop, and not for programs without."""
    import jsonschema  # noqa: F401, PLC0415  heavy, and few calls need it


class Validators:
    """The schemas of a client."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def problems(self, schema: Mapping[str, Any], value: object) -> tuple[str, ...]:
        """
        Say what is wrong with a value.

        Args:
            schema: What it must be.
            value: It.

        Returns:
            A line for each place, at most eight; none where the value is right, or the schema cannot be used.
        """
        validator = self._validator(schema)
        if validator is None:
            return ()
        try:
            return _told(validator.iter_errors(value))
        except Exception:  # noqa: BLE001  a reference into nowhere, an endless one: the schema says nothing then
            return ()

    def _validator(self, schema: Mapping[str, Any]) -> Any:
        try:
            key = json.dumps(schema)
        except (TypeError, ValueError, RecursionError):
            return None
        if key not in self._made:
            if len(self._made) >= _MOST:
                self._made.clear()
            self._made[key] = _compiled(schema)
        return self._made.get(key)


def _compiled(schema: Mapping[str, Any]) -> Any:
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415  heavy
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415  likewise
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415  likewise

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError:
        return None
    # The registry that jsonschema has by default would fetch references over the network.
    return kind(schema, registry=EMPTY_REGISTRY)


def _told(errors: Iterable[Any]) -> tuple[str, ...]:
    lines: list[str] = []
    for error in errors:
        if len(lines) == _MOST_PROBLEMS:
            break
        lines.append(f"{place(error.absolute_path)}: {shortened(error.message)}")
    return tuple(lines)


def place(path: Iterable[object]) -> str:
    """
    Name a place in a JSON value.

    Args:
        path: Its keys and indices, from the outside.

    Returns:
        They, with dots between, or "$" for the whole value.
    """
    return ".".join(map(str, path)) or "$"


def shortened(text: str) -> str:
    """
    Keep a line readable that may quote half an answer.

    Args:
        text: It.

    Returns:
        At most 200 characters of it.
    """
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
