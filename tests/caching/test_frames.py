"""The rest of a request, kept beside the answers of its partition."""

from __future__ import annotations

import json
import random
import sqlite3
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.frames import DDL, FRAME_BYTES, MEND, Frame, add_frame, frame_of, read_frame, room_of
from deepseek_sdk.caching.key import exact_key, last_text
from deepseek_sdk.caching.selection import Selection
from tests.caching.disks import LARGE, NOW_MS, is_sound, key_of, meta_of, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deepseek_sdk.caching.lane import Lane

PATH, TENANT = "/chat/completions", "tenant:小明"
SYSTEM = {"role": "system", "content": "你是客服，只谈订单。"}
SAID = {"role": "assistant", "content": "您好。"}


def body_of(text: str = "如何退款？", *before: Any, **more: Any) -> dict[str, Any]:
    """Make a request."""
    return {"model": "deepseek-flash", "messages": [SYSTEM, *before, {"role": "user", "content": text}], **more}


def framed(body: dict[str, Any]) -> Frame:
    """Take the text out of a request that has one."""
    frame = frame_of(PATH, body)
    assert frame is not None
    return frame


PARTS = [{"type": "image_url", "image_url": {"url": "data:x"}}, {"type": "text", "text": "这是什么？"}]


@pytest.mark.parametrize(
    "body",
    [
        body_of(),
        body_of(stream=True, stream_options={"include_usage": True}, temperature=1.0, seed=1),
        body_of("怎么办理？", {"role": "user", "content": "你好"}, SAID),
        {"model": "m", "messages": [{"role": "user", "content": PARTS}], "n": True},
        {"model": "m", "prompt": "从前", "suffix": "\ud83d"},
    ],
)
def test_requests_come_back(body: dict[str, Any]) -> None:
    """What was taken apart and written down comes back as the same request, by its key, as a plain call."""
    was = json.dumps(body)
    packed = framed(body).packed()
    frame = Frame.unpacked(packed)
    assert frame is not None
    again = frame.request_of(exact_key(PATH, body, tenant=TENANT), last_text(body), TENANT)

    assert {name: value for name, value in body.items() if not name.startswith("stream")} == again
    assert (was, packed) == (json.dumps(body), frame.packed())
    assert last_text(body) not in json.dumps(dict(frame.body), ensure_ascii=False)


def test_other_requests_do_not() -> None:
    """A frame of another request, text, tenant or query makes nothing of the key."""
    body = body_of()
    key = exact_key(PATH, body, tenant=TENANT, params={"v": "1"})
    frame = framed(body)
    right = Frame(path=PATH, params={"v": "1"}, body=frame.body)
    wrong = [
        right.request_of(key, "怎么退款？", TENANT),
        right.request_of(key, "如何退款？", "tenant:乙"),
        frame.request_of(key, "如何退款？", TENANT),
        framed(body_of(temperature=0)).request_of(key, "如何退款？", TENANT),
        Frame(path=PATH, params={}, body={**frame.body, "x": {1}}).request_of(key, "如何退款？", TENANT),
    ]

    assert body == right.request_of(key, "如何退款？", TENANT)
    assert [None] * 5 == wrong


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": [SYSTEM]},
        {"messages": ["x"]},
        {"messages": [{"role": "user", "content": None}]},
        {"messages": [{"role": "user", "content": PARTS[:1]}]},
        {"messages": [{"role": "user", "content": [*PARTS, *PARTS]}]},
        {"prompt": ["a", "b"]},
        {"prompt": ""},
        body_of("长" * 200_000),
    ],
)
def test_requests_without_one_text(body: dict[str, Any]) -> None:
    """Where there is no last text of the user, or more than one, or very much, there is no frame."""
    assert frame_of(PATH, body) is None


def noise(length: int) -> str:
    """Give a text that cannot be packed well."""
    return "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FA5), k=length)))  # noqa: S311  no secret


@pytest.mark.parametrize("more", [{"x": {1}}, {"x": float("nan")}, {"x": noise(9_000)}, {"x": "长" * 30_000}])
def test_frames_that_are_not_kept(more: dict[str, Any], tier: DiskTier) -> None:
    """What is no JSON, or takes too much, is not written down."""
    frame = framed(body_of(**more))
    with pytest.raises(ValueError, match=r".+"):
        frame.packed()

    assert [False] == put(tier, frame, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        zlib.compress(b"x"),
        zlib.compress(b"\xff\xfe"),
        zlib.compress(b"[]"),
        zlib.compress(b'{"path": 1, "params": {}, "body": {"prompt": ""}}'),
        zlib.compress(b'{"path": "p", "params": {}, "body": {}}'),
        zlib.compress(b'{"path": "p", "params": {}, "body": {"messages": [{"role": "assistant", "content": ""}]}}'),
        zlib.compress(b'{"path": "p", "params": {}, "body": {"prompt": "' + b"x" * 100_000 + b'"}}'),
        zlib.compress(b"[" * 60_000),
    ],
)
def test_what_is_no_frame(data: bytes) -> None:
    """What somebody else has written there is not read, and does not fill the memory."""
    assert Frame.unpacked(data) is None


def test_deep_frames() -> None:
    """A planted frame in which things lie within things makes no request."""
    deep: Any = ""
    for _ in range(900):
        deep = [deep]
    frame = Frame(path=PATH, params={}, body={"messages": [{"role": "user", "content": "", "x": deep}]})

    assert frame.request_of(key_of(1), "x", TENANT) is None


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[DiskTier]:
    """Open a directory with the tables of frames."""
    tier = DiskTier(tmp_path / "cache", max_bytes=LARGE)
    tier.write(make)
    yield tier
    tier.close()


def make(lane: Lane) -> None:
    """Make the tables, as often as somebody opens them."""
    with lane.transaction():
        for statement in (*DDL, *MEND, *DDL):
            lane.execute(statement)


def put(tier: DiskTier, frame: Frame, *numbers: int, partition: str = "p", room: int = LARGE) -> list[bool]:
    """Keep entries, each with its frame."""
    found = []
    for number in numbers:
        key = key_of(number)
        tier.put(key, value_of(key), meta_of(partition=partition), NOW_MS)
        found.append(tier.write(lambda lane: _add(lane, frame, partition, room)))
    return found


def _add(lane: Lane, frame: Frame, partition: str, room: int) -> bool:
    with lane.transaction():
        return add_frame(lane, partition, frame, room)


def kept(tier: DiskTier) -> tuple[list[str], int]:
    """List the partitions that have a frame, and give the sum of their bytes."""
    names = tier.read(lambda lane: lane.execute('SELECT "partition" FROM frame ORDER BY 1').fetchall())
    return [name for (name,) in names], tier.read(
        lambda lane: lane.execute("SELECT bytes FROM frame_sum").fetchone()[0]
    )


def test_one_for_a_partition(tier: DiskTier) -> None:
    """A partition has one frame, which goes with the last of its entries."""
    frame = framed(body_of())
    added = put(tier, frame, 1, 2) + put(tier, frame, 3, partition="q")
    counts = [kept(tier)]
    for number in (1, 2, 3):
        tier.delete(key_of(number))
        counts.append(kept(tier))

    size = len(frame.packed())
    assert [True] * 3 == added
    assert [(["p", "q"], 2 * size), (["p", "q"], 2 * size), (["q"], size), ([], 0)] == counts


def test_the_frame_is_read(tier: DiskTier) -> None:
    """What was kept is found by the partition."""
    put(tier, framed(body_of()), 1)
    found = [tier.read(partial(read_frame, partition=name)) for name in ("p", "q")]

    assert [framed(body_of()), None] == found


def test_conversations(tier: DiskTier) -> None:
    """What a model has spoken in is kept when it begins two requests: else it would be kept once for each."""
    frame = framed(body_of("好", SAID))

    assert [False, True, True] == put(tier, frame, 1, 2, 3)
    assert ["p"] == kept(tier)[0]


def test_room(tier: DiskTier) -> None:
    """All frames together take no more than they may."""
    frame = framed(body_of())
    room = len(frame.packed()) + 1
    added = [put(tier, frame, number, partition=str(number), room=room)[0] for number in (1, 2)]
    tier.delete(key_of(1))

    assert [True, False] == added
    assert [True] == put(tier, frame, 2, partition="2", room=room)
    assert (64 * 2**20, 2**20) == (room_of(2**40), room_of(2**24))


def test_without_an_entry(tier: DiskTier) -> None:
    """Where the entry is gone already, nothing is left behind."""
    assert not tier.write(lambda lane: _add(lane, framed(body_of()), "p", LARGE))


def test_an_entry_that_moves(tier: DiskTier) -> None:
    """Where an entry comes to be of another partition, the frame of the old one goes."""
    put(tier, framed(body_of()), 1)
    added = put(tier, framed(body_of()), 1, partition="q")

    assert ([True], ["q"]) == (added, kept(tier)[0])


def test_frames_that_are_too_long_are_not_read(tier: DiskTier) -> None:
    """A frame that somebody has written there, larger than any, is not read; nor are orphans kept."""
    put(tier, framed(body_of()), 1)
    tier.write(lambda lane: lane.execute("UPDATE frame SET data = ?", (bytes(FRAME_BYTES + 1),)))
    found = tier.read(lambda lane: read_frame(lane, "p"))
    tier.write(lambda lane: lane.execute("INSERT INTO frame VALUES ('x', x'00')"))
    tier.write(make)

    assert found is None
    assert (["p"], FRAME_BYTES + 1) == kept(tier)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans()), max_size=15))
@settings(max_examples=10, deadline=None)
def test_no_orphans(tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]]) -> None:
    """Whatever is kept and removed, a partition has a frame exactly as long as it has entries."""
    tier = DiskTier(tmp_path_factory.mktemp("frames") / "cache", max_bytes=LARGE)
    tier.write(make)
    held: dict[int, int] = {}
    for number, partition, is_put in steps:
        if is_put:
            put(tier, framed(body_of()), number, partition=str(partition))
            held[number] = partition
        else:
            tier.delete(key_of(number))
            held.pop(number, None)
    found = kept(tier)
    tier.delete_where(Selection())
    left = kept(tier)
    tier.close()

    assert (sorted({str(one) for one in held.values()}), ([], 0)) == (found[0], left)
    with sqlite3.connect(tier.directory / "cache.db") as database:
        assert is_sound(database)
    database.close()
