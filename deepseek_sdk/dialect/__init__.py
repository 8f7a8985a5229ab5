"""What DeepSeek's endpoints, and vLLM's, refuse or misread: found before it is sent, and mended where it can be."""

from __future__ import annotations

from deepseek_sdk.dialect.choice import DialectName, dialect_of
from deepseek_sdk.dialect.examine import lint, repaired
from deepseek_sdk.dialect.finding import Finding, Severity
from deepseek_sdk.dialect.request import Images, MissingReasoning

__all__ = ["DialectName", "Finding", "Images", "MissingReasoning", "Severity", "dialect_of", "lint", "repaired"]
