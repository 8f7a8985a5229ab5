"""The choice of a route for the model "auto", on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import Route, report
from deepseek_sdk.routing.auto import RoutingPolicy
from deepseek_sdk.routing.router import Router
from tests.raw_server import RawServer, answer, completion, refusal, stream, whole

if TYPE_CHECKING:
    from tests.conftest import Driver

PRICES = {"deepseek-flash": (1.0, 4.0), "deepseek-v4-pro": (4.5, 13.5)}
ROUTES = [Route("deepseek-v4-pro"), Route("deepseek-flash")]


def routed(client: Any, policy: RoutingPolicy | None = None) -> Router:
    """Give a client a router that knows prices."""
    client._heritage.family.router = router = Router(policy, price_of=PRICES.get)
    return router


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_cheapest_route_answers_and_the_report_says_so(driver: Driver, *, is_stream: bool) -> None:
    """The route of the lowest score goes first, the others follow; the decision is in the report."""
    with RawServer(refusal(503, "busy"), stream(*answer("你好"))) as server:
        client = driver.client(base_url=server.url, routes=ROUTES, max_retries=0)
        routed(client)
        found = driver.create(client, "天为什么是蓝的？" * 100, model="auto", stream=is_stream)
        if is_stream:
            assert "你好" == driver.stream_text(found)
        told = report(found)

    assert told.routing is not None
    assert ("deepseek-flash", "direct", 481) == (told.routing.chosen, told.routing.band, told.routing.tokens)
    assert ("deepseek-flash", "deepseek-v4-pro") == told.routing.order
    assert ["deepseek-flash", "deepseek-v4-pro"] == [attempt.route for attempt in told.attempts]
    assert "direct: it has the lowest score" == told.routing.reason


def test_the_length_of_an_answer_is_no_part_of_the_prompt(driver: Driver) -> None:
    """`max_tokens` counts against windows, and does not make a short prompt a long one."""
    with RawServer(stream(*answer("Hi"))) as server:
        routes = [Route("deepseek-flash", context_window=100_000), Route("deepseek-v4-pro")]
        client = driver.client(base_url=server.url, routes=routes)
        routed(client)
        told = report(driver.create(client, model="auto", max_tokens=200_000)).routing

    assert told is not None
    assert ("direct", "deepseek-v4-pro") == (told.band, told.chosen)


def test_a_long_conversation_stays_with_its_route(driver: Driver) -> None:
    """What answered the session last is asked again, though another would be cheaper."""
    with RawServer(*[stream(*answer("Hi"))] * 2) as server:
        client = driver.client(base_url=server.url, routes=ROUTES, session_id="会话")
        router = routed(client, RoutingPolicy(direct_below=0))
        first = driver.create(client, model="deepseek-v4-pro")
        router.memory(first.__dict__["_deepseek_record"])
        told = [report(first), report(driver.create(client, model="auto"))]

    assert ["deepseek-v4-pro", "deepseek-v4-pro"] == [one.route for one in told]
    assert told[0].routing is None
    assert told[1].routing is not None
    assert "prefix" == told[1].routing.band


def test_auto_without_routes_is_told_too(driver: Driver) -> None:
    """The client's own endpoint is the only choice, and the report calls it by its name."""
    with RawServer(whole(completion("Hi"))) as server:
        told = report(driver.create(driver.client(base_url=server.url), model="auto")).routing

    assert told is not None
    assert ("default", ("default",)) == (told.chosen, told.order)
