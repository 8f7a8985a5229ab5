"""Where the examples send their calls: to DeepSeek with DEEPSEEK_API_KEY, otherwise to an emulator on this machine."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import Emulator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def service(replies: Sequence[Any], **emulator_options: Any) -> Iterator[dict[str, Any]]:
    """Give the arguments of `Client`; *replies* is what the emulator answers."""
    if os.environ.get("DEEPSEEK_API_KEY"):
        yield {}
        return
    os.environ["no_proxy"] = "*"  # loopback needs none
    with Emulator(replies=replies, **emulator_options) as emulator:
        yield {"base_url": emulator.url, "api_key": "any"}
