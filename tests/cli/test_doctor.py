"""`doctor`: each fault has its line, and each line says what to do."""

from __future__ import annotations

import contextlib
import email.utils
import importlib.metadata
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement

from deepseek_sdk.caching.embedding.default import default_directory, default_source
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli._doctor.finding import failed, found_by, ok
from deepseek_sdk.cli._doctor.machine import check_engine, judge_engine, judge_extra, judge_python, judge_versions
from deepseek_sdk.cli._doctor.network import judge_balance, judge_endpoint, judge_models, judge_tls
from deepseek_sdk.cli._doctor.packages import extras, requirements, unmet
from deepseek_sdk.cli._doctor.settings import judge_key, unknown_variables
from deepseek_sdk.cli._doctor.store import Store, is_remote, judge_store
from deepseek_sdk.cli._doctor.visit import HttpAnswer, Visit, issuer_of
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli.commands.doctor import hidden
from deepseek_sdk.config import read_settings
from tests.caching.embedding.conftest import build_once
from tests.certificates import self_signed
from tests.cli.conftest import PROGRAM, environment, link_model, run_program
from tests.cli.damaged_model import write_damaged
from tests.raw_server import LoopbackProxy, RawServer, refusal, silence, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import StartTerminal
    from tests.conftest import StartEmulator

KEY = "sk-0123456789abcdefghij"
MODELS = {"object": "list", "data": [{"id": "deepseek-flash", "owned_by": "deepseek"}]}
NETWORK = ("endpoint", "tls", "clock", "balance", "models")
ENGLISH = Say("en")

is_posix = pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test a home and a cache of its own, and a key."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    return tmp_path


def doctor(*arguments: str) -> Result:
    """Run `doctor` in this process, for JSON."""
    return CliRunner().invoke(app, ["doctor", "-o", "json", "--timeout", "1", *arguments])


def lines(done: Result) -> dict[str, dict[str, Any]]:
    """Give the lines of a run by what they checked, the worst of each; what is not well has its advice."""
    assert KEY not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    rows = json.loads(done.stdout)
    assert [] == [row for row in rows if row["status"] in ("warning", "failed") and not row["advice"]]
    order = ("skipped", "ok", "warning", "failed")
    return {row["check"]: row for row in sorted(rows, key=lambda row: order.index(row["status"]))}


def statuses(done: Result) -> dict[str, str]:
    """Give the status of each check."""
    return {check: row["status"] for check, row in lines(done).items()}


def test_healthy_endpoint(emulator: StartEmulator) -> None:
    """Against a good endpoint, everything that can be checked on loopback is well."""
    done = doctor("--base-url", emulator(api_key=KEY).url)
    found = lines(done)

    assert 0 == done.exit_code
    assert ["python", "versions", "settings", "key", "proxy", *NETWORK] == [
        row["check"] for row in json.loads(done.stdout)
    ][:10]
    good = ("python", "versions", "settings", "key", "proxy", "endpoint", "balance", "models", "extra:cli", "store")
    assert {"ok"} == {found[check]["status"] for check in good}
    assert "from environment variable DEEPSEEK_API_KEY: accepted" == found["key"]["detail"]
    assert "110.00 CNY" == found["balance"]["detail"]
    assert "HTTP 200" in found["endpoint"]["detail"]


def test_wrong_key(emulator: StartEmulator) -> None:
    """A key that the endpoint refuses has failed, the endpoint has not; what the server quotes of it is not shown."""
    done = doctor("--base-url", emulator(api_key="another").url)
    found = lines(done)

    assert 5 == done.exit_code
    assert ("failed", "ok", "skipped", "skipped") == tuple(
        found[check]["status"] for check in ("key", "endpoint", "balance", "models")
    )
    assert KEY[-4:] not in done.output


def test_no_key(emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key the endpoint is still looked at."""
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    found = lines(doctor("--base-url", emulator(api_key=KEY).url))

    assert ("failed", "ok") == (found["key"]["status"], found["endpoint"]["status"])
    assert "config init --with-key" in found["key"]["advice"]


def test_empty_account() -> None:
    """An endpoint that wants money, and a balance of nothing, are warnings: the setup is right."""
    poor = {"is_available": False, "balance_infos": [{"currency": "CNY", "total_balance": "0.00"}]}
    with RawServer(refusal(402, "Insufficient Balance")) as refusing, RawServer(whole(MODELS), whole(poor)) as telling:
        refused, told = doctor("--base-url", refusing.url), doctor("--base-url", telling.url)

    assert (0, 0) == (refused.exit_code, told.exit_code)
    assert ("warning", "ok") == (statuses(refused)["balance"], statuses(refused)["key"])
    assert ("warning", "0.00 CNY") == (statuses(told)["balance"], lines(told)["balance"]["detail"])


@pytest.mark.parametrize(
    ("ahead", "status", "word"), [(-300, "warning", "behind"), (7200, "warning", "ahead"), (0, "ok", "within")]
)
def test_clock(ahead: int, status: str, word: str) -> None:
    """The local clock is held against the Date of the server; more than a minute is worth a warning."""
    date = email.utils.formatdate(time.time() - ahead, usegmt=True)
    with RawServer(whole(MODELS, headers={"date": date})) as server:
        clock = lines(doctor("--base-url", server.url))["clock"]

    assert status == clock["status"]
    assert word in clock["detail"]


def test_no_listener() -> None:
    """A port on which nobody listens is told as such, and what depends on it is skipped."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    done = doctor("--base-url", url)
    found = lines(done)

    assert 5 == done.exit_code
    assert ("failed", True) == (found["endpoint"]["status"], "no TCP connection" in found["endpoint"]["detail"])
    assert "from environment variable DEEPSEEK_API_KEY: not verified" == found["key"]["detail"]
    assert {"skipped"} == {found[check]["status"] for check in NETWORK if check != "endpoint"}


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """Give the URL of a port that neither takes a connection nor refuses one: its queue is full."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0.1)
            try:
                waiting.connect(listener.getsockname())
            except TimeoutError:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
                return
        pytest.skip("this system does not let connections wait")


@pytest.mark.slow
def test_black_hole() -> None:
    """A port that swallows everything costs no more than the time that is allowed."""
    with black_hole() as url:
        started = time.monotonic()
        found = lines(doctor("--base-url", url))
        took = time.monotonic() - started

    assert ("failed", True) == (found["endpoint"]["status"], "timed out" in found["endpoint"]["detail"])
    assert took < 1 + 5


@pytest.mark.slow
def test_silent_server() -> None:
    """A server that takes the request and says nothing is told apart from one that cannot be reached."""
    with RawServer(silence) as server:
        found = lines(doctor("--base-url", server.url))

    assert "no answer within 1 s" in found["endpoint"]["detail"]


def test_server_that_hangs_up() -> None:
    """A connection that ends without an answer is no HTTP server."""
    with RawServer(lambda exchange: exchange.close()) as server:
        endpoint = lines(doctor("--base-url", server.url))["endpoint"]

    assert ("failed", True) == (endpoint["status"], "but no answer" in endpoint["detail"])


@pytest.mark.parametrize(
    ("status", "content_type", "expected", "word"),
    [
        (200, "text/html", "failed", "login page"),
        (404, "application/json", "warning", "/v1"),
        (500, "application/json", "failed", "try again later"),
        (429, "application/json", "warning", "refuses"),
    ],
)
def test_strange_answers(status: int, content_type: str, expected: str, word: str) -> None:
    """Web pages, missing paths and servers in trouble each have their advice."""
    with RawServer(whole(b"<p>Hello</p>", status, content_type)) as server:
        endpoint = lines(doctor("--base-url", server.url))["endpoint"]

    assert expected == endpoint["status"]
    assert word in endpoint["advice"]


def test_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of the settings that the endpoint does not list, and an empty list, are warnings."""
    monkeypatch.setenv("DEEPSEEK_SDK_MODEL", "qwen")
    with RawServer(whole(MODELS)) as server, RawServer(whole({"data": []})) as empty:
        other, none = (lines(doctor("--base-url", s.url))["models"] for s in (server, empty))

    assert ("warning", True) == (other["status"], "qwen, is not among them" in other["detail"])
    assert ("warning", "the endpoint lists none") == (none["status"], none["detail"])


@pytest.mark.parametrize(
    ("model", "status", "told"),
    [
        ("deepseek-v4-flash", "ok", "deepseek-flash"),
        ("deepseek-chat", "warning", "deepseek-flash; the model of the settings, deepseek-chat, was retired"),
    ],
)
def test_names_that_no_endpoint_lists(model: str, status: str, told: str) -> None:
    """A second name of a model that is listed is well; one that was retired is told as such."""
    answer = HttpAnswer(status=200, body={"data": [{"id": "deepseek-flash"}]})
    found = judge_models(Visit(url="http://127.0.0.1", timeout_s=1, models=answer), ENGLISH, model=model)

    assert (status, told) == (found.status, found.detail)


class Quiet(BaseHTTPRequestHandler):
    """Answers every GET with the list of models."""

    def do_GET(self) -> None:
        """HttpAnswer."""
        body = json.dumps(MODELS).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name in the library
        """Say nothing."""


class QuietServer(ThreadingHTTPServer):
    """Says nothing about clients that go away in the middle of a handshake."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def tls_server(directory: Path, *, name: str = "IP:127.0.0.1", days: int = 30) -> Iterator[str]:
    """Serve over TLS with a certificate that signs itself, `certificate.pem` in *directory*; give the URL."""
    context = self_signed(directory, name=name, days=days)
    with QuietServer(("127.0.0.1", 0), Quiet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


@pytest.mark.slow
def test_certificate_that_signs_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that nobody trusts is explained, with who issued it; once trusted, its days are counted."""
    with tls_server(home) as url:
        distrusted = doctor("--base-url", url)
        monkeypatch.setenv("SSL_CERT_FILE", str(home / "certificate.pem"))
        trusted = doctor("--base-url", url)
    before, after = lines(distrusted), lines(trusted)

    assert (5, 0) == (distrusted.exit_code, trusted.exit_code)
    assert ("failed", "failed", "skipped") == tuple(before[check]["status"] for check in ("tls", "endpoint", "models"))
    assert "self-signed certificate; issued by Watchful Corporation, Proxy Root" in before["tls"]["detail"].replace(
        "self ", "self-"
    )
    assert "SSL_CERT_FILE" in before["tls"]["advice"]
    assert ("ok", "ok") == (after["tls"]["status"], after["clock"]["status"])
    assert "TLSv1.3, certificate issued by Watchful Corporation, Proxy Root, 29 days left" == after["tls"]["detail"]


@pytest.mark.slow
def test_certificate_of_another_host(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate for another name is not trusted, and that is the reason given; one that ends soon is a warning."""
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "certificate.pem"))
    with tls_server(home, name="DNS:other.example") as url:
        other = lines(doctor("--base-url", url))["tls"]
    with tls_server(home, days=3) as url:
        short = lines(doctor("--base-url", url))["tls"]

    assert ("failed", True) == (other["status"], "another host" in other["advice"])
    assert ("warning", True) == (short["status"], "2 days left" in short["detail"])


def test_certificates_that_do_not_exist(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE that names nothing keeps a client from being made: that is said, and nothing else is asked."""
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "nowhere.pem"))
    done = doctor("--base-url", "http://127.0.0.1:9")
    found = lines(done)
    balance = CliRunner().invoke(app, ["balance", "--base-url", "http://127.0.0.1:9"])

    assert ("failed", True) == (found["proxy"]["status"], "SSL_CERT_FILE" in found["proxy"]["advice"])
    assert {"skipped"} == {found[check]["status"] for check in NETWORK}
    assert (3, True) == (balance.exit_code, "no client can be made" in balance.stderr)


def test_proxy_is_named_and_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy that requests go through is named without its password, and is what is connected to."""
    with RawServer(whole(MODELS)) as server, LoopbackProxy(server.url) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:hunter2@"))
        done = doctor("--base-url", "http://far.example/v1")
    found = lines(done)

    assert ("ok", "ok") == (found["proxy"]["status"], found["endpoint"]["status"])
    assert f"used for the endpoint: {proxy.url.replace('//', '//***@')}" in found["proxy"]["detail"]
    assert "name of the proxy" in found["endpoint"]["detail"]
    assert ["http://far.example/v1/models"] == proxy.seen[:1]
    assert "hunter2" not in done.output


def test_proxy_that_is_passed_by(emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_PROXY is heeded as the client heeds it; the variables are listed."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    found = lines(doctor("--base-url", emulator(api_key=KEY).url))

    assert "used for the endpoint: none; http_proxy=http://127.0.0.1:9, no_proxy=127.0.0.1" == found["proxy"]["detail"]
    assert "ok" == found["endpoint"]["status"]


@pytest.mark.parametrize(
    ("proxy", "advice"),
    [("socks5://127.0.0.1:9", "pip install socksio"), ("gopher://127.0.0.1:9", "Correct the proxy")],
)
def test_proxy_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, proxy: str, advice: str) -> None:
    """A SOCKS proxy without its package, or a proxy of no known kind, is a failed line with what to do."""
    if "socks" in proxy and "socksio" in {d.metadata["Name"] for d in importlib.metadata.distributions()}:
        pytest.skip("socksio is installed")
    monkeypatch.setenv("all_proxy", proxy)
    done = doctor("--base-url", "http://far.example")

    assert 5 == done.exit_code
    assert advice in lines(done)["proxy"]["advice"]


def test_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline no socket is opened, little time is taken, and what is skipped says why."""
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "https://far.example")  # the tests refuse to connect there
    started = time.process_time()
    done = doctor("--offline")
    took = time.process_time() - started
    found = lines(done)

    assert 0 == done.exit_code
    assert {"not asked: --offline"} == {found[check]["detail"] for check in NETWORK}
    assert "not verified" in found["key"]["detail"]
    assert took < 2


def test_broken_settings(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes in files and variables are lines; the endpoint is not asked with settings that are not understood."""
    file = home / "mine.toml"
    file.write_text("timout = 5\nmax_retries = -1\n", encoding="utf-8")
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(file))
    monkeypatch.setenv("DEEPSEEK_SDK_TIMOUT", "5")
    done = doctor("--base-url", "http://127.0.0.1:9")
    rows = [row for row in json.loads(done.stdout) if row["check"] == "settings"]

    assert 5 == done.exit_code
    assert ["failed", "failed", "warning"] == [row["status"] for row in rows]
    assert "did you mean DEEPSEEK_SDK_TIMEOUT?" in rows[-1]["detail"]
    assert {"skipped"} == {statuses(done)[check] for check in ("proxy", *NETWORK)}


def test_stranger_gets_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a project names an endpoint that may not have the key, doctor does not send it there either."""
    monkeypatch.delenv("DEEPSEEK_SDK_CONFIG")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deepseek.toml").write_text('base_url = "http://far.example"\n', encoding="utf-8")
    found = lines(doctor())

    assert "must not choose" in found["settings"]["detail"]
    assert {"not asked: see settings"} == {found[check]["detail"] for check in ("proxy", *NETWORK)}


@is_posix
def test_files_that_others_can_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with a key, and a store, that others can read are warnings with the command that closes them."""
    file = home / "mine.toml"
    file.write_text(f'api_key = "{KEY}"\n', encoding="utf-8")
    file.chmod(0o640)
    monkeypatch.setenv("DEEPSEEK_SDK_CONFIG", str(file))
    store = home / "deepseek-sdk" / "answers"
    store.mkdir(parents=True)
    store.chmod(0o755)
    done = doctor("--offline")

    assert 0 == done.exit_code
    assert f"chmod 600 '{file}'" in lines(done)["settings"]["advice"]
    assert f"chmod 700 '{store}'" in lines(done)["store"]["advice"] or sys.platform == "darwin"


@pytest.mark.skipif(default_source() is None, reason="the model is not made for this platform")
def test_semantic_cache(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is not built is told with the command that builds it, and one that is damaged is a warning."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(home / "user"))
    found = lines(doctor("--offline"))["semantic"]
    write_damaged(home / "user" / "models" / default_directory().name)
    damaged = lines(doctor("--offline"))["semantic"]

    assert ("skipped", "Run: deepseek-sdk models build") == (found["status"], found["advice"])
    assert ("warning", found["advice"]) == (damaged["status"], damaged["advice"])
    assert "the model cannot be used" in damaged["detail"]


@pytest.mark.slow
@pytest.mark.skipif(default_source() is None, reason="the model is not made for this platform")
def test_semantic_cache_that_works(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A model that is built is examined, and its figures are told."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: str(home / "user"))
    link_model(home / "user", build_once(tmp_path_factory).directory)
    found = lines(doctor("--offline", "--lang", "zh"))["semantic"]

    assert ("ok", None) == (found["status"], found["advice"])
    assert re.search(r"同义问题相似度 0\.9\d，无关问题最高 0\.[78]\d；单条文本 \d+ 毫秒", found["detail"])


@pytest.mark.parametrize(("setting", "status"), [("off", "skipped"), ("semantic", "failed")])
@pytest.mark.usefixtures("home")
def test_semantic_cache_without_packages(setting: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages that are missing have failed where the settings want them; the advice installs them."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setenv("DEEPSEEK_SDK_CACHE", setting)
    found = lines(doctor("--offline"))["semantic"]

    assert (status, True) == (found["status"], "deepseek-client-sdk[cache]" in found["advice"])


def test_store_that_cannot_be_made(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the directory should be is a warning: no call needs the store."""
    (home / "file").write_text("", encoding="utf-8")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home / "file"))

    done = doctor("--offline")

    assert (0, "warning") == (done.exit_code, statuses(done)["store"])


def test_bad_arguments() -> None:
    """A base URL that is none ends with 3, a time of nothing with 2."""
    assert (3, 2) == (doctor("--base-url", "far.example").exit_code, doctor("--timeout", "0").exit_code)


def test_check_that_raises() -> None:
    """A check that raises is a failed line; what it was about to say is not lost."""

    def broken() -> Any:
        raise KeyError("surprise")

    (finding,) = found_by("made-up", broken, ENGLISH)

    assert ("made-up", "failed") == (finding.check, finding.status)
    assert "KeyError: 'surprise'" in finding.detail
    assert [ok("made-up", "x")] == found_by("made-up", lambda: ok("made-up", "x"), ENGLISH)


def test_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is said is in Chinese, the names of checks and of JSON's keys are not."""
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    rows = json.loads(doctor("--offline", "--lang", "zh").stdout)
    plain = {"python", "versions"}  # names and numbers

    assert {"check", "status", "detail", "advice"} == set(rows[0])
    for row in rows:
        texts = [row["advice"], None if row["check"] in plain else row["detail"]]
        assert all(any("一" <= c <= "鿿" for c in text) for text in texts if text), row


CERTIFICATE = {"issuer": ((("organizationName", "Some CA"),),), "notAfter": "Jan 10 00:00:00 2027 GMT"}
NEW_YEAR_2027 = 1_798_761_600.0


@pytest.mark.parametrize(
    ("code", "word"), [(10, "clock"), (9, "clock"), (62, "another host"), (18, "PEM"), (20, "PEM"), (23, "whoever")]
)
def test_each_distrust_is_explained(code: int, word: str) -> None:
    """What OpenSSL says of a certificate leads to advice."""
    error = ssl.SSLCertVerificationError("no")
    error.verify_code, error.verify_message = code, "no"
    visit = Visit(url="https://host.example", timeout_s=1, models=HttpAnswer(error=error))

    assert word in judge_tls(visit, ENGLISH).advice


def test_days_of_a_certificate() -> None:
    """The days that a certificate has left are counted from now."""
    answer = HttpAnswer(status=200, tls="TLSv1.3", certificate=CERTIFICATE)
    visit = Visit(url="https://host.example", timeout_s=1, models=answer)
    early, late = (judge_tls(visit, ENGLISH, now=NEW_YEAR_2027 - days * 86_400) for days in (60, 0))

    assert ("ok", "warning") == (early.status, late.status)
    assert "TLSv1.3, certificate issued by Some CA, 9 days left" == late.detail
    assert "?" == issuer_of({})
    assert "ok" == judge_tls(replace(visit, models=replace(answer, certificate=None)), ENGLISH).status


def test_plain_http() -> None:
    """Plain HTTP is a warning, but not on this machine."""
    far, near = (Visit(url=url, timeout_s=1) for url in ("http://far.example", "http://127.0.0.1:8000"))

    assert ("warning", "skipped") == (judge_tls(far, ENGLISH).status, judge_tls(near, ENGLISH).status)


def test_unresolved_name() -> None:
    """A name that means nothing is told apart from a host that does not answer."""
    visit = Visit(url="https://far.example", timeout_s=1, reach_error=socket.gaierror(-2, "not known"))

    assert "cannot be resolved" in judge_endpoint(visit, ENGLISH).detail
    assert "no TCP connection" in judge_endpoint(replace(visit, resolve_ms=3), ENGLISH).detail


def test_name_that_takes_too_long() -> None:
    """A timeout of the client is no dead connection."""
    error = openai.APITimeoutError(request=None)  # type: ignore[arg-type]  # nobody looks at it
    visit = Visit(url="https://far.example", timeout_s=2.5, models=HttpAnswer(error=error))

    assert "no answer within 2.5 s" in judge_endpoint(visit, ENGLISH).detail


@pytest.mark.parametrize(
    ("version", "graphics", "words"),
    [
        (None, [], "vllm is not installed; no GPU"),
        (None, ["NVIDIA H100, 80 GiB, 570.1"], "vllm is not installed; NVIDIA H100, 80 GiB, 570.1"),
        ("vllm 0.33.0", [], "vllm 0.33.0; no GPU"),
    ],
)
def test_engine(version: str | None, graphics: list[str], words: str) -> None:
    """The local engine comes with a later release: what it will find is told, and nothing is advised."""
    finding = judge_engine(version, graphics, ENGLISH)

    assert ("skipped", "") == (finding.status, finding.advice)
    assert all(part in finding.detail for part in (words, "[local]", "later release"))


@pytest.mark.parametrize(
    ("name", "words", "advice"),
    [
        ("cache", "not installed: no-such-package", "python -m pip install 'deepseek-client-sdk[cache]'"),
        ("testing", "not installed: no-such-package", "python -m pip install 'deepseek-client-sdk[testing]'"),
    ],
)
def test_extras_that_are_not_installed(name: str, words: str, advice: str) -> None:
    """A line names what is missing, and the command that installs it."""
    finding = judge_extra(name, [Requirement("no-such-package")], ENGLISH)

    assert ("skipped", True) == (finding.status, words in finding.detail)
    assert finding.advice.endswith(advice)
    assert bool(advice) == bool(finding.advice)


def test_no_line_advises_what_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is told to install the engine; it has one line."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    rows = json.loads(doctor("--offline").stdout)

    assert [] == [row for row in rows if "[local]" in (row["advice"] or "") or row["check"] == "extra:local"]
    assert 1 == len([row for row in rows if "vllm" in row["detail"]])


BACKENDS = """
[deepseek_sdk.backends]
echo = another_backend:Echo
broken = another_backend:missing
"""


@pytest.fixture
def _backends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that registers backends."""
    (tmp_path / "another_backend.py").write_text("class Echo:\n    __call__ = print\n", encoding="utf-8")
    information = tmp_path / "another_backend-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-backend\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(BACKENDS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("_backends")
def test_backend_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a backend answers and there is no key, it has a line, and the endpoint is left alone."""
    monkeypatch.delenv("DEEPSEEK_API_KEY")
    monkeypatch.setenv("DEEPSEEK_SDK_BACKEND", "echo")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", "https://far.example")  # the tests refuse to connect there
    done = doctor()
    found = lines(done)

    assert 0 == done.exit_code
    assert ("ok", True) == (found["backend"]["status"], "echo is installed, loads" in found["backend"]["detail"])
    assert ("skipped", "there is none, and the backend needs none") == (found["key"]["status"], found["key"]["detail"])
    assert {"not asked: the backend answers"} == {found[check]["detail"] for check in ("proxy", *NETWORK)}


@pytest.mark.usefixtures("_backends")
def test_backend_and_an_endpoint_that_fails(emulator: StartEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails at the endpoint is a warning where a backend answers; a failure of its own is none."""
    monkeypatch.setenv("DEEPSEEK_SDK_BACKEND", "echo")
    refused = doctor("--base-url", emulator(api_key="another").url)
    with RawServer(refusal(500, "no")) as server:
        broken = doctor("--base-url", server.url)

    assert (0, "warning", "warning") == (refused.exit_code, statuses(refused)["key"], statuses(broken)["endpoint"])
    assert "chats do without it: the backend answers" in lines(refused)["key"]["detail"]
    for name, word in (("broken", "cannot be made"), ("nothing", "there is no backend 'nothing'")):
        monkeypatch.setenv("DEEPSEEK_SDK_BACKEND", name)
        done = doctor("--offline")
        assert (5, "failed") == (done.exit_code, statuses(done)["backend"])
        assert word in lines(done)["backend"]["detail"]


def test_no_backend_has_no_line() -> None:
    """Where none is set there is no line of it."""
    assert "backend" not in statuses(doctor("--offline"))


@pytest.mark.parametrize("key", ["k", "ok", "failed", "settings", "python"])
def test_key_that_is_a_word(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """A key that is a part of a check or a status takes neither apart, in a table or in JSON."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", key)
    table = CliRunner().invoke(app, ["doctor", "--offline"])
    rows = json.loads(doctor("--offline").stdout)

    assert (0, 0) == (table.exit_code, table.stdout.count("…"))
    assert ["python", "versions", "settings", "key"] == [row["check"] for row in rows][:4]
    assert {"ok", "warning", "skipped"} == {row["status"] for row in rows}


def test_key_in_a_text_is_hidden() -> None:
    """A key is taken out of what is free text; one of a few letters is not looked for."""
    finding = failed("key", "the server said: my-own-key-1 is bad, k", "Ask for my-own-key-1.")

    assert ("the server said: sk-… is bad, k", "Ask for sk-….") == tuple(
        finding.row(partial(hidden, key="my-own-key-1"))[name] for name in ("detail", "advice")
    )
    assert finding.detail == finding.row(partial(hidden, key="k"))["detail"]


def test_key_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is set and malformed is not said to be missing."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-with space")
    found = lines(doctor("--offline"))

    assert ("failed", "the one that is set cannot be used") == (found["key"]["status"], found["key"]["detail"])
    assert "with space" not in str(found)


def test_proxy_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the proxy is what fails, it is what the advice is about."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setenv("http_proxy", url)
    endpoint = lines(doctor("--base-url", "http://far.example"))["endpoint"]

    assert endpoint["detail"].startswith(f"the proxy {url}: no TCP connection")
    assert f"Correct the proxy (http_proxy={url})" in endpoint["advice"]


@is_posix
def test_engine_is_looked_for_and_not_imported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is found without running it, and the driver's tool is asked for GPUs; if it fails, there are none."""
    package, metadata = home / "vllm", home / "vllm-0.33.1.dist-info"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.33.1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(home)
    program = home / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB, 570.1'\n", encoding="utf-8")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)
    good = check_engine(ENGLISH)
    program.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")

    assert good.detail.endswith("here: vllm 0.33.1; NVIDIA H200, 143771 MiB, 570.1")
    assert check_engine(ENGLISH).detail.endswith("here: vllm 0.33.1; no GPU")


def test_python() -> None:
    """An interpreter that is too old is a failure, a narrow one a warning."""
    old, narrow, good, built = (
        judge_python(version, ">=3.11", is_wide=is_wide, say=ENGLISH)
        for version, is_wide in (("3.10.14", True), ("3.12.1", False), ("3.12.1", True), ("3.14.0a1+", True))
    )

    assert ("failed", "Install Python >=3.11.") == (old.status, old.advice)
    assert ("warning", "ok", "ok") == (narrow.status, good.status, built.status)


def test_packages_of_the_wrong_version() -> None:
    """What is not as required is named, with the line that corrects it."""
    finding = judge_versions("openai 2.0", ["openai>=3.0,<4 (2.0)"], ENGLISH)

    assert ("failed", "openai 2.0; not as required: openai>=3.0,<4 (2.0)") == (finding.status, finding.detail)
    assert "python -m pip install 'deepseek-client-sdk'" in finding.advice


def test_extra_of_another_platform() -> None:
    """An extra that requires nothing here is not for this platform."""
    assert "not for this platform" == judge_extra("local", [], ENGLISH).detail


@pytest.mark.parametrize(
    ("status", "expected", "word"),
    [
        (200, "ok", "accepted"),
        (402, "ok", "accepted"),
        (403, "failed", "HTTP 403"),
        (500, "ok", "not verified"),
        (None, "ok", "not verified"),
    ],
)
def test_key(status: int | None, expected: str, word: str) -> None:
    """What the endpoint answered tells whether the key is good; a server in trouble tells nothing."""
    settings = read_settings(api_key=KEY)
    finding = judge_key(settings, status, ENGLISH)

    assert expected == finding.status
    assert word in finding.detail


@pytest.mark.parametrize("key", ["secret", "sk-short", "0123456789abcdefghijklmnop"])
def test_key_that_does_not_look_like_one(key: str) -> None:
    """DeepSeek's keys have a form; other endpoints may have any."""
    of_deepseek, of_another = (
        judge_key(read_settings(api_key=key, base_url=url), None, ENGLISH)
        for url in ("https://api.deepseek.com", "http://127.0.0.1:8000/v1")
    )

    assert ("warning", "ok") == (of_deepseek.status, of_another.status)
    assert key not in of_deepseek.detail


@pytest.mark.parametrize(
    ("changes", "status", "word"),
    [
        ({}, "ok", "(exists), 5.0 GB free, ext4"),
        ({"place": Path("/home")}, "ok", "will be made when needed"),
        ({"kind": None}, "ok", "file system unknown"),
        ({"is_writable": False}, "warning", "not writable"),
        ({"kind": "nfs4"}, "warning", "nfs4"),
        ({"free": 1024}, "warning", "0.0 GB free"),
        ({"is_open": True}, "warning", "exists"),
    ],
)
def test_store(changes: dict[str, Any], status: str, word: str) -> None:
    """The store must be writable, and should be local, roomy and private."""
    path = Path("/users/me/.cache")
    good = Store(path=path, place=path, is_writable=True, is_open=False, kind="ext4", free=5 * 1024**3)
    finding = judge_store(replace(good, **changes), ENGLISH)

    assert status == finding.status
    assert word in finding.detail


@pytest.mark.parametrize(
    ("balance", "status", "word"),
    [
        (HttpAnswer(status=404), "skipped", "tells none"),
        (HttpAnswer(status=500, error=openai.OpenAIError("trouble")), "warning", "trouble"),
        (HttpAnswer(status=200, content_type="text/html"), "warning", "text/html"),
        (
            HttpAnswer(status=200, body={"is_available": True, "balance_infos": [{"total_balance": "?"}]}),
            "warning",
            "?",
        ),
        (HttpAnswer(status=200, body={"is_available": True, "balance_infos": []}), "warning", "0"),
    ],
)
def test_strange_balances(balance: HttpAnswer, status: str, word: str) -> None:
    """Endpoints without a balance are none of our business; what cannot be read, or is nothing, is a warning."""
    visit = Visit(url="http://127.0.0.1", timeout_s=1, models=HttpAnswer(status=200), balance=balance)
    finding = judge_balance(visit, ENGLISH)

    assert status == finding.status
    assert word in finding.detail


@pytest.mark.parametrize(
    ("kind", "expected"), [("fuse.sshfs", True), ("9p", True), ("smb3", True), ("ext4", False), (None, False)]
)
def test_kinds_of_file_systems(kind: str | None, *, expected: bool) -> None:
    """Network file systems are known by name, and Windows' by their path."""
    assert expected == is_remote(kind, Path("/x"))
    assert is_remote(None, Path("\\\\server\\share"))


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ("{name}>={version}", []),
        ("{name}", []),
        ("{name}=={major}.*", []),
        ("{name}; sys_platform == 'nowhere'", []),
        ("{name}>99", ["{name}>99 ({version})"]),
        ("{name}~=99.1", ["{name}~=99.1 ({version})"]),
        ("no-such-package>=1", ["no-such-package"]),
    ],
)
def test_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: str, expected: list[str]) -> None:
    """What the metadata of a package requires is held against what is installed, in the grammar of packaging."""
    version = importlib.metadata.version("click")
    words = {"name": "click", "version": version, "major": version.partition(".")[0]}
    install(tmp_path, monkeypatch, f"Requires-Dist: {versions.format(**words)}\n")

    assert [text.format(**words) for text in expected] == unmet(requirements("made-up"))


def test_requirements_of_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An extra requires what names it, where the rest of its marker holds, and nothing that is required anyhow."""
    here = "sys_platform != 'nowhere' and python_version >= '3.11'"
    metadata = (
        "Provides-Extra: engine\nProvides-Extra: other\nRequires-Dist: always\n"
        f"Requires-Dist: wanted[gpu]>=1.2; ({here}) and extra == 'engine'\n"
        "Requires-Dist: elsewhere; sys_platform == 'nowhere' and extra == 'engine'\n"
        "Requires-Dist: another; extra == 'other'\n"
    )
    install(tmp_path, monkeypatch, metadata)

    assert ["engine", "other"] == extras("made-up")
    assert ["always"] == [one.name for one in requirements("made-up")]
    assert [("wanted", ">=1.2")] == [(one.name, str(one.specifier)) for one in requirements("made-up", extra="engine")]


def install(directory: Path, monkeypatch: pytest.MonkeyPatch, metadata: str) -> None:
    """Install a distribution `made-up` with *metadata* in *directory*."""
    information = directory / "made_up-1.0.dist-info"
    information.mkdir()
    text = f"Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n{metadata}"
    (information / "METADATA").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(directory)


def test_requirements_of_this_library() -> None:
    """The metadata of this library is understood: what is required is here, and every extra can be judged."""
    name = "deepseek-client-sdk"

    assert [] == unmet(requirements(name))
    assert {"cache", "cli", "local", "otel", "testing"} <= set(extras(name))
    assert all(isinstance(unmet(requirements(name, extra=extra)), list) for extra in extras(name))
    assert ["no-such-package", "click>=99 (" + importlib.metadata.version("click") + ")"] == unmet(
        [Requirement("no-such-package"), Requirement("click>=99")]
    )


def test_the_extra_of_the_cache() -> None:
    """Who has installed what keeps answers and what compares questions has the extra."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in project["optional-dependencies"]["cache"]]

    assert {"diskcache", "numpy", "onnxruntime", "tokenizers"} <= {one.name for one in wanted}
    assert "ok" == judge_extra("cache", wanted, ENGLISH).status


def test_unknown_variables() -> None:
    """Variables that look like settings and are none are named; those of the local engine are its own."""
    names = ["DEEPSEEK_SDK_CONFIG", "DEEPSEEK_SDK_LANG", "DEEPSEEK_SDK_LOCAL_MODEL", "DEEPSEEK_SDK_PLAN", "PATH"]

    assert ["the environment variable DEEPSEEK_SDK_PLAN is not known; did you mean DEEPSEEK_SDK_PLAIN?"] == (
        unknown_variables(names, ENGLISH)
    )


@pytest.mark.slow
def test_process_through_a_pipe(emulator: StartEmulator) -> None:
    """A real process over real sockets ends with 0, plain text on stdout and nothing on stderr."""
    server = emulator(api_key=KEY)
    done = run_program("doctor", DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url)

    assert (0, "") == (done.returncode, done.stderr)
    assert all(word in done.stdout for word in ("accepted", "110.00 CNY", "deepseek-flash"))
    assert "\x1b" not in done.stdout
    assert KEY not in done.stdout


@pytest.mark.slow
def test_terminal_has_colours(terminal: StartTerminal) -> None:
    """In a terminal the status is in colour, unless NO_COLOR is set."""
    coloured, plain = (
        terminal("doctor", "--offline", "--lang", "zh", columns=100, DEEPSEEK_API_KEY=KEY, **variables)
        for variables in ({}, {"NO_COLOR": "1"})
    )

    assert (0, 0) == (coloured.finish(), plain.finish())
    assert "\x1b[32m正常" in coloured.raw
    assert "\x1b[" not in plain.raw
    assert any("python" in line and "正常" in line for line in plain.lines)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_interrupted() -> None:
    """Ctrl-C while a server is waited for ends with 130 and one quiet line."""
    with RawServer(silence) as server:
        process = subprocess.Popen(
            [*PROGRAM, "doctor", "--timeout", "30"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment(DEEPSEEK_API_KEY=KEY, DEEPSEEK_BASE_URL=server.url),
        )
        with process:
            while not server.requests and process.poll() is None:
                threading.Event().wait(0.02)
            process.send_signal(signal.SIGINT)
            shown, told = process.communicate(timeout=20)

    assert (130, "", "Ctrl-C\n") == (process.returncode, shown, told)
