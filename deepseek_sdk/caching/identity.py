"""What makes two requests equal, and whose they are."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._clock import Unset
from deepseek_sdk._headers import CREDENTIALS
from deepseek_sdk.caching.key import UncacheableError, exact_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._call import Call

__all__ = ["Identity", "Tenants", "identified"]

# Where openai's clients keep what every request of theirs has.
_DEFAULTS = {"headers": "_custom_headers", "params": "_custom_query"}
# A service may make a function for each of its callers.
_FUNCTIONS = 1024


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
        # Held, so that no other function can be taken for one of these: it might get the place where one was.
        self._functions: OrderedDict[int, tuple[object, str]] = OrderedDict()

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
        target: Any = call.targets[0] if call.targets else call.upstream
        account = getattr(target, "account", None)
        if account is not None and account.credential.startswith("function:"):
            return f"function:{self._named(getattr(target.client, '_api_key_provider', None))}"
        secret = getattr(target, "secret", "")
        if secret:
            return f"key:{_hash(secret)}"
        return "" if account is None else account.base_url

    def _named(self, function: object) -> str:
        known = self._functions.get(id(function))
        if known is None:
            known = self._functions.setdefault(id(function), (function, uuid.uuid4().hex))
            if len(self._functions) > _FUNCTIONS:
                self._functions.popitem(last=False)
        return known[1]


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
