"""What the user types: lines with editing and a history that outlives the program."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from functools import partial
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from deepseek_sdk.cli._chat.stdin import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from deepseek_sdk.cli._chat.keys import Interrupts

__all__ = ["History", "Lines", "is_open", "without_quotes"]

_QUOTES = '"""'
_MOST_ENTRIES = 1000


def is_open(text: str) -> bool:
    """Tell whether *text* goes on in another line: it ends in a backslash, or its triple quotes are not closed."""
    body = text.strip()
    if body.startswith(_QUOTES):
        return len(body) < 2 * len(_QUOTES) or not body.endswith(_QUOTES)
    return text.endswith("\\")


def without_quotes(text: str) -> str:
    """Give *text* without the triple quotes around it."""
    body = text.strip()
    return body[len(_QUOTES) : -len(_QUOTES)].strip("\n") if body.startswith(_QUOTES) else text


class History:
    """
    What was typed, in a file that only its owner may read: an entry a line, each a JSON string.

    Args:
        path: The file.
        warn: Is told once why entries cannot be kept.
    """

    def __init__(self, path: Path, warn: Callable[[OSError], None]) -> None:
        self._path = path
        self._warn: Callable[[OSError], None] | None = warn

    def read(self) -> list[str]:
        """Give the entries, and shorten the file to the latest ones."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
            if len(lines) > _MOST_ENTRIES:
                self._replace(lines[-_MOST_ENTRIES:])
        except FileNotFoundError:
            return []
        except OSError as error:
            self._give_up(error)
            return []
        return [entry for line in lines[-_MOST_ENTRIES:] if (entry := _entry(line))]

    def add(self, entry: str) -> None:
        """Append *entry*."""
        if self._warn is None:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _append(self._path, json.dumps(entry, ensure_ascii=False))
        except OSError as error:
            self._give_up(error)

    def _replace(self, lines: list[str]) -> None:
        # Another program that appends meanwhile loses that entry, and nothing else.
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        _append(fresh, *lines)
        fresh.replace(self._path)

    def _give_up(self, error: OSError) -> None:
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(error)


def _append(path: Path, *lines: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with open(descriptor, "ab") as file:  # noqa: PTH123  a path has no permissions to give
        with contextlib.suppress(OSError):
            path.chmod(0o600)  # what was typed is private, whoever made the file
        file.write("".join(f"{line}\n" for line in lines).encode())


def _entry(line: str) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, str) else None


class Lines:
    """
    Reads what the user types.

    Args:
        history: What was typed before; None keeps nothing.
        interrupts: Ends a line on Ctrl-C.
        commands: What Tab completes.
    """

    def __init__(self, history: History | None, interrupts: Interrupts, commands: Iterable[str]) -> None:
        self._history = history
        self._interrupts = interrupts
        self._readline = _readline([*commands])
        for entry in history.read() if history and self._readline else ():
            self._recall(entry)

    def read(self) -> str:
        """
        Read a text of one line or more.

        Returns:
            The text.

        Raises:
            EOFError: The user has left.
            KeyboardInterrupt: The user has dropped the text.
        """
        text = self._line("> ")
        while is_open(text):
            is_quoted = text.lstrip().startswith(_QUOTES)
            try:
                text = f"{text if is_quoted else text[:-1]}\n{self._line('... ')}"
            except EOFError:
                self._remember(text)  # the user may want it back
                raise
        self._remember(text)
        return without_quotes(text)

    def _line(self, prompt: str) -> str:
        line = self._interrupts.wait_for(partial(input, prompt))
        # Half a character cannot be sent; terminals that speak another encoding than we expect type such.
        return readable(line)

    def _remember(self, text: str) -> None:
        if not text.strip():
            return
        self._recall(text)
        if self._history:
            self._history.add(text)

    def _recall(self, text: str) -> None:
        """Let the arrow keys bring *text* back, unless the locale has no such characters: C has no Chinese ones."""
        if self._readline:
            with contextlib.suppress(UnicodeEncodeError):
                self._readline.add_history(text)


def _readline(commands: list[str]) -> Any:
    """Give the line editor, set up; None where Python has none, and lines are what the terminal makes of them."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    try:
        import readline  # noqa: PLC0415  not everywhere
    except ImportError:
        return None
    readline.set_auto_history(False)
    # A paste of many lines is one text; Python switches off what tells it from so many questions.
    readline.parse_and_bind("set enable-bracketed-paste on")
    readline.set_completer_delims(" ")
    readline.set_completer(lambda text, state: _completion(text, state, commands))
    is_libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if is_libedit else "tab: complete")
    return readline


def _completion(text: str, state: int, commands: list[str]) -> str | None:
    fitting = [f"{name} " for name in commands if text.startswith("/") and name.startswith(text)]
    return fitting[state] if state < len(fitting) else None
