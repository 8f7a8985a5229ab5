from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk import Deadlines, Route
from deepseek_sdk.errors import ConfigurationError, classify
from deepseek_sdk.routing.route import as_route


class Backend:
    """A backend by its shape."""

    name = "engine"

    async def __call__(self, call: Any) -> Any:
        """Answer nothing."""
        raise NotImplementedError


class Nameless(Backend):
    """A backend that does not say what it is called."""

    name = ""


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"model": ""}, "model of a Route must be a name, not ''"),
        ({"model": None}, "model of a Route must be a name, not None"),
        ({"model": "m", "name": 3}, "name of a Route must be a name, not 3"),
        ({"model": "m", "base_url": "nowhere", "api_key": "k"}, "base_url must begin with https://"),
        ({"model": "m", "base_url": "http://other.invalid"}, "needs its own api_key"),
        ({"model": "m", "api_key": "with space"}, "api_key contains"),
        ({"model": "m", "api_key": ""}, "m: api_key must not be empty"),
        ({"model": "auto"}, "a Route cannot be called 'auto'"),
        ({"model": "m", "name": "default"}, "a Route cannot be called 'default'"),
        ({"model": "m", "api_key": "k", "backend": Backend()}, "a backend or an endpoint, not both"),
        ({"model": "m", "deadlines": 3}, "deadlines must be a Deadlines, not 3"),
        ({"model": "m", "deadlines": Deadlines(total=3)}, "total is the time of a whole call"),
        ({"model": "m", "context_window": 0}, "context_window must be a number of tokens, not 0"),
        ({"model": "m", "context_window": True}, "context_window must be a number of tokens, not True"),
        ({"model": "m", "mode": "fast"}, "mode must be"),
        ({"model": "m", "move_on": "stall"}, "move_on must be a set of reasons or a function"),
        ({"model": "m", "move_on": 3}, "move_on must be a set of reasons or a function"),
        ({"model": "m", "move_on": {"bad luck"}}, "no error has the reason 'bad luck'; reasons are authentication"),
    ],
)
def test_arguments_are_checked(given: dict[str, Any], text: str) -> None:
    """What cannot be used is refused when it is written down, and named."""
    with pytest.raises(ConfigurationError) as caught:
        Route(**given)

    assert text in str(caught.value)


def test_the_name_is_the_models_unless_one_is_given() -> None:
    """Reports call a route by its name, else by its model."""
    assert ("m", "n") == (Route("m").name, Route("m", name="n").name)


def test_what_it_prints_can_be_typed_and_holds_no_key() -> None:
    """The repr is the call that makes it, without the key."""
    route = Route("m", base_url="http://a.invalid", api_key="sk-secret-secret", deadlines=Deadlines(stall=1))

    assert "Route('m')" == repr(Route("m"))
    assert repr(route).startswith("Route('m', base_url='http://a.invalid', deadlines=Deadlines(")
    assert "secret" not in repr(route)
    assert "pw" not in repr(Route("m", base_url="http://u:pw@a.invalid/v1", api_key="k"))


def test_routes_are_told_apart_by_what_they_are_not_by_what_they_say() -> None:
    """Two routes that were written down twice are two."""
    assert Route("m") != Route("m")


@pytest.mark.parametrize(
    ("item", "name"), [("m", "m"), (Route("r"), "r"), (Backend(), "engine"), (Nameless(), "Nameless")]
)
def test_names_and_backends_are_routes_too(item: Any, name: str) -> None:
    """A list of routes may hold names of models and backends as they are."""
    assert name == as_route(item).name


@pytest.mark.parametrize("item", [None, 3, Backend, {"model": "m"}])
def test_what_is_no_route_is_refused(item: Any) -> None:
    """Anything else is named in the error."""
    with pytest.raises(ConfigurationError, match="routes must hold"):
        as_route(item)


def test_every_reason_can_be_said() -> None:
    """`move_on` takes each word that `classify()` gives."""
    reason = classify(ValueError()).reason

    assert Route("m", move_on={reason, "stall"}).move_on == {reason, "stall"}
