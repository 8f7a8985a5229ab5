"""How text becomes tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.testing import DeepSeekVocabulary, EstimatedVocabulary
from deepseek_sdk.testing.vocabulary import choose_vocabulary, special_id

if TYPE_CHECKING:
    from pathlib import Path

    from deepseek_sdk.testing import Vocabulary

TEXTS = ["", "Hello, world.", "深度求索 is a company", "🙂龘𠀀x", "<｜User｜><think>", "  spaces\n\n\tand 12345 digits"]


@pytest.fixture(params=["exact", "estimated"])
def either(request: pytest.FixtureRequest, vocabulary: Vocabulary) -> Vocabulary:
    """Run the test with both vocabularies."""
    return vocabulary if request.param == "exact" else EstimatedVocabulary()


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_the_text(either: Vocabulary, text: str) -> None:
    """Pieces are whole characters that join to the text, and their tokens add up to its ids."""
    pieces = either.pieces(text)

    assert text == "".join(piece.text for piece in pieces)
    assert len(either.ids(text)) == sum(piece.tokens for piece in pieces)


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_text_gives_the_same_ids(either: Vocabulary, text: str) -> None:
    """Ids depend on the text alone, and no special token shares one."""
    assert list(either.ids(text)) == list(either.ids(text))
    assert special_id("<think>") not in either.ids(text)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_cut_into_itself(text: str) -> None:
    """The estimate loses no character of any text."""
    assert text == "".join(piece.text for piece in EstimatedVocabulary().pieces(text))


def test_special_spellings_are_plain_text(vocabulary: Vocabulary) -> None:
    """A special token's spelling in a text is not the special token."""
    assert len(vocabulary.ids("<think>")) == 3


def test_the_memo_forgets_when_full() -> None:
    """A vocabulary does not remember without bound."""
    from deepseek_sdk.testing import vocabulary as module  # noqa: PLC0415

    memo: module._Memo[int] = module._Memo()
    memo.put("a" * 1000, 1)
    memo.put("b" * module._MEMO_CHARACTERS, 2)

    assert (None, 2) == (memo.get("a" * 1000), memo.get("b" * module._MEMO_CHARACTERS))


def test_the_installed_vocabulary_is_chosen() -> None:
    """Where the packages are, the counts are exact."""
    assert choose_vocabulary().is_exact
    assert not EstimatedVocabulary().is_exact


def test_a_strange_file_is_refused(tmp_path: Path) -> None:
    """A file that is no tokenizer of the known shape is an error, not wrong counts."""
    path = tmp_path / "tokenizer.json"
    path.write_text("{}", encoding="utf-8")

    with pytest.raises(ValueError, match="no list of added tokens"):
        DeepSeekVocabulary(path).load()
