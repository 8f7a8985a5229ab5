"""
Settings: arguments win over environment variables, these over files, and files over defaults.

    load_settings()                             what holds here and now
    load_settings()["base_url"]                 a value
    load_settings().origin("base_url")          who said so
    read_settings()                             the same, with problems listed instead of raised

`Client()` and `AsyncClient()` read them when they are made, their children do not read them again. Files are, in this
order: `deepseek.toml` in the current directory, or else `[tool.deepseek_sdk]` in its `pyproject.toml`; then
`deepseek.toml` in the user's configuration directory. `DEEPSEEK_SDK_CONFIG` names one file in place of all of them, or
none where it is empty.
"""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk._clock import Deadlines
from deepseek_sdk._settings import SETTINGS
from deepseek_sdk._wire import host_and_path
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "CONFIG_VARIABLE",
    "FILE_NAME",
    "Origin",
    "Settings",
    "SettingsFile",
    "environment_settings",
    "load_settings",
    "nearest",
    "problems_of",
    "read_settings",
    "user_file",
]

CONFIG_VARIABLE = "DEEPSEEK_SDK_CONFIG"
FILE_NAME = "deepseek.toml"
_TABLE = "[tool.deepseek_sdk]"
# Parsing somebody's pyproject.toml takes milliseconds; most say nothing about this library.
_HAS_TABLE = re.compile(rb"tool\s*\.\s*deepseek_sdk")
_TABLES = ("deadlines",)

FileKind: TypeAlias = Literal["named", "project", "pyproject", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
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


Said: TypeAlias = tuple[Origin, str, object]  # what a setting is, and who said so

_ARGUMENT, _DEFAULT = Origin(kind="argument"), Origin(kind="default")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
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
    exists: bool = False
    is_read: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problem: str | None = None

    @property
    def origin(self) -> Origin:
        """What its settings have as their origin."""
        place = f"{self.path} {_TABLE}" if self.kind == "pyproject" else str(self.path)
        return Origin(kind="file", place=place, is_project=self.kind in ("project", "pyproject"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    What holds for each setting, and where it came from.

        settings["timeout"]                 its value; None means off, or that there is none
        settings.origin("timeout")          who said so
        settings.is_given("timeout")        whether anybody did
        Settings()                          nothing but defaults

    Attributes:
        values: What was said, by name.
        origins: Who said it, by name.
        files: The files that were looked for, the first wins.
        problems: What cannot be used, a sentence each.
    """

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    files: tuple[SettingsFile, ...] = ()
    problems: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else SETTINGS[name].default

    def origin(self, name: str) -> Origin:
        """
        Tell who said what a setting is.

        Args:
            name: Its name.

        Returns:
            Its origin.
        """
        return self.origins.get(name, _DEFAULT)

    def is_given(self, name: str) -> bool:
        """
        Tell whether anybody said what a setting is.

        Args:
            name: Its name.

        Returns:
            False where the default holds.
        """
        return name in self.values

    @property
    def deadlines(self) -> Deadlines:
        """The clocks; those that nobody set are unset."""
        names = [name for name in self.values if name.startswith("deadlines.")]
        return Deadlines(**{name.partition(".")[2]: self.values[name] for name in names})

    def trusted_base_url(self, *, has_own_key: bool) -> str:
        """
        Give the endpoint, unless a stranger could have chosen it to collect a key.

        Args:
            has_own_key: The key is not that of the settings.

        Returns:
            The base URL.

        Raises:
            ConfigurationError: A file of the current directory names it, and the key comes from elsewhere.
        """
        url: str = self["base_url"]
        origin = self.origin("base_url")
        is_pair = not has_own_key and self.origins.get("api_key") == origin
        if origin.is_project and not is_pair and not _is_harmless(url):
            message = (
                f"{origin}: base_url is not used, for the key comes from elsewhere and a file of the current directory "
                f"must not choose where it is sent. If the endpoint is right, set DEEPSEEK_BASE_URL, "
                f"or put the api_key of this endpoint into the same file"
            )
            raise ConfigurationError(message)
        return url


def problems_of(settings: Settings) -> list[str]:
    """
    List everything that keeps a client from being made of settings.

    Args:
        settings: They.

    Returns:
        A sentence for each problem.
    """
    problems = list(settings.problems)
    try:
        settings.trusted_base_url(has_own_key=False)
    except ConfigurationError as error:
        problems.append(str(error))
    return problems


def _is_harmless(url: str) -> bool:
    """Tell whether any key may be sent there: this machine, or DeepSeek over TLS."""
    host, _ = host_and_path(url)
    if host == "deepseek.com" or host.endswith(".deepseek.com"):
        return url.lower().startswith("https://")
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return host == "localhost"


def load_settings(*, decided: Collection[str] = (), **arguments: Any) -> Settings:
    """
    Read the settings that hold here and now.

    Args:
        decided: Settings that the caller decides himself: what is said about them is not looked at.
        **arguments: Settings that win over all others.

    Returns:
        They.

    Raises:
        ConfigurationError: One of them, or a file, cannot be used; the message names it.
    """
    return _sound(read_settings(decided=decided, **arguments))


def read_settings(*, decided: Collection[str] = (), **arguments: Any) -> Settings:
    """
    Read the settings that hold here and now, and list what is wrong with them.

    Args:
        decided: Settings that the caller decides himself: what is said about them is not looked at.
        **arguments: Settings that win over all others.

    Returns:
        What can be used, and the problems.
    """
    files = tuple(_find_files(os.environ))
    said: list[Said] = [(_ARGUMENT, name, value) for name, value in arguments.items()]
    said += _in_environment(os.environ)
    said += [(file.origin, name, value) for file in files if file.is_read for name, value in file.values.items()]
    return _laid(said, files, decided)


def environment_settings(*, decided: Collection[str] = ()) -> Settings:
    """
    Read the environment variables only, as if there were no files.

    Args:
        decided: Settings that the caller decides himself: what is said about them is not looked at.

    Returns:
        What they say.

    Raises:
        ConfigurationError: One of them cannot be used; the message names it.
    """
    return _sound(_laid(list(_in_environment(os.environ)), (), decided))


def _sound(settings: Settings) -> Settings:
    if settings.problems:
        raise ConfigurationError(settings.problems[0])
    return settings


def _laid(said: Sequence[Said], files: tuple[SettingsFile, ...], decided: Collection[str]) -> Settings:
    """Lay what was said over each other, the first wins; what cannot be used is a problem even where another wins."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    problems = [file.problem for file in files if file.problem]
    for origin, name, value in said:
        if name in decided:
            continue
        try:
            checked = _checked(name, value)
        except ValueError as error:
            problems.append(f"{origin}: {error}")
            continue
        if name not in values:
            values[name], origins[name] = checked, origin
    return Settings(values=values, origins=origins, files=files, problems=tuple(problems))


def _checked(name: str, value: object) -> object:
    setting = SETTINGS.get(name)
    if setting is None:
        raise ValueError(_unknown(name))
    try:
        return setting.check(value)
    except ValueError as error:
        message = f"{name} {error}"
        raise ValueError(message) from error


def _unknown(name: str) -> str:
    if name in _TABLES:
        return f"{name} must be a table with {_and(n.partition('.')[2] for n in SETTINGS if n.startswith(f'{name}.'))}"
    near = nearest(name, (*SETTINGS, *_TABLES))
    hint = f"did you mean {near!r}?" if near else f"settings are {_and(SETTINGS)}"
    return f"there is no setting {name!r}; {hint}"


def nearest(name: str, names: Sequence[str]) -> str | None:
    """
    Find what a name that does not exist may have been meant for.

    Args:
        name: It.
        names: Those that exist.

    Returns:
        The nearest one, or None where none is near.
    """
    import difflib  # noqa: PLC0415  wanted in errors only

    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def _and(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _in_environment(environment: Mapping[str, str]) -> Iterator[Said]:
    for setting in SETTINGS.values():
        if text := environment.get(setting.variable):
            yield Origin(kind="environment", place=setting.variable), setting.name, setting.from_text(text)


def _find_files(environment: Mapping[str, str]) -> Iterator[SettingsFile]:
    named = environment.get(CONFIG_VARIABLE)
    if named:
        yield _read(Path(named).expanduser(), "named")
    if named is not None:
        return
    project = _read(Path(FILE_NAME), "project")
    yield project
    pyproject = Path("pyproject.toml")
    yield SettingsFile(path=pyproject, kind="pyproject") if project.exists else _read(pyproject, "pyproject")
    yield _read(user_file(), "user")


def user_file() -> Path:
    """
    Tell where the user's own settings are, whether the file exists or not.

    Returns:
        `deepseek.toml` in the user's configuration directory.
    """
    import platformdirs  # noqa: PLC0415  not part of importing the library

    return Path(platformdirs.user_config_dir("deepseek-sdk")) / FILE_NAME


def _read(path: Path, kind: FileKind) -> SettingsFile:
    """Read a file, if it is there; one that cannot be used is a file with a problem."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return _unread(path, kind, error)
    with suppress(OSError):  # the current directory may be gone
        path = path.absolute()
    if kind == "pyproject" and not _HAS_TABLE.search(data):
        return SettingsFile(path=path, kind=kind, exists=True)
    try:
        values = dict(_flat(_parse(data, kind)))
    except ValueError as error:
        return SettingsFile(path=path, kind=kind, exists=True, problem=f"{path}: {error}")
    return SettingsFile(path=path, kind=kind, exists=True, is_read=True, values=values)


def _unread(path: Path, kind: FileKind, error: OSError) -> SettingsFile:
    # In a directory that may not be searched, nobody can tell whether there is a file: then there is none for us.
    exists = os.access(path, os.F_OK)
    is_problem = kind == "named" or (exists and kind != "pyproject")
    problem = f"{path} cannot be read: {error.strerror or error}" if is_problem else None
    if problem and kind == "named":
        problem += f"; the environment variable {CONFIG_VARIABLE} names it"
    return SettingsFile(path=path, kind=kind, exists=exists, problem=problem)


def _parse(data: bytes, kind: FileKind) -> Mapping[str, Any]:
    import tomllib  # noqa: PLC0415  most programs have no file to parse

    try:
        # Windows' editors begin a file with a mark.
        document = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 (at line {line})"
        raise ValueError(message) from None
    except tomllib.TOMLDecodeError as error:
        end = "" if " line " in str(error) else f" (at line {len(data.splitlines())})"
        message = f"is not TOML: {error}{end}"
        raise ValueError(message) from None
    if kind != "pyproject":
        return document
    tool = document.get("tool")
    table = tool.get("deepseek_sdk", {}) if isinstance(tool, dict) else {}
    return table if isinstance(table, dict) else {"tool.deepseek_sdk": table}


def _flat(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if name in _TABLES and isinstance(value, dict):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value
