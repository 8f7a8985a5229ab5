"""Structured output: what a request wants, whether an answer is that, and what is done where it is not."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepseek_sdk.structured.strict_schema import strict_problem

__all__ = ["strict_problem"]


def __getattr__(name: str) -> Any:
    """Import what few programs ask for when they do."""
    if name != "strict_problem":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.strict_schema").strict_problem
