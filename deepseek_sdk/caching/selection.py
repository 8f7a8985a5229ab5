"""`Selection`: which entries somebody means, in RAM and on disk alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Selectable", "Selection", "clean"]

_LAST = "\U0010ffff"


class Selectable(Protocol):
    """What a selection looks at."""

    @property
    def key(self) -> str:
        """The key."""
        ...

    @property
    def asked(self) -> str:
        """The model that was asked for."""
        ...

    @property
    def model(self) -> str:
        """The model that answered."""
        ...

    @property
    def tenant(self) -> str:
        """Whose it is."""
        ...

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """The tags."""
        ...

    @property
    def created_ms(self) -> int:
        """When it was asked for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """
    Some entries; all that is given must hold, and nothing given means every entry.

        Selection(tag="feature")                         with that tag, whatever its value
        Selection(tag="feature=search", model="v4")      with that tag and value, asked of or answered by that model
        Selection(older_than_ms=now_ms - 86_400_000)     asked for more than a day ago

    Attributes:
        tag: "key" or "key=value".
        model: The model that was asked for, or that answered.
        older_than_ms: Asked for before this instant, in milliseconds since 1970.
        tenant: Whose.
        key_prefix: How the key begins.
    """

    tag: str | None = None
    model: str | None = None
    older_than_ms: int | None = None
    tenant: str | None = None
    key_prefix: str | None = None

    def matches(self, entry: Selectable) -> bool:
        """
        Tell whether an entry is one of them.

        Args:
            entry: It.

        Returns:
            Whether it is.
        """
        return (
            (self.tag is None or self._has_tag(entry.tags))
            and (self.model is None or clean(self.model) in (clean(entry.asked), clean(entry.model)))
            and (self.older_than_ms is None or entry.created_ms < self.older_than_ms)
            and (self.tenant is None or clean(self.tenant) == clean(entry.tenant))
            and (self.key_prefix is None or entry.key.startswith(self.key_prefix))
        )

    def where(self) -> tuple[str, tuple[str | int, ...]]:
        """
        Put it as a condition on the table `entry`.

        Returns:
            The condition, and its parameters in their order.
        """
        conditions = list(self._conditions())
        sql = " AND ".join(f"({condition})" for condition, _ in conditions) or "1"
        return sql, tuple(value for _, values in conditions for value in values)

    def _conditions(self) -> Iterator[tuple[str, tuple[str | int, ...]]]:
        if self.tag is not None:
            key, equals, value = clean(self.tag).partition("=")
            one = " AND value = ?" if equals else ""
            tags = f"EXISTS (SELECT 1 FROM json_each(entry.tags) WHERE json_each.key = ?{one})"  # noqa: S608  no input
            yield tags, ((key, value) if equals else (key,))
        if self.model is not None:
            yield "asked = ? OR model = ?", (clean(self.model),) * 2
        if self.older_than_ms is not None:
            yield "created_ms < ?", (self.older_than_ms,)
        if self.tenant is not None:
            yield "tenant = ?", (clean(self.tenant),)
        if self.key_prefix is not None:
            prefix = clean(self.key_prefix)
            # The first two are for the index, the last one decides.
            yield "key >= ? AND key <= ? AND substr(key, 1, ?) = ?", (prefix, prefix + _LAST, len(prefix), prefix)

    def _has_tag(self, tags: tuple[tuple[str, str], ...]) -> bool:
        key, equals, value = clean(self.tag or "").partition("=")
        found = {clean(name): clean(word) for name, word in tags}
        return found.get(key) == value if equals else key in found


def clean(text: str) -> str:
    """
    Replace what is no text for SQLite: halves of characters, and the character 0.

    Args:
        text: Any.

    Returns:
        It, or something close.
    """
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
