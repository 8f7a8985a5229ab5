from __future__ import annotations

import pytest

from deepseek_sdk.caching.matching.differences import Difference, Span, difference, edit_distance, spans
from deepseek_sdk.caching.matching.text import analysed


def compared(a: str, b: str) -> Difference:
    """Compare two questions."""
    return difference(analysed(a), analysed(b))


def test_equal_questions_do_not_differ() -> None:
    """A question has everything in common with itself."""
    found = compared("怎么开通花呗", "怎么开通花呗")

    assert (1.0, 1.0, 1.0, 1.0) == (
        found.token_jaccard,
        found.content_jaccard,
        found.bigram_jaccard,
        found.length_ratio,
    )
    assert found.same_content
    assert (0, 0, 0.0, 0.0) == (found.replaced, found.inserted, found.missing_most, found.missing_least)


def test_one_word_for_another_is_a_single_substitution() -> None:
    """Where one word stands for another, how far apart they are is told."""
    found = compared("Side effects of metformin", "Side effects of methotrexate")

    assert (True, True, False) == (found.single_substitution, found.pure_substitution, found.single_insertion)
    assert len("methotrexate") - 1 == found.substitution_length  # its stem
    assert 0 < found.substitution_distance < 1


def test_substitutions_with_other_function_words_are_not_pure() -> None:
    """A substitution is pure only where all the rest is the same as well."""
    found = compared("苏州有什么好吃的", "宿州有哪些好吃的")

    assert (True, False) == (found.single_substitution, found.pure_substitution)


def test_one_word_more_is_a_single_insertion() -> None:
    """Where one question has a word more, that is an insertion."""
    found = compared("红米Note参数", "红米Note Pro参数")

    assert (True, True, False, 3) == (
        found.single_insertion,
        found.pure_insertion,
        found.single_substitution,
        found.substitution_length,
    )


def test_words_in_another_order_are_told() -> None:
    """The same words in another order are the same content."""
    found = compared("python怎么反转列表", "列表怎么反转python")

    assert found.other_order
    assert found.same_content


def test_what_the_guards_see_is_told_softly() -> None:
    """Numbers, dates, names, negations, forms, questions and scripts that differ are told."""
    numbers = compared("100美元", "1000美元")
    rest = compared("Why does Bob not go on Monday in JSON", "When does Eve go on Friday")

    assert (2, True) == (numbers.numbers, numbers.numbers_swapped)
    assert (2, True, True, True, True) == (rest.dates, rest.negation, rest.asks, rest.question, rest.names_swapped)
    assert compared("How are you", "你好吗").script


def test_a_question_without_letters_can_be_compared() -> None:
    """Nothing is like nothing, and unlike something."""
    assert 1.0 == compared("", "").content_jaccard
    assert (0.0, 0.0) == (compared("", "a house").token_jaccard, compared("", "a house").length_ratio)


def test_places_are_the_same_turned_round() -> None:
    """The places of two sequences do not depend on which comes first."""
    one, other = [*"abcdef"], [*"bcxefag"]

    assert tuple(Span(there, here) for here, there in spans(other, one)) == spans(one, other)
    assert len(spans(one, other)) > 1


def test_long_sequences_are_one_place() -> None:
    """Aligning takes too long for long sequences."""
    one, other = [str(n) for n in range(300)], [str(n) for n in range(1, 400, 2)]

    assert 1 == len(spans(one, other))


@pytest.mark.parametrize(("left", "right", "edits"), [("kitten", "sitting", 3), ("", "ab", 2), ("a", "a", 0)])
def test_edits_are_counted(left: str, right: str, edits: int) -> None:
    """An edit puts a character in, leaves it out, or replaces it."""
    assert edits == edit_distance(left, right)
