from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import pytest

from deepseek_sdk import Route
from deepseek_sdk.errors import (
    REASONS,
    CircuitOpenError,
    EmptyAnswerError,
    FirstTokenTimeout,
    LimiterTimeoutError,
    StallTimeout,
    StreamInterruptedError,
    TotalTimeout,
    classify,
    refine,
)
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.routing.moves import may_move

REQUEST = httpx2.Request("POST", "http://a.invalid/chat/completions")


@dataclass
class Target:
    """A target, as far as the decision looks at it."""

    account: Account | None
    route: Route | None = None
    context_window: int | None = 1_048_565
    is_last_resort: bool = False


HERE = Target(Account("http://a.invalid", "deepseek-flash", "one"))
THERE = {
    "other model": Target(Account("http://a.invalid", "deepseek-v4-pro", "one")),
    "other key": Target(Account("http://a.invalid", "deepseek-flash", "two")),
    "other endpoint": Target(Account("http://b.invalid", "deepseek-flash", "one")),
    "larger": Target(Account("http://c.invalid", "huge", "three"), context_window=4_000_000),
    "unknown window": Target(Account("http://d.invalid", "qwen", "four"), context_window=None),
    "rules": Target(None, is_last_resort=True, context_window=None),
}
ALL = set(THERE)
OVERFLOW = (
    "This model's maximum context length is 1048565 tokens. However, you requested {} tokens (1 in the messages, 2"
)
UNKNOWN = "The supported API model names are deepseek-flash, deepseek-v4-pro, but you passed x"


def status(code: int, message: str = "no", **headers: str) -> openai.APIStatusError:
    """Make what the wire raises for a status."""
    response = httpx2.Response(code, request=REQUEST, headers=headers, json={"error": {"message": message}})
    body = {"message": message}
    error = openai.OpenAI(api_key="k")._make_status_error(message, body=body, response=response)
    return refine(error)


ERRORS: dict[str, tuple[Exception, set[str]]] = {
    "400": (status(400), set()),
    "401": (status(401), ALL - {"other model"}),
    "402": (status(402), ALL - {"other model"}),
    "403": (status(403), ALL - {"other model"}),
    "404": (status(404), ALL),
    "408": (status(408), ALL),
    "409": (status(409), set()),
    "413": (status(413), set()),
    "422": (status(422), set()),
    "429": (status(429), ALL),
    "500": (status(500), ALL),
    "502": (status(502), ALL),
    "503": (status(503), ALL),
    "504": (status(504), ALL),
    "unknown model": (status(400, UNKNOWN), ALL),
    "overflow": (status(400, OVERFLOW.format(1_048_600)), {"larger"}),
    "large overflow": (status(400, OVERFLOW.format(5_000_000)), set()),
    "connection": (openai.APIConnectionError(request=REQUEST), ALL),
    "time-out": (openai.APITimeoutError(REQUEST), ALL),
    "first token": (FirstTokenTimeout(request=REQUEST, limit=1), ALL),
    "stall": (StallTimeout(request=REQUEST, limit=1), ALL),
    "total": (TotalTimeout(request=REQUEST, limit=1), {"rules"}),
    "cut": (StreamInterruptedError("cut", request=REQUEST), ALL),
    "empty": (EmptyAnswerError(response=httpx2.Response(200, request=REQUEST)), ALL),
    "content risk": (status(400, "Content Exists Risk"), set()),
    "open circuit": (
        CircuitOpenError(request=REQUEST, account=Account("u", "m"), retry_in=1.0, is_cooling=False),
        ALL,
    ),
    "no place": (
        LimiterTimeoutError(response=httpx2.Response(429, request=REQUEST), waited=1, limit=1, in_flight=1),
        ALL,
    ),
    "bug": (ValueError("bug"), set()),
}


@pytest.mark.parametrize("name", ERRORS)
def test_which_error_goes_on_to_which_target(name: str) -> None:
    """A key that is refused is not tried at another model, a long prompt goes to larger windows only, and so on."""
    error, expected = ERRORS[name]

    assert expected == {there for there, target in THERE.items() if may_move(error, HERE, target)}  # type: ignore[arg-type]


def test_a_model_that_is_not_there_is_not_asked_for_again_at_the_same_place() -> None:
    """Another route for the same model, endpoint and key would be refused the same way."""
    same = Target(HERE.account)

    assert not may_move(ERRORS["unknown model"][0], HERE, same)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("move_on", "moved"),
    [({"overloaded"}, {"503"}), (set(), set()), (lambda error: classify(error).reason == "rejected", {"400", "422"})],
)
def test_a_route_may_say_itself_after_what_the_next_is_asked(move_on: Any, moved: set[str]) -> None:
    """The words of the route, or its function, stand in the place of the table."""
    here = Target(HERE.account, Route("m", move_on=move_on))
    tried = ("400", "422", "429", "500", "503")

    assert moved == {name for name in tried if may_move(ERRORS[name][0], here, THERE["other key"])}  # type: ignore[arg-type]


def test_all_reasons_are_known() -> None:
    """Each error's reason is among the words that a route may use."""
    assert {classify(error).reason for error, _ in ERRORS.values()} <= REASONS
