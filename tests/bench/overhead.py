"""
What this library adds to bare openai, as ratios and differences of paired rounds in one run.

Run: python -m tests.bench.overhead [--quick]

Each round measures both sides, in turn first and second, and the lower deciles are compared: absolute numbers differ
from machine to machine and from minute to minute. CPU is that of this process; the server is another one.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx2
import openai
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deepseek_sdk import (
    AsyncClient,
    BreakerPolicy,
    Budgets,
    Client,
    Deadlines,
    LimiterPolicy,
    RetryBudget,
    RetryPolicy,
    Route,
    SpendBudget,
    Telemetry,
    TokenBudget,
)
from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk._targets import ClientRequest
from deepseek_sdk.backends.wire import StreamSupport
from deepseek_sdk.stages import default_stages
from tests.bench.instant import InstantSource, begin_reply
from tests.bench.wire_server import stream_events, whole_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

REQUEST: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Count to 300."}]}
EVENTS = stream_events()


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    what: str
    bare: str
    ours: str
    added: str
    target: str


@contextmanager
def wire_server() -> Iterator[str]:
    """Run the server of fixed bytes."""
    command = [sys.executable, "-m", "tests.bench.wire_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def cpu_us(work: Callable[[], object]) -> float:
    """Return the CPU time of some work, in microseconds."""
    before = time.process_time_ns()
    work()
    return (time.process_time_ns() - before) / 1000


def pairs(bare: Callable[[], object], ours: Callable[[], object], rounds: int) -> list[tuple[float, float]]:
    """Measure two things in turn, each one first half of the time."""
    bare(), ours()
    measured = []
    for number in range(rounds):
        if number % 2:
            measured.append((cpu_us(bare), cpu_us(ours)))
        else:
            second = cpu_us(ours)
            measured.append((cpu_us(bare), second))
    return measured


def quiet(values: list[float]) -> float:
    """Return the lower decile: other work on the machine can only make a round slower, never faster."""
    return statistics.quantiles(values, n=10)[0]


def row(what: str, measured: list[tuple[float, float]], target: str, per: int = 1) -> Row:
    """Sum paired rounds up."""
    bare, ours = (quiet([pair[side] / per for pair in measured]) for side in (0, 1))
    added = f"{ours - bare:+.1f} us (x{ours / bare:.3f})"
    return Row(what=what, bare=f"{bare:.1f} us", ours=f"{ours:.1f} us", added=added, target=target)


class _Bytes(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield from EVENTS

    async def __aiter__(self) -> Any:
        for event in EVENTS:
            yield event


class _Memory(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers every request with the stream, an event at a time, without a network."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        del request
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Bytes())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return self.handle_request(request)


def _in_memory(kind: Callable[..., Any]) -> Any:
    return kind(api_key="k", base_url="http://bench", http_client=httpx2.Client(transport=_Memory()))


def chunks(rounds: int) -> list[Row]:
    """Measure what a chunk costs: the bytes alone, and all that openai makes of them."""
    bare, ours = _in_memory(openai.OpenAI), _in_memory(Client)

    def bytes_of(client: openai.OpenAI) -> Callable[[], object]:
        return lambda: sum(map(len, client.chat.completions.create(stream=True, **REQUEST).response.iter_bytes()))

    def stream_of(client: openai.OpenAI) -> Callable[[], object]:
        return lambda: [None for _ in client.chat.completions.create(stream=True, **REQUEST)]

    return [
        row("streamed chunk, its bytes", pairs(bytes_of(bare), bytes_of(ours), rounds * 4), "+2 us", len(EVENTS)),
        row(
            "streamed chunk, as openai's object", pairs(stream_of(bare), stream_of(ours), rounds), "+2 us", len(EVENTS)
        ),
    ]


def async_chunks(rounds: int) -> list[Row]:
    """Measure the same in the async colour."""
    http = [httpx2.AsyncClient(transport=_Memory()) for _ in range(2)]
    bare = openai.AsyncOpenAI(api_key="k", base_url="http://bench", http_client=http[0])
    ours = AsyncClient(api_key="k", base_url="http://bench", http_client=http[1])
    with asyncio.Runner() as runner:

        def bytes_of(client: openai.AsyncOpenAI) -> Callable[[], object]:
            async def work() -> None:
                stream = await client.chat.completions.create(stream=True, **REQUEST)
                async for _ in stream.response.aiter_bytes():
                    pass

            return lambda: runner.run(work())

        return [row("async chunk, its bytes", pairs(bytes_of(bare), bytes_of(ours), rounds * 4), "+2 us", len(EVENTS))]


def calls(url: str, rounds: int) -> list[Row]:
    """Measure whole calls over loopback."""
    bare, ours = openai.OpenAI(api_key="k", base_url=url), Client(api_key="k", base_url=url)
    folding = ours.with_options(plain="stream")

    def plain(client: openai.OpenAI) -> Callable[[], object]:
        return lambda: client.chat.completions.create(**REQUEST)

    def stream(client: openai.OpenAI) -> Callable[[], object]:
        return lambda: [None for _ in client.chat.completions.create(stream=True, **REQUEST)]

    return [
        row("plain call, direct", pairs(plain(bare), plain(ours), rounds * 10), "x1.05"),
        row("plain call, folded, against bare streaming", pairs(stream(bare), plain(folding), rounds), "x1.0"),
        row("streamed call", pairs(stream(bare), stream(ours), rounds), "x1.0"),
    ]


class _Nobody:
    """A last resort that is never asked."""

    name = "nobody"
    is_last_resort = True

    async def __call__(self, call: Call) -> Reply:
        raise NotImplementedError


def policies(rounds: int) -> list[Row]:
    """Measure one call's way through the stages, with nothing at the end of them."""
    with TemporaryDirectory() as directory:
        lone = Client(api_key="k", base_url="http://bench")
        everything = _everything(Path(directory), telemetry=Telemetry())
        heard = _everything(Path(directory), telemetry=_heard())
        rows = [
            *_policies("policies of a call", lone, rounds),
            *_policies("with every policy, a budget and a ledger", everything, rounds),
            *_policies("the same, with spans and metrics", heard, rounds),
        ]
        everything.close()
        heard.close()
    return rows


def _everything(directory: Path, telemetry: Telemetry) -> Client:
    """Make a client that does all that it can do."""
    return Client(
        api_key="k",
        base_url="http://bench",
        routes=["deepseek-v4-pro", Route("other", base_url="http://other", api_key="k"), _Nobody()],
        retry=RetryPolicy(budget=RetryBudget()),
        breaker=BreakerPolicy(slow_first_token=8),
        limiter=LimiterPolicy(rpm=10**9, tpm=10**9),
        deadlines=Deadlines(first_token=8, stall=15, total=120),
        user="somebody",
        tags={"team": "bench"},
        token_budget=TokenBudget(),
        spend_budget=Budgets([SpendBudget(limit=10**6, per="user", period="day")], path=directory / "budgets"),
        ledger=directory / "ledger",
        telemetry=telemetry,
    )


def _heard() -> Telemetry:
    """Let an SDK listen that keeps what it is told and sends it nowhere."""
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    return Telemetry(tracer_provider=tracers, meter_provider=MeterProvider([InMemoryMetricReader()]))


def _policies(what: str, client: Client, rounds: int) -> list[Row]:
    source = InstantSource(whole_answer())

    async def answer(call: Call) -> Reply:
        return begin_reply(call, source, call.upstream.account)

    family = client._heritage.family
    proceed = compose(default_stages(family.policies), answer)
    options = openai._models.FinalRequestOptions.construct(method="post", url="/chat/completions", json_data=REQUEST)
    request = ClientRequest(client=client, send=print, options=options, support=StreamSupport())

    def one() -> None:
        call = family.admit(request, path="/chat/completions", is_stream=False, own=client._heritage.own)
        finish(finish(proceed(call)).gather())

    spent = []
    for _ in range(rounds * 100):
        source.make_ready()
        spent.append(cpu_us(one))
    cuts = statistics.quantiles(spent, n=100)
    return [
        Row(what=f"{what}, p50", bare="", ours=f"{cuts[49]:.1f} us", added="", target="50 us"),
        Row(what=f"{what}, p99", bare="", ours=f"{cuts[98]:.1f} us", added="", target="200 us"),
    ]


_FOOTPRINT = """
import os, resource, {module}
usage = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/statm") as statm:
    pages = int(statm.read().split()[1])
print(usage.ru_utime + usage.ru_stime, pages * os.sysconf("SC_PAGESIZE"))
"""


def _footprint(module: str) -> tuple[float, float]:
    # An installed package is compiled; a checkout may not be allowed to be.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", _FOOTPRINT.format(module=module)]
    seconds, resident = subprocess.run(command, capture_output=True, check=True, env=environment).stdout.split()
    return float(seconds) * 1000, float(resident) / 2**20


def footprint(rounds: int) -> list[Row]:
    """Measure import time and memory in fresh processes."""
    measured = [(_footprint("openai"), _footprint("deepseek_sdk")) for _ in range(rounds + 1)][1:]
    rows = []
    for position, (what, unit, target) in enumerate(
        (("import, CPU", "ms", "+50 ms"), ("memory after import", "MiB", "+5 MB"))
    ):
        bare, ours = (quiet([pair[side][position] for pair in measured]) for side in (0, 1))
        values = [f"{side:.1f} {unit}" for side in (bare, ours)]
        rows.append(Row(what=what, bare=values[0], ours=values[1], added=f"{ours - bare:+.1f} {unit}", target=target))
    return rows


def main() -> None:
    """Print the table."""
    rounds = 6 if "--quick" in sys.argv else 40
    rows = [*policies(rounds), *chunks(rounds), *async_chunks(rounds)]
    with wire_server() as url:
        rows += calls(url, rounds)
    rows += footprint(max(rounds // 4, 3))
    sys.stdout.write("| what | bare openai | deepseek_sdk | added | target |\n|---|---|---|---|---|\n")
    for line in rows:
        sys.stdout.write(f"| {line.what} | {line.bare} | {line.ours} | {line.added} | {line.target} |\n")


if __name__ == "__main__":
    main()
