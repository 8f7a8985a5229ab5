"""What has come of one answer so far, and whether its ending is one: the judgement of a single upstream attempt."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jiter

from deepseek_sdk._deltas import Normaliser, check_index, check_text
from deepseek_sdk._sse import encode
from deepseek_sdk.errors import (
    EmptyAnswerError,
    MalformedResponseError,
    Partial,
    ServerEventError,
    StreamInterruptedError,
    SystemResourceError,
    UnknownFinishReasonError,
)

if TYPE_CHECKING:
    from deepseek_sdk._sse import Event

__all__ = ["Progress"]

_FINISHED = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
# Possessive: what cannot match must fail in one pass, for this runs over whatever a server sends.
_STRING_BODY = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))++')
_OPENING = re.compile(rb'[ \t]*"')
# Bytes that stand for themselves in a JSON string.
_BARE = bytes(byte for byte in range(0x20, 0x100) if byte not in b'"\\')
_CHANNELS = ("content", "reasoning_content", "text")
# Streams whose every event differs (logprobs) teach nothing; learning stops after this many tries.
_LESSONS = 16


class _Template:
    """
    The shape of an ordinary delta: all the bytes around one string.

    An event that differs from one already decoded in nothing but the body of that string is known to be valid, and
    what it says is known, without being decoded: a third of the cost.
    """

    __slots__ = ("key", "prefix", "start", "suffix", "tail")

    def __init__(self, key: str, prefix: bytes, suffix: bytes) -> None:
        self.key = key
        self.prefix = prefix
        self.suffix = suffix
        self.start = len(prefix)
        self.tail = len(suffix)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _learn(event: Event, chunk: dict[str, Any]) -> _Template | None:
    """Find the one string that an ordinary delta is about, and prove that the rest holds for any other string."""
    key = _only_channel(chunk)
    if key is None or event.name or event.raw[6:-2] != event.data:
        return None
    name = b'"%b":' % key.encode()
    if event.data.count(name) != 1:
        return None
    opening = _OPENING.match(event.data, event.data.index(name) + len(name))
    body = _STRING_BODY.match(event.data, opening.end()) if opening else None
    if body is None:
        return None
    return _proved(_Template(key, event.raw[: body.start() + 6], event.raw[body.end() + 6 :]), chunk)


def _only_channel(chunk: dict[str, Any]) -> str | None:
    choices = chunk.get("choices") or []
    if len(choices) != 1 or choices[0].get("index") or choices[0].get("finish_reason") or chunk.get("usage"):
        return None
    delta = choices[0].get("delta", choices[0])
    if "role" in delta or delta.get("tool_calls") or delta.get("refusal"):
        return None
    spoken = [key for key in _CHANNELS if delta.get(key)]
    return spoken[0] if len(spoken) == 1 else None


def _proved(template: _Template, chunk: dict[str, Any]) -> _Template | None:
    try:
        blank = jiter.from_json((template.prefix + template.suffix)[6:])
        delta = blank["choices"][0].get("delta", blank["choices"][0])
        original = chunk["choices"][0].get("delta", chunk["choices"][0])
        # A key that is said twice has another value than the one found in the bytes.
        if delta[template.key] != "":
            return None
        delta[template.key] = original[template.key]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return template if blank == chunk else None


class Progress:
    """
    One answer as it arrives.

    Attributes:
        has_token: Content, reasoning or a tool call has come.
        has_answer: Content or a tool call has come.
        finish_reason: How choice 0 ended, or None.
        usage: The last usage block seen, as sent, or None.
        model: The model that answers, by its own word, or None.
        id: The server's name for the answer, or None.
        is_done: The answer is complete and `[DONE]` has come.
        has_moved: Something of the answer has come since this was last set to False; heartbeats are nothing.
    """

    __slots__ = (
        "_calls",
        "_choices",
        "_finished",
        "_lessons",
        "_may_be_empty",
        "_normaliser",
        "_response",
        "_spoken",
        "_template",
        "_texts",
        "_unfinished",
        "finish_reason",
        "has_answer",
        "has_moved",
        "has_token",
        "id",
        "is_done",
        "model",
        "usage",
    )

    def __init__(self, response: Any, choices: int = 1, *, may_be_empty: bool = False) -> None:
        self.has_moved = False
        self.has_token = False
        self.has_answer = False
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] | None = None
        self.model: str | None = None
        self.id: str | None = None
        self.is_done = False
        self._response = response
        self._choices = choices
        self._may_be_empty = may_be_empty
        self._unfinished: set[int] = set()
        self._finished: set[int] = set()
        self._normaliser: Normaliser | None = None
        self._template: _Template | None = None
        self._lessons = _LESSONS
        # The texts as JSON writes them: joining is exact, and a token costs its own bytes and nothing else.
        self._texts = {key: bytearray() for key in _CHANNELS}
        self._spoken = self._texts["content"]
        self._calls: dict[int, dict[str, Any]] = {}

    def observe(self, event: Event) -> Event:
        """
        Take the next event.

        Args:
            event: It.

        Returns:
            The event to hand on: *event*, or a rewritten one.

        Raises:
            MalformedResponseError: It is no chunk of an answer.
            ServerEventError: It is an error.
            StreamInterruptedError: It says that the answer was broken off.
            EmptyAnswerError: It says that an empty answer is complete.
        """
        if self.accepts(event.raw):
            self.has_moved = True
            return event
        if event.is_done:
            return self._done(event)
        return self._decoded(event)

    def accepts(self, raw: bytes) -> bool:
        """
        Take the next bytes if they are one ordinary delta, which needs no decoding; else leave them to `observe()`.

        Args:
            raw: Any bytes.

        Returns:
            Whether they were taken. This runs for every token of every stream.
        """
        template = self._template
        if template is None or not (raw.startswith(template.prefix) and raw.endswith(template.suffix)):
            return False
        body = raw[template.start : -template.tail]
        if body.translate(None, _BARE) or not body.isascii():
            return self._accepts_rare(body)
        self._spoken += body
        return bool(body)

    def _accepts_rare(self, body: bytes) -> bool:
        if not (_STRING_BODY.fullmatch(body) and _is_utf8(body)):
            return False
        self._spoken += body
        return True

    def follow(self, previous: Progress) -> None:
        """
        Go on where another answer broke off, in front of a caller who has seen its beginning.

        Args:
            previous: What came of the other.
        """
        self._normaliser = Normaliser(previous._normaliser)

    @property
    def knows_ordinary(self) -> bool:
        """Whether `accepts()` has seen an ordinary delta to go by."""
        return self._template is not None

    @property
    def is_complete(self) -> bool:
        """Whether every choice that was asked for has finished, so that nothing more of the answer can come."""
        return self.has_ended and len(self._finished) >= self._choices

    @property
    def has_ended(self) -> bool:
        """Whether every choice that has come has finished; a server may give fewer than were asked for."""
        return bool(self._finished) and not self._unfinished

    @property
    def answer_in_reasoning(self) -> bool:
        """Whether the answer ended with nothing said outside the reasoning channel."""
        return self.finish_reason == "stop" and self.has_token and not self.has_answer

    def partial(self) -> Partial:
        """
        Collect what has come.

        Returns:
            Text, reasoning and tool calls of choice 0.
        """
        text, reasoning, prompt = (_text(self._texts[key]) for key in _CHANNELS)
        return Partial(text=text or prompt, reasoning=reasoning, tool_calls=tuple(self._calls.values()))

    def interrupted(self, reason: str) -> StreamInterruptedError:
        """
        Describe an answer that broke off.

        Args:
            reason: Why, without a full stop.

        Returns:
            The error, with what has come.
        """
        return StreamInterruptedError(reason, request=self._response.request, partial=self.partial())

    def _done(self, event: Event) -> Event:
        if not self.has_ended:
            raise self.interrupted("The stream said [DONE] before the answer had a finish_reason")
        self.is_done = True
        return event

    def _decoded(self, event: Event) -> Event:
        try:
            chunk = event.json()
        except ValueError as error:
            raise self.unreadable(event) from error
        if not isinstance(chunk, dict):
            raise self.malformed("The server sent JSON that is no object", event)
        self._raise_error_in(chunk, event)
        try:
            return self._chunk(chunk, event)
        except (AttributeError, TypeError, KeyError, IndexError) as error:
            raise self.malformed("The server sent a chunk of another shape", event) from error

    def unreadable(self, event: Event) -> Exception:
        """
        Describe an event that is no JSON: a whole answer may have been cut, or never have been one.

        Args:
            event: It.

        Returns:
            The error, with what had come.
        """
        if not event.is_whole:
            return self.malformed("The server sent broken JSON", event)
        if (beginning := _beginning(event.data)) is None:
            return self.malformed("The server sent a body that is no answer", event)
        self._remember(beginning)
        return self.interrupted("The answer was cut")

    def malformed(self, reason: str, event: Event) -> MalformedResponseError:
        """
        Describe an event that cannot be read.

        Args:
            reason: Why, without a full stop.
            event: It.

        Returns:
            The error, with what had come before.
        """
        raw = event.data.decode(errors="replace")
        return MalformedResponseError(reason, raw=raw, response=self._response, partial=self.partial())

    def _raise_error_in(self, chunk: dict[str, Any], event: Event) -> None:
        error = chunk.get("error")
        if error is None and (event.name == b"error" or chunk.get("object") == "error"):
            error = chunk
        if not error:
            return
        message = error.get("message") if isinstance(error, dict) else error
        text = message if isinstance(message, str) and message else "An error occurred during streaming"
        raise ServerEventError(text, request=self._response.request, body=error, partial=self.partial())

    def _chunk(self, chunk: dict[str, Any], event: Event) -> Event:
        fixed = chunk if event.is_whole else self._fit(chunk)
        self.model = fixed.get("model") or self.model
        self.id = fixed.get("id") or self.id
        if isinstance(fixed.get("usage"), dict):
            self.usage = fixed["usage"]
        choices = fixed.get("choices")
        if event.is_whole and not choices:
            raise self.malformed("The answer has no choices", event)
        if not isinstance(choices, list | None):
            # Also what is empty: openai goes by it when the next chunk comes.
            raise self.malformed("The server sent a chunk of another shape", event)
        for choice in choices or ():
            self._choice(choice)
        if self._lessons and fixed is chunk and not event.is_whole:
            self._learn(event, chunk)
        return event if fixed is chunk else encode(fixed)

    def _fit(self, chunk: dict[str, Any]) -> dict[str, Any]:
        self._normaliser = self._normaliser or Normaliser()
        return self._normaliser.normalise(chunk)

    def _learn(self, event: Event, chunk: dict[str, Any]) -> None:
        self._lessons -= 1
        if template := _learn(event, chunk):
            self._template = template
            self._spoken = self._texts[template.key]

    def _choice(self, choice: dict[str, Any]) -> None:
        index = check_index(choice.get("index") or 0)
        message = choice.get("delta") or choice.get("message") or choice
        said = bool(message.get("content") or message.get("text") or message.get("refusal"))
        called = bool(message.get("tool_calls") or message.get("function_call"))
        thought = bool(message.get("reasoning_content"))
        self.has_answer = self.has_answer or said or called
        self.has_token = self.has_token or said or called or thought
        self.has_moved = self.has_moved or said or called or thought or bool(choice.get("finish_reason"))
        # A whole answer that is complete needs no partial text.
        if not index and ("message" not in choice or choice.get("finish_reason") not in _FINISHED):
            self._remember(message)
        # A completion that fills in the middle may well find nothing to fill in.
        self._finish(index, choice.get("finish_reason"), may_be_empty=self._may_be_empty or "text" in choice)

    def _remember(self, message: dict[str, Any]) -> None:
        for key in _CHANNELS:
            if message.get(key):
                self._texts[key] += json.dumps(check_text(key, message[key]))[1:-1].encode()
        for position, fragment in enumerate(message.get("tool_calls") or ()):
            self._remember_call(check_index(fragment.get("index", position)), fragment)

    def _remember_call(self, index: int, fragment: dict[str, Any]) -> None:
        call = self._calls.setdefault(
            index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        )
        function = fragment.get("function") or {}
        call["id"] = fragment.get("id") or call["id"]
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""

    def _finish(self, index: int, reason: Any, *, may_be_empty: bool) -> None:
        # Some gateways say "" where they mean null.
        if not reason:
            if index not in self._finished:
                self._unfinished.add(index)
            return
        self._refuse(reason)
        self._finished.add(index)
        self._unfinished.discard(index)
        self.finish_reason = reason if not index else self.finish_reason
        if reason == "stop" and not self.has_token and not may_be_empty and self.has_ended:
            raise EmptyAnswerError(response=self._response)

    def _refuse(self, reason: Any) -> None:
        # "insufficient_system_resource": interrupted, partial output (DeepSeek's reference of finish reasons).
        if reason == "insufficient_system_resource":
            text = "The server broke the answer off for lack of resources"
            raise SystemResourceError(text, request=self._response.request, partial=self.partial())
        if reason not in _FINISHED:
            raise self._unknown_finish(reason)

    def _unknown_finish(self, reason: object) -> UnknownFinishReasonError:
        text = f"The answer ended with the unknown finish_reason {reason!r}"
        error = UnknownFinishReasonError(text, request=self._response.request, partial=self.partial())
        error.finish_reason = reason
        return error


def _beginning(data: bytes) -> dict[str, Any] | None:
    """Read as much of the message of choice 0 as a cut answer holds, or None where it is no answer at all."""
    try:
        answer = jiter.from_json(data, partial_mode="trailing-strings")
    except ValueError:
        return None
    if not isinstance(answer, dict) or not answer.keys() & {"id", "object", "choices"}:
        return None
    choice: Any = next(iter(answer.get("choices") or ()), {})
    message = choice.get("message", choice) if isinstance(choice, dict) else None
    texts = message if isinstance(message, dict) else {}
    return {key: text for key, text in texts.items() if key in _CHANNELS and isinstance(text, str)}


def _text(body: bytearray) -> str:
    return str(json.loads(b'"%b"' % bytes(body))) if body else ""
