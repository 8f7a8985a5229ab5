"""Who does what to whom, from where to where, and letters and signs that are names."""

from __future__ import annotations

import pytest

from deepseek_sdk.caching.matching.guards import guard_against
from deepseek_sdk.caching.matching.text import analysed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("哪个航班从北京到上海", "哪个航班从上海到北京"),
        ("谁从北京去了上海", "谁从上海去了北京"),
        ("Compare prices: train from Rome to Oslo", "Compare prices: train from Oslo to Rome"),
        ("What is the difference when I convert USD to EUR?", "What is the difference when I convert EUR to USD?"),
        ("How do I go from A to B?", "How do I go from B to A?"),
        ("从A到B怎么走", "从B到A怎么走"),
        ("O型血能输给A型血吗", "A型血能输给O型血吗"),
        ("Does A imply B?", "Does B imply A?"),
        ("Subtract A from B", "Subtract B from A"),
        ("How do I cast a to b?", "How do I cast b to a?"),
        ("How do I transfer money to my bank account?", "How do I transfer money from my bank account?"),
        ("How do I export contacts to Gmail?", "How do I export contacts from Gmail?"),
        ("怎么从云盘导入照片", "怎么导入照片到云盘"),
        ("Buy a gift for my mother", "Buy a gift from my mother"),
        ("How do I vote for Smith?", "How do I vote against Smith?"),
        ("Delivery within 3 days", "Delivery after 3 days"),
        ("Complaints about staff", "Complaints by staff"),
        ("我欠房东钱怎么办", "房东欠我钱怎么办"),
        ("客户投诉我怎么办", "我投诉客户怎么办"),
        ("谁教了柏拉图", "柏拉图教了谁"),
        ("Can my tenant evict me?", "Can I evict my tenant?"),
        ("Is my doctor allowed to record me?", "Am I allowed to record my doctor?"),
        ("What do I owe you?", "What do you owe me?"),
        ("Can you see my messages?", "Can I see your messages?"),
        ("Why did he hit her?", "Why did she hit him?"),
        ("Who did Brutus betray?", "Who betrayed Brutus?"),
        ("Which companies own Disney?", "Which companies does Disney own?"),
        ("What did Alice tell Bob?", "What did Bob tell Alice?"),
    ],
)
def test_what_is_turned_round(one: str, other: str) -> None:
    """With letters, pronouns and names, in both languages, with both ends of a way or with one."""
    assert {"direction"} == {
        guard_against(analysed(one), analysed(other)),
        guard_against(analysed(other), analysed(one)),
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is a B tree?", "What is a B+ tree?"),
        ("B树和B+树的区别", "B树和B-树的区别"),
        ("What is Disney?", "What is Disney+?"),
        ("Is A+ better than A?", "Is A- better than A?"),
        ("What is the A* algorithm?", "What is the A algorithm?"),
        ("Is -5 an integer?", "Is 5 an integer?"),
    ],
)
def test_signs_that_belong_to_a_name(one: str, other: str) -> None:
    """A name, a letter or a number with a sign is another one."""
    assert {"symbols"} == {guard_against(analysed(one), analysed(other)), guard_against(analysed(other), analysed(one))}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Who is IT?", "Who is it?"), ("What does US mean?", "What does us mean?"), ("Is WHO right?", "Is who right?")],
)
def test_capitals_that_are_a_name(one: str, other: str) -> None:
    """Words without content are names in capitals, unless all is in capitals."""
    assert {"name"} == {guard_against(analysed(one), analysed(other)), guard_against(analysed(other), analysed(one))}
    assert guard_against(analysed(one.upper()), analysed(other)) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How far is it from Rome to Oslo?", "How far is it from Oslo to Rome?"),
        ("北京到上海的距离", "上海到北京的距离"),
        ("买百度好还是谷歌好", "买谷歌好还是百度好"),
        ("Is tea or coffee better?", "Is coffee or tea better?"),
        ("Is this a book?", "Is this the book?"),
        ("Can you tell me how to reset a password", "how to reset a password, can you tell me"),
        ("What is Disney+?", "What is Disney plus?"),
        ("怎么给我的手机充值", "我的手机怎么充值"),
        ("How does e-commerce work?", "How does e- commerce work?"),
    ],
)
def test_what_only_looks_turned(one: str, other: str) -> None:
    """What is the same both ways round, and articles, particles and hyphens, stand against nothing."""
    assert guard_against(analysed(one), analysed(other)) is None
