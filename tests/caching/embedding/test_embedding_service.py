"""The thread that makes vectors: what it does first, what it leaves out, and when it is off."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from deepseek_sdk.caching.embedding.base import EmbeddingError, checked
from deepseek_sdk.caching.embedding.service import EmbeddingService, service_of
from deepseek_sdk.errors import ConfigurationError
from tests.caching.disks import run_child
from tests.caching.embedding.made_embedders import DIMENSIONS, Words, vector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

WAIT_S = 20


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Give it."""
        return self.now


@pytest.fixture
def start() -> Iterator[Callable[..., EmbeddingService]]:
    """Make services that end with the test."""
    made: list[EmbeddingService] = []

    def make(embedder: Any = None, **settings: Any) -> EmbeddingService:
        made.append(EmbeddingService(embedder or Words(), **settings))
        return made[-1]

    yield make
    for service in made:
        gate = getattr(service.embedder, "gate", None)
        if gate is not None:
            gate.set()
        assert service.close(WAIT_S)


def ready(service: EmbeddingService) -> EmbeddingService:
    """Wait until a service can be used."""
    service.begin()
    assert service.ready.result(WAIT_S)
    return service


def held(service: EmbeddingService, *texts: str) -> Any:
    """Have it begin with something, and stay at it; give what it is at."""
    embedder: Any = service.embedder
    embedder.gate = threading.Event()
    while embedder.begun.acquire(blocking=False):
        pass
    at = queued(service, texts or ("first",))
    assert embedder.begun.acquire(timeout=WAIT_S)
    return at


def queued(service: EmbeddingService, texts: Sequence[str], **settings: Any) -> Future[Any]:
    """Have vectors made, some time."""
    future = service.submit(texts, **settings)
    assert future is not None
    return future


def rows(service: EmbeddingService, *texts: str, **settings: Any) -> Any:
    """Have vectors made."""
    return queued(service, texts, **settings).result(WAIT_S)


def test_vectors_are_made_in_order(start: Callable[..., EmbeddingService]) -> None:
    """A text has a row, of length 1, in the order of the texts, also of many that are made in parts."""
    service = start(batch=8)
    texts = [f"第 {number} 个问题" for number in range(50)]
    made = rows(service, *texts, is_urgent=False)

    assert np.array_equal(checked([vector(text) for text in texts], 50, DIMENSIONS), made)
    assert ("ready", None, "words", DIMENSIONS) == (
        service.state, service.reason, service.fingerprint, service.dimensions
    )  # fmt: skip
    assert (0, 0) == (service.failures, service.waiting)


def test_nothing_before_it_is_asked(start: Callable[..., EmbeddingService]) -> None:
    """A service has no thread, and has not touched its embedder, until something is asked of it."""
    before, service = threading.active_count(), start()

    assert (before, "idle", None, False) == (
        threading.active_count(), service.state, service.fingerprint, service.ready.done()
    )  # fmt: skip
    assert [] == service.embedder.batches  # type: ignore[attr-defined]


def test_begin_is_idempotent(start: Callable[..., EmbeddingService]) -> None:
    """However often it is begun, it loads once, in one thread."""
    loads: list[str] = []

    class Loaded(Words):
        def load(self) -> None:
            loads.append(threading.current_thread().name)

    service = start(Loaded())
    service.begin()
    ready(service)
    service.begin()
    rows(service, "text")

    assert ["deepseek-sdk-embedder"] == loads


def ended(service: EmbeddingService) -> None:
    """Wait until the thread that could not load its embedder is gone."""
    for thread in threading.enumerate():
        if thread.name == "deepseek-sdk-embedder":
            thread.join(WAIT_S)
    assert "off" == service.state


class Down(Words):
    """Cannot be reached the first times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def load(self) -> None:
        """Fail, or not."""
        self.left -= 1
        if self.left >= 0:
            raise ConnectionError("nobody is there")


def test_what_is_down_at_first(start: Callable[..., EmbeddingService], caplog: pytest.LogCaptureFixture) -> None:
    """It is tried again after 30 seconds, then after twice as long, and used as soon as it is there."""
    clock = Clock()
    service, found = start(Down(2), now=clock), []
    for now in (0.0, 29.0, 31.0, 90.0, 92.0):
        clock.now = now
        job = service.submit(["text"])
        found.append((service.ready.result(WAIT_S), job is not None))
        if not found[-1][0]:
            ended(service)

    assert [(False, True), (False, False), (False, True), (False, False), (True, True)] == found
    assert all(
        f"is off, and tried again in {wait} s" in said for wait, said in zip((30, 60), caplog.messages, strict=True)
    )
    assert ("ready", None, 1) == (service.state, service.reason, len(rows(service, "text")))


@pytest.mark.parametrize("error", [EmbeddingError("no"), ConfigurationError("no"), ImportError("no"), SystemExit("no")])
def test_what_stays_wrong(start: Callable[..., EmbeddingService], error: BaseException) -> None:
    """What no time mends is not tried again."""
    clock = Clock()
    service = start(Broken(error), now=clock)
    service.begin()
    assert not service.ready.result(WAIT_S)
    clock.now = 1e6

    assert (None, "off") == (service.submit(["text"]), service.state)


def test_while_it_loads(start: Callable[..., EmbeddingService]) -> None:
    """While the embedder is loaded texts may wait, and one can see for how long it has been at it."""
    clock, embedder = Clock(), Words(threading.Event())
    service = start(embedder, now=clock)
    future = queued(service, ["text"])
    assert embedder.begun.acquire(timeout=WAIT_S)
    clock.now = 3.0

    assert ("loading", 1, False, True) == (service.state, service.waiting, service.is_stuck(3.0), service.is_stuck(2.9))
    embedder.gate.set()  # type: ignore[union-attr]
    assert 1 == len(future.result(WAIT_S))
    assert service.is_stuck(-1.0) is False


class Broken(Words):
    """Fails where a test says so."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.load_error = error

    def load(self) -> None:
        """Fail."""
        raise self.load_error


NO_WIDTHS = (float(DIMENSIONS), str(DIMENSIONS), None, True, 1)
NO_NAMES = (None, 5, b"words", "")


@pytest.mark.parametrize(
    ("embedder", "said"),
    [
        (Broken(OSError("no such file")), "OSError: no such file"),
        (Broken(KeyboardInterrupt()), "KeyboardInterrupt"),
        (type("Constant", (Words,), {"embed": lambda _, texts: [[1.0] * DIMENSIONS] * len(texts)})(), "tell questions"),
        (type("Narrow", (Words,), {"dimensions": 9})(), "shape"),
        (type("None", (Words,), {"embed": lambda *_: None})(), "no array|shape"),
        *((type("Wide", (Words,), {"dimensions": said})(), "dimensions must be") for said in NO_WIDTHS),
        *((type("Unnamed", (Words,), {"fingerprint": said})(), "fingerprint must be") for said in NO_NAMES),
    ],
    ids=["missing", "interrupted", "constant", "shape", "nothing", *map(repr, (*NO_WIDTHS, *NO_NAMES))],
)
def test_embedder_that_cannot_be_used(
    start: Callable[..., EmbeddingService], embedder: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes off for good, says why in one warning, and what waited fails."""
    service = start(embedder)
    waiting = queued(service, ["文本"])
    assert service.ready.result(WAIT_S) is False

    with pytest.raises(EmbeddingError, match=said):
        waiting.result(WAIT_S)
    assert "off" == service.state
    assert service.submit(["text"]) is None
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert 1 == len(warnings)
    assert str(service.reason) in warnings[0].getMessage()


def test_whole_numbers_of_numpy_will_do(start: Callable[..., EmbeddingService]) -> None:
    """What is a whole number is one, whoever made it; the others see a plain one."""
    service = ready(start(type("Whole", (Words,), {"dimensions": np.int64(DIMENSIONS)})()))

    assert (DIMENSIONS, int, "words") == (service.dimensions, type(service.dimensions), service.fingerprint)
    assert (1, DIMENSIONS) == rows(service, "文本").shape


def test_urgent_ones_come_first(start: Callable[..., EmbeddingService]) -> None:
    """What somebody waits for overtakes what nobody waits for, between its batches."""
    service = ready(start(batch=8))
    at = held(service)
    slow, fast = queued(service, [f"s{i}" for i in range(6)], is_urgent=False), queued(service, ["now"])
    embedder: Any = service.embedder
    embedder.batches.clear()
    embedder.gate.set()
    for future in (at, slow, fast):
        future.result(WAIT_S)

    assert [["now"], ["s0", "s1"], ["s2", "s3"], ["s4", "s5"]] == embedder.batches


def test_those_that_wait_share_a_batch(start: Callable[..., EmbeddingService]) -> None:
    """Texts of several callers are made at once, up to the size of a batch, and each gets its own."""
    service = ready(start(batch=3))
    at = held(service)
    futures = [queued(service, [f"t{i}"]) for i in range(4)]
    embedder: Any = service.embedder
    embedder.batches.clear()
    embedder.gate.set()

    assert all(
        np.array_equal(checked([vector(f"t{i}")], 1, DIMENSIONS), future.result(WAIT_S))
        for i, future in enumerate(futures)
    )
    assert at.result(WAIT_S).shape == (1, DIMENSIONS)
    assert [["t0", "t1", "t2"], ["t3"]] == embedder.batches


def test_too_many_wait(start: Callable[..., EmbeddingService]) -> None:
    """Where too many wait, more are refused at once; urgent ones are not refused for others that wait."""
    service = ready(start(max_waiting=4))
    held(service)
    taken = [service.submit(["a"] * 9, is_urgent=False), service.submit(["b"], is_urgent=False)]
    urgent = [service.submit(["c"] * 3), service.submit(["d"] * 2), service.submit(["e"])]

    assert [True, False, True, False, True] == [future is not None for future in (*taken, *urgent)]
    assert 13 == service.waiting
    assert service.submit([]) is None


def test_cancelled_ones_are_left_out(start: Callable[..., EmbeddingService]) -> None:
    """Texts whose caller went away are not made; those of others are."""
    service = ready(start())
    at = held(service)
    gone, kept = queued(service, ["gone"]), queued(service, ["kept"])
    embedder: Any = service.embedder
    embedder.batches.clear()

    assert gone.cancel()
    embedder.gate.set()
    assert (1, 1) == (len(at.result(WAIT_S)), len(kept.result(WAIT_S)))
    assert [["kept"]] == embedder.batches


async def test_cancelled_task_leaves_the_others(start: Callable[..., EmbeddingService]) -> None:
    """A task that is cancelled while it waits for the embedder does not take it from other tasks."""
    embedder = Words(threading.Event())
    service = start(embedder)
    service.begin()
    one, other = (asyncio.ensure_future(asyncio.wrap_future(service.ready)) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    embedder.gate.set()  # type: ignore[union-attr]

    assert await asyncio.wait_for(other, WAIT_S) is True


def failing(service: EmbeddingService, times: int) -> None:
    """Have it fail so many times."""
    embedder: Any = service.embedder
    embedder.error = ValueError("broken")
    for _ in range(times):
        with pytest.raises(ValueError, match="broken"):
            rows(service, "text")
    embedder.error = None


def test_failures_in_a_row(start: Callable[..., EmbeddingService], caplog: pytest.LogCaptureFixture) -> None:
    """After three failures in a row it rests for 30 s, says so once, and is tried again then."""
    clock = Clock()
    service = ready(start(now=clock))
    failing(service, 2)
    rows(service, "works")
    failing(service, 3)

    assert ("off", 5) == (service.state, service.failures)
    assert "3 times in a row" in str(service.reason)
    assert service.submit(["text"]) is None
    assert service.ready.result() is True
    clock.now = 30.0
    failing(service, 1)
    assert service.submit(["text"]) is None
    clock.now = 60.0
    assert (1, "ready", None) == (len(rows(service, "text")), service.state, service.reason)
    failing(service, 2)
    assert 1 == len(rows(service, "works"))
    assert 1 == len([record for record in caplog.records if record.levelno == logging.WARNING])


def test_what_waits_while_it_fails(start: Callable[..., EmbeddingService]) -> None:
    """What still waits when the rest begins fails, and is not given to the embedder."""
    service = ready(start(Words(), batch=1, now=Clock()))
    failing(service, 2)
    at = held(service)
    waiting = queued(service, ["waits"], is_urgent=False)
    embedder: Any = service.embedder
    embedder.error = ValueError("broken")
    embedder.batches.clear()
    embedder.gate.set()

    with pytest.raises(ValueError, match="broken"):
        at.result(WAIT_S)
    with pytest.raises(EmbeddingError, match="in a row"):
        waiting.result(WAIT_S)
    assert [] == embedder.batches


def _fail(_: Any) -> Any:
    raise ZeroDivisionError


def test_part_of_a_job_fails(start: Callable[..., EmbeddingService]) -> None:
    """Where one part fails the job fails, and the rest of it is not made."""
    service = ready(start(batch=4))
    at = held(service)
    job = queued(service, ["a", "b", "c"], is_urgent=False)
    embedder: Any = service.embedder
    made = embedder.embed
    answers = iter([made, _fail, made])

    def embed(texts: Sequence[str]) -> Any:
        return next(answers)(texts)

    embedder.embed = embed
    embedder.gate.set()
    at.result(WAIT_S)

    with pytest.raises(ZeroDivisionError):
        job.result(WAIT_S)
    rows(service, "next")
    assert [["a"], ["next"]] == embedder.batches[-2:]


def test_vectors_that_turn_bad(start: Callable[..., EmbeddingService]) -> None:
    """Vectors that are not finite, or of another shape, are a failure like any other."""
    service = ready(start())
    embedder: Any = service.embedder
    embedder.embed = lambda texts: [[float("nan")] * DIMENSIONS] * len(texts)

    with pytest.raises(EmbeddingError, match="finite"):
        rows(service, "text")
    embedder.embed = lambda _: [[1.0, 2.0]]
    with pytest.raises(EmbeddingError, match="shape"):
        rows(service, "text")
    assert 2 == service.failures


def test_hanging_embedder_is_seen(start: Callable[..., EmbeddingService]) -> None:
    """One can see that it has been at something for too long; nobody has to wait for that."""
    clock = Clock()
    service = ready(start(now=clock))
    held(service)
    clock.now = 1.0

    assert (True, False) == (service.is_stuck(0.5), service.is_stuck(1.5))
    assert service.close(0) is False


def test_close_cancels_what_waits(start: Callable[..., EmbeddingService]) -> None:
    """Closing cancels what waits; what it is at is finished; nothing more is taken."""
    service = ready(start())
    at = held(service)
    waiting = queued(service, ["waits"])
    service.close(0)
    service.embedder.gate.set()  # type: ignore[attr-defined]

    assert service.close(WAIT_S)
    assert 1 == len(at.result(WAIT_S))
    with pytest.raises(CancelledError):
        waiting.result(WAIT_S)
    assert service.submit(["text"]) is None
    assert ("off", "closed", True) == (service.state, service.reason, service.is_closed)


def test_close_before_anything() -> None:
    """A service that was never used closes at once, and is not ready."""
    service = EmbeddingService(Words())

    assert (True, True) == (service.close(), service.close())
    service.begin()
    assert ("off", False) == (service.state, service.ready.result(WAIT_S))


def test_child_leaves_the_thread_of_its_parent(start: Callable[..., EmbeddingService]) -> None:
    """What is done at the end of a program is done by the process that has the thread, and by no child of it."""
    service = ready(start())
    line = service._lines.get()
    line._owner._pid += 1
    line._exit()
    assert service.is_closed is False
    line._owner._pid -= 1
    line._exit()

    assert service.close(0)


def test_thread_may_close_it() -> None:
    """What is told of the vectors, in the thread itself, may close the service."""
    service = ready(EmbeddingService(Words()))
    at = held(service)
    at.add_done_callback(lambda _: service.close(None))
    service.embedder.gate.set()  # type: ignore[attr-defined]
    at.result(WAIT_S)

    assert service.close(WAIT_S)


def test_one_service_for_an_embedder() -> None:
    """All that use the same object share a thread, which ends with the last of them; equal objects do not."""
    embedder = Words()
    service, other = service_of(embedder), service_of(Words())

    assert service is service_of(embedder)
    assert service is not other
    ready(service)
    threads = [thread for thread in threading.enumerate() if thread.name == "deepseek-sdk-embedder"]
    del service
    gc.collect()
    for thread in threads:
        thread.join(WAIT_S)
    again = service_of(embedder)
    assert ("idle", True) == (again.state, not any(thread.is_alive() for thread in threads))


def test_closed_service_is_not_shared() -> None:
    """Who asks for the service of an embedder whose service was closed gets another."""
    embedder = Words()
    closed = service_of(embedder)
    closed.close()

    assert closed is not service_of(embedder)


def test_threads_share_a_service(start: Callable[..., EmbeddingService]) -> None:
    """Many threads get the vectors of their own texts."""
    service, right = start(max_waiting=4096), list[bool]()

    def ask(name: int) -> None:
        for number in range(20):
            text = f"question {name} {number}"
            right.append(np.array_equal(checked([vector(text)], 1, DIMENSIONS), rows(service, text)))

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [True] * 160 == right


@pytest.mark.parametrize("settings", [{"batch": 0}, {"batch": "x"}, {"max_waiting": 0}])
def test_arguments_are_checked(settings: dict[str, Any]) -> None:
    """Numbers that cannot be used are named."""
    with pytest.raises(ConfigurationError, match=next(iter(settings))):
        EmbeddingService(Words(), **settings)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_child_has_a_thread_of_its_own() -> None:
    """A forked child loads anew, and its vectors come while the thread of the parent is at something."""
    code = """
import os, sys, threading, warnings
from deepseek_sdk.caching.embedding.service import EmbeddingService
from tests.caching.embedding.made_embedders import Words
warnings.simplefilter("ignore", DeprecationWarning)
service = EmbeddingService(Words())
assert service.ready.done() is False
service.begin(); assert service.ready.result(20)
service.embedder.gate = threading.Event()
while service.embedder.begun.acquire(blocking=False): pass
at = service.submit(["parent"])
assert service.embedder.begun.acquire(timeout=20)
child = os.fork()
if child == 0:
    service.embedder.gate = None
    assert service.state == "idle", service.state
    assert service.submit(["child"]).result(20).shape == (1, 256)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
service.embedder.gate.set()
assert at.result(20).shape == (1, 256)
"""
    run_child(code)


@pytest.mark.slow
def test_program_ends_while_it_works() -> None:
    """A program that ends does not wait for what nobody waits for any more."""
    code = """
from deepseek_sdk.caching.embedding.service import EmbeddingService
from tests.caching.embedding.made_embedders import Words
service = EmbeddingService(Words(), max_waiting=10**6)
service.submit(["text %d" % number for number in range(10**5)], is_urgent=False)
"""
    run_child(code)
