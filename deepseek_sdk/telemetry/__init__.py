"""Spans, metrics and events of calls, by OpenTelemetry's API alone; and logging that keeps secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later

if TYPE_CHECKING:
    from deepseek_sdk.telemetry.logs import RedactingFormatter, log_to
    from deepseek_sdk.telemetry.settings import Telemetry

__all__ = ["RedactingFormatter", "Telemetry", "log_to"]

# Where the names stand: some modules of this package are needed by every client, these are not.
__getattr__ = _later(
    __name__,
    {"RedactingFormatter": "logs", "Telemetry": "settings", "log_to": "logs"},
)
