"""`LengthTracker`: how long answers are, learnt from those that came."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deepseek_sdk._process import PerProcess
from deepseek_sdk.routing.models import ALIASES, RETIRED
from deepseek_sdk.tokens.lengths.level import Answer, Level
from deepseek_sdk.tokens.lengths.lines import read_line, write_line
from deepseek_sdk.tokens.lengths.prior import assumed
from deepseek_sdk.tokens.lengths.quantities import LengthKey, SecondsEstimate, Shares
from deepseek_sdk.tokens.lengths.scores import LengthReport, Tally
from deepseek_sdk.tokens.lengths.window import LENGTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deepseek_sdk._usage import Usage
    from deepseek_sdk.tokens.lengths.lines import Line
    from deepseek_sdk.tokens.lengths.quantities import LengthEstimate, Source

__all__ = ["LengthTracker"]

T = TypeVar("T")

# With fewer the conformal place of the 95th percentile lies beyond the last one or at it.
_ENOUGH = 30
# A service may take the names of models and templates from its callers; a full key takes about 12 kB.
_MOST_KEYS = 1000
_ANY_MODEL = ""


class _Noted(NamedTuple):
    """An answer that was noted and not yet looked at."""

    key: LengthKey
    usage: Usage
    finish_reason: str | None
    seconds: float | None
    first_token: float | None


class LengthTracker:
    """
    Learns how long answers are, for each model, mode of thinking and template.

        tracker.note(LengthKey("deepseek-flash", "off", "summary"), usage, "stop")
        tracker.expect(model="deepseek-flash", mode="off", template="summary").total.p95

    Of each key the last 500 answers count. A template with fewer than 30 answers is estimated like its model in that
    mode, a model like all models in it, and these, too, by an assumption until there are 30. Aliases and retired names
    count as the model that answers them. An answer with the finish reason "length" counts as at least as long as it is.

    Any number of threads and event loops may share a tracker, and the garbage collector may note answers. A forked
    child begins with what its parent knew. What is noted is looked at when somebody asks: until then the last thousand
    answers wait.

    Args:
        most_keys: How many keys are remembered; the one that was not used for longest is forgotten.
    """

    def __init__(self, most_keys: int = _MOST_KEYS) -> None:
        self._most_keys = max(most_keys, 3)
        self._levels: OrderedDict[LengthKey, Level] = OrderedDict()
        self._noted: deque[_Noted] = deque(maxlen=2 * LENGTHS)
        # Never taken where the garbage collector may come: note() only appends, which is atomic.
        self._lock = PerProcess(threading.Lock)
        self._tallies = (Tally(), Tally(), Tally())
        self._cut = self._not_foretold = 0

    def __len__(self) -> int:
        return self._do(self._levels.__len__)

    def note(
        self,
        key: LengthKey,
        usage: Usage,
        finish_reason: str | None,
        *,
        seconds: float | None = None,
        first_token: float | None = None,
    ) -> None:
        """
        Take a complete answer. Waits for nothing, whoever is in the middle of something.

        Args:
            key: Whose answer it is.
            usage: Its tokens, as the server told them.
            finish_reason: How it ended.
            seconds: How long it took, or None where that was not measured.
            first_token: How long of this was the wait for the first token, or None where that was not seen.
        """
        self._noted.append(_Noted(key, usage, finish_reason, seconds, first_token))

    def expect(self, *, model: str, mode: str, template: str | None = None) -> LengthEstimate:
        """
        Estimate the length of an answer.

        Args:
            model: The model that is asked for.
            mode: How much it may think.
            template: What kind of prompt it is.

        Returns:
            The estimate.
        """
        return self._do(partial(self._expect, _known(LengthKey(model, mode, template))))

    def expect_seconds(
        self, *, model: str, mode: str, template: str | None = None, tokens: int | None = None
    ) -> SecondsEstimate | None:
        """
        Estimate how long an answer will take.

        Args:
            model: The model that is asked for.
            mode: How much it may think.
            template: What kind of prompt it is.
            tokens: How long the answer will be, where that is known.

        Returns:
            The estimate, or None while fewer than 30 answers of the model in that mode were timed.
        """
        return self._do(partial(self._expect_seconds, _known(LengthKey(model, mode, template)), tokens))

    def report(self) -> LengthReport:
        """
        Say how good the estimates were.

        Returns:
            Their scores, each estimate made before its answer was known; since the tracker was made.
        """
        return self._do(self._report)

    def export(self) -> Iterator[str]:
        """
        Write down what is known, for another process.

        Returns:
            A line of JSON for each key, without line ends; lengths and times, and nothing that was said.
        """
        return iter(self._do(lambda: [write_line(key, level) for key, level in self._levels.items()]))

    def import_(self, lines: Iterable[str]) -> int:
        """
        Take what another process wrote down, as if its answers had come here; scores stay as they are.

        Args:
            lines: The lines of `export()`.

        Returns:
            How many keys there were.

        Raises:
            ValueError: A line is something else; nothing has been taken then.
        """
        found = [read_line(line, number) for number, line in enumerate(lines, 1) if line.strip()]
        for line in found:
            self._do(partial(self._merge, line))
        return len(found)

    def _do(self, what: Callable[[], T]) -> T:
        with self._lock.get():
            # As many as there are now: others may go on noting all the while.
            for _ in range(len(self._noted)):
                self._take(self._noted.popleft())
            return what()

    def _take(self, noted: _Noted) -> None:
        key, answer = _known(noted.key), Answer.of(noted.usage, noted.finish_reason)
        levels = [self._level(wider) for wider in _widening(key)]
        self._score(levels, answer)
        codes = answer.codes()
        levels[0].add(codes)
        for level in levels[1:]:
            if level.takes_turn():
                level.add(codes)
        if noted.seconds is not None and noted.usage.output > 0:
            self._time(levels[-2], noted, noted.seconds)

    def _time(self, level: Level, noted: _Noted, seconds: float) -> None:
        if not level.times_turn():
            return
        waited = () if noted.first_token is None else (round(noted.first_token * 1000),)
        writing = max(seconds - (noted.first_token or 0), 0)
        level.add_times(waited, (round(writing / noted.usage.output * 1e6),))

    def _score(self, levels: list[Level], answer: Answer) -> None:
        level = _telling(levels)
        if level is None:
            self._not_foretold += 1
            return
        reasoning, content, total = self._tallies
        foretold, baseline = level.estimate(), levels[-1].estimate()
        reasoning.add(foretold.reasoning, answer.reasoning, baseline.reasoning.p50)
        content.add(foretold.content, answer.content, baseline.content.p50)
        total.add(foretold.total, answer.reasoning + answer.content, baseline.total.p50)
        self._cut += answer.cut is not None

    def _expect(self, key: LengthKey) -> LengthEstimate:
        levels = [self._levels[wider] for wider in _widening(key) if wider in self._levels]
        level = _telling(levels)
        return assumed(key.mode) if level is None else level.estimate()

    def _expect_seconds(self, key: LengthKey, tokens: int | None) -> SecondsEstimate | None:
        level = self._levels.get(LengthKey(key.model, key.mode))
        if level is None or level.speeds is None or len(level.speeds) < _ENOUGH:
            return None
        per_token = level.speeds.quantiles().p50 / 1e6
        waits = (0, 0, 0) if level.first_tokens is None else level.first_tokens.quantiles()
        lengths = self._expect(key).total if tokens is None else (tokens, tokens, tokens)
        total = (wait / 1000 + per_token * length for wait, length in zip(waits, lengths, strict=True))
        return SecondsEstimate(
            first_token=waits[0] / 1000, per_token=per_token, total=Shares(*total), samples=len(level.speeds)
        )

    def _level(self, key: LengthKey) -> Level:
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = Level(_source(key))
            while len(self._levels) > self._most_keys:
                self._levels.popitem(last=False)
        self._levels.move_to_end(key)
        return level

    def _merge(self, line: Line) -> None:
        level = self._level(line.key)
        for answer in line.answers:
            level.add(answer.codes())
        level.add_times(line.first_tokens_ms, line.per_token_us)

    def _report(self) -> LengthReport:
        reasoning, content, total = (tally.scores() for tally in self._tallies)
        return LengthReport(
            reasoning=reasoning,
            content=content,
            total=total,
            cut=self._cut,
            not_foretold=self._not_foretold,
            keys=len(self._levels),
        )


def _known(key: LengthKey) -> LengthKey:
    model = ALIASES.get(key.model) or RETIRED.get(key.model)
    return key if model is None else key._replace(model=model)


def _widening(key: LengthKey) -> tuple[LengthKey, ...]:
    """List the levels of a key, the narrowest first."""
    of_mode = LengthKey(_ANY_MODEL, key.mode)
    of_model = LengthKey(key.model, key.mode)
    return (of_model, of_mode) if not key.template else (key, of_model, of_mode)


def _telling(levels: Iterable[Level]) -> Level | None:
    """Find the narrowest level that has seen enough."""
    return next((level for level in levels if len(level) >= _ENOUGH), None)


def _source(key: LengthKey) -> Source:
    if key.model == _ANY_MODEL:
        return "prior"
    return "template" if key.template else "model"
