"""
Measure what telemetry costs: `python -m tests.bench.telemetry [--quick]`.

A call goes through the stage `Observation` alone, with an answer at its end that is there at once. The SDK of the rows
that have one exports nothing. What is measured is CPU time, more than without the stage.
"""

from __future__ import annotations

import statistics
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.resilience.account import Account
from deepseek_sdk.stages.telemetry import Observation
from deepseek_sdk.telemetry import Telemetry
from deepseek_sdk.testing.scripted import make_call
from tests.bench.instant import InstantSource, begin_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

ANSWER = (
    b'{"id":"chat-1","object":"chat.completion","created":1,"model":"deepseek-flash","choices":[{"index":0,"message":'
    b'{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,'
    b'"prompt_cache_hit_tokens":896,"prompt_cache_miss_tokens":104,"completion_tokens":50}}'
)
ACCOUNT = Account("https://api.deepseek.com", "deepseek-flash", "sha256:9f86d081884c")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: microseconds of CPU that a call takes more than without the stage."""

    what: str
    p50: float
    p99: float


async def answer(call: Call) -> Reply:
    """Answer a call."""
    return begin_reply(call, InstantSource(ANSWER), ACCOUNT)


def spent(stages: Sequence[Any], rounds: int) -> list[float]:
    """Measure calls, in microseconds."""
    proceed = compose(stages, answer)
    measured = []
    for _ in range(rounds + rounds // 10):
        call = make_call(is_stream=False, is_direct=True)
        begin = time.process_time_ns()
        finish(finish(proceed(call)).gather())
        measured.append((time.process_time_ns() - begin) / 1000)
    return measured[rounds // 10 :]


def row(what: str, telemetry: Callable[[], Telemetry | None], rounds: int) -> Row:
    """Measure with the stage and without, in turn."""
    stage = Observation(telemetry())
    more: list[float] = []
    bare: list[float] = []
    for _ in range(5):
        bare += spent((), rounds)
        more += spent((stage,), rounds)
    cuts = [statistics.quantiles(values, n=100) for values in (bare, more)]
    return Row(what=what, p50=cuts[1][49] - cuts[0][49], p99=cuts[1][98] - cuts[0][98])


def _spans() -> dict[str, Any]:
    return {"tracer_provider": TracerProvider()}


def _metrics() -> dict[str, Any]:
    return {"meter_provider": MeterProvider([InMemoryMetricReader()])}


def rows(rounds: int) -> list[Row]:
    """Measure every row."""
    return [
        row("off: `telemetry=False`", lambda: None, rounds),
        row("no SDK is set up", Telemetry, rounds),
        row("spans, not sampled", lambda: Telemetry(tracer_provider=TracerProvider(sampler=ALWAYS_OFF)), rounds),
        row("spans", lambda: Telemetry(**_spans()), rounds),
        row("metrics", lambda: Telemetry(**_metrics()), rounds),
        row("spans and metrics", lambda: Telemetry(**_spans(), **_metrics()), rounds),
        row("spans with prompts and answers", lambda: Telemetry(content="spans", **_spans()), rounds),
    ]


def main() -> None:
    """Print the table."""
    rounds = 200 if "--quick" in sys.argv else 2000
    sys.stdout.write("| telemetry | p50 | p99 |\n|---|---|---|\n")
    for line in rows(rounds):
        sys.stdout.write(f"| {line.what} | {line.p50:+.1f} us | {line.p99:+.1f} us |\n")


if __name__ == "__main__":
    main()
