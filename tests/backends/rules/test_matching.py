"""Which rule answers: tables, planted keywords, and a plain search to compare with."""

from __future__ import annotations

import random
import sys
import timeit
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules import Rule, RuleEngine
from deepseek_sdk.backends.rules.matching import Matcher
from deepseek_sdk.backends.rules.text import Normalizer, is_whole_word, trimmed
from deepseek_sdk.errors import MissingExtraError
from tests.backends.rules.conftest import wide

if TYPE_CHECKING:
    from collections.abc import Sequence

NORMALIZE = Normalizer()
ECHO = RuleEngine(
    [Rule("{0}{question}", patterns=[r".\W"]), Rule("{0}", keywords=["a", "的"]), Rule("{0}", phrases=["b", "是"])]
)
HAN, LATIN = "退款订单发票物流地址会员积分优惠券密码登录注册支付失败", "abcdefghij"


def winner(rules: Sequence[Rule], text: str) -> str | None:
    """Name the reply that a question gets."""
    match = Matcher(rules, NORMALIZE).match(NORMALIZE.question(text))
    return None if match is None else match.rule.reply


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Hi!", "phrase"),
        ("hi there", None),
        ("「你好」", "phrase"),
        ("i want my money back", "keyword"),
        ("MONEY   BACK", "keyword"),
        ("moneyback", None),
        ("我要退欵。", "keyword"),
        ("late with the bill", "group"),
        ("the bill", None),
        ("billed late", None),
        ("order 12-34", "pattern"),
        (wide("ORDER 7"), "pattern"),
        ("???", None),
        ("", None),
        (" \u200b", None),
    ],
)
def test_ways(text: str, reply: str | None) -> None:
    """Phrases are whole questions, keywords occur anywhere, groups together, and patterns are searched for."""
    rules = [
        Rule("phrase", phrases=["hi", "你好"]),
        Rule("keyword", keywords=["money back", "退款"]),
        Rule("group", keywords=[["bill", "late"]]),
        Rule("pattern", patterns=[r"order \d+"]),
    ]

    assert reply == winner(rules, text)


@pytest.mark.parametrize(
    ("rules", "reply"),
    [
        ([Rule("low", phrases="a b"), Rule("high", patterns="a", priority=1)], "high"),
        ([Rule("pattern", patterns="a b"), Rule("keyword", keywords="a"), Rule("phrase", phrases="a b")], "phrase"),
        ([Rule("pattern", patterns="a b"), Rule("keyword", keywords="a")], "keyword"),
        ([Rule("short", keywords="a"), Rule("long", keywords="a b")], "long"),
        ([Rule("one", keywords="a b"), Rule("two", keywords=[["a", "b"]])], "one"),
        ([Rule("short", patterns="a"), Rule("long", patterns="a.b")], "long"),
        ([Rule("first", keywords="a"), Rule("second", keywords="b")], "first"),
        ([Rule("first", patterns="a"), Rule("second", patterns="b")], "first"),
        ([Rule("first", phrases="a b!"), Rule("second", phrases="A B")], "first"),
        ([Rule("first", keywords="b"), Rule("second", keywords="b", priority=1)], "second"),
    ],
)
def test_who_wins(rules: list[Rule], reply: str) -> None:
    """The priority decides, then the way, then how much matches, then who stands first."""
    assert reply == winner(rules, "A b")


def test_how_it_matched() -> None:
    """A match tells the way, the text as it was written, and the groups that took part."""
    engine = RuleEngine(
        [Rule("{id}", patterns=[r"order (?P<id>\w+)(?P<rest> x)?"]), Rule("k", keywords=[["訂單", "late"]])]
    )
    by_pattern, by_keyword = engine.match(f"My ORDER  {wide('A')}b1."), engine.match("Late! 订单")

    assert by_pattern is not None
    assert by_keyword is not None
    assert ("pattern", f"ORDER  {wide('A')}b1", {"id": f"{wide('A')}b1"}) == (
        by_pattern.kind,
        by_pattern.text,
        dict(by_pattern.groups),
    )
    assert ("keyword", "订单 Late", {}) == (by_keyword.kind, by_keyword.text, dict(by_keyword.groups))


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.text(st.characters() | st.characters(categories=["Cs"]), max_size=40),
    st.sampled_from(["退款", "refund", "甚麼時候", "Money Back", wide("ABC"), "c++"]),
    st.text(max_size=40),
)
def test_planted_keywords_are_found(before: str, keyword: str, after: str) -> None:
    """A keyword is found wherever it stands between blanks, whatever else is said."""
    assert "found" == winner([Rule("found", keywords=[keyword])], f"{before} {keyword} {after}")


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_any_text_gets_an_answer(text: str) -> None:
    """No text is beyond the engine."""
    assert ECHO.answer(text).encode()


def some_word(chance: random.Random) -> str:
    """Make up a word, Chinese or English."""
    if chance.random() < 0.6:
        return "".join(chance.choices(HAN, k=chance.randint(2, 4)))
    return "".join(chance.choices(LATIN, k=chance.randint(2, 4)))


def some_rule(chance: random.Random, number: int) -> Rule:
    """Make up a rule of some kind."""
    kind = number % 4
    return Rule(
        str(number),
        phrases=[some_word(chance)] if kind == 0 else (),
        keywords=[some_word(chance) if kind == 1 else [some_word(chance), some_word(chance)]] if kind else (),
        patterns=[some_word(chance)] if number % 500 == 3 else (),
        priority=chance.randint(0, 2),
    )


def plain_rank(rule: Rule, index: int, text: str) -> list[tuple[int, int, int, int]]:
    """Rank a rule for a question, looking at everything it has, one by one."""
    occurring = [
        group
        for group in rule.keywords
        if all(
            any(is_whole_word(text, i, i + len(w)) for i in range(len(text)) if text.startswith(w, i)) for w in group
        )
    ]
    ranks = [(0, -len(phrase)) for phrase in rule.phrases if trimmed(NORMALIZE(phrase)) == trimmed(text)]
    ranks += [(1, -sum(map(len, set(group)))) for group in occurring]
    ranks += [(2, -len(pattern)) for pattern in rule.patterns if pattern in text]
    return [(-rule.priority, *rank, index) for rank in ranks]


@pytest.mark.slow
def test_ten_thousand_rules_take_less_than_a_millisecond() -> None:
    """The answer to a question of 200 characters is found in under a millisecond, in all but unlucky runs."""
    chance = random.Random(5)  # noqa: S311  repeatable
    matcher = Matcher([some_rule(chance, 4 * number + number % 3) for number in range(10_000)], NORMALIZE)
    text = "".join(some_word(chance) + chance.choice(["", " ", "的"]) for _ in range(100))[:200]

    assert matcher.match(NORMALIZE.question(text)) is not None
    assert min(timeit.repeat(lambda: matcher.match(NORMALIZE.question(text)), number=1, repeat=50)) < 1e-3


@pytest.mark.slow
def test_ten_thousand_rules_against_a_plain_search() -> None:
    """With 10,000 rules the same one wins as when each is looked at in turn."""
    chance = random.Random(4)  # noqa: S311  repeatable
    rules = [some_rule(chance, number) for number in range(10_000)]
    matcher = Matcher(rules, NORMALIZE)
    texts = [
        "".join(some_word(chance) + chance.choice(["", " "]) for _ in range(length)) for length in (1, 1, 4, 8, 12)
    ]
    texts += [rules[0].phrases[0], "没有 zzz"]

    for text in texts:
        ranks = [rank for index, rule in enumerate(rules) for rank in plain_rank(rule, index, NORMALIZE(text))]
        expected = str(min(ranks)[3]) if ranks else None
        match = matcher.match(NORMALIZE.question(text))
        assert expected == (None if match is None else match.rule.reply), text


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package that searches, the message says what to install."""
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)

    with pytest.raises(MissingExtraError, match=r"the rule engine needs .*deepseek-client-sdk\[rules\]"):
        RuleEngine()
