"""One visit to the endpoint, the way calls go: facts, no opinions."""

from __future__ import annotations

import os
import queue
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import openai

from deepseek_sdk import Client
from deepseek_sdk._wire import RESPONSE
from deepseek_sdk.cli._account import BALANCE_PATH, MODELS_PATH
from deepseek_sdk.cli._connection import used_proxy, verify_error
from deepseek_sdk.cli._exits import redact_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["HttpAnswer", "Proxies", "Visit", "issuer_of", "visit_endpoint"]

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """
    What the environment says about proxies.

    Attributes:
        variables: Those that are set, passwords taken out, such as `HTTPS_PROXY=http://proxy:8080`.
        used: The proxy for the endpoint, passwords taken out, or None.
        problem: Why no client can be made with them, or None.
    """

    variables: tuple[str, ...] = ()
    used: str | None = None
    problem: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """
    What the endpoint said to one request.

    Attributes:
        status: The HTTP status, or None where nothing came.
        elapsed_ms: How long it took, connecting included.
        content_type: The header.
        skew_s: How far the local clock is ahead of the server's, or None where it did not say.
        tls: The version of TLS, or None.
        certificate: As `ssl` decodes it, or None.
        body: The decoded body, or None.
        error: What the client raised, or None.
    """

    status: int | None = None
    elapsed_ms: int = 0
    content_type: str = ""
    skew_s: float | None = None
    tls: str | None = None
    certificate: Mapping[str, Any] | None = None
    body: Any = None
    error: Exception | None = None


@dataclass(slots=True, kw_only=True)
class Visit:
    """
    What one visit to the endpoint brought; what was not reached is None.

    Attributes:
        url: The endpoint.
        proxies: How the request goes there.
        timeout_s: How long each step might take.
        is_offline: No socket was to be opened.
        resolve_ms: How long the name took.
        addresses: What the name means.
        connect_ms: How long TCP took.
        reach_error: Why there is no connection, or None.
        issuer: Who issued a certificate that could not be verified, or None.
        models: The answer to the list of models.
        balance: The answer to the balance.
    """

    url: str
    timeout_s: float
    is_offline: bool = False
    proxies: Proxies = field(default_factory=Proxies)
    resolve_ms: int | None = None
    addresses: Sequence[str] = ()
    connect_ms: int | None = None
    reach_error: Exception | None = None
    issuer: str | None = None
    models: HttpAnswer | None = None
    balance: HttpAnswer | None = None

    @property
    def is_tls(self) -> bool:
        """Whether the endpoint is asked over TLS."""
        return self.url.lower().startswith("https:")

    @property
    def status(self) -> int | None:
        """The HTTP status of the first answer."""
        return self.models.status if self.models else None


def visit_endpoint(url: str, api_key: str | None, *, timeout_s: float, is_offline: bool) -> Visit:
    """
    Visit the endpoint.

    Args:
        url: Its base URL.
        api_key: The key, or None to see what the endpoint says without.
        timeout_s: The longest for each step, in seconds.
        is_offline: Open no socket; only find out which proxy would be used.

    Returns:
        What came of it.
    """
    visit = Visit(url=url, timeout_s=timeout_s, is_offline=is_offline)
    try:
        # Without a key the endpoint still says what it thinks of that.
        client = Client(base_url=url, api_key=api_key or "none", timeout=timeout_s, max_retries=0, backend=None)
    except Exception as error:  # noqa: BLE001  whatever keeps a client from being made is a finding
        visit.proxies = Proxies(variables=_variables(), problem=error)
        return visit
    with client:
        visit.proxies = Proxies(variables=_variables(), used=used_proxy(client))
        if not is_offline:
            _ask_all(client, visit)
    return visit


def _ask_all(client: Client, visit: Visit) -> None:
    _reach(visit)
    if visit.reach_error is not None:
        return
    visit.models = _ask(client, MODELS_PATH)
    if verify_error(visit.models.error) is not None and visit.proxies.used is None:
        visit.issuer = _presented_issuer(visit)
    if visit.models.status is not None and visit.models.status < HTTPStatus.BAD_REQUEST:
        visit.balance = _ask(client, BALANCE_PATH)


def _variables() -> tuple[str, ...]:
    names = [name for name in sorted(os.environ) if name.lower() in _PROXY_VARIABLES and os.environ[name]]
    return tuple(f"{name}={redact_url(os.environ[name])}" for name in names)


def _reach(visit: Visit) -> None:
    """Resolve a name and connect: the proxy's where there is one, the endpoint's otherwise."""
    host, port = _address(visit.proxies.used or visit.url)
    try:
        started = time.monotonic()
        visit.addresses = _resolve(host, port, visit.timeout_s)
        visit.resolve_ms = _milliseconds(started)
        started = time.monotonic()
        _connect(visit.addresses, port, visit.timeout_s)
        visit.connect_ms = _milliseconds(started)
    except OSError as error:
        visit.reach_error = error


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme.lower(), 1080)
    return parts.hostname or "", parts.port or default


def _milliseconds(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _resolve(host: str, port: int, timeout_s: float) -> list[str]:
    """Look up *host*; the system's resolver knows no deadline, so a thread waits for it."""
    answers: queue.SimpleQueue[list[Any] | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    try:
        answer = answers.get(timeout=timeout_s)
    except queue.Empty:
        raise socket.gaierror(socket.EAI_AGAIN, "timed out") from None
    if isinstance(answer, OSError):
        raise answer
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answer))


def _connect(addresses: Sequence[str], port: int, timeout_s: float) -> None:
    """Connect to the first address that lets us, within *timeout_s* for all of them."""
    ends = time.monotonic() + timeout_s
    for address in addresses:
        try:
            socket.create_connection((address, port), timeout=max(0.05, ends - time.monotonic())).close()
        except OSError:
            if address == addresses[-1] or time.monotonic() >= ends:
                raise
        else:
            return


def _ask(client: Client, path: str) -> HttpAnswer:
    security: dict[str, Any] = {}
    http: Any = client._client  # noqa: SLF001  openai offers no other way to its HTTP client
    # A connection that the server closes after its answer can tell nothing afterwards.
    http.event_hooks = {"response": [lambda response: security.update(_security(response))]}
    sent_at, started = time.time(), time.monotonic()
    error: Exception | None = None
    response: Any = None
    try:
        response = client.get(path, cast_to=RESPONSE)
    except openai.APIStatusError as refusal:
        error, response = refusal, refusal.response
    except Exception as failure:  # noqa: BLE001  what went wrong is what is asked for
        error = failure
    elapsed_ms = _milliseconds(started)
    if response is None:
        return HttpAnswer(elapsed_ms=elapsed_ms, error=error)
    middle = (sent_at + time.time()) / 2
    return replace(_answer(response, middle=middle), elapsed_ms=elapsed_ms, error=error, **security)


def _security(response: Any) -> dict[str, Any]:
    stream = response.extensions.get("network_stream")
    secured = stream.get_extra_info("ssl_object") if stream is not None else None
    # Where the system verifies certificates, not OpenSSL, there is no decoded one.
    return {"tls": secured.version(), "certificate": secured.getpeercert() or None} if secured else {}


def _answer(response: Any, *, middle: float) -> HttpAnswer:
    body = None
    with suppress(ValueError):
        body = response.json()
    return HttpAnswer(
        status=response.status_code,
        content_type=response.headers.get("content-type", ""),
        skew_s=_skew(response.headers.get("date"), middle),
        body=body,
    )


def _skew(date: str | None, middle: float) -> float | None:
    if date is None:
        return None
    try:
        # The header has whole seconds: half of one is its mean error.
        return middle - (parsedate_to_datetime(date).timestamp() + 0.5)
    except ValueError:
        return None


def _presented_issuer(visit: Visit) -> str | None:
    """
    Tell who issued the certificate that was not trusted: it may be the company's proxy.

    `ssl` decodes only what it has verified, so for one handshake the certificate itself is what is trusted.
    """
    host, port = _address(visit.url)
    with suppress(OSError, ValueError):
        pem = ssl.get_server_certificate((host, port), timeout=visit.timeout_s)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=pem)
        with (
            socket.create_connection((host, port), timeout=visit.timeout_s) as plain,
            context.wrap_socket(plain) as secured,
        ):
            return issuer_of(secured.getpeercert() or {})
    return None


def issuer_of(certificate: Mapping[str, Any]) -> str:
    """Name who issued *certificate*, as `ssl` decodes it."""
    names = {name: value for part in certificate.get("issuer", ()) for name, value in part}
    wanted = (names.get("organizationName"), names.get("commonName"))
    return ", ".join(dict.fromkeys(name for name in wanted if name)) or "?"
