"""`Attempt`: one time that an upstream was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepseek_sdk._usage import Usage
    from deepseek_sdk.resilience.account import Account

__all__ = ["Attempt"]


@dataclass(slots=True, kw_only=True)
class Attempt:
    """
    One upstream attempt.

    Attributes:
        route: The route that was asked.
        model: The model that was asked for, and once it is known the one that answered.
        started: When it began, in seconds from the start of the call.
        first_token: When its first token came, likewise, or None.
        ended: When it ended, likewise, or None while it runs.
        outcome: "running", "complete", "failed" or "abandoned".
        reason: Why it failed, in one word, or None.
        is_possibly_billed: The server may have generated, and billed, without the answer being used.
        account: Whose attempt it is: the endpoint, the model asked for and a mark of the key; None where nobody knows.
        response_id: The server's name for the answer, or None.
        finish_reason: How the answer ended, or None.
        usage: The tokens, or None where there is no telling.
        is_estimated: *usage* is an estimate: the server has not said.
    """

    route: str
    model: str
    started: float
    first_token: float | None = None
    ended: float | None = None
    outcome: str = "running"
    reason: str | None = None
    is_possibly_billed: bool = False
    account: Account | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    is_estimated: bool = False

    @property
    def may_cost(self) -> bool:
        """Whether it may be on somebody's bill: what failed before the server worked, or ran here, is not."""
        if self.account is not None and self.account.backend is not None:
            return False
        return self.usage is not None or self.is_possibly_billed or self.outcome in ("running", "complete")
