"""The pipeline: stages written once, awaited by the async client and run to their end by the sync one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply

__all__ = ["Proceed", "Stage", "compose"]


class Proceed(Protocol):
    """The rest of the chain."""

    def __call__(self, call: Call) -> Coroutine[Any, Any, Reply]:
        """Answer a call."""
        ...


class Stage(Protocol):
    """
    One link of the chain.

    It may await nothing but `proceed(...)` and methods of `call.io`: that is what lets the sync client run it without
    an event loop.
    """

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """
        Answer a call, as a rule by letting the rest of the chain answer it.

        Args:
            call: It.
            proceed: The rest of the chain; may be called any number of times.

        Returns:
            The answer in flight.
        """
        ...


def compose(stages: Sequence[Stage], last: Proceed) -> Proceed:
    """
    Chain stages up.

    Args:
        stages: They, outermost first.
        last: What answers at the end of the chain.

    Returns:
        The chain.
    """
    proceed: Any = last
    for stage in reversed(stages):
        proceed = partial(stage, proceed=proceed)
    return proceed  # type: ignore[no-any-return]
