"""Questions about one long passage."""

from __future__ import annotations

import pytest

from deepseek_sdk.caching.matching.guards import guard_against
from deepseek_sdk.caching.matching.text import analysed

CHINESE = "甲方将位于北京市的房屋出租给乙方使用，租期两年，每月租金五千元，押金为两个月租金，双方签字后合同生效。"
ENGLISH = (
    "The tenant pays the rent on the first day of each month, keeps the rooms in good order, and may end the contract "
    "with a notice of three months, which has to be given in writing."
)
OTHER = [
    (f"{CHINESE}甲方是谁", f"{CHINESE}押金是多少"),
    (f"{CHINESE}请总结", f"{CHINESE}请翻译"),
    (f"请总结：{CHINESE}", f"请翻译：{CHINESE}"),
    (f"{ENGLISH} Summarize this.", f"{ENGLISH} Translate this."),
    (f"Extract the name: {ENGLISH}", f"Extract the job: {ENGLISH}"),
]
SAME = [
    (f"{CHINESE}甲方是谁？", f"{CHINESE} 甲方是谁"),
    (f"{ENGLISH} Who pays the rent?", f"{ENGLISH} who pays rent?"),
]


@pytest.mark.parametrize("texts", OTHER)
def test_other_questions_of_a_passage(texts: tuple[str, str]) -> None:
    """However much two texts have in common, what they ask decides."""
    one, other = (analysed(text) for text in texts)

    assert guard_against(one, other) is not None
    assert guard_against(other, one) is not None


@pytest.mark.parametrize("texts", SAME)
def test_one_question_of_a_passage(texts: tuple[str, str]) -> None:
    """The same question of the same passage is the same."""
    one, other = (analysed(text) for text in texts)

    assert guard_against(one, other) is None
