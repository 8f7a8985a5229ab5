"""`Target`: one place that a call can be sent to, and how a call is fitted to it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk._clock import Limits, effective_limits, is_thinking

if TYPE_CHECKING:
    from deepseek_sdk._call import Call, CallOptions
    from deepseek_sdk._clock import Deadlines
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.routing.route import Route

__all__ = ["Target", "aim", "aimed"]

_NO_LIMITS = Limits(first_token=inf, stall=inf)


class Target(Protocol):
    """One place that a call can be sent to."""

    @property
    def name(self) -> str:
        """What reports call it, or "" where what answers there has a name of its own."""
        ...

    @property
    def route(self) -> Route | None:
        """The route it was made of, or None for the client's own endpoint or backend."""
        ...

    @property
    def account(self) -> Account | None:
        """What breaker and limiter know it by, or None where there is nothing to guard."""
        ...

    @property
    def read_timeout(self) -> float | None:
        """The longest silence of its server, in seconds, or None for no limit."""
        ...

    @property
    def context_window(self) -> int | None:
        """How many tokens prompt and answer may have together, or None where nobody knows."""
        ...

    @property
    def secret(self) -> str:
        """The key, to be kept out of errors, or ""."""
        ...

    @property
    def is_last_resort(self) -> bool:
        """Whether what it says is better than no answer, and no more."""
        ...

    @property
    def is_in_process(self) -> bool:
        """Whether it answers in this process, and knows best how much it can do at a time."""
        ...

    async def answer(self, call: Call) -> Reply:
        """
        Answer a call, once.

        Args:
            call: It.

        Returns:
            The answer in flight.

        Raises:
            openai.APIError: It refused, or could not be reached in time.
        """
        ...


def aim(call: Call, place: int) -> Call:
    """
    Fit a call to one of its targets.

    Args:
        call: It, as the caller asked it.
        place: Which of `call.targets`.

    Returns:
        The call with that target's model, clocks and way of reading.
    """
    return call.replace(**aimed(call.body, call.targets, place, call.options, is_stream=call.is_stream))


def aimed(
    body: dict[str, Any], targets: tuple[Target, ...], place: int, options: CallOptions, *, is_stream: bool
) -> dict[str, Any]:
    """
    Say what a call is for one of its targets.

    Args:
        body: What the caller asks.
        targets: Everything it may be sent to.
        place: Which of these.
        options: What the caller said besides.
        is_stream: The caller asked for a stream.

    Returns:
        Attributes of `Call`.
    """
    target, rest = targets[place], targets[place + 1 :]
    can_move_on = bool(rest)
    deadlines = options.deadlines
    if target.route is not None and target.route.deadlines is not None:
        deadlines = target.route.deadlines.over(deadlines)
    is_direct = not is_stream and _reads_whole(options, deadlines, can_move_on=can_move_on)
    return {
        "body": _body(body, target.route),
        "upstream": target,
        "is_direct": is_direct,
        "limits": _limits(body, target, deadlines, is_direct=is_direct, can_move_on=can_move_on),
        "can_move_on": can_move_on,
        "can_move_on_to_route": can_move_on and not all(other.is_last_resort for other in rest),
    }


def _body(body: dict[str, Any], route: Route | None) -> dict[str, Any]:
    return body if route is None or body.get("model") == route.model else {**body, "model": route.model}


def _reads_whole(options: CallOptions, deadlines: Deadlines, *, can_move_on: bool) -> bool:
    """Decide how a plain answer is read: whole costs least, a stream is what clocks and a later route need."""
    if options.plain in ("direct", "stream"):
        return options.plain == "direct"
    return options.priority == "batch" or not (can_move_on or deadlines.needs_stream)


def _limits(
    body: dict[str, Any], target: Target, deadlines: Deadlines, *, is_direct: bool, can_move_on: bool
) -> Limits:
    if target.is_last_resort:
        # What it says takes no time, and is wanted most when time is up.
        return _NO_LIMITS
    return effective_limits(
        deadlines,
        read_timeout=target.read_timeout,
        is_direct=is_direct,
        is_thinking=is_thinking(body),
        can_move_on=can_move_on,
    )
