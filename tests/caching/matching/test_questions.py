from __future__ import annotations

import pytest

from deepseek_sdk.caching.matching.numerals import chinese_value
from deepseek_sdk.caching.matching.stem import stem
from deepseek_sdk.caching.matching.text import analysed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＰＩ是什么？", "API是什么?"),
        ("  How   do I\nreset it ", "how do i reset it"),
        ("簡體中文測試怎麼做", "简体中文测试怎么做"),
        ("What\u2019s \u201cDNS\u201d \u2014 really", 'what\'s "dns" - really'),
        ("《三体》、《活着》。", '"三体","活着".'),
    ],
)
def test_ways_to_write_a_question_are_one(one: str, other: str) -> None:
    """Widths, capitals, blanks, punctuation and traditional characters make no difference."""
    assert analysed(other).normal == analysed(one).normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("三天", "3天"),
        ("两百块钱", "200元"),
        ("1.5万", "15000"),
        ("一万八", "18000"),
        ("百分之五十", "50%"),
        ("五百克", "0.5 kg"),
        ("1小时", "60 minutes"),
        ("两周", "14 days"),
        ("半年", "6个月"),
        ("两年半", "30 months"),
        ("a dozen eggs", "12 eggs"),
        ("two hundred and fifty", "two hundred and fifty"),
        ("twenty-five dollars", "$25"),
        ("three thousand two hundred", "3,200"),
        ("一百二", "120"),
        ("一亿两千万", "120000000"),
        ("第二章", "chapter two"),
        ("5k", "5000"),
        ("30 degrees Celsius", "30摄氏度"),
        ("one hour", "60 min"),
        ("3.0", "3"),
    ],
)
def test_numbers_are_read_with_their_units(one: str, other: str) -> None:
    """A number is the same in words, in digits, in Chinese, and in another unit of its kind."""
    left, right = ([(number.base, number.unit) for number in analysed(text).numbers] for text in (one, other))

    assert left
    assert [base for base, _ in right] == [base for base, _ in left] or left == right


@pytest.mark.parametrize(
    "text",
    [
        "一下",
        "一个问题",
        "十分好",
        "三星",
        "千万别去",
        "统一",
        "四川",
        "which one",
        "as one thing",
        "百度一下",
        "不一定",
        "万一",
    ],
)
def test_words_that_hold_a_numeral_are_no_numbers(text: str) -> None:
    """What is written with a numeral, and counts nothing, is no number."""
    assert () == analysed(text).numbers


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("2024年5月1日", ("day1", "month5", "year2024")),
        ("三月八号", ("day8", "month3")),
        ("May 1, 2024", ("day1", "month5", "year2024")),
        ("the 3rd of March", ("day3", "month3")),
        ("12 May", ("day12", "month5")),
        ("in March", ("month3",)),
        ("You may march on", ()),
        ("周三的会", ("weekday3",)),
        ("Monday", ("weekday1",)),
        ("next Monday", ("weekday1+1",)),
        ("last year", ("year-1",)),
        ("去年", ("year-1",)),
        ("上个月", ("month-1",)),
        ("Q3 revenue", ("quarter3",)),
        ("第三季度", ("quarter3",)),
        ("in 2024", ("year2024",)),
        ("$2024", ()),
        ("a 2000-word text", ()),
        ("2,024 files", ()),
        ("PS2000", ()),
    ],
)
def test_dates_are_read(text: str, dates: tuple[str, ...]) -> None:
    """Parts of dates are found in both languages, and money and versions are none."""
    assert dates == analysed(text).dates


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("不能吃", 1),
        ("没有发货", 1),
        ("收不到验证码", 1),
        ("不到30天", 0),
        ("是不是要交税", 0),
        ("能不能退", 0),
        ("有没有用", 0),
        ("有没比这好看的", 0),
        ("好吃不", 0),
        ("到了没有", 0),
        ("这不是你的吗", 0),
        ("不错的手机", 0),
        ("差不多", 0),
        ("非洲", 0),
        ("Why doesn't it pass?", 1),
        ("I can't", 1),
        ("cannot be never", 2),
        ("travel without a visa", 1),
        ("Is it real or not?", 0),
    ],
)
def test_negations_are_found_where_they_negate(text: str, count: int) -> None:
    """Words of negation count; those of a choice, and parts of other words, do not."""
    assert count == len(analysed(text).negations)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Does Python 3.11 run on macOS?", ("python", "macos", "python 3.11")),
        ("Vue2 怎么写", ("vue", "vue 2")),
        ("Is C++ fast", ("c++",)),
        ("How does node.js work", ("node.js",)),
        ("What is vitamin D", ("D",)),
        ("How To Reset My Password In Outlook Express", ()),
        ("HOW DO I DO THIS", ()),
        ("in the U.S. now", ("u.s",)),
    ],
)
def test_names_are_found(text: str, names: tuple[str, ...]) -> None:
    """Capitals inside a sentence, odd spellings and Latin words in Chinese are names; those of a title are not."""
    assert names == analysed(text).names


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Reply in English: what is TCP?", (("language", "中文"),)),
        ("用表格列出四大名著", (("format", "表格"),)),
        ("Write a summary in 100 words", (("length", "100 word"), ("task", "write"))),
        ("请翻译这句话", (("task", "translate"),)),
        ("用python写冒泡排序", (("code", "python"),)),
        ("how are you", ()),
    ],
)
def test_what_the_answer_is_to_be_is_found(text: str, asks: tuple[tuple[str, str], ...]) -> None:
    """The language, format, length and task that a question names are found."""
    found = analysed(text).asks

    assert [what for what, _ in asks] == [what for what, _ in found]
    assert [said for what, said in asks if what != "language"] == [said for what, said in found if what != "language"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("为什么下雨", "why"),
        ("什么时候下雨", "when"),
        ("Who made it", "who"),
        ("How long does it take", "duration"),
        ("How many are there", "number"),
        ("When and where is it", ""),
        ("Do it", ""),
    ],
)
def test_what_is_asked_for_is_found(text: str, question: str) -> None:
    """The word of the question says what is asked for, if only one does."""
    assert question == analysed(text).question


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("怎么退款", "zh"),
        ("python怎么反转列表", "zh"),
        ("How do I say 你好 in English, please", "en"),
        ("用 pandas merge dataframe", "mixed"),
        ("как дела", "other"),
        ("1 + 1", ""),
        ("ок 12", "other"),
    ],
)
def test_the_script_is_told(text: str, script: str) -> None:
    """A name of another script makes no mixture."""
    assert script == analysed(text).script


def test_identifiers_are_not_multiplied() -> None:
    """What has two points is a version, and no number of thousands."""
    assert ["1.2.3"] == [number.value for number in analysed("build 1.2.3k").numbers]


def test_phrases_are_one_token_and_unknown_characters_one_each() -> None:
    """Known phrases and words are kept whole; characters of unknown words are tokens by themselves."""
    assert ("turn_on", "the", "light") == analysed("Turn on the lights").tokens
    assert ("苏州", "园", "林") == analysed("苏州园林").tokens


def test_synonyms_have_one_content() -> None:
    """Content is told by the word that stands for a meaning, without words that carry none."""
    assert analysed("How do I enable it").content == analysed("how to turn on it").content
    assert analysed("请问怎么开通花呗？").content == analysed("如何打开花呗").content


def test_long_texts_are_cut() -> None:
    """What goes beyond 2,000 characters is not looked at."""
    assert 2000 == len(analysed("好" * 5000).normal)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cities", "city"),
        ("uploads", "upload"),
        ("uploading", "upload"),
        ("stopped", "stop"),
        ("installing", "install"),
        ("tried", "try"),
        ("boxes", "box"),
        ("class", "class"),
        ("children", "child"),
        ("updating", "updat"),
        ("update", "updat"),
        ("free", "free"),
        ("sing", "sing"),
        ("bus", "bus"),
        ("año", "año"),
    ],
)
def test_words_are_stemmed_lightly(word: str, expected: str) -> None:
    """Plurals and the endings of verbs are cut off; short words stay as they are."""
    assert expected == stem(word)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("十二", 12),
        ("二零二四", 2024),
        ("三点五", 3.5),
        ("一百零五", 105),
        ("一万零八", 10008),
        ("千万", None),
        ("", None),
    ],
)
def test_chinese_numbers_have_values(text: str, value: float | None) -> None:
    """A Chinese number is read by places, or digit by digit."""
    assert value == chinese_value(text)
