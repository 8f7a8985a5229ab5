"""`Health`: what a client knows of its routes without asking them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.resilience.breaking.states import BreakerState
    from deepseek_sdk.stages._policies import Policies

__all__ = ["Health", "RouteHealth", "health_of"]

_OF_LIMITERS = ("in_flight", "queued", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteHealth:
    """
    What is known of one account: a model at an endpoint, for a key.

    Attributes:
        route: The name of the route, "default" for the client's own endpoint, or None for what only another client, or
            a child with a key or an endpoint of its own, has asked.
        account: Endpoint, model, and what stands for the key.
        state: Its circuit: "closed", "open" or "half_open".
        reason: Why the circuit is not closed, or None.
        retry_in: When it is asked again, in seconds, or None.
        calls: Calls of the last minute.
        failures: Of these, failures that count against it.
        slow: Of these, calls whose first token came late.
        in_flight: Calls that hold a place now.
        queued: Calls that wait for one.
        limit: How many may be in flight, or None where nothing limits them.
    """

    route: str | None
    account: Account
    state: BreakerState = "closed"
    reason: str | None = None
    retry_in: float | None = None
    calls: int = 0
    failures: int = 0
    slow: int = 0
    in_flight: int = 0
    queued: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """
    What is known of everything that a client asks.

    Attributes:
        routes: The routes in their order, then what else was asked.
    """

    routes: tuple[RouteHealth, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether no circuit is open."""
        return all(route.state == "closed" for route in self.routes)


def health_of(policies: Policies, named: Mapping[Account, str], own: Account | None) -> Health:
    """
    Look at breakers and limiters.

    Args:
        policies: Where they are.
        named: The accounts of the routes, in their order, with their names.
        own: The account of the client's own endpoint, for any model, or None.

    Returns:
        What they say.
    """
    seen = dict.fromkeys((*_accounts(policies.breakers), *_accounts(policies.limiters)))
    others = {
        account: "default" if own is not None and account._replace(model=own.model) == own else None
        for account in seen
        if account not in named
    }
    return Health(routes=tuple(_of(account, name, policies) for account, name in {**others, **named}.items()))


def _accounts(registry: Iterable[Any]) -> Iterable[Account]:
    return [kept.account for kept in registry]


def _of(account: Account, route: str | None, policies: Policies) -> RouteHealth:
    health = RouteHealth(route=route, account=account)
    if policies.breakers.is_on:
        told = policies.breakers[account].snapshot()._asdict()
        health = replace(health, **{name: value for name, value in told.items() if name not in _OF_LIMITERS})
    if policies.limiters.is_on:
        limiter = policies.limiters[account]
        health = replace(health, **{name: getattr(limiter, name) for name in _OF_LIMITERS})
    return health
