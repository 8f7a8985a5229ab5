"""Spans, metrics and events of calls, by OpenTelemetry's API alone; and logging that keeps secrets."""

from __future__ import annotations

from deepseek_sdk.telemetry.logs import RedactingFormatter, log_to
from deepseek_sdk.telemetry.settings import Telemetry

__all__ = ["RedactingFormatter", "Telemetry", "log_to"]
