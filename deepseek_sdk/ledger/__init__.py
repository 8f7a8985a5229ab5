"""What calls used and cost: every call in a file, or the last ones in memory, and sums of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepseek_sdk.ledger.ledger import Ledger, make_ledger
    from deepseek_sdk.ledger.recent import RecentCalls
    from deepseek_sdk.ledger.report import UsageReport, UsageRow
    from deepseek_sdk.ledger.state import LedgerState

__all__ = ["Ledger", "LedgerState", "RecentCalls", "UsageReport", "UsageRow", "make_ledger"]

# Where the names stand: every client remembers its calls, few write them to a file.
_LATER = {
    "Ledger": "ledger",
    "LedgerState": "state",
    "RecentCalls": "recent",
    "UsageReport": "report",
    "UsageRow": "report",
    "make_ledger": "ledger",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
