"""
How well lengths of answers are foretold, on logs that are made up here, and what that costs.

Run: python -m tests.bench.lengths

Every estimate is made before its answer is known. The logs are drawn from distributions, with one seed, and not from a
service: coverage and reserves carry over to logs of that shape, errors in tokens do not.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from itertools import islice
from typing import TYPE_CHECKING

from deepseek_sdk._usage import Usage
from deepseek_sdk.tokens.lengths import LengthKey, LengthTracker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.tokens.lengths import LengthReport

    Answer = tuple[str, int, int]  # template, reasoning, content

ANSWERS, FIXED = 10_000, 8192
CHAT, LABEL, CODE = "chat", "label", "code"


def chat(chance: random.Random) -> Iterator[Answer]:
    """Give answers of one heavy-tailed kind, without reasoning: the mean is well above the median."""
    while True:
        yield CHAT, 0, int(chance.lognormvariate(5.3, 1.0)) + 1


def tail(chance: random.Random) -> Iterator[Answer]:
    """Give answers with a tail of Pareto's kind: one in a hundred is twenty times as long as the median."""
    while True:
        yield CHAT, 0, int(80 * chance.paretovariate(1.5))


def thinking(chance: random.Random) -> Iterator[Answer]:
    """Give answers whose reasoning is long, heavy-tailed, and says something about the length of the answer."""
    while True:
        effort = chance.gauss(0, 1)
        yield CHAT, int(2.718 ** (6.5 + 0.9 * effort)), int(2.718 ** (5.0 + 0.4 * effort + chance.gauss(0, 0.6)))


def templates(chance: random.Random) -> Iterator[Answer]:
    """Give answers of three templates, from a label of three tokens to code."""
    while True:
        kind = chance.choices((LABEL, CHAT, CODE), (5, 4, 1))[0]
        centre, spread = {LABEL: (1.1, 0.2), CHAT: (5.3, 0.8), CODE: (7.3, 0.6)}[kind]
        yield kind, 0, int(chance.lognormvariate(centre, spread)) + 1


def drift(chance: random.Random) -> Iterator[Answer]:
    """Give answers that become twice as long at the middle of the log, as with a new build of a model."""
    for number, (kind, reasoning, content) in enumerate(chat(chance)):
        yield kind, reasoning, content * (1 + (number >= ANSWERS // 2))


LOGS: dict[str, tuple[Callable[[random.Random], Iterator[Answer]], int | None]] = {
    "chat, lognormal": (chat, None),
    "chat, Pareto": (tail, None),
    "thinking": (thinking, None),
    "three templates": (templates, None),
    "twice as long from the middle on": (drift, None),
    "chat, cut at 400": (chat, 400),
}


def replayed(log: Callable[[random.Random], Iterator[Answer]], limit: int | None) -> tuple[LengthReport, int]:
    """Give what the tracker says of a log, and how many tokens it has."""
    tracker, tokens = LengthTracker(), 0
    for template, reasoning, content in islice(log(random.Random(5)), ANSWERS):  # noqa: S311  repeatable, not secret
        key = LengthKey("deepseek-flash", "high" if reasoning else "off", template)
        is_cut = limit is not None and content > limit
        output = reasoning + (limit if is_cut and limit is not None else content)
        tracker.expect(**key._asdict())
        tracker.note(key, Usage(hit=0, miss=0, output=output, reasoning=reasoning), "length" if is_cut else "stop")
        tokens += output
    return tracker.report(), tokens


def line(name: str, report: LengthReport, tokens: int) -> str:
    """Write a row of the table, of reasoning and content together."""
    total = report.total
    coverage = " / ".join(f"{100 * share:.1f}" for share in total.coverage)
    pinball = " / ".join(f"{loss:.0f}" for loss in total.pinball)
    fixed = FIXED * ANSWERS / tokens
    errors = f"{total.mae:.0f} | {total.baseline_mae:.0f}"
    return f"| {name} | {coverage} | {pinball} | {total.reserved.p95:.1f}x | {fixed:.0f}x | {errors} | {report.cut} |\n"


def cost_us(limit: int | None) -> tuple[float, float]:
    """Give the CPU time of noting an answer that nobody asks about, and of noting one and asking, in microseconds."""
    tracker, key = LengthTracker(), LengthKey("deepseek-flash", "high", CHAT)
    log = [(usage, _reason(usage, limit)) for usage in _usages(3000)]

    def note() -> None:
        for usage, reason in log:
            tracker.note(key, usage, reason, seconds=2.0, first_token=0.4)

    def note_and_ask() -> None:
        for usage, reason in log:
            tracker.note(key, usage, reason, seconds=2.0, first_token=0.4)
            tracker.expect(model="deepseek-flash", mode="high", template=CHAT)

    return _least(note, len(log)), _least(note_and_ask, len(log))


def _usages(count: int) -> list[Usage]:
    drawn = islice(thinking(random.Random(7)), count)  # noqa: S311  repeatable, not secret
    return [Usage(hit=0, miss=0, output=reasoning + content, reasoning=reasoning) for _, reasoning, content in drawn]


def _reason(usage: Usage, limit: int | None) -> str:
    return "length" if limit is not None and usage.output > limit else "stop"


def _least(work: Callable[[], None], count: int) -> float:
    work()
    rounds = []
    for _ in range(7):
        before = time.process_time_ns()
        work()
        rounds.append((time.process_time_ns() - before) / 1000 / count)
    # Other work on the machine can only make a round slower.
    return statistics.quantiles(rounds, n=10)[0]


def main() -> None:
    """Print both tables."""
    write = sys.stdout.write
    write(f"{ANSWERS:,} answers each; quantiles P50 / P90 / P95; lengths in tokens.\n\n")
    write(f"| log | coverage, % | pinball loss | reserved at P95 | with {FIXED:,} | MAE | MAE of a constant | cut |\n")
    write("|---|---|---|---|---|---|---|---|\n")
    for name, (log, limit) in LOGS.items():
        write(line(name, *replayed(log, limit)))
    write("\n| answers | note() | note() and expect() |\n|---|---|---|\n")
    for name, limit in (("none cut", None), ("one in ten cut", 3000)):
        noted, asked = cost_us(limit)
        write(f"| {name} | {noted:.1f} us | {asked:.1f} us |\n")


if __name__ == "__main__":
    main()
