from __future__ import annotations

import re
from typing import Any

import pytest

from deepseek_sdk.caching.matching.eligibility import Eligibility, question_text
from deepseek_sdk.caching.matching.timely import VOLATILE
from deepseek_sdk.errors import ConfigurationError


def asking(content: Any, role: str = "user") -> dict[str, Any]:
    """Make the body of a request."""
    return {"messages": [{"role": "system", "content": "You help."}, {"role": role, "content": content}]}


def refused(content: Any, *, rules: Eligibility | None = None, has_user_scope: bool = False) -> str | None:
    """Ask whether a question may have the answer of a similar one."""
    return (rules or Eligibility()).refusal(asking(content), has_user_scope=has_user_scope)


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather in Oslo?",
        "Bitcoin price",
        "What time is it now?",
        "What's the latest version of Python?",
        "What happened yesterday?",
        "Who won last week?",
        "今天北京天气怎么样",
        "现在几点了",
        "最新的政策是什么",
        "刚才说了什么",
        "上个月的账单",
        "明天要不要下雨",
    ],
)
def test_questions_of_the_hour_are_refused(text: str) -> None:
    """An answer that changes with the hour is not given to a similar question, whoever asks."""
    assert "volatile" == refused(text, has_user_scope=True)


@pytest.mark.parametrize(
    "text",
    [
        "How do I use datetime.today() in Python?",
        "Who wrote 'Today is the day'?",
        "《今天》的作者是谁",
        "现在完成时怎么用",
        "当前目录怎么查看",
        "把今天天气很好翻译成英文",
        "Translate: I saw him yesterday",
        "最近公共祖先算法",
        "Submit it by Friday at the latest",
        "What matters in today's world?",
        "electric current density",
        "How do I get a refund?",
        "I lost my wallet. What now?",
        "the last week of pregnancy",
        "后天性免疫是什么",
        "明日方舟怎么玩",
    ],
)
def test_words_that_only_look_like_the_hour_are_let_through(text: str) -> None:
    """Grammar, titles, code and translations are about such words, not of the hour."""
    assert refused(text) is None


@pytest.mark.parametrize(
    "text", ["Where is my order?", "我的订单到哪了", "What's my account balance?", "我还有多少积分", "Who am I?"]
)
def test_questions_of_one_person_need_a_scope(text: str) -> None:
    """An answer that is one person's is only given to a similar question of the same user."""
    assert "personal" == refused(text)
    assert refused(text, has_user_scope=True) is None


@pytest.mark.parametrize(
    "text",
    [
        "最新电影有哪些",
        "现在热播的电视剧有哪些",
        '"What is the weather today?"',
        "“今天星期几”",
        "Who is now the CEO of Twitter?",
        "What's the latest MacBook?",
        "比特币的价格",
        "北京天气",
        "距离春节还有几天",
        "How many days until Christmas?",
        "Is it open at this moment?",
        "Any news about the merger?",
    ],
)
def test_the_hour_is_found_wherever_it_is_said(text: str) -> None:
    """In a question about films, in one that is quoted as a whole, and in other words than the usual ones."""
    assert "volatile" == refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "Can I see my order?",
        "Could I get my balance?",
        "How do I cancel my order 12345?",
        "我的外卖到哪里了",
        "我的退款能到账吗",
        "What's in my bank account?",
    ],
)
def test_what_is_one_persons_where_it_is_known_who_asks(text: str) -> None:
    """More than without: a user's own questions are compared with this user's."""
    assert Eligibility().is_personal(asking(text))


@pytest.mark.parametrize(
    "text", ["How do I cancel my order?", "我的订单怎么取消", "How do I reset my password?", "What is a refund?"]
)
def test_what_is_everybodys_also_where_it_is_known_who_asks(text: str) -> None:
    """How something is done, without a number that says which one."""
    assert not Eligibility().is_personal(asking(text))


@pytest.mark.parametrize(
    "text", ["How do I cancel my order?", "我的订单怎么取消", "What should I do if my payment fails?"]
)
def test_how_it_is_done_is_for_everybody(text: str) -> None:
    """A question that anybody might ask is none of one person."""
    assert refused(text) is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (asking("ok", role="tool"), "role"),
        (asking("ok", role="assistant"), "role"),
        ({"messages": []}, "role"),
        ({"messages": None}, "role"),
        ({"messages": ["hi"]}, "role"),
        ({}, "role"),
        (asking([{"type": "image_url", "image_url": {"url": "x"}}]), "content"),
        (asking([{"type": "text", "text": "a"}, {"type": "image_url"}]), "content"),
        (asking([{"type": "text", "text": None}]), "content"),
        (asking(None), "content"),
        (asking(" \n"), "empty"),
        (asking([]), "empty"),
        (asking("a" * 2001), "length"),
        (asking([{"type": "text", "text": "What is"}, {"type": "text", "text": "DNS?"}]), None),
    ],
)
def test_only_the_text_of_a_user_is_eligible(body: dict[str, Any], reason: str | None) -> None:
    """Tool results, images, nothing, and long texts are refused, each with its reason."""
    assert reason == Eligibility().refusal(body, has_user_scope=False)


def test_rules_can_be_changed() -> None:
    """Words and patterns replace those that come with it."""
    own = Eligibility(volatile=[*VOLATILE, "库存", "stock"], personal=[re.compile("our team")], max_chars=50)

    assert "volatile" == refused("还有库存吗", rules=own)
    assert "volatile" == refused("Is it in stock?", rules=own)
    assert refused("the Stockholm metro", rules=own) is None
    assert "personal" == refused("Where does our team sit?", rules=own)
    assert refused("Where is my order?", rules=own) is None
    assert "length" == refused("a" * 51, rules=own)
    assert refused("今天怎么样", rules=Eligibility(volatile=())) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"volatile": "now"}, "volatile must be words or patterns, not 'now'"),
        ({"volatile": 5}, "volatile must be words or patterns, not 5"),
        ({"personal": [5]}, "personal must be words or patterns, not 5"),
        ({"personal": [""]}, "personal must be words or patterns, not ''"),
        ({"volatile": ["("]}, r"volatile has no pattern '\('"),
        ({"max_chars": 0}, "max_chars must be a whole number, 1 or more, not 0"),
    ],
)
def test_rules_that_are_none_are_refused(arguments: dict[str, Any], message: str) -> None:
    """What cannot be a rule is named."""
    with pytest.raises(ConfigurationError, match=message):
        Eligibility(**arguments)


def test_a_kept_question_can_be_asked_about() -> None:
    """A text alone is accepted where nothing in it speaks against that."""
    assert Eligibility().accepts("怎么退款")
    assert not Eligibility().accepts("今天天气怎么样")


def test_the_question_is_the_last_text() -> None:
    """The text of the last message is the question, all parts of it."""
    assert "a\nb" == question_text(asking([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert question_text(asking("hi", role="tool")) is None
