"""When kept answers end."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.caching.expiry import Expiry
from deepseek_sdk.errors import ConfigurationError
from tests.caching.test_entry import make_entry

NOW = 1_790_000_000_000
HOUR_S = 3600.0
TIMES = st.floats(0.001, 10**7)


def ends(expiry: Expiry, **changes: Any) -> int | None:
    """Say how long after it was kept an answer ends, in milliseconds."""
    facts = {"key": "k", "asked": "deepseek-v4-flash", "model": "deepseek-flash", "tags": (), "created_ms": NOW}
    found = expiry.expires_ms(**{**facts, **changes})
    return None if found is None else found - NOW


def exact(**changes: Any) -> Expiry:
    """Give an expiry without jitter."""
    return Expiry(jitter=0, **changes)


class TestLifetime:
    """How long."""

    @pytest.mark.parametrize(
        ("expiry", "facts", "seconds"),
        [
            (exact(), {}, 24 * HOUR_S),
            (exact(ttl_s=0.5), {}, 0.5),
            (exact(ttl_s=None), {}, None),
            (exact(ttl_s=None), {"ttl_cap_s": 9}, 9),
            (exact(ttl_s=60), {"ttl_cap_s": 9}, 9),
            (exact(ttl_s=60), {"ttl_cap_s": 99}, 60),
            (exact(ttl_s=60), {"ttl_cap_s": 0}, 0),
            (exact(ttl_s=60, by_tag={"news": 5}), {"tags": [("news", "")]}, 5),
            (exact(ttl_s=60, by_tag={"team=a": 5}), {"tags": [("team", "a")]}, 5),
            (exact(ttl_s=60, by_tag={"team=a": 5}), {"tags": [("team", "b")]}, 60),
            (exact(ttl_s=60, by_tag={"team=a": 5, "team": 9}), {"tags": [("team", "b")]}, 9),
            (exact(ttl_s=60, by_tag={"a": 7, "b": 8}), {"tags": [("b", "x"), ("a", "y")]}, 7),
            (exact(ttl_s=60, by_tag={"a": 70}), {"tags": [("a", "y")]}, 60),
            (exact(ttl_s=None, by_tag={"a": 70}), {"tags": [("a", "y")]}, 70),
            (exact(ttl_s=60, by_model={"deepseek-flash": 5}), {}, 5),
            (exact(ttl_s=60, by_model={"deepseek-v4-flash": 6}), {}, 6),
            (exact(ttl_s=60, by_model={"deepseek-v4-flash": 6, "deepseek-flash": 5}), {}, 5),
            (exact(ttl_s=60, by_model={"deepseek-v4-pro": 5}), {}, 60),
        ],
        ids=str,
    )
    def test_the_shortest_time_holds(self, expiry: Expiry, facts: dict[str, Any], seconds: float | None) -> None:
        """Of all that apply: in general, by tag, by the model asked for or answering, and of the call."""
        assert (None if seconds is None else seconds * 1000) == ends(expiry, **facts)

    @given(key=st.text(), ttl_s=TIMES, jitter=st.floats(0, 0.999))
    def test_jitter_stays_within_its_share(self, key: str, ttl_s: float, jitter: float) -> None:
        """More or less by that share of the time at most, and the same for every process."""
        expiry = Expiry(ttl_s=ttl_s, jitter=jitter)
        found = ends(expiry, key=key)

        assert found is not None
        assert ttl_s * 1000 * (1 - jitter) - 1 <= found <= ttl_s * 1000 * (1 + jitter) + 1
        assert found == ends(Expiry(ttl_s=ttl_s, jitter=jitter), key=key)

    def test_jitter_is_spread_evenly(self) -> None:
        """What was kept together ends over a fifth of the time, with as many in each part of it."""
        keys = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(2000)]
        found = [ends(Expiry(ttl_s=1000), key=key) or 0 for key in keys]
        parts = [sum(900_000 + 20_000 * n <= at < 920_000 + 20_000 * n for at in found) for n in range(10)]

        assert 2000 == sum(parts)
        assert min(parts) > 140
        assert [1_000_000] * 3 == [ends(exact(ttl_s=1000), key=key) for key in keys[:3]]

    @given(key=st.text(max_size=3), cap_s=st.floats(0, 100))
    def test_a_call_is_never_overruled(self, key: str, cap_s: float) -> None:
        """What a call allows is not stretched by any jitter."""
        found = ends(Expiry(ttl_s=60), key=key, ttl_cap_s=cap_s)

        assert found is not None
        assert found <= round(cap_s * 1000)

    def test_instants_are_whole_numbers(self) -> None:
        """Of milliseconds."""
        assert isinstance(
            Expiry(ttl_s=1.23456789).expires_ms(key="k", asked="", model="", tags=(), created_ms=NOW), int
        )


class TestState:
    """What an answer is good for."""

    @pytest.mark.parametrize(
        ("after_s", "state"),
        [
            (-1, "fresh"),
            (-0.001, "fresh"),
            (0, "stale"),
            (9.999, "stale"),
            (10, "error_only"),
            (29.999, "error_only"),
            (30, "expired"),
            (10**9, "expired"),
        ],
    )
    def test_it_ages(self, after_s: float, state: str) -> None:
        """Fresh until its end; then given while a new one is fetched, then where that fails, then no more."""
        expiry = Expiry(stale_while_revalidate_s=10, stale_if_error_s=30)
        entry = make_entry(created_ms=NOW - 60_000, expires_ms=NOW)

        assert state == expiry.state(entry, NOW + round(after_s * 1000))

    @pytest.mark.parametrize(
        ("changes", "states"),
        [
            ({}, ["fresh", "expired", "expired", "expired"]),
            ({"stale_while_revalidate_s": 10}, ["fresh", "stale", "expired", "expired"]),
            ({"stale_if_error_s": 10}, ["fresh", "error_only", "expired", "expired"]),
            ({"stale_while_revalidate_s": 20, "stale_if_error_s": 10}, ["fresh", "stale", "stale", "expired"]),
        ],
        ids=str,
    )
    def test_what_is_not_set_is_not_given(self, changes: dict[str, Any], states: list[str]) -> None:
        """An answer past its end is given only as far as that was asked for."""
        entry = make_entry(created_ms=NOW - 60_000, expires_ms=NOW)

        assert states == [Expiry(**changes).state(entry, NOW + at) for at in (-1, 5_000, 15_000, 25_000)]

    def test_without_an_end_it_is_always_fresh(self) -> None:
        """However old it is."""
        assert "fresh" == Expiry().state(make_entry(created_ms=0, expires_ms=None), NOW)

    @pytest.mark.parametrize(("age_s", "state"), [(59, "fresh"), (60, "fresh"), (60.001, "expired")])
    def test_a_caller_may_want_it_younger(self, age_s: float, state: str) -> None:
        """Then what is older is nothing to him, in whatever state it is."""
        expiry = Expiry(stale_while_revalidate_s=HOUR_S, stale_if_error_s=HOUR_S)
        created_ms = NOW - round(age_s * 1000)

        assert state == expiry.state(make_entry(created_ms=created_ms, expires_ms=None), NOW, 60)
        assert state == expiry.state(make_entry(created_ms=created_ms, expires_ms=NOW + 1), NOW, 60)
        assert "expired" == expiry.state(make_entry(created_ms=NOW - 61_000, expires_ms=NOW - 1), NOW, 60)
        assert "stale" == expiry.state(make_entry(created_ms=NOW - 59_000, expires_ms=NOW - 1), NOW, 60)
        assert "expired" == expiry.state(make_entry(created_ms=NOW - 1, expires_ms=None), NOW, 0)

    @pytest.mark.parametrize(("ahead_s", "state"), [(1, "fresh"), (300, "fresh"), (301, "expired"), (10**8, "expired")])
    def test_an_answer_from_the_future_is_not_given(self, ahead_s: int, state: str) -> None:
        """It was kept by a clock that was wrong, so its end is wrong; a few minutes are a matter of two machines."""
        for expires_ms in (None, NOW + 10**12):
            entry = make_entry(created_ms=NOW + ahead_s * 1000, expires_ms=expires_ms)
            assert state == Expiry().state(entry, NOW)

    @given(swr_s=st.floats(0, 10**6), sie_s=st.floats(0, 10**6), at=st.integers(-(10**6), 10**10))
    def test_it_is_kept_as_long_as_it_is_of_use(self, swr_s: float, sie_s: float, at: int) -> None:
        """What is past the instant of `keep_until_ms()` is good for nothing."""
        expiry = Expiry(stale_while_revalidate_s=swr_s, stale_if_error_s=sie_s)
        keep_until_ms = expiry.keep_until_ms(NOW)
        entry = make_entry(created_ms=0, expires_ms=NOW)

        assert keep_until_ms is not None
        assert (expiry.state(entry, NOW + at) == "expired") == (NOW + at >= keep_until_ms)

    def test_what_has_no_end_is_kept_without_end(self) -> None:
        """Then there is no such instant."""
        assert Expiry(stale_if_error_s=5).keep_until_ms(None) is None


class TestValues:
    """What can be set."""

    @pytest.mark.parametrize(
        ("changes", "name"),
        [
            ({"ttl_s": 0}, "ttl_s"),
            ({"ttl_s": -1}, "ttl_s"),
            ({"ttl_s": "60"}, "ttl_s"),
            ({"ttl_s": True}, "ttl_s"),
            ({"ttl_s": float("nan")}, "ttl_s"),
            ({"ttl_s": float("inf")}, "ttl_s"),
            ({"by_tag": {"news": 0}}, r"by_tag\['news'\]"),
            ({"by_tag": {"news": None}}, r"by_tag\['news'\]"),
            ({"by_tag": {1: 5}}, "by_tag"),
            ({"by_tag": [("news", 5)]}, "by_tag"),
            ({"by_model": {"deepseek-flash": "1h"}}, r"by_model\['deepseek-flash'\]"),
            ({"by_model": None}, "by_model"),
            ({"jitter": 1}, "jitter"),
            ({"jitter": -0.1}, "jitter"),
            ({"jitter": None}, "jitter"),
            ({"stale_while_revalidate_s": -1}, "stale_while_revalidate_s"),
            ({"stale_while_revalidate_s": None}, "stale_while_revalidate_s"),
            ({"stale_if_error_s": float("inf")}, "stale_if_error_s"),
        ],
        ids=str,
    )
    def test_what_cannot_be_used_is_named(self, changes: dict[str, Any], name: str) -> None:
        """The message says which value it is."""
        with pytest.raises(ConfigurationError, match=f"^(ttl_)?{name} must be"):
            Expiry(**changes)

    def test_what_was_given_may_be_changed_afterwards(self) -> None:
        """The times are copied."""
        times = {"news": 5.0}
        expiry = exact(by_tag=times)
        times["news"] = 9.0

        assert 5000 == ends(expiry, tags=[("news", "")])
