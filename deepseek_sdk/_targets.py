"""What a call can be sent to: the client's own endpoint or backend, and the routes after it."""

from __future__ import annotations

import re
import weakref
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk._wire import RESPONSE, host_and_path, timeout_of
from deepseek_sdk.backends.base import InProcess, load_backend
from deepseek_sdk.backends.wire import Endpoint, StreamSupport
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.account import Account, credential_of
from deepseek_sdk.routing.models import RETIRED, context_window

if TYPE_CHECKING:
    from collections.abc import Callable

    from openai._models import FinalRequestOptions

    from deepseek_sdk.backends.base import Backend
    from deepseek_sdk.routing.chain import Stop
    from deepseek_sdk.routing.route import Route
    from deepseek_sdk.routing.target import Target

    AnyClient = openai.OpenAI | openai.AsyncOpenAI

__all__ = ["Asked", "Sites", "forget_openai_environment"]

_ACCOUNTS = "_deepseek_accounts"
# A service may take the names of models from its callers.
_MOST_ACCOUNTS = 64


@dataclass(slots=True, kw_only=True)  # not frozen: that takes three times as long, and there is one for each call
class Asked:
    """
    A request as it came from openai.

    Attributes:
        client: The client that was asked.
        send: Its way of sending.
        options: The request.
        support: What the client's endpoint has refused.
    """

    client: AnyClient
    send: Callable[..., Any]
    options: FinalRequestOptions
    support: StreamSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class _Site:
    """The endpoint of a route that has one of its own."""

    client: AnyClient
    send: Callable[..., Any]
    support: StreamSupport


class Sites:
    """
    Makes targets; shared by a client and its children.

    What a route needs to be asked is made when it is first asked, and kept as long as the route.

    Args:
        backend: What answers in place of the client's own endpoint, or None.
    """

    def __init__(self, backend: Backend | None) -> None:
        self._own_backend = backend
        self._sites: weakref.WeakKeyDictionary[Route, _Site] = weakref.WeakKeyDictionary()
        self._backends: weakref.WeakKeyDictionary[Route, Backend] = weakref.WeakKeyDictionary()

    def prepare(self, stop: Stop, client: AnyClient, *, is_offline: bool) -> None:
        """
        Make what a route needs, and check it.

        Args:
            stop: The route at its place.
            client: The client that it is a route of.
            is_offline: No socket may be opened.

        Raises:
            ConfigurationError: It could never answer; the message says why.
        """
        route = stop.route
        if route.backend is not None:
            self.backend(route)
            return
        what = f"the route {stop.name!r} asks an endpoint"
        if is_offline:
            raise ConfigurationError(f"{what}, and the client is offline: give it a backend")
        if not route.is_elsewhere and not _account(client, route.model).credential:
            raise ConfigurationError(f"{what}, for which the client has no key")
        asked: Any = self.client(stop, client)
        if route.model in RETIRED and host_and_path(asked.base_url)[0].endswith("deepseek.com"):
            other = RETIRED[route.model]
            raise ConfigurationError(f"the route {stop.name!r}: {route.model} was retired on 2026-07-24; use {other}")

    def client(self, stop: Stop, client: AnyClient) -> AnyClient | None:
        """
        Find the client of a route's endpoint.

        Args:
            stop: The route at its place.
            client: The client that it is a route of.

        Returns:
            A client of the same colour, or None for a backend.
        """
        if stop.route.backend is not None:
            return None
        return self.site(stop.route, client).client if stop.route.is_elsewhere else client

    def account(self, stop: Stop, client: AnyClient) -> Account | None:
        """
        Say what breaker and limiter know a route by.

        Args:
            stop: The route at its place.
            client: The client that it is a route of.

        Returns:
            The account, or None for a last resort.
        """
        if stop.route.backend is not None:
            return _backend_account(self.backend(stop.route), stop.name, stop.route.model)
        return _account(self.site(stop.route, client).client if stop.route.is_elsewhere else client, stop.route.model)

    def own(self, asked: Asked, model: str) -> Target:
        """
        Make the target that a client is without routes.

        Args:
            asked: The request.
            model: The model it is for.

        Returns:
            Its endpoint, or its backend.
        """
        if self._own_backend is not None:
            return _in_process(self._own_backend, "", asked, model)
        return Endpoint(
            name="default",
            client=asked.client,
            send=asked.send,
            options=asked.options,
            support=asked.support,
            account=_account(asked.client, model),
            context_window=context_window(model),
        )

    def at(self, stop: Stop, asked: Asked) -> Target:
        """
        Make the target of a route.

        Args:
            stop: The route at its place.
            asked: The request.

        Returns:
            Its endpoint, or its backend.
        """
        route = stop.route
        if route.backend is not None:
            return _in_process(self.backend(route), stop.name, asked, route.model, stop)
        site: Any = self.site(route, asked.client) if route.is_elsewhere else asked
        return Endpoint(
            name=stop.name,
            client=site.client,
            send=site.send,
            options=asked.options,
            support=site.support,
            account=_account(site.client, route.model),
            route=route,
            context_window=stop.window,
        )

    def backend(self, route: Route) -> Backend:
        """
        Find the backend of a route.

        Args:
            route: One that has a backend.

        Returns:
            It; an installed one is made once.

        Raises:
            ConfigurationError: There is none of that name, or it cannot be made.
        """
        if route not in self._backends:
            # Of two threads that make one at once, both get the first.
            self._backends.setdefault(route, load_backend(route.backend))  # type: ignore[arg-type]
        return self._backends[route]

    def site(self, route: Route, client: AnyClient) -> _Site:
        """
        Find the endpoint of a route that has one of its own, or a key of its own.

        Args:
            route: It.
            client: The client whose HTTP client is used, where this is the first time.

        Returns:
            The endpoint.
        """
        if route not in self._sites:
            self._sites.setdefault(route, _site(route, client))
        return self._sites[route]


def _site(route: Route, client: AnyClient) -> _Site:
    base = openai.OpenAI if isinstance(client, openai.OpenAI) else openai.AsyncOpenAI
    settled: dict[str, Any] = {
        "api_key": route.api_key,
        "base_url": route.base_url or client.base_url,
        "http_client": client._client,  # noqa: SLF001
        "timeout": client.timeout,
        "max_retries": 0,
        # The caller's own headers are for the caller's own endpoint.
        "default_headers": {"User-Agent": client.user_agent},
    }
    made = base(**settled)
    forget_openai_environment(made, {"default_headers": settled["default_headers"]})
    return _Site(client=made, send=partial(base.request, made, RESPONSE, stream=True), support=StreamSupport())


def forget_openai_environment(client: Any, given: dict[str, Any]) -> None:
    """
    Undo what openai read from OPENAI_* variables: they are not about this service.

    Args:
        client: A client that was just made.
        given: The keywords that it was given.
    """
    for name in ("organization", "project", "webhook_secret", "admin_api_key"):
        setattr(client, name, given.get(name))
    client._custom_headers = given.get("default_headers") or {}  # noqa: SLF001
    client._ambient_authorizations = frozenset()  # noqa: SLF001


def _in_process(backend: Backend, name: str, asked: Asked, model: str, stop: Stop | None = None) -> InProcess:
    timeout = timeout_of(asked.client, asked.options)
    account = _backend_account(backend, name, model)
    return InProcess(
        backend=backend,
        name=name,
        account=account,
        read_timeout=getattr(timeout, "read", timeout),
        is_last_resort=account is None,
        route=None if stop is None else stop.route,
        context_window=None if stop is None else stop.window,
    )


def _backend_account(backend: Backend, name: str, model: str) -> Account | None:
    is_last_resort = bool(getattr(backend, "is_last_resort", False))
    return None if is_last_resort else Account(f"backend:{name or type(backend).__name__}", model)


def _account(client: AnyClient, model: str) -> Account:
    accounts = _accounts_of(client)
    account = accounts.get(model)
    if account is None:
        account = accounts[""]._replace(model=model)
        if len(accounts) < _MOST_ACCOUNTS:
            accounts[model] = account
    return account


def _accounts_of(client: AnyClient) -> dict[str, Account]:
    """Keep the accounts of a client by model, the one without a model first, until its key or endpoint changes."""
    key = getattr(client, "_api_key_provider", None) or client.api_key
    kept = client.__dict__.get(_ACCOUNTS)
    base_url = client._base_url  # noqa: SLF001  the property takes longer than all of this
    if kept is None or kept[0] is not key or kept[1] is not base_url:
        # A URL may hold a password.
        url = re.sub(r"//[^/]*@", "//", str(client.base_url)).rstrip("/")
        kept = client.__dict__[_ACCOUNTS] = (key, base_url, {"": Account(url, "", credential_of(key))})
    accounts: dict[str, Account] = kept[2]
    return accounts
