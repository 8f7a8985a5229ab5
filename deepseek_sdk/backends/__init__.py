"""What answers at the end of the pipeline: `Backend`, and what one is written with."""

from __future__ import annotations

from deepseek_sdk._call import Call
from deepseek_sdk._io import IO
from deepseek_sdk._reply import Reply
from deepseek_sdk.backends.base import Backend, load_backend
from deepseek_sdk.backends.generator import reply_from

__all__ = ["IO", "Backend", "Call", "Reply", "load_backend", "reply_from"]
