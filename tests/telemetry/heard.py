"""What the tests of telemetry have in common: listeners that keep what they hear."""

from __future__ import annotations

import json
from typing import Any, cast

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deepseek_sdk.telemetry import Telemetry


class Heard:
    """Listens to spans, metrics and events, and keeps them."""

    def __init__(self) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self._logs: Any = cast("Any", InMemoryLogRecordExporter)()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._reader])
        self.loggers = LoggerProvider()
        self.loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))

    def telemetry(self, **options: Any) -> Telemetry:
        """Make a Telemetry that is heard here."""
        providers = {
            "tracer_provider": self.tracers, "meter_provider": self.meters, "logger_provider": self.loggers,
        }  # fmt: skip
        return Telemetry(**{**providers, "hash_key": "key", **options})

    def spans(self, name: str = "") -> list[Any]:
        """Give the spans that have ended, those whose name begins with *name*."""
        return [span for span in self._spans.get_finished_spans() if span.name.startswith(name)]

    def chat(self) -> dict[str, Any]:
        """Give the attributes of the only inference."""
        (span,) = self.spans("chat ")
        return dict(span.attributes or {})

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Give names and attributes of the events."""
        logs = [data.log_record for data in self._logs.get_finished_logs()]
        return [(str(log.event_name), dict(log.attributes or {})) for log in logs]

    def metrics(self) -> dict[str, Any]:
        """Give the metrics by their names."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        scopes = [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}

    def points(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """Give each series of a metric with its sum."""
        metric = self.metrics().get(name)
        found = [] if metric is None else metric.data.data_points
        return [(dict(p.attributes), p.value if hasattr(p, "value") else p.sum) for p in found]

    def everything(self) -> str:
        """Give all that was told, as one text."""
        spans = [
            [
                s.name,
                dict(s.attributes or {}),
                s.status.description,
                [[e.name, dict(e.attributes or {})] for e in s.events],
            ]
            for s in self.spans()
        ]
        metrics = {name: metric.to_json() for name, metric in self.metrics().items()}
        return json.dumps([spans, metrics, self.events()], ensure_ascii=False, default=str)

    def names(self) -> set[str]:
        """Give every name that was emitted: of spans, attributes, events and metrics."""
        found: set[str] = set()
        for span in self.spans():
            operation = span.name.partition(" ")[0]
            found |= {operation if operation in ("chat", "text_completion") else span.name, *(span.attributes or {})}
            found |= {name for event in span.events for name in (event.name, *(event.attributes or {}))}
        for name, attributes in self.events():
            found |= {name, *attributes}
        for name, metric in self.metrics().items():
            found |= {name, *(key for point in metric.data.data_points for key in point.attributes or {})}
        return found
