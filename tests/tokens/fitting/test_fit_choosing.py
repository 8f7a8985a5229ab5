from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.tokens.fitting.bm25 import scores, terms
from deepseek_sdk.tokens.fitting.choosing import by_score, ends, fused, shares
from deepseek_sdk.tokens.fitting.topics import cosine, depths, similarities, topic_starts


@pytest.mark.parametrize(
    ("sizes", "excess", "floor", "expected"),
    [
        ([100], 40, 0, [60]),
        ([100, 50], 40, 0, [60, 50]),
        ([100, 90, 10], 120, 0, [35, 35, 10]),
        ([100, 90, 10], 190, 20, [20, 20, 10]),
        ([100, 90], -5, 0, [100, 90]),
        ([10, 10], 50, 0, [0, 0]),
        ([], 5, 0, []),
    ],
)
def test_the_longest_are_cut_first(sizes: list[int], excess: int, floor: int, expected: list[int]) -> None:
    """All that are cut end at the same length, none below the floor."""
    assert expected == shares(sizes, excess, floor=floor)


@given(st.lists(st.integers(0, 500), min_size=1), st.integers(0, 5000))
def test_shares_are_enough(sizes: list[int], excess: int) -> None:
    """Without a floor, as much goes as has to, and hardly more."""
    kept = shares(sizes, excess, floor=0)

    assert max(0, sum(sizes) - excess) - len(sizes) <= sum(kept) <= max(0, sum(sizes) - excess)


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [(5, 5, "x---x"), (10, 9, "xx--x"), (0, 0, "-----"), (-3, 12, "---xx"), (50, 0, "xxxxx"), (15, 10, "xxxxx")],
)
def test_both_ends_are_kept(head: int, tail: int, expected: str) -> None:
    """Blocks are taken from both ends as long as there is room."""
    assert expected == marks(ends([5] * 5, head, tail))


def marks(chosen: list[bool]) -> str:
    """Write a choice down."""
    return "".join("x" if is_chosen else "-" for is_chosen in chosen)


@pytest.mark.parametrize(
    ("scored", "room", "expected"),
    [
        ({4: 1.0}, 40, "x---x----x"),
        ({4: 1.0, 6: 2.0}, 40, "x-----x--x"),
        ({}, 40, "xxx------x"),
        ({1: 5.0}, 40, "xxx------x"),
        ({4: 1.0}, 200, "xxxxxxxxxx"),
    ],
)
def test_best_blocks_of_the_middle_are_kept(scored: dict[int, float], room: int, expected: str) -> None:
    """Between pinned ends, what scores best is kept in its place; what is left lengthens the front."""
    rating = [scored.get(place, 0.0) for place in range(10)]

    assert expected == marks(by_score([10] * 10, rating, room, pinned=0.25, gap=5))


def test_ratings_are_fused_by_rank() -> None:
    """A block that two ratings like comes before one that only one likes best; what nobody likes has nothing."""
    total = fused([9.0, 5.0, 0.0, 0.0], [0.0, 0.4, 0.9, -1.0])

    assert 1 == total.index(max(total))
    assert 0.0 == total[3]
    assert [3.0, 1.0] == fused([3.0, 1.0])


def test_terms_are_words_and_pairs_of_characters() -> None:
    """Words are compared in lower case, Chinese by pairs of neighbouring characters."""
    assert ["the", "gpt4", "模型", "型号", "是", "v2"] == list(terms("The GPT4 模型号，是 v2!"))


@pytest.mark.parametrize(
    ("question", "best"),
    [("Which colour has the roof?", 1), ("水费是多少？", 2), ("roof", 1), ("tariff", 3), ("nothing shared", None)],
)
def test_rare_words_find_their_block(question: str, best: int | None) -> None:
    """The block that shares the rarest words with the question scores best."""
    blocks = ["The house has the door.", "The roof has a colour, red.", "每月水费三十元。", "The tariff of the house."]
    rating = scores(question, blocks)

    assert best == (rating.index(max(rating)) if max(rating) else None)


def test_no_blocks_have_no_scores() -> None:
    """Nothing is rated as nothing."""
    assert [] == scores("question", [])


def test_depths_are_measured_from_both_peaks() -> None:
    """How deep a place lies is what it takes to climb to the peaks on either side."""
    assert [0.0, 7.0, 0.0, 4.0, 0.0] == depths([5.0, 1.0, 4.0, 2.0, 4.0])


RAIN = ["Rain falls from clouds.", "Clouds hold rain and water.", "Water falls as rain.", "Rain and clouds and water."]
BREAD = ["Bread needs flour.", "Flour and yeast make bread.", "Yeast lets bread rise.", "Bread of flour and yeast."]


def test_topics_are_told_apart_by_their_words() -> None:
    """A topic begins where neighbours have the fewest words in common, whatever that is in numbers."""
    assert [0, 4] == [start for start in topic_starts([*RAIN, *BREAD]) if start in (0, 4)]
    assert max(range(7), key=depths(similarities_of([*RAIN, *BREAD])).__getitem__) + 1 == 4


def similarities_of(blocks: list[str]) -> list[float]:
    """Compare blocks by their words."""
    return similarities([dict.fromkeys(terms(block), 1.0) for block in blocks])


def test_topics_are_told_apart_by_vectors() -> None:
    """With an embedder its vectors are compared, though nothing is under a fixed threshold."""
    vectors = [[1.0, 0.01 * number] for number in range(5)] + [[0.9, 0.4 + 0.01 * number] for number in range(5)]
    starts = topic_starts([str(number) for number in range(10)], lambda texts: [vectors[int(text)] for text in texts])

    assert 5 in starts
    assert min(similarities([dict(enumerate(vector)) for vector in vectors], 1)) > 0.85


@pytest.mark.parametrize(("blocks", "starts"), [([], []), (["one"], [0]), (["same"] * 6, [0])])
def test_without_changes_there_is_one_topic(blocks: list[str], starts: list[int]) -> None:
    """A text that is the same all through, or too short, has no borders."""
    assert starts == topic_starts(blocks)


def test_nothing_is_like_nothing() -> None:
    """A vector without a direction is like no other."""
    assert 0.0 == cosine({}, {1: 1.0})
