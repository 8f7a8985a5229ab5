"""`Gate`: lets calls pass that may still be paid for; reserves before they are sent, and settles afterwards."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk._rejections import stub_refusal
from deepseek_sdk.errors import BudgetExceededError, InvalidRequestError, LedgerError
from deepseek_sdk.routing.target import aim
from deepseek_sdk.spending.budget import told
from deepseek_sdk.spending.desk import Shortage, Want
from deepseek_sdk.spending.reckoning import Bill, Reckoner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.spending.budget import SpendBudget
    from deepseek_sdk.spending.budgets import Budgets
    from deepseek_sdk.spending.reckoning import Expect, Need
    from deepseek_sdk.spending.tariff import CostOf
    from deepseek_sdk.spending.ticket import Ticket

__all__ = ["Gate"]

_log = logging.getLogger("deepseek_sdk")

# How long a call waits for other processes to give back what they hold and do not need, and how often it looks.
_PATIENCE_S, _LOOK_S = 0.6, 0.03
# What an option of a call is called that says whose it is, where that is not the same word.
_PARAMS = {"session": "session_id", "tag": "tags"}
# Names of models may come from callers: no more of them than that are told, each once.
_MOST_TOLD = 256
_LIGHTER = {"deepseek-v4-pro": "deepseek-flash"}


class Gate:
    """
    Refuses calls that the budgets have no room for, before anything is sent.

    Args:
        budgets: They.
        cost_of: Prices a usage of a model between two instants; None: only budgets of tokens hold.
        expect: Says how long answers are, as `LengthTracker.expect` does; None: a guess on the safe side.
        retries: Says how often a call may be asked again of one route; None: its *max_retries*.
        has_hosts: Tells whether prices may be those of one host only; None: they never are.
    """

    def __init__(
        self,
        budgets: Budgets,
        cost_of: CostOf | None = None,
        expect: Expect | None = None,
        retries: Callable[[Call], float] | None = None,
        has_hosts: Callable[[], bool] | None = None,
    ) -> None:
        self._budgets = budgets
        self._reckoner = Reckoner(cost_of, expect, retries, has_hosts)
        self._unpriced: set[str] = set()
        self._is_cold = True

    async def answer(self, call: Call, proceed: Proceed) -> Reply:
        """
        Answer a call that may still be paid for.

        Args:
            call: It.
            proceed: Answers it.

        Returns:
            The answer in flight.

        Raises:
            BudgetExceededError: A budget has no room for it.
            InvalidRequestError: A budget has to know more of it.
            LedgerError: What is spent cannot be kept, and has to be.
        """
        budgets = self._budgets
        now = budgets.now()
        if self._is_cold:
            # The first look at a price list reads it.
            needs, wants = await call.io.offload(self._asked_first, budgets, call, now)
            self._is_cold = False
        else:
            needs, wants = self._asked(budgets, call, now)
        if not wants:
            return await proceed(call)
        ticket = _taken(budgets, wants) or await _acquired(budgets, wants, call)
        call = _softened(call, ticket)
        bill = ticket.counted = Bill(self._reckoner, needs, call.record)
        try:
            reply = await proceed(call)
        except BaseException:
            ticket.end()
            raise
        reply.on_end(partial(_over, ticket, bill))
        return reply

    def _asked_first(self, budgets: Budgets, call: Call, now: float) -> tuple[list[Need], list[Want]]:
        if any(budget.unit != "tokens" for budget in budgets):
            # What prices reports may be another list; it is asked for the time afterwards, when nothing may be read.
            call.record.cost()
        return self._asked(budgets, call, now)

    def _asked(self, budgets: Budgets, call: Call, now: float) -> tuple[list[Need], list[Want]]:
        reckoning = self._reckoner.look_at(call, now)
        needs, wants = [], []
        for budget in budgets:
            scope = budget.scope_of(call.record)
            if scope is None:
                _check_key(budget, call)
                continue
            need = reckoning.need(budget)
            if need.unpriced is not None:
                self._check_price(budget, need.unpriced, call)
            # Without a price by a clock that may be wrong, nothing is reserved, and what it has cost is counted.
            if need.amount or (need.unpriced is not None and not self._reckoner.knows_time):
                needs.append(need)
                wants.append(Want(budgets.purse(budget, scope, now), need.amount))
        return needs, wants

    def _check_price(self, budget: SpendBudget, model: str, call: Call) -> None:
        if budget.unpriced == "refuse":
            text = f"the budget {budget.name!r} lets no call go whose price is unknown, and {model!r} has none"
            raise InvalidRequestError(
                f"{text}. PriceBook.from_file() adds prices", param="model", response=stub_refusal(call, 400)
            )
        if model not in self._unpriced and len(self._unpriced) < _MOST_TOLD:
            self._unpriced.add(model)
            _log.warning("calls to %r are not counted by budgets of money: its price is unknown", model)


def _over(ticket: Ticket, bill: Bill, ending: object, error: object) -> None:
    # An outer stage may ask again at once, and any thread may settle this ticket only then.
    bill.close()
    ticket.end(ending, error)


def _check_key(budget: SpendBudget, call: Call) -> None:
    if budget.require_key:
        per = str(budget.per)
        param = _PARAMS.get(per.partition(":")[0], per)
        text = f"the budget {budget.name!r} needs to know whose call it is (per {per!r}): give {param}"
        raise InvalidRequestError(text, param=param, response=stub_refusal(call, 400))


def _taken(budgets: Budgets, wants: Sequence[Want]) -> Ticket | None:
    return None if budgets.must_store and budgets.degraded is not None else budgets.take(wants)


async def _acquired(budgets: Budgets, wants: Sequence[Want], call: Call) -> Ticket:
    """Ask for more, and wait a little for what others may give back."""
    waited = 0.0
    while True:
        if budgets.is_in_memory:
            taken = budgets.acquire(wants)
        else:
            taken = await call.io.offload(budgets.acquire, wants)
        if budgets.must_store and budgets.degraded is not None:
            raise LedgerError(f"budgets cannot be kept: {budgets.degraded}", path=str(budgets.path))
        if not isinstance(taken, Shortage):
            return taken
        if not taken.may_return or waited >= _PATIENCE_S:
            raise _exceeded(taken, call)
        await call.io.sleep(_LOOK_S)
        waited += _LOOK_S


def _exceeded(shortage: Shortage, call: Call) -> BudgetExceededError:
    purse = shortage.purse
    budget, unit = purse.budget, purse.budget.unit
    return BudgetExceededError(
        response=stub_refusal(call, 429),
        budget=budget.name,
        scope=budget.label(purse.key.scope),
        unit=unit,
        limit=budget.limit,
        spent=told(purse.spent + purse.unsaved, unit),
        reserved=told(purse.reserved + purse.others, unit),
        requested=told(shortage.amount, unit),
        until=purse.until,
    )


def _softened(call: Call, ticket: Ticket) -> Call:
    """Do what is to be done where a soft limit has been reached."""
    soft = [part.purse for part in ticket.parts if part.purse.budget.soft is not None and part.purse.is_soft]
    for purse in soft:
        if not purse.has_warned:
            purse.has_warned = True
            whose, unit = purse.budget.label(purse.key.scope), purse.budget.unit
            used = told(purse.used, unit)
            _log.warning(
                "budget %r of %s: %s of %s %s used and reserved",
                purse.budget.name,
                whose,
                used,
                purse.budget.limit,
                unit,
            )
    is_lighter = any(purse.budget.on_soft == "lighter" for purse in soft)
    return _lightened(call, soft[0].budget) if is_lighter else call


def _lightened(call: Call, budget: SpendBudget) -> Call:
    """Let a lighter model answer, or go first where routes name one."""
    lighter = _LIGHTER.get(call.model)
    if lighter is None:
        return call
    told_why = f"spend_budget: {lighter} in place of {call.model}: the budget {budget.name!r} is past its soft limit"
    route = getattr(call.upstream, "route", None)
    if route is None:
        call.record.repairs.append(told_why)
        return call.replace(body={**call.body, "model": lighter})
    for place, target in enumerate(call.targets):
        if target.route is not None and target.route.model == lighter:
            call.record.repairs.append(told_why)
            others = (*call.targets[:place], *call.targets[place + 1 :])
            return aim(call.replace(targets=(target, *others)), 0)
    return call
