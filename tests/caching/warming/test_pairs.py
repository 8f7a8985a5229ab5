"""Questions with their answers, from whatever people have them in."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.caching.warming.pairs import Pair, read_pairs
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

USER = {"role": "user", "content": "如何退款？"}
SYSTEM = {"role": "system", "content": "你是客服。"}
SAID = {"role": "assistant", "content": "在订单页点“退款”。"}
REFUND = ("如何退款？", "在订单页点“退款”。")
INVOICE = ("怎么开发票？", "在“我的”里申请。\n通常一天。")


def told(source: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Read pairs: the number, what the user says and the answer, or why it is none."""
    return [
        (item.number, item.messages[-1]["content"], item.answer) if isinstance(item, Pair) else item
        for item in read_pairs(source, **options)
    ]


@pytest.mark.parametrize(
    "source",
    [
        dict([REFUND, INVOICE]),
        [REFUND, list(INVOICE)],
        iter([REFUND, INVOICE]),
        [{"question": REFUND[0], "answer": REFUND[1]}, {"prompt": INVOICE[0], "completion": INVOICE[1]}],
        [{"问题": REFUND[0], "答案": REFUND[1]}, {"q": INVOICE[0], "a": INVOICE[1], "category": "发票"}],
        [([USER], REFUND[1]), {"messages": [{**USER, "content": INVOICE[0]}], "answer": INVOICE[1]}],
        [{"messages": [SYSTEM, USER, SAID]}, INVOICE],
    ],
)
def test_pairs(source: Any) -> None:
    """Mappings, tuples, and objects with any of the usual names are pairs."""
    assert [(1, *REFUND), (2, *INVOICE)] == told(source)


@pytest.mark.parametrize("suffix", [".jsonl", ".NDJSON"])
def test_files_of_lines(tmp_path: Path, suffix: str) -> None:
    """A line of JSON is a pair; what cannot be read is told with its number, and blank lines are none."""
    path = tmp_path / f"faq{suffix}"
    lines = [json.dumps(dict(zip(("question", "answer"), REFUND, strict=True))), "", "{", "[1]", json.dumps(INVOICE)]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode() + b"\n" + "退款".encode("gbk") + b"\n")

    expected: list[tuple[Any, ...]] = [(1, *REFUND), (3, "json"), (4, "shape"), (5, *INVOICE), (6, "encoding")]
    assert expected == told(path)
    assert expected == told(str(path))
    with path.open("rb") as file:
        assert expected == told(file)


def test_lines_that_are_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is far too long is told as one, and not read into memory as a whole."""
    monkeypatch.setattr("deepseek_sdk.caching.warming.pairs._LONGEST_LINE", 64)
    lines = [json.dumps(("长" * 100, "x")), json.dumps(("a", "b"))]

    assert [(1, "too_large"), (2, "a", "b")] == told(io.BytesIO("\n".join(lines).encode()))
    assert [(1, "too_large"), (2, "a", "b")] == told(io.StringIO("\n".join(lines)))


def test_open_texts() -> None:
    """A file that is open as text is read likewise."""
    assert [(1, *REFUND)] == told(io.StringIO(json.dumps(REFUND)))


@pytest.mark.parametrize(
    "head", ["问题,答案", "id,Question,ANSWER,tag", "a, prompt ,response", None], ids=["zh", "more", "blanks", "none"]
)
def test_tables(tmp_path: Path, head: str | None) -> None:
    """Columns are found by their names, or are the first two; a row is numbered by its last line."""
    names = [] if head is None else [name.strip().casefold() for name in head.split(",")]
    place = names.index("question") if "question" in names else names.index("prompt") if "prompt" in names else 0
    rows = [("x",) * place + pair for pair in (REFUND, INVOICE)]
    cells = ["\n" if head is None else f"\n{head}\n", *(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)]
    path = tmp_path / "faq.csv"
    path.write_text("".join(cells), encoding="utf-8-sig")
    first = 2 if head is None else 3

    assert [(first, *REFUND), (first + 2, *INVOICE)] == told(path)


def test_tables_that_are_damaged(tmp_path: Path) -> None:
    """Rows that are too short, of another encoding, blank, or far too long are told with their numbers."""
    path = tmp_path / "faq.tsv"
    rows = ["如何退款？\t在订单页。".encode(), b"only one", b"\t", "退款\t流程".encode("gbk"), b"q\t" + b"a" * 200_000]
    path.write_bytes(b"\n".join(rows) + b"\n")

    assert [(1, "如何退款？", "在订单页。"), (2, "shape"), (4, "encoding"), (5, "too_large")] == told(path)


QUESTION_ANSWER = "问题,答案\n如何退款？,在订单页点“退款”。\nHow do I pay?,By card.\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "mark"])
def test_tables_in_utf_8(tmp_path: Path, mark: bytes) -> None:
    """A file in UTF-8 is read, with a byte order mark and without."""
    path = tmp_path / "faq.csv"
    path.write_bytes(mark + QUESTION_ANSWER.encode())

    assert [(2, *REFUND), (3, "How do I pay?", "By card.")] == told(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\xff\xfe" + QUESTION_ANSWER.encode("utf-16-le"), "UTF-16"),
        (b"\xfe\xff" + QUESTION_ANSWER.encode("utf-16-be"), "UTF-16"),
        (b"\xff\xfe\0\0" + QUESTION_ANSWER.encode("utf-32-le"), "UTF-32"),
        (b"\0\0\xfe\xff" + QUESTION_ANSWER.encode("utf-32-be"), "UTF-32"),
        (QUESTION_ANSWER.encode("gb18030"), "GB18030, as it seems"),
        (QUESTION_ANSWER.encode("gb18030") * 5_000, "GB18030, as it seems"),
        ("q,a\nUn café ?,Déjà vu.\n".encode("latin-1"), "an unknown encoding"),
    ],
    ids=["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030", "long", "latin-1"],
)
def test_files_in_another_encoding(tmp_path: Path, data: bytes, encoding: str, suffix: str) -> None:
    """A file in another encoding is refused as a whole, and the error names it and the file."""
    path = tmp_path / f"faq{suffix}"
    path.write_bytes(data)

    with pytest.raises(ConfigurationError, match=f"^source must be a file in UTF-8, not in {encoding}: .*faq"):
        told(path)


@pytest.mark.parametrize("cut", range(1, 4))
def test_a_long_file_is_judged_by_what_begins_it(tmp_path: Path, cut: int) -> None:
    """Where that ends within a character, the file is in UTF-8 all the same."""
    path = tmp_path / "faq.tsv"
    question = "q" * cut + "问" * 90_000
    path.write_text(f"{question}\tx\n", encoding="utf-8")

    assert [(1, question, "x")] == told(path)


def test_an_empty_table(tmp_path: Path) -> None:
    """A file with nothing in it has no encoding, and no pairs."""
    (tmp_path / "faq.csv").touch()

    assert [] == told(tmp_path / "faq.csv")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (("", "x"), "empty"),
        (("x", " \n"), "empty"),
        ([[{"role": "user", "content": []}], "x"], "empty"),
        (("x" * 100_001, "x"), "too_large"),
        (("x", None), "shape"),
        ((1, "x"), "shape"),
        (("x", "y", "z"), "shape"),
        ("xy", "shape"),
        ({"question": "x"}, "shape"),
        ({"messages": [USER]}, "shape"),
        ({"messages": "x", "answer": "y"}, "shape"),
        ({"messages": []}, "shape"),
        ({"messages": [], "answer": "y"}, "shape"),
        ({"messages": ["x"], "answer": "y"}, "shape"),
        ({"messages": [USER, SAID], "answer": "y"}, "shape"),
        ({"messages": [{"content": "x"}], "answer": "y"}, "shape"),
        ({"messages": [SAID]}, "shape"),
    ],
)
def test_what_is_no_pair(item: Any, reason: str) -> None:
    """What is no question with an answer is told with why."""
    assert [(1, reason)] == told([item])


def test_instructions() -> None:
    """Instructions stand before a question that comes alone; a conversation has its own."""
    alone, conversation = read_pairs([REFUND, ([USER], "好")], system="你是客服。")

    assert isinstance(alone, Pair)
    assert isinstance(conversation, Pair)
    assert (SYSTEM, USER) == alone.messages
    assert (USER,) == conversation.messages


def test_parts() -> None:
    """A question may have parts, as the API takes them."""
    parts = [{"type": "text", "text": "这是什么？"}]

    assert [(1, parts, "一只猫")] == told([([{"role": "user", "content": parts}], "一只猫")])


@pytest.mark.parametrize("source", [None, 5, b"x", "faq.txt", "faq"])
def test_what_is_no_source(source: Any) -> None:
    """What pairs cannot be read from is refused."""
    with pytest.raises(ConfigurationError, match="source must be a"):
        told(source)


def test_no_file(tmp_path: Path) -> None:
    """Where there is no file, that is an error."""
    with pytest.raises(FileNotFoundError):
        told(tmp_path / "faq.csv")


_VALUES = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)
_MESSAGES = st.lists(st.dictionaries(st.sampled_from(["role", "content"]), _VALUES), max_size=2)


@given(
    st.lists(_VALUES | st.dictionaries(st.sampled_from(["messages", "answer", "q"]), _VALUES | _MESSAGES), max_size=4)
)
@settings(max_examples=40, deadline=None)
def test_anything(items: list[Any]) -> None:
    """Whatever stands in a file, each item is a pair or a reason."""
    found = list(read_pairs(items))

    assert len(items) == len(found)
    assert all(isinstance(one, Pair) or one[1] in {"shape", "empty", "too_large"} for one in found)


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bytes(data: bytes) -> None:
    """Nor does a file of anything break it."""
    assert all(isinstance(one, Pair | tuple) for one in read_pairs(io.BytesIO(data)))
