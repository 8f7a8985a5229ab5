"""The rule engine: a backend that answers from preset replies, for when nothing else can."""

from __future__ import annotations

from deepseek_sdk.backends.rules.engine import RuleEngine
from deepseek_sdk.backends.rules.matching import Match
from deepseek_sdk.backends.rules.rule import Rule

__all__ = ["Match", "Rule", "RuleEngine"]
