"""`Finding`: one thing that is wrong with a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from deepseek_sdk.errors import InvalidRequestError, RequestRejectedError

__all__ = ["Body", "Finding", "Kind", "Repair", "Severity", "listed", "without"]

Severity = Literal["error", "warning", "note"]
Body: TypeAlias = dict[str, Any]
Kind: TypeAlias = type[RequestRejectedError] | type[InvalidRequestError]
Repair: TypeAlias = Callable[[Body], Body]

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    One thing that is wrong with a request.

    Attributes:
        code: What it is, in one word.
        places: Where, such as "messages[3].tool_calls[1]"; the first one first.
        message: What is wrong, with its places.
        fix: What the repair does, or what the caller can do where there is none.
        severity: "error": the server refuses it, or ignores what was asked; "warning": it is known to go badly;
            "note": the server wants to be told in another way.
        repair: Makes a mended body of a body; unchanged parts are the same objects. None: only the caller can know.
        is_certain: It will be refused; else it may be something that is newer than these rules.
        kind: The error that the server's refusal would become.
        facts: Attributes of that error.
    """

    code: str
    places: tuple[str, ...]
    message: str
    fix: str
    severity: Severity = "error"
    repair: Repair | None = field(default=None, repr=False, compare=False)
    is_certain: bool = True
    kind: Kind = field(default=InvalidRequestError, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"{self.code}: {self.message}; {self.fix}"


def listed(places: Sequence[str]) -> str:
    """
    Name places, but not hundreds of them.

    Args:
        places: They.

    Returns:
        The first three, and how many more there are.
    """
    more = len(places) - _MOST_NAMED
    return ", ".join(places[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def without(body: Body, *names: str) -> Body:
    """
    Leave fields out.

    Args:
        body: A body, or a message.
        *names: The fields.

    Returns:
        A copy without them.
    """
    return {name: value for name, value in body.items() if name not in names}
