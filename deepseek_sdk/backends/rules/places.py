"""Where in a file of TOML or JSON a value stands; the parser of the language has accepted the file before."""

from __future__ import annotations

import json
import re
from typing import NamedTuple, TypeAlias

__all__ = ["Path", "Place", "find_places"]

Path: TypeAlias = "tuple[str | int, ...]"

_STRING = r'(?s:"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\')'
_BLANK = r"(?:[\s,]|#[^\n]*)*"
_BARE = r"[\w-]+"
_SCALAR = r"[^\s,\]}#]+(?: \d[\d:.+-]*Z?)?"


class Place(NamedTuple):
    """
    A place in a text.

    Attributes:
        line: Its line, counted from 1.
        column: Its character in the line, counted from 1.
    """

    line: int
    column: int


def find_places(text: str, *, is_json: bool) -> dict[Path, Place]:
    """
    Find where everything stands in a document that its parser accepts.

    Args:
        text: The document.
        is_json: It is JSON, otherwise TOML.

    Returns:
        The place of each key, table and list item, by the path to it; the path () is the beginning.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    if is_json:
        scanner.value(())
    else:
        scanner.document()
    return scanner.places


class _Scanner:
    """Walks over a document once. What TOML and JSON have in common is read by the same lines."""

    def __init__(self, text: str) -> None:
        self.places: dict[Path, Place] = {(): Place(1, 1)}
        self._text = text
        self._at = 0
        self._line, self._line_starts_at = 1, 0
        self._counts: dict[Path, int] = {}

    def document(self) -> None:
        """Read the statements of TOML."""
        table: Path = ()
        self._skip()
        while self._at < len(self._text):
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()

    def value(self, path: Path) -> None:
        """Read a value."""
        self._skip()
        self.places.setdefault(path, self._place())
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
        place = self._place()
        is_item = self._text.startswith("[[", self._at)
        self._at += 2 if is_item else 1
        path = self._resolved(self._key())
        if is_item:
            self._counts[path] = self._counts.get(path, -1) + 1
            self.places.setdefault(path, place)
            path = (*path, self._counts[path])
        self._at += 2 if is_item else 1
        self.places.setdefault(path, place)
        return path

    def _resolved(self, names: Path) -> Path:
        """Let a name that stands for a list of tables mean the last of them."""
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if path in self._counts and index < len(names) - 1:
                path = (*path, self._counts[path])
        return path

    def _pair(self, table: Path) -> None:
        """Read a key and its value."""
        place = self._place()
        names = self._key()
        for count in range(1, len(names) + 1):
            self.places.setdefault(table + names[:count], place)
        self._at += 1
        self.value(table + names)

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
            self.value((*path, count))
            self._skip()
            count += 1
        self._at += 1

    def _table(self, path: Path) -> None:
        self._at += 1
        self._skip()
        while self._peek() != "}":
            self._pair(path)
            self._skip()
        self._at += 1

    def _skip(self) -> None:
        self._take(_BLANK)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self, pattern: str) -> str:
        found = re.compile(pattern).match(self._text, self._at)
        if found is None:
            raise ValueError(f"nothing to read at {self._place()}")
        if lines := found[0].count("\n"):
            self._line += lines
            self._line_starts_at = found.start() + found[0].rindex("\n") + 1
        self._at = found.end()
        return found[0]

    def _place(self) -> Place:
        return Place(self._line, self._at - self._line_starts_at + 1)


def _unquoted(name: str) -> str:
    if name[0] == "'":
        return name[1:-1]
    import tomllib  # noqa: PLC0415  only files with quoted names need it

    try:
        return str(json.loads(name))
    except ValueError:
        return str(tomllib.loads(f"name = {name}")["name"])
