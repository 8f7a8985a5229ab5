"""A backend for deepseek_sdk that repeats what it is asked, word by word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.backends import Call, Reply, reply_from
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Echo:
    """Repeats the last message."""

    async def __call__(self, call: Call) -> Reply:
        """Answer a call."""
        if call.path != "/chat/completions":
            raise ConfigurationError(f"the echo answers chat completions, not {call.path}")
        return reply_from(call, self._chunks, route="echo")

    async def _chunks(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        words = str(call.body["messages"][-1]["content"]).split(" ")
        for count, word in enumerate(words):
            await call.io.sleep(0.01)
            delta = {"content": f" {word}" if count else word}
            yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        usage = {"prompt_tokens": len(words), "completion_tokens": len(words), "total_tokens": 2 * len(words)}
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
