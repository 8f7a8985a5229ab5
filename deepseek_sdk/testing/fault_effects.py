"""
What each fault does to an answer: functions from script to script, and a table that names them.

A *blunt* effect needs no answer: it says everything itself. A *rewriting* effect changes the script of a healthy one.
"""

from __future__ import annotations

import itertools
import time
import zlib
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing.refusals import status_body
from deepseek_sdk.testing.script import (
    DONE,
    Ending,
    Framing,
    Opening,
    Part,
    Script,
    as_json,
    decode,
    event,
    json_script,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk.testing.faults import Fault

__all__ = ["blunt_script", "is_blunt", "rewritten_script", "streams_instead"]

_PAGE = b"<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1></body></html>\n"
_DELTAS = ("role", "reasoning", "content", "tool", "finish")
_TEXTS = ("reasoning", "content", "tool")


def is_blunt(fault: Fault | None) -> bool:
    """Return whether *fault* takes the place of any answer."""
    return fault is not None and (fault.name in _BLUNT or fault.name.startswith("status_"))


def blunt_script(fault: Fault, *, is_stream: bool) -> Script:
    """Return what a blunt *fault* answers with."""
    parameters = dict(fault.parameters)
    if fault.name.startswith("status_"):
        return _status(**parameters)  # type: ignore[arg-type]
    return _BLUNT[fault.name](is_stream=is_stream, **parameters)


def rewritten_script(fault: Fault | None, script: Script) -> Script:
    """Return *script* as *fault* leaves it; None leaves it alone."""
    return script if fault is None else _REWRITING[fault.name](script, **dict(fault.parameters))


def streams_instead(fault: Fault | None, *, is_stream: bool) -> bool:
    """Return whether the answer is a stream, given what was asked for."""
    # These two change which encoder writes the answer, so they come before it rather than after.
    swapped = {"plain_to_stream": False, "stream_to_plain": True}
    return swapped.get(fault.name, is_stream) if fault else is_stream


def _head(*, is_stream: bool) -> dict[str, str]:
    return {"content-type": "text/event-stream; charset=utf-8" if is_stream else "application/json"}


# Blunt effects.


def _status(
    code: int, *, retry_after_s: float | None = None, form: str = "seconds", message: str | None = None
) -> Script:
    return json_script(status_body(code, message), status=code, headers=_retry_headers(retry_after_s, form))


def _retry_headers(seconds: float | None, form: str) -> dict[str, str]:
    if seconds is None:
        return {}
    if form == "milliseconds":
        return {"retry-after-ms": f"{seconds * 1000:g}"}
    return {"retry-after": f"{seconds:g}" if form == "seconds" else formatdate(time.time() + seconds, usegmt=True)}


def _opening(opening: Opening) -> Callable[..., Script]:
    def effect(*, is_stream: bool, after_s: float = 0.0) -> Script:
        return Script(headers=_head(is_stream=is_stream), opening=opening, opens_at=after_s)

    return effect


def _keep_alive_forever(*, is_stream: bool, every_s: float) -> Script:
    return Script(headers=_head(is_stream=is_stream), is_stream=is_stream, keep_alive_s=every_s, ending=Ending.HOLD)


def _keep_alive_then_close(*, is_stream: bool, every_s: float, seconds: float) -> Script:
    return replace(_keep_alive_forever(is_stream=is_stream, every_s=every_s), ending=Ending.COMPLETE, ends_at=seconds)


def _page(status: int, title: bytes) -> Callable[..., Script]:
    def effect(*, is_stream: bool) -> Script:  # noqa: ARG001 - a page is a page
        parts = (Part(_PAGE % (title, title), kind="plain"),)
        return Script(status=status, headers={"content-type": "text/html; charset=utf-8"}, parts=parts)

    return effect


def _blank(*, is_stream: bool, lines: int) -> Script:
    return Script(headers=_head(is_stream=is_stream), parts=(Part(b"\n" * lines),), framing=Framing.CHUNKED)


def _empty(*, is_stream: bool) -> Script:
    return Script(headers=_head(is_stream=is_stream), parts=(Part(b""),))


def _json_error(*, is_stream: bool) -> Script:  # noqa: ARG001 - one body, whatever was asked for
    return json_script(status_body(500))


def _octet_stream_error(*, is_stream: bool, code: int) -> Script:  # noqa: ARG001 - one body, whatever was asked for
    return json_script(status_body(code), status=code, headers={"content-type": "application/octet-stream"})


# Rewriting effects: time.


def _slow_headers(script: Script, *, seconds: float) -> Script:
    return replace(_later(script, 0, seconds), opens_at=script.opens_at + seconds)


def _slow_first_token(script: Script, *, seconds: float) -> Script:
    return _later(script, 0, seconds)


def _stall(script: Script, *, after_events: int, seconds: float | None) -> Script:
    return _stalled(replace(script, keep_alive_s=None), after_events, seconds)


def _stall_with_keep_alives(script: Script, *, after_events: int, seconds: float | None, every_s: float) -> Script:
    script = replace(script, keep_alive_s=every_s)
    if script.is_stream:
        return _stalled(script, after_events, seconds)
    # Blank lines may stand before a JSON body, not inside it.
    return replace(script, parts=(), ending=Ending.HOLD) if seconds is None else _later(script, 0, seconds)


def _stalled(script: Script, after_events: int, seconds: float | None) -> Script:
    script, place = _cuttable(script, after_events)
    if seconds is None:
        return replace(script, parts=script.parts[:place], ending=Ending.HOLD)
    return _later(script, place, seconds)


def _later(script: Script, first: int, seconds: float) -> Script:
    moved = tuple(replace(part, at=part.at + seconds) for part in script.parts[first:])
    return replace(script, parts=script.parts[:first] + moved)


# Rewriting effects: cuts.


def _cut(ending: Ending, framing: Framing) -> Callable[..., Script]:
    def effect(script: Script, *, after_events: int) -> Script:
        script, place = _cuttable(script, after_events)
        return replace(script, parts=script.parts[:place], ending=ending, framing=framing)

    return effect


def _cut_mid_event(script: Script, *, after_events: int) -> Script:
    script, place = _cuttable(script, after_events)
    # Half an event: its line has no end, so a reader must not take it for whole.
    half = script.parts[place].data[: len(script.parts[place].data) // 2]
    parts = (*script.parts[:place], replace(script.parts[place], data=half))
    return replace(script, parts=parts, framing=Framing.CHUNKED)


# A cut behind the finish reason would be no cut: the client has all it needs by then.
def _cuttable(script: Script, after_events: int) -> tuple[Script, int]:
    """Return the script and the place of a cut: never behind the finish reason; a plain body is halved first."""
    if not script.is_stream:
        whole = script.parts[0]
        middle = len(whole.data) // 2
        halves = (replace(whole, data=whole.data[:middle]), replace(whole, data=whole.data[middle:]))
        return replace(script, parts=halves, framing=Framing.CHUNKED), 1
    kinds = [part.kind for part in script.parts]
    return script, max(0, min(after_events, kinds.index("finish")))


def _malformed_event(script: Script, *, after_events: int) -> Script:
    return _inserted(script, after_events, b'data: {"id": "broken", "choices": [{"delta": \n\n')


def _error_event_early(script: Script) -> Script:
    return _ending_in_error(script, 0)


def _error_event_late(script: Script, *, after_events: int) -> Script:
    return _ending_in_error(script, after_events)


def _ending_in_error(script: Script, after_events: int) -> Script:
    if not script.is_stream:
        return replace(script, parts=(replace(script.parts[0], data=as_json(status_body(500))),))
    cut = _cut(Ending.COMPLETE, Framing.AUTO)(script, after_events=after_events)
    due = cut.parts[-1].at if cut.parts else 0.0
    return replace(cut, parts=(*cut.parts, Part(event(status_body(500)), due)))


def _inserted(script: Script, after_events: int, data: bytes) -> Script:
    if not script.is_stream:
        return replace(script, parts=(replace(script.parts[0], data=data.removeprefix(b"data: ")),))
    place = _cuttable(script, after_events)[1]
    due = script.parts[place].at
    return replace(script, parts=(*script.parts[:place], Part(data, due), *script.parts[place:]))


# Rewriting effects: odd but valid framing.


def _byte_by_byte(script: Script) -> Script:
    parts = tuple(replace(part, data=bytes([byte])) for part in script.parts for byte in part.data)
    return replace(script, parts=parts, is_coalesced=False, framing=Framing.CHUNKED)


def _split_utf8(script: Script) -> Script:
    parts = tuple(piece for part in script.parts for piece in _inside_characters(part))
    return replace(script, parts=parts, is_coalesced=False, framing=Framing.CHUNKED)


def _inside_characters(part: Part) -> list[Part]:
    # A byte of the form 10xxxxxx continues a character: a write that begins with it has cut one.
    cuts = [place for place, byte in enumerate(part.data) if byte & 0xC0 == 0x80]  # noqa: PLR2004
    places = [0, *cuts, len(part.data)]
    return [replace(part, data=part.data[start:end]) for start, end in itertools.pairwise(places)]


def _crlf_events(script: Script) -> Script:
    if not script.is_stream:
        return script
    return replace(script, parts=tuple(replace(part, data=part.data.replace(b"\n", b"\r\n")) for part in script.parts))


def _comments_and_ids(script: Script) -> Script:
    if not script.is_stream:
        return script
    parts = [Part(b": this stream has comments\nretry: 3000\n\n", script.parts[0].at)]
    parts.extend(replace(part, data=_with_fields(part, number)) for number, part in enumerate(script.parts))
    return replace(script, parts=tuple(parts))


def _with_fields(part: Part, number: int) -> bytes:
    data = part.data
    if part.kind != "done" and number % 2:
        # JSON may be broken between its members; a reader joins the lines of an event again.
        data = data.replace(b'","', b'",\ndata: "', 1)
    return b"id: %d\n:comment\nevent: message\n" % number + data + b": between\n\n"


def _gzip(script: Script) -> Script:
    # 16 + 15 asks zlib for the gzip format; a flush after every part lets a reader decode it as it comes.
    squeezer = zlib.compressobj(wbits=31)
    parts = [
        replace(part, data=squeezer.compress(part.data) + squeezer.flush(zlib.Z_SYNC_FLUSH)) for part in script.parts
    ]
    parts[-1] = replace(parts[-1], data=parts[-1].data + squeezer.flush())
    # Keep-alives between compressed parts would be garbage to the reader.
    return replace(script.with_headers(content_encoding="gzip"), parts=tuple(parts), keep_alive_s=None)


# Rewriting effects: the end.


def _missing_done(script: Script) -> Script:
    return script.without("done")


def _missing_done_open(script: Script, *, seconds: float | None) -> Script:
    return _held(script.without("done"), seconds, Ending.CLOSE)


def _held_after_done(script: Script, *, seconds: float | None) -> Script:
    return _held(script, seconds, Ending.COMPLETE)


def _held(script: Script, seconds: float | None, ending: Ending) -> Script:
    # A length would tell the client that the body is over, whatever the connection does.
    script = replace(script, keep_alive_s=None, framing=Framing.CHUNKED)
    if seconds is None:
        return replace(script, ending=Ending.HOLD)
    last = script.parts[-1].at if script.parts else 0.0
    return replace(script, ending=ending, ends_at=last + seconds)


def _missing_finish_reason(script: Script) -> Script:
    if script.is_stream:
        return script.without("finish", "usage")
    return script.rewritten(lambda body: body["choices"][0].update(finish_reason=None), "plain")


# Rewriting effects: odd answers.


def _finishing(reason: str) -> Callable[..., Script]:
    def effect(script: Script, *, after_events: int) -> Script:
        if script.is_stream:
            place = _cuttable(script, after_events)[1]
            kept = [part for part in script.parts[place:] if part.kind not in _TEXTS]
            script = replace(script, parts=(*script.parts[:place], *kept))
        else:
            script = script.rewritten(_halve_message, "plain")
        return _unknown_finish_reason(script, reason=reason)

    return effect


def _halve_message(body: dict[str, Any]) -> None:
    choice = body["choices"][0]
    holder, name = (choice["message"], "content") if "message" in choice else (choice, "text")
    holder[name] = holder[name][: len(holder[name]) // 2]


def _unknown_finish_reason(script: Script, *, reason: str) -> Script:
    return script.rewritten(lambda body: body["choices"][0].update(finish_reason=reason), "finish", "plain")


def _empty_answer(script: Script) -> Script:
    return script.without(*_TEXTS).rewritten(_emptied, "plain", "finish", "usage")


def _emptied(body: dict[str, Any]) -> None:
    for choice in body["choices"]:
        choice["finish_reason"] = "stop"
        if "message" in choice:
            choice["message"] = {"role": "assistant", "content": ""}
        if "text" in choice:
            choice["text"] = ""
    if body.get("usage"):
        prompt = body["usage"]["prompt_tokens"]
        body["usage"] |= {"completion_tokens": 0, "total_tokens": prompt}
        body["usage"].pop("completion_tokens_details", None)


def _reasoning_only(script: Script) -> Script:
    return script.rewritten(_into_thought, "content", "plain")


def _into_thought(body: dict[str, Any]) -> None:
    choice = body["choices"][0]
    if "delta" in choice:
        choice["delta"] = {"content": None, "reasoning_content": choice["delta"]["content"]}
    elif "message" in choice:
        message = choice["message"]
        message["reasoning_content"] = (message.get("reasoning_content") or "") + message["content"]
        message["content"] = ""


def _repeated_roles(script: Script) -> Script:
    # Fragments after the first one do not say their id and name; they are remembered by index.
    heads: dict[int, dict[str, Any]] = {}
    return script.rewritten(lambda body: _repeat(body, heads), *_DELTAS)


def _repeat(body: dict[str, Any], heads: dict[int, dict[str, Any]]) -> None:
    delta = body["choices"][0].get("delta")
    if delta is None:
        return
    delta["role"] = "assistant"
    for fragment in delta.get("tool_calls") or ():
        head = heads.setdefault(fragment["index"], fragment)
        fragment.update(id=head["id"], type=head["type"])
        fragment["function"]["name"] = head["function"]["name"]


def _missing_tool_index(script: Script) -> Script:
    return script.rewritten(_without_index, "tool")


def _without_index(body: dict[str, Any]) -> None:
    for fragment in body["choices"][0]["delta"]["tool_calls"]:
        fragment.pop("index", None)


def _empty_tool_calls(script: Script) -> Script:
    return script.rewritten(_with_no_calls, "role", "reasoning", "content")


def _with_no_calls(body: dict[str, Any]) -> None:
    if "delta" in body["choices"][0]:
        body["choices"][0]["delta"]["tool_calls"] = []


def _usage(*, on_finish: bool, on_its_own: bool) -> Callable[[Script], Script]:
    def effect(script: Script) -> Script:
        if not script.is_stream:
            return script if on_finish or on_its_own else script.rewritten(_without_usage, "plain")
        usage = dict(script.usage or {}) if on_finish else None
        script = script.without("usage").rewritten(lambda body: body.update(usage=usage), "finish")
        return _with_usage_chunk(script) if on_its_own else script

    return effect


def _without_usage(body: dict[str, Any]) -> None:
    body.pop("usage", None)


def _with_usage_chunk(script: Script) -> Script:
    # The chunk is a copy of the finishing one, so id, model and time agree.
    finish = next(part for part in script.parts if part.kind == "finish")
    chunk = {**decode(finish), "choices": [], "usage": dict(script.usage or {})}
    kept = script.without("done").parts
    return replace(script, parts=(*kept, Part(event(chunk), finish.at, "usage"), Part(DONE, finish.at, "done")))


def _unchanged(script: Script) -> Script:
    return script


_BLUNT: Mapping[str, Callable[..., Script]] = {
    "reset_before_headers": _opening(Opening.RESET),
    "close_before_headers": _opening(Opening.CLOSE),
    "no_answer": _opening(Opening.SILENCE),
    "keep_alive_forever": _keep_alive_forever,
    "keep_alive_then_close": _keep_alive_then_close,
    "html_200": _page(200, b"Welcome"),
    "html_502": _page(502, b"502 Bad Gateway"),
    "blank_200": _blank,
    "empty_200": _empty,
    "json_error_200": _json_error,
    "octet_stream_error": _octet_stream_error,
}

_REWRITING: Mapping[str, Callable[..., Script]] = {
    "slow_headers": _slow_headers,
    "slow_first_token": _slow_first_token,
    "cut_by_eof": _cut(Ending.COMPLETE, Framing.CHUNKED),
    "cut_by_close": _cut(Ending.COMPLETE, Framing.UNTIL_CLOSE),
    "cut_by_broken_chunking": _cut(Ending.CLOSE, Framing.CHUNKED),
    "cut_by_reset": _cut(Ending.RESET, Framing.CHUNKED),
    "cut_mid_event": _cut_mid_event,
    "stall": _stall,
    "stall_with_keep_alives": _stall_with_keep_alives,
    "malformed_event": _malformed_event,
    "error_event_early": _error_event_early,
    "error_event_late": _error_event_late,
    "byte_by_byte": _byte_by_byte,
    "split_utf8": _split_utf8,
    "crlf_events": _crlf_events,
    "comments_and_ids": _comments_and_ids,
    "gzip": _gzip,
    "missing_done": _missing_done,
    "missing_done_open": _missing_done_open,
    "held_after_done": _held_after_done,
    "missing_finish_reason": _missing_finish_reason,
    "empty_answer": _empty_answer,
    "insufficient_system_resource": _finishing("insufficient_system_resource"),
    "content_filter": _finishing("content_filter"),
    "unknown_finish_reason": _unknown_finish_reason,
    "reasoning_only": _reasoning_only,
    "repeated_roles": _repeated_roles,
    "missing_tool_index": _missing_tool_index,
    "empty_tool_calls": _empty_tool_calls,
    "usage_finish": _usage(on_finish=True, on_its_own=False),
    "usage_own_chunk": _usage(on_finish=False, on_its_own=True),
    "usage_both": _usage(on_finish=True, on_its_own=True),
    "usage_missing": _usage(on_finish=False, on_its_own=False),
    "plain_to_stream": _unchanged,
    "stream_to_plain": _unchanged,
}
