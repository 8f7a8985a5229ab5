"""Embedders, which turn questions into vectors that can be compared, and the thread in which they work."""

from __future__ import annotations

from deepseek_sdk.caching.embedding.base import Embedder, EmbeddingError
from deepseek_sdk.caching.embedding.choosing import embedder_of
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
from deepseek_sdk.caching.embedding.remote import RemoteEmbedder
from deepseek_sdk.caching.embedding.selftest import SelfTest, examined
from deepseek_sdk.caching.embedding.service import EmbeddingService, service_of

__all__ = [
    "DefaultEmbedder",
    "Embedder",
    "EmbeddingError",
    "EmbeddingService",
    "OnnxEmbedder",
    "RemoteEmbedder",
    "SelfTest",
    "embedder_of",
    "examined",
    "service_of",
]
