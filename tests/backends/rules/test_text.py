"""One form for all that people take for the same words."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules.text import Folder, is_bordered, trimmed
from deepseek_sdk.errors import MissingExtraError
from tests.backends.rules.conftest import wide

FOLD = Folder()
ANY_TEXT = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(f"退欵繁體{wide('AB ')}é ﬁﾞ㈱\u0301\u200b")
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        (wide("ABC12"), "abc12"),
        ("Straße", "strasse"),
        ("退欵", "退款"),
        ("繁體中文", "繁体中文"),
        ("甚麼時候到帳？", "什么时候到账?"),
        ("  a\t\u3000b\n", "a b"),
        ("re\u00adfund\u200b", "refund"),
        ("㈱ﬁ", "(株)fi"),
        ("ｶﾞ", "ガ"),
        ("x\ud800", "x\ufffd"),
        ("", ""),
    ],
)
def test_forms(text: str, folded: str) -> None:
    """Width, case, traditional characters, other spellings, blanks and what is invisible make no difference."""
    assert folded == FOLD(text)


def test_case_can_matter() -> None:
    """Where case matters, everything else still makes no difference."""
    fold = Folder(case_sensitive=True)

    assert "US 体 us" == fold(f"{wide('US')} 體  us")
    assert re.NOFLAG == fold.flags


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    """What is folded stays as it is."""
    assert FOLD(text) == FOLD(FOLD(text))


@pytest.mark.slow
def test_every_character_is_settled() -> None:
    """No character of the first two planes of Unicode needs to be folded twice."""
    folded = {FOLD(chr(code)) for code in range(0x20000)}

    assert set() == {text for text in folded if FOLD(text) != text}


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_TEXT, st.data())
def test_quotes(text: str, data: st.DataObject) -> None:
    """Any part of the folded text can be quoted, and what is quoted of the whole is the whole."""
    question = FOLD.question(text)
    start = data.draw(st.integers(0, len(question.folded)))
    end = data.draw(st.integers(start, len(question.folded)))

    assert (end > start) == bool(question.quote(start, end))
    assert question.folded == FOLD(question.quote(0, len(question.folded)))


@pytest.mark.parametrize(
    ("text", "part", "quoted"),
    [
        (f"Where is ORDER  {wide('AB')}-1?", "order ab-1", f"ORDER  {wide('AB')}-1"),
        ("  Hi   There ", "there", "There"),
        ("das ﬁnanzamt, Straße 5", "strasse", "Straße"),
        ("cafe\u0301 Nr. 5", "nr", "Nr"),
        (f"ｶﾞｽ {wide('X')}", "x", "x"),  # two characters have grown together: it cannot be told what was where
    ],
)
def test_quotes_are_as_written(text: str, part: str, quoted: str) -> None:
    """A part is quoted as it was written, and as it is compared where that cannot be told."""
    question = FOLD.question(text)
    start = question.folded.index(part)

    assert quoted == question.quote(start, start + len(part))


@pytest.mark.parametrize(
    ("text", "word", "is_word"),
    [
        ("a refund please", "refund", True),
        ("refundable", "refund", False),
        ("nonrefund", "refund", False),
        ("refund2", "refund", False),
        ("my_refund", "refund", False),
        ("refund's", "refund", True),
        ("我要refund吗", "refund", True),
        ("申请退款流程", "退款", True),
        ("c++11", "c++", True),
        ("возврата", "возврат", False),
        ("ขอคืนเงินครับ", "คืนเงิน", True),
        ("환불을", "환불", True),
        ("refund\u0301", "refund", False),
    ],
)
def test_borders(text: str, word: str, is_word: bool) -> None:  # noqa: FBT001
    """Words have borders in scripts that are written with blanks."""
    start = text.index(word)

    assert is_word == is_bordered(text, start, start + len(word))


@pytest.mark.parametrize(
    ("text", "left"), [("hi!", "hi"), ("「你好」。", "你好"), ("???", "???"), ("c#", "c#"), ("$5.", "$5")]
)
def test_trimming(text: str, left: str) -> None:
    """Punctuation around a question is taken off, unless there is nothing else."""
    assert left == trimmed(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("退欵|取消", "我要退款"),
        ("(?P<訂單>訂單)", "訂單"),
        ("(?P<a>體)(?P=a)(?(a)體|x)", "体體体"),
        ("退款？", "退款?"),
        (r"退款\？", "退款？"),
        ("[？！]$", "好！"),
        ("[一-龥]+", "中文"),
        ("(?<=訂)單", "訂單"),
        (f"訂單-[{wide('A')}]", "订单-a"),
        (r"[\]體]x", "體x"),
        (r"\bREFUND\b", "a refund"),
    ],
)
def test_patterns_see_folded_text(pattern: str, text: str) -> None:
    """The characters of a pattern are folded as the text is; ranges, groups and escapes stay what they are."""
    assert re.search(FOLD.pattern(pattern), FOLD(text), FOLD.flags)


def test_names_of_groups_stay() -> None:
    """The name of a group is not folded: replies call it as it was written."""
    assert ["訂單"] == list(re.compile(FOLD.pattern("(?P<訂單>單)")).groupindex)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that knows traditional characters, the message says what to install."""
    monkeypatch.setitem(sys.modules, "opencc", None)

    with pytest.raises(MissingExtraError, match=r"the rule engine needs .*deepseek-client-sdk\[rules\]"):
        Folder()
