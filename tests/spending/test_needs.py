from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk._clock import Limits
from deepseek_sdk._record import Record
from deepseek_sdk._usage import Usage
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.spending import SpendBudget
from deepseek_sdk.spending.needs import choices, longest_output, longest_prompt
from deepseek_sdk.spending.reckoning import Bill, Need, Reckoner
from deepseek_sdk.spending.slices import next_wish, slice_of
from deepseek_sdk.spending.tariff import Rates, Tariff
from deepseek_sdk.testing.scripted import make_call
from tests.spending.prices import NOON, cost_of

THINKING_OFF = {"thinking": {"type": "disabled"}}
ASK: dict[str, Any] = {
    "model": "deepseek-flash",
    "messages": [{"role": "user", "content": "你好" * 50}],
    **THINKING_OFF,
}


@pytest.mark.parametrize(
    ("body", "mode", "expected"),
    [
        ({}, "off", 8192),
        ({}, "high", 65_536),
        ({}, "max", 131_072),
        ({}, "fim", 4096),
        ({"max_tokens": 5}, "max", 5),
        ({"max_completion_tokens": 6}, "off", 6),
        ({"max_tokens": None, "max_completion_tokens": 6}, "off", 6),
        ({"max_tokens": "5"}, "off", 8192),
        ({"max_tokens": True}, "off", 8192),
    ],
)
def test_longest_answers(body: dict[str, Any], mode: Any, expected: int) -> None:
    """An answer is no longer than what was asked for, or than what the service takes in its place."""
    assert expected == longest_output(body, "deepseek-flash", 1_048_565, mode)


def test_other_servers_go_on_to_the_end_of_the_window() -> None:
    """A model that is not DeepSeek's has no known default: its window bounds the answer."""
    assert 32_768 == longest_output({}, "qwen", 32_768, "off")
    assert 8192 == longest_output({}, "qwen", None, "off")


@pytest.mark.parametrize(("n", "expected"), [(None, 1), (3, 3), (0, 1), ("3", 1), (True, 1)])
def test_choices(n: Any, expected: int) -> None:
    """Several answers may be asked for at once."""
    assert expected == choices({"n": n})


def test_a_prompt_has_no_more_tokens_than_bytes() -> None:
    """Each character counts with its bytes, half characters too; an image counts as an image, not as its letters."""
    plain, chinese = ({"messages": [{"role": "user", "content": text}]} for text in ("x" * 300, "字" * 300))
    image = {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "data:" + "x" * 10**6}}]}]}

    assert 300 + 600 == longest_prompt(chinese) - longest_prompt(plain) + 300
    assert 300 < longest_prompt({"prompt": "\ud800" * 100})
    assert 4096 < longest_prompt(image) < 10_000


def test_prices_of_one_host() -> None:
    """Where prices may be those of one host, whoever looks them up is told which host is asked."""
    hosts: list[Any] = []

    def by_host(*about: Any, host: str | None = None) -> Any:
        hosts.append(host)
        factor = 5 if host == "proxy.example" else 1
        found: Any = cost_of(*about)
        return found and replace(found, cny_high=factor * (found.cny_high or 0))

    def amount(base_url: str, *, has_hosts: bool) -> int:
        reckoner = Reckoner(by_host, None, None, lambda: has_hosts)
        call = make_call(body=ASK, targets=(target("deepseek-flash", base_url),))
        return reckoner.look_at(call, NOON).need(SpendBudget(limit=1)).amount

    usual, dear = (amount(url, has_hosts=True) for url in ("https://api.deepseek.com", "https://proxy.example:8443/v1"))
    record = Record(started=0, at=NOON)
    attempt = record.begin(
        route="x", model="deepseek-flash", now=0, account=Account("https://proxy.example/v1", "deepseek-flash")
    )
    bill = Bill(Reckoner(by_host, None, None, lambda: True), [Need("CNY", 1, 1)], record)
    bill._first = 0
    attempt.usage = Usage(hit=0, miss=1, output=0, reasoning=0)

    assert 5 * usual == dear
    assert {"api.deepseek.com", "proxy.example"} == set(hosts)
    assert usual == amount("https://proxy.example/v1", has_hosts=False)
    assert [5_000_000] == bill()


@settings(deadline=None)
@given(text=st.text(max_size=200), count=st.integers(1, 20))
def test_the_bound_is_above_the_bytes(text: str, count: int) -> None:
    """Whatever is said, how often ever: the bound holds."""
    body = {"messages": [{"role": "user", "content": text}] * count}

    assert longest_prompt(body) >= count * len(text.encode("utf-8", "surrogatepass"))


def need(budget: SpendBudget, body: dict[str, Any] = ASK, **changes: Any) -> Any:
    """Say what a call needs of a budget, at noon."""
    expect = changes.pop("expect", None)
    return Reckoner(cost_of, expect).look_at(make_call(body=body, **changes), NOON).need(budget)


def test_expected_needs_follow_the_lengths() -> None:
    """The prompt is estimated, and the answer is as long as 19 of 20 are."""
    asked: list[Any] = []

    def expect(**about: Any) -> Any:
        asked.append(about)
        return SimpleNamespace(total=SimpleNamespace(p95=299.5))

    found = need(SpendBudget(limit=1, unit="tokens"), expect=expect)

    assert [{"model": "deepseek-flash", "mode": "off", "template": None}] == asked
    assert 67 + 300 == found.amount == found.once
    assert 67 + 10 == need(SpendBudget(limit=1, unit="tokens"), {**ASK, "max_tokens": 10}, expect=expect).amount
    assert 67 + 900 == need(SpendBudget(limit=1, unit="tokens"), {**ASK, "n": 3}, expect=expect).amount


def test_worst_needs_are_for_every_attempt() -> None:
    """With "worst" each attempt that may be made is paid for in full, with the longest prompt and answer."""
    budget = SpendBudget(limit=1, unit="tokens", reserve="worst")
    body = {**ASK, "max_tokens": 10}
    once = longest_prompt(body) + 10

    assert (once, once) == need(budget, body)[1:3]
    assert (3 * once, once) == need(budget, body, max_retries=2)[1:3]


def target(model: str, base_url: str = "https://api.deepseek.com") -> Any:
    """Make what a call may be sent to, as far as it matters."""
    account = Account(base_url, model)
    return SimpleNamespace(account=account, route=SimpleNamespace(model=model), context_window=None)


FLASH, PRO = target("deepseek-flash"), target("deepseek-v4-pro")
LOCAL, RULES = target("deepseek-flash", "backend:local"), SimpleNamespace(account=None, route=None, context_window=None)
UNKNOWN = target("qwen", "https://other.example")


def test_the_dearest_target_counts() -> None:
    """A call that may be answered by several models needs what the dearest takes; what is in the process is free."""
    budget = SpendBudget(limit=1)
    flash, pro = (need(budget, targets=(one,)).amount for one in (FLASH, PRO))

    assert 67 * 4_500_000 + 2000 * 13_500_000 == pro > flash
    assert pro == need(budget, targets=(FLASH, PRO, LOCAL, RULES)).amount
    assert 0 == need(budget, targets=(LOCAL, RULES)).amount
    assert 0 < need(SpendBudget(limit=1, unit="tokens"), targets=(LOCAL,)).amount


def test_worst_needs_are_for_every_target() -> None:
    """With "worst" all targets may have to be paid for, each as often as it may be asked; the same one once."""
    budget = SpendBudget(limit=1, reserve="worst")
    flash, pro = (need(budget, targets=(one,)).amount for one in (FLASH, PRO))

    assert 3 * (flash + pro) == need(budget, targets=(FLASH, PRO, FLASH), max_retries=2).amount


def test_what_has_no_price_is_named() -> None:
    """A model without a price is told apart from one that is free."""
    assert (0, "qwen") == need(SpendBudget(limit=1), targets=(UNKNOWN,))[1::2]
    assert "qwen" == need(SpendBudget(limit=1), targets=(FLASH, UNKNOWN)).unpriced
    assert None is need(SpendBudget(limit=1, unit="tokens"), targets=(UNKNOWN,)).unpriced


def test_a_change_of_prices_is_reckoned_with() -> None:
    """Where the price may rise while a call runs, the higher one is reserved; a short call ends before."""
    limits = Limits(first_token=60, stall=60, total=300)
    cheap = need(SpendBudget(limit=1), {**ASK, "max_tokens": 100_000}, limits=limits).amount
    dear = need(SpendBudget(limit=1), {**ASK, "thinking": {}, "reasoning_effort": "max"}).amount

    assert 67 * 1_000_000 + 2000 * 4_000_000 == cheap
    assert 93 * 1_000_000 + 32_000 * 4_000_000 == dear
    late = Reckoner(cost_of, None).look_at(make_call(body=ASK), NOON + 3000).need(SpendBudget(limit=1))
    assert 2 * cheap == late.amount


def test_rates_are_whole_numbers() -> None:
    """A token costs a whole number of 10**-12, rounded up; too much for any budget is as good as the most."""
    tariff = Tariff(cost_of)

    assert Rates(20_000, 1_000_000, 4_000_000) == tariff.rates("deepseek-flash", "CNY", NOON, NOON)
    assert Rates(2000, 100_000, 400_000) == tariff.rates("deepseek-flash", "USD", NOON, NOON)
    assert Rates(40_000, 2_000_000, 8_000_000) == tariff.rates("deepseek-flash", "CNY", NOON + 3500, NOON + 3601)
    assert None is tariff.rates("qwen", "CNY", NOON, NOON)
    assert None is Tariff(None).rates("deepseek-flash", "CNY", NOON, NOON)
    assert 4 * 10**18 == Rates(1, 1, 10**6).of(Usage(hit=0, miss=0, output=2**53, reasoning=0))
    for quarter in range(1100):
        tariff.rates("deepseek-flash", "CNY", NOON - 900 * quarter, NOON)
    assert 1100 > len(tariff._kept)


@settings(deadline=None)
@given(short=st.integers(0, 100), wish=st.integers(0, 10_000), available=st.integers(-50, 10_000))
def test_slices_stay_within_what_is_there(short: int, wish: int, available: int) -> None:
    """A slice is enough for the call or nothing, never more than there is, and mostly a small part of it."""
    got = slice_of(short, wish, available)

    assert got == 0 if short > available else short <= got <= available
    assert got <= max(short, available // 8, 0)


def test_slices_grow_with_use() -> None:
    """What is asked for doubles while it does not last, and is no more than needed where calls are rare."""
    assert 5 == next_wish(400, 5, 0)
    assert 800 == next_wish(400, 5, 1)
    assert 10 == next_wish(0, 5, 1)
