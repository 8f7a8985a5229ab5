"""Which prices a command goes by: those of clients, unless a file is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.config import read_settings
from deepseek_sdk.pricing.book import PriceBook

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["book_of", "file_of"]


def file_of(given: Path | None) -> str | None:
    """Choose the file of prices: the one that is named, else that of the settings, else none."""
    return read_settings()["prices"] if given is None else str(given)


def book_of(file: str | None) -> PriceBook:
    """Read the prices of a file, or those that came with the program."""
    return PriceBook.builtin() if file is None else PriceBook.from_file(file)
