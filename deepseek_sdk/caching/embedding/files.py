"""`digest`: the sha-256 of a file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["digest"]


def digest(path: Path) -> str:
    """
    Read a file, and make its sha-256.

    Args:
        path: Of the file.

    Returns:
        64 hex digits.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
