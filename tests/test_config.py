"""Settings: who wins, who is trusted, and what is said about mistakes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai.providers import bedrock

from deepseek_sdk import Client, Deadlines
from deepseek_sdk._clock import UNSET
from deepseek_sdk._settings import SETTINGS, mask, strange_variables
from deepseek_sdk._settings_files import Origin, may_receive_key, user_file
from deepseek_sdk.config import Settings, load_settings, read_settings
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator

KEY = "sk-0123456789abcdef"
OTHER_KEY = "sk-fedcba9876543210"
STRANGER = "https://collector.example"


def write(path: Path, text: str) -> Path:
    """Write *text* to *path*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_order(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments win over variables, these over the project's file, this over the user's, and each says so."""
    write(user_file(), 'model = "user"\nplain = "direct"\nlang = "zh"\n[deadlines]\nstall = 4\n')
    write(project / "deepseek.toml", 'model = "project"\nplain = "stream"\ntimeout = 3\n[deadlines]\ntotal = "off"\n')
    monkeypatch.setenv("DEEPSEEK_SDK_TIMEOUT", "2.5")
    monkeypatch.setenv("DEEPSEEK_SDK_DEADLINES_CONNECT", "7")
    settings = load_settings(model="argument")

    names = ("model", "timeout", "deadlines.connect", "plain", "deadlines.total", "lang", "deadlines.stall", "backend")
    assert ["argument", 2.5, 7, "stream", None, "zh", 4, None] == [settings[name] for name in names]
    assert [
        "argument",
        "environment variable DEEPSEEK_SDK_TIMEOUT",
        "environment variable DEEPSEEK_SDK_DEADLINES_CONNECT",
        str(project / "deepseek.toml"),
        str(project / "deepseek.toml"),
        str(user_file()),
        str(user_file()),
        "default",
    ] == [str(settings.origin(name)) for name in names]
    assert Deadlines(connect=7, total=None, stall=4) == settings.deadlines


def test_every_setting_has_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting can be given by the environment, and is described in both languages."""
    good = {
        "timeout": "5",
        "max_retries": "1",
        "plain": "direct",
        "lang": "zh",
        "lint": "strict",
        "cache": "exact",
        "base_url": "https://h.example/v1",
    }
    for setting in SETTINGS.values():
        monkeypatch.setenv(setting.variable, good.get(setting.name, "8" if "." in setting.name else "abc"))
    settings = load_settings()

    assert set(SETTINGS) == {name for name in SETTINGS if settings.is_given(name)}
    assert all({"en", "zh"} == set(setting.meaning) for setting in SETTINGS.values())
    assert all(
        s.variable.startswith("DEEPSEEK_SDK_") for s in SETTINGS.values() if s.name not in ("api_key", "base_url")
    )


def test_empty_variables_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set to nothing counts as not set."""
    for setting in SETTINGS.values():
        monkeypatch.setenv(setting.variable, "")

    assert {} == load_settings().values


def test_pyproject(project: Path) -> None:
    """A table in pyproject.toml takes the place of the project's file, where there is none."""
    write(project / "pyproject.toml", '[tool.deepseek_sdk]\nmax_retries = 5\ndeadlines.stall = "off"\n')
    from_pyproject = load_settings()
    write(project / "deepseek.toml", "timeout = 4\n")

    assert (5, f"{project / 'pyproject.toml'} [tool.deepseek_sdk]") == (
        from_pyproject["max_retries"],
        str(from_pyproject.origin("max_retries")),
    )
    assert from_pyproject.origin("max_retries").is_project
    assert (2, 4) == (load_settings()["max_retries"], load_settings()["timeout"])


def test_pyproject_of_others_is_left_alone(project: Path) -> None:
    """A pyproject.toml without our table is not even parsed: what is wrong with it is not our business."""
    write(project / "pyproject.toml", '[tool.coverage]\nsource = ["deepseek_sdk"\nbroken')

    assert {} == load_settings().values


@pytest.mark.parametrize("name", ["deepseek-sdk", "deepseek-client-sdk", "deepseek_client_sdk"])
def test_misspelt_table(project: Path, name: str) -> None:
    """A table in pyproject.toml that has the name of the program or the distribution is a mistake, quoted or not."""
    for text in (f"[tool.{name}]\ntimeout = 4\n", f'[tool."{name}".deadlines]\ntotal = 4\n'):
        file = write(project / "pyproject.toml", text)
        settings = read_settings()

        assert (f"{file}: there is a table [tool.{name}]; did you mean [tool.deepseek_sdk]?",) == settings.problems
        assert ({}, False) == (settings.values, settings.files[1].is_read)


def test_files_are_known_by_their_whole_path(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file has its whole path and tells whether it exists, also one that is passed over or cannot be read."""
    write(project / "pyproject.toml", "[tool.deepseek_sdk]\n")
    alone = read_settings().files
    write(project / "deepseek.toml", "")
    both = read_settings().files
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", "nowhere.toml")
    (named,) = read_settings().files

    paths = [project / "deepseek.toml", project / "pyproject.toml", user_file()]
    assert [paths, paths] == [[file.path for file in files] for files in (alone, both)]
    assert [[False, True, False], [True, True, False]] == [[f.exists for f in files] for files in (alone, both)]
    assert [[False, True, False], [True, False, False]] == [[f.is_read for f in files] for files in (alone, both)]
    assert (project / "nowhere.toml", False) == (named.path, named.exists)
    assert named.problem is not None
    assert named.problem.startswith(f"{project / 'nowhere.toml'} cannot be read")


def test_named_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DEEPSEEK_SDK_CONFIG names one file in place of all others, and no file when it is empty."""
    write(project / "deepseek.toml", "timeout = 4\n")
    named = write(project / "sub" / "my.toml", "max_retries = 7\n")
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(named))
    settings = load_settings()
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", "")

    assert ({"max_retries": 7}, [str(named)]) == (settings.values, [str(file.path) for file in settings.files])
    assert ({}, ()) == (load_settings().values, load_settings().files)


def test_named_file_must_exist(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is named and not there is a mistake."""
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(project / "nowhere.toml"))

    with pytest.raises(ConfigurationError, match=r"nowhere\.toml cannot be read.*DEEPSEEK_SDK_CONFIG names it"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timout = 3", "there is no setting 'timout'; did you mean 'timeout'?"),
        ("[deadline]\ntotal = 3", "there is no setting 'deadline'; did you mean 'deadlines'?"),
        ("[deadlines]\ntotl = 3", "there is no setting 'deadlines.totl'; did you mean 'deadlines.total'?"),
        ("zzz = 3", "there is no setting 'zzz'; settings are api_key, "),
        ("deadlines = 3", "deadlines must be a table with connect, first_token, stall and total"),
        ('timeout = "30"', "timeout must be a number of seconds above 0, or \"off\", not '30'"),
        ("timeout = true", 'timeout must be a number of seconds above 0, or "off", not True'),
        ("timeout = 0", 'timeout must be a number of seconds above 0, or "off", not 0'),
        ("timeout = inf", 'timeout must be a number of seconds above 0, or "off", not inf'),
        ("timeout = nan", 'timeout must be a number of seconds above 0, or "off", not nan'),
        ("[deadlines]\nstall = -1", 'deadlines.stall must be a number of seconds above 0, or "off", not -1'),
        ("max_retries = 1.5", "max_retries must be a whole number, 0 or more, not 1.5"),
        ("max_retries = -1", "max_retries must be a whole number, 0 or more, not -1"),
        ('plain = "yes"', "plain must be one of 'auto', 'stream', 'direct', not 'yes'"),
        ('lang = "fr"', "lang must be one of 'zh', 'en', not 'fr'"),
        ('model = ""', "model must be a name, not ''"),
        ("base_url = 5", "base_url must be a URL, not 5"),
        ('base_url = "api.deepseek.com"', "base_url must begin with https:// or http://"),
        ("api_key = 5", "api_key must be a string, not int"),
        ('api_key = "sk-secret secret"', "api_key contains a line break, a space or another character"),
        ("timeout = 1\ntimeout = 2\nplain = 3", "is not TOML: Cannot overwrite a value (at line 2,"),
        ("timeout =\nx = 1", "is not TOML: Invalid value (at line 1,"),
        ('x = 1\nmodel = "open', "(at line 2)"),
    ],
)
def test_mistakes_in_files(project: Path, text: str, expected: str) -> None:
    """A mistake names the file, the setting or the line, and what is near; a key is never shown."""
    file = write(project / "deepseek.toml", text)

    with pytest.raises(ConfigurationError) as caught:
        load_settings()

    assert str(file) in str(caught.value)
    assert expected in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DEEPSEEK_SDK_TIMEOUT", "soon"),
        ("DEEPSEEK_SDK_MAX_RETRIES", "1.5"),
        ("DEEPSEEK_SDK_DEADLINES_TOTAL", "-3"),
        ("DEEPSEEK_SDK_PLAIN", "no"),
        ("DEEPSEEK_BASE_URL", "ftp://secret@host"),
        ("DEEPSEEK_API_KEY", "sk-secret\n"),
    ],
)
def test_mistakes_in_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    """A mistake in a variable names it, without its secret."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(ConfigurationError, match=variable) as caught:
        load_settings()

    assert "secret" not in str(caught.value)


def test_what_windows_writes(project: Path) -> None:
    """A mark at the beginning and lines that end the other way are no mistakes; another encoding is one."""
    file = project / "deepseek.toml"
    file.write_bytes(b'\xef\xbb\xbftimeout = 3\r\nmodel = "\xe6\xa8\xa1"\r\n')
    settings = load_settings()
    file.write_bytes('timeout = 3\nmodel = "模型"\n'.encode("gb18030"))

    assert (3, "模") == (settings["timeout"], settings["model"])
    with pytest.raises(ConfigurationError, match=r"is not UTF-8 \(at line 2\)"):
        load_settings()


def test_unreadable_file(project: Path) -> None:
    """What has the name of the file and cannot be read is a mistake; a pyproject.toml like that is not ours."""
    (project / "pyproject.toml").mkdir()
    without = load_settings()
    (project / "deepseek.toml").mkdir()

    assert {} == without.values
    with pytest.raises(ConfigurationError, match=r"deepseek\.toml cannot be read"):
        load_settings()


def test_problems_are_listed(project: Path) -> None:
    """Reading without raising gives every problem, and whatever can be used."""
    file = write(project / "deepseek.toml", f'timeout = 4\nplain = 5\nx = 1\nbase_url = "{STRANGER}"\n')
    settings = read_settings()

    assert 4 == settings["timeout"]
    assert 3 == len(settings.problems)
    assert all(word in text for word, text in zip(["plain", "'x'"], settings.problems, strict=False))
    assert f"{file}: base_url is not used" in settings.problems[-1]
    with pytest.raises(ConfigurationError, match="plain must be"):
        settings.check()


@pytest.mark.parametrize(
    ("url", "is_harmless"),
    [
        (STRANGER, False),
        ("https://deepseek.com.collector.example", False),
        ("https://notdeepseek.com", False),
        ("https://api.deepseek.com@collector.example", False),
        ("https://127.collector.example", False),
        ("http://api.deepseek.com", False),  # readable on its way
        ("https://api.deepseek.com/beta", True),
        ("https://deepseek.com", True),
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.5:8000", True),
        ("http://[::1]:8000", True),
    ],
)
def test_who_may_choose_where_a_key_goes(url: str, *, is_harmless: bool) -> None:
    """A file of the current directory may send a key to a harmless address, or its own key; all others to any."""
    project = Origin(kind="file", place="deepseek.toml", is_project=True)
    others = [Origin(kind="argument"), Origin(kind="environment"), Origin(kind="file"), Origin(kind="default")]
    pyproject = Origin(kind="file", place="pyproject.toml", is_project=True)

    assert {is_harmless} == {may_receive_key(url, project, key) for key in (None, pyproject, *others)}
    assert may_receive_key(url, project, project)
    assert all(may_receive_key(url, origin, key) for origin in others for key in (None, project, *others))


@pytest.mark.parametrize("kind", ["deepseek.toml", "pyproject.toml"])
def test_project_may_not_choose_where_a_key_goes(project: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A base URL of the current directory is used with a key from elsewhere only where that key is safe."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    head = "[tool.deepseek_sdk]\n" if kind == "pyproject.toml" else ""
    write(project / kind, f'{head}base_url = "http://localhost:8000/v1"\n')
    with Client() as client:
        harmless = str(client.base_url)
    write(project / kind, f'{head}base_url = "{STRANGER}"\n')

    assert "http://localhost:8000/v1/" == harmless
    for read in (Client, load_settings):
        with pytest.raises(ConfigurationError, match="DEEPSEEK_BASE_URL"):
            read()


def test_keys_of_other_origins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of an argument, of the user's file, and of other credentials is not sent to a stranger either."""
    write(user_file(), f'api_key = "{KEY}"\n')
    write(project / "deepseek.toml", f'base_url = "{STRANGER}"\n')

    for arguments in ({}, {"api_key": KEY}, {"api_key": lambda: KEY}, {"admin_api_key": KEY}):
        with pytest.raises(ConfigurationError, match="must not choose"):
            Client(**arguments)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", STRANGER)
    with Client() as client:
        assert (STRANGER, KEY) == (str(client.base_url).rstrip("/"), client.api_key)


def test_project_with_a_key_of_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project that brings key and endpoint is used as it is; another key does not go there."""
    write(user_file(), f'api_key = "{OTHER_KEY}"\n')
    write(project / "deepseek.toml", f'api_key = "{KEY}"\nbase_url = "{STRANGER}"\n')
    with Client() as client:
        assert (STRANGER, KEY) == (str(client.base_url).rstrip("/"), client.api_key)
    monkeypatch.setenv("DEEPSEEK_API_KEY", OTHER_KEY)

    with pytest.raises(ConfigurationError, match="must not choose"):
        Client()


def test_children_with_another_key(project: Path, driver: Driver) -> None:
    """A child with a key of its own does not take it to an endpoint that a project file chose."""
    write(project / "deepseek.toml", f'base_url = "{STRANGER}"\napi_key = "{KEY}"\n')
    client = driver.client(api_key=None)
    with pytest.raises(ConfigurationError, match="the key comes from elsewhere"):
        client.with_options(api_key=OTHER_KEY)

    assert KEY == client.with_options(timeout=3).api_key
    assert OTHER_KEY == client.with_options(api_key=OTHER_KEY, base_url="https://mine.example").api_key


def test_backend(project: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend that is set answers, unless an argument says otherwise; it has to be installed."""
    monkeypatch.setenv("DEEPSEEK_SDK_BACKEND", "made-up")
    with pytest.raises(ConfigurationError, match="there is no backend 'made-up'"):
        driver.client()

    assert driver.client(backend=None)._heritage.family.has_endpoint
    assert not driver.client(backend=lambda call: call)._heritage.family.has_endpoint
    assert not any(project.iterdir())


def test_user_may_choose(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own file, and one that the environment names, may name any endpoint."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    write(user_file(), f'base_url = "{STRANGER}"\n')
    with Client() as client:
        assert STRANGER == str(client.base_url).rstrip("/")
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(write(project / "x.toml", f'base_url = "{STRANGER}/v1"\n')))
    with Client() as client:
        assert f"{STRANGER}/v1" == str(client.base_url).rstrip("/")


def test_clients_honour_settings(project: Path, driver: Driver, emulator: StartEmulator) -> None:
    """A client without arguments takes key, endpoint, timeout, retries, clocks and reading from files."""
    server = emulator(replies=["Hello."], api_key=KEY)
    write(user_file(), f'api_key = "{KEY}"\n')
    write(
        project / "deepseek.toml",
        f'base_url = "{server.url}"\ntimeout = 41\nmax_retries = 0\nplain = "stream"\n[deadlines]\nstall = 42\n',
    )
    client = driver.client(api_key=None)

    assert "Hello." == driver.create(client).choices[0].message.content
    assert (41, 0) == (client.timeout, client.max_retries)
    assert server.requests[0].body["stream"]
    assert Deadlines(stall=42) == client._heritage.own.deadlines


def test_arguments_win(project: Path, driver: Driver) -> None:
    """Whatever is passed wins, None included; clocks that are not passed are kept from the settings."""
    write(
        project / "deepseek.toml",
        'timeout = 41\nmax_retries = 9\nplain = "stream"\n[deadlines]\nstall = 42\ntotal = 43\n',
    )
    client = driver.client(timeout=None, max_retries=1, plain="direct", deadlines=Deadlines(stall=None))

    assert (None, 1) == (client.timeout, client.max_retries)
    assert ("direct", Deadlines(stall=None, total=43)) == (
        client._heritage.own.plain,
        client._heritage.own.deadlines,
    )


def test_off_is_none(project: Path, driver: Driver) -> None:
    """A timeout that is off is openai's None: no limit."""
    write(project / "deepseek.toml", 'timeout = "off"\n')

    assert driver.client().timeout is None


def test_without_settings_nothing_changes(driver: Driver) -> None:
    """A client with neither settings nor arguments is what openai makes it."""
    client = driver.client()

    assert (openai.DEFAULT_TIMEOUT, openai.DEFAULT_MAX_RETRIES) == (client.timeout, client.max_retries)
    assert (UNSET, Deadlines()) == (client._heritage.own.plain, client._heritage.own.deadlines)


def test_children_read_nothing(project: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child is as its parent was made, whatever has become of files and variables since."""
    file = write(project / "deepseek.toml", f'api_key = "{KEY}"\ntimeout = 41\n[deadlines]\nstall = 42\n')
    parent = driver.client(api_key=None)
    file.write_text("broken", encoding="utf-8")
    for setting in SETTINGS.values():
        monkeypatch.setenv(setting.variable, "broken\n")
    child = parent.with_options(max_retries=7)

    assert (KEY, 41, 7) == (child.api_key, child.timeout, child.max_retries)
    assert Deadlines(stall=42) == child._heritage.own.deadlines


def test_children_that_leave_a_provider(project: Path, driver: Driver) -> None:
    """A child that leaves its parent's provider finds key and endpoint as a new client does."""
    file = write(project / "deepseek.toml", 'api_key = "with space"\nbase_url = "no URL"\n')
    parent = driver.client(api_key=None, provider=bedrock(region="eu-west-1", api_key="any"))
    file.write_text(f'api_key = "{KEY}"\nbase_url = "{STRANGER}"\n', encoding="utf-8")
    child = parent.with_options(provider=None)

    assert (KEY, STRANGER) == (child.api_key, str(child.base_url).rstrip("/"))


def test_what_arguments_decide_is_not_looked_at(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that an argument overrides may hold anything."""
    for name in ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "DEEPSEEK_SDK_TIMEOUT", "DEEPSEEK_SDK_MAX_RETRIES"):
        monkeypatch.setenv(name, "not this one\n")
    options: dict[str, Any] = {"api_key": KEY, "base_url": STRANGER, "timeout": 3, "max_retries": 1}

    assert 3 == driver.client(**options).timeout


def test_lost_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose current directory was removed can still make a client."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.delenv("DEEPSEEK_SDK_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    try:
        gone.rmdir()
    except OSError:
        pytest.skip("this system keeps a directory that is in use")

    assert {} == load_settings().values


def test_reading_is_cheap(project: Path) -> None:
    """Reading two files costs a client a small part of the 20 ms or more that loading certificates does."""
    write(user_file(), f'api_key = "{KEY}"\n')
    write(project / "deepseek.toml", "timeout = 41\n[deadlines]\nstall = 42\n")
    load_settings()
    started = time.process_time()
    for _ in range(20):
        load_settings()

    assert (time.process_time() - started) / 20 < 0.005


def test_misspelt_variables() -> None:
    """A variable that looks like a setting and is none is found, with the one that was meant; others are left alone."""
    names = ["DEEPSEEK_SDK_TIMOUT", "DEEPSEEK_SDK_API_KEY", "DEEPSEEK_SDK_X", "deepseek_sdk_y", "PATH"]
    known = ["DEEPSEEK_SDK_CONFIG", "DEEPSEEK_SDK_LOCAL_MODEL", *(setting.variable for setting in SETTINGS.values())]

    assert {
        "DEEPSEEK_SDK_API_KEY": "DEEPSEEK_API_KEY",
        "DEEPSEEK_SDK_TIMOUT": "DEEPSEEK_SDK_TIMEOUT",
        "DEEPSEEK_SDK_X": None,
    } == strange_variables([*names, *known])


def test_keys_are_not_in_texts(project: Path) -> None:
    """What settings and files look like in a traceback or a log shows origins, and no value."""
    file = write(project / "deepseek.toml", f'api_key = "{KEY}"\n')
    settings = load_settings()

    assert f"<Settings: api_key from {file}>" == repr(settings)
    assert KEY not in repr(settings.files) + str(settings.files[0])
    assert "<Settings: defaults>" == repr(Settings())


def test_without(project: Path) -> None:
    """What is left out is as if nobody had said it, mistakes and distrust included."""
    write(project / "deepseek.toml", f'timeout = "soon"\nmax_retries = 3\nbase_url = "{STRANGER}"\n')
    settings = read_settings(model="m").without("timeout", "base_url", "model")

    assert ((), {"max_retries": 3}, "deepseek-flash") == (settings.problems, settings.values, settings["model"])


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("sk-0123456789abcdef", "sk-…cdef"),
        ("0123456789abcdef", "…cdef"),
        ("sk-0123456789", "sk-…"),
        ("secret", "…"),
        ("", "…"),
    ],
)
def test_mask(key: str, expected: str) -> None:
    """Of a key at most four characters are shown, of a short one nothing."""
    assert expected == mask(key)


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_directory_that_may_not_be_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can tell whether there is a file, there is none: a service may run in such a directory."""
    closed = tmp_path / "closed"
    closed.mkdir()
    monkeypatch.chdir(closed)
    monkeypatch.delenv("DEEPSEEK_SDK_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    closed.chmod(0)
    try:
        assert {} == load_settings().values
    finally:
        closed.chmod(0o700)
