"""What a call leaves behind: nothing that the garbage collector would have to find."""

from __future__ import annotations

import gc
import weakref
from math import inf
from typing import TYPE_CHECKING, Any

import openai
import pytest
import tenacity

from deepseek_sdk._clock import Limits
from deepseek_sdk._finish import finish
from deepseek_sdk.errors import ConfigurationError, StreamInterruptedError
from deepseek_sdk.resilience.retrying.policy import RetryPolicy
from deepseek_sdk.testing.scripted import ScriptedBackend, make_call, said
from deepseek_sdk.testing.virtual import VirtualIO
from tests.resilience.failures import opened, refused
from tests.stages.retrying import chain, target, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

    Failing = Callable[[], Exception]


@pytest.fixture(autouse=True)
def without_collection() -> Iterator[None]:
    """Keep the garbage collector from finding what the tests look for."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Broken:
    """A server that fails in one way after the other, with errors that nobody else keeps, and answers then."""

    def __init__(self, *ways: Failing) -> None:
        self._ways = list(ways)

    async def __call__(self, call: Call) -> Reply:
        """Fail, or answer."""
        if not self._ways:
            return await ScriptedBackend(said("Hi"))(call)
        error = self._ways.pop(0)()
        if isinstance(error, OSError):
            return await ScriptedBackend([error])(call)
        try:
            raise error
        finally:
            del error


class Interrupted(VirtualIO):
    """Time in which nobody waits to the end."""

    async def sleep(self, seconds: float) -> None:
        """Give up."""
        raise KeyboardInterrupt(seconds)


def down() -> Exception:
    """Give a failure that is asked again."""
    return refused(503)


def bad() -> Exception:
    """Give a failure that is not."""
    return refused(400)


def cut() -> Exception:
    """Give a failure of an answer that has begun."""
    return ConnectionResetError("reset")


def shut() -> Exception:
    """Give the error of a route that nobody waits for."""
    return opened(None)


def left_alone() -> Exception:
    """Give the error of a route that is waited for."""
    return opened(1)


def wrong(_: object) -> Any:
    """Give a wait that is none."""
    return "soon"


TENACIOUS = RetryPolicy(
    wait=tenacity.wait_fixed(1), stop=tenacity.stop_after_attempt(3), retry=tenacity.retry_if_exception_type()
)


@pytest.mark.parametrize(
    ("ways", "policy", "io", "ends"),
    [
        ([], None, VirtualIO, None),
        ([bad], None, VirtualIO, openai.BadRequestError),
        ([down], None, VirtualIO, openai.InternalServerError),
        ([down], RetryPolicy(), VirtualIO, None),
        ([down, down], RetryPolicy(), VirtualIO, None),
        ([down] * 3, RetryPolicy(), VirtualIO, openai.InternalServerError),
        ([down, bad], RetryPolicy(), VirtualIO, openai.BadRequestError),
        ([down, shut], RetryPolicy(), VirtualIO, openai.InternalServerError),
        ([left_alone, down, left_alone, shut], RetryPolicy(), VirtualIO, openai.InternalServerError),
        ([down], RetryPolicy(), Interrupted, KeyboardInterrupt),
        ([left_alone], RetryPolicy(), Interrupted, KeyboardInterrupt),
        ([down], RetryPolicy(wait=wrong), VirtualIO, ConfigurationError),
        ([cut], RetryPolicy(), VirtualIO, None),
        ([down, cut], RetryPolicy(), VirtualIO, None),
        ([cut] * 3, RetryPolicy(), VirtualIO, StreamInterruptedError),
        ([cut, down, bad], RetryPolicy(), VirtualIO, openai.BadRequestError),
        ([cut, shut], RetryPolicy(), VirtualIO, StreamInterruptedError),
        ([down] * 3, TENACIOUS, VirtualIO, openai.InternalServerError),
    ],
)
def test_a_call_is_gone_with_its_error(
    ways: list[Failing], policy: RetryPolicy | None, io: type[VirtualIO], ends: type[BaseException] | None
) -> None:
    """However a call ends, nothing of it is kept once its caller has dropped the answer or the error."""
    upstream = target()
    is_there = weakref.ref(upstream)
    limits = Limits(first_token=inf, stall=inf)
    call = make_call(io=io(), max_retries=2, upstream=upstream, limits=limits)
    found = None
    try:
        text(finish(chain(Broken(*ways), policy)(call)))
    except BaseException as error:  # noqa: BLE001  the table says which
        found = type(error)
    del call, upstream

    assert ends == found
    assert is_there() is None
