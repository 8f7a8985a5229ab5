from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, cast

import pytest

from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.learning import table
from deepseek_sdk.caching.learning.table import Changes, Mark, News
from tests.caching.disks import LARGE, is_sound, key_of, put
from tests.caching.verdicts import label_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deepseek_sdk.caching.learning.labels import Label


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[DiskTier]:
    """Open a directory."""
    tier = DiskTier(tmp_path / "cache", max_bytes=LARGE)
    yield tier
    tier.close()


def news(tier: DiskTier, seen: Mark = Mark()) -> News | None:  # noqa: B008  a tuple
    """Read what is new."""
    return tier.read(lambda lane: table.news(lane, seen))


def known(tier: DiskTier) -> News:
    """Read all."""
    found = news(tier)
    assert found is not None
    return found


def change(tier: DiskTier, **changes: Any) -> None:
    """Write."""
    tier.write(lambda lane: table.write(lane, Changes(**changes)))


def add(tier: DiskTier, *labels: Label) -> None:
    """Keep labels."""
    change(tier, labels=labels)


def test_nothing_was_learnt_yet(tier: DiskTier) -> None:
    """A database without the tables has nothing new, and one with empty tables neither."""
    assert news(tier) is None
    tier.write(table.prepare)
    tier.write(table.prepare)

    assert ([], []) == known(tier)[2:]
    assert news(tier, known(tier).mark) is None


def test_labels_come_back(tier: DiskTier) -> None:
    """What is read is what was kept, to the last bit; the same label is kept once."""
    labels = [label_of(score=0.1 + 0.2), label_of("关闭自动续费", is_right=True, source="judge", at_ms=5)]
    add(tier, *labels)
    add(tier, labels[0])

    assert labels == known(tier).labels


def test_only_what_is_new_is_read(tier: DiskTier) -> None:
    """Who has read up to a mark gets what came after it."""
    add(tier, label_of("一"))
    mark = known(tier).mark
    add(tier, label_of("二"))
    change(tier, vetoes=["digest"])
    found = news(tier, mark)

    assert found is not None
    assert (False, [label_of("二")], ["digest"]) == found[1:]
    assert news(tier, found.mark) is None


def test_taking_away_is_news(tier: DiskTier) -> None:
    """Where something was taken away, all is read again; where there was nothing to take, nothing is new."""
    add(tier, label_of("一"), label_of("二", number=2))
    change(tier, vetoes=["digest"])
    mark = known(tier).mark
    change(tier, forgotten=[key_of(3)])
    change(tier, pardoned=["other"])
    assert news(tier, mark) is None
    change(tier, forgotten=[key_of(1)])
    found = news(tier, mark)

    assert found is not None
    assert (True, [label_of("二", number=2)], ["digest"]) == found[1:]
    change(tier, pardoned=["digest"])
    assert [] == known(tier).vetoes
    change(tier, is_cleared=True)
    assert ([], []) == known(tier)[2:]


def test_bounds(tier: DiskTier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each entry the newest labels stay, and of all, and of the vetoes."""
    monkeypatch.setattr(table, "MOST_PER_KEY", 3)
    monkeypatch.setattr(table, "MOST_LABELS", 5)
    monkeypatch.setattr(table, "MOST_VETOES", 2)
    add(tier, *(label_of(f"{n}", number=1) for n in range(5)))
    for number in (2, 3, 4):
        add(tier, label_of("x", number=number))
    for digest in "abc":
        change(tier, vetoes=[digest])

    expected = [label_of("3"), label_of("4"), *(label_of("x", number=n) for n in (2, 3, 4))]
    assert (expected, ["b", "c"]) == known(tier)[2:]


@pytest.mark.parametrize(
    ("column", "value"),
    [("score", "'x'"), ("cosine", "x'00'"), ("at_ms", "'now'"), ("source", "'nobody'"), ("score", "9e999")],
)
def test_odd_rows_are_left_out(tier: DiskTier, column: str, value: str) -> None:
    """A row that somebody else has spoilt is not read, and harms no other."""
    add(tier, label_of("一"), label_of("二"))
    tier.write(lambda lane: lane.insist(f"UPDATE label SET {column} = {value} WHERE id = 1"))  # noqa: S608  of the test

    assert [label_of("二")] == known(tier).labels


def test_other_errors_are_errors(tier: DiskTier) -> None:
    """A table of that name with other columns is not taken for none."""
    tier.write(table.prepare)
    tier.write(lambda lane: lane.insist("ALTER TABLE learnt RENAME epoch TO era"))

    with pytest.raises(StoreError):
        news(tier)


def test_what_goes_goes_first(tier: DiskTier) -> None:
    """What is forgotten or pardoned and then comes again is there."""
    add(tier, label_of("一"))
    change(tier, vetoes=["digest"])
    change(tier, vetoes=["digest"], pardoned=["digest"], forgotten=[key_of(1)], labels=[label_of("二")])

    assert ([label_of("二")], ["digest"]) == known(tier)[2:]


def test_a_failed_write_leaves_nothing(tier: DiskTier) -> None:
    """Of several labels all are kept or none."""
    bad = label_of("二")._replace(key=cast("str", None))
    with pytest.raises(StoreError):
        add(tier, label_of("一"), bad)

    assert news(tier) is None


def test_answers_and_labels_share_a_database(tier: DiskTier) -> None:
    """The tables of the cache stay in step, and an entry that goes leaves what was said of it."""
    key = put(tier, 1)
    add(tier, label_of("一"))
    tier.delete(key)
    database = sqlite3.connect(tier.directory / "cache.db")

    assert is_sound(database)
    database.close()
    assert [label_of("一")] == known(tier).labels


def test_another_database_is_read_as_a_whole(tier: DiskTier) -> None:
    """Where the file was put aside and begun anew, marks of the old one do not count."""
    add(tier, label_of("一"), label_of("二"))
    mark = known(tier).mark
    tier.write(lambda lane: [lane.execute(f"DROP TABLE {name}") for name in ("label", "veto", "learnt")])
    assert news(tier, mark) is None
    add(tier, label_of("三"), label_of("四"))
    found = news(tier, mark)

    assert found is not None
    assert (True, [label_of("三"), label_of("四")]) == (found.is_all, found.labels)
