"""The garbage collector may end a call while its thread is inside of OpenTelemetry's SDK."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from deepseek_sdk.telemetry.reentry import is_inside

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard


class Locked(SpanProcessor):
    """Holds a lock while it does something, as exporters do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.names: list[str] = []
        self.forget: list[Any] = []

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, and forget a stream in the middle of that."""
        with self._lock:
            self.names.append(span.name)
            self.forget.clear()


def test_a_stream_is_forgotten_inside_of_an_exporter(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """A stream that ends in the middle of another span's end does not wait for a lock that its thread holds."""
    processor, tracers = Locked(), TracerProvider()
    tracers.add_span_processor(processor)
    server = emulator(replies=["one two three"] * 2, faults=["stall(after_events=3)", None])
    client = driver.client(base_url=server.url, telemetry=heard.telemetry(tracer_provider=tracers))
    processor.forget.append(driver.create(client, stream=True))
    tracers.get_tracer("mine").start_span("mine").end()
    until = time.monotonic() + 5
    while "deepseek_sdk.request" not in processor.names and time.monotonic() < until:
        pass

    assert ["mine", "deepseek_sdk.attempt", "chat deepseek-flash", "deepseek_sdk.request"] == processor.names


def test_who_calls() -> None:
    """A function learns whether one of a package is among its callers."""
    assert is_inside("_pytest")
    assert not is_inside("opentelemetry")
