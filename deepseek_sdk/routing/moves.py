"""Which error may go on to which route: one decision, without a clock or a connection."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from deepseek_sdk.errors import CircuitOpenError, ContextOverflowError, LimiterTimeoutError, TotalTimeout, classify

if TYPE_CHECKING:
    from deepseek_sdk.routing.target import Target

__all__ = ["NOT_ASKED", "may_move"]

# Nothing was sent: the circuit was open, or there was no place.
NOT_ASKED = (CircuitOpenError, LimiterTimeoutError)

# Another key may be good, or have a balance; the same one will not be at another model.
_OF_THE_CREDENTIAL = frozenset({"authentication", "balance", "permission"})
_OF_THE_MODEL = frozenset({"not_found", "unknown_model"})


def may_move(error: Exception, here: Target, there: Target) -> bool:
    """
    Decide whether a target may be asked after another has failed.

    Args:
        error: How it failed.
        here: What failed.
        there: What would be asked.

    Returns:
        Whether it may be asked.
    """
    if isinstance(error, TotalTimeout):
        # The time of the call is up: what takes none may still answer.
        return there.is_last_resort
    if not _lets_go(error, here):
        return False
    reason = classify(error).reason
    if reason in _OF_THE_CREDENTIAL:
        return there.is_last_resort or _credential(there) != _credential(here)
    if reason in _OF_THE_MODEL:
        return there.account != here.account
    if isinstance(error, ContextOverflowError):
        return there.context_window is not None and there.context_window > (error.requested or error.limit)
    return True


def _lets_go(error: Exception, here: Target) -> bool:
    if isinstance(error, NOT_ASKED):
        # What has opened the circuit was what the route may be left for.
        return True
    move_on = None if here.route is None else here.route.move_on
    if move_on is None:
        return classify(error).move_on
    if isinstance(move_on, Collection):
        return classify(error).reason in move_on
    return bool(move_on(error))


def _credential(target: Target) -> tuple[str, str] | None:
    return None if target.account is None else (target.account.base_url, target.account.credential)
