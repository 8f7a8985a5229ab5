"""Metrics of calls: how long, how many tokens, how much money; never who."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.telemetry import semconv
from deepseek_sdk.telemetry.inference import usage_of
from deepseek_sdk.telemetry.later import later_of
from deepseek_sdk.telemetry.outcome import OTHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk._record import Record
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.telemetry.attributes import Attributes
    from deepseek_sdk.telemetry.inference import Inference
    from deepseek_sdk.telemetry.later import Later

__all__ = ["Meters", "has_images"]

# The boundaries of the conventions, in seconds and in tokens.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))
# Finer where first tokens come, and up to what reasoning takes: quantiles of these are off by a few percent.
_WAITS = (
    *(0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5),
    *(6.5, 8, 10, 12.5, 15, 20, 25, 30, 45, 60, 90, 120, 180, 300, 600),
)

# A service may take the names of models from its callers, and each would be a series.
_MOST_MODELS = 64

_EXACT, _SEMANTIC, _PREFIX = "exact", "semantic", "prefix_token"
_STAGES = {"first_token_timeout": "token", "queue_timeout": "keepalive", "connect_timeout": "connect"}
_QUALITY = {"empty_answer": "empty", "invalid_output": "invalid_json", "malformed": "invalid_json"}


def has_images(body: Mapping[str, Any]) -> bool:
    """
    Tell whether a request holds pictures.

    Args:
        body: Its body.

    Returns:
        Whether one of its messages does.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return False
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    parts = (part for content in contents if isinstance(content, list) for part in content)
    return any(isinstance(part, dict) and part.get("type") == "image_url" for part in parts)


def _looked_up(outcome: CacheOutcome) -> Iterable[tuple[str, str]]:
    """Tell at which levels an answer was looked for, the nearest first, and what each came to."""
    if outcome.tier == _SEMANTIC:
        return ((_EXACT, "miss"), (_SEMANTIC, outcome.status))
    if outcome.decision is None:
        return ((outcome.tier or _EXACT, outcome.status),)
    return ((_EXACT, outcome.status), (_SEMANTIC, "miss"))


def _collected(later: Later, _: object) -> Iterable[Any]:
    """Hand over what waits, whenever a reader collects, and say how many calls are going on."""
    from opentelemetry.metrics import Observation  # noqa: PLC0415  only where somebody listens

    later.work_off()
    return [Observation(later.active)]


class Meters:
    """
    Records what metrics tell.

    Args:
        meter: Makes instruments.
        tags: The keys of tags that may tell series apart.
        has_old_names: With the metrics of v1.41.
    """

    def __init__(self, meter: Any, tags: Sequence[str], *, has_old_names: bool) -> None:
        self._tags = tags
        self._models: set[str] = set()
        self._later = later_of(meter)

        def histogram(name: str, unit: str, bounds: tuple[float, ...], what: str) -> Any:
            return meter.create_histogram(name, unit, what, explicit_bucket_boundaries_advisory=bounds)

        self._duration = histogram(semconv.DURATION, "s", _SECONDS, "How long an inference takes.")
        self._first_chunk = histogram(
            semconv.TIME_TO_FIRST_CHUNK_METRIC, "s", _SECONDS, "When the first chunk of a stream comes."
        )
        self._per_chunk = histogram(semconv.TIME_PER_CHUNK, "s", _SECONDS, "How long each further chunk takes.")
        self._inputs = histogram(
            semconv.OPERATION_INPUT_TOKENS, "{token}", _TOKENS, "Tokens of the prompt of an inference."
        )
        self._outputs = histogram(
            semconv.OPERATION_OUTPUT_TOKENS, "{token}", _TOKENS, "Tokens that an inference generates."
        )
        self._first_token = histogram(
            semconv.TIME_TO_FIRST_TOKEN, "s", _WAITS, "When the first content, reasoning or tool call comes."
        )
        self._first_answer = histogram(
            semconv.TIME_TO_FIRST_ANSWER, "s", _WAITS, "When the first content or tool call comes."
        )
        self._delay = histogram(semconv.RETRY_DELAY, "s", _SECONDS, "How long is waited before a further attempt.")
        counter = meter.create_counter
        self._input = counter(semconv.USAGE_INPUT, "{token}", "Tokens of prompts, cached ones included.")
        self._output = counter(semconv.USAGE_OUTPUT, "{token}", "Tokens generated, reasoning included.")
        self._cached = counter(semconv.USAGE_CACHE_READ, "{token}", "Tokens of prompts read from the server's cache.")
        self._reasoning = counter(semconv.USAGE_REASONING, "{token}", "Tokens of reasoning.")
        self._cost = counter(semconv.COST, "1", "What calls cost; currencies must not be added up.")
        self._saved = counter(
            semconv.SAVED, "1", "What answers of the cache would have cost; currencies must not be added up."
        )
        self._lookups = counter(semconv.CACHE_LOOKUPS, "{lookup}", "Calls, by what became of them in the cache.")
        self._attempts = counter(semconv.ATTEMPTS, "{attempt}", "How often upstreams were asked.")
        self._streams = counter(semconv.STREAMS, "{request}", "Streamed calls.")
        self._timeouts = counter(semconv.FIRST_TOKEN_TIMEOUTS, "{timeout}", "First tokens that did not come in time.")
        self._quality = counter(semconv.QUALITY, "{event}", "Answers that are not what they should be.")
        meter.create_observable_up_down_counter(
            semconv.ACTIVE, [partial(_collected, self._later)], "{request}", "Calls that have not ended."
        )
        self._old = _OldMeters(meter, self._later) if has_old_names else None

    def begin(self, record: Record) -> None:
        """
        Count a call that begins.

        Args:
            record: Its record.
        """
        self._later.begin(id(record))

    def end(self, record: Record, saved: Cost | None = None) -> None:
        """
        Count a call that has ended.

        Args:
            record: Its record.
            saved: What the cache saved, or None: nothing, or nobody knows.
        """
        self._later.end(id(record))
        self._later.trim()
        if record.is_stream:
            self._later.add(self._streams, 1, {semconv.MODEL: self._known(record.asked)})
        if record.truncated is not None:
            self._later.add(self._quality, 1, {semconv.QUALITY_KIND: "truncated"})
        for attempt in record.attempts:
            if attempt.reason in _QUALITY:
                self._later.add(self._quality, 1, {semconv.QUALITY_KIND: _QUALITY[attempt.reason]})
        if record.cache is not None:
            self._look_up(record.cache, record, saved)
            if record.usage_told is not None:
                # The server's own cache, which goes by how requests begin.
                self._look_up_at(_PREFIX, "hit" if record.usage_told.hit else "miss")

    def _look_up(self, outcome: CacheOutcome, record: Record, saved: Cost | None) -> None:
        for tier, status in _looked_up(outcome):
            self._look_up_at(tier, status)
        if saved is None:
            return
        level = {semconv.LOOKUP_LEVEL: outcome.tier or _EXACT}
        for currency, amount in (("CNY", saved.cny), ("USD", saved.usd)):
            if amount:
                told = {**level, semconv.COST_IN: currency, **self.tags_of(record)}
                self._later.add(self._saved, float(amount), told)

    def _look_up_at(self, level: str, status: str) -> None:
        self._later.add(self._lookups, 1, {semconv.LOOKUP_LEVEL: level, semconv.LOOKUP_OUTCOME: status})

    def infer(self, inference: Inference, record: Record, first: Attributes, *, images: bool, ended: float) -> None:
        """
        Record an inference.

        Args:
            inference: It.
            record: The record of its call.
            first: What it began with.
            images: The request holds pictures.
            ended: When it ended, in seconds from the start of the call.
        """
        last = inference.attempts[-1]
        base = {**first, semconv.REQUEST_MODEL: self._known(first[semconv.REQUEST_MODEL]), **self.tags_of(record)}
        if last.outcome == "complete":
            base[semconv.RESPONSE_MODEL] = self._known(last.model)
        failure = inference.failure
        ending = base if failure is None else {**base, semconv.ERROR_TYPE: failure.type}
        seconds = ended - inference.started
        self._later.record(self._duration, seconds, ending, inference.context)
        self._count_tokens(inference, base, ending, images=images)
        self._count_attempts(inference)
        if self._old is not None:
            self._old.infer(inference, seconds, base, ending)
        if last is record.attempts[-1]:
            self._wait(inference, record, base)

    def charge(self, cost: Cost, inference: Inference, record: Record) -> None:
        """
        Record what an inference costs.

        Args:
            cost: It.
            inference: The inference.
            record: The record of its call.
        """
        base = {
            semconv.MODEL: self._known(inference.attempts[-1].model),
            semconv.PRICE_TIER: cost.tier,
            **self.tags_of(record),
        }
        for currency, parts in (("CNY", cost.cny_parts), ("USD", cost.usd_parts)):
            if parts is None:
                continue
            named = (("cache_hit_input", parts.hit), ("cache_miss_input", parts.miss), ("output", parts.output))
            for component, amount in named:
                if amount:
                    told = {**base, semconv.COST_IN: currency, semconv.COST_COMPONENT: component}
                    self._later.add(self._cost, float(amount), told)

    def chunks(self, gaps: Sequence[float], inference: Inference, first: Attributes) -> None:
        """
        Record how long the chunks after the first one took.

        Args:
            gaps: The time between two, in seconds.
            inference: The inference.
            first: What it began with.
        """
        told = {**first, semconv.REQUEST_MODEL: self._known(first[semconv.REQUEST_MODEL])}
        told[semconv.RESPONSE_MODEL] = self._known(inference.attempts[-1].model)
        for gap in gaps:
            self._later.record(self._per_chunk, gap, told)
            if self._old is not None:
                self._later.record(self._old.per_chunk, gap, told)

    def tags_of(self, record: Record) -> dict[str, str]:
        """
        Choose the tags that series are told apart by.

        Args:
            record: The record of a call.

        Returns:
            Attributes.
        """
        if not self._tags or not record.tags:
            return {}
        return {f"{semconv.TAGS}{key}": record.tags[key] for key in self._tags if key in record.tags}

    def _count_tokens(self, inference: Inference, base: Attributes, ending: Attributes, *, images: bool) -> None:
        usage, is_estimated = usage_of(inference.attempts)
        if usage is None:
            # Failed inferences are counted too, by convention: with nothing, of no known kind.
            told = {**base, semconv.MODALITY: "unknown"}
            self._later.add(self._input, 0, told)
            self._later.add(self._output, 0, told)
            return
        text = {**base, semconv.MODALITY: "text"}
        self._later.add(self._input, max(usage.prompt, 0), {**base, semconv.MODALITY: "unknown"} if images else text)
        self._later.add(self._output, max(usage.output, 0), text)
        self._later.record(self._inputs, max(usage.prompt, 0), ending, inference.context)
        self._later.record(self._outputs, max(usage.output, 0), ending, inference.context)
        if not is_estimated:
            self._later.add(self._cached, max(usage.hit, 0), base)
            self._later.add(self._reasoning, max(usage.reasoning, 0), base)

    def _count_attempts(self, inference: Inference) -> None:
        before = None
        for attempt in inference.attempts:
            told: Attributes = {semconv.ATTEMPT_OUTCOME: attempt.outcome}
            if (failure := inference.failures.get(id(attempt))) is not None:
                told[semconv.ERROR_TYPE] = failure.type
            self._later.add(self._attempts, 1, told)
            if attempt.reason in _STAGES:
                asked = self._known(inference.account.model)
                self._later.add(
                    self._timeouts, 1, {semconv.MODEL: asked, semconv.FIRST_TOKEN_STAGE: _STAGES[attempt.reason]}
                )
            if before is not None and before.ended is not None:
                self._later.record(self._delay, max(attempt.started - before.ended, 0))
            before = attempt

    def _wait(self, inference: Inference, record: Record, base: Attributes) -> None:
        times = record.times
        if record.is_stream and times.first_event is not None:
            seconds = max(times.first_event - inference.started, 0)
            self._later.record(self._first_chunk, seconds, base, inference.context)
            if self._old is not None:
                self._later.record(self._old.first_chunk, seconds, base)
        if not record.is_stream or times.first_token is None:
            return
        is_reasoning = times.first_answer is None or times.first_answer > times.first_token
        told = {semconv.MODEL: base[semconv.REQUEST_MODEL], semconv.REASONING: is_reasoning}
        self._later.record(self._first_token, times.first_token, told, inference.context)
        if times.first_answer is not None:
            self._later.record(self._first_answer, times.first_answer, told, inference.context)

    def _known(self, model: str) -> str:
        if model in self._models:
            return model
        if len(self._models) >= _MOST_MODELS:
            return OTHER
        self._models.add(model)
        return model


class _OldMeters:
    """The metrics of v1.41, for the dashboards that ask for them."""

    def __init__(self, meter: Any, later: Later) -> None:
        self._later = later

        def histogram(name: str, unit: str, bounds: tuple[float, ...], what: str) -> Any:
            return meter.create_histogram(name, unit, what, explicit_bucket_boundaries_advisory=bounds)

        self.first_chunk = histogram(semconv.OLD_FIRST_CHUNK, "s", _SECONDS, "When the first chunk comes.")
        self.per_chunk = histogram(semconv.OLD_CHUNK_TIME, "s", _SECONDS, "How long each further chunk takes.")
        self._duration = histogram(semconv.OLD_DURATION, "s", _SECONDS, "How long an operation takes.")
        self._tokens = histogram(semconv.OLD_TOKENS, "{token}", _TOKENS, "Tokens used.")

    def infer(self, inference: Inference, seconds: float, base: Attributes, ending: Attributes) -> None:
        """Record an inference."""
        self._later.record(self._duration, seconds, ending, inference.context)
        usage, _ = usage_of(inference.attempts)
        if usage is not None:
            self._later.record(self._tokens, max(usage.prompt, 0), {**base, semconv.OLD_TOKEN_TYPE: "input"})
            self._later.record(self._tokens, max(usage.output, 0), {**base, semconv.OLD_TOKEN_TYPE: "output"})
