"""What makes two requests equal, and whose they are."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import Unset
from deepseek_sdk._headers import CREDENTIALS
from deepseek_sdk.caching.key import UncacheableError, exact_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._call import Call

__all__ = ["Identity", "Tenants", "identified", "query_of"]

_log = logging.getLogger("deepseek_sdk")

# Where openai's clients keep what every request of theirs has.
_DEFAULTS = {"headers": "_custom_headers", "params": "_custom_query"}


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
    """Tells whose calls are."""

    def __init__(self) -> None:
        self._has_warned = False

    def of(self, call: Call) -> str | None:
        """
        Tell whose a call is.

        Args:
            call: It.

        Returns:
            The caller's own word, else a hash of the key that the call is sent with, else the address that it is
            sent to, or "" where a backend answers; None: a function gives the key, which may be another's each time.
        """
        said = call.options.tenant
        named = None if isinstance(said, Unset) else said
        if named is not None:
            return f"tenant:{named}"
        credentials = _credentials(call)
        if credentials:
            return f"key:{_hash(json.dumps(credentials, sort_keys=True))}"
        return self._of_target(call)

    def _of_target(self, call: Call) -> str | None:
        target: Any = call.targets[0] if call.targets else call.upstream
        account = getattr(target, "account", None)
        if account is not None and account.credential.startswith("function:"):
            self._warn()
            return None
        secret = getattr(target, "secret", "")
        if secret:
            return f"key:{_hash(secret)}"
        return "" if account is None else account.base_url

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("Calls whose key a function gives are not cached: say whose they are by tenant=...")


def _credentials(call: Call) -> dict[str, str]:
    """Find what a call says of itself in headers of its own."""
    headers = {name.lower(): value for name, value in _of_request(call, "headers").items()}
    return {name: value for name, value in headers.items() if name in CREDENTIALS and value and isinstance(value, str)}


def _of_request(call: Call, name: str) -> Mapping[str, Any]:
    """Find the headers, or the query, of a request, those that its client has by default among them."""
    targets: tuple[Any, ...] = call.targets
    for target in targets:
        options = getattr(target, "options", None)
        if options is not None:
            given = getattr(options, name)
            defaults = getattr(target.client, _DEFAULTS[name], None) or {}
            return {**defaults, **(given if isinstance(given, dict) else {})}
    return {}


def query_of(call: Call) -> Mapping[str, Any]:
    """
    Find the query of a request.

    Args:
        call: It.

    Returns:
        What it was given, and what its client gives every request.
    """
    return _of_request(call, "params")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identified(call: Call, tenants: Tenants) -> Identity | None:
    """
    Tell what a request is known by.

    Args:
        call: It.
        tenants: Tells whose it is.

    Returns:
        That, or None: it holds something that is no JSON, or nobody knows whose it is.
    """
    tenant = tenants.of(call)
    if tenant is None:
        return None
    try:
        return Identity(exact_key(call.path, call.body, tenant=tenant, params=query_of(call)), tenant)
    except UncacheableError:
        return None
