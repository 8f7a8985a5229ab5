"""Fixtures of the tests of telemetry."""

from __future__ import annotations

import pytest

import deepseek_sdk._wire.client  # noqa: F401  now, not on an event loop
from tests.telemetry.heard import Heard


@pytest.fixture
def heard() -> Heard:
    """Listen to everything."""
    return Heard()


@pytest.fixture(autouse=True)
def _no_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "OTEL_SEMCONV_STABILITY_OPT_IN"):
        monkeypatch.delenv(name, raising=False)
