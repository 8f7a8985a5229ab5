"""Caches with answers in them, for the tests of what people do with a cache."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk._background import Background
from deepseek_sdk._finish import finish
from deepseek_sdk._io import SyncIO
from deepseek_sdk._wire import Watchdog
from deepseek_sdk.caching.entry import Entry
from deepseek_sdk.caching.pieces import cut

if TYPE_CHECKING:
    from deepseek_sdk.caching import ExactCache

__all__ = ["AT_MS", "FINISHED", "answer_of", "entry_of", "found", "keep", "key_of"]

AT_MS = 1_796_000_000_000
FINISHED = {"index": 0, "finish_reason": "stop", "logprobs": None}


def key_of(name: object) -> str:
    """Give the key of a request."""
    return hashlib.sha256(str(name).encode()).hexdigest()


def answer_of(content: str = "你好 \U0001f600", **changed: Any) -> dict[str, Any]:
    """Give a completion."""
    message = {"role": "assistant", "content": content, "reasoning_content": "Let me see."}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_796_000_000, "model": "deepseek-flash"}
    return {**head, "choices": [{**FINISHED, "message": message}], "usage": usage, **changed}


def chunks(content: str) -> list[dict[str, Any]]:
    """Give the chunks of a stream that says so."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_796_000_000, "model": "deepseek-flash"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": character} for character in content)]
    return [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]


def entry_of(name: object = 0, *, is_stream: bool = False, **changed: Any) -> Entry:
    """Give an answer that is kept."""
    answer = json.dumps(answer_of(), ensure_ascii=False, separators=(",", ":")).encode()
    facts: dict[str, Any] = {
        "key": key_of(name),
        "partition": key_of("partition"),
        "tenant": "tenant:小明",
        "asked": "deepseek-v4-flash",
        "model": "deepseek-flash",
        "route": "default",
        "text": "你好？",
        "answer": answer,
        "pieces": cut(chunks("你好 \U0001f600"), answer) if is_stream else None,
        "is_judged": True,
        "finish_reason": "stop",
        "usage": json.dumps(answer_of()["usage"]),
        "cost": '{"cny": "0.001", "usd": null}',
        "created_ms": AT_MS,
        "expires_ms": None,
        "tags": (("feature", "search"),),
        "provenance": (("sdk", "0.1.0"),),
    }
    return Entry(**{**facts, **changed})


def keep(cache: ExactCache, *entries: Entry) -> None:
    """Keep answers as calls do."""
    io = SyncIO(Background(), Watchdog())
    for entry in entries:
        assert finish(cache.keep(io, entry)) is None


def found(cache: ExactCache, key: str) -> Entry | None:
    """Look an answer up as calls do."""
    given = finish(cache.store.find(SyncIO(Background(), Watchdog()), key, cache.now_ms()))
    return None if given is None else given.entry
