"""The cache: answers that are kept, and given to requests that are the same, or that ask the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later
from deepseek_sdk.caching.exact import ExactCache
from deepseek_sdk.caching.stats import CacheStats

if TYPE_CHECKING:
    from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
    from deepseek_sdk.caching.embedding.remote import RemoteEmbedder
    from deepseek_sdk.caching.learning.judge import ModelJudge
    from deepseek_sdk.caching.matching.eligibility import Eligibility
    from deepseek_sdk.caching.matching.guards import Guards
    from deepseek_sdk.caching.semantic import SemanticCache

__all__ = [
    "CacheStats",
    "Eligibility",
    "ExactCache",
    "Guards",
    "ModelJudge",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "SemanticCache",
]

__getattr__ = _later(
    __name__,
    {
        "Eligibility": "matching.eligibility",
        "Guards": "matching.guards",
        "ModelJudge": "learning.judge",
        "OnnxEmbedder": "embedding.onnx",
        "RemoteEmbedder": "embedding.remote",
        "SemanticCache": "semantic",
    },
)
