"""How texts are counted, cut and remembered."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk.tokens import DeepSeekVocabulary, EstimatedVocabulary
from deepseek_sdk.tokens.borders import cut_for_counting
from deepseek_sdk.tokens.encoders import LONGEST_FAST, KitokenEncoder, TokenizersEncoder
from deepseek_sdk.tokens.golden import GOLDEN
from deepseek_sdk.tokens.memo import Memo, key_of_message, key_of_text, key_of_value
from deepseek_sdk.tokens.vocabulary import choose_vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.tokens.encoders import Encoder

FAST = DeepSeekVocabulary(encoders=[KitokenEncoder])
SURE = DeepSeekVocabulary(encoders=[TokenizersEncoder])
both = pytest.mark.parametrize("vocabulary", [FAST, SURE], ids=["kitoken", "tokenizers"])

# Blocks of Unicode that encoders disagree about: marks, widths, joiners, digits of other scripts, control characters.
BLOCKS = (
    (0x00, 0x7F), (0x80, 0x2FF), (0x300, 0x36F), (0x600, 0x6FF), (0x900, 0x97F), (0x2000, 0x206F), (0x2460, 0x24FF),
    (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFE00, 0xFEFF), (0xFF00, 0xFFEF), (0x1D400, 0x1D7FF),
    (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF), (0x10FF00, 0x10FFFF),
)  # fmt: skip


def odd_texts(count: int) -> list[str]:
    """Make texts of characters from anywhere."""
    chance = random.Random(11)  # noqa: S311  repeatable, not secret
    return [
        "".join(chr(chance.randint(*chance.choice(BLOCKS))) for _ in range(chance.randint(1, 30))) for _ in range(count)
    ]


@pytest.mark.slow
def test_encoders_agree() -> None:
    """The fast encoder gives the tokens of the sure one, also for 4,000 odd texts."""
    texts = odd_texts(4000)

    assert SURE.counts(texts) == FAST.counts(texts)
    assert [SURE.ids(text) for text in texts[:500]] == [FAST.ids(text) for text in texts[:500]]
    assert [SURE.pieces(text) for text in texts[:500]] == [FAST.pieces(text) for text in texts[:500]]


@both
def test_pieces_join(vocabulary: DeepSeekVocabulary) -> None:
    """Pieces are whole characters, join to the text, and add up to its tokens."""
    texts = [text for text, _, _ in GOLDEN] + odd_texts(50) + ["a\ud800b"]
    pieces = [vocabulary.pieces(text) for text in texts]

    assert texts == ["".join(piece.text for piece in cut) for cut in pieces]
    assert vocabulary.counts(texts) == [sum(piece.tokens for piece in cut) for cut in pieces]


@both
def test_stored_counts_are_met(vocabulary: DeepSeekVocabulary) -> None:
    """Both encoders give the counts by which they are judged."""
    assert [count for _, count, _ in GOLDEN] == vocabulary.counts([text for text, _, _ in GOLDEN])
    assert vocabulary.is_exact


def test_the_fast_encoder_is_chosen() -> None:
    """Where `kitoken` is installed, it counts."""
    vocabulary = choose_vocabulary()
    assert isinstance(vocabulary, DeepSeekVocabulary)

    assert "kitoken" == vocabulary.encoder


class Liar(KitokenEncoder):
    """An encoder that is off by one where there is a combining mark."""

    name = "liar"

    def counts(self, texts: list[str]) -> list[int]:
        """Count, nearly."""
        return [count + ("\u0301" in text) for text, count in zip(texts, super().counts(texts), strict=True)]


class Broken:
    """An encoder that does not load."""

    name = "broken"

    def __init__(self, vocabulary: str) -> None:
        raise OSError(len(vocabulary))


class Fragile(KitokenEncoder):
    """An encoder that fails at some text."""

    name = "fragile"

    def counts(self, texts: list[str]) -> list[int]:
        """Count, or fail."""
        if "boom" in texts:
            raise RuntimeError(texts)
        return super().counts(texts)


@pytest.mark.parametrize("maker", [Liar, Broken])
def test_encoders_that_cannot_be_believed(maker: Callable[[str], Encoder]) -> None:
    """One that does not load, or does not give the stored counts, is left out."""
    vocabulary = DeepSeekVocabulary(encoders=[maker, TokenizersEncoder])

    assert ("tokenizers", True) == (vocabulary.encoder, vocabulary.is_exact)


def test_an_encoder_that_fails_later() -> None:
    """One that fails at a text is not asked again."""
    vocabulary = DeepSeekVocabulary(encoders=[Fragile, TokenizersEncoder])
    before = vocabulary.encoder
    counts = vocabulary.counts(["boom", "x"])

    assert ("fragile", SURE.counts(["boom", "x"]), "tokenizers") == (before, counts, vocabulary.encoder)


class Measured(KitokenEncoder):
    """Remembers how long the longest text was that it was given."""

    longest = 0

    def counts(self, texts: list[str]) -> list[int]:
        """Count, and take note."""
        Measured.longest = max(Measured.longest, *map(len, texts))
        return super().counts(texts)


@pytest.mark.parametrize("text", [" ", "\t", "\u3000", "\x00", "\u200b", " a", "中"])
def test_a_long_run_does_not_end_the_process(text: str) -> None:
    """What is long and cannot be cut never gets to the fast encoder, which would end the process, nor as a whole."""
    run = text * (200_000 // len(text))
    believed = DeepSeekVocabulary(encoders=[TokenizersEncoder])
    vocabulary = DeepSeekVocabulary(encoders=[Measured, TokenizersEncoder])

    assert believed.counts([run, "x"]) == vocabulary.counts([run, "x"])
    assert believed.ids(run[:50_000]) == vocabulary.ids(run[:50_000])
    assert LONGEST_FAST >= Measured.longest
    (alone,) = DeepSeekVocabulary(encoders=[KitokenEncoder]).counts([run])
    assert abs(alone - believed.counts([run])[0]) <= 2 * (len(run) // LONGEST_FAST)


def test_a_vocabulary_of_another_model() -> None:
    """The last encoder is used whatever it gives, but then no count is exact."""
    vocabulary = DeepSeekVocabulary(encoders=[Liar])
    vocabulary.load()

    assert ("liar", False) == (vocabulary.encoder, vocabulary.is_exact)


@pytest.mark.parametrize("texts", [[], [""], ["", "x", ""]])
def test_empty_texts(texts: list[str]) -> None:
    """Texts without characters have no tokens."""
    assert [1 if text else 0 for text in texts] == FAST.counts(texts)


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["word", " word", "\n", "\r\n", "。", "，", "中文", ". ", "  ", "\t", "1234", "\x1c", "\u0301", "{"]
        ),
        st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5),
    ),
    max_size=60,
).map("".join)


@settings(deadline=None, max_examples=200)
@given(LINES, st.integers(min_value=0, max_value=20))
def test_borders_are_additive(text: str, size: int) -> None:
    """A text may be counted part by part: the tokens add up, in both encoders."""
    parts = list(cut_for_counting(text, size))

    assert text == "".join(parts)
    assert FAST.counts([text]) == [sum(FAST.counts(parts))] == SURE.counts([text]) == [sum(SURE.counts(parts))]


def test_long_texts_are_cut() -> None:
    """Parts are long enough to be worth a call, and short enough to cost little memory."""
    text = "The quick brown fox jumps over the lazy dog. " * 5000
    sizes = [len(part) for part in cut_for_counting(text)]

    assert 8192 <= min(sizes[:-1])
    assert max(sizes) < 8300


def test_estimates_are_plausible() -> None:
    """The estimate is of the order of the truth, and loses no character."""
    texts = ["Hello, world! " * 20, "深度求索推出了新的模型。" * 10]
    estimate = EstimatedVocabulary()

    assert all(
        0.5 < guessed / counted < 2 for guessed, counted in zip(estimate.counts(texts), SURE.counts(texts), strict=True)
    )
    assert texts == ["".join(piece.text for piece in estimate.pieces(text)) for text in texts]


def test_memo_is_bounded() -> None:
    """What is remembered never takes more than it may, and what is asked for again stays."""
    memo: Memo[int] = Memo(100_000)
    for number in range(2000):
        memo.put(f"{number} {'x' * 200}", number)
        memo.get(f"0 {'x' * 200}")

    assert 0 < len(memo) < 400
    assert (0, None) == (memo.peek(f"0 {'x' * 200}"), memo.peek(f"1 {'x' * 200}"))


def test_memo_keeps_no_long_text() -> None:
    """A long text is known by what tells it from others, not kept."""
    text = "x" * 1_000_000
    key = key_of_text(text)

    assert key == key_of_text("x" * 1_000_000)
    assert len(str(key)) < 200
    assert key != key_of_text("x" * 500_000 + "y" + "x" * 499_999)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": -1}, {"a": -2}),
        ({"a": "1"}, {"a": 1}),
        ({"a": ["b"]}, {"a": {"b": None}}),
        ({"a": None}, {}),
        ({"role": "user", "content": "x"}, {"role": "user", "content": ["x"]}),
        ({"role": "user", "content": "x"}, {"role": "user", "name": "x"}),
    ],
)
def test_keys_differ(one: Any, other: Any) -> None:
    """Values that are written differently have different keys."""
    assert key_of_value(one) != key_of_value(other)
    assert key_of_message(one) != key_of_message(other)
