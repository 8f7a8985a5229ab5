"""What does not pass through the clients, and how to tell; needs no framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Driver, StartEmulator


@pytest.mark.parametrize(
    "connect",
    [lambda client: client.realtime.connect(model="deepseek-flash"), lambda client: client.responses.connect()],
    ids=["realtime", "responses"],
)
def test_websockets_have_no_report(connect: Callable[[Any], Any], driver: Driver, emulator: StartEmulator) -> None:
    """A WebSocket surface does not pass `request()`, and `report()` says so."""
    connection = connect(driver.client(base_url=emulator().url))

    with pytest.raises(TypeError, match="has no report"):
        report(connection)


def test_other_endpoints_have_no_report(driver: Driver, emulator: StartEmulator) -> None:
    """An answer or an error of an endpoint that is not supervised has no report."""
    client = driver.client(base_url=emulator().url)
    models = driver.call(client.models.list)
    with pytest.raises(openai.NotFoundError) as caught:  # the emulator has no such endpoint
        driver.call(client.responses.create, model="deepseek-flash", input="Hello")

    for thing in (models, caught.value):
        with pytest.raises(TypeError, match="has no report"):
            report(thing)


def test_bare_clients_have_no_report(driver: Driver, emulator: StartEmulator) -> None:
    """An answer of a bare openai client has no report."""
    kind = openai.AsyncOpenAI if driver.is_async else openai.OpenAI
    client = kind(base_url=emulator().url, api_key="any")
    answer = driver.create(client)
    driver.call(client.close)

    with pytest.raises(TypeError, match="has no report"):
        report(answer)


def test_raw_responses_tell_the_route(driver: Driver, emulator: StartEmulator) -> None:
    """A raw response that passed through says so in a header."""
    client = driver.client(base_url=emulator().url)
    body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}

    raw = driver.call(client.chat.completions.with_raw_response.create, **body)
    assert "default" == raw.headers["x-deepseek-sdk-route"]
