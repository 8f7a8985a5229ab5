"""
Server-sent events as bytes: what arrives in pieces of any size, cut into events, each decoded only when someone asks.

The format: https://html.spec.whatwg.org/multipage/server-sent-events.html, section 9.2.6.
"""

from __future__ import annotations

import json
import re
from typing import Any

import jiter

__all__ = ["DONE", "Event", "Framer", "encode"]

_LINE_END = re.compile(rb"\r\n|\r|\n")
_EMPTY = len(b"data: \n\n")
_BOM = b"\xef\xbb\xbf"


class Event:
    """
    One event.

    Attributes:
        raw: The bytes to hand on, with the blank line that ends them; as they arrived wherever *openai* can read them.
        data: The event's data.
        name: The event's type, empty for a plain message.
        is_whole: It is not an event at all but a whole JSON answer, as a plain request gets it.
    """

    __slots__ = ("_decoded", "data", "is_whole", "name", "raw")

    def __init__(self, raw: bytes, data: bytes, *, name: bytes = b"", is_whole: bool = False) -> None:
        self.raw = raw
        self.data = data
        self.name = name
        self.is_whole = is_whole
        self._decoded: Any = None

    def __repr__(self) -> str:
        return f"Event({self.data[:80]!r})"

    @property
    def is_done(self) -> bool:
        """Whether this is `[DONE]`, the end of a stream."""
        return self.data.startswith(b"[DONE]")

    def json(self) -> Any:
        """
        Decode the data, once.

        Returns:
            The decoded JSON; not to be changed.

        Raises:
            ValueError: The data is no JSON.
        """
        if self._decoded is None:
            self._decoded = _decode(self.data)
        return self._decoded


def _decode(data: bytes) -> Any:
    try:
        return jiter.from_json(data)
    except ValueError:
        # jiter refuses lone surrogates, which a server that escapes non-ASCII text may split over two events.
        return _decode_slowly(data)


def _decode_slowly(data: bytes) -> Any:
    try:
        # As text, for openai's decoder reads UTF-8 and nothing else.
        return json.loads(data.decode())
    except RecursionError as error:
        message = "nested too deeply"
        raise ValueError(message) from error


def encode(data: object) -> Event:
    """
    Make an event.

    Args:
        data: What to send as JSON.

    Returns:
        The event.
    """
    # One string may hold half of a surrogate pair, which has no UTF-8: escaping keeps it whole.
    payload = json.dumps(data, separators=(",", ":")).encode()
    return Event(b"data: %b\n\n" % payload, payload)


DONE = Event(b"data: [DONE]\n\n", b"[DONE]")


class Framer:
    """Cut a stream of bytes into events. Comments, `id:`, `retry:` and events without data are left out."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._name = b""
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[Event]:
        """
        Take the next bytes.

        Args:
            chunk: Any number of them, cut anywhere.

        Returns:
            The events they complete.
        """
        if not self._started:
            chunk = self._skip_bom(chunk)
        if self.is_clean and chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") and b"\r" not in chunk:
            return self._feed_plain(chunk)
        return self._feed_any(chunk)

    def finish(self) -> list[Event]:
        """
        Take the end of the stream.

        Returns:
            The last event, if its blank line is missing; whether it is complete shows when it is decoded.
        """
        events = self._feed_any(b"\n\n") if self._line or self._data else []
        self.__init__()  # type: ignore[misc]
        return events

    def _skip_bom(self, chunk: bytes) -> bytes:
        chunk = b"".join((*self._line, chunk))
        self._line.clear()
        self._started = chunk.startswith(_BOM) or not _BOM.startswith(chunk)
        return chunk.removeprefix(_BOM)

    @property
    def is_clean(self) -> bool:
        """Whether all that came was whole events."""
        return not (self._line or self._data or self._after_cr or self._name)

    def _feed_plain(self, chunk: bytes) -> list[Event]:
        """Take whole events of one line each, as DeepSeek sends them; any other falls through."""
        if chunk.find(b"\n", 0, -2) < 0:
            return [Event(chunk, chunk[6:-2])] if len(chunk) > _EMPTY else []
        events: list[Event] = []
        for part in chunk[:-2].split(b"\n\n"):
            if part.startswith(b"data: ") and b"\n" not in part and len(part) > len(b"data: "):
                events.append(Event(part + b"\n\n", part[6:]))
            else:
                events += self._feed_any(part + b"\n\n")
        return events

    def _feed_any(self, chunk: bytes) -> list[Event]:
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if chunk.endswith(b"\r"):
            self._after_cr = True
        *lines, rest = _LINE_END.split(chunk)
        events: list[Event] = []
        for line in lines:
            if (event := self._take_line(b"".join((*self._line, line)))) is not None:
                events.append(event)
            self._line.clear()
        if rest:
            self._line.append(rest)
        return events

    def _take_line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        return None

    def _dispatch(self) -> Event | None:
        data, name = b"\n".join(self._data), self._name
        self._data, self._name = [], b""
        if not data:
            return None
        head = b"event: %b\n" % name if name else b""
        lines = b"".join(b"data: %b\n" % line for line in data.split(b"\n"))
        return Event(b"%b%b\n" % (head, lines), data, name=name)
