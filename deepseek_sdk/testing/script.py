"""
An answer as a script: what goes over the wire, when, and how it ends.

The engine writes scripts, faults rewrite them, the player acts them out. A script is a value; nothing here does input
or output.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DONE", "Ending", "Framing", "Opening", "Part", "Script", "as_json", "json_script"]

DONE = b"data: [DONE]\n\n"
# One encoder for all: `json.dumps` with options would build one per call, and streams make thousands.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Opening(Enum):
    """What happens before the first byte of an answer."""

    NORMAL = "the headers are sent"
    RESET = "the connection is reset"
    CLOSE = "the connection is closed"
    SILENCE = "nothing is ever sent"


class Framing(Enum):
    """How the client learns where the body ends."""

    AUTO = "by its length if it is one whole body, else by chunks"
    CHUNKED = "by chunks"
    UNTIL_CLOSE = "by the end of the connection"


class Ending(Enum):
    """What happens after the last part."""

    COMPLETE = "the body ends as HTTP wants it"
    CLOSE = "the connection is closed in the middle of the body"
    RESET = "the connection is reset in the middle of the body"
    HOLD = "the connection stays open in the middle of the body"


@dataclass(frozen=True, slots=True)
class Part:
    """
    A piece of the body.

    Attributes:
        data: The bytes; one whole server-sent event, or a plain body.
        at: Seconds after the start of the answer before which it is not sent.
        kind: `role`, `reasoning`, `content`, `tool`, `finish`, `usage`, `done`, `plain` or `other`.
    """

    data: bytes
    at: float = 0.0
    kind: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """
    An answer to come.

    Attributes:
        status: The HTTP status.
        headers: The response's headers, without those about framing.
        parts: The body.
        is_stream: Whether the body is a stream of events.
        opening: What happens before the headers.
        opens_at: Seconds before the opening.
        framing: How the body's end is told.
        ending: What happens after the last part.
        ends_at: Seconds after the start of the answer before which the ending does not come.
        keep_alive_s: Seconds of silence after which a keep-alive is sent; None for none.
        is_coalesced: Whether parts that are due at once may share a write.
        usage: The usage block, for whoever rewrites where it stands.
    """

    status: int = 200
    headers: Mapping[str, str]
    parts: tuple[Part, ...] = ()
    is_stream: bool = False
    opening: Opening = Opening.NORMAL
    opens_at: float = 0.0
    framing: Framing = Framing.AUTO
    ending: Ending = Ending.COMPLETE
    ends_at: float = 0.0
    keep_alive_s: float | None = None
    is_coalesced: bool = True
    usage: Mapping[str, Any] | None = None

    def with_headers(self, **headers: str) -> Script:
        """Return the script with *headers* added; underscores stand for hyphens."""
        return replace(self, headers={**self.headers, **{name.replace("_", "-"): headers[name] for name in headers}})

    def rewritten(self, edit: Callable[[dict[str, Any]], None], *kinds: str) -> Script:
        """
        Return the script with the JSON of some parts changed.

        Args:
            edit: Changes a decoded body or event in place.
            *kinds: The kinds of parts it is given.
        """
        parts = tuple(_edited(part, edit) if part.kind in kinds else part for part in self.parts)
        return replace(self, parts=parts)

    def without(self, *kinds: str) -> Script:
        """Return the script without the parts of some *kinds*."""
        return replace(self, parts=tuple(part for part in self.parts if part.kind not in kinds))


def as_json(value: object) -> bytes:
    """Encode *value* the way the live API does: compact, in UTF-8."""
    return _ENCODER.encode(value).encode("utf-8", "replace")


def json_script(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Script:
    """Return a script that answers with *value* as a JSON body."""
    return Script(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        parts=(Part(as_json(value), kind="plain"),),
    )


def event(value: object) -> bytes:
    """Encode *value* as a server-sent event."""
    return b"data: " + as_json(value) + b"\n\n"


def decode(part: Part) -> Any:
    """Return the JSON of a *part*."""
    return json.loads(part.data.removeprefix(b"data: "))


def _edited(part: Part, edit: Callable[[dict[str, Any]], None]) -> Part:
    value = decode(part)
    edit(value)
    return replace(part, data=as_json(value) if part.kind == "plain" else event(value))
