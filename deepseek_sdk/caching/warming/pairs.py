"""Questions with their answers, from files and from whatever else people have them in; nothing of it is trusted."""

from __future__ import annotations

import codecs
import csv
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from io import BufferedReader, FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

__all__ = ["Pair", "RefusedPairError", "read_pairs"]

_QUESTION = ("question", "prompt", "query", "input", "q", "问题", "提问")
_ANSWER = ("answer", "completion", "response", "output", "a", "答案", "回答")
_LINES = (".jsonl", ".ndjson")
_TABLES = {".csv": ",", ".tsv": "\t"}
_FORMATS = "a .jsonl, .ndjson, .csv or .tsv file, an open file of JSON lines, a mapping or an iterable of pairs"
# A longer question is none that somebody asks again, and a longer line no pair.
_LONGEST, _LONGEST_LINE = 100_000, 16 * 2**20
_TWO = 2
# By what begins a file, the longest first: the mark of UTF-16 begins that of UTF-32.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# So much of a file tells how it is encoded.
_HEAD = 2**16


class RefusedPairError(ValueError):
    """
    Something is no question with its answer, or not one that is kept.

    Attributes:
        reason: Why, in one word.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Pair(NamedTuple):
    """
    A question with its answer.

    Attributes:
        number: Where it stands in its source, from 1 on; of a file, the line that it ends in.
        messages: The conversation; the last message is the user's.
        answer: What is answered.
    """

    number: int
    messages: tuple[Mapping[str, Any], ...]
    answer: str


def read_pairs(source: Any, *, system: str | None = None) -> Iterator[Pair | tuple[int, str]]:
    """
    Read questions with their answers.

        read_pairs("faq.csv")                            columns "question" and "answer", or the first two of all
        read_pairs("faq.jsonl")                          {"question": ..., "answer": ...}, or {"messages": [...]}
        read_pairs({"如何退款？": "在订单页点“退款”。"})
        read_pairs([("如何退款？", "..."), ([{"role": "user", "content": "..."}], "...")])

    In a line with messages alone, the last one is the answer of the assistant.

    Args:
        source: A path, a file that is open for reading, a mapping from questions to answers, or an iterable of pairs.
        system: The instructions before each question that comes without its conversation; None: none.

    Yields:
        Each pair, or its number and why it cannot be used, in one word: "json", "shape", "empty", "encoding",
        "too_large".

    Raises:
        ConfigurationError: The source is none of these, or a file that is not in UTF-8, as its first lines show.
        OSError: The file cannot be read.
    """
    with _items(source) as items:
        for number, item in items:
            try:
                yield _pair(number, item, system)
            except RefusedPairError as error:
                yield number, error.reason


@contextmanager
def _items(source: Any) -> Iterator[Iterator[tuple[int, Any]]]:
    """Open a source; what stands in a line that cannot be read is a RefusedPairError."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        kind = path.suffix.lower()
        if kind in _LINES or kind in _TABLES:
            with BufferedReader(FileIO(path), _HEAD) as file:
                _check_encoding(path, file.peek())
                yield from _of_file(file, kind)
            return
    elif hasattr(source, "readline"):
        yield _of_lines(source)
        return
    elif isinstance(source, Iterable) and not isinstance(source, bytes | bytearray):
        yield enumerate(source.items() if isinstance(source, Mapping) else source, start=1)
        return
    raise ConfigurationError(f"source must be {_FORMATS}, not {source!r}")


def _of_file(file: BufferedReader[FileIO], kind: str) -> Iterator[Iterator[tuple[int, Any]]]:
    if kind in _LINES:
        yield _of_lines(file)
        return
    # What is not UTF-8 is refused line by line.
    with TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        yield _of_table(text, _TABLES[kind])


def _check_encoding(path: Path, head: bytes) -> None:
    """Refuse a file as a whole that is in another encoding; single lines that are damaged are refused one by one."""
    found = next((name for mark, name in _MARKS if head.startswith(mark)), None) or _legacy(head)
    if found is not None:
        raise ConfigurationError(f"source must be a file in UTF-8, not in {found}: {path}")


def _legacy(head: bytes) -> str | None:
    """Name the encoding of a file none of whose first lines is UTF-8, but for those in ASCII, which tell nothing."""
    # The last line of a longer file is not there as a whole.
    whole = head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1]
    lines = [line for line in whole.splitlines() if not line.isascii()]
    if not lines or any(_is_in(line, "utf-8") for line in lines):
        return None
    return "GB18030, as it seems" if all(_is_in(line, "gb18030") for line in lines) else "an unknown encoding"


def _is_in(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _of_lines(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_lines(file), start=1):
        if line.strip():
            yield number, _decoded(line)


def _lines(file: Any) -> Iterator[bytes]:
    """Yield the lines of a file; of one that is too long, no more than that shows it is."""
    while line := file.readline(_LONGEST_LINE):
        data = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        yield data
        while line and not line.endswith("\n" if isinstance(line, str) else b"\n"):
            line = file.readline(_LONGEST_LINE)


def _decoded(line: bytes) -> Any:
    if len(line) >= _LONGEST_LINE:
        return RefusedPairError("too_large")
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return RefusedPairError("encoding")
    except (ValueError, RecursionError):
        return RefusedPairError("json")


def _of_table(file: Iterable[str], delimiter: str) -> Iterator[tuple[int, Any]]:
    reader = csv.reader(file, delimiter=delimiter)
    columns: tuple[int, int] | None = None
    while (row := _row(reader)) is not None:
        if isinstance(row, list) and any(row) and columns is None:
            columns = _columns(row)
            if columns is not None:
                continue
            columns = (0, 1)
        if isinstance(row, RefusedPairError):
            yield reader.line_num, row
        elif any(cell.strip() for cell in row):
            yield reader.line_num, _cells(row, columns or (0, 1))


def _row(reader: Any) -> list[str] | RefusedPairError | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        return RefusedPairError("too_large" if "limit" in str(error) else "shape")


def _columns(row: Sequence[str]) -> tuple[int, int] | None:
    """Find the columns of questions and answers by the names in the first row, if it has names."""
    names = [cell.strip().casefold() for cell in row]
    question = next((names.index(name) for name in _QUESTION if name in names), None)
    answer = next((names.index(name) for name in _ANSWER if name in names), None)
    return None if question is None or answer is None else (question, answer)


def _cells(row: Sequence[str], columns: tuple[int, int]) -> Any:
    if len(row) <= max(columns):
        return RefusedPairError("shape")
    found = tuple(row[column] for column in columns)
    is_text = all(cell.isascii() or not any("\udc80" <= char <= "\udcff" for char in cell) for cell in found)
    return found if is_text else RefusedPairError("encoding")


def _pair(number: int, item: Any, system: str | None) -> Pair:
    if isinstance(item, RefusedPairError):
        raise item
    question, answer = _halves(item)
    if not isinstance(answer, str) or not isinstance(question, str | list | tuple):
        raise RefusedPairError("shape")
    messages = _messages(question, system)
    if not answer.strip() or not _says(messages[-1]):
        raise RefusedPairError("empty")
    return Pair(number, messages, answer)


def _halves(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        return _of_mapping(item)
    if isinstance(item, list | tuple) and len(item) == _TWO:
        return item[0], item[1]
    raise RefusedPairError("shape")


def _of_mapping(item: Mapping[str, Any]) -> tuple[Any, Any]:
    answer = next((item[name] for name in _ANSWER if item.get(name) is not None), None)
    if "messages" not in item:
        return next((item[name] for name in _QUESTION if item.get(name) is not None), None), answer
    messages = item["messages"]
    if not isinstance(messages, list | tuple):
        raise RefusedPairError("shape")
    if answer is not None or not messages:
        return messages, answer
    *before, last = messages
    # As in files for fine-tuning: the last message is what the model should say.
    is_answer = isinstance(last, Mapping) and last.get("role") == "assistant"
    return before, last.get("content") if is_answer else None


def _messages(question: Any, system: str | None) -> tuple[Mapping[str, Any], ...]:
    if isinstance(question, str):
        if len(question) > _LONGEST:
            raise RefusedPairError("too_large")
        instructions = () if system is None else ({"role": "system", "content": system},)
        return (*instructions, {"role": "user", "content": question})
    is_conversation = all(isinstance(one, Mapping) and isinstance(one.get("role"), str) for one in question)
    if not question or not is_conversation or question[-1]["role"] != "user":
        raise RefusedPairError("shape")
    return tuple(question)


def _says(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return bool(content.strip() if isinstance(content, str) else content)
