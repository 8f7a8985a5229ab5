"""What the disk knows of an entry beside its bytes: `Meta` goes in, `Row` comes out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.selection import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["COLUMNS", "Meta", "Row", "Totals"]

# Beside its bytes and what is known of it, an entry takes this much of the database: its key, five times over, the
# rows around it, and the room that is left in pages.
_OVERHEAD_BYTES = 1300

COLUMNS = "key, size, asked, model, tenant, tags, created_ms, expires_ms"


class Meta(NamedTuple):
    """
    What somebody may select an entry by, and when it goes.

    Attributes:
        asked: The model that was asked for.
        model: The model that answered.
        tenant: Whose it is.
        tags: The tags of the call.
        partition: What all but the last user text comes to.
        created_ms: When it was asked for, in milliseconds since 1970.
        expires_ms: When it ends, likewise; None: never.
        keep_ms: Until when it may still be of use, likewise; None: for ever.
        size: Bytes it counts for; 0: what it takes on the disk.
    """

    asked: str
    model: str
    tenant: str
    tags: Mapping[str, str]
    partition: str
    created_ms: int
    expires_ms: int | None = None
    keep_ms: int | None = None
    size: int = 0

    def packed(self, value_bytes: int) -> tuple[str, int]:
        """
        Write it as the table has it.

        Args:
            value_bytes: How long the value is.

        Returns:
            A JSON object, and how many bytes the entry counts for.
        """
        fields = {
            "asked": clean(self.asked),
            "model": clean(self.model),
            "tenant": clean(self.tenant),
            "tags": {clean(key): clean(value) for key, value in self.tags.items()},
            "partition": clean(self.partition),
            "created_ms": self.created_ms,
            "expires_ms": self.expires_ms,
            "keep_ms": self.keep_ms,
        }
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        # What is known of it stands in two tables.
        size = self.size or value_bytes + 2 * len(text.encode()) + _OVERHEAD_BYTES
        return f'{text[:-1]},"size":{size}}}', size


class Row(NamedTuple):
    """
    An entry, as the disk knows it.

    Attributes:
        key: Of the entry.
        size: Bytes it counts for.
        asked: The model that was asked for.
        model: The model that answered.
        tenant: Whose it is.
        tags: The tags of the call.
        created_ms: When it was asked for, in milliseconds since 1970.
        expires_ms: When it ends, likewise; None: never.
    """

    key: str
    size: int
    asked: str
    model: str
    tenant: str
    tags: tuple[tuple[str, str], ...]
    created_ms: int
    expires_ms: int | None

    @classmethod
    def of(cls, columns: Sequence[Any]) -> Row:
        """
        Read a row of the table.

        Args:
            columns: Those of `COLUMNS`.

        Returns:
            It; what another program has put there may have no models, tenant, tags or date.
        """
        key, size, asked, model, tenant, tags, created_ms, expires_ms = columns
        words = tuple(json.loads(tags or "{}").items())
        return cls(str(key), size, asked or "", model or "", tenant or "", words, created_ms or 0, expires_ms)


class Totals(NamedTuple):
    """
    What is in the cache.

    Attributes:
        entries: How many.
        bytes: What they count for.
    """

    entries: int
    bytes: int
