"""Fit prompts that are too long for the target, where a token budget says how."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from deepseek_sdk._clock import UNSET

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.tokens.fitting.calls import CallFitter
    from deepseek_sdk.tokens.fitting.counts import Counts
    from deepseek_sdk.tokens.fitting.memory import CutMemory

__all__ = ["WindowFit"]


class WindowFit:
    """
    Sends on what fits the window of the target, or the limit of the call's token budget.

    Args:
        counter: Gives what counts tokens; asked when it is first needed.
        expected: Tells how long the answer of a call may become, in tokens, or None where nobody knows.
        memory: Where cuts are remembered.
    """

    def __init__(
        self,
        counter: Callable[[], Counts],
        *,
        expected: Callable[[Call], int | None] | None = None,
        memory: CutMemory | None = None,
    ) -> None:
        self._given = (counter, expected, memory)

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call with as much of its prompt as there is room for."""
        budget = call.options.token_budget
        if budget is None or budget is UNSET:
            return await proceed(call)
        return await proceed(await self._fitter.fitted(call, budget, proceed))

    @cached_property
    def _fitter(self) -> CallFitter:
        from deepseek_sdk.tokens.fitting.calls import CallFitter  # noqa: PLC0415  few programs need it

        return CallFitter(*self._given)
