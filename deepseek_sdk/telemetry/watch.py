"""`Watch`: the spans of one call, from its first attempt to its end."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from deepseek_sdk.telemetry import semconv
from deepseek_sdk.telemetry.attributes import (
    attempt_attributes,
    cache_attributes,
    call_attributes,
    cost_attributes,
    first_attributes,
    inference_attributes,
    request_attributes,
    stop_attributes,
)
from deepseek_sdk.telemetry.content import Listener, input_messages, output_messages, tool_definitions
from deepseek_sdk.telemetry.inference import Inference, goes_on
from deepseek_sdk.telemetry.logs import RedactingFormatter
from deepseek_sdk.telemetry.metrics import has_images
from deepseek_sdk.telemetry.outcome import CANCELLED, Failure, failure_of
from deepseek_sdk.telemetry.place import is_deepseek
from deepseek_sdk.telemetry.suppression import Attached, caller_context, is_request_patched, suppressing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk._call import Call
    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Ending, Reply
    from deepseek_sdk._sse import Event
    from deepseek_sdk.pricing.cost import Cost
    from deepseek_sdk.telemetry.attributes import Attributes
    from deepseek_sdk.telemetry.emitter import Emitter

__all__ = ["Watch"]

_NOTHING = contextlib.nullcontext()


class Watch:
    """
    Watches one call: a span for the call, one for each inference, and when all is over one for each attempt.

    It holds neither the call nor its answer, so that a forgotten stream ends at once.
    """

    __slots__ = (
        "_body",
        "_context",
        "_emitter",
        "_firsts",
        "_gaps",
        "_inferences",
        "_listener",
        "_path",
        "_record",
        "_repairs",
        "_secrets",
        "_span",
    )

    def __init__(self, emitter: Emitter, call: Call) -> None:
        self._emitter = emitter
        self._record: Record = call.record
        self._body, self._path = call.body, call.path
        self._inferences: list[Inference] = []
        self._firsts: list[Attributes] = []
        self._repairs = 0
        self._secrets = [target.secret for target in call.targets if target.secret] if emitter.has_content else ()
        self._listener: Listener | None = None
        self._gaps: _Gaps | None = None
        self._span: Any = None
        self._context: Any = None
        if emitter.tracer is not None:
            parent = caller_context()
            # Named after nothing of the caller's: that is told when the call is over, where it is recorded at all.
            self._span = emitter.tracer.start_span(
                semconv.REQUEST, context=parent, kind=SpanKind.INTERNAL, start_time=self._at(0.0)
            )
            self._context = set_span_in_context(self._span, parent)

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """
        Make the span of the call the current one.

        Returns:
            What does so inside of a `with` block.
        """
        return _NOTHING if self._context is None else Attached(self._context)

    def listen(self, reply: Reply) -> None:
        """
        Look at the events of an answer, where what they hold is to be told.

        Args:
            reply: The answer.
        """
        if self._emitter.has_content:
            self._listener = Listener()
            reply.tap(self._listener)
            reply.on_switch(self._listener.forget)
        if self._emitter.chunk_times and self._record.is_stream:
            self._gaps = _Gaps()
            reply.tap(self._gaps)

    def began(self, attempt: Attempt) -> None:
        """Begin an inference, unless this is a retry inside of one."""
        if attempt.account is None:
            # A last resort is no model, and what it says no inference.
            return
        if not self._inferences or not goes_on(self._inferences[-1].attempts[-1], attempt):
            inference = Inference(account=attempt.account, is_compacted=self._was_compacted())
            self._begin(inference, attempt)
        self._inferences[-1].attempts.append(attempt)

    def ended(self, attempt: Attempt, error: BaseException | None) -> None:
        """Note how an attempt failed; nothing is told before the call is over."""
        for inference in reversed(self._inferences):
            if any(other is attempt for other in inference.attempts):
                if error is not None:
                    inference.failures[id(attempt)] = self._failure(error)
                return

    def headers(self, host: str) -> Mapping[str, str]:
        """
        Say what the headers of a request have to hold, so that its server's spans belong to this call.

        Args:
            host: The server's host.

        Returns:
            `traceparent` and `tracestate`, where they are to be sent.
        """
        propagate = self._emitter.telemetry.propagate
        context = self._inferences[-1].context if self._inferences else None
        if context is None or propagate is False or (propagate == "auto" and is_deepseek(host)):
            return {}
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  for servers of one's own
            TraceContextTextMapPropagator,
        )

        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, context)
        return carrier

    def sending(self) -> contextlib.AbstractContextManager[None]:
        """
        Make the span of the inference the current one, for what instruments HTTP.

        Returns:
            What does so inside of a `with` block; where others instrument what openai sends, they leave it out.
        """
        context = self._inferences[-1].context if self._inferences else None
        if self._emitter.telemetry.suppress_others and is_request_patched():
            return Attached(suppressing(context))
        return _NOTHING if context is None else Attached(context)

    def end(self, ending: Ending, error: BaseException | None) -> None:
        """
        Tell everything, once.

        Args:
            ending: How the call ended.
            error: What the caller gets in place of an answer, or None.
        """
        total = self._record.times.total or 0.0
        saved = None
        try:
            self._tell_inferences(total)
            if self._record.cache is not None and ending != "failed":
                saved = self._record.cache.saved
        finally:
            if self._emitter.meters is not None:
                self._emitter.meters.end(self._record, saved)
            if self._span is not None:
                self._end_call(ending, error, total, saved)

    def _tell_inferences(self, total: float) -> None:
        with contextlib.ExitStack() as stack:
            for inference in reversed(self._inferences):
                self._settle(inference)
                if inference.span is not None:
                    # Whatever goes wrong in between.
                    stack.callback(inference.span.end, self._at(_end_of(inference, total)))
            number = 0
            for place, (inference, cost) in enumerate(zip(self._inferences, self._costs(), strict=True)):
                is_last = place == len(self._inferences) - 1
                self._measure(inference, cost, self._firsts[place], _end_of(inference, total), is_last=is_last)
                if inference.span is not None:
                    self._tell(inference, cost, number, is_last=is_last)
                number += len(inference.attempts)
            self._tell_rest(number)

    def _measure(
        self, inference: Inference, cost: Cost | None, first: Attributes, ended: float, *, is_last: bool
    ) -> None:
        meters = self._emitter.meters
        if meters is None:
            return
        meters.infer(inference, self._record, first, images=has_images(self._body), ended=ended)
        if cost is not None:
            meters.charge(cost, inference, self._record)
        if is_last and self._gaps is not None:
            meters.chunks(self._gaps.seconds, inference, first)

    def _begin(self, inference: Inference, attempt: Attempt) -> None:
        emitter, account = self._emitter, inference.account
        model = account.model or attempt.model
        first = first_attributes(self._path, model, emitter.place(account), has_old_names=emitter.has_old_names)
        if emitter.tracer is not None:
            inference.span = emitter.tracer.start_span(
                f"{first[semconv.OPERATION]} {first[semconv.REQUEST_MODEL]}",
                context=self._context,
                kind=SpanKind.CLIENT,
                attributes=first,
                start_time=self._at(attempt.started),
            )
            inference.context = set_span_in_context(inference.span, self._context)
        self._firsts.append(first)
        self._inferences.append(inference)

    def _was_compacted(self) -> bool:
        """Look at what was mended since the last inference began: each route is fitted for itself."""
        repairs, before = self._record.repairs, self._repairs
        self._repairs = len(repairs)
        return any(line.startswith(_FITTED) for line in repairs[before:])

    def _settle(self, inference: Inference) -> None:
        """Drop what was taken back, and say that a plain call that nobody waited for was cancelled."""
        known = {id(attempt) for attempt in self._record.attempts}
        inference.attempts = [attempt for attempt in inference.attempts if id(attempt) in known] or inference.attempts
        last = inference.attempts[-1]
        if last.outcome == "abandoned" and not self._record.is_stream and inference.failure is None:
            inference.failures[id(last)] = _CANCELLED

    def _failure(self, error: BaseException, *, was_sent: bool = True) -> Failure:
        return failure_of(error, self._text_of_error if self._emitter.has_content else None, was_sent=was_sent)

    def _text_of_error(self, text: str) -> str:
        # A server that refuses a key repeats it.
        for secret in self._secrets:
            text = text.replace(secret, "****")
        return self._emitter.texts(RedactingFormatter().redacted(text))

    def _costs(self) -> list[Cost | None]:
        """Tell what each inference costs: the parts of what the call costs."""
        record = self._record
        if len(self._inferences) == 1:
            return [record.cost()]
        costs = []
        for inference in self._inferences:
            part = copy.copy(record)
            part.attempts = inference.attempts
            costs.append(None if record.price is None else record.price(part))
        return costs

    def _tell(self, inference: Inference, cost: Cost | None, number: int, *, is_last: bool) -> None:
        span, record = inference.span, self._record
        failure = inference.failure
        if span.is_recording():
            told = request_attributes(self._body, is_stream=record.is_stream, template=record.template)
            told |= inference_attributes(inference, record)
            told |= self._emitter.naming.of(record)
            told[semconv.REQUEST_ID] = record.id
            if cost is not None:
                told |= cost_attributes(cost, self._emitter.telemetry.currency)
            span.set_attributes(told)
            for attempt in inference.attempts:
                number += 1
                self._tell_attempt(attempt, number, inference)
            self._tell_content(inference, told, is_last=is_last)
        if failure is not None:
            self._raise_flag(span, inference.context, failure)

    def _tell_attempt(self, attempt: Attempt, number: int, inference: Inference | None) -> None:
        tracer = self._emitter.tracer
        if tracer is None:
            return
        span = tracer.start_span(
            semconv.ATTEMPT,
            context=self._context if inference is None else inference.context,
            kind=SpanKind.INTERNAL,
            attributes=attempt_attributes(attempt, number, inference),
            start_time=self._at(attempt.started),
        )
        if attempt.outcome == "failed":
            span.set_status(_ERROR)
        span.end(self._at(attempt.started if attempt.ended is None else attempt.ended))

    def _tell_rest(self, number: int) -> None:
        """Tell of attempts that belong to no inference, such as those of a last resort."""
        if self._span is None or number == len(self._record.attempts) or not self._span.is_recording():
            return
        told = {id(attempt) for inference in self._inferences for attempt in inference.attempts}
        for place, attempt in enumerate(self._record.attempts):
            if id(attempt) not in told:
                self._tell_attempt(attempt, place + 1, None)

    def _tell_content(self, inference: Inference, told: Attributes, *, is_last: bool) -> None:
        emitter = self._emitter
        if not emitter.has_content and not emitter.has_events:
            return
        said = self._said(inference, is_last=is_last) if emitter.has_content else {}
        stops = stop_attributes(self._body, emitter.texts) if emitter.has_content else {}
        if emitter.on_spans:
            as_text = {name: json.dumps(value, ensure_ascii=False) for name, value in said.items()}
            inference.span.set_attributes({**as_text, **stops})
        if emitter.has_events:
            first = self._firsts[self._inferences.index(inference)]
            event = {**first, **told, **({**said, **stops} if emitter.on_events else {})}
            emitter.event(semconv.DETAILS_EVENT, event, inference.context, is_warning=False)

    def _said(self, inference: Inference, *, is_last: bool) -> Attributes:
        texts = self._emitter.texts
        said: Attributes = {semconv.INPUT_MESSAGES: input_messages(self._body, texts)}
        if self._body.get("tools"):
            said[semconv.TOOL_DEFINITIONS] = tool_definitions(self._body, texts)
        answer = self._listener.answer() if is_last and self._listener is not None else {}
        if answer:
            is_complete = inference.attempts[-1].outcome == "complete"
            said[semconv.OUTPUT_MESSAGES] = output_messages(answer, texts, is_complete=is_complete)
        return said

    def _raise_flag(self, span: Any, context: Any, failure: Failure) -> None:
        span.set_status(Status(StatusCode.ERROR, failure.type))
        told = {semconv.EXCEPTION_TYPE: failure.exception}
        if failure.message is not None and failure.stacktrace is not None:
            told |= {semconv.EXCEPTION_MESSAGE: failure.message, semconv.EXCEPTION_STACKTRACE: failure.stacktrace}
        if not self._emitter.event(semconv.EXCEPTION_EVENT, told, context, is_warning=True):
            span.add_event(semconv.EXCEPTION_EVENT, told)

    def _end_call(self, ending: Ending, error: BaseException | None, total: float, saved: Cost | None) -> None:
        span, record = self._span, self._record
        failure = None if error is None else self._failure(error, was_sent=bool(record.attempts))
        if failure is None and ending == "abandoned" and not record.is_stream:
            failure = _CANCELLED
        if span.is_recording():
            told = {**call_attributes(record), **self._emitter.naming.of(record)}
            if record.cache is not None:
                told |= cache_attributes(record.cache, saved)
            if failure is not None:
                told[semconv.ERROR_TYPE] = failure.type
            if record.is_stream and ending == "abandoned":
                told[semconv.STREAM_OUTCOME] = "abandoned"
            span.set_attributes(told)
        if failure is not None:
            span.set_status(Status(StatusCode.ERROR, failure.type))
            if not self._inferences:
                # What no inference tells of.
                self._raise_flag(span, self._context, failure)
        span.end(self._at(total))

    def _at(self, seconds: float) -> int:
        """Make nanoseconds since 1970 of seconds since the start of the call: all spans go by one clock."""
        return int((self._record.at + seconds) * 1e9)


def _end_of(inference: Inference, total: float) -> float:
    return total if inference.ended is None else inference.ended


# How lines of `CallReport.repairs` begin that tell what was left out of a prompt.
_FITTED = "token_budget:"
_CANCELLED = Failure(type=CANCELLED, exception=CANCELLED)
_ERROR = Status(StatusCode.ERROR)


class _Gaps:
    """Measures the time between chunks as they are handed out."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last: float | None = None

    def __call__(self, event: Event) -> None:
        if event.is_done:
            return
        now = time.perf_counter()
        if self._last is not None:
            self.seconds.append(now - self._last)
        self._last = now
