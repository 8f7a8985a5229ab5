"""What makes two requests equal, and whose they are."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import Unset
from deepseek_sdk._headers import CREDENTIALS
from deepseek_sdk.caching.key import UncacheableError, exact_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._call import Call

__all__ = ["Identity", "Tenants", "identified"]


class Identity(NamedTuple):
    """
    What a request is known by.

    Attributes:
        key: The SHA-256 of all of it.
        tenant: Whose it is.
    """

    key: str
    tenant: str


class Tenants:
    """Tells whose calls are; a key that a function returns may be another each time, and is that of this process."""

    def __init__(self) -> None:
        self._process = uuid.uuid4().hex

    def of(self, call: Call) -> str:
        """
        Tell whose a call is.

        Args:
            call: It.

        Returns:
            The caller's own word, else a hash of the key that the call is sent with, else the backend that answers.
        """
        said = call.options.tenant
        named = None if isinstance(said, Unset) else said
        credentials = _credentials(call)
        if named is not None:
            return f"tenant:{named}"
        if credentials:
            return f"key:{_hash(json.dumps(credentials, sort_keys=True))}"
        return self._of_target(call)

    def _of_target(self, call: Call) -> str:
        target = call.targets[0] if call.targets else call.upstream
        account = getattr(target, "account", None)
        if account is not None and account.credential.startswith("function:"):
            return f"{account.credential}:{self._process}"
        secret = getattr(target, "secret", "")
        if secret:
            return f"key:{_hash(secret)}"
        return "" if account is None else account.base_url


def _credentials(call: Call) -> dict[str, str]:
    """Find what a call says of itself in headers of its own."""
    headers = _of_request(call, "headers")
    return {name.lower(): value for name, value in headers.items() if name.lower() in CREDENTIALS and value}


def _of_request(call: Call, name: str) -> Mapping[str, Any]:
    for target in call.targets:
        given = getattr(getattr(target, "options", None), name, None)
        if isinstance(given, dict):
            return given
    return {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identified(call: Call, tenants: Tenants) -> Identity | None:
    """
    Tell what a request is known by.

    Args:
        call: It.
        tenants: Tells whose it is.

    Returns:
        That, or None: it holds something that is no JSON.
    """
    tenant = tenants.of(call)
    try:
        return Identity(exact_key(call.path, call.body, tenant=tenant, params=_of_request(call, "params")), tenant)
    except UncacheableError:
        return None
