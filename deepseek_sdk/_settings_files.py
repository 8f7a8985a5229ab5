"""The files that may hold settings: where they are, what they say, and what a file of a stranger may decide."""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from deepseek_sdk._settings import CONFIG_VARIABLE, TABLES
from deepseek_sdk._wire import host_and_path
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    FileKind: TypeAlias = Literal["named", "project", "pyproject", "user"]

__all__ = ["FILE_NAME", "Origin", "SettingsFile", "find_files", "may_receive_key", "user_file"]

FILE_NAME = "deepseek.toml"
_TABLE = "deepseek_sdk"
# The names of the program and of the distribution.
_MISTAKEN_TABLES = ("deepseek-sdk", "deepseek-client-sdk", "deepseek_client_sdk")


class Origin(NamedTuple):
    """
    Who said what a setting is.

    Attributes:
        kind: "argument", "environment", "file" or "default".
        place: The environment variable, or the file.
        is_project: It is a file of the current directory, so whoever wrote that directory wrote it.
    """

    kind: Literal["argument", "environment", "file", "default"]
    place: str = ""
    is_project: bool = False

    def __str__(self) -> str:
        return f"environment variable {self.place}" if self.kind == "environment" else self.place or self.kind


class SettingsFile(NamedTuple):
    """
    A file that may hold settings.

    Attributes:
        path: Where it is.
        kind: "named" by the environment, "project", "pyproject" or "user".
        exists: There is such a file.
        is_read: Its settings count.
        values: What it says, by the full name of each setting; nothing where it cannot be read.
        problem: Why it cannot be read, or None.
    """

    path: Path
    kind: FileKind
    exists: bool
    is_read: bool = False
    values: Mapping[str, Any] = MappingProxyType({})
    problem: str | None = None

    def __repr__(self) -> str:
        # A key may be among the values.
        return f"SettingsFile(path={self.path!r}, kind={self.kind!r}, exists={self.exists}, is_read={self.is_read})"

    @property
    def origin(self) -> Origin:
        """What its settings have as their origin."""
        place = f"{self.path} [tool.{_TABLE}]" if self.kind == "pyproject" else str(self.path)
        return Origin(kind="file", place=place, is_project=self.kind in ("project", "pyproject"))


def may_receive_key(url: str, origin: Origin, key_origin: Origin | None) -> bool:
    """
    Decide whether a key may be sent to an endpoint, or a stranger could have chosen that endpoint to collect it.

    Args:
        url: The base URL of the endpoint.
        origin: Who named it.
        key_origin: Who gave the key; None where that is not known.

    Returns:
        False where a file of the current directory names it, the key comes from elsewhere, and the endpoint is neither
        this machine nor DeepSeek over TLS.
    """
    return not origin.is_project or origin == key_origin or _is_harmless(url)


def _is_harmless(url: str) -> bool:
    host, _ = host_and_path(url)
    if host == "deepseek.com" or host.endswith(".deepseek.com"):
        return url.lower().startswith("https://")
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def find_files(environment: Mapping[str, str]) -> Iterator[SettingsFile]:
    """
    Read the files that hold settings here and now.

    Args:
        environment: The environment variables.

    Yields:
        Each file that was looked for, whether it exists or not; the first wins.
    """
    named = environment.get(CONFIG_VARIABLE)
    if named:
        yield _read(_located(Path(named).expanduser()), "named")
    if named is not None:
        return
    project, pyproject = _located(Path(FILE_NAME)), _located(Path("pyproject.toml"))
    file = _read(project, "project")
    yield file
    yield _skipped(pyproject, "pyproject") if file.exists else _read(pyproject, "pyproject")
    yield _read(user_file(), "user")


def user_file() -> Path:
    """
    Tell where the user's own settings are, whether the file exists or not.

    Returns:
        `deepseek.toml` in the user's configuration directory.
    """
    import platformdirs  # noqa: PLC0415  not part of importing the library

    return Path(platformdirs.user_config_dir("deepseek-sdk")) / FILE_NAME


def _located(path: Path) -> Path:
    with suppress(OSError):  # the current directory may be gone
        return path.absolute()
    return path


def _skipped(path: Path, kind: FileKind) -> SettingsFile:
    # In a directory that may not be searched, nobody can tell whether there is a file: then there is none for us.
    return SettingsFile(path, kind, exists=os.access(path, os.F_OK))


def _read(path: Path, kind: FileKind) -> SettingsFile:
    """Read a file, if it is there; one that cannot be used is a file with a problem."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unread(path, kind, error)
    if kind == "pyproject" and not _may_hold_table(data):
        return SettingsFile(path, kind, exists=True)
    try:
        values = dict(_flat(_parse(data, kind)))
    except ValueError as error:
        return SettingsFile(path, kind, exists=True, problem=f"{path}: {error}")
    return SettingsFile(path, kind, exists=True, is_read=True, values=values)


def _unread(path: Path, kind: FileKind, error: OSError) -> SettingsFile:
    file = _skipped(path, kind)
    if kind != "named" and (kind == "pyproject" or not file.exists):
        return file
    problem = f"{path} cannot be read: {error.strerror or error}"
    hint = f"; the environment variable {CONFIG_VARIABLE} names it" if kind == "named" else ""
    return file._replace(problem=problem + hint)


def _may_hold_table(data: bytes) -> bool:
    # Parsing somebody's pyproject.toml takes milliseconds; most say nothing about this library.
    return re.search(rb"""tool\s*\.\s*["']?deepseek[_-](client[_-])?sdk""", data) is not None


def _parse(data: bytes, kind: FileKind) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  most programs have no file to parse

    try:
        # Windows' editors begin a file with a mark.
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"is not UTF-8 (at line {line})") from None
    except tomllib.TOMLDecodeError as error:
        end = "" if " line " in str(error) else f" (at line {len(data.splitlines())})"
        raise ConfigurationError(f"is not TOML: {error}{end}") from None
    return _table_of(document) if kind == "pyproject" else document


def _table_of(pyproject: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = pyproject.get("tool")
    tables = tool if isinstance(tool, dict) else {}
    for name in _MISTAKEN_TABLES:
        if name in tables:
            raise ConfigurationError(f"there is a table [tool.{name}]; did you mean [tool.{_TABLE}]?")
    table = tables.get(_TABLE, {})
    return table if isinstance(table, dict) else {f"tool.{_TABLE}": table}


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if name in TABLES and isinstance(value, dict):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value
