from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import threading

from deepseek_sdk.resilience.retrying.nesting import Owner, is_owned


def test_inside_and_outside() -> None:
    """What is done inside the block has an owner, what is done before and after has none, and blocks may be nested."""
    seen = [is_owned()]
    with Owner():
        seen.append(is_owned())
        with Owner():
            seen.append(is_owned())
        seen.append(is_owned())
    seen.append(is_owned())

    assert [False, True, True, True, False] == seen


def test_an_error_ends_the_block() -> None:
    """However the block ends, the mark ends with it, and can be set again."""
    owner = Owner()
    seen: list[bool] = []
    for _ in range(2):
        with contextlib.suppress(ValueError), owner:
            seen.append(is_owned())
            int("x")
        seen.append(is_owned())

    assert [True, False] * 2 == seen


def test_threads() -> None:
    """A thread that takes the context over is owned as long as the block lasts, and no longer; any other never is."""
    seen: list[bool] = []
    has_ended = threading.Event()

    def work() -> None:
        seen.append(is_owned())
        has_begun.set()
        has_ended.wait()
        seen.append(is_owned())

    has_begun = threading.Event()
    with Owner():
        inside = threading.Thread(target=contextvars.copy_context().run, args=(work,))
        inside.start()
        has_begun.wait()
    has_ended.set()
    inside.join()
    with Owner():
        other = threading.Thread(target=lambda: seen.append(is_owned()))
        other.start()
        other.join()

    assert [True, False, False] == seen


async def test_tasks() -> None:
    """A task that is started inside is owned as long as the block lasts; one beside it never is."""
    seen: list[tuple[str, bool]] = []

    async def work(name: str) -> None:
        seen.append((name, is_owned()))
        await has_ended.wait()
        seen.append((name, is_owned()))

    async def attempt() -> None:
        with Owner():
            tasks.append(asyncio.create_task(work("inside")))
            await asyncio.sleep(0)
        has_ended.set()

    has_ended = asyncio.Event()
    tasks = [asyncio.create_task(work("beside"))]
    await attempt()
    await asyncio.gather(*tasks)

    assert [("beside", False), ("inside", True), ("beside", False), ("inside", False)] == seen
    assert not is_owned()


def test_a_coroutine_that_is_forgotten() -> None:
    """A block that the garbage collector ends, in another context, raises nothing and owns nothing any more."""
    owner = Owner()

    class Pause:
        def __await__(self) -> object:
            yield

    async def attempt() -> None:
        with owner:
            await Pause()  # type: ignore[misc]

    context = contextvars.copy_context()
    coroutine = attempt()
    context.run(coroutine.send, None)
    before = context.run(is_owned)
    del coroutine
    gc.collect()

    assert (True, False) == (before, context.run(is_owned))
