"""The drop-in client for DeepSeek: `from deepseek_sdk import Client` in place of `from openai import OpenAI`."""

from __future__ import annotations

# First and here: what is imported from deep inside of other imports takes longer, and openai is most of the whole.
import openai as _openai  # noqa: F401

from deepseek_sdk._call import CallOptions, options
from deepseek_sdk._client import AsyncClient, Client
from deepseek_sdk._clock import Deadlines
from deepseek_sdk._report import CallReport, Usage, report
from deepseek_sdk._version import __version__
from deepseek_sdk.errors import DeepSeekError

__all__ = [
    "AsyncClient",
    "CallOptions",
    "CallReport",
    "Client",
    "Deadlines",
    "DeepSeekError",
    "Usage",
    "__version__",
    "options",
    "report",
]
