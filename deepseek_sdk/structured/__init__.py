"""Structured output: what a request wants, whether an answer is that, and what is done where it is not."""

from __future__ import annotations

from deepseek_sdk.structured.strict_schema import strict_problem

__all__ = ["strict_problem"]
