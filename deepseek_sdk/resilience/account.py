"""`Account`: what breakers and limiters are kept for."""

from __future__ import annotations

import hashlib
from typing import NamedTuple, Self

__all__ = ["Account", "credential_of"]

_BACKEND = "backend:"


class Account(NamedTuple):
    """
    What fails, and is limited, together: one model, at one endpoint, for one credential.

        Account("https://api.deepseek.com", "deepseek-flash", "sha256:9f86d081884c")

    Attributes:
        base_url: The endpoint, or "backend:" and the name of a backend of this process.
        model: The model that is asked for.
        credential: What stands for the key: never the key.
    """

    base_url: str
    model: str
    credential: str = ""

    @classmethod
    def of_backend(cls, name: str, model: str) -> Self:
        """
        Make the account of what answers in this process.

        Args:
            name: The name of the backend.
            model: The model that is asked for.

        Returns:
            The account.
        """
        return cls(_BACKEND + name, model)

    @property
    def backend(self) -> str | None:
        """The name of the backend of this process that it is, or None: it is an endpoint."""
        return self.base_url.removeprefix(_BACKEND) if self.base_url.startswith(_BACKEND) else None


def credential_of(api_key: object) -> str:
    """
    Make of a key what tells it from others and can be shown.

    Args:
        api_key: The key, a function that returns one, or nothing.

    Returns:
        The beginning of its hash, "function:" and a number for each function, or "".
    """
    if callable(api_key):
        return f"function:{id(api_key):x}"
    return f"sha256:{hashlib.sha256(str(api_key).encode()).hexdigest()[:12]}" if api_key else ""
