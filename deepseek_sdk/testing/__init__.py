"""
Testing without the network: `Emulator`, a DeepSeek server on loopback; `VirtualIO` and `ScriptedBackend` for stages.

It validates like the live API, streams like it, caches prefixes like it, and fails in every way that clients have
seen: see `Fault.menu()`. It needs the packages of the extra `testing` when one is made, not for the import.
"""

from __future__ import annotations

from deepseek_sdk.testing.emulator import Emulator
from deepseek_sdk.testing.faults import Fault
from deepseek_sdk.testing.recording import RecordedRequest
from deepseek_sdk.testing.replies import Reply, ToolCall
from deepseek_sdk.testing.scripted import ScriptedBackend, ScriptedSource, chunk, make_call, said, whole
from deepseek_sdk.testing.virtual import VirtualIO, finish
from deepseek_sdk.testing.vocabulary import DeepSeekVocabulary, EstimatedVocabulary, Vocabulary

__all__ = [
    "DeepSeekVocabulary",
    "Emulator",
    "EstimatedVocabulary",
    "Fault",
    "RecordedRequest",
    "Reply",
    "ScriptedBackend",
    "ScriptedSource",
    "ToolCall",
    "VirtualIO",
    "Vocabulary",
    "chunk",
    "finish",
    "make_call",
    "said",
    "whole",
]
