from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk import Route
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.chain import Chain


class Rules:
    """A last resort by its shape."""

    name = "rules"
    is_last_resort = True

    async def __call__(self, call: Any) -> Any:
        """Answer nothing."""
        raise NotImplementedError


RULES = Rules()
CHAIN = Chain(
    [
        Route("deepseek-v4-pro"),
        Route("deepseek-flash", name="other", base_url="http://other.invalid", api_key="k"),
        Route("small", context_window=1000),
        RULES,
    ]
)
NAMES = ["deepseek-v4-pro", "other", "small", "rules"]


@pytest.mark.parametrize(
    ("model", "has_own", "expected"),
    [
        ("deepseek-v4-pro", True, (False, NAMES)),
        ("other", True, (False, NAMES[1:])),
        ("deepseek-flash", True, (False, NAMES[1:])),
        ("small", True, (False, NAMES[2:])),
        ("rules", True, (False, NAMES[3:])),
        ("unnamed", True, (True, NAMES)),
        ("unnamed", False, (False, NAMES)),
        ("", True, (True, NAMES)),
    ],
)
def test_the_model_says_where_a_call_starts(model: str, expected: Any, *, has_own: bool) -> None:
    """The name or model of a route starts there; any other is asked for first at the client's own endpoint."""
    is_own_first, named_routes = CHAIN.plan(model, has_own=has_own, mode=None, tokens=0)

    assert expected == (is_own_first, [named.name for named in named_routes])


def test_a_name_goes_before_a_model() -> None:
    """Where one route has the name that another one's model has, the name decides."""
    chain = Chain([Route("a"), Route("b", name="a2"), Route("c", name="b")])

    assert 2 == chain.start("b")


@pytest.mark.parametrize(
    ("mode", "tokens", "expected"),
    [
        (None, 0, ["a", "small", "nightly", "rules"]),
        ("realtime", 0, ["a", "small", "nightly", "rules"]),
        ("batch", 0, ["nightly", "a", "small", "rules"]),
        (None, 5000, ["a", "nightly", "small", "rules"]),
        ("batch", 5000, ["nightly", "a", "small", "rules"]),
    ],
)
def test_auto_puts_first_what_suits_the_call(mode: Any, tokens: int, expected: list[str]) -> None:
    """What the prompt fits into and what is meant for such calls is asked first, a last resort always last."""
    routes: list[Any] = [Route("a", mode="realtime"), Route("small", context_window=1000, mode="realtime")]
    chain = Chain([*routes, RULES, Route("nightly", mode="batch")])
    is_own_first, named_routes = chain.plan("auto", has_own=True, mode=mode, tokens=tokens)

    assert (False, expected) == (is_own_first, [named.name for named in named_routes])


def test_names_that_are_the_same_are_numbered() -> None:
    """Reports can tell two routes for one model apart; two that were given one name are refused."""
    chain = Chain([Route("m", api_key="a"), Route("m", api_key="b"), Route("m", api_key="c")])

    assert ["m", "m#2", "m#3"] == [named.name for named in chain.routes]
    assert 1 == chain.start("m#2")
    assert ["a", "a#3", "a#2"] == [n.name for n in Chain([Route("a"), Route("a"), Route("z", name="a#2")]).routes]
    with pytest.raises(ConfigurationError, match="two have the name 'twice'"):
        Chain([Route("m", name="twice"), Route("n", name="twice")])


@pytest.mark.parametrize("routes", ["deepseek-flash", {"a": 1}, 3, None])
def test_what_is_no_list_is_refused(routes: Any) -> None:
    """A single name is not taken apart into letters."""
    with pytest.raises(ConfigurationError, match="routes must be a list of routes"):
        Chain(routes)


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("deepseek-flash", 1_048_565),
        ("deepseek-v9", 1_048_565),
        ("DeepSeek-R1-Distill-Qwen-32B", None),
        ("qwen3", None),
    ],
)
def test_windows_of_known_models(model: str, window: int | None) -> None:
    """Models of the service have the service's window; of others nothing is assumed."""
    assert window == Chain([Route(model)]).routes[0].window
