"""`VectorStore`: the vectors of one embedder, in the database of the answers and in one transaction with them."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.selection import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deepseek_sdk.caching.lane import Lane

__all__ = ["Candidate", "Lacking", "Place", "Row", "Vector", "VectorStore", "halved"]

# Half precision, the same on every machine: the fourth digit of a cosine stays right.
_KIND = "<f2"
_LARGEST = 65_504
_MAC_BYTES = 16
# SQLite takes 999 parameters in old versions.
_ROWS_AT_ONCE = 500
# So many entries are looked through for those that lack a vector, at a time: a call waits for it.
_WINDOW = 200

_FIND = 'SELECT id, rows, last, born FROM vector_place WHERE "partition" = ? AND embedder = ?'
_MAKE = 'INSERT OR IGNORE INTO vector_place ("partition", embedder) VALUES (?, ?)'
_AFTER = "SELECT seq, data FROM vector WHERE place = ? AND seq > ? ORDER BY seq LIMIT ?"
_SEQS = "SELECT seq FROM vector WHERE place = ? AND seq <= ? ORDER BY seq"
_NEWEST = "SELECT seq FROM vector WHERE place = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"
# A plus keeps SQLite from going through the whole place.
_OWN = "SELECT seq, key, text, is_alias, data, mac FROM vector WHERE key = ? AND +place = ?"
_NEXT = "SELECT seq, key, text, is_alias, data, mac FROM vector WHERE place = ? AND seq > ? ORDER BY seq LIMIT ?"
_PUT = "INSERT INTO vector (place, key, text, is_alias, data, mac) VALUES (?, ?, ?, ?, ?, ?)"
_TAKE_OUT = "DELETE FROM vector WHERE key = ? AND text = ? AND is_alias = 1"
# The same embedder may come to make vectors of another length.
_ENTRIES = """SELECT id, key,
    EXISTS (SELECT 1 FROM vector WHERE vector.key = entry.key AND +place = ? AND length(data) = ?)
    FROM entry WHERE "partition" = ? AND id > ? ORDER BY id LIMIT ?"""
_OTHERS = """SELECT embedder, "partition", vector.key, text, is_alias, data, mac
    FROM vector JOIN vector_place ON vector_place.id = place WHERE vector.key = ? ORDER BY is_alias, seq"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """
    A kept question that is near to one that is asked.

    Attributes:
        key: Of its answer.
        text: What the user had said.
        cosine: How near, from -1 to 1.
        is_alias: It is another wording than the one that was answered, which a judge has approved.
        vector: Its vector, float32.
    """

    key: str
    text: str
    cosine: float
    is_alias: bool = False
    vector: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)


class Vector(NamedTuple):
    """
    A vector to be kept.

    Attributes:
        key: Of the answer, which must be there.
        text: Whose vector it is.
        values: It, as float32 or float16.
        is_alias: The text is another wording than the one that was answered.
    """

    key: str
    text: str
    values: NDArray[Any]
    is_alias: bool = False


class Place(NamedTuple):
    """
    Where the vectors of one partition and embedder are.

    Attributes:
        id: Its number.
        rows: How many there are.
        last: The number of the last one.
        born: Another one has another.
    """

    id: int
    rows: int
    last: int
    born: bytes


class Row(NamedTuple):
    """
    A vector that is kept.

    Attributes:
        key: Of its answer.
        text: Whose vector it is.
        is_alias: The text is another wording than the one that was answered.
        values: It, as float16.
    """

    key: str
    text: str
    is_alias: bool
    values: NDArray[np.float16]


class Lacking(NamedTuple):
    """
    A question that this embedder has to make a vector of.

    Attributes:
        key: Of its answer.
        text: What the user said; None: only the record tells.
        is_alias: The text is another wording than the one that was answered.
    """

    key: str
    text: str | None
    is_alias: bool


def halved(values: Any, dimensions: int) -> NDArray[np.float16]:
    """
    Round vectors to what is kept of them.

    Args:
        values: One vector, or several.
        dimensions: What they must have.

    Returns:
        Float16, one row for each.

    Raises:
        ValueError: They have other dimensions, or numbers that are none.
    """
    import numpy as np  # noqa: PLC0415  an extra

    rows = np.atleast_2d(np.asarray(values, dtype=np.float32))
    if rows.ndim != 2 or rows.shape[1] != dimensions:  # noqa: PLR2004  rows and columns
        raise ValueError(f"vectors of {dimensions} numbers are kept, not an array of the shape {rows.shape}")
    # Also where one is none: it compares with nothing.
    if not (np.abs(rows) <= _LARGEST).all():
        raise ValueError("a vector has numbers that are none, or too large")
    return np.ascontiguousarray(rows, dtype=_KIND)


class VectorStore:
    """
    Reads and writes the vectors of one embedder; it keeps nothing of its own.

    Args:
        fingerprint: Of the embedder: vectors of another one are never given.
        dimensions: How many numbers a vector has.
        secret: Signs the rows, so that no one without it can plant one; None: they are only guarded against damage.
    """

    def __init__(self, fingerprint: str, dimensions: int, *, secret: bytes | None = None) -> None:
        self.fingerprint = clean(fingerprint)
        self.dimensions = dimensions
        self._secret = secret

    def writing(self, partition: str, vectors: Iterable[Vector]) -> Callable[[Lane], None]:
        """
        Make what writes vectors in a transaction of somebody else's, such as that of their entries.

        Args:
            partition: Of the entries.
            vectors: Them.

        Returns:
            Does it; it may be called twice.

        Raises:
            ValueError: One has other dimensions, or numbers that are none.
        """
        rows = [(v.key, _bytes(v.text), bool(v.is_alias), halved(v.values, self.dimensions).tobytes()) for v in vectors]
        return lambda lane: self._write(lane, clean(partition), rows)

    def place(self, lane: Lane, partition: str) -> Place | None:
        """
        Tell what there is of a partition.

        Args:
            lane: For reading.
            partition: Which.

        Returns:
            Where it is, or None where there is nothing.
        """
        row = lane.execute(_FIND, (clean(partition), self.fingerprint)).fetchone()
        return None if row is None else Place(*row)

    def after(self, lane: Lane, place: int, seq: int, most: int) -> tuple[list[int], NDArray[np.float16], int]:
        """
        Read vectors in the order in which they came.

        Args:
            lane: For reading.
            place: Where.
            seq: After this number.
            most: How many at most.

        Returns:
            Their numbers, they themselves, and the number up to which all is read.
        """
        rows = lane.execute(_AFTER, (place, seq, most)).fetchall()
        width = 2 * self.dimensions
        # What another program put there is passed over.
        usable = [row for row in rows if type(row[1]) is bytes and len(row[1]) == width]
        return *self._finite([row[0] for row in usable], b"".join(row[1] for row in usable)), rows[-1][
            0
        ] if rows else seq

    def newest(self, lane: Lane, place: int, count: int) -> int:
        """
        Tell where the newest vectors begin.

        Args:
            lane: For reading.
            place: Where.
            count: How many.

        Returns:
            The number before the first of them.
        """
        row = lane.execute(_NEWEST, (place, count)).fetchone()
        return 0 if row is None else int(row[0])

    def seqs(self, lane: Lane, place: int, last: int) -> list[int]:
        """
        Tell which vectors are still there.

        Args:
            lane: For reading.
            place: Where.
            last: Up to this number.

        Returns:
            Their numbers, in order.
        """
        return [seq for (seq,) in lane.execute(_SEQS, (place, last))]

    def rows(self, lane: Lane, place: int, partition: str, seqs: Sequence[int]) -> dict[int, Row]:
        """
        Read what is known of some vectors.

        Args:
            lane: For reading.
            place: Where.
            partition: Of the place.
            seqs: Their numbers.

        Returns:
            Those that are there, undamaged and signed as they should be, by number.
        """
        found: dict[int, Row] = {}
        for first in range(0, len(seqs), _ROWS_AT_ONCE):
            some = seqs[first : first + _ROWS_AT_ONCE]
            marks = ",".join("?" * len(some))
            sql = f"SELECT seq, key, text, is_alias, data, mac FROM vector WHERE seq IN ({marks}) AND place = ?"  # noqa: S608  no input
            found |= self._sound(clean(partition), lane.execute(sql, (*some, place)).fetchall())
        return found

    def lacking(self, lane: Lane, partition: str, after: int, most: int) -> tuple[list[Lacking], int]:
        """
        Look through the next entries for those that this embedder has no vector of.

        Args:
            lane: For reading.
            partition: Of which.
            after: What the last look gave, or 0.
            most: How many to give, about.

        Returns:
            Them, and from where to look on.
        """
        place = self.place(lane, partition)
        found: list[Lacking] = []
        last = after
        values = (-1 if place is None else place.id, 2 * self.dimensions, clean(partition), last, _WINDOW)
        for number, key, has_own in lane.execute(_ENTRIES, values).fetchall():
            if len(found) >= most:
                break
            last = number
            found += [] if has_own else self._others(lane, key)
        return found, last

    def damaged(self, lane: Lane, partition: str, after: int, most: int) -> tuple[list[Lacking], int]:
        """
        Look through vectors of this embedder for those that were damaged, or planted.

        Args:
            lane: For reading.
            partition: Of which.
            after: What the last look gave, or 0.
            most: How many to look at.

        Returns:
            Whose they are, to be made anew, and from where to look on.
        """
        place = self.place(lane, partition)
        rows = [] if place is None else lane.execute(_NEXT, (place.id, after, most)).fetchall()
        sound = self._sound(clean(partition), rows)
        # What is in such a row may be anybody's: only the record tells what was asked.
        keys = dict.fromkeys(row[1] for row in rows if row[0] not in sound and type(row[1]) is str)
        return [Lacking(key, None, is_alias=False) for key in keys], rows[-1][0] if rows else after

    @staticmethod
    def take_out(lane: Lane, key: str, text: str) -> int:
        """
        Remove an alias.

        Args:
            lane: For writing.
            key: Of its answer.
            text: Its text.

        Returns:
            How many vectors it had.
        """
        return lane.execute(_TAKE_OUT, (clean(key), _bytes(text))).rowcount

    def _write(self, lane: Lane, partition: str, rows: Iterable[tuple[str, bytes, bool, bytes]]) -> None:
        place = None
        for key, text, is_alias, data in rows:
            # An entry may be gone already: others of its transaction took its room.
            if lane.execute("SELECT 1 FROM entry WHERE key = ?", (key,)).fetchone() is None:
                continue
            if place is None:
                lane.execute(_MAKE, (partition, self.fingerprint))
                place = lane.execute(_FIND, (partition, self.fingerprint)).fetchone()[0]
            old, is_same = self._replaced(
                partition, lane.execute(_OWN, (key, place)).fetchall(), (text, data, is_alias)
            )
            # Where it is the same, others need not read it again.
            if not is_same:
                mac = self._mac(partition, key, text, data, is_alias=is_alias)
                lane.execute(_PUT, (place, key, text, is_alias, data, mac))
            # After it: a place without rows is not kept.
            for seq in old:
                lane.execute("DELETE FROM vector WHERE seq = ?", (seq,))

    def _replaced(self, partition: str, rows: Sequence[Any], new: tuple[bytes, bytes, bool]) -> tuple[list[int], bool]:
        """Tell which rows of an answer go for a new one, the damaged among them, and whether it is there already."""
        text, data, is_alias = new
        sound = self._sound(partition, rows)
        same = [row[0] for row in rows if row[0] in sound and row[2] == text]
        stays = [row[0] for row in rows if row[0] in same and row[4] == data and row[3] <= is_alias][:1]
        gone = [row[0] for row in rows if row[0] not in sound or (row[0] in same and row[0] not in stays)]
        return gone, bool(stays)

    def _finite(self, seqs: list[int], data: bytes) -> tuple[list[int], NDArray[np.float16]]:
        import numpy as np  # noqa: PLC0415  an extra

        values = np.frombuffer(data, dtype=_KIND).reshape(-1, self.dimensions)
        # As integers: half precision is slow. All bits of the exponent are set in what is no number.
        bad = ((values.view("<u2") & 0x7C00) == 0x7C00).any(axis=1)  # noqa: PLR2004  see above
        if bad.any():
            return [seq for seq, is_bad in zip(seqs, bad, strict=True) if not is_bad], values[~bad]
        return seqs, values

    def _sound(self, partition: str, rows: Iterable[Any]) -> dict[int, Row]:
        import numpy as np  # noqa: PLC0415  an extra

        found = {}
        for seq, key, text, is_alias, data, mac in rows:
            if self._is_sound(self.fingerprint, partition, key, text, data, mac, is_alias=bool(is_alias)):
                words = text.decode("utf-8", "surrogatepass")
                found[seq] = Row(key, words, bool(is_alias), np.frombuffer(data, dtype=_KIND))
        return found

    def _is_sound(self, embedder: str, partition: str, *columns: Any, is_alias: bool) -> bool:
        if [type(column) for column in columns] != [str, bytes, bytes, bytes]:
            return False
        key, text, data, mac = columns
        return hmac.compare_digest(mac, self._mac(partition, key, text, data, is_alias=is_alias, embedder=embedder))

    def _mac(
        self, partition: str, key: str, text: bytes, data: bytes, *, is_alias: bool, embedder: str | None = None
    ) -> bytes:
        embedder = self.fingerprint if embedder is None else embedder
        parts = (embedder.encode(), partition.encode(), key.encode(), text, data)
        told = b"".join(len(part).to_bytes(8, "little") + part for part in parts) + bytes((is_alias,))
        digest = hashlib.sha256(told).digest() if self._secret is None else hmac.digest(self._secret, told, "sha256")
        return digest[:_MAC_BYTES]

    def _others(self, lane: Lane, key: str) -> list[Lacking]:
        # Texts that anybody could have planted get no vector that is signed.
        told = {
            (text, bool(is_alias)): None
            for embedder, partition, known, text, is_alias, data, mac in lane.execute(_OTHERS, (key,))
            if self._is_sound(embedder, partition, known, text, data, mac, is_alias=bool(is_alias))
        }
        known = [Lacking(key, text.decode("utf-8", "surrogatepass"), is_alias) for text, is_alias in told]
        return known if any(not one.is_alias for one in known) else [Lacking(key, None, is_alias=False), *known]


def _bytes(text: str) -> bytes:
    # Half of a surrogate pair has no UTF-8.
    return text.encode("utf-8", "surrogatepass")
