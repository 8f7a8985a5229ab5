"""
Whatever bytes arrive, the outcome is the full text or a typed error with a true prefix of it, never anything else.

Most runs feed the bytes through an HTTP transport of the caller's own, some over real sockets.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import openai
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deepseek_sdk import Client, Deadlines, DeepSeekError
from tests.conftest import Driver
from tests.raw_server import (
    DONE,
    FINISH,
    ROLE,
    RawServer,
    completion,
    delta,
    event,
    stream,
    without_certificates,  # noqa: F401  a fixture
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

Way = Literal["folded", "streamed", "helper"]

TEXT = 'Die Antwort: 杭州 🏞️ "quoted" \\ back\nslash 👩‍👩‍👧 end.'
THOUGHT = "Überlegen … 好的"
PIECES = ["Die ", "Antwort: 杭", "州 🏞️ ", '"quoted"', " \\ back\n", "slash 👩‍", "👩‍👧 end", "."]
EVENTS = [
    ROLE,
    delta(content=None, reasoning_content="Überlegen "),
    delta(content=None, reasoning_content="… 好的"),
    *(delta(content=piece) for piece in PIECES),
    FINISH,
    DONE,
]
BODY = b"".join(EVENTS)
ASKED = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hello"}]}


@dataclass
class Outcome:
    """
    What a caller saw.

    Attributes:
        text: The content that was shown, in order.
        reasoning: The reasoning likewise.
        error: How it ended, or None.
    """

    text: str = ""
    reasoning: str = ""
    error: openai.OpenAIError | None = None

    def check(self, text: str = TEXT, thought: str = THOUGHT) -> None:
        """Hold the outcome to the rule."""
        if self.error is None:
            assert (text, thought) == (self.text, self.reasoning)
            return
        assert text.startswith(self.text)
        assert thought.startswith(self.reasoning)
        if isinstance(self.error, DeepSeekError):
            partial = self.error.partial
            assert text.startswith(partial.text)
            assert thought.startswith(partial.reasoning)
            assert partial.text.startswith(self.text)
            assert partial.reasoning.startswith(self.reasoning)


def run(client: Any, driver: Driver, way: Way) -> Outcome:
    """Make a call in one of the ways; any exception but openai's is a failure of the test."""
    outcome = Outcome()
    try:
        WAYS[way](client, driver, outcome)
    except openai.OpenAIError as error:
        outcome.error = error
    return outcome


def _folded(client: Any, driver: Driver, outcome: Outcome) -> None:
    message = driver.create(client).choices[0].message
    outcome.text, outcome.reasoning = message.content, getattr(message, "reasoning_content", None) or ""


def _streamed(client: Any, driver: Driver, outcome: Outcome) -> None:
    for part in driver.iterate(driver.create(client, stream=True)):
        for choice in part.choices or ():
            outcome.text += choice.delta.content or ""
            outcome.reasoning += getattr(choice.delta, "reasoning_content", None) or ""


def _helper(client: Any, driver: Driver, outcome: Outcome) -> None:
    with driver.entered(client.chat.completions.stream(**ASKED)) as helper:
        for item in driver.iterate(helper):
            if item.type == "content.delta":
                outcome.text += item.delta
            elif item.type == "chunk":
                for choice in item.chunk.choices or ():
                    outcome.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        final = driver.call(helper.get_final_completion).choices[0].message
    assert outcome.text == (final.content or "")


WAYS: dict[Way, Callable[[Any, Driver, Outcome], None]] = {
    "folded": _folded,
    "streamed": _streamed,
    "helper": _helper,
}


class _Body(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes], *, breaks: bool) -> None:
        self._pieces = pieces
        self._breaks = breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._breaks:
            raise httpx2.RemoteProtocolError("peer closed connection")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers every request with the bytes it was given last."""

    pieces: list[bytes]
    breaks = False
    content_type = "text/event-stream"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer in the sync colour."""
        body = _Body(self.pieces, breaks=self.breaks)
        return httpx2.Response(200, headers={"content-type": self.content_type}, stream=body, request=request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer in the async colour."""
        return self.handle_request(request)


@dataclass
class Rig:
    """A client whose transport says what it is told to."""

    driver: Driver
    client: Any
    transport: Transport

    def run(self, pieces: list[bytes], way: Way, *, breaks: bool = False, content_type: str = "") -> Outcome:
        """Make a call that is answered by *pieces*."""
        self.transport.pieces, self.transport.breaks = pieces, breaks
        self.transport.content_type = content_type or "text/event-stream"
        return run(self.client, self.driver, way)


@pytest.fixture(scope="module", params=["sync", "async"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """Keep one client per colour for all examples."""
    driver, transport = Driver(request.param), Transport()
    http_client = (httpx2.AsyncClient if driver.is_async else httpx2.Client)(transport=transport)
    # One client for hundreds of answers that are bad on purpose: no breaker may learn from them.
    client = driver.client(
        base_url="http://127.0.0.1:9", http_client=http_client, plain="stream", max_retries=0, breaker=None
    )
    try:
        yield Rig(driver, client, transport)
    finally:
        driver.close()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Cut *data* at *places*, which may be anywhere."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges) if start < end]


NOISE = st.sampled_from(
    [
        b": keep-alive\n\n",
        b":\n",
        b"id: 7\n",
        b"retry: 100\n\n",
        b"\n",
        b"event: message\n",
        b"data:\n\n",
        b"foo: bar\n",
    ]
)


@st.composite
def reshaped(draw: st.DrawFn) -> list[bytes]:
    """Give the whole answer in another shape: other line ends, noise between events, cut anywhere."""
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    parts: list[bytes] = []
    for item in EVENTS:
        parts += draw(st.lists(NOISE, max_size=2))
        parts.append(item if draw(st.booleans()) else item.replace(b"data: ", b"data:"))
    data = b"".join(parts).replace(b"\n", end)
    bom = b"\xef\xbb\xbf" if draw(st.booleans()) else b""
    return cut(bom + data, draw(st.lists(st.integers(0, 10_000), max_size=12)))


@st.composite
def mangled(draw: st.DrawFn) -> list[bytes]:
    """Give the answer cut short at any byte, with the cut-off part thrown away."""
    end = draw(st.integers(0, len(BODY)))
    return cut(BODY[:end], draw(st.lists(st.integers(0, 10_000), max_size=6)))


ways = st.sampled_from(["folded", "streamed", "helper"])
quick = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    database=None,
)


@quick
@given(pieces=reshaped(), way=ways)
def test_reshaped(rig: Rig, pieces: list[bytes], way: Way) -> None:
    """An answer that is whole gives the full text, whatever its shape on the wire."""
    outcome = rig.run(pieces, way)

    assert None is outcome.error
    assert (TEXT, THOUGHT) == (outcome.text, outcome.reasoning)


@quick
@given(pieces=mangled(), way=ways, breaks=st.booleans())
def test_cut_anywhere(rig: Rig, pieces: list[bytes], way: Way, breaks: bool) -> None:  # noqa: FBT001
    """An answer cut at any byte is an error with a true prefix, unless its finish reason had arrived."""
    outcome = rig.run(pieces, way, breaks=breaks)

    outcome.check()
    assert (outcome.error is None) == (len(b"".join(pieces)) >= BODY.index(FINISH) + len(FINISH) - 2)


@quick
@given(order=st.lists(st.integers(0, len(EVENTS) - 3), max_size=30), way=ways, place=st.integers(0, 12))
def test_events_in_any_order(rig: Rig, order: list[int], way: Way, place: int) -> None:
    """Events in any order and number are handed on as they came: what arrived twice is shown twice, nothing is lost."""
    shuffled = [EVENTS[index] for index in order]
    said = [json.loads(item[6:])["choices"][0]["delta"] for item in shuffled]
    text = "".join(item.get("content") or "" for item in said)
    thought = "".join(item.get("reasoning_content") or "" for item in said)
    outcome = rig.run([*shuffled[:place], *shuffled[place:], FINISH, DONE], way)

    outcome.check(text, thought)
    assert bool(text or thought) == (outcome.error is None)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@quick
@given(
    pieces=st.lists(
        st.one_of(
            st.sampled_from([*EVENTS, json.dumps(completion(TEXT)).encode(), b'data: {"choices": 5}\n\n']),
            st.binary(max_size=40),
            st.builds(
                lambda value: b"data: " + json.dumps(value).encode() + b"\n\n",
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda inner: (
                        st.lists(inner, max_size=3)
                        | st.dictionaries(
                            st.sampled_from(
                                [
                                    "choices",
                                    "delta",
                                    "content",
                                    "error",
                                    "index",
                                    "usage",
                                    "id",
                                    "tool_calls",
                                    "function",
                                    "finish_reason",
                                    "message",
                                ]
                            ),
                            inner,
                        )
                    ),
                    max_leaves=8,
                ),
            ),
        ),
        max_size=8,
    ),
    way=ways,
    breaks=st.booleans(),
    content_type=st.sampled_from(["text/event-stream", "application/json", "text/html"]),
)
@example(pieces=[b'{"choices": []}'], way="folded", breaks=False, content_type="application/json")
@example(
    pieces=[b'data: {"choices":[{"delta":{"content":5},"finish_reason":"stop"}]}\n\n'],
    way="folded",
    breaks=False,
    content_type="text/event-stream",
)
def test_garbage(rig: Rig, pieces: list[bytes], way: Way, breaks: bool, content_type: str) -> None:  # noqa: FBT001
    """Garbage ends in an answer or in an error of `openai`'s family; any other exception fails this test."""
    rig.run(pieces, way, breaks=breaks, content_type=content_type)


@pytest.mark.slow
@settings(quick, max_examples=25)
@given(data=st.data(), way=ways, end=st.sampled_from(["end", "close", "reset"]))
def test_over_sockets(data: st.DataObject, way: Way, end: Literal["end", "close", "reset"]) -> None:
    """The same rule holds over a real connection, however it ends."""
    pieces = data.draw(st.one_of(reshaped(), mangled()))
    with (
        RawServer(stream(*pieces, end=end)) as server,
        Client(
            base_url=server.url, api_key="test-key", max_retries=0, plain="stream", deadlines=Deadlines(total=5)
        ) as client,
    ):
        outcome = run(client, Driver("sync"), way)

    outcome.check()


@pytest.mark.parametrize("way", WAYS)
def test_each_byte_alone(rig: Rig, way: Way) -> None:
    """An answer that arrives byte by byte gives the full text."""
    outcome = rig.run([bytes([byte]) for byte in BODY], way)

    outcome.check()
    assert None is outcome.error


@pytest.mark.parametrize("way", WAYS)
def test_error_event_is_a_typed_error(rig: Rig, way: Way) -> None:
    """An error inside the answer ends it with that error and the prefix."""
    outcome = rig.run([*EVENTS[:5], event({"error": {"message": "Overloaded", "type": "server_error"}})], way)

    outcome.check()
    assert "Overloaded" in str(outcome.error)


@pytest.mark.parametrize("way", WAYS)
def test_chunks_without_object(rig: Rig, way: Way) -> None:
    """Chunks that do not say what they are still make an answer, in the stream helper as well."""
    bare = [item.replace(b'"object":"chat.completion.chunk",', b"") for item in EVENTS]
    outcome = rig.run(bare, way)

    outcome.check()
    assert None is outcome.error


def test_chunks_without_choices(rig: Rig) -> None:
    """Whatever a stream hands on has a list of choices to look at."""
    rig.transport.pieces, rig.transport.breaks = [*EVENTS[:4], b"data: {}\n\n", *EVENTS[4:]], False
    try:
        chunks = list(rig.driver.iterate(rig.driver.create(rig.client, stream=True)))
    except openai.OpenAIError:
        return

    assert all(isinstance(item.choices, list) for item in chunks)
