"""Answers as lines of JSON: what comes out goes in again, and what is none of ours does not."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.pieces import join
from deepseek_sdk.errors import ConfigurationError
from tests.caching.cached_calls import Wall
from tests.caching.kept_answers import AT_MS, answer_of, entry_of, found, keep, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MakeCache = Callable[..., ExactCache]

KINDS: dict[str, dict[str, Any]] = {"memory": {"max_bytes": 0}, "disk": {}, "signed": {"secret": "s3cret"}}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[MakeCache]:
    """Make caches that are closed at the end, each in a directory of its own."""
    caches: list[ExactCache] = []

    def make(**options: Any) -> ExactCache:
        given = {"wall": Wall(AT_MS / 1000), "ttl_s": None, **options}
        caches.append(ExactCache(tmp_path / f"cache{len(caches)}", **given))
        return caches[-1]

    yield make
    for cache in caches:
        cache.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Run a test with each kind of cache."""
    return KINDS[request.param]


def lines(cache: ExactCache, **only: Any) -> list[dict[str, Any]]:
    """Give what is exported."""
    target = io.StringIO()
    count = cache.export(target, **only)
    told = [json.loads(line) for line in target.getvalue().split("\n")[:-1]]
    assert len(told) == count
    return told


def take_in(cache: ExactCache, *told: dict[str, Any] | bytes | str, **options: Any) -> dict[str, int]:
    """Import lines; give how many were skipped, and how many kept."""
    said = [
        one if isinstance(one, bytes) else (one if isinstance(one, str) else json.dumps(one)).encode() for one in told
    ]
    done = cache.import_(io.BytesIO(b"\n".join(said)), **options)
    return {"kept": done.kept, **done.skipped}


def line(**changed: Any) -> dict[str, Any]:
    """Give a line that is as it should be, but for what is changed."""
    cache = ExactCache(max_bytes=0, wall=Wall(AT_MS / 1000))
    keep(cache, entry_of("one", is_stream=True))
    return {**lines(cache)[0], **changed}


def test_there_and_back(made: MakeCache, kind: dict[str, Any], tmp_path: Path) -> None:
    """All that is known of answers survives, boundaries of chunks, Chinese and halves of characters included."""
    first, second = made(**kind), made(**kind)
    answer = json.dumps(answer_of("半\ud83d"), separators=(",", ":")).encode()
    entries = [
        entry_of("plain", expires_ms=AT_MS + 60_000),
        entry_of("stream", is_stream=True, tags=(("a", "1"), ("标签", "值"))),
        entry_of("half", text="\ud83d", answer=answer),
    ]
    keep(first, *entries)
    file = tmp_path / "answers.jsonl"

    assert 3 == first.export(file)
    done = second.import_(str(file))
    assert (3, {}) == (done.kept, done.skipped)
    for entry in entries:
        again = found(second, entry.key)
        assert again is not None
        told, kept = (
            {n: getattr(e, n) for n in entry.__slots__ if n not in ("answer", "usage", "cost")} for e in (entry, again)
        )
        assert told == kept
        assert [json.loads(one or "null") for one in (entry.answer, entry.usage, entry.cost)] == [
            json.loads(one or "null") for one in (again.answer, again.usage, again.cost)
        ]
    stream = second.inspect(key_of("stream"))
    assert stream is not None
    assert "你好 \U0001f600" == "".join(
        c["choices"][0]["delta"]["content"] for c in join(stream.pieces or b"", stream.answer)
    )


def test_a_line(made: MakeCache, kind: dict[str, Any]) -> None:
    """A line is JSON all through, tells whose it is by a hash or a word, and reads as Chinese."""
    cache = made(**kind)
    keep(cache, entry_of("one", is_stream=True))
    target = io.BytesIO()
    cache.export(target)
    (told,) = lines(cache)

    assert "你好？" in target.getvalue().decode()
    assert (1, key_of("one"), "tenant:小明", {"feature": "search"}) == tuple(
        told[name] for name in ("schema", "key", "tenant", "tags")
    )
    assert ("你好 \U0001f600", 7, "0.001") == (
        told["answer"]["choices"][0]["message"]["content"],
        told["usage"]["prompt_tokens"],
        told["cost"]["cny"],
    )


def test_what_is_exported(made: MakeCache, kind: dict[str, Any]) -> None:
    """Only what is asked for is written, and nothing that has ended or was flushed."""
    cache = made(**kind)
    keep(cache, entry_of("flushed", created_ms=AT_MS - 5))
    cache.flush()
    keep(
        cache,
        entry_of("a", created_ms=AT_MS + 1, tags=()),
        entry_of("b", created_ms=AT_MS + 1, model="pro"),
        entry_of("ended", created_ms=AT_MS + 1, expires_ms=AT_MS - 1),
        entry_of("flushed", created_ms=AT_MS - 5),
    )

    assert [key_of("a"), key_of("b")] == [told["key"] for told in lines(cache)]
    assert [key_of("b")] == [told["key"] for told in lines(cache, tag="feature")]
    assert [key_of("b")] == [told["key"] for told in lines(cache, model="pro")]


def test_export_takes_the_place_of_a_file_at_once(made: MakeCache, tmp_path: Path) -> None:
    """A file is replaced when the new one is whole, which its user alone may read; otherwise it stays."""
    cache = made(max_bytes=0)
    keep(cache, entry_of("one"))
    file = tmp_path / "answers.jsonl"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(ConfigurationError):
        cache.export(file, tag="")
    assert "old" == file.read_text(encoding="utf-8")

    cache.export(file)
    assert 1 == len(file.read_text(encoding="utf-8").splitlines())
    assert [file] == [path for path in tmp_path.iterdir() if path.is_file()]
    assert os.name == "nt" or 0o600 == stat.S_IMODE(file.stat().st_mode)


def test_export_that_fails_leaves_nothing(made: MakeCache, tmp_path: Path) -> None:
    """Where the cache cannot be read, the file that was there is as it was, and no other is left."""
    cache = made()
    (tmp_path / "cache0").mkdir()
    (tmp_path / "cache0" / "mine.txt").write_text("", encoding="utf-8")
    file = tmp_path / "answers.jsonl"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="foreign"):
        cache.export(file)

    assert "old" == file.read_text(encoding="utf-8")
    assert [file] == [path for path in tmp_path.iterdir() if path.is_file()]


def test_export_among_the_files_of_the_cache(made: MakeCache) -> None:
    """An export cannot take the place of the cache itself."""
    cache = made()
    keep(cache, entry_of("one"))
    assert cache.path is not None
    with pytest.raises(ConfigurationError, match="among the files"):
        cache.export(cache.path / "cache.db")

    assert 1 == len(cache.ls())


@pytest.mark.parametrize("name", ["none/a.jsonl", "file/a.jsonl", "x" * 250])
def test_export_to_a_place_that_is_not_there(made: MakeCache, tmp_path: Path, name: str) -> None:
    """An error names the file that was asked for, and not the one that is written beside it."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="\\[Errno") as failure:
        made(max_bytes=0).export(tmp_path / name)

    assert (str(tmp_path / name), None) == (failure.value.filename, failure.value.filename2)
    assert ".tmp" not in str(failure.value)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no device to write to")
def test_export_to_a_device(made: MakeCache) -> None:
    """A device is written to, and not replaced."""
    cache = made(max_bytes=0)
    keep(cache, entry_of("one"))

    assert 1 == cache.export(os.devnull)
    assert not Path(os.devnull).is_file()


def test_export_tells_of_records_that_cannot_be_read(
    made: MakeCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Records of another secret are left out, and that is said."""
    keep(made(secret="one"), entry_of("one"))
    other = ExactCache(tmp_path / "cache0", wall=Wall(AT_MS / 1000))

    assert 0 == other.export(io.StringIO())
    assert "1 records cannot be read" in caplog.text
    other.close()


def test_an_answer_that_is_no_key_is_left_out(made: MakeCache, caplog: pytest.LogCaptureFixture) -> None:
    """An answer with a number that JSON does not have is left out, and that is said."""
    cache = made(max_bytes=0)
    keep(cache, entry_of("one"), entry_of("strange", answer=b'{"choices": [NaN]}'))

    assert [key_of("one")] == [told["key"] for told in lines(cache)]
    assert f"the answer {key_of('strange')[:16]} is no JSON" in caplog.text


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "json"),
        ("[]", "json"),
        (b"\xff", "json"),
        ("[" * 100_000, "json"),
        ('{"schema": NaN}', "json"),
        (line(schema=2), "schema"),
        (line(schema=True), "schema"),
        (line(key="12"), "key"),
        (line(key="Z" * 64), "key"),
        (line(partition=None), "key"),
        (line(tenant=1), "facts"),
        (line(created_ms="now"), "facts"),
        (line(created_ms=True), "facts"),
        (line(expires_ms=2**60), "facts"),
        (line(is_judged=1), "facts"),
        (line(tags={"a": 1}), "facts"),
        (line(tags=None), "facts"),
        (line(cost={"cny": 1}), "facts"),
        (line(answer=None), "answer"),
        (line(answer={}), "answer"),
        (line(answer=answer_of(choices=[])), "answer"),
        (line(answer=answer_of(choices=["x"])), "answer"),
        (line(answer=answer_of(object="list")), "answer"),
        (line(answer=answer_of(id=None)), "answer"),
        (line(answer=answer_of(usage=[1])), "answer"),
        (line(answer=answer_of(choices=[{"index": 0, "finish_reason": "stop", "message": {"content": 1}}])), "answer"),
        (
            line(
                answer=answer_of(
                    choices=[
                        {
                            "index": 0,
                            "finish_reason": "tool_calls",
                            "message": {"content": "", "tool_calls": [{"id": 1}]},
                        }
                    ]
                )
            ),
            "answer",
        ),
        (line(answer=answer_of(object="text_completion", choices=[{"finish_reason": "stop", "text": 1}])), "answer"),
        (line(answer=answer_of(""), pieces=None), "empty"),
        (
            line(answer=answer_of(choices=[{"index": 0, "finish_reason": "length", "message": {"content": "x"}}])),
            "length",
        ),
        (line(answer=answer_of(choices=[{"index": 0, "message": {"content": "x"}}])), "incomplete"),
        (line(answer=answer_of("x" * 2000)), "too_large"),
        (line(pieces=[]), "pieces"),
        (line(pieces="x"), "pieces"),
        (line(pieces=[[[{}, []]], [], [[5, 1]]]), "pieces"),
        (line(pieces=[[[{"a": "x" * 10_000}, []]], [], [[0, 10**12]]]), "pieces"),
        (line(expires_ms=AT_MS - 1), "expired"),
        (line(created_ms=AT_MS + 10**9), "expired"),
    ],
)
def test_lines_that_are_skipped(made: MakeCache, bad: Any, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    """A line that is none of an export, or holds what is not kept, is skipped, counted and logged by its number."""
    cache = made(max_bytes=0, max_entry_bytes=1000)

    assert {"kept": 2, reason: 1} == take_in(cache, line(key=key_of("a")), b"", bad, line(key=key_of("b")))
    assert f"line 3 was not imported: {reason}" in caplog.text
    assert 2 == len(cache.ls())


def test_a_tool_call_is_taken_in(made: MakeCache, kind: dict[str, Any]) -> None:
    """Answers that call tools, and completions of texts, are answers, too."""
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "杭州"}'}}
    other = {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call, other]}
    calling = answer_of(choices=[{"index": 0, "finish_reason": "tool_calls", "message": message}])
    text = answer_of(object="text_completion", choices=[{"index": 0, "finish_reason": "stop", "text": "x"}])
    cache = made(**kind)
    told = [line(key=key_of(n), answer=answer, pieces=None) for n, answer in enumerate((calling, text))]

    assert {"kept": 2} == take_in(cache, *told)
    entry = cache.inspect(key_of(0))
    assert entry is not None
    assert ("tool_calls", calling) == (entry.finish_reason, json.loads(entry.answer))


def test_what_a_line_says_twice(made: MakeCache) -> None:
    """How an answer ended and what it used is read from the completion, whatever else a line says of it."""
    cache = made(max_bytes=0)
    take_in(cache, line(finish_reason="length", usage={"prompt_tokens": 10**9}))
    entry = cache.inspect(key_of("one"))

    assert entry is not None
    assert ("stop", answer_of()["usage"]) == (entry.finish_reason, json.loads(entry.usage or ""))


def test_answers_that_are_known(made: MakeCache, kind: dict[str, Any]) -> None:
    """An answer does not take the place of a newer one, and takes that of an older one."""
    cache = made(**kind)
    keep(cache, entry_of("one", created_ms=AT_MS - 10))

    assert {"kept": 0, "known": 1} == take_in(cache, line(created_ms=AT_MS - 20))
    assert {"kept": 1, "known": 1} == take_in(cache, line(created_ms=AT_MS), line(created_ms=AT_MS - 5))
    entry = found(cache, key_of("one"))
    assert entry is not None
    assert entry.created_ms == AT_MS


def test_answers_from_before_a_flush(made: MakeCache, kind: dict[str, Any]) -> None:
    """What was kept before a flush does not come back by a file."""
    cache = made(**kind)
    cache.flush()

    assert {"kept": 0, "flushed": 1} == take_in(cache, line())


def test_answers_of_one_tenant(made: MakeCache, kind: dict[str, Any]) -> None:
    """Only the answers of a tenant are taken in where it is named."""
    hers = line(key=key_of("hers"), tenant="tenant:acme")

    assert {"kept": 1, "tenant": 1} == take_in(made(**kind), line(), hers, tenant="acme")


def test_the_end_is_the_sooner_one(made: MakeCache) -> None:
    """An answer ends when its file says so, or by the rules of the cache that takes it in, whichever comes first."""
    cache = made(max_bytes=0, ttl_s=100)
    take_in(cache, line(key=key_of("a"), expires_ms=AT_MS + 10), line(key=key_of("b"), expires_ms=None))
    ends = {row.key: (row.expires_ms or 0) - AT_MS for row in cache.ls()}

    assert 10 == ends[key_of("a")]
    assert 90_000 <= ends[key_of("b")] <= 110_000


def test_what_has_no_room(made: MakeCache) -> None:
    """An answer that is too large for its tier is skipped, and does not take others along."""
    big = line(key=key_of("big"), answer=answer_of("".join(map(key_of, range(4000)))), pieces=None)

    assert {"kept": 1, "too_large": 1} == take_in(made(max_bytes=150_000, memory_bytes=0), big, line())
    assert {"kept": 1, "too_large": 1} == take_in(made(max_bytes=0, memory_bytes=20_000), big, line())


def test_many_lines(made: MakeCache, kind: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """Any number of lines is taken in, also as text, and no more than some of the bad ones are logged one by one."""
    told = [json.dumps(line(key=key_of(number))) for number in range(250)] + ["x"] * 50
    done = made(**kind).import_(io.StringIO("\n".join(told)))

    assert (250, {"json": 50}) == (done.kept, done.skipped)
    assert 20 == caplog.text.count("was not imported")
    assert "50 lines were not imported: {'json': 50}" in caplog.text


def test_a_line_without_an_end(made: MakeCache) -> None:
    """A file that is one enormous line is skipped without being read as a whole."""

    class Endless(io.BytesIO):
        """Gives the first part of a line, and then as much as is asked for, twice."""

        parts = 3

        def readline(self, size: int | None = -1, /) -> bytes:
            """Give a part."""
            self.parts -= 1
            return b"x" * (size or 0) if self.parts >= 0 else b""

    done = made(max_bytes=0).import_(Endless())

    assert (0, {"too_large": 1}) == (done.kept, done.skipped)


def test_import_of_no_file(made: MakeCache, tmp_path: Path) -> None:
    """A file that is not there is the same error as anywhere."""
    with pytest.raises(FileNotFoundError):
        made(max_bytes=0).import_(tmp_path / "none.jsonl")


def test_import_of_no_file_makes_no_directory(made: MakeCache, tmp_path: Path) -> None:
    """Where there is nothing to take in, no directory is made for it."""
    cache = made()
    with pytest.raises(FileNotFoundError):
        cache.import_(tmp_path / "none.jsonl")

    assert cache.path is not None
    assert not cache.path.exists()
