from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk._finish import finish
from deepseek_sdk._pipeline import compose
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply


class Stamp:
    """A stage that writes its name into a list on the way in and on the way out, and into the call."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Let the rest answer."""
        self.seen.append(f"{self.name} in")
        reply = await proceed(call.replace(body={**call.body, self.name: len(self.seen)}))
        self.seen.append(f"{self.name} out")
        return reply


def test_stages_run_from_the_outermost_to_the_innermost() -> None:
    """The first stage of the list sees the call first and the reply last; the backend gets what all made of it."""
    seen: list[str] = []
    backend = ScriptedBackend(said("Hi"))
    chain = compose([Stamp("a", seen), Stamp("b", seen), Stamp("c", seen)], backend)
    finish(chain(make_call(body={})))

    assert ["a in", "b in", "c in", "c out", "b out", "a out"] == seen
    assert [{"a": 1, "b": 2, "c": 3}] == [call.body for call in backend.calls]


def test_a_chain_without_stages_is_the_backend() -> None:
    """With nothing to chain, the last answers."""
    backend = ScriptedBackend()

    assert backend is compose([], backend)


def test_a_chain_can_be_used_again() -> None:
    """One chain serves any number of calls, and a stage may proceed any number of times."""

    async def twice(call: Call, proceed: Proceed) -> Reply:
        await proceed(call)
        return await proceed(call)

    backend = ScriptedBackend(*[said("Hi")] * 4)
    chain = compose([twice], backend)
    finish(chain(make_call()))
    finish(chain(make_call()))

    assert 4 == len(backend.calls)


def test_finish_gives_the_result() -> None:
    """A coroutine that does not suspend is run to its end at once."""

    async def inner() -> int:
        return 1

    async def outer() -> int:
        return await inner() + 1

    assert 2 == finish(outer())


def test_finish_lets_errors_through() -> None:
    """What the coroutine raises is raised."""

    async def broken() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        finish(broken())


def test_finish_refuses_what_needs_an_event_loop() -> None:
    """A stage that awaits anything else is closed, its cleanup runs, and the error says what is wrong."""
    cleaned: list[bool] = []

    async def stage() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            cleaned.append(True)

    with pytest.raises(RuntimeError, match="other than proceed"):
        finish(stage())
    assert [True] == cleaned
