"""`Chain`: the routes of a client, in their order, and where in it a call starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.models import AUTO, context_window
from deepseek_sdk.routing.route import Route, as_route

if TYPE_CHECKING:
    from deepseek_sdk.routing.route import Priority

__all__ = ["Chain", "Stop"]


class Stop:
    """
    A route at its place in a chain.

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
        return self.route.context_window or context_window(self.route.model)


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
        self.stops = _numbered([as_route(item) for item in routes])

    def __repr__(self) -> str:
        return f"Chain({[stop.route for stop in self.stops]!r})"

    def __len__(self) -> int:
        return len(self.stops)

    def start(self, model: str) -> int | None:
        """
        Find the route that a call names.

        Args:
            model: The model it asks for.

        Returns:
            The place of the route of that name, else of the first one for that model, or None.
        """
        names = [stop.name for stop in self.stops]
        if model in names:
            return names.index(model)
        return next((place for place, stop in enumerate(self.stops) if stop.route.model == model), None)

    def plan(self, model: str, *, has_own: bool, mode: Priority | None, tokens: int) -> tuple[bool, Sequence[Stop]]:
        """
        Decide who is asked, in which order.

        Args:
            model: The model the call asks for, or "auto".
            has_own: The client has an endpoint of its own, which may be asked for any model.
            mode: What matters to the call.
            tokens: About how long its prompt is; looked at for "auto" alone.

        Returns:
            Whether the client's own endpoint is asked first, and the routes that follow.
        """
        if not self.stops:
            return True, ()
        if model == AUTO:
            return False, self._suited(mode, tokens)
        place = self.start(model)
        return (has_own, self.stops) if place is None else (False, self.stops[place:])

    def _suited(self, mode: Priority | None, tokens: int) -> Sequence[Stop]:
        """Put first what the prompt fits into and what is meant for such calls; a last resort stays last."""

        def rank(stop: Stop) -> tuple[bool, bool, bool]:
            is_small = stop.window is not None and tokens > stop.window
            return stop.route.is_last_resort, is_small, stop.route.mode not in (None, mode or "realtime")

        return sorted(self.stops, key=rank)


def _numbered(routes: Sequence[Route]) -> tuple[Stop, ...]:
    given = [route.name for route in routes if route.name != route.model]
    if twice := [name for name, count in Counter(given).items() if count > 1]:
        raise ConfigurationError(f"routes: two have the name {twice[0]!r}")
    seen: Counter[str] = Counter()
    stops = []
    for route in routes:
        seen[route.name] += 1
        suffix = f"#{seen[route.name]}" if seen[route.name] > 1 else ""
        stops.append(Stop(route.name + suffix, route))
    return tuple(stops)
