"""See the spans and metrics of calls: one that is retried, and a stream; an exporter would send them to a collector."""

from __future__ import annotations

from openai.types.chat import ChatCompletionUserMessageParam
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from service import service

from deepseek_sdk import Client, Telemetry

spans, metrics = InMemorySpanExporter(), InMemoryMetricReader()
tracing = TracerProvider()
tracing.add_span_processor(SimpleSpanProcessor(spans))
# Without these two, what opentelemetry.trace and opentelemetry.metrics have set up for the process is used.
telemetry = Telemetry(tracer_provider=tracing, meter_provider=MeterProvider([metrics]), currency="CNY")

with (
    service(["It is raining."] * 2, faults=["status_503"]) as options,
    Client(**options, telemetry=telemetry, user="42", tags={"feature": "weather"}) as client,
):
    question = ChatCompletionUserMessageParam(role="user", content="How is the weather in Hangzhou?")
    client.chat.completions.create(model="deepseek-flash", messages=[question])
    for _ in client.chat.completions.create(model="deepseek-flash", messages=[question], stream=True):
        pass  # each chunk would be shown

for span in spans.get_finished_spans():
    facts = {name: value for name, value in (span.attributes or {}).items() if "usage" in name or "user" in name}
    print(span.name, "inside another" if span.parent else "outermost", facts)

data = metrics.get_metrics_data()
for metric in data.resource_metrics[0].scope_metrics[0].metrics if data else []:
    print(f"{metric.name} ({metric.unit}): {len(list(metric.data.data_points))} series")
