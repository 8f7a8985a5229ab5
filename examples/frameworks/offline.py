"""Where these examples send their calls: to DeepSeek with DEEPSEEK_API_KEY, otherwise to an emulator."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import Emulator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def service(replies: Sequence[Any]) -> Iterator[None]:
    """Let `Client()` find its service in the environment; *replies* is what the emulator answers."""
    if os.environ.get("DEEPSEEK_API_KEY"):
        yield
        return
    os.environ["no_proxy"] = "*"  # loopback needs none
    with Emulator(replies=replies) as emulator:
        os.environ.update(DEEPSEEK_BASE_URL=emulator.url, DEEPSEEK_API_KEY="any")
        yield
