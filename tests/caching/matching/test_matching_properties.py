from __future__ import annotations

import dataclasses
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from deepseek_sdk.caching.matching.differences import difference
from deepseek_sdk.caching.matching.eligibility import Eligibility
from deepseek_sdk.caching.matching.guards import guard_against
from deepseek_sdk.caching.matching.text import analysed

PIECES = (
    "怎么", "不", "没", "一百二", "十", "第", "月", "日", "3", "2024", "年", "$", "rs", "%", "公斤", "半", "从",
    "到", "百分之", "点", "万", "北京", "上海", "打开", "关闭", "苏", "州", "How ", "do ", "I ", "not ", "from ",
    "to ", "Rome ", "Paris ", "Q", "-", "5 ", "kg ", "one ", "of ", "May ", "next ", "Monday ", "Note ", "12 ",
    "Pro ", "U.S. ", "can't ", "C++ ", "with ", "replace ", "only ", "all ", "的", "吗", "?",
)  # fmt: skip
texts = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(texts, texts)
@example("5$5rs7", "$")
def test_comparing_never_fails_and_is_symmetric(a: str, b: str) -> None:
    """Any two texts can be compared, and it does not matter which comes first."""
    one, other = analysed(a), analysed(b)

    assert guard_against(other, one) == guard_against(one, other)
    assert difference(other, one) == difference(one, other)


@given(texts)
def test_no_guard_stands_against_the_same(a: str) -> None:
    """A question may always have its own answer, however it is written."""
    wide = unicodedata.normalize("NFKC", a)

    assert guard_against(analysed(a), analysed(a)) is None
    assert analysed(f"  {wide} ").normal == analysed(wide).normal
    assert analysed(analysed(wide).normal).normal == analysed(wide).normal


@given(texts)
def test_eligibility_is_told_of_any_text(a: str) -> None:
    """Any text has an answer of the rules."""
    body = {"messages": [{"role": "user", "content": a}]}

    assert Eligibility().refusal(body, has_user_scope=True) in {None, "empty", "volatile"}


def test_what_was_found_cannot_be_changed() -> None:
    """A text that was taken apart is shared between threads, and stays as it is."""
    assert analysed("a").__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert dataclasses.is_dataclass(analysed("a"))
