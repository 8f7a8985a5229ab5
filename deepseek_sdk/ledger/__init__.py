"""What calls used and cost: every call in a file, or the last ones in memory, and sums of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later

if TYPE_CHECKING:
    from deepseek_sdk.ledger.ledger import Ledger, make_ledger
    from deepseek_sdk.ledger.recent import RecentCalls
    from deepseek_sdk.ledger.report import UsageReport, UsageRow
    from deepseek_sdk.ledger.state import LedgerState

__all__ = ["Ledger", "LedgerState", "RecentCalls", "UsageReport", "UsageRow", "make_ledger"]

# Where the names stand: every client remembers its calls, few write them to a file.
__getattr__ = _later(
    __name__,
    {
        "Ledger": "ledger",
        "LedgerState": "state",
        "RecentCalls": "recent",
        "UsageReport": "report",
        "UsageRow": "report",
        "make_ledger": "ledger",
    },
)
