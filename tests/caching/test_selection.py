from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.disk import DiskTier, Meta
from deepseek_sdk.caching.selection import Selection, clean
from tests.caching.disks import LARGE, NOW_MS, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class Kept(NamedTuple):
    """What stands for an entry in RAM."""

    key: str
    asked: str
    model: str
    tenant: str
    tags: tuple[tuple[str, str], ...]
    created_ms: int
    expires_ms: int | None


# Few words, so that selections often meet; among them some that are no text for SQLite, or mean something to JSON.
words = st.sampled_from(
    ["", "a", "b", "ab", "A", "中文", "😀", "\ud800", "a\0b", "a%", "a_", 'q"', "\\", "$.a", "a.b", "1", "é"]
)
instants = st.integers(0, 4)
tags = st.dictionaries(words, words, max_size=3)
entries = st.builds(
    Kept,
    key=st.sampled_from([*map(key_of, range(6)), "a", "ab", "a%", "中文"]),
    asked=words,
    model=words,
    tenant=words,
    tags=tags.map(lambda found: tuple(found.items())),
    created_ms=instants,
    expires_ms=st.none() | instants,
)
selections = st.builds(
    Selection,
    tag=st.none() | words | st.builds("{}={}".format, words, words),
    model=st.none() | words,
    older_than_ms=st.none() | instants,
    tenant=st.none() | words,
    key_prefix=st.none() | st.sampled_from(["", "a", "ab", "a%", "_", "中", "5", key_of(1)[:16], key_of(2)]),
)


@pytest.fixture(scope="module")
def tier(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DiskTier]:
    """Open a directory for all examples."""
    tier = DiskTier(tmp_path_factory.mktemp("selection") / "cache", max_bytes=LARGE)
    yield tier
    tier.close()


@given(st.lists(entries, max_size=8, unique_by=lambda entry: entry.key), selections)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ram_and_disk_agree(tier: DiskTier, kept: list[Kept], selection: Selection) -> None:
    """The same entries are meant in RAM and on disk, whatever they hold."""
    tier.delete_where(Selection())
    tier.put_many(
        [(e.key, b"x", Meta(e.asked, e.model, e.tenant, dict(e.tags), "p", e.created_ms, e.expires_ms)) for e in kept],
        NOW_MS,
    )
    expected = {entry.key for entry in kept if selection.matches(entry)}

    assert expected == {row.key for row in tier.rows(selection)}
    assert len(expected) == tier.delete_where(selection)
    assert {entry.key for entry in kept} - expected == {row.key for row in tier.rows()}


ENTRY = Kept("abcd", "flash", "v4-flash", "acme", (("feature", "search"), ("n", "1")), 100, 200)


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), True),
        (Selection(tag="feature"), True),
        (Selection(tag="feature=search"), True),
        (Selection(tag="feature=sea"), False),
        (Selection(tag="search"), False),
        (Selection(model="flash"), True),
        (Selection(model="v4-flash"), True),
        (Selection(model="v4"), False),
        (Selection(older_than_ms=101), True),
        (Selection(older_than_ms=100), False),
        (Selection(tenant="acme"), True),
        (Selection(tenant="acm"), False),
        (Selection(key_prefix="ab"), True),
        (Selection(key_prefix="b"), False),
        (Selection(tag="feature", tenant="other"), False),
    ],
)
def test_matches(selection: Selection, expected: bool) -> None:  # noqa: FBT001  a table
    """All that is given must hold."""
    assert expected is selection.matches(ENTRY)


@pytest.mark.parametrize(("text", "expected"), [("中文", "中文"), ("\ud800x", "\\ud800x"), ("a\0", "a\\x00"), ("", "")])
def test_clean(text: str, expected: str) -> None:
    """What is no text for SQLite is written out; all else stays what it is."""
    assert expected == clean(text)
