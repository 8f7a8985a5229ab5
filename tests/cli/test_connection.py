"""Why an endpoint cannot be reached: every command says it in one line, with the address and where to look next."""

from __future__ import annotations

import socket
import ssl
import sys
import threading

import openai
import pytest
from click.testing import CliRunner

from deepseek_sdk import Client
from deepseek_sdk.cli._app import app
from deepseek_sdk.cli._connection import unreachable
from deepseek_sdk.cli._language import Say
from tests.raw_server import RawServer, refusal

COMMANDS = (["models"], ["balance"], ["chat", "Hello"])


def distrusted() -> ssl.SSLCertVerificationError:
    """Make an error of a certificate, as OpenSSL words it."""
    error = ssl.SSLCertVerificationError("no")
    error.verify_message = "self-signed certificate"
    return error


class ProxyError(Exception):
    """What the HTTP library calls the refusal of a proxy."""


def caused_by(*causes: BaseException) -> openai.APIConnectionError:
    """Make an error of a connection as the client raises it: each cause behind another."""
    error = outer = openai.APIConnectionError(request=None)  # type: ignore[arg-type]  # nobody looks at it
    for cause in causes:
        outer.__cause__ = outer = cause  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("cause", "en", "zh"),
    [
        (socket.gaierror(-2, "unknown"), "the name cannot be resolved (unknown)", "域名无法解析（unknown）"),
        (ConnectionRefusedError(111, "refused"), "the connection is refused (refused)", "连接被拒绝（refused）"),
        (ConnectionResetError(104, "reset"), "the connection is broken off (reset)", "连接中断（reset）"),
        (
            distrusted(),
            "the certificate is not trusted (self-signed certificate)",
            "证书不受信任（self-signed certificate）",
        ),
        (ssl.SSLError(1, "wrong version"), "TLS fails (wrong version)", "TLS 握手失败（wrong version）"),
        (ProxyError("407 Who are you?"), "the proxy refuses (407 Who are you?)", "代理拒绝了请求（407 Who are you?）"),
        (RuntimeError("odd\nthings"), ": odd things;", "：odd things；"),
        (RuntimeError(), ": RuntimeError;", "：RuntimeError；"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_causes(cause: BaseException, en: str, zh: str) -> None:
    """The cause behind all others is told in words, in both languages, with the address."""
    error = caused_by(RuntimeError("the HTTP library's"), cause)
    with Client(base_url="https://me:secret@host.example/v1", api_key="any") as client:
        english, chinese = (unreachable(error, client, Say(lang)) for lang in ("en", "zh"))

    assert english.startswith("cannot reach https://***@host.example/v1: ")
    assert english.endswith("; deepseek-sdk doctor says more")
    assert chinese.startswith("无法连接 https://***@host.example/v1：")
    assert "deepseek-sdk doctor" in chinese
    assert (True, True) == (en in english, zh in chinese)
    assert "\n" not in english + chinese


def test_timeout() -> None:
    """A server that does not answer is told apart."""
    error = openai.APITimeoutError(request=None)  # type: ignore[arg-type]  # nobody looks at it
    with Client(base_url="http://127.0.0.1:9", api_key="any") as client:
        assert "http://127.0.0.1:9: there is no answer in time" in unreachable(error, client, Say("en"))


@pytest.fixture
def closed() -> str:
    """Give the address of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def invoke(arguments: list[str], **variables: str) -> str:
    """Run a command that fails, in this process, and give its one line."""
    environment = {"DEEPSEEK_API_KEY": "any", "DEEPSEEK_SDK_MAX_RETRIES": "0", "LANG": "en_US.UTF-8", **variables}
    done = CliRunner().invoke(app, arguments, env=environment)

    assert (1, "", 1) == (done.exit_code, done.stdout, done.stderr.count("\n"))
    return done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_refused_connection(closed: str, arguments: list[str]) -> None:
    """Where nobody listens, each command names the address and says that the connection is refused."""
    told = invoke(arguments, DEEPSEEK_BASE_URL=closed)

    assert f"cannot reach {closed}: the connection is refused" in told


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_refused_by_the_proxy(closed: str, arguments: list[str]) -> None:
    """Where the proxy is the one that cannot be reached, or that refuses, it is named, without its password."""
    proxied = "cannot reach https://far.example through the proxy http://***@127.0.0.1:"
    far = {"DEEPSEEK_BASE_URL": "https://far.example"}
    dead = invoke(arguments, https_proxy=closed.replace("//", "//me:hunter2@"), **far)
    with RawServer(*[refusal(403, "no")] * 2) as server:
        unwilling = invoke(arguments, https_proxy=server.url.replace("//", "//me:hunter2@"), **far)

    assert (True, True) == (proxied in dead, "the connection is refused" in dead)
    assert (True, True) == (proxied in unwilling, "the proxy refuses (403" in unwilling)
    assert "hunter2" not in dead + unwilling


def answer_plainly(listener: socket.socket) -> None:
    """Answer one greeting without TLS."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_tls(arguments: list[str]) -> None:
    """A server that does not speak TLS is told as such."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer_plainly, args=(listener,), daemon=True).start()
        told = invoke(arguments, DEEPSEEK_BASE_URL=f"https://127.0.0.1:{listener.getsockname()[1]}")

    assert "TLS fails (" in told


@pytest.mark.slow
def test_demo(closed: str) -> None:
    """The demo says the same of the real service."""
    environment = {"DEEPSEEK_API_KEY": "any", "DEEPSEEK_SDK_MAX_RETRIES": "0", "DEEPSEEK_BASE_URL": closed}
    done = CliRunner().invoke(app, ["demo", "--live", "--lang", "en"], env=environment)

    assert 1 == done.exit_code
    assert 4 == done.stderr.count(f"cannot reach {closed}: the connection is refused")


@pytest.mark.parametrize("arguments", [*COMMANDS, ["demo", "--live"]], ids=" ".join)
@pytest.mark.parametrize(
    ("proxy", "told"),
    [("socks5://127.0.0.1:9", "python -m pip install socksio"), ("gopher://127.0.0.1:9", "no client can be made")],
)
def test_no_client_can_be_made(monkeypatch: pytest.MonkeyPatch, arguments: list[str], proxy: str, told: str) -> None:
    """A proxy that cannot be used ends every command with 3 and what to do."""
    monkeypatch.setitem(sys.modules, "socksio", None)
    done = CliRunner().invoke(app, arguments, env={"DEEPSEEK_API_KEY": "any", "all_proxy": proxy})

    assert (3, "") == (done.exit_code, done.stdout)
    assert told in done.stderr.splitlines()[-1]
