from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.tokens.lengths import Quantiles
from deepseek_sdk.tokens.lengths.ordered import Ordered, coded
from deepseek_sdk.tokens.lengths.window import Window

lengths = st.lists(st.integers(0, 5000), min_size=31, max_size=80)
some = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=40)


def plain(values: list[int]) -> Ordered:
    """Make an order of lengths that were not cut."""
    return Ordered(map(coded, values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7], Quantiles(7, 7, 7)),
        ([1, 2], Quantiles(2, 2, 2)),
        ([3, 1, 2], Quantiles(2, 3, 3)),
        (list(range(1, 20)), Quantiles(10, 18, 19)),
        (list(range(1, 31)), Quantiles(16, 28, 30)),
        (list(range(1, 501)), Quantiles(251, 451, 476)),
        ([0] * 500, Quantiles(0, 0, 0)),
    ],
)
def test_the_place_of_a_quantile(values: list[int], expected: Quantiles) -> None:
    """The quantile p of n lengths is the one at place ceil((n + 1) p), or the last one."""
    assert expected == plain(values).quantiles()


@pytest.mark.slow
@given(lengths)
def test_coverage_is_what_was_promised(values: list[int]) -> None:
    """Whichever of some lengths comes last, over all of them the share that the others foretell is p or more."""
    foretold = [plain(values[:place] + values[place + 1 :]).quantiles() for place in range(len(values))]
    for percent, name in ((50, "p50"), (90, "p90"), (95, "p95")):
        covered = sum(value <= getattr(told, name) for value, told in zip(values, foretold, strict=True))

        assert 100 * covered >= percent * len(values)


@pytest.mark.slow
@given(st.permutations(range(1, 41)))
def test_coverage_is_not_much_more(values: list[int]) -> None:
    """Where no two lengths are the same, the share is p to within one length."""
    foretold = [plain(values[:place] + values[place + 1 :]).quantiles().p90 for place in range(len(values))]

    assert 36 == sum(value <= told for value, told in zip(values, foretold, strict=True))


def naive(values: list[tuple[int, bool]], percent: int) -> int:
    """Move the weight of each cut length to all that stand behind it, in equal parts; then add up."""
    ordered = sorted(values)
    weights = [Fraction(1)] * len(ordered)
    for place, (_, is_cut) in enumerate(ordered):
        behind = len(ordered) - place - 1
        if is_cut and behind:
            for later in range(place + 1, len(ordered)):
                weights[later] += weights[place] / behind
        weights[place] = Fraction(0) if is_cut else weights[place]
    wanted, mass = min(-(-(len(ordered) + 1) * percent // 100), len(ordered)), Fraction(0)
    for (value, _), weight in zip(ordered, weights, strict=True):
        mass += weight
        if mass >= wanted:
            return value
    return ordered[-1][0]


@pytest.mark.slow
@given(some)
def test_cut_lengths_count_as_at_least_so_much(values: list[tuple[int, bool]]) -> None:
    """Quantiles are those of Kaplan and Meier; the longest length stands for what nobody has seen the end of."""
    told = Ordered(coded(value, is_cut=is_cut) for value, is_cut in values).quantiles()

    assert Quantiles(*(naive(values, percent) for percent in (50, 90, 95))) == told


def test_answers_cut_at_a_limit_do_not_pull_estimates_down() -> None:
    """Of a hundred answers, a third of them cut at 100 tokens, the quantiles are those of the others that went on."""
    whole, cut = [coded(value) for value in range(1, 101)], [coded(100, is_cut=True)] * 50
    beyond = [coded(value) for value in range(101, 201)]

    assert Ordered(whole + cut).quantiles() == Quantiles(76, 100, 100)
    assert Ordered(whole + cut + beyond).quantiles().p50 > Ordered(whole + beyond).quantiles().p50


def test_what_was_cut_before_it_began_says_nothing() -> None:
    """Content that a limit left no room for changes no quantile of content."""
    content = [coded(value) for value in range(1, 101)]

    assert plain(list(range(1, 101))).quantiles().p50 == Ordered(content + [coded(0, is_cut=True)] * 20).quantiles().p50


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(-5, 30), st.booleans()), min_size=1, max_size=60))
def test_a_window_is_the_last_values(values: list[tuple[int, bool]]) -> None:
    """A window knows the last values in their order, and its quantiles are theirs."""
    window = Window(size=20)
    for value, is_cut in values:
        window.add(coded(value, is_cut=is_cut))
    last = [(max(value, 0), is_cut) for value, is_cut in values][-20:]

    assert last == window.values()
    assert (len(last), sum(is_cut for _, is_cut in last)) == (len(window), window.cut)
    assert Ordered(coded(value, is_cut=is_cut) for value, is_cut in last).quantiles() == window.quantiles()


def test_a_window_mends_what_an_exception_left_half_done() -> None:
    """Where a change was broken off, as by Ctrl-C, the next one that finds out puts the order right."""
    window = Window(size=4)
    for value in (10, 20, 30, 40):
        window.add(coded(value))
    window._ordered = plain([20, 30, 40])
    window.add(coded(50))

    assert (4, Quantiles(40, 50, 50)) == (len(window._ordered), window.quantiles())


def test_an_absurd_length_is_a_long_one() -> None:
    """A server that says it wrote 10^30 tokens breaks nothing."""
    assert 100_000_000 == Ordered([coded(10**30)]).quantiles().p50
