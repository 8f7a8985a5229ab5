"""What the emulated model says: scripted, computed by a callable, or an echo of what it was asked."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from deepseek_sdk.testing.recording import RecordedRequest

__all__ = ["Replies", "Reply", "ReplyLike", "ReplyQueue", "ToolCall", "as_reply", "echo"]


@dataclass(frozen=True)
class ToolCall:
    """
    A tool call of the model.

    | Call | Meaning |
    |---|---|
    | `ToolCall("f", {"a": 1})` | the arguments as JSON |
    | `ToolCall("f", '{"a": ')` | the arguments as they are, however broken |

    Args:
        name: The function's name.
        arguments: A mapping, or the exact text.
        id: Such as `call_00_…`; None makes one up.
        chunks: The exact fragments of the arguments in a stream; None cuts them at tokens.
    """

    name: str
    arguments: str | Mapping[str, Any] = "{}"
    id: str | None = None
    chunks: Sequence[str] | None = None

    @property
    def text(self) -> str:
        """The arguments as the wire carries them."""
        if self.chunks is not None:
            return "".join(self.chunks)
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """
    What the model says to one request.

    | Call | Meaning |
    |---|---|
    | `Reply(content="Hi")` | a short answer, after a short thought when thinking is on |
    | `Reply(content="Hi", reasoning="")` | no thought |
    | `Reply(chunks=["H", "i"])` | a stream carries exactly these pieces |
    | `Reply(tool_calls=[ToolCall("f", {"a": 1})])` | a turn that calls a tool |

    Args:
        content: The answer.
        reasoning: The thought; None makes one up. Left out when thinking is off.
        tool_calls: Tool calls after the answer.
        finish_reason: Instead of `stop`, `length` or `tool_calls`.
        logprobs: The logarithm of each answer token's probability; None makes them up.
        chunks: The exact pieces of the answer in a stream, in place of *content*; None cuts it at tokens.
        reasoning_chunks: The exact pieces of the thought, in place of *reasoning*.
        wait_s: Seconds before the first token, on top of the time model.
        usage: Fields of the usage block that are to be otherwise than counted.
        headers: Response headers on top of the usual ones.
    """

    content: str = ""
    reasoning: str | None = None
    tool_calls: Sequence[ToolCall] = ()
    finish_reason: str | None = None
    logprobs: Sequence[float] | None = None
    chunks: Sequence[str] | None = None
    reasoning_chunks: Sequence[str] | None = None
    wait_s: float = 0.0
    usage: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None

    @property
    def text(self) -> str:
        """The answer, whichever way it was given."""
        return self.content if self.chunks is None else "".join(self.chunks)

    @property
    def thought(self) -> str | None:
        """The thought, whichever way it was given."""
        return self.reasoning if self.reasoning_chunks is None else "".join(self.reasoning_chunks)


ReplyLike: TypeAlias = "str | Reply | None"
ReplyFunction: TypeAlias = "Callable[[RecordedRequest], ReplyLike | Awaitable[ReplyLike]]"
Replies: TypeAlias = "ReplyLike | ReplyFunction | Sequence[ReplyLike | ReplyFunction]"


class ReplyQueue:
    """
    Hand out one reply per answered request; safe from any thread.

    A string, a `Reply` or a callable answers every request. A list answers one request per item, in the order of
    arrival; after its end, and for an item None, the model echoes. Refused requests take no item.

    Args:
        source: The replies.
    """

    def __init__(self, source: Replies) -> None:
        self._lock = threading.Lock()
        self._always: ReplyLike | ReplyFunction = None
        self._next: deque[ReplyLike | ReplyFunction] = deque()
        self.source = source

    @property
    def source(self) -> Replies:
        """The replies as they were given."""
        return self._source

    @source.setter
    def source(self, source: Replies) -> None:
        # A string is a sequence of strings, but nobody means a letter per request.
        is_list = isinstance(source, Sequence) and not isinstance(source, str)
        with self._lock:
            self._source = source
            self._always = None if is_list else source  # type: ignore[assignment]
            self._next = deque(source if is_list else ())  # type: ignore[arg-type]

    def add(self, replies: Sequence[ReplyLike | ReplyFunction]) -> None:
        """Queue more *replies*, one per request; they go before a reply for every request."""
        with self._lock:
            self._next.extend(replies)

    def take(self) -> ReplyLike | ReplyFunction:
        """Return the next reply; None stands for an echo."""
        with self._lock:
            return self._next.popleft() if self._next else self._always


def as_reply(value: object) -> Reply | None:
    """
    Turn what a script or a callable gave into a reply.

    Args:
        value: A string, a `Reply`, or None.

    Returns:
        The reply; None for an echo.

    Raises:
        TypeError: *value* is none of these.
    """
    if value is None or isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(content=value)
    raise TypeError(f"a reply is a str, a Reply or None, not {value!r}")


def echo(text: str, *, is_json: bool, forced_tool: Mapping[str, Any] | None = None) -> Reply:
    """
    Answer with what was asked; the same words for the same request.

    Args:
        text: The last user message.
        is_json: Whether the answer must be JSON.
        forced_tool: The function that the request insists on; None for none.

    Returns:
        The reply.
    """
    if forced_tool is not None:
        return Reply(tool_calls=[ToolCall(str(forced_tool.get("name")), _example(forced_tool.get("parameters")))])
    if is_json:
        return Reply(content=json.dumps({"echo": text}, ensure_ascii=False))
    return Reply(content=f"You said: {text}" if text else "You said nothing.")


def echo_thought(text: str) -> str:
    """Return the thought that goes with an echo of *text*."""
    return f"The user wrote {len(text)} characters. I say them again."


def echo_middle(prompt: str, suffix: str) -> Reply:
    """Return a completion that depends on both sides of a hole."""
    return Reply(content=f" {prompt.strip()[-40:]} … {suffix.strip()[:40]}".rstrip(" …") + " ")


_EXAMPLES: Mapping[str, Any] = {
    "string": "text",
    "number": 1.5,
    "integer": 1,
    "boolean": True,
    "array": [],
    "null": None,
}


def _example(schema: object) -> Any:
    """Make up a value for a JSON schema: enough for a tool call to be parsed, no more."""
    if not isinstance(schema, Mapping):
        return {}
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind != "object":
        return _EXAMPLES.get(kind, "text") if isinstance(kind, str) else "text"
    return {name: _example(part) for name, part in (schema.get("properties") or {}).items()}
