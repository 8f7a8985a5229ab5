"""What tests of the rule engine write with."""

from __future__ import annotations

__all__ = ["wide"]


def wide(text: str) -> str:
    """Write ASCII as Chinese input methods do in full-width mode."""
    return "".join(chr(ord(char) + 0xFEE0) if char != " " else "\u3000" for char in text)
