from __future__ import annotations

import os
import threading
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepseek_sdk._usage import Usage
from deepseek_sdk.tokens.lengths import LengthKey, LengthTracker, Quantiles, SecondsEstimate, Shares
from deepseek_sdk.tokens.lengths.prior import assumed

KEY = LengthKey("deepseek-flash", "high", "summary")


def usage(content: int, reasoning: int = 0) -> Usage:
    """Make a usage block of an answer."""
    return Usage(hit=0, miss=100, output=content + reasoning, reasoning=reasoning)


def fill(tracker: LengthTracker, key: LengthKey, count: int, content: int, reasoning: int = 0) -> None:
    """Note some answers that are all as long."""
    for _ in range(count):
        tracker.note(key, usage(content, reasoning), "stop")


def expected_of(tracker: LengthTracker, key: LengthKey) -> Any:
    """Ask what answers of a key are expected to be."""
    return tracker.expect(**key._asdict())


def test_reasoning_and_content_are_told_apart() -> None:
    """An estimate has quantiles of both and of their sum, and says what it is drawn from."""
    tracker = LengthTracker()
    for number in range(1, 101):
        tracker.note(KEY, usage(number, 2 * number), "stop")
    told = expected_of(tracker, KEY)

    assert (Quantiles(102, 182, 192), Quantiles(51, 91, 96)) == (told.reasoning, told.content)
    assert (Quantiles(153, 273, 288), 100, "template", 0) == (told.total, told.samples, told.source, told.cut)


@pytest.mark.parametrize(
    ("templates", "models", "modes", "expected"),
    [
        (0, 0, 0, ("prior", assumed("high").total.p50)),
        (29, 0, 0, ("prior", assumed("high").total.p50)),
        (30, 0, 0, ("template", 10)),
        (29, 1, 0, ("model", 10)),
        (0, 30, 0, ("model", 20)),
        (1, 0, 29, ("prior", 30)),
        (1, 28, 1, ("prior", 20)),
        (1, 28, 0, ("prior", assumed("high").total.p50)),
        (30, 500, 500, ("template", 10)),
    ],
)
def test_the_narrowest_level_that_has_seen_enough_is_asked(
    templates: int, models: int, modes: int, expected: tuple[str, int]
) -> None:
    """Below 30 answers a template is estimated like its model, a model like its mode, a mode by an assumption."""
    tracker = LengthTracker()
    fill(tracker, LengthKey("other", "high", "summary"), modes, 30)
    fill(tracker, LengthKey("deepseek-flash", "high"), models, 20)
    fill(tracker, KEY, templates, 10)
    told = expected_of(tracker, KEY)

    assert expected == (told.source, told.total.p50)


def test_modes_are_kept_apart() -> None:
    """Answers with thinking say nothing about those without."""
    tracker = LengthTracker()
    fill(tracker, LengthKey("deepseek-flash", "high"), 50, 100, 4000)

    assert assumed("off") == tracker.expect(model="deepseek-flash", mode="off")


@pytest.mark.parametrize("alias", ["deepseek-v4-flash", "deepseek-chat", "deepseek-flash"])
def test_aliases_are_their_model(alias: str) -> None:
    """What is asked under an alias is learnt for the model that answers it."""
    tracker = LengthTracker()
    fill(tracker, LengthKey(alias, "off"), 30, 7)

    assert 7 == tracker.expect(model="deepseek-flash", mode="off").content.p95
    assert 7 == tracker.expect(model=alias, mode="off", template="").content.p95


def test_old_answers_are_forgotten() -> None:
    """The last 500 answers of a template count."""
    tracker = LengthTracker()
    fill(tracker, KEY, 600, 10)
    fill(tracker, KEY, 500, 20)

    assert (Quantiles(20, 20, 20), 500) == (expected_of(tracker, KEY).content, expected_of(tracker, KEY).samples)


def test_what_nobody_asks_for_does_not_grow() -> None:
    """Until somebody asks, the last thousand answers wait, and no more."""
    tracker = LengthTracker()
    fill(tracker, KEY, 5000, 10)

    assert 1000 == len(tracker._noted)
    assert 970 == tracker.report().total.answers
    assert 0 == len(tracker._noted)


def test_names_that_callers_make_up_do_not_grow() -> None:
    """Of too many keys the one that was not used for longest is forgotten; the others are not."""
    tracker = LengthTracker(most_keys=20)
    for number in range(100):
        fill(tracker, KEY, 1, 10)
        tracker.note(LengthKey(f"model-{number}", "high", f"template-{number}"), usage(10), "stop")
        assert len(tracker) <= 20

    assert ("template", 100) == (expected_of(tracker, KEY).source, expected_of(tracker, KEY).samples)


def test_cut_answers_are_lower_bounds() -> None:
    """Answers that met max_tokens do not make those that did not seem shorter."""
    plain, cut = LengthTracker(), LengthTracker()
    for tracker, reason in ((plain, "stop"), (cut, "length")):
        for number in range(100):
            tracker.note(KEY, usage(100 + number), "stop")
            tracker.note(KEY, usage(120), reason)

    assert expected_of(plain, KEY).total.p50 < expected_of(cut, KEY).total.p50
    assert (0, 100) == (expected_of(plain, KEY).cut, expected_of(cut, KEY).cut)


def test_reasoning_without_an_answer_says_nothing_about_answers() -> None:
    """Where all of max_tokens went into reasoning, that was longer, and the length of the content is not known."""
    tracker = LengthTracker()
    for number in range(50):
        tracker.note(KEY, usage(200, 300 + number), "stop")
        tracker.note(KEY, usage(0, 320), "length")
    told = expected_of(tracker, KEY)

    assert Quantiles(200, 200, 200) == told.content
    assert told.reasoning.p50 > 320


def test_scores_are_of_estimates_made_before() -> None:
    """Each estimate is made before its answer is known; what came while there was none is counted, not scored."""
    tracker = LengthTracker()
    fill(tracker, KEY, 30, 100, 100)
    tracker.note(KEY, usage(300, 100), "length")
    told = tracker.report()

    assert (1, 30, 1, 3) == (told.total.answers, told.not_foretold, told.cut, told.keys)
    assert (Shares(0.0, 0.0, 0.0), Shares(1.0, 1.0, 1.0)) == (told.content.coverage, told.reasoning.coverage)
    assert pytest.approx((100, 180, 190)) == told.total.pinball
    assert Shares(0.5, 0.5, 0.5) == told.total.reserved
    assert (200, 200) == (told.total.mae, told.total.baseline_mae)


def test_the_baseline_is_one_constant_for_all_templates() -> None:
    """Two templates of very different lengths are foretold exactly; one constant is far off for one of them."""
    tracker = LengthTracker()
    for _ in range(200):
        fill(tracker, LengthKey("deepseek-flash", "off", "label"), 2, 3)
        tracker.note(LengthKey("deepseek-flash", "off", "essay"), usage(2003), "stop")
    told = tracker.report().content

    assert told.mae < 200
    assert 600 < told.baseline_mae < 700


def test_a_tracker_without_answers_reports_nothing() -> None:
    """Before the first answer there are no scores, and no error."""
    told = LengthTracker().report()

    assert (0, Shares(0, 0, 0), 0, 0) == (told.total.answers, told.total.coverage, told.total.mae, told.keys)


def test_times_are_told_from_the_same_answers() -> None:
    """First token, speed, and what both come to for answers of the usual lengths."""
    tracker = LengthTracker()
    for _ in range(30):
        tracker.note(KEY, usage(100, 100), "stop", seconds=4.5, first_token=0.5)

    expected = SecondsEstimate(first_token=0.5, per_token=0.02, total=Shares(4.5, 4.5, 4.5), samples=30)
    assert expected == tracker.expect_seconds(model="deepseek-flash", mode="high", template="unseen")
    assert 20.5 == tracker.expect_seconds(model="deepseek-flash", mode="high", tokens=1000).total.p50  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("seconds", "first_token", "content", "expected"),
    [(2.0, None, 100, (0, 0.02)), (2.0, 3.0, 100, (3.0, 0)), (None, None, 100, None), (2.0, 1.0, 0, None)],
)
def test_what_was_not_seen_is_not_timed(
    seconds: float | None, first_token: float | None, content: int, expected: tuple[float, float] | None
) -> None:
    """A body read whole has no first token; an answer that was not timed, or has no tokens, has no speed."""
    tracker = LengthTracker()
    for _ in range(30):
        tracker.note(KEY, usage(content), "stop", seconds=seconds, first_token=first_token)
    told = tracker.expect_seconds(model="deepseek-flash", mode="high")

    assert expected == (None if told is None else (told.first_token, told.per_token))


@pytest.mark.slow
def test_what_one_process_learnt_another_may_know() -> None:
    """Lines of JSON carry keys, lengths, cut ones, and times; estimates are the same afterwards."""
    first, second = LengthTracker(), LengthTracker()
    key = LengthKey("本地模型", "off", "摘要\n第二行")
    for number in range(600):
        first.note(key, usage(number), ("stop", "length")[number % 7 == 0], seconds=1.0, first_token=0.1)
        first.note(KEY, usage(0, number), "length")
        first.report()
    lines = list(first.export())
    taken = second.import_([*lines, ""])

    assert 6 == taken == len(second)
    assert not [line for line in lines if "\n" in line]
    assert lines == list(second.export())
    assert expected_of(LengthTracker(), key) != expected_of(second, key)
    assert second.expect_seconds(model="本地模型", mode="off") is not None
    assert 0 == second.report().total.answers


GOOD = '{"model":"m","mode":"off","template":null,"answers":[[1,2,0]],"first_token_ms":[],"token_us":[]}'


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "[]",
        "{}",
        GOOD.replace('"m"', "3"),
        GOOD.replace("[1,2,0]", "[1,2]"),
        GOOD.replace("[1,2,0]", "[1,2,3]"),
        GOOD.replace("[1,2,0]", "[1,-2,0]"),
        GOOD.replace("[1,2,0]", '["1",2,0]'),
        GOOD.replace("[1,2,0]", "[true,2,0]"),
        GOOD.replace("null", "7"),
        GOOD.replace('"token_us":[]', '"token_us":null'),
    ],
)
def test_lines_that_hold_no_lengths_are_named(line: str) -> None:
    """A broken line is named by its number, and nothing of the others is taken."""
    tracker = LengthTracker()

    with pytest.raises(ValueError, match="line 2 holds no lengths of answers"):
        tracker.import_([GOOD, line])
    assert 0 == len(tracker)


def test_answers_may_be_noted_in_the_middle_of_a_change() -> None:
    """The garbage collector, in a thread that holds the lock already, waits for nothing; the answer counts later."""
    tracker = LengthTracker()
    with tracker._lock.get():
        fill(tracker, KEY, 30, 10)

    assert 30 == expected_of(tracker, KEY).samples


@pytest.mark.slow
def test_many_threads_share_a_tracker() -> None:
    """Each answer is scored or counted once, whoever notes and whoever asks."""
    tracker = LengthTracker()

    def work(number: int) -> None:
        for length in range(300):
            tracker.note(LengthKey("deepseek-flash", "off", f"template-{number % 3}"), usage(length), "stop")
            expected_of(tracker, KEY)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = tracker.report()

    assert 2400 == told.total.answers + told.not_foretold
    assert 5 == told.keys
    assert 500 == tracker.expect(model="deepseek-flash", mode="off", template="template-0").samples


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_knows_what_its_parent_knew() -> None:
    """Also where the fork came while the lock was held by a thread that the child does not have."""
    tracker = LengthTracker()
    fill(tracker, KEY, 30, 10)
    tracker.report()
    with tracker._lock.get():
        child = os.fork()
        if not child:
            os._exit(expected_of(tracker, KEY).samples)

    assert 30 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans(), st.sampled_from(["", "a", "b"])), max_size=150))
def test_estimates_are_in_order_whatever_came(answers: list[tuple[int, bool, str]]) -> None:
    """Quantiles rise, stay within what was seen, and say how much of that was cut."""
    tracker = LengthTracker()
    for length, is_cut, template in answers:
        tracker.note(LengthKey("m", "off", template), usage(length), "length" if is_cut else "stop")
        told = tracker.expect(model="m", mode="off", template=template)
        assert all(low <= high for low, high in pairwise(told.total))
        assert told.cut <= told.samples <= len(answers)
        assert not told.samples or told.total.p95 <= max(length for length, *_ in answers)
