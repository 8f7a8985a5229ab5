"""Regular expressions whose own characters have another form in the text that they look at."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.backends.rules import Rule, RuleEngine
from deepseek_sdk.backends.rules.patterns import compiled, problem_in_pattern
from deepseek_sdk.backends.rules.text import Normalizer
from deepseek_sdk.errors import ConfigurationError
from tests.backends.rules.conftest import wide

NORMALIZE = Normalizer()
# Each is another text in normal form: one character for several, several for one, a digit, half a syntax.
ODD = ("ß", "…", "㎡", "№", "½", "ﬁ", "①", "İ", "體", wide("A1{["), "ｶﾞ", "ﾊﾟ", "e\u0301", "か\u3099", "㈱", "K")


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
        (r"^[\u4e00-\u9fa5]+$", "中文"),
        ("(?<=訂)單", "訂單"),
        (f"訂單-[{wide('A')}]", "订单-a"),
        (r"[\]體]x", "體x"),
        (r"\bREFUND\b", "a refund"),
        ("^straße$", "STRASSE"),
        ("^ß{2}$", "ssss"),
        ("(?<=ß)a", "ßa"),
        ("等…+好", "等……好"),
        (r"\d+㎡", "30㎡"),
        (r"№ ?(\d+)", "No 5"),
        (r"\№5", "№5"),
        (r"\u9ad4\U0000ff21\xdf", "体ass"),
        (r"[\u9ad4]\x41", "體A"),
        ("^{①}$", "{1}"),
        (f"^a{{2,{wide('3')}}}$", "a{2,3}"),
        (r"(a)\1" + wide("1"), "aa1"),
        (rf"[\0{wide('1')}]", "1"),
        (wide("[x]") + "{2}", "[x]]"),
        (f"^[{wide('0')}-{wide('9')}]+$", wide("12") + "3"),
        (f"^[^{wide('0')}-{wide('9')}]$", "x"),
        (f"^[{wide('A')}-{wide('F')}_-]+$", "b_-F"),
        ("[-" + wide("A") + "]", "a"),
        ("^ｶﾞ+$", "ガガ"),
        ("[ｶﾞ]$", "ガ"),
        ("^e\u0301{2}$", "éé"),
        ("(?#…)(?x) ß # ß…", "ss"),
        ("a\u200b+b", "ab"),
        (r"a[\s\u200b]+b", "a b"),
    ],
)
def test_patterns_see_normal_text(pattern: str, text: str) -> None:
    """The characters of a pattern are those of normal text; ranges, groups and repetitions mean what they did."""
    re.compile(pattern)

    assert compiled(pattern, NORMALIZE).search(NORMALIZE(text))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (f"^[^{wide('0')}-{wide('9')}]$", wide("1")),
        ("^ß{2}$", "sss"),
        ("^{①}$", "{{"),
        (f"^a{{2,{wide('3')}}}$", "aaa"),
        ("№$", "n"),
    ],
)
def test_patterns_match_no_more_than_before(pattern: str, text: str) -> None:
    """What a pattern excludes stays excluded."""
    assert compiled(pattern, NORMALIZE).search(NORMALIZE(text)) is None


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.sampled_from([*ODD, *"ab1-{}[]()\\.,+*?|^$"]), min_size=1).map("".join))
def test_any_literal_is_found(text: str) -> None:
    """A pattern that is a text finds that text, whatever its characters become."""
    assert compiled(re.escape(text), NORMALIZE).search(NORMALIZE(text))


@pytest.mark.slow
def test_characters_that_change_are_found() -> None:
    """A pattern of one character finds what that becomes, alone and repeated."""
    changing = [chr(code) for code in range(0x80, 0x20000) if not 0xD800 <= code < 0xE000]
    changing = [char for char in changing if char not in {NORMALIZE.characters(char), " "}]
    chosen = random.Random(3).sample(changing, 1000)  # noqa: S311  repeatable

    assert [] == [c for c in chosen if not compiled(f"^{c}{{2}}$", NORMALIZE).search(2 * NORMALIZE.characters(c))]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")
@settings(deadline=None, max_examples=500)
@given(
    st.lists(st.sampled_from([*ODD, *"ab1-{}[]()\\.,+*?|^$:=<P>", r"\d", "[^", "(?:", "(?<="]), max_size=8).map("".join)
)
def test_a_pattern_is_used_or_refused(source: str) -> None:
    """Whatever `re` accepts becomes an expression, or an error that says why not; nothing else can come of it."""
    try:
        re.compile(source)
    except re.error:
        return
    problem = problem_in_pattern(source, NORMALIZE)

    assert problem is None or problem.startswith(("has ", "cannot be used on normalised text, where it is "))


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            "[。…]$",
            "has '…' in brackets, which stand for one character, but it is compared as '...': write (?:…|[...])",
        ),
        ("[^ß]", "has 'ß' in brackets, which stand for one character, but it is compared as 'ss': write (?:ß|[...])"),
        (r"[\xdf]", "has 'ß' in brackets"),
        (
            "(?<=ß|a)b",
            "cannot be used on normalised text, where it is '(?<=(?:ss)|a)b': look-behind requires fixed-width",
        ),
    ],
)
def test_patterns_that_cannot_be_used(pattern: str, message: str) -> None:
    """A pattern that normal text has no equal of is refused by rule and place, with all others."""
    fine, odd = Rule("a", patterns=["fine"]), Rule("reply", patterns=["fine", pattern])
    with pytest.raises(ConfigurationError) as caught:
        RuleEngine([fine, odd, Rule("b", patterns=[pattern], name="named")])
    first, second = str(caught.value).split("\n")

    assert first.startswith(f"rule 'reply': patterns[1] {message}")
    assert second.startswith("rule 'named': patterns[0] ")


def test_case_decides() -> None:
    """Where case matters, a letter that is two in lower case is one, and may stand in brackets."""
    rule = Rule("hit", patterns=["^[ß]$"])

    assert "hit" == RuleEngine([rule], case_sensitive=True).answer("ß")
    with pytest.raises(ConfigurationError, match="in brackets"):
        RuleEngine([rule])


def test_names_of_groups_stay() -> None:
    """The name of a group is as it was written: replies call it so."""
    assert ["訂單"] == list(compiled("(?P<訂單>單)", NORMALIZE).groupindex)


def test_replies_quote_what_became_longer() -> None:
    """What a pattern with such characters matched is quoted as it was written."""
    engine = RuleEngine([Rule("{size} of {0}", patterns=[r"(?P<size>\d+㎡)…"])])

    assert "30㎡ of 30㎡…" == engine.answer("Only 30㎡… really")
