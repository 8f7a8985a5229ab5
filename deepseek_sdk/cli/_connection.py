"""What keeps a request from its endpoint, in one line: the address, the cause, and where to look next."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import getproxies

import openai

from deepseek_sdk.cli._exits import hide_keys, redact_url
from deepseek_sdk.errors import ConfigurationError, DeepSeekError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk import AsyncClient, Client
    from deepseek_sdk.cli._language import Say

__all__ = ["causes", "is_connection_error", "make", "unreachable", "used_proxy", "verify_error"]

T = TypeVar("T")

# The first that fits names the sentence; a refused certificate is an SSLError, and this an OSError.
_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "certificate"),
    (ssl.SSLError, "tls"),
    (socket.gaierror, "name"),
    (ConnectionRefusedError, "refused"),
    (ConnectionError, "broken"),
    (openai.APITimeoutError, "timeout"),
)
_REASONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "certificate": "the certificate is not trusted ({})",
        "tls": "TLS fails ({})",
        "name": "the name cannot be resolved ({})",
        "refused": "the connection is refused ({})",
        "broken": "the connection is broken off ({})",
        "timeout": "there is no answer in time",
        "proxy": "the proxy refuses ({})",
        "other": "{}",
    },
    "zh": {
        "certificate": "证书不受信任（{}）",
        "tls": "TLS 握手失败（{}）",
        "name": "域名无法解析（{}）",
        "refused": "连接被拒绝（{}）",
        "broken": "连接中断（{}）",
        "timeout": "未在规定时间内应答",
        "proxy": "代理拒绝了请求（{}）",
        "other": "{}",
    },
}


def make(kind: type[T], **arguments: Any) -> T:
    """
    Make a client.

    Args:
        kind: `Client` or `AsyncClient`.
        **arguments: What it takes.

    Returns:
        The client.

    Raises:
        ConfigurationError: None can be made, whatever the HTTP library calls the reason.
    """
    try:
        return kind(**arguments)
    except openai.OpenAIError:
        raise
    except Exception as error:
        message = f"no client can be made: {str(error).rstrip('.')}; deepseek-sdk doctor says more"
        if isinstance(error, ImportError) and "socksio" in str(error):
            # The HTTP library's own advice names a package that this one does not use.
            message = "a SOCKS proxy needs the package socksio. Run: python -m pip install socksio"
        raise ConfigurationError(message) from error


def is_connection_error(error: openai.OpenAIError) -> bool:
    """Tell whether *error* is openai's own of a connection, which says neither whereto nor why."""
    return isinstance(error, openai.APIConnectionError) and not isinstance(error, DeepSeekError)


def unreachable(error: openai.OpenAIError, client: Client | AsyncClient, say: Say) -> str:
    """
    Say why an endpoint cannot be reached.

    Args:
        error: What the client raised, a connection error.
        client: Who raised it.
        say: Chooses the language.

    Returns:
        One line.
    """
    address = redact_url(str(client.base_url).rstrip("/"))
    if proxy := used_proxy(client):
        address = say(en="{} through the proxy {}", zh="{}（经代理 {}）").format(address, proxy)
    text = say(
        en="cannot reach {}: {}; deepseek-sdk doctor says more", zh="无法连接 {}：{}；可运行 deepseek-sdk doctor 排查"
    )
    return text.format(address, hide_keys(_reason(error, say)))


def _reason(error: BaseException, say: Say) -> str:
    chain = causes(error)
    for kind, name in _KINDS:
        for cause in chain:
            if isinstance(cause, kind):
                return _REASONS[say.lang][name].format(_short(cause))
    # Only `_wire` knows the HTTP library.
    is_proxy = any(type(cause).__name__ == "ProxyError" for cause in chain)
    return _REASONS[say.lang]["proxy" if is_proxy else "other"].format(_short(chain[-1]))


def _short(error: BaseException) -> str:
    """Give what *error* says, or its kind where it says nothing."""
    text = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or str(error)
    return " ".join(text.split()) or type(error).__name__


def used_proxy(client: Client | AsyncClient) -> str | None:
    """Give the proxy through which *client* goes to its endpoint, passwords taken out, or None."""
    http: Any = client._client  # noqa: SLF001  openai offers no other way to its HTTP client
    # The client's own rules decide: those for NO_PROXY differ from one HTTP library to the next.
    if http._transport_for_url(client.base_url) is http._transport:  # noqa: SLF001  likewise
        return None
    known = getproxies()
    used = known.get(client.base_url.scheme) or known.get("all")
    return used and redact_url(used if "://" in used else f"http://{used}")


def causes(error: BaseException | None) -> list[BaseException]:
    """List *error* and what led to it."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def verify_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Find out whether *error* comes of a certificate that was not trusted."""
    return next((cause for cause in causes(error) if isinstance(cause, ssl.SSLCertVerificationError)), None)
