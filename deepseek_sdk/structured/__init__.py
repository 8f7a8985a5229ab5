"""Structured output: what a request wants, whether an answer is that, and what is done where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later

if TYPE_CHECKING:
    from deepseek_sdk.structured.strict_schema import strict_problem

__all__ = ["strict_problem"]

__getattr__ = _later(__name__, {"strict_problem": "strict_schema"})
