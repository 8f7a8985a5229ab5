"""`Router`: chooses routes for the model "auto", by what it learns of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._estimate import estimate_prompt, estimate_tokens
from deepseek_sdk.routing.memory import RouteMemory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.routing.auto import PriceOf, RoutingDecision, RoutingPolicy
    from deepseek_sdk.routing.chain import Chain, NamedRoute
    from deepseek_sdk.routing.route import Priority

__all__ = ["Plan", "Router"]


class Plan(NamedTuple):
    """
    Who is asked.

    Attributes:
        is_own_first: The client's own endpoint is asked first.
        routes: What is asked then, in this order.
        routing: How that was decided, where the call left it to the client.
    """

    is_own_first: bool
    routes: Sequence[NamedRoute]
    routing: RoutingDecision | None = None


class Router:
    """
    Chooses routes; shared by a client and its children.

    Args:
        policy: The rules.
        price_of: Gives for a model what a million tokens of prompt and of answer cost, or None where nobody knows.
        memory: What is known of the routes; to learn, it is given the records of finished calls.

    Attributes:
        policy: The rules.
        memory: What is known of the routes.
    """

    def __init__(
        self, policy: RoutingPolicy | None = None, *, price_of: PriceOf | None = None, memory: RouteMemory | None = None
    ) -> None:
        from deepseek_sdk.routing.auto import RoutingPolicy  # noqa: PLC0415  with a client, not with the library

        self.policy = RoutingPolicy() if policy is None else policy
        self.memory = RouteMemory() if memory is None else memory
        self._price_of = price_of

    def choose(
        self,
        chain: Chain,
        body: Mapping[str, Any],
        *,
        has_own: bool,
        mode: Priority | None = None,
        session_id: str | None = None,
    ) -> Plan:
        """
        Decide who is asked for the model "auto".

        Args:
            chain: The routes.
            body: What is asked.
            has_own: The client has an endpoint of its own.
            mode: What matters to the call.
            session_id: The conversation it belongs to.

        Returns:
            Who, and why.
        """
        from deepseek_sdk.routing.auto import Question  # noqa: PLC0415  loaded by now

        tokens = estimate_prompt(body)
        question = Question(
            tokens=tokens,
            reserved=max(estimate_tokens({**body, "messages": None, "prompt": None, "tools": None}), 0),
            mode=mode,
            warm=self.memory.warm(session_id),
        )
        seconds_of = partial(self.memory.seconds_of, band=self.policy.band(tokens))
        return Plan(
            *chain.choose(self.policy, question, has_own=has_own, price_of=self._price_of, seconds_of=seconds_of)
        )
