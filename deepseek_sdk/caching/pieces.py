"""
Where the chunks of a stream began and ended, so that a kept answer can be streamed as it first was.

The texts of the chunks are in the answer already. What is kept besides is what stands around them, once for all chunks
that are alike in that, and how long each piece is. That is about 4 bytes for each chunk of an ordinary stream.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from deepseek_sdk.caching.entry import BadRecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["cut", "join"]

# Where something stands in a JSON value: names of fields and places in lists.
_Path: TypeAlias = tuple[str | int, ...]

_ENCODER = json.JSONEncoder(separators=(",", ":"))
# A text that few chunks hold.
_MARK = "\0"
_WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


def cut(chunks: Sequence[Mapping[str, Any]], answer: bytes) -> bytes:
    """
    Keep how an answer was cut into chunks.

    Args:
        chunks: The chunks of its stream, decoded, in their order; without `[DONE]`.
        answer: What they come to, as JSON.

    Returns:
        What `join()` makes the very same chunks of. That is proved here: chunks that cannot be cut out of the answer
        are kept as they are.

    Raises:
        ValueError: The chunks are no JSON.
    """
    try:
        told = [_dumps(dict(chunk)) for chunk in chunks]
    except (TypeError, RecursionError) as error:
        message = "the chunks are no JSON"
        raise ValueError(message) from error
    pieces = _Cutter(answer).cut(zip(map(dict, chunks), told, strict=True))
    return pieces if _proves(pieces, answer, told) else _as_they_are(told)


def join(pieces: bytes, answer: bytes) -> Iterator[dict[str, Any]]:
    """
    Cut an answer into the chunks that it came in.

    Args:
        pieces: What `cut()` returned.
        answer: The answer that was given to it.

    Yields:
        The chunks; each is new, and the caller's own.

    Raises:
        BadRecordError: The two do not belong together.
    """
    try:
        templates, streams, runs = json.loads(pieces)
        whole = json.loads(answer) if streams else None
        sources = [_source(_at(whole, path)) for path in streams]
        shapes = [_Shape(template, slots, sources) for template, slots in templates]
        for number, *lengths in runs:
            yield from shapes[number].chunks(lengths)
    except _WRONG as error:
        message = "the pieces do not fit the answer"
        raise BadRecordError(message) from error


def _dumps(value: object) -> str:
    return _ENCODER.encode(value)


def _proves(pieces: bytes, answer: bytes, told: list[str]) -> bool:
    # As text: there, 1 is neither 1.0 nor true, and fields have an order.
    return [_dumps(chunk) for chunk in join(pieces, answer)] == told


def _as_they_are(told: list[str]) -> bytes:
    templates = ",".join(f"[{chunk},[]]" for chunk in told)
    runs = [[number, 1] for number in range(len(told))]
    return f"[[{templates}],[],{_dumps(runs)}]".encode()


class _Source:
    """A text of the answer, or a list, from which one piece after the other is taken."""

    __slots__ = ("_place", "_value")

    def __init__(self, value: Any) -> None:
        self._value = value
        self._place = 0

    def take(self, length: int) -> Any:
        place, self._place = self._place, self._place + length
        return self._value[place : place + length]

    def length(self, piece: Any) -> int | None:
        """Tell how much to take for *piece*, or None where it is not what comes next. If it is, it is taken."""
        if type(piece) is not type(self._value) or self._value[self._place : self._place + len(piece)] != piece:
            return None
        self._place += len(piece)
        return len(piece)


class _Wide(_Source):
    """
    A text with characters that UTF-16 writes as two.

    A server that escapes them may have sent one half in one chunk and one in the next; in the answer they are one.
    """

    def take(self, length: int) -> str:
        return str(super().take(2 * length).decode("utf-16-le", "surrogatepass"))

    def length(self, piece: Any) -> int | None:
        if not isinstance(piece, str):
            return None
        length = super().length(piece.encode("utf-16-le", "surrogatepass"))
        return None if length is None else length // 2


def _source(value: Any) -> _Source:
    if isinstance(value, str):
        units = b"" if value.isascii() else value.encode("utf-16-le", "surrogatepass")
        return _Wide(units) if len(units) > 2 * len(value) else _Source(value)
    if isinstance(value, list):
        return _Source(value)
    message = "neither a text nor a list"
    raise TypeError(message)


class _Shape:
    """All that chunks have in common, and where each has a piece of the answer."""

    def __init__(self, template: Any, slots: list[Any], sources: list[_Source]) -> None:
        self._text = _dumps(template)
        self._slots = [(sources[number], tuple(path[:-1]), path[-1]) for number, path in slots]

    def chunks(self, lengths: list[int]) -> Iterator[dict[str, Any]]:
        """Yield the chunks of a run: their number where nothing is cut out of them, else the lengths of the pieces."""
        if not self._slots:
            yield from (json.loads(self._text) for _ in range(lengths[0]))
            return
        for start in range(0, len(lengths), len(self._slots)):
            chunk = json.loads(self._text)
            pieces = lengths[start : start + len(self._slots)]
            for (source, path, name), length in zip(self._slots, pieces, strict=True):
                _at(chunk, path)[name] = source.take(length)
            yield chunk


class _Frame(NamedTuple):
    """What stands around the one piece of a chunk, as text: the next chunk is most often of the same kind."""

    before: str
    after: str
    path: _Path
    source: _Source
    number: int

    def length(self, chunk: Mapping[str, Any], told: str) -> int | None:
        """Tell how long the piece of *chunk* is, or None where there is another frame around it."""
        if not (told.startswith(self.before) and told.endswith(self.after)):
            return None
        # What is in front of it leads to the same place.
        piece = _at(chunk, self.path)
        is_framed = isinstance(piece, str) and told == f"{self.before}{_dumps(piece)}{self.after}"
        return self.source.length(piece) if is_framed else None


class _Cutter:
    """Cuts the texts of chunks out of one answer."""

    def __init__(self, answer: bytes) -> None:
        self._answer = _loads(answer)
        self._sources: dict[_Path, tuple[int, _Source] | None] = {}
        self._numbers: dict[str, int] = {}
        self._runs: list[list[int]] = []
        self._frame: _Frame | None = None

    def cut(self, chunks: Iterable[tuple[Mapping[str, Any], str]]) -> bytes:
        for chunk, told in chunks:
            length = None if self._frame is None else self._frame.length(chunk, told)
            if self._frame is None or length is None:
                self._add(json.loads(told), chunk)
            else:
                self._run(self._frame.number, [length])
        paths = [self._whereabouts(origin) for origin, source in self._sources.items() if source is not None]
        return f"[[{','.join(self._numbers)}],{_dumps(paths)},{_dumps(self._runs)}]".encode()

    def _add(self, blank: dict[str, Any], chunk: Mapping[str, Any]) -> None:
        slots: list[tuple[_Source, int, _Path]] = []
        lengths: list[int] = []
        for path, origin in _texts(chunk):
            number, source = self._source(origin) or (0, None)
            piece = _at(chunk, path)
            if source is not None and (length := source.length(piece)) is not None:
                slots.append((source, number, path))
                lengths.append(length)
                _at(blank, path[:-1])[path[-1]] = type(piece)()
        number = self._number(blank, [(number, path) for _, number, path in slots])
        self._frame = _frame(blank, *slots[0][::2], number) if len(slots) == 1 else None
        self._run(number, lengths)

    def _number(self, *template: object) -> int:
        return self._numbers.setdefault(_dumps(template), len(self._numbers))

    def _run(self, number: int, lengths: list[int]) -> None:
        if not self._runs or self._runs[-1][0] != number:
            self._runs.append([number, *(lengths or (1,))])
        elif lengths:
            self._runs[-1] += lengths
        else:
            self._runs[-1][1] += 1

    def _source(self, origin: _Path) -> tuple[int, _Source] | None:
        if origin not in self._sources:
            known = sum(source is not None for source in self._sources.values())
            try:
                self._sources[origin] = (known, _source(_at(self._answer, self._whereabouts(origin))))
            except _WRONG:
                self._sources[origin] = None
        return self._sources[origin]

    def _whereabouts(self, origin: _Path) -> _Path:
        """Find a choice by its index: in a list, it may stand elsewhere."""
        indices = [choice["index"] for choice in self._answer["choices"]]
        return ("choices", indices.index(origin[1]), *origin[2:])


def _frame(blank: dict[str, Any], source: _Source, path: _Path, number: int) -> _Frame | None:
    """Find what stands around the place at *path* of a chunk in which that place is empty."""
    place = _at(blank, path[:-1])
    place[path[-1]] = _MARK
    before, mark, after = _dumps(blank).partition(_dumps(_MARK))
    return None if not mark or _dumps(_MARK) in after else _Frame(before, after, path, source, number)


def _loads(answer: bytes) -> Any:
    try:
        return json.loads(answer)
    except _WRONG:
        return None


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for name in path:
        value = value[name]
    return value


def _texts(chunk: Mapping[str, Any]) -> Iterator[tuple[_Path, _Path]]:
    """Find what the fold adds up (see `_fold`): where in the chunk it stands, and where in the answer it goes."""
    for position, choice in _fields(chunk.get("choices")):
        index = choice.get("index") or 0 if isinstance(choice, dict) else None
        if isinstance(index, int):
            here, there = ("choices", position), ("choices", index)
            for path, origin in _texts_of_choice(choice):
                yield (*here, *path), (*there, *origin)


def _texts_of_choice(choice: dict[str, Any]) -> Iterator[tuple[_Path, _Path]]:
    if isinstance(choice.get("text"), str):
        yield ("text",), ("text",)
    for name, value in _fields(choice.get("logprobs")):
        if isinstance(value, list):
            yield ("logprobs", name), ("logprobs", name)
    for name, value in _fields(choice.get("delta")):
        if isinstance(value, str) and name != "role":
            yield ("delta", name), ("message", name)
        elif name == "tool_calls":
            yield from _arguments(value)


def _arguments(fragments: Any) -> Iterator[tuple[_Path, _Path]]:
    for position, fragment in _fields(fragments):
        function = fragment.get("function") if isinstance(fragment, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            end = ("function", "arguments")
            if isinstance(fragment.get("index"), int):
                yield ("delta", "tool_calls", position, *end), ("message", "tool_calls", fragment["index"], *end)


def _fields(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()
