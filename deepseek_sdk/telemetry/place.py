"""Where an inference is made, and by whom it is served."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.resilience.account import Account

__all__ = ["Place", "is_deepseek", "place_of"]

_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """
    Where an inference is made.

    Attributes:
        provider: What `gen_ai.provider.name` says.
        host: The host, or None: it answers in this process.
        port: Its port, or None.
    """

    provider: str
    host: str | None
    port: int | None


def place_of(account: Account, providers: Mapping[str, str]) -> Place:
    """
    Say where an account is.

    Args:
        account: It.
        providers: What is known of hosts that are not DeepSeek's.

    Returns:
        The place.
    """
    name = account.backend
    if name is not None:
        return Place(providers.get(name) or ("vllm" if "vllm" in name.lower() else name.lower()), None, None)
    url = urlsplit(account.base_url)
    host, port = url.hostname or "", url.port or _PORTS.get(url.scheme)
    known = providers.get(f"{host}:{port}") or providers.get(host)
    return Place(known or _served_by(host, account.model), host, port)


def is_deepseek(host: str) -> bool:
    """
    Tell DeepSeek's own hosts.

    Args:
        host: A host.

    Returns:
        Whether it is one.
    """
    return host == "deepseek.com" or host.endswith(".deepseek.com")


def _served_by(host: str, model: str) -> str:
    # Gateways and mirrors of the service keep its names; distilled models are other people's.
    is_theirs = model.startswith("deepseek-") and "distill" not in model.lower()
    return "deepseek" if is_deepseek(host) or is_theirs else "openai_compatible"
