"""
Eviction: which entries go when there is no more room.

A policy decides and a shelf remembers: each policy is written once, and works in memory and in SQLite alike.
"""

from __future__ import annotations

from deepseek_sdk.caching.eviction.memory_shelf import MemoryShelf
from deepseek_sdk.caching.eviction.policies import POLICIES, policy_of
from deepseek_sdk.caching.eviction.shelf import Policy, Shelf, Slot
from deepseek_sdk.caching.eviction.sql_shelf import SqlShelf

__all__ = ["POLICIES", "MemoryShelf", "Policy", "Shelf", "Slot", "SqlShelf", "policy_of"]
