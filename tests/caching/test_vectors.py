from __future__ import annotations

import contextlib
import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching import vector_table
from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.eviction.schema import is_in_step, mend
from deepseek_sdk.caching.failure import StoreError
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.caching.vectors import Lacking, Vector, VectorStore, halved
from tests.caching.disks import LARGE, NOW_MS, is_sound, key_of, meta_of, put, value_of
from tests.caching.vectors_made import questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deepseek_sdk.caching.vectors import Place

D = 8
QUESTIONS = questions(100, D)
OVERHEAD = 220
# Triggers and a column as an earlier version made them, which knew of no vectors.
OLD = """
DROP TABLE vector; DROP TABLE vector_place; DROP INDEX entry_partition;
DROP TRIGGER vector_entry_deleted; DROP TRIGGER entry_rewritten;
CREATE TRIGGER entry_updated AFTER UPDATE OF tag, value ON Cache BEGIN
    UPDATE entry SET size = json_extract(new.tag, '$.size') WHERE id = new.rowid; END;
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Name a directory that is not there yet."""
    return tmp_path / "cache"


@pytest.fixture
def tier(directory: Path) -> Iterator[DiskTier]:
    """Open a tier with room for everything."""
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE, lock_s=0.2)) as tier:
        yield tier


@pytest.fixture
def store() -> VectorStore:
    """Make the store of an embedder."""
    return VectorStore("e5", D)


def keep(tier: DiskTier, store: VectorStore, number: int, *, partition: str = "p", **facts: Any) -> str:
    """Keep a record and its vector in one transaction; give the key."""
    key = key_of(number)
    vector = Vector(key, f"问题 {number}", QUESTIONS[number % len(QUESTIONS)])
    meta = meta_of(partition=partition, **facts)
    tier.put(key, value_of(key), meta, NOW_MS, store.writing(partition, [vector]))
    return key


def place_of(tier: DiskTier, store: VectorStore, partition: str = "p") -> Place | None:
    """Find a place."""
    return tier.read(lambda lane: store.place(lane, partition))


def known(tier: DiskTier, store: VectorStore, partition: str = "p") -> dict[int, tuple[str, str, bool]]:
    """Give all that can be read of a partition."""
    place = place_of(tier, store, partition)
    if place is None:
        return {}
    seqs, values, _ = tier.read(lambda lane: store.after(lane, place.id, 0, 1_000))
    rows = tier.read(lambda lane: store.rows(lane, place.id, partition, seqs))
    for row, value in zip(rows.values(), values, strict=False):
        assert row.values.tolist() in values.tolist(), value
    return {seq: (row.key, row.text, row.is_alias) for seq, row in rows.items()}


def column(directory: Path, sql: str) -> list[Any]:
    """Read the first column of a query, as any other program would."""
    with contextlib.closing(sqlite3.connect(directory / "cache.db")) as database:
        return [row[0] for row in database.execute(sql)]


def change(directory: Path, *statements: str) -> None:
    """Write as any other program would."""
    with contextlib.closing(sqlite3.connect(directory / "cache.db", isolation_level=None)) as database:
        for statement in statements:
            database.executescript(statement)


def test_vectors_come_back(tier: DiskTier, store: VectorStore) -> None:
    """A vector comes back as it was rounded, with its text and its key, in the order in which they came."""
    keys = [keep(tier, store, number) for number in range(3)]
    place = place_of(tier, store)
    assert place is not None
    seqs, values, last = tier.read(lambda lane: store.after(lane, place.id, 1, 10))

    assert {1: (keys[0], "问题 0", False), 2: (keys[1], "问题 1", False), 3: (keys[2], "问题 2", False)} == known(
        tier, store
    )
    assert ([2, 3], 3) == (seqs, last)
    assert QUESTIONS[1:3].astype(np.float16).tolist() == values.tolist()
    assert (3, 3) == (place.rows, place.last)
    assert [1, 2] == tier.read(lambda lane: store.seqs(lane, place.id, 2))
    assert ([1, 2], 2) == tier.read(lambda lane: store.after(lane, place.id, 0, 2))[::2]


def test_any_text(tier: DiskTier, store: VectorStore) -> None:
    """Whatever the text holds, it comes back: halves of characters, the character 0, nothing at all."""
    key = put(tier, 1)
    texts = ["", "\0", "a\ud800b", "退款" * 3_000]
    tier.write_beside(store.writing("p", [Vector(key, text, QUESTIONS[at]) for at, text in enumerate(texts)]))

    assert texts == [text for _, text, _ in known(tier, store).values()]


def test_all_or_nothing(tier: DiskTier, store: VectorStore) -> None:
    """Where the vector cannot be written the record is not there either, and the other way round."""

    def broken(_: Any) -> None:
        raise sqlite3.OperationalError("no")

    with pytest.raises(StoreError):
        tier.put(key_of(1), b"x", meta_of(), NOW_MS, broken)
    with pytest.raises(TypeError):
        tier.put(key_of(2), "no bytes", meta_of(), NOW_MS, store.writing("p", []))  # type: ignore[arg-type]

    assert (0, {}) == (tier.totals().entries, known(tier, store))


def test_no_vector_without_its_entry(tier: DiskTier, store: VectorStore) -> None:
    """A vector of an answer that is not there is not kept, and makes no place."""
    tier.write_beside(store.writing("p", [Vector(key_of(1), "a", QUESTIONS[0])]))

    assert place_of(tier, store) is None


@pytest.mark.parametrize("gone", ["delete", "delete_where", "expire", "evict"])
def test_vectors_go_with_their_entries(directory: Path, store: VectorStore, gone: str) -> None:
    """However an entry goes, its vectors go with it, aliases too, and their place with the last of them."""
    with contextlib.closing(DiskTier(directory, max_bytes=12_000)) as tier:
        key = keep(tier, store, 1, keep_ms=NOW_MS + 1)
        tier.write_beside(store.writing("p", [Vector(key, "别的说法", QUESTIONS[2], is_alias=True)]))
        before = len(known(tier, store))
        ways: dict[str, Callable[[], object]] = {
            "delete": lambda: tier.delete(key),
            "delete_where": lambda: tier.delete_where(Selection()),
            "expire": lambda: tier.compact(NOW_MS + 2),
            "evict": lambda: [put(tier, number) for number in range(10, 20)],
        }
        ways[gone]()

        assert (2, {}, None) == (before, known(tier, store), place_of(tier, store))
        assert [0] == column(directory, "SELECT count(*) FROM vector")
        with contextlib.closing(sqlite3.connect(directory / "cache.db")) as database:
            assert is_sound(database)


def test_vectors_count(tier: DiskTier, store: VectorStore) -> None:
    """An entry counts for what its vectors take, also after it was written again, and no longer once they are gone."""
    key = keep(tier, store, 1, size=1_000)
    one = 2 * D + len("问题 1".encode()) + OVERHEAD
    with_one = tier.totals().bytes
    tier.write_beside(store.writing("p", [Vector(key, "alias", QUESTIONS[2], is_alias=True)]))
    with_two = tier.totals().bytes
    tier.put(key, b"again", meta_of(size=2_000), NOW_MS)
    again = tier.totals().bytes
    tier.write_beside(lambda lane: store.take_out(lane, key, "alias"))

    two = one + 2 * D + len("alias") + OVERHEAD
    assert [1_000 + one, 1_000 + two, 2_000 + two, 2_000 + one] == [with_one, with_two, again, tier.totals().bytes]
    tier.delete(key)
    assert 0 == tier.totals().bytes


def test_room_for_vectors_is_made(directory: Path, store: VectorStore) -> None:
    """A write that its vector makes too large for the room lets others go at once, and never itself."""
    with contextlib.closing(DiskTier(directory, max_bytes=9_000)) as tier:
        for number in range(6):
            keep(tier, store, number, size=1_200)
            assert tier.totals().bytes <= 9_000
            assert key_of(number) in [row.key for row in tier.rows()]

        assert tier.totals().entries == len(known(tier, store))


def test_the_same_again(tier: DiskTier, store: VectorStore) -> None:
    """A text has one vector: the same is not written again, another takes its place under a new number."""
    key = keep(tier, store, 1)
    keep(tier, store, 1)
    same = known(tier, store)
    tier.write_beside(store.writing("p", [Vector(key, "问题 1", QUESTIONS[5])]))

    assert ([1], {2: (key, "问题 1", False)}) == ([*same], known(tier, store))


def test_numbers_are_not_used_again(tier: DiskTier, store: VectorStore) -> None:
    """Numbers count up, also past a deletion of all; a place that was empty is another one from then on."""
    keep(tier, store, 1)
    before = place_of(tier, store)
    tier.delete(key_of(1))
    keep(tier, store, 1)
    after = place_of(tier, store)

    assert before is not None
    assert after is not None
    assert (1, 2) == (before.last, after.last)
    assert before.born != after.born
    assert before.id < after.id


def test_embedders_are_kept_apart(tier: DiskTier, store: VectorStore) -> None:
    """Vectors of another embedder, or of another partition, are not given."""
    other = VectorStore("bge", D)
    keep(tier, store, 1)
    keep(tier, other, 2)
    keep(tier, store, 3, partition="q")

    assert [[key_of(1)], [key_of(2)], [key_of(3)], []] == [
        [key for key, *_ in known(tier, who, where).values()]
        for who, where in ((store, "p"), (other, "p"), (store, "q"), (other, "q"))
    ]


def test_what_lacks_a_vector(tier: DiskTier, store: VectorStore) -> None:
    """Entries without a vector of this embedder are found, with the texts that another one's have; each once."""
    other = VectorStore("bge", D)
    plain = put(tier, 1)
    keep(tier, store, 2)
    foreign = keep(tier, other, 3)
    put(tier, 4, partition="q")
    tier.write_beside(other.writing("p", [Vector(foreign, "alias", QUESTIONS[0], is_alias=True)]))
    tier.write_beside(other.writing("p", [Vector(plain, "half", QUESTIONS[0], is_alias=True)]))

    first, last = tier.read(lambda lane: store.lacking(lane, "p", 0, 1))
    second, last = tier.read(lambda lane: store.lacking(lane, "p", last, 10))
    assert [Lacking(plain, None, is_alias=False), Lacking(plain, "half", is_alias=True)] == first
    assert [Lacking(foreign, "问题 3", is_alias=False), Lacking(foreign, "alias", is_alias=True)] == second
    assert ([], last) == tier.read(lambda lane: store.lacking(lane, "p", last, 10))


def test_a_look_has_an_end(tier: DiskTier, store: VectorStore) -> None:
    """However many have a vector, a look takes a step alone; it is gone on with, and what lacks one is found."""
    for number in range(450):
        keep(tier, store, number)
    plain, last, seen = put(tier, 999), 0, []
    for _ in range(3):
        found, last = tier.read(partial(store.lacking, partition="p", after=last, most=10))
        seen.append(found)

    assert [[], [], [Lacking(plain, None, is_alias=False)]] == seen


def test_damage_and_forgery(tier: DiskTier, directory: Path) -> None:
    """A row that is damaged, planted, or of another secret is not given; what cannot be a vector is passed over."""
    signed, unsigned = (VectorStore("e5", D, secret=secret) for secret in (b"secret", None))
    for number in range(6):
        keep(tier, signed, number)
    whole = [*known(tier, signed)]
    with_another = known(tier, unsigned), known(tier, VectorStore("e5", D, secret=b"other"))
    change(
        directory,
        "UPDATE vector SET text = x'00' WHERE seq = 1",
        "UPDATE vector SET key = (SELECT key FROM entry WHERE id = 6) WHERE seq = 2",
        "UPDATE vector SET data = x'00' WHERE seq = 3",
        # Infinite numbers, 8 of them.
        f"UPDATE vector SET data = CAST(x'{'007c' * D}' AS BLOB) WHERE seq = 4",  # noqa: S608  no input
        "UPDATE vector SET data = 7 WHERE seq = 5",
    )
    place = place_of(tier, signed)
    assert place is not None

    assert ([1, 2, 3, 4, 5, 6], ({}, {})) == (whole, with_another)
    assert [6] == [*known(tier, signed)]
    assert ([1, 2, 6], 6) == tier.read(lambda lane: signed.after(lane, place.id, 0, 9))[::2]
    assert [6] == [*tier.read(lambda lane: signed.rows(lane, place.id, "p", range(1, 8)))]


@pytest.mark.parametrize(
    "values", [np.zeros(D + 1), np.full(D, np.nan), np.full(D, np.inf), np.zeros((1, 1, D)), [1e9] * D]
)
def test_what_is_no_vector(store: VectorStore, values: Any) -> None:
    """A vector of other dimensions, or with numbers that are none or too large, is refused."""
    with pytest.raises(ValueError, match="vector"):
        store.writing("p", [Vector("k", "t", values)])


def test_halves() -> None:
    """One vector or several are rounded to half precision."""
    assert ((1, D), (2, D), "<f2") == (
        halved(QUESTIONS[0], D).shape,
        halved(QUESTIONS[:2], D).shape,
        halved(QUESTIONS[0], D).dtype.str,
    )


def test_a_database_of_an_earlier_version(directory: Path, store: VectorStore) -> None:
    """The tables of vectors are made where they are missing; what is there stays, and lacks vectors."""
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE)) as tier:
        key = put(tier, 1, size=500)
    change(directory, OLD)
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE)) as tier:
        missing, _ = tier.read(lambda lane: store.lacking(lane, "p", 0, 9))
        keep(tier, store, 1, size=600)

        assert [Lacking(key, None, is_alias=False)] == missing
        assert 600 + 2 * D + len("问题 1".encode()) + OVERHEAD == tier.totals().bytes
        assert [] == column(directory, "SELECT name FROM sqlite_master WHERE name = 'entry_updated'")


def test_tables_that_are_out_of_step(tier: DiskTier, directory: Path, store: VectorStore) -> None:
    """Vectors without an entry, places without vectors and wrong counts are found and mended."""
    for number in range(4):
        keep(tier, store, number)
    change(
        directory,
        "DROP TRIGGER vector_entry_deleted; DROP TRIGGER vector_deleted;"
        "DELETE FROM Cache WHERE rowid = 2; DELETE FROM vector WHERE seq = 1;"
        "INSERT INTO vector_place (partition, embedder) VALUES ('q', 'e5');",
    )
    change(directory, *vector_table.DDL)
    with contextlib.closing(sqlite3.connect(directory / "cache.db")) as database:
        before = is_in_step(database.execute)
        mend(database.execute)
        after = is_in_step(database.execute)
        database.commit()

    assert (False, True) == (before, after)
    assert [3, 4] == [*known(tier, store)]
    assert (2, None) == ((place_of(tier, store) or (0, 0))[1], place_of(tier, store, "q"))


def test_compacting_mends(tier: DiskTier, directory: Path, store: VectorStore) -> None:
    """To compact a cache clears away what has no entry."""
    keep(tier, store, 1)
    change(directory, "DROP TRIGGER vector_entry_deleted; DELETE FROM Cache WHERE rowid = 1;")
    change(directory, *vector_table.DDL)
    orphans = column(directory, "SELECT count(*) FROM vector")
    tier.compact(NOW_MS)

    assert ([1], [0]) == (orphans, column(directory, "SELECT count(*) FROM vector"))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["keep", "again", "alias", "take_out", "delete", "tenant", "compact", "flush", "small"]),
        st.integers(0, 9),
    ),
    max_size=25,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_orphans(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]) -> None:
    """Whatever is kept, written again, deleted, evicted and compacted: no vector is without its entry, and sums fit."""
    directory = tmp_path_factory.mktemp("orphans")
    stores = [VectorStore("e5", D), VectorStore("bge", D)]
    with contextlib.closing(DiskTier(directory, max_bytes=30_000)) as tier:
        tier.open()
        for what, number in steps:
            _step(tier, stores[number % 2], what, number)

        with contextlib.closing(sqlite3.connect(directory / "cache.db")) as database:
            wrong = database.execute(
                "SELECT count(*) FROM entry, Cache WHERE Cache.rowid = entry.id AND entry.size <> json_extract(tag,"
                " '$.size') + (SELECT COALESCE(sum(length(data) + length(text) + 220), 0) FROM vector"
                " WHERE vector.key = entry.key)"
            ).fetchone()
            assert (True, True, (0,)) == (is_sound(database), is_in_step(database.execute), wrong)


def _step(tier: DiskTier, store: VectorStore, what: str, number: int) -> None:
    key, partition = key_of(number), f"p{number % 3}"
    alias = Vector(key, "alias", QUESTIONS[number + 20], is_alias=True)
    steps: dict[str, Callable[[], object]] = {
        "keep": lambda: keep(tier, store, number, partition=partition, tenant=f"t{number % 2}"),
        "again": lambda: put(tier, number, partition=partition),
        "alias": lambda: tier.write_beside(store.writing(partition, [alias])),
        "take_out": lambda: tier.write_beside(lambda lane: store.take_out(lane, key, "alias")),
        "delete": lambda: tier.delete(key),
        "tenant": lambda: tier.delete_where(Selection(tenant=f"t{number % 2}")),
        "compact": lambda: tier.compact(NOW_MS),
        "flush": lambda: number > 7 and tier.delete_where(Selection()),
        "small": lambda: setattr(tier, "max_bytes", 8_000 + 3_000 * number),
    }
    steps[what]()


DAMAGES = {
    "other numbers": f"data = CAST(x'{'003c' * D}' AS BLOB)",
    "no numbers": f"data = CAST(x'{'007c' * D}' AS BLOB)",
    "too short": "data = x'00'",
    "no bytes": "data = 'abc'",
    "text": "text = x'ff'",
    "alias": "is_alias = 1",
    "signature": "mac = randomblob(16)",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_made_good(tier: DiskTier, directory: Path, store: VectorStore, damage: str) -> None:
    """A damaged row is found, the answer it belongs to named, and the row gone as soon as there is another."""
    for number in range(3):
        keep(tier, store, number)
    change(directory, f"UPDATE vector SET {damage} WHERE seq = 2")  # noqa: S608  no input
    found, last = tier.read(lambda lane: store.damaged(lane, "p", 0, 9))
    again = tier.read(lambda lane: store.damaged(lane, "p", last, 9))
    keep(tier, store, 1)

    assert ([Lacking(key_of(1), None, is_alias=False)], ([], 3)) == (found, again)
    assert {1, 3, 4} == {*known(tier, store)} == {*column(directory, "SELECT seq FROM vector")}
    assert ([], 4) == tier.read(lambda lane: store.damaged(lane, "p", 0, 9))


def test_damage_is_looked_for_in_parts(tier: DiskTier, directory: Path, store: VectorStore) -> None:
    """A look goes through some rows, and the next one through those after them."""
    for number in range(5):
        keep(tier, store, number)
    change(directory, "UPDATE vector SET mac = x'' WHERE seq IN (2, 5)")
    found, last = [], 0
    for _ in range(4):
        some, last = tier.read(partial(store.damaged, partition="p", after=last, most=2))
        found.append([one.key for one in some])

    assert [[key_of(1)], [], [key_of(4)], []] == found
    assert ([], 0) == tier.read(lambda lane: store.damaged(lane, "nothing", 0, 2))


def test_vectors_of_another_length(tier: DiskTier, store: VectorStore) -> None:
    """Where an embedder comes to make longer vectors, what has short ones lacks a vector; those go for the new."""
    longer = VectorStore("e5", 2 * D)
    key = keep(tier, store, 1)
    missing, _ = tier.read(lambda lane: longer.lacking(lane, "p", 0, 9))
    tier.write_beside(longer.writing("p", [Vector(key, "问题 1", np.ones(2 * D))]))

    assert [Lacking(key, "问题 1", is_alias=False)] == missing
    assert ([], {2: (key, "问题 1", False)}) == (
        tier.read(lambda lane: longer.lacking(lane, "p", 0, 9))[0],
        known(tier, longer),
    )


def test_planted_texts_get_no_vector(tier: DiskTier, directory: Path) -> None:
    """Of an answer without a vector only texts that somebody with the secret wrote are given, to be made vectors of."""
    old, new = VectorStore("bge", D, secret=b"secret"), VectorStore("e5", D, secret=b"secret")
    signed, planted = keep(tier, old, 1), keep(tier, VectorStore("bge", D), 2)
    change(
        directory,
        "INSERT INTO vector (place, key, text, is_alias, data, mac)"
        " SELECT place, key, x'61', 1, data, mac FROM vector WHERE seq = 1",
    )

    assert [Lacking(signed, "问题 1", is_alias=False), Lacking(planted, None, is_alias=False)] == tier.read(
        lambda lane: new.lacking(lane, "p", 0, 9)
    )[0]


@pytest.mark.parametrize(
    "lost",
    ["TABLE vector", "TABLE vector_place", "INDEX vector_key", "TRIGGER vector_inserted", "TRIGGER vector_deleted"],
)
def test_parts_that_are_lost(directory: Path, store: VectorStore, lost: str) -> None:
    """Whatever of the tables another program has dropped is made again at the next opening, and sums fit."""
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE)) as tier:
        key = keep(tier, store, 1, size=500)
    change(directory, f"DROP {lost}")
    with contextlib.closing(DiskTier(directory, max_bytes=LARGE)) as tier:
        tier.open()
        missing, _ = tier.read(lambda lane: store.lacking(lane, "p", 0, 9))
        keep(tier, store, 1, size=600)

        assert ([] if "TABLE" not in lost else [Lacking(key, None, is_alias=False)]) == missing
        assert [key] == [key for key, *_ in known(tier, store).values()]
        assert 600 + 2 * D + len("问题 1".encode()) + OVERHEAD == tier.totals().bytes
