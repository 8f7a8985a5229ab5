"""Where in a file of TOML or JSON a value stands; the parser of the language has accepted the file before."""

from __future__ import annotations

import contextlib
import json
import re
from typing import NamedTuple, TypeAlias

__all__ = ["Layout", "Path", "Position", "find_positions"]

Path: TypeAlias = "tuple[str | int, ...]"

_STRING = r'(?s:"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\')'
_BLANK = r"(?:[\s,]|#[^\n]*)*"
_BARE = r"[\w-]+"
_SCALAR = r"[^\s,\]}#]+(?: \d[\d:.+-]*Z?)?"


class Position(NamedTuple):
    """
    A position in a text.

    Attributes:
        line: Its line, counted from 1.
        column: Its character in the line, counted from 1.
    """

    line: int
    column: int


class Layout(NamedTuple):
    """
    Where everything stands in a document.

    Attributes:
        positions: The position of each key, table and list item, by the path to it; the path () is the beginning.
        repeated: Keys that the same object has already, in JSON, each with where it stands again.
    """

    positions: dict[Path, Position]
    repeated: list[tuple[Path, Position]]


def find_positions(text: str, *, is_json: bool) -> Layout:
    """
    Find where everything stands in a document that its parser accepts.

    Args:
        text: The document.
        is_json: It is JSON, otherwise TOML.

    Returns:
        Its layout; of a document that is nested too deeply to be walked over, as far as that went.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"), is_json=is_json)
    # It looks for the lines of problems that are told anyway: with less exact lines, where it comes to that.
    with contextlib.suppress(RecursionError, ValueError):
        scanner.document()
    return Layout(scanner.positions, scanner.repeated)


class _Scanner:
    """Walks over a document once. What TOML and JSON have in common is read by the same lines."""

    def __init__(self, text: str, *, is_json: bool) -> None:
        self.positions: dict[Path, Position] = {(): Position(1, 1)}
        self.repeated: list[tuple[Path, Position]] = []
        self._text = text
        self._is_json = is_json
        self._at = 0
        self._line, self._line_starts_at = 1, 0
        self._counts: dict[Path, int] = {}

    def document(self) -> None:
        """Read it all: one value of JSON, or the statements of TOML."""
        if self._is_json:
            self._value(())
        else:
            self._statements()

    def _statements(self) -> None:
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def _value(self, path: Path) -> None:
        self._skip()
        self.positions.setdefault(path, self._position())
        if self._peek() == "[":
            self._array(path)
        elif self._peek() == "{":
            self._table(path)
        elif self._peek() in "\"'":
            self._take(_STRING)
        else:
            self._take(_SCALAR)

    def _header(self) -> Path:
        """Read `[table]`, or `[[item of a list of tables]]`."""
        position = self._position()
        is_item = self._text.startswith("[[", self._at)
        self._at += 2 if is_item else 1
        path = self._resolved(self._key())
        if is_item:
            self._counts[path] = self._counts.get(path, -1) + 1
            self.positions.setdefault(path, position)
            path = (*path, self._counts[path])
        self._at += 2 if is_item else 1
        self.positions.setdefault(path, position)
        return path

    def _resolved(self, names: Path) -> Path:
        """Let a name that stands for a list of tables mean the last of them."""
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if path in self._counts and index < len(names) - 1:
                path = (*path, self._counts[path])
        return path

    def _pair(self, table: Path) -> Path:
        """Read a key and its value; give the key."""
        position = self._position()
        names = self._key()
        for count in range(1, len(names) + 1):
            self.positions.setdefault(table + names[:count], position)
        self._at += 1
        self._value(table + names)
        return names

    def _key(self) -> Path:
        """Read a key, up to what follows it."""
        names = []
        while True:
            self._skip()
            quoted = self._peek() in "\"'"
            name = self._take(_STRING if quoted else _BARE)
            names.append(_unquoted(name) if quoted else name)
            self._skip()
            if self._peek() != ".":
                return tuple(names)
            self._at += 1

    def _array(self, path: Path) -> None:
        self._at += 1
        self._skip()
        count = 0
        while self._peek() != "]":
            self._value((*path, count))
            self._skip()
            count += 1
        self._at += 1

    def _table(self, path: Path) -> None:
        self._at += 1
        self._skip()
        keys: set[Path] = set()
        while self._peek() != "}":
            position = self._position()
            key = self._pair(path)
            if self._is_json and key in keys:
                self.repeated.append((path + key, position))
            keys.add(key)
            self._skip()
        self._at += 1

    def _skip(self) -> None:
        self._take(_BLANK)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            raise ValueError(f"nothing to read at {self._position()}")
        if lines := found[0].count("\n"):
            self._line += lines
            self._line_starts_at = found.start() + found[0].rindex("\n") + 1
        self._at = found.end()
        return found[0]

    def _position(self) -> Position:
        return Position(self._line, self._at - self._line_starts_at + 1)


def _unquoted(name: str) -> str:
    if name[0] == "'":
        return name[1:-1]
    import tomllib  # noqa: PLC0415  only files with quoted names need it

    try:
        return str(json.loads(name))
    except ValueError:
        return str(tomllib.loads(f"name = {name}")["name"])
