from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deepseek_sdk.caching.matching.guards import GUARDS, Guards, guard_against
from deepseek_sdk.caching.matching.text import analysed
from deepseek_sdk.errors import ConfigurationError

OWN = Path(__file__).with_name("own_pairs.txt")


def against(a: str, b: str) -> str | None:
    """Ask the guards, both ways round."""
    one, other = analysed(a), analysed(b)
    found = guard_against(one, other)
    assert found == guard_against(other, one)
    return found


@pytest.mark.parametrize(
    ("guard", "a", "b"),
    [
        ("script", "How do I get a refund?", "怎么退款"),
        ("output", "Answer in JSON: list fruits", "Answer in XML: list fruits"),
        ("output", "Explain TCP", "Explain TCP in French"),
        ("output", "Summarize the text", "Translate the text"),
        ("output", "用一句话介绍长城", "用一千字介绍长城"),
        ("date", "2023年高考分数线", "2024年高考分数线"),
        ("date", "周三的会议几点", "周五的会议几点"),
        ("date", "What is on my calendar today?", "What is on my calendar tomorrow?"),
        ("version", "Breaking changes in Django 4.2", "Breaking changes in Django 5.2"),
        ("version", "Vue2 怎么写组件通信", "Vue3 怎么写组件通信"),
        ("unit", "5公斤大米多少钱", "5斤大米多少钱"),
        ("unit", "How hot is 30 degrees Celsius?", "How hot is 30 degrees Fahrenheit?"),
        ("number", "100美元等于多少人民币", "1000美元等于多少人民币"),
        ("number", "第二章讲了什么", "第十二章讲了什么"),
        ("polarity", "哪些食物痛风可以吃", "哪些食物痛风不可以吃"),
        ("polarity", "Which foods should I eat?", "Which foods should I not eat?"),
        ("antonym", "怎么开启自动续费", "怎么关闭自动续费"),
        ("antonym", "怎么开启自动续费", "自动续费如何关闭"),
        ("antonym", "How to mount a disk", "How to unmount a disk"),
        ("antonym", "Is it valid to do so?", "Is it invalid to do so?"),
        ("antonym", "手机怎么调高音量", "手机怎么调低音量"),
        ("direction", "上海到北京的机票", "北京到上海的机票"),
        ("direction", "Flights from Paris to Rome", "Rome to Paris flights"),
        ("direction", "Rome to Paris flights", "Flights to Rome from Paris"),
        ("direction", "狗咬了猫怎么办", "猫咬了狗怎么办"),
        ("direction", "Replace tabs with spaces", "Replace spaces with tabs"),
        ("direction", "Is Alice taller than Bob?", "Is Bob taller than Alice?"),
        ("entity", "北京到广州的高铁票价", "北京到杭州的高铁票价"),
        ("entity", "怎么查询快递", "怎么取消快递"),
        ("name", "How old is Marlowe now?", "How old is Webster now?"),
        ("name", "红米Note 12参数", "红米Note 12 Pro参数"),
        ("scope", "Show only admins", "Show all admins"),
        ("antonym", "删除所有照片", "删除部分照片"),
        ("question", "Why did the empire fall?", "When did the empire fall?"),
    ],
)
def test_guards_forbid_what_would_be_wrong(guard: str, a: str, b: str) -> None:
    """Each guard forbids what it is for, whichever of the two questions was first."""
    assert guard == against(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("怎么退款", "如何退款"),
        ("一百美元换多少人民币", "100美元等于多少元人民币"),
        ("3月8日是什么节", "三月八号是什么节日"),
        ("花呗怎么开通", "如何开通花呗"),
        ("能不能退货", "可以退货吗"),
        ("为什么登录不上", "为什么登不上去"),
        ("华为好还是小米好", "小米好还是华为好"),
        ("Is Rome nicer or Paris?", "Is Paris nicer or Rome?"),
        ("What's the difference between cats and dogs", "How do dogs and cats differ?"),
        ("How do I not get sick?", "How do I avoid getting sick?"),
        ("How can I disable it?", "How can I not enable it?"),
        ("What do Russians like?", "What does Russia like?"),
        ("1.5 kg of rice", "1500 g of rice"),
        ("Steps to enable 2-step login", "How to turn on two-step login"),
        ("一只猫", "哪只猫"),
        ("Flights from Oslo to Rome", "Oslo to Rome flights"),
        ("美国首都华盛顿", "华盛顿是美国首都吗"),
    ],
)
def test_guards_let_paraphrases_through(a: str, b: str) -> None:
    """Other words, orders, numerals and units for the same are let through."""
    assert against(a, b) is None


def test_guards_catch_most_traps_of_our_own() -> None:
    """Of pairs that differ in one thing that matters most are caught; of paraphrases none is."""
    lines = [line.split(" | ") for line in OWN.read_text(encoding="utf-8").splitlines() if " | " in line]
    pairs = [(a, b, label == "1") for a, b, label in lines if "a | b" not in f"{a} | {b}"]
    traps = [against(a, b) for a, b, is_same in pairs if not is_same]

    assert [] == [(a, b) for a, b, is_same in pairs if is_same and against(a, b)]
    assert sum(guard is not None for guard in traps) >= 0.88 * len(traps)


def test_a_guard_can_be_switched_off() -> None:
    """A guard that is switched off is not asked."""
    a, b = analysed("怎么开启自动续费"), analysed("怎么关闭自动续费")

    assert Guards().against(a, b) == "antonym"
    assert Guards(off=["antonym", "entity"]).against(a, b) is None
    assert Guards(off="antonym").against(analysed("x"), analysed(" X ")) is None


def test_words_can_be_added() -> None:
    """Own opposites and own kinds are forbidden by the guard of that name; words within words do not count."""
    guards = Guards(antonyms=[("合租", "整租")], kinds=[("basic", "team", "PRO")])

    assert "antonym" == guards.against(analysed("合租怎么申请"), analysed("整租怎么申请"))
    assert "entity" == guards.against(analysed("price of the pro plan"), analysed("price of the team plan"))
    assert guards.against(analysed("a procedure, a teamster"), analysed("a basic procedure")) is None
    assert guards.against(analysed("合租和整租"), analysed("整租")) is None
    assert Guards(off={"antonym"}, antonyms=[("合租", "整租")]).against(analysed("合租"), analysed("整租")) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"off": ["nmae"]}, "off must be names of guards"),
        ({"antonyms": ["ab"]}, "antonyms must be groups of two words or more, not 'ab'"),
        ({"kinds": [("a", " A ")]}, "kinds must be groups of two words or more"),
    ],
)
def test_what_guards_cannot_be_is_told(arguments: dict[str, Any], message: str) -> None:
    """A name that is none, and a group of one, are refused."""
    with pytest.raises(ConfigurationError, match=message):
        Guards(**arguments)


def test_guards_are_named() -> None:
    """The names come in the order in which the guards are asked."""
    assert "script" == GUARDS[0]
    assert {"number", "unit", "date", "version", "polarity", "antonym", "direction", "name", "output"} <= {*GUARDS}
