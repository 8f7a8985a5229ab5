"""`Chain`: the routes of a client, in their order, and where in it a call starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.models import AUTO, context_window
from deepseek_sdk.routing.route import Route, as_route

if TYPE_CHECKING:
    from deepseek_sdk.routing.auto import PriceOf, Question, RoutingDecision, RoutingPolicy, SecondsOf
    from deepseek_sdk.routing.route import Priority

__all__ = ["Chain", "NamedRoute"]

# What reports call the client's own endpoint.
_OWN = "default"


class NamedRoute:
    """
    A route under the name that it has in its chain.

    Attributes:
        name: What reports call it: the route's name, numbered where several have the same.
        route: The route.
    """

    __slots__ = ("name", "route")

    def __init__(self, name: str, route: Route) -> None:
        self.name = name
        self.route = route

    @property
    def window(self) -> int | None:
        """How many tokens prompt and answer may have together, or None where nobody knows."""
        own = getattr(self.route.backend, "context_window", None)
        return self.route.context_window or (own if isinstance(own, int) else context_window(self.route.model))


class Chain:
    """
    Routes in the order in which they are asked.

    Args:
        routes: Routes, names of models and backends.

    Raises:
        ConfigurationError: They make no chain.
    """

    def __init__(self, routes: Iterable[Any]) -> None:
        if isinstance(routes, str | Mapping) or not isinstance(routes, Iterable):
            raise ConfigurationError(f"routes must be a list of routes, not {routes!r}")
        self.routes = _numbered([as_route(item) for item in routes])
        for named in self.routes[:-1]:
            if getattr(named.route.backend, "always_answers", False):
                raise ConfigurationError(f"routes: nothing behind {named.name!r} would ever be asked; put it last")

    def __repr__(self) -> str:
        return f"Chain({[named.route for named in self.routes]!r})"

    def __len__(self) -> int:
        return len(self.routes)

    def start(self, model: str) -> int | None:
        """
        Find the route that a call names.

        Args:
            model: The model it asks for.

        Returns:
            The place of the route of that name, else of the first one for that model, or None.
        """
        names = [named.name for named in self.routes]
        if model in names:
            return names.index(model)
        return next((place for place, named in enumerate(self.routes) if named.route.model == model), None)

    def plan(
        self, model: str, *, has_own: bool, mode: Priority | None = None, tokens: int = 0
    ) -> tuple[bool, Sequence[NamedRoute]]:
        """
        Decide who is asked, in which order.

        Args:
            model: The model the call asks for, or "auto".
            has_own: The client has an endpoint of its own, which may be asked for any model.
            mode: What matters to the call; looked at for "auto" alone, as *tokens* is.
            tokens: About how long its prompt is.

        Returns:
            Whether the client's own endpoint is asked first, and the routes that follow.
        """
        if model == AUTO:
            from deepseek_sdk.routing.auto import Question, RoutingPolicy  # noqa: PLC0415  few programs need it

            return self.choose(RoutingPolicy(), Question(tokens, mode=mode), has_own=has_own)[:2]
        place = self.start(model)
        return (has_own, self.routes) if place is None else (False, self.routes[place:])

    def choose(
        self,
        policy: RoutingPolicy,
        question: Question,
        *,
        has_own: bool,
        price_of: PriceOf | None = None,
        seconds_of: SecondsOf | None = None,
    ) -> tuple[bool, Sequence[NamedRoute], RoutingDecision]:
        """
        Decide who is asked for the model "auto", in which order.

        Args:
            policy: The rules.
            question: The call.
            has_own: The client has an endpoint of its own, which may be asked for any model.
            price_of: See `decide()`.
            seconds_of: See `decide()`.

        Returns:
            Whether the client's own endpoint is asked first, the routes that follow, and why.
        """
        from deepseek_sdk.routing.auto import decide  # noqa: PLC0415  few programs need it

        decision, order = decide(policy, self.routes, question, price_of=price_of, seconds_of=seconds_of)
        # A last resort alone leaves nobody but the own endpoint to choose.
        is_own_first = has_own and all(named.route.is_last_resort for named in self.routes)
        if is_own_first:
            reason = f"{decision.band}: the client's own endpoint, and no route to choose instead"
            decision = replace(decision, chosen=_OWN, order=(_OWN, *decision.order), reason=reason)
        return is_own_first, order, decision


def _numbered(routes: Sequence[Route]) -> tuple[NamedRoute, ...]:
    given = Counter(route.name for route in routes if route.name != route.model)
    if twice := [name for name, times in given.items() if times > 1]:
        raise ConfigurationError(f"routes: two have the name {twice[0]!r}")
    taken: set[str] = set(given)
    named_routes = []
    for route in routes:
        name = route.name if route.name in given else _free(route.name, taken)
        taken.add(name)
        named_routes.append(NamedRoute(name, route))
    return tuple(named_routes)


def _free(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}#{number}" for number in count(2))
    return next(candidate for candidate in chain((name,), numbered) if candidate not in taken)
