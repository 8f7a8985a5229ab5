"""What is mended, and what is not: one reading or none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepseek_sdk.structured.mending import mend

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4) | st.lists(VALUES, max_size=4)


@pytest.mark.parametrize(
    ("text", "mended", "edits"),
    [
        ('{"a": 1}', '{"a": 1}', ()),
        ('\n {"a": 1} \n', '{"a": 1}', ()),
        ('{"selected: ["A"]}', '{"selected": ["A"]}', ("quotes of a key",)),
        ('{"a": 1, b": 2}', '{"a": 1, "b": 2}', ("quotes of a key",)),
        ("{答案: 1}", '{"答案": 1}', ("quotes of a key",)),
        ('{"答案: "对"}', '{"答案": "对"}', ("quotes of a key",)),
        ('{"a": [1, 2,],}', '{"a": [1, 2]}', ("trailing comma",)),
        ('```json\n{"a": 1}\n```', '{"a": 1}', ("text around the JSON",)),
        ('好的：\n```\n{"a": "`"}\n```\n还有吗？', '{"a": "`"}', ("text around the JSON",)),
        ('Sure: {"a": 1}!', '{"a": 1}', ("text around the JSON",)),
        ("{\"a\": 'x', \"b\": True}", '{"a": "x", "b": true}', ("single quotes", "literals of Python")),
        ('{"a": None}', '{"a": null}', ("literals of Python",)),
        ('{"a": "one\ntwo\t"}', '{"a": "one\\ntwo\\t"}', ("line breaks in a string",)),
        ('{"a": 12345678901234567890.10, "b": "\\u4e2d"}', '{"a": 12345678901234567890.10, "b": "\\u4e2d"}', ()),
    ],
)  # fmt: skip
def test_one_reading(text: str, mended: str, edits: tuple[str, ...]) -> None:
    """What can be read in one way only is written so that it can be read; numbers and strings stay as they are."""
    found = mend(text)

    assert found is not None
    assert (mended, edits) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No JSON.",
        '"text"',
        "12",
        '{"a": 1',
        '{"a": "on',
        '[{"a": 1}',
        '{"a": 1}]',
        '{"a": [1}',
        '{"a": 1} {"b": 2}',
        '```\n{"a": 1}\n```\nor\n```\n{"a": 2}\n```',
        'See [1]: {"a": 1',
        'Such as\n```\n{"a": 1}\n```\nbut now {"a": 2}',
        'Either {"a": 1} or {"a": 2}.',
        '{"a": "he said "hi" to me"}',
        '{"a": "one, "b": "two"}',
        '{"a": 1 "b": 2}',
        '{"a" 1}',
        '{"a": 1,, "b": 2}',
        "{,}",
        "[,]",
        '{"a": 01}',
        '{"a": +1}',
        '{"a": NaN}',
        '{"a": yes}',
        '{"a": "\\q"}',
        "{'it's': 1}",
        '{"two words: 1}',
        "资料[1]里没有答案。",
        "See [1, 2].",
        "Fill in {} here.",
    ],
)
def test_no_reading(text: str) -> None:
    """What is open, doubled or can be read in several ways is not guessed."""
    assert mend(text) is None


@given(OBJECTS, st.sampled_from(["{}", "```json\n{}\n```", "Here: {} Good?", "\ufeff{}"]), st.booleans())
@example({"```": "```"}, "{}", False)
def test_values_are_never_changed(value: Any, frame: str, is_ascii: bool) -> None:  # noqa: FBT001  as drawn
    """Whatever stands around it, a value comes out as it was written, byte for byte."""
    text = json.dumps(value, ensure_ascii=is_ascii)
    found = mend(frame.replace("{}", text, 1))

    assert found is None or text == found.text
    # Text that itself holds a fence, and in a sentence what may be a gap or a reference, are the only excuses.
    is_telling = bool(value) and (isinstance(value, dict) or isinstance(value[0], dict))
    assert found is not None or "```" in text or (frame.startswith("Here") and not is_telling)


@given(OBJECTS, st.data())
def test_what_is_cut_stays_cut(value: Any, data: st.DataObject) -> None:
    """No beginning of an object or a list is taken for the whole."""
    text = json.dumps({"a": value}, ensure_ascii=False)
    cut = data.draw(st.integers(0, len(text) - 1))

    assert mend(text[:cut]) is None


@given(st.text(alphabet="{}[]\",: \\\n'`abé1true"))
def test_any_text(text: str) -> None:
    """Whatever comes, what is given back is JSON, and stays as it is when it is mended again."""
    found = mend(text)

    assert found is None or (found.text, ()) == mend(found.text)
    assert found is None or json.loads(found.text) is not None


@pytest.mark.parametrize(
    "text",
    [
        '{"' * 50_000,
        "[" * 100_000,
        '{"a' + "\\" * 100_000,
        '{"' + "a" * 100_000,
        "```\n" * 30_000,
        "```json\n{" + " \n" * 50_000,
    ],
)
def test_it_takes_no_long_time(text: str) -> None:
    """Text of any shape is read in one pass, and deep nesting is no recursion."""
    assert mend(text) is None
