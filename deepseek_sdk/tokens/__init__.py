"""How many tokens a request has, what to leave out of one that is too long, and how long an answer will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later

if TYPE_CHECKING:
    from deepseek_sdk.tokens.client import AsyncTokens, Tokens
    from deepseek_sdk.tokens.counter import Counter, TokenCount
    from deepseek_sdk.tokens.drift import Drift, DriftReport
    from deepseek_sdk.tokens.vocabulary import DeepSeekVocabulary, EstimatedVocabulary, Piece, Vocabulary

__all__ = [
    "AsyncTokens",
    "Counter",
    "DeepSeekVocabulary",
    "Drift",
    "DriftReport",
    "EstimatedVocabulary",
    "Piece",
    "TokenCount",
    "Tokens",
    "Vocabulary",
]

# Where the names stand: every client learns how long answers are, few count.
__getattr__ = _later(
    __name__,
    {
        "AsyncTokens": "client",
        "Counter": "counter",
        "DeepSeekVocabulary": "vocabulary",
        "Drift": "drift",
        "DriftReport": "drift",
        "EstimatedVocabulary": "vocabulary",
        "Piece": "vocabulary",
        "TokenCount": "counter",
        "Tokens": "client",
        "Vocabulary": "vocabulary",
    },
)
