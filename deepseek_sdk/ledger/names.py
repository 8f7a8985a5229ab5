"""Names as the ledger keeps them."""

from __future__ import annotations

__all__ = ["clean"]

# Names are names: nothing that somebody puts into one fills a disk.
_LONGEST = 512


def clean(name: str) -> str:
    """
    Make of a name what SQLite takes: halves of characters are no text, and a long one is cut.

    Args:
        name: The name.

    Returns:
        It, in most cases.
    """
    text = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
