"""How much one tenant may write: nobody else's answers are to go because of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.resilience.checks import check_count
from deepseek_sdk.resilience.limiting.gcra import Gcra

if TYPE_CHECKING:
    from deepseek_sdk.caching.entry import Entry

__all__ = ["Quota"]

# Of so many tenants the rate is known; the one that has not written for the longest is forgotten.
_MOST_TENANTS = 4096


class Quota:
    """
    The limits of each tenant.

    Args:
        max_bytes: How much its answers may take on disk, or None.
        writes_per_minute: How many of its answers are kept in a minute, in this process, or None.
    """

    def __init__(self, *, max_bytes: int | None, writes_per_minute: int | None) -> None:
        if max_bytes is not None:
            check_count("tenant_max_bytes", max_bytes, least=1)
        if writes_per_minute is not None:
            check_count("tenant_writes_per_minute", writes_per_minute, least=1)
        self.max_bytes = max_bytes
        self._writes = writes_per_minute
        self._rates: dict[str, Gcra] = {}
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)

    def refusal(self, entry: Entry, held: int | None, now_ns: int) -> str | None:
        """
        Say why an answer is not kept, and count it where it is.

        Args:
            entry: The answer.
            held: How much its tenant has on disk, in bytes, or None: nobody knows.
            now_ns: The monotonic time, in nanoseconds.

        Returns:
            "quota", or None.
        """
        if self.max_bytes is not None and (held or 0) + entry.size > self.max_bytes:
            return "quota"
        if self._writes is None:
            return None
        with self._locks.get():
            rate = self._rates.pop(entry.tenant, None) or Gcra(self._writes)
            self._rates[entry.tenant] = rate
            if len(self._rates) > _MOST_TENANTS:
                del self._rates[next(iter(self._rates))]
            if rate.wait(now_ns) > 0:
                return "quota"
            rate.take(now_ns)
        return None
