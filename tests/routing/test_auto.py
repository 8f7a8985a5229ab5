from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk import Route
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.auto import Question, RoutingDecision, RoutingPolicy
from deepseek_sdk.routing.chain import Chain


class Engine:
    """An engine of this process by its shape."""

    def __init__(self, *, is_last_resort: bool = False, context_window: int | None = None) -> None:
        self.is_last_resort = is_last_resort
        self.context_window = context_window

    async def __call__(self, call: Any) -> Any:
        """Answer nothing."""
        raise NotImplementedError


PRO, FLASH = Route("deepseek-v4-pro", name="pro"), Route("deepseek-flash", name="flash")
FOREIGN = Route("qwen3", name="foreign", base_url="http://other.invalid", api_key="k")
LOCAL = Route("local", backend=Engine(context_window=1_000_000))
SMALL = Route("small", backend=Engine(context_window=131_072))
RULES = Route("rules", backend=Engine(is_last_resort=True))
# What a million tokens of prompt and of answer cost off-peak.
PRICES = {"deepseek-flash": (1.0, 4.0), "deepseek-v4-pro": (4.5, 13.5)}
SECONDS = {"pro": 2.0, "flash": 8.0}


SHORT = Question(1000)


def choose(
    routes: list[Route], question: Question = SHORT, policy: RoutingPolicy | None = None, **known: Any
) -> RoutingDecision:
    """Decide among routes."""
    given = {"price_of": PRICES.get, "seconds_of": SECONDS.get, **known}
    return Chain(routes).choose(policy or RoutingPolicy(), question, has_own=True, **given)[2]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(0, "direct"), (49_999, "direct"), (50_000, "prefix"), (300_000, "prefix"), (300_001, "local")],
)
def test_the_length_of_a_prompt_says_what_it_needs(tokens: int, expected: str) -> None:
    """Under 50k straight to an endpoint, up to 300k where it may be cached, above that the local engine."""
    assert expected == RoutingPolicy().band(tokens)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1000, ["flash", "pro", "local", "small", "rules"]),
        (200_000, ["flash", "pro", "local", "small", "rules"]),
        (400_000, ["local", "flash", "pro", "small", "rules"]),
        (1_020_000, ["flash", "pro", "local", "small", "rules"]),
    ],
)
def test_long_prompts_go_to_the_local_engine_that_they_fit_into(tokens: int, expected: list[str]) -> None:
    """Over 300k tokens an engine goes first if its window is large enough; a last resort stays last."""
    told = choose([LOCAL, SMALL, PRO, FLASH, RULES], Question(tokens))

    assert (expected[0], expected) == (told.chosen, list(told.order))


def test_without_an_engine_long_prompts_go_to_an_endpoint() -> None:
    """A band is no condition: whoever there is is asked."""
    told = choose([PRO, FLASH], Question(500_000))

    assert ("local", "flash") == (told.band, told.chosen)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, ["flash", "pro"]),
        ({"cost": 0}, ["pro", "flash"]),
        ({"cost": 0, "latency": 1}, ["pro", "flash"]),
        ({"cost": 2, "latency": 1}, ["flash", "pro"]),
        ({"cost": 1, "latency": 2}, ["pro", "flash"]),
    ],
)
def test_price_and_time_are_weighed(policy: dict[str, float], expected: list[str]) -> None:
    """Each counts as a share of the highest one, times its weight; without weights the order is the one given."""
    assert expected == list(choose([PRO, FLASH], policy=RoutingPolicy(**policy)).order)  # type: ignore[arg-type]


def test_scores_are_shares() -> None:
    """A route of the highest price and half of the longest time has the weight of the one and half of the other."""
    policy = RoutingPolicy(cost=1, latency=0.5, answer_tokens=1000)
    told = choose([PRO, FLASH, FOREIGN], Question(10_000), policy)

    expected = {"pro": 1 + 0.5 * 0.25, "flash": 14 / 58.5 + 0.5, "foreign": 1.0}
    assert pytest.approx(expected) == dict(told.scores)


@pytest.mark.parametrize(("price", "expected"), [(None, "flash"), ((0.5, 0.5), "foreign"), ((0, 0), "foreign")])
def test_an_unknown_price_is_a_high_one(price: tuple[float, float] | None, expected: str) -> None:
    """A model without a price is never taken for a free one."""
    told = choose([FOREIGN, PRO, FLASH], price_of={**PRICES, "qwen3": price}.get)

    assert expected == told.chosen


def test_a_free_route_goes_before_one_of_unknown_price() -> None:
    """Also where no other price is known to compare with."""
    assert "flash" == choose([FOREIGN, FLASH], price_of={"deepseek-flash": (0.0, 0.0)}.get).chosen


@pytest.mark.parametrize("name", ["price_of", "seconds_of"])
def test_what_nobody_knows_changes_nothing(name: str) -> None:
    """Where neither prices nor times are known the order is the one given."""
    policy = RoutingPolicy(cost=float(name == "price_of"), latency=float(name == "seconds_of"))

    nothing: dict[str, Any] = {}
    for known in (None, nothing.get):
        given: dict[str, Any] = {name: known}
        assert ("pro", "flash", "foreign") == choose([PRO, FLASH, FOREIGN], policy=policy, **given).order


def test_a_route_whose_speed_is_unknown_is_tried() -> None:
    """It is asked, and from then on its speed is known."""
    assert "foreign" == choose([PRO, FLASH, FOREIGN], policy=RoutingPolicy(cost=0, latency=1)).chosen


@pytest.mark.parametrize(
    ("tokens", "warm", "expected"),
    [
        (200_000, "pro", "pro"),
        (200_000, "flash", "flash"),
        (200_000, "gone", "flash"),
        (200_000, "rules", "flash"),
        (1000, "pro", "flash"),
        (400_000, "pro", "local"),
    ],
)
def test_long_conversations_stay_where_they_are(tokens: int, warm: str, expected: str) -> None:
    """Between the bands the route that answered last goes first, whatever it costs: its cache has the beginning."""
    assert expected == choose([PRO, FLASH, LOCAL, RULES], Question(tokens, warm=warm)).chosen


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Question(1000), "day"),
        (Question(1000, mode="realtime"), "day"),
        (Question(1000, mode="batch"), "night"),
        (Question(60_000, mode="batch"), "night"),
        (Question(60_000, reserved=50_000, mode="batch"), "day"),
        (Question(110_000, mode="batch"), "day"),
    ],
)
def test_windows_and_modes_go_before_prices(question: Question, expected: str) -> None:
    """A route for other calls, or too small for prompt and answer, is asked later, however cheap it is."""
    night = replace(FLASH, name="night", mode="batch", context_window=100_000)

    assert expected == choose([night, replace(PRO, name="day", mode="realtime")], question).chosen


@pytest.mark.parametrize(
    ("routes", "question", "expected"),
    [
        ([FLASH], Question(10), "direct: there is nothing else to ask"),
        ([PRO, FLASH], Question(10), "direct: it has the lowest score"),
        ([FLASH, replace(FLASH, name="b")], Question(10), "direct: it was given first"),
        ([FLASH, RULES], Question(10), "direct: the others are last resorts"),
        ([SMALL, FLASH], Question(200_000), "prefix: the prompt may not fit into the others"),
        ([PRO, FLASH], Question(60_000, warm="pro"), "prefix: it answered this conversation last, and may have"),
        ([FLASH, LOCAL], Question(400_000), "local: it is the kind of route for prompts of this length"),
        ([replace(FLASH, mode="batch"), PRO], Question(10), "direct: the others are meant for other calls"),
        ([RULES], Question(10), "direct: the client's own endpoint, and no route to choose instead"),
    ],
)
def test_a_decision_says_why(routes: list[Route], question: Question, expected: str) -> None:
    """What tells the first route from the second is said in words."""
    assert choose(routes, question).reason.startswith(expected)


@pytest.mark.parametrize("routes", [[], [RULES]])
def test_the_own_endpoint_is_asked_where_there_is_no_choice(routes: list[Route]) -> None:
    """Nothing, or a last resort alone, leaves the client's own endpoint, which reports call "default"."""
    told = choose(routes)

    assert ("default", ("default", *(route.name for route in routes))) == (told.chosen, told.order)


def test_a_client_without_anything_has_nothing_to_choose() -> None:
    """A decision among no routes names none."""
    is_own_first, order, told = Chain([]).choose(RoutingPolicy(), Question(10), has_own=False)

    assert (False, [], "", ()) == (is_own_first, list(order), told.chosen, told.order)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direct_below": -1}, "direct_below must be a whole number"),
        ({"direct_below": 1.5}, "direct_below must be a whole number"),
        ({"local_above": True}, "local_above must be a whole number"),
        ({"local_above": 10}, "local_above must be at least direct_below, 50000, not 10"),
        ({"cost": -1}, "cost must be a number"),
        ({"latency": float("nan")}, "latency must be a number"),
        ({"cost": float("inf")}, "cost must be a number"),
        ({"answer_tokens": None}, "answer_tokens must be a whole number"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: dict[str, Any], message: str) -> None:
    """A policy that makes no sense is refused where it is written."""
    with pytest.raises(ConfigurationError, match=message):
        RoutingPolicy(**arguments)


kinds = st.sampled_from([PRO, FLASH, FOREIGN, LOCAL, SMALL, RULES, replace(PRO, name="night", mode="batch")])
prices = st.none() | st.tuples(st.floats(0, 100), st.floats(0, 100))


@pytest.mark.slow
@given(
    st.lists(kinds, min_size=1, max_size=6, unique=True),
    st.builds(
        Question,
        st.integers(0, 2_000_000),
        reserved=st.integers(0, 400_000),
        mode=st.sampled_from([None, "realtime", "batch"]),
        warm=st.sampled_from([None, "pro", "local", "rules", "gone"]),
    ),
    st.builds(RoutingPolicy, cost=st.floats(0, 10), latency=st.floats(0, 10)),
    st.dictionaries(st.sampled_from(["deepseek-flash", "deepseek-v4-pro", "qwen3", "local"]), prices),
    st.dictionaries(st.sampled_from(["pro", "flash", "foreign", "local"]), st.none() | st.floats(0, 600)),
)
def test_every_route_keeps_its_turn(
    routes: list[Route], question: Question, policy: RoutingPolicy, known: dict[str, Any], times: dict[str, Any]
) -> None:
    """Whatever is known, each route is asked once, what is no last resort first; and the same if asked again."""
    told = choose(routes, question, policy, price_of=known.get, seconds_of=times.get)
    names = [name for name in told.order if name != "default"]
    last = {route.name for route in routes if route.is_last_resort}

    assert sorted(route.name for route in routes) == sorted(names)
    assert names == sorted(names, key=lambda name: name in last)
    assert {route.name for route in routes} - last == set(told.scores)
    assert all(0 <= score <= policy.cost + policy.latency for score in told.scores.values())
    assert told == choose(routes, question, policy, price_of=known.get, seconds_of=times.get)
