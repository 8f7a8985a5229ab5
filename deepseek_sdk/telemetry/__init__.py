"""Spans, metrics and events of calls, by OpenTelemetry's API alone; and logging that keeps secrets."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepseek_sdk.telemetry.logs import RedactingFormatter, log_to
    from deepseek_sdk.telemetry.settings import Telemetry

__all__ = ["RedactingFormatter", "Telemetry", "log_to"]

# Where the names stand: some modules of this package are needed by every client, these are not.
_LATER = {"RedactingFormatter": "logs", "Telemetry": "settings", "log_to": "logs"}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
