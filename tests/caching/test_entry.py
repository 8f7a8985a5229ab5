"""Entries as bytes: what was written is read, and what is damaged, foreign or planted is not."""

from __future__ import annotations

import hashlib
import hmac
import json
import pickle
import sys
import zlib
from dataclasses import FrozenInstanceError, fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.entry import SCHEMA, BadRecordError, Entry, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "0123456789abcdef" * 4
SECRET = b"only we know"
# Half of a surrogate pair among them: a server that escapes its texts may send one.
TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)
PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)
ENTRIES = st.builds(
    Entry,
    key=st.just(KEY),
    partition=TEXT,
    tenant=TEXT,
    asked=TEXT,
    model=TEXT,
    route=TEXT,
    text=TEXT,
    answer=st.binary(max_size=3000),
    pieces=st.none() | st.binary(max_size=200),
    is_judged=st.booleans(),
    finish_reason=TEXT,
    usage=st.none() | TEXT,
    cost=st.none() | TEXT,
    created_ms=st.integers(0, 2**62),
    expires_ms=st.none() | st.integers(0, 2**62),
    tags=PAIRS,
    provenance=PAIRS,
)


def make_entry(**changes: Any) -> Entry:
    """Give an entry."""
    given: dict[str, Any] = {
        "key": KEY,
        "partition": "f" * 64,
        "tenant": "acme",
        "asked": "deepseek-v4-flash",
        "model": "deepseek-flash",
        "route": "deepseek",
        "text": "花呗怎么还款?\ud83d",
        "answer": '{"choices": "你好"}'.encode(),
        "pieces": b"[]",
        "is_judged": True,
        "finish_reason": "stop",
        "usage": '{"prompt_tokens": 3}',
        "cost": None,
        "created_ms": 1_790_000_000_000,
        "expires_ms": None,
        "tags": (("feature", "search"),),
        "provenance": (("path", "/chat/completions"), ("stream", "true")),
    }
    return Entry(**{**given, **changes})


def planted(payload: bytes, flags: int = 0, *, secret: bytes | None = None) -> bytes:
    """Give a record whose digest is right, as anyone without the secret could make one."""
    record = bytes([flags]) + payload
    told = KEY.encode() + b"\n" + record
    return (hashlib.sha256(told).digest() if secret is None else hmac.digest(secret, told, "sha256")) + record


def header(**changes: Any) -> dict[str, Any]:
    """Give the first line of a record."""
    payload = encode(make_entry())[33:]
    told: dict[str, Any] = json.loads(payload.partition(b"\n")[0])
    return {**told, **changes}


def body() -> bytes:
    """Give what follows it."""
    return encode(make_entry())[33:].partition(b"\n")[2]


class TestEntry:
    """The value itself."""

    def test_nothing_of_it_can_be_changed(self) -> None:
        """Fields cannot be set, and none of them holds anything that could be changed."""
        entry = make_entry()
        values = [getattr(entry, field.name) for field in fields(entry)]

        assert hash(entry) == hash(make_entry())
        assert {str, bytes, bool, int, tuple, type(None)} >= {type(value) for value in values}
        with pytest.raises(FrozenInstanceError):
            entry.answer = b""  # type: ignore[misc]

    def test_its_name_is_the_beginning_of_its_key(self) -> None:
        """People call it by 16 digits."""
        assert "0123456789abcdef" == make_entry().id

    def test_its_size_is_what_its_parts_take(self) -> None:
        """Characters of Chinese count as the two bytes that they take in memory, bytes as one."""
        small = make_entry(text="")

        assert 1000 == make_entry(answer=small.answer + b"x" * 1000, text="").size - small.size
        assert 2000 == make_entry(text="你" * 1001).size - make_entry(text="你").size
        assert make_entry(tags=()).size < make_entry().size
        assert small.size > sum(sys.getsizeof(getattr(small, name)) for name in ("answer", "partition", "usage"))


class TestEncode:
    """Writing and reading."""

    @given(entry=ENTRIES, secret=st.none() | st.binary(max_size=40))
    def test_what_was_written_is_read(self, entry: Entry, secret: bytes | None) -> None:
        """Every entry comes back as it was, signed or not."""
        assert entry == decode(encode(entry, secret=secret), KEY, secret=secret)

    def test_all_of_an_entry_is_written(self) -> None:
        """A field that is changed alone is read as it was changed."""
        told = {field.name: getattr(make_entry(), field.name) for field in fields(Entry) if field.name != "key"}
        others = {str: "other", bytes: b"other", bool: False, int: 7, tuple: (("a", "b"),), type(None): None}
        given: dict[str, Any] = {
            name: 9 if name == "expires_ms" else others[type(value)] for name, value in told.items()
        }

        for name, value in given.items():
            entry = replace(make_entry(), **{name: value})
            assert entry == decode(encode(entry), KEY)

    def test_long_records_are_packed(self) -> None:
        """What is over a kilobyte takes less room on disk than in memory; what is shorter stays readable."""
        assert b"deepseek-v4-flash" in encode(make_entry())
        assert 1000 > len(encode(make_entry(answer=b'{"a": 1}' * 1000)))

    def test_an_entry_without_end_is_not_written(self) -> None:
        """What could not be read again is refused at once."""
        with pytest.raises(BadRecordError, match="too large"):
            encode(make_entry(answer=bytes(65 * 1024 * 1024)))


class TestDamage:
    """Bytes that are no record, or no longer."""

    @settings(max_examples=300)
    @given(entry=ENTRIES, secret=st.none() | st.just(SECRET), place=st.integers(0), bit=st.integers(0, 7))
    def test_a_flipped_bit_is_found(self, entry: Entry, secret: bytes | None, place: int, bit: int) -> None:
        """No single bit of a record can change unseen."""
        data = bytearray(encode(entry, secret=secret))
        data[place % len(data)] ^= 1 << bit

        with pytest.raises(BadRecordError):
            decode(bytes(data), KEY, secret=secret)

    @given(entry=ENTRIES, secret=st.none() | st.just(SECRET), share=st.floats(0, 1, exclude_max=True))
    def test_a_cut_is_found(self, entry: Entry, secret: bytes | None, share: float) -> None:
        """The beginning of a record is none, nor is a record with something behind it."""
        data = encode(entry, secret=secret)

        for wrong in (data[: int(share * len(data))], data + b"\0"):
            with pytest.raises(BadRecordError):
                decode(wrong, KEY, secret=secret)

    @settings(max_examples=300)
    @given(data=st.binary(max_size=200), flags=st.integers(0, 255), secret=st.none() | st.just(SECRET))
    def test_foreign_bytes_are_no_record(self, data: bytes, flags: int, secret: bytes | None) -> None:
        """Neither random bytes nor such with a right digest are taken, or do anything but raise the one error."""
        for wrong in (data, planted(data, flags, secret=secret), planted(zlib.compress(data), flags, secret=secret)):
            with pytest.raises(BadRecordError):
                decode(wrong, KEY, secret=secret)

    def test_every_cut_of_one_record_is_found(self) -> None:
        """Also where the digest is made right again."""
        payload = encode(make_entry())[33:]

        for length in range(len(payload)):
            with pytest.raises(BadRecordError):
                decode(planted(payload[:length]), KEY)

    def test_nothing_is_executed(self, tmp_path: Path) -> None:
        """A pickle in the place of a record is no record."""
        trap = tmp_path / "trap"
        pickled = pickle.dumps(_Trap(trap))

        for wrong in (pickled, planted(pickled), planted(zlib.compress(pickled), 1)):
            with pytest.raises(BadRecordError):
                decode(wrong, KEY)
        assert not trap.exists()

    def test_a_bomb_is_not_unpacked(self) -> None:
        """What would fill the memory when it is unpacked is refused before it does."""
        packer = zlib.compressobj(9)
        bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(80)) + packer.flush()

        assert 100_000 > len(bomb)
        with pytest.raises(BadRecordError, match="cut, or too large"):
            decode(planted(bomb, 1), KEY)

    @pytest.mark.parametrize(
        "changes",
        [
            {"schema": SCHEMA + 1},
            {"schema": None},
            {"key": "f" * 64},
            {"answer": -1, "pieces": 28},
            {"answer": 10**30},
            {"answer": True},
            {"pieces": 1},
            {"created_ms": True},
            {"created_ms": 1.0},
            {"expires_ms": "1"},
            {"is_judged": 1},
            {"text": None},
            {"usage": 5},
            {"tags": [["a"]]},
            {"tags": [["a", 1]]},
            {"tags": ["ab"]},
            {"tags": {"a": "b"}},
            {"tags": None},
        ],
        ids=str,
    )
    def test_a_header_of_another_shape_is_refused(self, changes: dict[str, Any]) -> None:
        """Each field is checked, whoever wrote it."""
        data = planted(json.dumps(header(**changes)).encode() + b"\n" + body())

        assert make_entry() == decode(planted(json.dumps(header()).encode() + b"\n" + body()), KEY)
        with pytest.raises(BadRecordError):
            decode(data, KEY)

    @pytest.mark.parametrize("name", sorted(header()))
    def test_a_field_that_is_missing_is_missed(self, name: str) -> None:
        """Every field has to be there."""
        told = {key: value for key, value in header().items() if key != name}

        with pytest.raises(BadRecordError):
            decode(planted(json.dumps(told).encode() + b"\n" + body()), KEY)

    @pytest.mark.parametrize("text", ["null", "[]", "1", '"a"', "[" * 100_000, "1" * 5000, "{", ""])
    def test_other_json_is_no_record(self, text: str) -> None:
        """Nor is JSON that Python would not read."""
        for payload in (text.encode(), text.encode() + b"\n", b'{"schema":1,"key":' + text.encode() + b"}\n"):
            with pytest.raises(BadRecordError):
                decode(planted(payload), KEY)


class TestSecret:
    """Records that are signed."""

    @pytest.mark.parametrize(
        ("written", "read"),
        [(None, SECRET), (SECRET, None), (SECRET, b"another"), (b"", None), (SECRET, b"")],
        ids=["not signed", "no secret", "another secret", "an empty secret", "an empty one for a real one"],
    )
    def test_only_the_same_secret_reads(self, written: bytes | None, read: bytes | None) -> None:
        """A record is read with the secret that it was written with, or without one."""
        with pytest.raises(BadRecordError):
            decode(encode(make_entry(), secret=written), KEY, secret=read)

    @pytest.mark.parametrize("secret", [None, SECRET])
    def test_a_record_is_that_of_its_key(self, secret: bytes | None) -> None:
        """One that was moved to another key is bad: it would answer another request."""
        data = encode(make_entry(), secret=secret)

        with pytest.raises(BadRecordError):
            decode(data, "f" * 64, secret=secret)

    def test_who_has_no_secret_cannot_plant(self) -> None:
        """A digest that anyone can make is not taken for a signature, whatever the flags say."""
        payload = encode(make_entry())[33:]

        for flags in range(4):
            with pytest.raises(BadRecordError):
                decode(planted(payload, flags), KEY, secret=SECRET)


class _Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return open, (str(self.path), "w")
