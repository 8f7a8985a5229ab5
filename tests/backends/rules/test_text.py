"""One form for all that people take for the same words."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules.text import Normalizer, is_whole_word, trimmed
from deepseek_sdk.errors import MissingExtraError
from tests.backends.rules.conftest import wide

NORMALIZE = Normalizer()
ANY_TEXT = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(f"退欵繁體{wide('AB ')}é ﬁﾞ㈱\u0301\u200b")
)


@pytest.mark.parametrize(
    ("text", "normal"),
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
def test_forms(text: str, normal: str) -> None:
    """Width, case, traditional characters, other spellings, blanks and what is invisible make no difference."""
    assert normal == NORMALIZE(text)


def test_case_can_matter() -> None:
    """Where case matters, everything else still makes no difference."""
    normalize = Normalizer(case_sensitive=True)

    assert "US 体 us" == normalize(f"{wide('US')} 體  us")
    assert re.NOFLAG == normalize.flags


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_TEXT)
def test_normalising_twice_changes_nothing(text: str) -> None:
    """What is normal stays as it is."""
    assert NORMALIZE(text) == NORMALIZE(NORMALIZE(text))


@pytest.mark.slow
def test_every_character_is_settled() -> None:
    """No character of the first two planes of Unicode needs to be normalised twice."""
    normal = {NORMALIZE(chr(code)) for code in range(0x20000)}

    assert set() == {text for text in normal if NORMALIZE(text) != text}


@pytest.mark.slow
@settings(deadline=None)
@given(ANY_TEXT, st.data())
def test_quotes(text: str, data: st.DataObject) -> None:
    """Any part of the normal text can be quoted, and what is quoted of the whole is the whole."""
    question = NORMALIZE.question(text)
    start = data.draw(st.integers(0, len(question.normal)))
    end = data.draw(st.integers(start, len(question.normal)))

    assert (end > start) == bool(question.quote(start, end))
    assert question.normal == NORMALIZE(question.quote(0, len(question.normal)))


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
    question = NORMALIZE.question(text)
    start = question.normal.index(part)

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

    assert is_word == is_whole_word(text, start, start + len(word))


@pytest.mark.parametrize(
    ("text", "left"), [("hi!", "hi"), ("「你好」。", "你好"), ("???", "???"), ("c#", "c#"), ("$5.", "$5")]
)
def test_trimming(text: str, left: str) -> None:
    """Punctuation around a question is taken off, unless there is nothing else."""
    assert left == trimmed(text)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that knows traditional characters, the message says what to install."""
    monkeypatch.setitem(sys.modules, "opencc", None)

    with pytest.raises(MissingExtraError, match=r"the rule engine needs .*deepseek-client-sdk\[rules\]"):
        Normalizer()
