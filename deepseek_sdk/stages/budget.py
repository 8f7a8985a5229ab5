"""Keep calls within what may be spent: reserve before a call is sent, replace that by what it used afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.spending import Budgets
    from deepseek_sdk.spending.gate import Gate
    from deepseek_sdk.spending.reckoning import Expect
    from deepseek_sdk.spending.tariff import CostOf

__all__ = ["SpendLimit"]


class SpendLimit:
    """
    Refuses calls that the budgets have no room for, before anything is sent.

    Args:
        budgets: They, or None: nothing is limited.
        cost_of: Prices a usage of a model between two instants; None: only budgets of tokens hold.
        expect: Says how long answers are, as `LengthTracker.expect` does; None: a guess on the safe side.
        retries: Says how often a call may be asked again of one route; None: its *max_retries*.
        has_hosts: Tells whether prices may be those of one host only: then *cost_of* is told the *host*.

    Attributes:
        budgets: As given.
    """

    def __init__(
        self,
        budgets: Budgets | None,
        *,
        cost_of: CostOf | None = None,
        expect: Expect | None = None,
        retries: Callable[[Call], float] | None = None,
        has_hosts: Callable[[], bool] | None = None,
    ) -> None:
        self.budgets = budgets if budgets is not None and len(budgets) else None
        self._gate = None if self.budgets is None else _gate(self.budgets, cost_of, expect, retries, has_hosts)

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call that may still be paid for."""
        if self._gate is None:
            return await proceed(call)
        return await self._gate.answer(call, proceed)


def _gate(
    budgets: Budgets,
    cost_of: CostOf | None,
    expect: Expect | None,
    retries: Callable[[Call], float] | None,
    has_hosts: Callable[[], bool] | None,
) -> Gate:
    from deepseek_sdk.spending.gate import Gate  # noqa: PLC0415  few programs need it

    return Gate(budgets, cost_of, expect, retries, has_hosts)
