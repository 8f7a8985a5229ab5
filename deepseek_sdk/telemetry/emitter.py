"""`Emitter`: makes spans, metrics and events for those who listen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import metrics, trace

from deepseek_sdk._version import __version__
from deepseek_sdk.telemetry.content import Texts
from deepseek_sdk.telemetry.gauges import gauges_of
from deepseek_sdk.telemetry.ids import Naming
from deepseek_sdk.telemetry.metrics import Meters
from deepseek_sdk.telemetry.place import place_of
from deepseek_sdk.telemetry.watch import Watch

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.telemetry.place import Place
    from deepseek_sdk.telemetry.settings import Telemetry

__all__ = ["Emitter", "emitter_for"]

_SCOPE = "deepseek_sdk"
_MOST_PLACES = 256


def emitter_for(telemetry: Telemetry, tracers: Any, meters: Any, loggers: Any) -> Emitter | None:
    """
    Make what tells those who listen.

    Args:
        telemetry: What is told.
        tracers: The provider of tracers, or None.
        meters: That of meters, or None.
        loggers: That of loggers, or None.

    Returns:
        It, or None where nobody listens.
    """
    if isinstance(tracers, trace.NoOpTracerProvider):
        tracers = None
    if isinstance(meters, metrics.NoOpMeterProvider):
        meters = None
    return None if tracers is None and meters is None else Emitter(telemetry, tracers, meters, loggers)


class Emitter:
    """
    Makes spans, metrics and events.

    Attributes:
        telemetry: What is told.
        tracer: Makes spans, or None.
        meters: Records metrics, or None.
        logger: Takes events, or None.
        texts: Makes of texts what may leave the process.
        naming: Names users and sessions.
        on_spans: Prompts and answers stand on spans.
        on_events: Prompts and answers stand on events.
        has_events: Each inference is an event, too.
        has_old_names: The names of v1.41 stand beside those of v0.1.
        chunk_times: The time between chunks is measured.
    """

    def __init__(self, telemetry: Telemetry, tracers: Any, meters: Any, loggers: Any) -> None:
        self.telemetry = telemetry
        self.has_old_names = telemetry.has_old_names
        self.on_spans, self.on_events = telemetry.on_spans and tracers is not None, telemetry.on_events
        self.has_events = telemetry.has_events and loggers is not None
        self.chunk_times = telemetry.chunk_times and meters is not None
        self.texts = Texts(telemetry.redact, telemetry.content_limit)
        self.naming = Naming(telemetry)
        self.tracer = None if tracers is None else tracers.get_tracer(_SCOPE, __version__)
        self.logger = None if loggers is None else loggers.get_logger(_SCOPE, __version__)
        self.meters: Meters | None = None
        if meters is not None:
            meter = meters.get_meter(_SCOPE, __version__)
            self.meters = Meters(meter, tuple(telemetry.metric_tags), has_old_names=self.has_old_names)
            gauges_of(meter).watch(telemetry.listening.sources)
        self._places: dict[str, Place] = {}

    @property
    def has_content(self) -> bool:
        """Whether prompts and answers are told anywhere."""
        return self.on_spans or (self.on_events and self.has_events)

    def begin(self, call: Call) -> Watch:
        """
        Begin to watch a call.

        Args:
            call: It.

        Returns:
            What watches it.
        """
        watch = Watch(self, call)
        if self.meters is not None:
            self.meters.begin(call.record)
        return watch

    def place(self, account: Account) -> Place:
        """
        Say where an account is.

        Args:
            account: It.

        Returns:
            The place; of the last few hundred, found once.
        """
        key = f"{account.base_url} {account.model}"
        place = self._places.get(key)
        if place is None:
            place = place_of(account, self.telemetry.providers)
            if len(self._places) < _MOST_PLACES:
                self._places[key] = place
        return place

    def event(self, name: str, attributes: dict[str, Any], context: Any, *, is_warning: bool) -> bool:
        """
        Tell of an event.

        Args:
            name: What it is called.
            attributes: What is told.
            context: The context of the span that it belongs to.
            is_warning: It is one.

        Returns:
            Whether anybody takes events.
        """
        if self.logger is None:
            return False
        from opentelemetry._logs import LogRecord, SeverityNumber  # noqa: PLC0415  few calls have events

        severity = SeverityNumber.WARN if is_warning else SeverityNumber.INFO
        self.logger.emit(LogRecord(event_name=name, attributes=attributes, context=context, severity_number=severity))
        return True
