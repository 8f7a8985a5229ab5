"""
The menu of faults: everything that has gone wrong between a client and a language model, by name.

A fault is a small value; what it does to an answer stands in `fault_effects`.
"""

from __future__ import annotations

import difflib
import inspect
import json
import math
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepseek_sdk.testing.recording import RecordedRequest

__all__ = ["Fault", "FaultLike", "FaultQueue", "Faults", "as_fault"]

_STATUSES = (400, 401, 402, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504)
_WAITING_STATUSES = (429, 503)


@dataclass(frozen=True)
class Fault:
    """
    Something that goes wrong with one request.

    | Call | Meaning |
    |---|---|
    | `Fault.cut_by_eof(after_events=3)` | three events, then a clean end |
    | `Fault.status(429, retry_after_s=2)` | a refusal that says when to come back |
    | `"cut_by_eof"` wherever a fault is wanted | the same with its usual parameters |
    | `"cut_by_eof(after_events=3)"` | the same with others, for a command line |

    An event counts from 1, the one that only names the role included. A plain answer has no events: where a stream
    would be cut, it is cut in the middle.

    Raises:
        ValueError: There is no such fault, or an argument is of the wrong kind; the message names it.
    """

    name: str
    parameters: tuple[tuple[str, object], ...] = ()

    def __post_init__(self) -> None:
        # However a fault is made, a slip shows here, and not as a broken answer of the server.
        _check(self.name, dict(self.parameters))

    def __repr__(self) -> str:
        maker = "status" if self.name.startswith("status_") else self.name
        return f"Fault.{maker}({', '.join(f'{name}={value!r}' for name, value in self.parameters)})"

    @staticmethod
    def menu() -> dict[str, str]:
        """Return every name that may be given as a string, and what it means in one line."""
        return _menu()

    @staticmethod
    def named(text: str) -> Fault:
        """
        Find a fault by its name.

        Args:
            text: A name of the menu, or a name with parameters such as `stall(after_events=2, seconds=0.5)`.

        Raises:
            ValueError: The menu has no such name, the fault no such parameter, or its value is of the wrong kind.
        """
        name, _, rest = text.strip().partition("(")
        if name not in _menu():
            close = difflib.get_close_matches(name, _menu(), n=3)
            raise ValueError(f"no fault is named {name!r}; {f'perhaps {_or(close)}' if close else 'see Fault.menu()'}")
        recipe, given = _recipe(name), _parameters(rest.removesuffix(")"))
        known = inspect.signature(recipe).parameters
        if strange := [parameter for parameter in given if parameter not in known]:
            raise ValueError(f"{name} takes {_or(known) or 'no arguments'}, not {strange[0]!r}")
        return recipe(**given)

    @staticmethod
    def status(
        code: int,
        *,
        retry_after_s: float | None = None,
        form: Literal["seconds", "milliseconds", "date"] = "seconds",
        message: str | None = None,
    ) -> Fault:
        """
        Refuse with an HTTP status.

        Args:
            code: The status.
            retry_after_s: Seconds until a retry is welcome; None says nothing about it.
            form: Whether that is said by `retry-after` in seconds, by `retry-after-ms`, or by `retry-after` as a date.
            message: The text of the error; None takes the usual one.
        """
        return Fault(f"status_{code}", _given(code=code, retry_after_s=retry_after_s, form=form, message=message))

    # Before the headers.

    @classmethod
    def reset_before_headers(cls, *, after_s: float = 0.0) -> Fault:
        """Reset the connection when the request has been read."""
        return cls("reset_before_headers", _given(after_s=after_s))

    @classmethod
    def close_before_headers(cls, *, after_s: float = 0.0) -> Fault:
        """Close the connection in an orderly way, without an answer."""
        return cls("close_before_headers", _given(after_s=after_s))

    @classmethod
    def no_answer(cls) -> Fault:
        """Never answer; the connection stays open."""
        return cls("no_answer")

    @classmethod
    def slow_headers(cls, *, seconds: float = 1.0) -> Fault:
        """Send the headers late, then everything as usual."""
        return cls("slow_headers", _given(seconds=seconds))

    # Before the first token.

    @classmethod
    def slow_first_token(cls, *, seconds: float = 1.0) -> Fault:
        """Send the first token late; keep-alives fill the time if it is long enough for them."""
        return cls("slow_first_token", _given(seconds=seconds))

    @classmethod
    def keep_alive_forever(cls, *, every_s: float = 0.05) -> Fault:
        """Send the headers and then only keep-alives."""
        return cls("keep_alive_forever", _given(every_s=every_s))

    @classmethod
    def keep_alive_then_close(cls, *, every_s: float = 0.05, seconds: float = 0.2) -> Fault:
        """Send keep-alives for a while, then end without a token, as when inference never started."""
        return cls("keep_alive_then_close", _given(every_s=every_s, seconds=seconds))

    # In the middle.

    @classmethod
    def cut_by_eof(cls, *, after_events: int = 3) -> Fault:
        """End the body cleanly in the middle: no finish reason, no [DONE]."""
        return cls("cut_by_eof", _given(after_events=after_events))

    @classmethod
    def cut_by_close(cls, *, after_events: int = 3) -> Fault:
        """End a body without length or chunks by closing the connection, so that nothing tells it from a whole one."""
        return cls("cut_by_close", _given(after_events=after_events))

    @classmethod
    def cut_by_broken_chunking(cls, *, after_events: int = 3) -> Fault:
        """Close the connection without the last chunk."""
        return cls("cut_by_broken_chunking", _given(after_events=after_events))

    @classmethod
    def cut_by_reset(cls, *, after_events: int = 3) -> Fault:
        """Reset the connection in the middle."""
        return cls("cut_by_reset", _given(after_events=after_events))

    @classmethod
    def cut_mid_event(cls, *, after_events: int = 3) -> Fault:
        """End the body cleanly in the middle of an event."""
        return cls("cut_mid_event", _given(after_events=after_events))

    @classmethod
    def stall(cls, *, after_events: int = 3, seconds: float | None = None) -> Fault:
        """Fall silent in the middle, without keep-alives; go on after some seconds, or never."""
        return cls("stall", _given(after_events=after_events, seconds=seconds))

    @classmethod
    def stall_with_keep_alives(
        cls, *, after_events: int = 3, seconds: float | None = None, every_s: float = 0.05
    ) -> Fault:
        """Send only keep-alives from the middle on; go on after some seconds, or never."""
        return cls("stall_with_keep_alives", _given(after_events=after_events, seconds=seconds, every_s=every_s))

    @classmethod
    def malformed_event(cls, *, after_events: int = 3) -> Fault:
        """Send one event that is no JSON."""
        return cls("malformed_event", _given(after_events=after_events))

    @classmethod
    def error_event_early(cls) -> Fault:
        """Send an error as the first event of a stream with status 200."""
        return cls("error_event_early")

    @classmethod
    def error_event_late(cls, *, after_events: int = 3) -> Fault:
        """Send an error as an event in the middle, and nothing after it."""
        return cls("error_event_late", _given(after_events=after_events))

    # Odd but valid framing.

    @classmethod
    def byte_by_byte(cls) -> Fault:
        """Send the body in writes of a single byte."""
        return cls("byte_by_byte")

    @classmethod
    def split_utf8(cls) -> Fault:
        """Cut the writes inside characters of several bytes."""
        return cls("split_utf8")

    @classmethod
    def crlf_events(cls) -> Fault:
        """End lines with carriage return and line feed."""
        return cls("crlf_events")

    @classmethod
    def comments_and_ids(cls) -> Fault:
        """Put comments, `id:`, `retry:` and `event:` fields around the data, and the data on several lines."""
        return cls("comments_and_ids")

    @classmethod
    def gzip(cls) -> Fault:
        """Compress the body."""
        return cls("gzip")

    # At the end.

    @classmethod
    def missing_done(cls) -> Fault:
        """Leave out [DONE] after the finish reason."""
        return cls("missing_done")

    @classmethod
    def missing_done_open(cls, *, seconds: float | None = None) -> Fault:
        """Leave out [DONE] and keep the connection open; close it after some seconds, or never."""
        return cls("missing_done_open", _given(seconds=seconds))

    @classmethod
    def held_after_done(cls, *, seconds: float | None = None) -> Fault:
        """Send [DONE] but do not end the body; end it after some seconds, or never."""
        return cls("held_after_done", _given(seconds=seconds))

    @classmethod
    def missing_finish_reason(cls) -> Fault:
        """Send [DONE] without ever giving a finish reason."""
        return cls("missing_finish_reason")

    # Odd answers.

    @classmethod
    def empty_answer(cls) -> Fault:
        """Answer with nothing at all and finish reason `stop`."""
        return cls("empty_answer")

    @classmethod
    def insufficient_system_resource(cls, *, after_events: int = 3) -> Fault:
        """Stop in the middle with the finish reason `insufficient_system_resource`."""
        return cls("insufficient_system_resource", _given(after_events=after_events))

    @classmethod
    def content_filter(cls, *, after_events: int = 3) -> Fault:
        """Stop in the middle with the finish reason `content_filter`."""
        return cls("content_filter", _given(after_events=after_events))

    @classmethod
    def unknown_finish_reason(cls, *, reason: str = "budget_exhausted") -> Fault:
        """Finish for a reason that nobody has heard of."""
        return cls("unknown_finish_reason", _given(reason=reason))

    @classmethod
    def reasoning_only(cls) -> Fault:
        """Put the whole answer into the thought and leave the content empty."""
        return cls("reasoning_only")

    @classmethod
    def repeated_roles(cls) -> Fault:
        """Repeat the role in every delta, and id, type and name in every fragment of a tool call."""
        return cls("repeated_roles")

    @classmethod
    def missing_tool_index(cls) -> Fault:
        """Leave `index` out of the fragments of tool calls."""
        return cls("missing_tool_index")

    @classmethod
    def empty_tool_calls(cls) -> Fault:
        """Put an empty list of tool calls into every delta."""
        return cls("empty_tool_calls")

    @classmethod
    def usage_finish(cls) -> Fault:
        """Put the usage on the chunk with the finish reason."""
        return cls("usage_finish")

    @classmethod
    def usage_own_chunk(cls) -> Fault:
        """Put the usage on a chunk of its own, without choices."""
        return cls("usage_own_chunk")

    @classmethod
    def usage_both(cls) -> Fault:
        """Put the usage on the chunk with the finish reason and on one of its own."""
        return cls("usage_both")

    @classmethod
    def usage_missing(cls) -> Fault:
        """Leave the usage out."""
        return cls("usage_missing")

    # Another kind of answer than was asked for.

    @classmethod
    def html_200(cls) -> Fault:
        """Answer 200 with a web page."""
        return cls("html_200")

    @classmethod
    def html_502(cls) -> Fault:
        """Answer 502 with a gateway's web page."""
        return cls("html_502")

    @classmethod
    def blank_200(cls, *, lines: int = 4) -> Fault:
        """Answer 200 with nothing but blank lines, as after a long wait in the queue."""
        return cls("blank_200", _given(lines=lines))

    @classmethod
    def empty_200(cls) -> Fault:
        """Answer 200 with a body of no bytes."""
        return cls("empty_200")

    @classmethod
    def json_error_200(cls) -> Fault:
        """Answer 200 with the JSON of an error."""
        return cls("json_error_200")

    @classmethod
    def octet_stream_error(cls, *, code: int = 400) -> Fault:
        """Refuse with the JSON of an error under the content type `application/octet-stream`."""
        return cls("octet_stream_error", _given(code=code))

    @classmethod
    def plain_to_stream(cls) -> Fault:
        """Answer a streamed request with one whole JSON body."""
        return cls("plain_to_stream")

    @classmethod
    def stream_to_plain(cls) -> Fault:
        """Answer a plain request with a stream of events."""
        return cls("stream_to_plain")


FaultLike: TypeAlias = "Fault | str | None"
Faults: TypeAlias = "Sequence[FaultLike] | Callable[[RecordedRequest], FaultLike] | Fault | str | None"


class FaultQueue:
    """
    Decide which fault befalls which request; safe from any thread.

    A list gives one fault per guarded request in the order of arrival, None for a healthy one. A single fault befalls
    every request; a callable decides for each. After the end of a list, requests are healthy but for *rate*.

    Args:
        source: The faults.
        rate: The share of the requests after the list that draw a fault at random.
        seed: Makes the draws repeatable.
        mix: The faults to draw from; None draws from the whole menu.
    """

    def __init__(
        self, source: Faults, *, rate: float = 0.0, seed: int = 0, mix: Sequence[Fault | str] | None = None
    ) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"a fault rate lies between 0 and 1; {rate!r} does not")
        self._lock = threading.Lock()
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._mix = [as_fault(fault) for fault in (Fault.menu() if mix is None else mix)]
        self.rate = rate
        self.source = source

    @property
    def source(self) -> Faults:
        """The faults as they were given."""
        return self._source

    @source.setter
    def source(self, source: Faults) -> None:
        is_list = isinstance(source, Sequence) and not isinstance(source, str)
        # Names are looked up here and not at the request, so that a slip shows where it was made.
        queue = deque([as_fault(fault) for fault in source] if is_list else ())  # type: ignore[union-attr]
        always = source if is_list or callable(source) else as_fault(source)  # type: ignore[arg-type]
        with self._lock:
            self._source, self._queue, self._always = source, queue, None if is_list else always

    def add(self, faults: Sequence[FaultLike]) -> None:
        """Queue more *faults*, one per request."""
        checked = [as_fault(fault) for fault in faults]
        with self._lock:
            self._queue.extend(checked)

    def take(self, request: RecordedRequest) -> Fault | None:
        """Return the fault that befalls *request*, or None."""
        # The draw happens under the lock, so that equal seeds give equal draws in the order of arrival.
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            always = self._always
            is_drawn = always is None and self.rate > 0 and self._random.random() < self.rate
            if is_drawn:
                return self._random.choice(self._mix)
        return as_fault(always(request)) if callable(always) else always  # type: ignore[return-value]


def as_fault(value: FaultLike) -> Fault | None:
    """
    Turn what was given for a fault into one.

    Args:
        value: A fault, a name of the menu, or None.

    Raises:
        ValueError: No fault has that name.
        TypeError: *value* is none of these.
    """
    if value is None or isinstance(value, Fault):
        return value
    if isinstance(value, str):
        return Fault.named(value)
    raise TypeError(f"a fault is a Fault, a name of the menu or None, not {value!r}")


def _menu() -> dict[str, str]:
    plain = {
        name: (inspect.getdoc(getattr(Fault, name)) or "").splitlines()[0]
        for name, member in vars(Fault).items()
        if isinstance(member, classmethod)
    }
    statuses = {f"status_{code}": f"Refuse with status {code}." for code in _STATUSES}
    waiting = {
        f"status_{code}_retry_after{suffix}": f"Refuse with status {code} and {text}."
        for code in _WAITING_STATUSES
        for suffix, text in (
            ("", "`retry-after` in seconds"),
            ("_ms", "`retry-after-ms`"),
            ("_date", "`retry-after` as a date"),
        )
    }
    return {**plain, **statuses, **waiting}


def _recipe(name: str) -> Callable[..., Fault]:
    """Give what makes the fault *name* of the menu; statuses are one fault with many names."""
    if not name.startswith("status_"):
        return getattr(Fault, name)  # type: ignore[no-any-return]
    code, is_waiting, rest = name.removeprefix("status_").partition("_retry_after")
    if not is_waiting:
        return partial(Fault.status, int(code))
    form: Literal["seconds", "milliseconds", "date"] = {"": "seconds", "_ms": "milliseconds", "_date": "date"}[rest]  # type: ignore[assignment]
    return partial(Fault.status, int(code), retry_after_s=1.0, form=form)


def _parameters(text: str) -> dict[str, object]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair.strip())
    return {name.strip(): _value(value.strip()) for name, _, value in pairs}


def _value(text: str) -> object:
    try:
        return json.loads({"None": "null"}.get(text, text))
    except ValueError:
        return text.strip("'\"")


def _given(**parameters: object) -> tuple[tuple[str, object], ...]:
    return tuple(parameters.items())


def _check(name: str, given: Mapping[str, object]) -> None:
    """Refuse a fault that its effect could not be made of."""
    maker = "status" if name.startswith("status_") else name
    if maker != "status" and not isinstance(vars(Fault).get(maker), classmethod):
        raise ValueError(f"no fault is named {name!r}; see Fault.menu()")
    wanted = inspect.signature(getattr(Fault, maker)).parameters
    if wanted.keys() != given.keys():
        raise ValueError(f"{name} is made of {_or(wanted) or 'no arguments'}, not of {_or(given) or 'none'}")
    for parameter, value in given.items():
        is_off = value is None and wanted[parameter].default is None
        meaning, is_fine = _KINDS[parameter]
        if not is_off and not is_fine(value):
            raise ValueError(f"{name}: {parameter} must be {meaning}, not {value!r}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seconds(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0  # type: ignore[arg-type, operator]  # it is a number


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _or(names: Iterable[str]) -> str:
    *first, last = [*names] or [""]
    return f"{', '.join(first)} or {last}" if first else last


# What an argument must be, by its name: it means the same wherever it stands.
_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "after_events": ("a whole number, 0 or more", _is_count),
    "lines": ("a whole number, 0 or more", _is_count),
    "code": ("an HTTP status from 400 to 599", lambda value: _is_count(value) and value in range(400, 600)),
    "after_s": ("a number of seconds, 0 or more", _is_seconds),
    "retry_after_s": ("a number of seconds, 0 or more", _is_seconds),
    "seconds": ("a number of seconds, 0 or more", _is_seconds),
    "every_s": ("a number of seconds above 0", lambda value: _is_seconds(value) and value != 0),
    "form": ("'seconds', 'milliseconds' or 'date'", lambda value: value in ("seconds", "milliseconds", "date")),
    "message": ("a text", _is_text),
    "reason": ("a text", _is_text),
}
