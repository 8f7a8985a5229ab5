"""What calls used and cost: every call in a file, or the last ones in memory, and sums of them."""

from __future__ import annotations

from deepseek_sdk.ledger.ledger import Ledger, make_ledger
from deepseek_sdk.ledger.recent import RecentCalls
from deepseek_sdk.ledger.report import UsageReport, UsageRow
from deepseek_sdk.ledger.state import LedgerState

__all__ = ["Ledger", "LedgerState", "RecentCalls", "UsageReport", "UsageRow", "make_ledger"]
