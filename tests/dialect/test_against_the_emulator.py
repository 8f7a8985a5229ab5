"""The rules are true: what they find the service refuses, and what they mend it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk import options, report
from deepseek_sdk.errors import InvalidRequestError
from deepseek_sdk.stages.dialect import Dialect
from deepseek_sdk.testing import Emulator
from tests.dialect.cases import DOUBTFUL, MENDED, REFUSED, Case, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.testing import Vocabulary
    from tests.conftest import Driver

pytest.importorskip("deepseek_recipe")  # lighter rules than the service's own judge elsewhere
pytestmark = pytest.mark.filterwarnings("ignore:model deepseek-:DeprecationWarning")


@pytest.fixture(scope="module")
def running(vocabulary: Vocabulary) -> Iterator[Emulator]:
    """Run one emulator for all cases."""
    with Emulator(replies="好", vocabulary=vocabulary) as server:
        yield server


@pytest.fixture
def server(running: Emulator) -> Emulator:
    """Give a test the emulator as if it were fresh."""
    running.forget()
    return running


def ask(driver: Driver, client: Any, case: Case, lint: str, **fields: Any) -> Any:
    """Send the request of a case."""
    with options(lint=lint):
        return driver.create(client, extra_body=case.body, **fields)


@pytest.mark.parametrize("case", [*MENDED, *REFUSED, *DOUBTFUL], ids=named)
def test_the_service_refuses_it(case: Case, driver: Driver, server: Emulator) -> None:
    """Without the linter the request is sent, and refused; with a strict one the same is raised, and nothing sent."""
    client = driver.client(base_url=server.url, stages=[Dialect()])
    with pytest.raises(openai.BadRequestError) as there:
        ask(driver, client, case, "off")
    with pytest.raises(openai.BadRequestError) as here:
        ask(driver, client, case, "strict")

    assert 1 == len(server.requests)
    assert (case.kind or InvalidRequestError) is type(here.value)
    assert isinstance(here.value, type(there.value))
    assert case.place == here.value.param


@pytest.mark.parametrize("case", MENDED, ids=named)
def test_the_service_takes_what_is_mended(case: Case, driver: Driver, server: Emulator) -> None:
    """In repair mode the request is mended, plain or streamed; the service takes it, and the report says so."""
    client = driver.client(base_url=server.url, stages=[Dialect()])
    plain = ask(driver, client, case, "repair")
    stream = ask(driver, client, case, "repair", stream=True)
    text = driver.stream_text(stream)

    assert ["answered"] * 2 == [request.outcome for request in server.requests]
    assert "好" == plain.choices[0].message.content == text
    assert any(line.startswith(f"{case.code}: ") for line in report(plain).repairs)
    # Options of a stream are right in a stream.
    assert case.code == "stream_options" or report(plain).repairs == report(stream).repairs


@pytest.mark.parametrize("case", REFUSED, ids=named)
def test_what_cannot_be_mended_is_raised(case: Case, driver: Driver, server: Emulator) -> None:
    """What only the caller can put right is raised before anything is sent, by default."""
    with pytest.raises(openai.BadRequestError) as caught:
        driver.create(driver.client(base_url=server.url, stages=[Dialect()]), extra_body=case.body)

    assert [] == server.requests
    assert (case.kind or InvalidRequestError) is type(caught.value)
    assert case.place == caught.value.param


@pytest.mark.parametrize("case", DOUBTFUL, ids=named)
def test_what_may_be_new_is_left_to_the_service(case: Case, driver: Driver, server: Emulator) -> None:
    """What the linter has never heard of may be a feature of tomorrow: the service decides, unless lint is strict."""
    with pytest.raises(openai.BadRequestError):
        ask(driver, driver.client(base_url=server.url, stages=[Dialect()]), case, "repair")

    assert 1 == len(server.requests)
