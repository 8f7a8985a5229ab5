"""A kept answer as the source of a reply: whole, or as the stream that it came in."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from deepseek_sdk._sse import DONE, Event, encode
from deepseek_sdk._wire import DeadlineReached, stub_response
from deepseek_sdk.caching.entry import BadRecordError
from deepseek_sdk.caching.pieces import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deepseek_sdk._call import Call
    from deepseek_sdk._wire import Upstream
    from deepseek_sdk.caching.entry import Entry

__all__ = ["HEADER", "Replay", "Suiter", "chunks_of", "parts_of", "suited", "wants_usage"]

HEADER = "x-deepseek-sdk-cache"

# How many events are made at once: few enough not to hold up an event loop.
_BATCH = 16
# How long the pieces of an answer are that came whole, in characters.
_PART = 24
_CHUNK_OF = {"chat.completion": "chat.completion.chunk"}
# Marks, and what is not seen: both belong to a character beside them.
_ATTACHED = frozenset({"Mn", "Mc", "Me", "Cf"})
_VIRAMA = 9


class Replay:
    """
    Gives a kept answer as if it came from a server.

    Args:
        entry: The answer; nothing of it can be changed through what comes out here.
        call: What is asked.
        pace: How fast a stream goes, in characters per second, or None: as fast as it is read.

    Attributes:
        response: An HTTP response that stands for the server's.

    Raises:
        BadRecordError: The entry cannot be given as a stream.
    """

    upstream: Upstream | None = None
    only_waited = False

    def __init__(self, entry: Entry, call: Call, *, pace: float | None) -> None:
        self.response = stub_response(200, f"http://cache.invalid{call.path}")
        # openai goes by the first.
        self.response.headers.update({"content-type": "application/json", HEADER: "hit"})
        self._io = call.io
        self._events = _timed(_stream(entry, call), pace) if call.is_stream else iter([(0.0, _whole(entry))])
        # Now, while the model can still be asked instead.
        self._next = next(self._events, None)
        self._started: float | None = None

    async def pull(self, until: float) -> list[Event] | None:
        """Give the next events, once they are due."""
        if self._next is None:
            return None
        if self._started is None:
            self._started = self._io.now()
        await self._wait(self._started + self._next[0], until)
        return self._batch(self._io.now() - self._started) or None

    async def _wait(self, due: float, until: float) -> None:
        now = self._io.now()
        if due > now:
            await self._io.sleep(max(min(due, until) - now, 0.0))
            if due > until:
                raise DeadlineReached

    def _batch(self, elapsed: float) -> list[Event]:
        batch: list[Event] = []
        # The first is due, whatever the clock says after a sleep.
        while (coming := self._next) is not None and len(batch) < _BATCH and (not batch or coming[0] <= elapsed):
            batch.append(coming[1])
            self._next = next(self._events, None)
        return batch

    async def close(self, *, is_done: bool) -> None:  # noqa: ARG002  there is no connection to keep
        """Let go."""
        self.abort()

    def abort(self) -> None:
        """Let go, from any thread."""
        self._next = None


class Suiter:
    """
    Makes the stream that one caller got into the one that another asked for: usage is told to who wants it.

    A caller who did not ask for it sees what DeepSeek shows him: no chunk with nothing but usage, and no field without
    a value; what rides on the last chunk of the answer stays.

    Args:
        wants_usage: The other asked for usage.
    """

    def __init__(self, *, wants_usage: bool) -> None:
        self._wants_usage = wants_usage
        self._last: dict[str, Any] | None = None
        self._has_usage = False

    def take(self, chunk: dict[str, Any]) -> dict[str, Any] | None:
        """
        Take the next chunk.

        Args:
            chunk: It; not changed.

        Returns:
            The chunk to hand on, or None: there is none.
        """
        self._last = chunk
        if isinstance(chunk.get("usage"), Mapping):
            self._has_usage = True
            return chunk if self._wants_usage or chunk.get("choices") else None
        if self._wants_usage or "usage" not in chunk:
            return chunk
        return {name: value for name, value in chunk.items() if name != "usage"}

    def end(self, usage: dict[str, Any] | None) -> dict[str, Any] | None:
        """
        Take the end of the stream.

        Args:
            usage: That of the answer, or None: it is not known.

        Returns:
            The chunk to hand on before the end, or None: there is none.
        """
        if not self._wants_usage or self._has_usage or usage is None or self._last is None:
            return None
        return {**self._last, "choices": [], "usage": usage}


def suited(
    chunks: Iterable[dict[str, Any]], *, wants_usage: bool, usage: dict[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """
    Make a stream into the one that a caller asked for; see `Suiter`.

    Args:
        chunks: Its chunks; not changed.
        wants_usage: The caller asked for usage.
        usage: That of the answer, should the stream not tell it; or None.

    Yields:
        The chunks.
    """
    suiter = Suiter(wants_usage=wants_usage)
    for chunk in chunks:
        if (fit := suiter.take(chunk)) is not None:
            yield fit
    if (last := suiter.end(usage)) is not None:
        yield last


def wants_usage(body: Mapping[str, Any]) -> bool:
    """
    Tell whether a caller asked for usage.

    Args:
        body: The request.

    Returns:
        Whether *include_usage* is set.
    """
    options = body.get("stream_options")
    return isinstance(options, Mapping) and bool(options.get("include_usage"))


def chunks_of(answer: Mapping[str, Any], *, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """
    Make a stream of an answer that came whole: for each choice its role, its reasoning, its text, and its tool calls.

    Args:
        answer: A completion in the shape of a plain response.
        wants_usage: Usage comes in a chunk of its own at the end; else it rides on the last chunk of the answer.

    Yields:
        The chunks.
    """
    head = {name: value for name, value in answer.items() if name not in ("choices", "usage")}
    head["object"] = _CHUNK_OF.get(head.get("object", ""), head.get("object", ""))
    tail = {"usage": answer["usage"]} if "usage" in answer else {}
    none = {"usage": None} if tail and wants_usage else {}
    *first, last = [{**head, "choices": [said]} for choice in answer["choices"] for said in _sayings(choice)]
    yield from ({**chunk, **none} for chunk in first)
    yield {**last, **(none or tail)}
    if none:
        yield {**head, "choices": [], **tail}


def parts_of(text: str) -> Iterator[str]:
    """
    Cut a text as a stream would be.

    Args:
        text: It.

    Yields:
        Parts of some two dozen characters; what a reader takes for one character stays in one part.
    """
    start = 0
    while start < len(text):
        end = start + _PART
        while end < len(text) and _is_inside(text, start, end):
            end += 1
        yield text[start:end]
        start = end


def _whole(entry: Entry) -> Event:
    return Event(entry.answer, entry.answer, is_whole=True)


def _stream(entry: Entry, call: Call) -> Iterator[tuple[int, Event]]:
    """Yield the events of a stream, each with the number of characters that it says."""
    wanted = wants_usage(call.body)
    if entry.pieces is None:
        chunks = iter(_made(entry.answer, wants_usage=wanted))
    else:
        usage = None if entry.usage is None else json.loads(entry.usage)
        chunks = suited(join(entry.pieces, entry.answer), wants_usage=wanted, usage=usage)
    return chain(((_length(chunk), encode(chunk)) for chunk in chunks), [(0, DONE)])


def _made(answer: bytes, *, wants_usage: bool) -> list[dict[str, Any]]:
    try:
        return list(chunks_of(json.loads(answer), wants_usage=wants_usage))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = "no stream can be made of the answer"
        raise BadRecordError(message) from error


def _timed(events: Iterator[tuple[int, Event]], pace: float | None) -> Iterator[tuple[float, Event]]:
    said = 0
    for length, event in events:
        yield (said / pace if pace else 0.0), event
        said += length


def _length(chunk: dict[str, Any]) -> int:
    choices = [choice for choice in chunk.get("choices") or () if isinstance(choice, dict)]
    deltas = [choice.get("delta") or {} for choice in choices]
    calls = [fragment.get("function") or {} for delta in deltas for fragment in delta.get("tool_calls") or ()]
    texts = [choice.get("text") for choice in choices] + [call.get("arguments") for call in calls]
    texts += [delta.get(name) for delta in deltas for name in ("content", "reasoning_content")]
    return sum(len(text) for text in texts if isinstance(text, str))


def _sayings(choice: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the chunks of one choice say."""
    head = {"index": choice.get("index", 0)}
    logprobs = {"logprobs": None} if "logprobs" in choice else {}
    for said in _deltas(choice["message"]) if "message" in choice else _texts(choice["text"]):
        yield {**head, **said, **logprobs, "finish_reason": None}
    rest = {name: value for name, value in choice.items() if name not in ("index", "message", "text")}
    yield {**head, **({"delta": {"content": ""}} if "message" in choice else {"text": ""}), **rest}


def _texts(text: str) -> Iterator[dict[str, Any]]:
    return ({"text": part} for part in parts_of(text))


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content, reasoning = message.get("content") or "", message.get("reasoning_content")
    # Captures of the live API begin a thinking stream with a null answer and an empty thought; chunks of the answer
    # carry a null thought.
    first: dict[str, Any] = {**message, "content": None if reasoning else ""}
    silent = {"reasoning_content": None} if "reasoning_content" in message else {}
    if reasoning:
        first["reasoning_content"] = ""
    calls = first.pop("tool_calls", None) or []
    yield {"delta": first}
    yield from ({"delta": {"content": None, "reasoning_content": part}} for part in parts_of(reasoning or ""))
    yield from ({"delta": {"content": part, **silent}} for part in parts_of(content))
    yield from ({"delta": {"tool_calls": [{**call, "index": place}]}} for place, call in enumerate(calls))


def _is_inside(text: str, start: int, place: int) -> bool:
    """Tell whether what a reader takes for one character goes on at *place* of a part that began at *start*."""
    before, after = text[place - 1], text[place]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if unicodedata.category(after) in _ATTACHED or unicodedata.category(before) == "Cf":
        return True
    if "\ud800" <= before <= "\udbff" or unicodedata.combining(before) == _VIRAMA:
        return True
    return _is_sign(after) or _is_syllable(before, after) or _is_flag(text, start, place)


def _is_sign(after: str) -> bool:
    # Skin tones; vowels of Thai and Lao, and sound marks of Japanese, that are letters by their category.
    return "\U0001f3fb" <= after <= "\U0001f3ff" or after in "\u0e33\u0eb3\uff9e\uff9f"


def _is_syllable(before: str, after: str) -> bool:
    # Korean letters that are written as one: consonants at its beginning, then what cannot begin one.
    is_open = "\u1100" <= before <= "\u115f" or "\ua960" <= before <= "\ua97f"
    is_korean = "\u1100" <= after <= "\u11ff" or "\ua960" <= after <= "\ua97f" or "\uac00" <= after <= "\ud7ff"
    return (is_open and is_korean) or "\u1160" <= after <= "\u11ff" or "\ud7b0" <= after <= "\ud7ff"


def _is_flag(text: str, start: int, place: int) -> bool:
    # A flag is two letters of its own kind.
    if not _is_flag_letter(text[place]):
        return False
    letters = 0
    while place - letters > start and _is_flag_letter(text[place - letters - 1]):
        letters += 1
    return letters % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
