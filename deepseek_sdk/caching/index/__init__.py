"""Indexes of vectors in memory: each finds the nearest to one, and is made anew from the store whenever it is gone."""

from __future__ import annotations

from deepseek_sdk.caching.index.base import Hit, VectorIndex
from deepseek_sdk.caching.index.growing import GrowingIndex

__all__ = ["GrowingIndex", "Hit", "VectorIndex"]
