"""What fitting needs to know of counting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Counted", "Counts"]


class Counted(Protocol):
    """How long a request is, in tokens."""

    @property
    def total(self) -> int:
        """All of it."""
        ...

    @property
    def by_message(self) -> Sequence[int]:
        """Each message; what is in none of them, such as tools, makes up the rest of *total*."""
        ...


class Counts(Protocol):
    """Counts tokens."""

    def count(self, body: Mapping[str, Any]) -> Counted:
        """Count a request."""
        ...

    def count_text(self, text: str) -> int:
        """Count a text."""
        ...

    def fits(self, body: Mapping[str, Any], limit: int) -> bool | None:
        """Tell without counting whether a request has at most *limit* tokens; None where that cannot be told."""
        ...
