"""
Fit prompts that are too long.

`fit()` makes one that fits of a request, a `TokenBudget` and something that counts. It decides by its arguments alone,
but for `CutMemory`, which lets the next turn of a conversation be cut at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.routing.models import context_window
from deepseek_sdk.tokens.fitting.budget import Compressor, TokenBudget
from deepseek_sdk.tokens.fitting.counts import Counted, Counts
from deepseek_sdk.tokens.fitting.fitter import Fit, Fitter, Removed
from deepseek_sdk.tokens.fitting.memory import CutMemory
from deepseek_sdk.tokens.fitting.room import find_room

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Compressor", "Counted", "Counts", "CutMemory", "Fit", "Fitter", "Removed", "TokenBudget", "fit"]


def fit(
    body: Mapping[str, Any],
    budget: TokenBudget,
    counter: Counts,
    *,
    memory: CutMemory | None = None,
    session_id: str | None = None,
    expected_answer: int | None = None,
) -> Fit:
    """
    Fit a request to the window of its model, or to the limit of a budget.

    Args:
        body: The request; never changed.
        budget: How it is fitted. A *summarise_with* that is a name is not asked here: see `Fit.to_summarise`.
        counter: Counts tokens.
        memory: Where earlier cuts of the conversation are remembered, or None.
        session_id: The name of the conversation, if it has one.
        expected_answer: How long the answer may become, in tokens, where the request has no *max_tokens*.

    Returns:
        The request as it is where it fits, else a shorter one.

    Raises:
        ContextOverflowError: It is too long, and the policy is "error", or nothing more can be left out.
    """
    model = body.get("model")
    window = context_window(model) if isinstance(model, str) else None
    room = find_room(body, budget.limit, window, expected_answer)
    return Fitter(body, budget, counter, room=room, memory=memory, session_id=session_id).fit()
