from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.tokens.fitting.borders import blocks
from deepseek_sdk.tokens.fitting.fences import fence_at, find_fences, find_json, span_at
from deepseek_sdk.tokens.fitting.graphemes import is_between_characters, next_border
from deepseek_sdk.tokens.fitting.jsontext import find_place, is_inside_escape
from deepseek_sdk.tokens.fitting.layout import join, lay_out
from tests.tokens.fitting.world import contents

if TYPE_CHECKING:
    from deepseek_sdk.tokens.fitting.borders import Span

WHOLE = ["e\u0301", "\r\n", "👍🏽", "👩‍👩‍👧", "🇨🇳", "❤\ufe0f", "각", "नि", "🏴\U000e0067\U000e007f"]


@pytest.mark.parametrize("cluster", WHOLE)
def test_what_readers_see_as_one_character_is_not_cut(cluster: str) -> None:
    """No border lies inside a grapheme cluster; there is one before and one after it."""
    text = f"a{cluster}b"

    assert [0, 1, len(text) - 1, len(text)] == [at for at in range(len(text) + 1) if is_between_characters(text, at)]
    assert len(text) - 1 == next_border(text, 2)


def test_flags_are_pairs() -> None:
    """Between two flags there is a border."""
    assert [0, 2, 4] == [at for at in range(5) if is_between_characters("🇨🇳🇩🇪", at)]


def pieces(text: str, spans: list[Span]) -> list[str]:
    """Give the texts of spans."""
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("One.\n\nTwo.\n\nThree.", 8, ["One.\n\n", "Two.\n\n", "Three."]),
        ("One.\n\nTwo.\n\nThree.", 12, ["One.\n\nTwo.\n\n", "Three."]),
        ("one\ntwo\nthree", 8, ["one\ntwo\n", "three"]),
        ("It is. It was! Is it?", 8, ["It is. ", "It was! ", "Is it?"]),
        ("下雨了。天晴了！是吗？", 4, ["下雨了。", "天晴了！", "是吗？"]),
        ("他说：“好。”她笑。", 6, ["他说：", "“好。”", "她笑。"]),
        ("first, second, third", 9, ["first, ", "second, ", "third"]),
        ("alpha beta gamma", 8, ["alpha ", "beta ", "gamma"]),
        ("没有标点的长句子", 3, ["没有标", "点的长", "句子"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("3.14 and 2.71", 6, ["3.14 ", "and ", "2.71"]),
        ("", 3, []),
    ],
)
def test_paragraphs_before_lines_before_sentences_before_words(text: str, most: int, expected: list[str]) -> None:
    """A text is cut at the largest borders that are fine enough."""
    assert expected == pieces(text, blocks(text, most))


FENCE = "```python\na = 1\nb = 2\n```\n"


def test_short_fences_stay_whole() -> None:
    """A code fence that is short enough is one block."""
    text = f"Look at this. {'word ' * 20}\n{FENCE}And so on.\n"

    assert FENCE in "".join(piece for piece in pieces(text, blocks(text, 40)) if FENCE in piece)


def test_long_fences_are_cut_between_lines() -> None:
    """A code fence that is longer than a block is cut between its lines."""
    text = "```\n" + "x = 1  # a line\n" * 20 + "```\n"

    assert all(piece.endswith("\n") for piece in pieces(text, blocks(text, 60)))
    assert 1 < len(blocks(text, 60))


def test_json_is_not_cut() -> None:
    """JSON that begins a line is one block, however long."""
    table = json.dumps([{"row": number} for number in range(50)])
    text = f"Here it is:\n{table}\nThat was it. {'word ' * 30}"

    assert any(table in piece for piece in pieces(text, blocks(text, 30)))


@given(contents, st.integers(1, 80))
def test_blocks_are_the_text(text: str, most: int) -> None:
    """Blocks follow one another without a gap, from the beginning to the end."""
    spans = blocks(text, most)

    assert text == "".join(pieces(text, spans))
    assert all(one[1] == other[0] for one, other in pairwise(spans))


def test_fences_are_found() -> None:
    """Only a fence of the same kind, as long, without a language closes one; an open one ends with the text."""
    text = "`` no\n```py\n~~~\n``` x\n```\ntext ```inline```\n~~~~\n~~~\nrest"
    fences = find_fences(text)

    assert ["```py\n~~~\n``` x\n```\n", "~~~~\n~~~\nrest"] == [text[fence.start : fence.end] for fence in fences]
    assert [("```py", "```"), ("~~~~", "~~~~")] == [(fence.opening, fence.closing) for fence in fences]
    assert [None, fences[0], None, fences[1]] == [fence_at(fences, at) for at in (0, 10, 40, len(text))]


def test_inline_code_is_no_fence() -> None:
    """Three backticks that close on their line open nothing."""
    assert [] == find_fences("```inline``` text\nmore")


def test_json_in_prose_is_found() -> None:
    """Objects and arrays that begin a line are found; what only looks like one costs no more than a few looks."""
    blob = json.dumps({"name": "x" * 50})
    text = f"Before\n{blob}\nAfter {{\n[1]\n"

    assert [blob] == pieces(text, find_json(text))
    assert [] == find_json("[\n" * 5000)
    assert ((7, 7 + len(blob)), None) == (span_at(find_json(text), 10), span_at(find_json(text), 7))


@pytest.mark.parametrize(
    ("value", "form", "items"),
    [
        ([1, 2, 3], "array", ["1", "2", "3"]),
        ({"a": 1, "b": [2]}, "object", ['"a": 1', '"b": [2]']),
        ({"ok": True, "rows": [{"n": 1}, {"n": 2}, {"n": 3}]}, "array", ['{"n": 1}', '{"n": 2}', '{"n": 3}']),
        ({"page": "a long text " * 5}, "string", []),
        ([], "array", []),
    ],
)
def test_json_is_cut_in_its_largest_part(value: object, form: str, items: list[str]) -> None:
    """Where most of a JSON text is one array, object or string, that is what is cut."""
    text = f"  {json.dumps(value)}\n"
    place = find_place(text)

    assert place is not None
    assert (form, items) == (place.form, pieces(text, place.items))


@pytest.mark.parametrize("text", ["", "no", "[1", "[1] and more", '"text"', "3", "[" * 5000])
def test_what_is_no_key_is_text(text: str) -> None:
    """A text that is not an array or an object as a whole has no place in JSON."""
    assert find_place(text) is None


def test_escapes_stay_whole() -> None:
    r"""No cut falls into `\n`, `\"`, `\\`, `\u00e9` or a surrogate pair."""
    text = r'"a\n\\n\u00e9\ud83d\ude00b"'
    free = [at for at in range(1, len(text)) if not is_inside_escape(text, at, 1)]

    assert ["a", r"\n", r"\\", "n", r"\u00e9", r"\ud83d\ude00", "b"] == [text[a:b] for a, b in pairwise(free)]


def kept(text: str, most: int, chosen: str) -> str:
    """Join the blocks that *chosen* has an x for."""
    layout = lay_out(text, most)
    parts = layout.kept([char == "x" for char in chosen])
    return join(text, layout.form, parts, ["[cut]"] * (len(parts) - 1))


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("xxx", "One.\n\nTwo.\n\nThree."),
        ("x-x", "One.\n\n[cut]\n\nThree."),
        ("-x-", "[cut]\n\nTwo.\n\n[cut]"),
        ("---", "[cut]"),
        ("xx-", "One.\n\nTwo.\n\n[cut]"),
    ],
)
def test_markers_are_paragraphs(chosen: str, expected: str) -> None:
    """What is left out of a text is marked by a paragraph of its own."""
    assert expected == kept("One.\n\nTwo.\n\nThree.", 6, chosen)


def test_fences_are_closed_and_opened_again() -> None:
    """A marker never stands inside code."""
    text = "```py\n" + "line = 1\n" * 6 + "```\n"
    result = kept(text, 10, "xx----xx")

    assert "```py\nline = 1\n```\n\n[cut]\n\n```py\nline = 1\n```\n" == result


@pytest.mark.parametrize(
    ("value", "chosen", "expected"),
    [
        ([1, 2, 3], "x-x", [1, "[cut]", 3]),
        ([1, 2, 3], "---", ["[cut]"]),
        ([1, 2, 3], "-x-", ["[cut]", 2, "[cut]"]),
        ({"a": 1, "b": 2, "c": 3}, "-x-", {"… 1": "[cut]", "b": 2, "… 2": "[cut]"}),
        ({"ok": 1, "rows": [[100], [200], [300]]}, "--x", {"ok": 1, "rows": ["[cut]", [300]]}),
    ],
)
def test_json_stays_json(value: object, chosen: str, expected: object) -> None:
    """A marker in JSON is an element or a member."""
    assert expected == json.loads(kept(json.dumps(value), 5, chosen))
    assert expected == json.loads(kept(json.dumps(value, indent=2), 5, chosen))


@given(st.text(min_size=30), st.integers(0, 30), st.booleans())
def test_json_strings_stay_json(text: str, most: int, ascii_only: bool) -> None:  # noqa: FBT001  drawn
    """A long string in JSON is cut, and what is left is JSON."""
    layout = lay_out(json.dumps({"page": text}, ensure_ascii=ascii_only), most)
    chosen = [number % 3 == 0 for number in range(len(layout.blocks))]
    parts = layout.kept(chosen)
    result = json.loads(join(layout.text, layout.form, parts, ["[cut]"] * (len(parts) - 1)))

    assert "string" == layout.form
    assert all(piece in text for piece in result["page"].split(" [cut] "))
