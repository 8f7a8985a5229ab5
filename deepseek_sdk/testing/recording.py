"""What arrived at the emulator, in the order in which it arrived."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ABORTED", "ANSWERED", "IN_PROGRESS", "STOPPED", "Ledger", "RecordedRequest", "text_of"]

IN_PROGRESS = "in progress"
ANSWERED = "answered"
ABORTED = "aborted by client"
STOPPED = "stopped with the emulator"


@dataclass(slots=True, kw_only=True, eq=False)
class RecordedRequest:
    """
    A request that arrived.

    Attributes:
        number: Its place in the order of arrival, from 0.
        method: Such as `POST`.
        path: Such as `/beta/chat/completions`.
        query: What stands behind the question mark.
        headers: By lower-case name.
        raw: The body's bytes.
        body: The body, decoded; None if it is no JSON.
        client: The peer's host and port; equal values mean the same TCP connection.
        arrived: When its headers had arrived, by `time.monotonic()`.
        finished: When its answer had ended; None while it has not.
        outcome: `"in progress"`, `"answered"`, `"refused"`, `"aborted by client"`, `"stopped with the emulator"`,
            `"failed: …"` for an error of the emulator or of a callable given to it, or the name of a fault.
        status: The HTTP status of the answer; None if there was none.
        fault: The name of the fault that befell it; None for none.
        prompt_tokens: The tokens of its prompt, once counted.
        cache_hit_tokens: How many of them came from the prefix cache.
        completion_tokens: The tokens of the answer, once planned.
        events: The number of parts of the answer that were written.
    """

    number: int
    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # they hold a key
    raw: bytes = field(default=b"", repr=False)
    body: Any = field(default=None, repr=False)
    client: tuple[str, int] = ("", 0)
    arrived: float = 0.0
    finished: float | None = None
    outcome: str = IN_PROGRESS
    status: int | None = None
    fault: str | None = None
    prompt_tokens: int | None = None
    cache_hit_tokens: int | None = None
    completion_tokens: int | None = None
    events: int = 0

    @property
    def cache_miss_tokens(self) -> int | None:
        """How many tokens of its prompt did not come from the prefix cache."""
        if self.prompt_tokens is None or self.cache_hit_tokens is None:
            return None
        return self.prompt_tokens - self.cache_hit_tokens

    @property
    def last_user_text(self) -> str:
        """The text of the last user message, or the prompt of a fill-in-the-middle request."""
        body = self.body if isinstance(self.body, dict) else {}
        messages = body.get("messages")
        for message in reversed(messages if isinstance(messages, list) else []):
            if isinstance(message, dict) and message.get("role") == "user":
                return text_of(message.get("content"))
        return text_of(body.get("prompt"))


class Ledger:
    """The requests so far, and a way to wait until none is in progress; safe from any thread."""

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self._changed = threading.Condition()
        self._open = 0

    def open(self, request: RecordedRequest) -> None:
        """Add a *request*."""
        with self._changed:
            self.requests.append(request)
            self._open += 1

    def close(self, request: RecordedRequest, *, now: float) -> None:
        """Note that the answer to *request* has ended."""
        with self._changed:
            request.finished = now
            self._open -= 1
            self._changed.notify_all()

    def wait_until_idle(self, timeout_s: float) -> bool:
        """
        Wait until no request is in progress.

        Args:
            timeout_s: The longest to wait, in seconds.

        Returns:
            Whether none is.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._open == 0, timeout_s)


def text_of(content: object) -> str:
    """Return the text of a message's *content*: a string, or a list of parts joined as the encoder joins them."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n\n".join(
        str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text"
    )
