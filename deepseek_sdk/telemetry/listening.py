"""Whether anybody listens: found out for each call, since an SDK may be set up after the client was made."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from deepseek_sdk.telemetry.gauges import Sources

if TYPE_CHECKING:
    from deepseek_sdk.telemetry.emitter import Emitter
    from deepseek_sdk.telemetry.settings import Telemetry

__all__ = ["Listening"]

_NAMED = ("OTEL_PYTHON_TRACER_PROVIDER", "OTEL_PYTHON_METER_PROVIDER")


class Listening:
    """
    Finds who listens, and keeps what tells them.

    Args:
        telemetry: What is told.

    Attributes:
        sources: What gauges look at.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self.sources = Sources(telemetry.providers)
        self._given = (telemetry.tracer_provider, telemetry.meter_provider, telemetry.logger_provider)
        self._found: tuple[Any, ...] = (None, None, None)
        self._emitter: Emitter | None = None
        # The API loads a provider that the environment names when it is first asked for one; somebody has to ask.
        self._is_named = any(name in os.environ for name in _NAMED)

    def emitter(self) -> Emitter | None:
        """
        Give what makes spans, metrics and events.

        Returns:
            It, or None while nobody listens.
        """
        if self._is_named:
            self._load_named()
        # The API keeps the provider of the process in a variable of each of these modules, None until one is set. Its
        # functions would answer with a placeholder, or load what the environment names, and take longer.
        get, given, found = sys.modules.get, self._given, self._found
        tracers = given[0] or getattr(get("opentelemetry.trace"), "_TRACER_PROVIDER", None)
        meters = given[1] or getattr(get("opentelemetry.metrics._internal"), "_METER_PROVIDER", None)
        loggers = given[2] or getattr(get("opentelemetry._logs._internal"), "_LOGGER_PROVIDER", None)
        if tracers is not found[0] or meters is not found[1] or loggers is not found[2]:
            self._take((tracers, meters, loggers))
        return self._emitter

    def _take(self, found: tuple[Any, ...]) -> None:
        from deepseek_sdk.telemetry.emitter import emitter_for  # noqa: PLC0415  only where somebody listens

        # Of two threads that make one at once the later wins: both tell the same.
        self._emitter = emitter_for(self._telemetry, *found)
        self._found = found

    def _load_named(self) -> None:
        self._is_named = False
        from opentelemetry import metrics, trace  # noqa: PLC0415  only where the environment asks for it

        trace.get_tracer_provider()
        metrics.get_meter_provider()
