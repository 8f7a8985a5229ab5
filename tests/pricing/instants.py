"""Instants as people write them."""

from __future__ import annotations

from datetime import datetime


def at(text: str) -> float:
    """Read an instant in ISO 8601, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()
