"""Clients with a cache, and what their callers see, for the tests of cached calls."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from deepseek_sdk import report
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.testing import Reply, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepseek_sdk._cache import CacheOutcome

THINKING = Reply(reasoning_chunks=["Let ", "me ", "see."], chunks=["你", "好", "! ", "👩‍👩‍👧", " é"])
CALLING = Reply(
    content="One moment.",
    reasoning="The weather.",
    tool_calls=[
        ToolCall("weather", '{"city": "杭州"}', id="call_1", chunks=['{"city"', ': "杭', '州"}']),
        ToolCall("time", {"zone": "UTC"}, id="call_2"),
    ],
)
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("weather", "time")
]
# What is asked, and what the model says to it.
SHAPES: dict[str, tuple[Reply, dict[str, Any]]] = {
    "thinking": (THINKING, {}),
    "tool calls": (CALLING, {"tools": TOOLS}),
    "log probabilities": (THINKING, {"logprobs": True, "top_logprobs": 2}),
}


class Wall:
    """A clock on the wall that a test sets."""

    def __init__(self, seconds: float = 1_796_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        """Tell the time."""
        return self.seconds

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds


def in_memory(**options: Any) -> ExactCache:
    """Make a cache without a disk."""
    return ExactCache(max_bytes=0, **options)


def outcome(answer: object) -> CacheOutcome:
    """Tell what became of a call in the cache."""
    found = report(answer).cache
    assert found is not None
    return found


def status(answer: object) -> str:
    """Tell it in one word."""
    return outcome(answer).status


def until(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Look until something holds, or it is too late."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not holds() and time.monotonic() < end:
        pause.wait(0.005)
    return holds()


def said(completion: Any) -> dict[str, Any]:
    """Give what a completion says."""
    told = completion.model_dump()
    choice = told["choices"][0]
    calls = choice["message"]["tool_calls"] or []
    return {
        **{name: told[name] for name in ("id", "model", "created", "system_fingerprint", "usage")},
        "finish_reason": choice["finish_reason"],
        "logprobs": (choice["logprobs"] or {}).get("content") or [],
        "content": choice["message"]["content"] or "",
        "reasoning": choice["message"].get("reasoning_content") or "",
        "tool_calls": [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls],
    }


def streamed(chunks: Iterable[Any]) -> dict[str, Any]:
    """Give what the chunks of a stream say, put together."""
    told: dict[str, Any] = {"content": "", "reasoning": "", "logprobs": [], "finish_reason": None, "usage": None}
    calls: dict[int, list[str]] = {}
    for chunk in map(_dumped, chunks):
        told |= {name: chunk[name] for name in ("id", "model", "created", "system_fingerprint")}
        told["usage"] = chunk["usage"] or told["usage"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            told["content"] += delta["content"] or ""
            told["reasoning"] += delta.get("reasoning_content") or ""
            told["logprobs"] += (choice["logprobs"] or {}).get("content") or []
            told["finish_reason"] = choice["finish_reason"] or told["finish_reason"]
            for call in delta["tool_calls"] or ():
                known = calls.setdefault(call["index"], [call["id"], call["function"]["name"], ""])
                known[2] += call["function"]["arguments"] or ""
    return {**told, "tool_calls": [tuple(calls[index]) for index in sorted(calls)]}


def _dumped(chunk: Any) -> dict[str, Any]:
    found: dict[str, Any] = chunk.model_dump()
    return found
