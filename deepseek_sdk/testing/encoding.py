"""An answer as bytes: one JSON body, or the events of a stream with the second at which each is due."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk.testing.answer import Answer, Call, call_json, joined
from deepseek_sdk.testing.script import DONE, Part, Script, as_json, event

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepseek_sdk.testing.job import Job
    from deepseek_sdk.testing.replies import Reply
    from deepseek_sdk.testing.vocabulary import Piece

__all__ = ["Envelope", "UsageShape", "encode_answer", "usage_block"]

UsageShape: TypeAlias = Literal["finish", "own_chunk", "both"]

_IMPOSSIBLE = -9999.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """
    What stands around an answer.

    Attributes:
        id: The answer's id.
        created: When it was made, in seconds since 1970.
        first_token_s: Seconds until its first token.
        token_s: Seconds from one token to the next.
        keep_alive_s: Seconds of silence after which a keep-alive is sent; None for none.
        usage_shape: Where the usage of a stream stands.
    """

    id: str
    created: int
    first_token_s: float
    token_s: float
    keep_alive_s: float | None
    usage_shape: UsageShape


def usage_block(job: Job, answer: Answer, reply: Reply, *, hit_tokens: int) -> dict[str, Any]:
    """Return the usage of *answer*, in the fields that the live API sends."""
    prompt, completion = len(job.ids), answer.completion_tokens
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": hit_tokens},
        "prompt_cache_hit_tokens": hit_tokens,
        "prompt_cache_miss_tokens": prompt - hit_tokens,
    }
    # The official encoder reports reasoning tokens in thinking mode only.
    if job.thinking:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.reasoning_tokens}
    return {**usage, **(reply.usage or {})}


def encode_answer(job: Job, answer: Answer, reply: Reply, envelope: Envelope, usage: Mapping[str, Any]) -> Script:
    """
    Write an answer down.

    Args:
        job: The request.
        answer: What the model writes.
        reply: Where it came from, for log probabilities.
        envelope: What stands around it.
        usage: The usage block.

    Returns:
        The script of a healthy answer.
    """
    encoder = _Encoder(job, answer, reply, envelope, usage)
    kind = "text/event-stream; charset=utf-8" if job.is_stream else "application/json"
    return Script(
        headers={"content-type": kind, "cache-control": "no-cache", **(reply.headers or {})},
        parts=tuple(encoder.events()) if job.is_stream else (encoder.whole(),),
        is_stream=job.is_stream,
        keep_alive_s=envelope.keep_alive_s,
        usage=usage,
    )


class _Encoder:
    def __init__(self, job: Job, answer: Answer, reply: Reply, envelope: Envelope, usage: Mapping[str, Any]) -> None:
        self._job = job
        self._answer = answer
        self._reply = reply
        self._envelope = envelope
        self._usage = usage
        self._at = envelope.first_token_s

    def whole(self) -> Part:
        """Return a plain answer."""
        at = self._envelope.first_token_s + self._answer.completion_tokens * self._envelope.token_s
        object_name = "chat.completion" if self._job.is_chat else "text_completion"
        body = {**self._frame(object_name), "choices": [self._choice()], "usage": dict(self._usage)}
        return Part(as_json(body), at, "plain")

    def events(self) -> Iterator[Part]:
        """Yield the events of a streamed answer."""
        if self._job.is_chat:
            yield Part(self._chunk(self._first_delta()), self._at, "role")
        yield from self._texts("reasoning_content", self._answer.reasoning, "reasoning")
        yield from self._texts("content", self._answer.content, "content")
        for index, call in enumerate(self._answer.calls):
            yield from self._call(index, call)
        yield from self._end()

    def _frame(self, object_name: str) -> dict[str, Any]:
        return {
            "id": self._envelope.id,
            "object": object_name,
            "created": self._envelope.created,
            "model": self._job.model,
            "system_fingerprint": "fp_emulator",
        }

    def _choice(self) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": self._answer.finish_reason,
            "logprobs": self._all_logprobs(),
        }
        if not self._job.is_chat:
            return {**choice, "text": joined(self._answer.content)}
        message: dict[str, Any] = {"role": "assistant", "content": joined(self._answer.content)}
        if self._job.thinking:
            message["reasoning_content"] = joined(self._answer.reasoning)
        if self._answer.calls:
            calls = [{"index": index, **call_json(call)} for index, call in enumerate(self._answer.calls)]
            message["tool_calls"] = calls
        return {**choice, "message": message}

    def _first_delta(self) -> dict[str, Any]:
        # Captures of the live API begin a thinking stream with a null answer and an empty thought.
        if self._job.thinks_now:
            return {"role": "assistant", "content": None, "reasoning_content": ""}
        return {"role": "assistant", "content": ""}

    def _texts(self, field: str, pieces: Sequence[Piece], kind: str) -> Iterator[Part]:
        before, after = self._around(field)
        offset = 0
        for index, piece in enumerate(pieces):
            self._tick(piece.tokens)
            end = after
            if self._job.top_logprobs is not None:
                logprobs = as_json(self._logprobs(field, [piece], index, offset))
                offset += len(piece.text)
                end = after.replace(b'"logprobs":null', b'"logprobs":' + logprobs, 1)
            yield Part(before + as_json(piece.text) + end, self._at, kind)

    def _around(self, field: str) -> tuple[bytes, bytes]:
        """Encode a chunk once and cut it where the text goes: a stream repeats all the rest."""
        # No tokenizer piece is encoded as this, so the cut is unambiguous.
        mark = "\x00"
        if not self._job.is_chat:
            data = self._chunk({}, text=mark)
        elif field == "reasoning_content":
            data = self._chunk({"content": None, "reasoning_content": mark})
        # With thinking on, chunks of the answer carry a null thought.
        elif self._job.thinking:
            data = self._chunk({"content": mark, "reasoning_content": None})
        else:
            data = self._chunk({"content": mark})
        before, _, after = data.partition(b'"\\u0000"')
        return before, after

    def _call(self, index: int, call: Call) -> Iterator[Part]:
        function = {"name": call.name, "arguments": ""}
        # The first fragment names the call, all others only add to its arguments.
        head = {"index": index, "id": call.id, "type": "function", "function": function}
        self._tick(1)
        yield Part(self._chunk({"tool_calls": [head]}), self._at, "tool")
        for piece in call.pieces:
            self._tick(piece.tokens)
            fragment = {"index": index, "function": {"arguments": piece.text}}
            yield Part(self._chunk({"tool_calls": [fragment]}), self._at, "tool")

    def _end(self) -> Iterator[Part]:
        # August reference: an extra chunk before [DONE], without choices. September: "No separate usage-only chunk is
        # emitted". Both have been seen, also together.
        shape = self._envelope.usage_shape
        delta: dict[str, Any] = {"content": ""}
        if self._job.thinking:
            delta["reasoning_content"] = None
        usage = None if shape == "own_chunk" else self._usage
        yield Part(self._chunk(delta, finish=self._answer.finish_reason, usage=usage), self._at, "finish")
        if shape != "finish" and self._job.include_usage:
            yield Part(event({**self._stream_frame(), "choices": [], "usage": dict(self._usage)}), self._at, "usage")
        yield Part(DONE, self._at, "done")

    def _stream_frame(self) -> dict[str, Any]:
        return self._frame("chat.completion.chunk" if self._job.is_chat else "text_completion")

    def _chunk(
        self,
        delta: Mapping[str, Any],
        *,
        text: str = "",
        finish: str | None = None,
        usage: Mapping[str, Any] | None = None,
    ) -> bytes:
        content = {"delta": delta} if self._job.is_chat else {"text": text}
        chunk = {
            **self._stream_frame(),
            "choices": [{"index": 0, **content, "logprobs": None, "finish_reason": finish}],
        }
        # September reference: with include_usage every chunk has the field, null but for the last; without it, only
        # the last chunk has it.
        if usage is not None or self._job.include_usage:
            chunk["usage"] = usage and dict(usage)
        return event(chunk)

    def _tick(self, tokens: int) -> None:
        self._at += tokens * self._envelope.token_s

    def _all_logprobs(self) -> dict[str, Any] | None:
        if self._job.top_logprobs is None:
            return None
        content = self._logprobs("content", self._answer.content)
        if self._job.is_chat and self._job.thinking:
            content |= self._logprobs("reasoning_content", self._answer.reasoning)
        return content

    def _logprobs(self, field: str, pieces: Sequence[Piece], first: int = 0, offset: int = 0) -> dict[str, Any]:
        given = self._reply.logprobs if field == "content" else None
        values = [
            given[index] if given is not None and index < len(given) else _made_up(piece.text, index)
            for index, piece in enumerate(pieces, first)
        ]
        if not self._job.is_chat:
            return _fim_logprobs(pieces, values, offset)
        top = self._job.top_logprobs or 0
        return {field: [_token(piece.text, value, top) for piece, value in zip(pieces, values, strict=True)]}


def _made_up(text: str, index: int) -> float:
    """Return a log probability that is the same for the same token in the same place."""
    share = (zlib.crc32(f"{index} {text}".encode("utf-8", "replace")) % 1000 + 1) / 1001
    return round(math.log(0.5 + share / 2), 6)


def _token(text: str, value: float, top: int) -> dict[str, Any]:
    others = [(text, value), *((f"{text}{rank}", round(value - rank, 6)) for rank in range(1, top))][:top]
    # A token outside the twenty most likely ones gets a number that stands for "not among them".
    entry = _entry(text, max(_IMPOSSIBLE, value))
    return {**entry, "top_logprobs": [_entry(other, likely) for other, likely in others]}


def _entry(text: str, value: float) -> dict[str, Any]:
    return {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace"))}


def _fim_logprobs(pieces: Sequence[Piece], values: Sequence[float], position: int) -> dict[str, Any]:
    offsets = []
    for piece in pieces:
        offsets.append(position)
        position += len(piece.text)
    tokens = [piece.text for piece in pieces]
    top = [{text: value} for text, value in zip(tokens, values, strict=True)]
    return {"text_offset": offsets, "token_logprobs": list(values), "tokens": tokens, "top_logprobs": top}
