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

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import Deadlines
from deepseek_sdk._settings import SETTINGS, checked
from deepseek_sdk._settings_files import Origin, SettingsFile, find_files, may_receive_key
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Origin", "Settings", "SettingsFile", "load_settings", "read_settings"]

_ARGUMENT, _DEFAULT = Origin(kind="argument"), Origin(kind="default")


class _Said(NamedTuple):
    """What somebody says that a setting is."""

    origin: Origin
    name: str
    value: object


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
    """

    __slots__ = ("_mistakes", "_said", "files", "origins", "values")

    def __init__(self, said: Iterable[_Said] = (), files: Iterable[SettingsFile] = ()) -> None:
        self._said, self.files = tuple(said), tuple(files)
        self.values: Mapping[str, Any]
        self.origins: Mapping[str, Origin]
        self.values, self.origins, self._mistakes = _layered(self._said)

    def __repr__(self) -> str:
        # Values are left out: a key may be among them.
        given = ", ".join(f"{name} from {origin}" for name, origin in self.origins.items())
        return f"<Settings: {given or 'defaults'}>"

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

    def without(self, *names: str) -> Settings:
        """
        Forget what was said about some settings, and what is wrong with that.

        Args:
            *names: Their names.

        Returns:
            The other settings.
        """
        return Settings((said for said in self._said if said.name not in names), self.files)

    @property
    def deadlines(self) -> Deadlines:
        """The clocks; those that nobody set are unset."""
        names = [name for name in self.values if name.startswith("deadlines.")]
        return Deadlines(**{name.partition(".")[2]: self.values[name] for name in names})

    @property
    def problems(self) -> tuple[str, ...]:
        """What keeps a client from being made of these settings, a sentence each."""
        unread = [file.problem for file in self.files if file.problem]
        distrusted = [] if self._is_trusted(has_own_key=False) else [self._distrust()]
        return (*unread, *self._mistakes, *distrusted)

    def check(self) -> None:
        """
        Refuse settings that have problems.

        Raises:
            ConfigurationError: The first of them.
        """
        if problems := self.problems:
            raise ConfigurationError(problems[0])

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
        if not self._is_trusted(has_own_key=has_own_key):
            raise ConfigurationError(self._distrust())
        url: str = self["base_url"]
        return url

    def _is_trusted(self, *, has_own_key: bool) -> bool:
        key_origin = None if has_own_key else self.origins.get("api_key")
        return may_receive_key(self["base_url"], self.origin("base_url"), key_origin)

    def _distrust(self) -> str:
        return (
            f"{self.origin('base_url')}: base_url is not used, for the key comes from elsewhere and a file of the "
            f"current directory must not choose where it is sent. If the endpoint is right, set DEEPSEEK_BASE_URL, "
            f"or put the api_key of this endpoint into the same file"
        )


def load_settings(**arguments: Any) -> Settings:
    """
    Read the settings that hold here and now.

    Args:
        **arguments: Settings that win over all others.

    Returns:
        What holds.

    Raises:
        ConfigurationError: One of them, or a file, cannot be used; the message names it.
    """
    settings = read_settings(**arguments)
    settings.check()
    return settings


def read_settings(**arguments: Any) -> Settings:
    """
    Read the settings that hold here and now, and list what is wrong with them.

    Args:
        **arguments: Settings that win over all others.

    Returns:
        What can be used, and the problems.
    """
    files = tuple(find_files(os.environ))
    said = [_Said(_ARGUMENT, name, value) for name, value in arguments.items()]
    said += _in_environment(os.environ)
    said += [_Said(file.origin, name, value) for file in files for name, value in file.values.items()]
    return Settings(said, files)


def _in_environment(environment: Mapping[str, str]) -> Iterator[_Said]:
    for setting in SETTINGS.values():
        if text := environment.get(setting.variable):
            origin = Origin(kind="environment", place=setting.variable)
            yield _Said(origin, setting.name, setting.from_text(text))


def _layered(all_said: Iterable[_Said]) -> tuple[dict[str, object], dict[str, Origin], list[str]]:
    """Lay what was said over each other, the first wins; what cannot be used is a mistake even where another wins."""
    values: dict[str, object] = {}
    origins: dict[str, Origin] = {}
    mistakes: list[str] = []
    for said in all_said:
        try:
            value = checked(said.name, said.value)
        except ConfigurationError as error:
            mistakes.append(f"{said.origin}: {error}")
            continue
        if said.name not in values:
            values[said.name], origins[said.name] = value, said.origin
    return values, origins, mistakes
