"""The cache: answers that are kept, and given to requests that are the same."""

from __future__ import annotations

from deepseek_sdk.caching.exact import ExactCache
from deepseek_sdk.caching.stats import CacheStats

__all__ = ["CacheStats", "ExactCache"]
