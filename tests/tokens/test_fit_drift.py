"""What the token budget of a call has counted is compared with the bill."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk import TokenBudget, report

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator

TEXT = "alpha beta " * 300
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
POLICIES = ("error", "head_tail", "middle", "semantic", "history")


@pytest.mark.parametrize("policy", POLICIES)
def test_count_of_a_budget_is_compared(driver: Driver, emulator: StartEmulator, policy: Any) -> None:
    """A prompt that was counted, and is sent as it is, is compared; one that certainly fits is not even counted."""
    budget = TokenBudget(policy=policy, limit=700)
    client = driver.client(base_url=emulator(replies="Hi").url, token_budget=budget)
    driver.create(client, "Hello")
    assert {} == client.tokens.drift()
    answer = driver.create(client, TEXT)
    drift = client.tokens.drift()["deepseek-flash"]

    assert () == report(answer).repairs
    assert (1, answer.usage.prompt_tokens, 1.0) == (drift.calls, drift.counted, drift.ratio)


@pytest.mark.parametrize("policy", POLICIES[1:])
def test_prompts_that_were_cut_are_not_compared(driver: Driver, emulator: StartEmulator, policy: Any) -> None:
    """What is sent is not what was counted at first."""
    budget = TokenBudget(policy=policy, limit=300)
    client = driver.client(base_url=emulator(replies="Hi").url, token_budget=budget)
    answer = driver.create(client, TEXT)

    assert report(answer).repairs
    assert {} == client.tokens.drift()


@pytest.mark.parametrize(
    "changes",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": TEXT}, IMAGE]}]},
        {"response_format": {"type": "json_object"}, "messages": [{"role": "user", "content": f"json {TEXT}"}]},
    ],
    ids=["image", "format"],
)
def test_estimates_are_not_compared(driver: Driver, emulator: StartEmulator, changes: dict[str, Any]) -> None:
    """Where not every part is known, there is nothing to compare."""
    budget = TokenBudget(policy="history", limit=30_000)
    client = driver.client(base_url=emulator(replies='{"a": 1}').url, token_budget=budget, lint="off")
    driver.create(client, **changes)

    assert {} == client.tokens.drift()
