"""`client.check()`: ask every endpoint which models it serves, before an emergency does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import openai

from deepseek_sdk.errors import redact
from deepseek_sdk.routing.models import ALIASES, RETIRED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ["Place", "RouteCheck", "checked_routes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCheck:
    """
    What came of asking about one route.

    Attributes:
        route: Its name; "default" is the client's own endpoint.
        model: The model it asks for, or None for the own endpoint, which is asked for any.
        base_url: The endpoint, or None for a backend of this process, which is not asked.
        problem: What would go wrong, in a sentence, or None.
        served: The models the endpoint says it serves.
    """

    route: str
    model: str | None
    base_url: str | None
    problem: str | None = None
    served: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is known to be wrong."""
        return self.problem is None


# The name of a route, the model it asks for or None, and the client of its endpoint, or None for a backend.
Place: TypeAlias = tuple[str, str | None, Any]


async def checked_routes(places: Sequence[Place], ask: Callable[[Any], Awaitable[list[str]]]) -> list[RouteCheck]:
    """
    Ask every endpoint for its models, each once.

    Args:
        places: Where the routes lead.
        ask: Asks the endpoint of a client.

    Returns:
        One result for each place, in their order.
    """
    answers: dict[int, list[str] | Exception] = {}
    for _, _, client in places:
        if client is not None and id(client) not in answers:
            try:
                answers[id(client)] = await ask(client)
            except Exception as error:  # noqa: BLE001  one endpoint that talks nonsense must not hide the others
                redact(error, client.api_key)
                answers[id(client)] = error
    return [_verdict(place, answers.get(id(place[2]))) for place in places]


def _verdict(place: Place, answer: list[str] | Exception | None) -> RouteCheck:
    route, model, client = place
    if answer is None:
        return RouteCheck(route=route, model=model, base_url=None)
    url = str(client.base_url).rstrip("/")
    if isinstance(answer, Exception):
        cause = f" ({answer.__cause__})" if answer.__cause__ is not None else ""
        why = f"{answer}{cause}" if isinstance(answer, openai.OpenAIError) else "its answer is no list of models"
        problem = f"{url} does not say which models it serves: {why}"
        return RouteCheck(route=route, model=model, base_url=url, problem=problem)
    return RouteCheck(route=route, model=model, base_url=url, problem=_problem(model, answer), served=tuple(answer))


def _problem(model: str | None, served: list[str]) -> str | None:
    if served and (model is None or model in served or ALIASES.get(model) in served):
        return None
    if not served:
        return "the endpoint's list of models is empty"
    what = f"{model} was retired on 2026-07-24" if model in RETIRED else f"{model} is not served"
    return f"{what}; the endpoint serves {', '.join(sorted(served))}"
