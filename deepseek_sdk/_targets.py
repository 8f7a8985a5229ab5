"""What a call can be sent to: the client's own endpoint or backend, and the routes after it."""

from __future__ import annotations

import re
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

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
    from deepseek_sdk.routing.chain import NamedRoute
    from deepseek_sdk.routing.route import Route
    from deepseek_sdk.routing.target import Target

    AnyClient = openai.OpenAI | openai.AsyncOpenAI

__all__ = ["ClientRequest", "Targets", "forget_openai_environment"]

_ACCOUNTS = "_deepseek_accounts"
# A service may take the names of models from its callers, and make a child for each of them.
_MOST_ACCOUNTS = _MOST_ENDPOINTS = 64


class ClientRequest(NamedTuple):
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


class _RouteEndpoint(NamedTuple):
    """The endpoint of a route that has one, or a key, of its own."""

    client: AnyClient
    send: Callable[..., Any]
    support: StreamSupport


class Targets:
    """
    Makes targets; shared by a client and its children.

    What a route needs to be asked is made when it is first needed, and kept as long as the route.

    Args:
        backend: What answers in place of the client's own endpoint, or None.
        is_offline: No socket may be opened.
        has_key: The client's own endpoint can be asked.
    """

    def __init__(self, backend: Backend | None, *, is_offline: bool, has_key: bool) -> None:
        self._own_backend = backend
        self._is_offline = is_offline
        self._has_key = has_key
        self._endpoints: weakref.WeakKeyDictionary[Route, dict[Any, _RouteEndpoint]] = weakref.WeakKeyDictionary()
        self._backends: weakref.WeakKeyDictionary[Route, Backend] = weakref.WeakKeyDictionary()

    def prepare(self, named: NamedRoute, client: AnyClient) -> None:
        """
        Make what a route needs, and check it.

        Args:
            named: The route.
            client: The client that it is a route of.

        Raises:
            ConfigurationError: It could never answer; the message says why.
        """
        route, asked = named.route, self.client(named, client)
        if asked is not None and route.model in RETIRED and host_and_path(asked.base_url)[0].endswith("deepseek.com"):
            other = RETIRED[route.model]
            raise ConfigurationError(f"the route {named.name!r}: {route.model} was retired on 2026-07-24; use {other}")

    def client(self, named: NamedRoute, client: AnyClient) -> AnyClient | None:
        """
        Find the client of a route's endpoint.

        Args:
            named: The route.
            client: The client that it is a route of.

        Returns:
            A client of the same colour, or None for a backend.

        Raises:
            ConfigurationError: It cannot be asked; the message says why.
        """
        if named.route.backend is not None:
            self._backend(named.route)
            return None
        self._check(named)
        return self._endpoint(named.route, client).client if named.route.is_elsewhere else client

    def account(self, named: NamedRoute, client: AnyClient) -> Account | None:
        """
        Say what breaker and limiter know a route by.

        Args:
            named: The route.
            client: The client that it is a route of.

        Returns:
            The account, or None for a last resort.
        """
        asked = self.client(named, client)
        if asked is None:
            return _backend_account(self._backend(named.route), named.name, named.route.model)
        return _account(asked, named.route.model)

    def identity(self, client: AnyClient) -> Account | None:
        """
        Say what breakers and limiters know the client's own endpoint by.

        Args:
            client: The client.

        Returns:
            Its account without a model, or None where it has no endpoint.
        """
        return None if self._own_backend is not None or not self._has_key else _account(client, "")

    def own(self, request: ClientRequest, model: str) -> Target:
        """
        Make the target that a client is without routes.

        Args:
            request: The request.
            model: The model it is for.

        Returns:
            Its endpoint, or its backend.
        """
        if self._own_backend is not None:
            return _in_process(self._own_backend, "", request, model)
        return Endpoint(
            name="default",
            client=request.client,
            send=request.send,
            options=request.options,
            support=request.support,
            timeout=timeout_of(request.client, request.options),
            account=_account(request.client, model),
            context_window=context_window(model),
        )

    def at(self, named: NamedRoute, request: ClientRequest) -> Target:
        """
        Make the target of a route.

        Args:
            named: The route.
            request: The request.

        Returns:
            Its endpoint, or its backend.

        Raises:
            ConfigurationError: It cannot be asked; the message says why.
        """
        route = named.route
        if route.backend is not None:
            return _in_process(self._backend(route), named.name, request, route.model, named)
        self._check(named)
        asked: Any = self._endpoint(route, request.client) if route.is_elsewhere else request
        return Endpoint(
            name=named.name,
            client=asked.client,
            send=asked.send,
            options=request.options,
            support=asked.support,
            timeout=timeout_of(request.client, request.options),
            account=_account(asked.client, route.model),
            route=route,
            context_window=named.window,
        )

    def _check(self, named: NamedRoute) -> None:
        what = f"the route {named.name!r} asks an endpoint"
        if self._is_offline:
            raise ConfigurationError(f"{what}, and the client is offline: give it a backend")
        if not named.route.is_elsewhere and not self._has_key:
            raise ConfigurationError(f"{what}, for which the client has no key")

    def _backend(self, route: Route) -> Backend:
        if route not in self._backends:
            # Of two threads that make one at once, both get the first.
            self._backends.setdefault(route, load_backend(route.backend))  # type: ignore[arg-type]
        return self._backends[route]

    def _endpoint(self, route: Route, client: AnyClient) -> _RouteEndpoint:
        """Find the endpoint of a route; a child with another HTTP client, or base URL, has one of its own."""
        kept = self._endpoints.setdefault(route, {})
        key = (route.base_url or str(client.base_url), id(client._client))  # noqa: SLF001
        if key not in kept:
            if len(kept) >= _MOST_ENDPOINTS:
                kept.clear()
            kept.setdefault(key, _route_endpoint(route, client))
        return kept.get(key) or _route_endpoint(route, client)


def _route_endpoint(route: Route, client: AnyClient) -> _RouteEndpoint:
    base = openai.OpenAI if isinstance(client, openai.OpenAI) else openai.AsyncOpenAI
    given: dict[str, Any] = {
        "api_key": route.api_key,
        "base_url": route.base_url or client.base_url,
        "http_client": client._client,  # noqa: SLF001
        "max_retries": 0,
        # The caller's own headers are for the caller's own endpoint.
        "default_headers": {"User-Agent": client.user_agent},
    }
    made = base(**given)
    forget_openai_environment(made, given)
    send = partial(base.request, made, RESPONSE, stream=True)
    return _RouteEndpoint(client=made, send=send, support=StreamSupport())


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


def _in_process(
    backend: Backend, name: str, request: ClientRequest, model: str, named: NamedRoute | None = None
) -> InProcess:
    timeout = timeout_of(request.client, request.options)
    account = _backend_account(backend, name, model)
    return InProcess(
        backend=backend,
        name=name,
        account=account,
        read_timeout=getattr(timeout, "read", timeout),
        is_last_resort=account is None,
        route=None if named is None else named.route,
        context_window=None if named is None else named.window,
    )


def _backend_account(backend: Backend, name: str, model: str) -> Account | None:
    is_last_resort = bool(getattr(backend, "is_last_resort", False))
    return None if is_last_resort else Account.of_backend(name or type(backend).__name__, model)


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
