"""Signs of formulas and of code."""

from __future__ import annotations

import pytest

from deepseek_sdk.caching.matching.guards import guard_against
from deepseek_sdk.caching.matching.symbols import symbols_of
from deepseek_sdk.caching.matching.text import analysed

OTHER = [
    ("solve x+2=5", "solve x-2=5"),
    ("what does return x*2 do", "what does return x/2 do"),
    ("print(a+b) 是什么意思", "print(a-b) 是什么意思"),
    ("explain if (x == 1)", "explain if (x != 1)"),
    ("what is x && y", "what is x || y"),
    ("(1+2)*3 等于多少", "1+2*3 等于多少"),
    ("what is int *p", "what is int &p"),
    ("what is 12*13", "what is 12+13"),
    ("what is 10-3", "what is 10+3"),
    ("what does $x mean in shell", "what does #x mean in shell"),
    (":)", ":("),
    ("<=", ">="),
]
SAME = [
    ("What is 2+2?", "what is 2+2"),
    ("What is an all-in-one printer?", "What is an all in one printer?"),
    ("How much is it and/or when?", "how much is it and/or when"),
    ("R&D 是什么", "什么是 R&D"),
    ("(请问) 如何退款", "如何退款"),
]


@pytest.mark.parametrize("texts", OTHER)
def test_other_operators(texts: tuple[str, str]) -> None:
    """Formulas and code with other operators are other questions."""
    one, other = (analysed(text) for text in texts)

    assert guard_against(one, other) is not None
    assert guard_against(other, one) is not None


@pytest.mark.parametrize("texts", SAME)
def test_same_operators(texts: tuple[str, str]) -> None:
    """Blanks, hyphens within words and brackets of prose are no operators."""
    one, other = (analysed(text) for text in texts)

    assert guard_against(one, other) != "symbols"


def test_words_with_hyphens_have_none() -> None:
    """Prose has no operators."""
    assert () == symbols_of(analysed("a well-known (and free) state-of-the-art tool?"))
