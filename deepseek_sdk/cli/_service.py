"""Whom a command asks: the service, or an emulator in this process."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from deepseek_sdk import AsyncClient
from deepseek_sdk._wire import default_http_client
from deepseek_sdk.cli._connection import make
from deepseek_sdk.config import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Service", "default_model", "emulated"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """
    Whom to ask.

    Attributes:
        base_url: The endpoint; None for that of the settings.
        is_emulated: It is an emulator, which takes any key.
    """

    base_url: str | None = None
    is_emulated: bool = False

    def client(self, kind: type[T]) -> T:
        """Make a client of *kind*, `Client` or `AsyncClient`, that asks there."""
        arguments: dict[str, Any] = {} if self.base_url is None else {"base_url": self.base_url}
        if self.is_emulated:
            # A proxy would not find loopback, and a SOCKS one would not even let the client start.
            http_client = default_http_client(is_async=issubclass(kind, AsyncClient), trust_env=False)
            arguments |= {"api_key": "emulator", "http_client": http_client, "backend": None}
        return make(kind, **arguments)


def default_model() -> str:
    """
    Say whom commands ask.

    Returns:
        The model that the settings name.
    """
    model: str = read_settings()["model"]
    return model


@contextmanager
def emulated(**options: Any) -> Iterator[Service]:
    """
    Run an emulator.

    Args:
        **options: What `Emulator` takes.

    Yields:
        Whom to ask.
    """
    from deepseek_sdk.testing import Emulator  # noqa: PLC0415  an extra of its own

    with Emulator(**options) as emulator:
        yield Service(base_url=emulator.url, is_emulated=True)
