"""Nobody listens: nothing is made, and nothing is imported."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from opentelemetry import trace
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.trace import NoOpTracerProvider

from deepseek_sdk.telemetry import Telemetry

if TYPE_CHECKING:
    from tests.conftest import Driver, StartEmulator
    from tests.telemetry.heard import Heard

CALL = """
import sys
from deepseek_sdk import Client
client = Client(base_url=sys.argv[1], api_key="k")
hello = dict(model="deepseek-flash", messages=[{"role": "user", "content": "Hello"}])
client.chat.completions.create(**hello)
list(client.chat.completions.create(stream=True, **hello))
"""
NOTHING = f"{CALL}\nprint([name for name in sys.modules if name.partition('.')[0] == 'opentelemetry'])"
# openai imports it when somebody asks for it: it has hundreds of modules, and takes seconds.
BETA = f"{CALL}\nprint('openai.resources.beta' in sys.modules)"
LATER = f"""{CALL}
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
client.chat.completions.create(**hello)
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
client.chat.completions.create(**hello)
print([span.name for span in exporter.get_finished_spans()])
"""
NAMED = f"""
import os
os.environ["OTEL_PYTHON_TRACER_PROVIDER"] = "sdk_tracer_provider"
{CALL}
from opentelemetry import trace
print(type(trace.get_tracer_provider()).__module__.startswith("opentelemetry.sdk"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (NOTHING, "[]"),
        (BETA, "False"),
        (LATER, "['deepseek_sdk.attempt', 'chat deepseek-flash', 'deepseek_sdk.request']"),
        (NAMED, "True"),
    ],
    ids=["nothing", "no beta", "later", "named by the environment"],
)
def test_programs(emulator: StartEmulator, program: str, printed: str) -> None:
    """Without an SDK nothing of OpenTelemetry is imported; one that is set up later is told from then on."""
    command = [sys.executable, "-c", program, emulator(replies=lambda _: "Hi").url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (0, "", printed) == (done.returncode, done.stderr, done.stdout.strip())


def test_switched_off(driver: Driver, emulator: StartEmulator, heard: Heard) -> None:
    """`telemetry=False` tells nobody anything."""
    client = driver.client(base_url=emulator(replies=["Hi"]).url, telemetry=False)

    assert "Hi" == driver.create(client).choices[0].message.content
    assert [] == heard.spans()


def test_listeners_that_do_not() -> None:
    """Providers that do nothing are nobody."""
    telemetry = Telemetry(tracer_provider=NoOpTracerProvider(), meter_provider=NoOpMeterProvider())

    assert telemetry.listening.emitter() is None


def test_where_the_api_keeps_providers() -> None:
    """The API keeps what is set for the process where this library looks for it."""
    from opentelemetry._logs import _internal as logs  # noqa: PLC0415  a contract with what is private there
    from opentelemetry.metrics import _internal as metrics  # noqa: PLC0415  likewise

    assert hasattr(trace, "_TRACER_PROVIDER")
    assert hasattr(metrics, "_METER_PROVIDER")
    assert hasattr(logs, "_LOGGER_PROVIDER")
