"""Streams of any kind, as servers send them, and worse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from deepseek_sdk._fold import Fold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CHUNK_STREAMS", "folded", "texts"]

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_cache_hit_tokens": 0}
# Halves of surrogate pairs, whole ones, what JSON escapes, and what other code may take for a mark.
_WORDS = ["", "a", " the", "你好", "花呗", "\n", '"', "\\", "\0", "\x7f", "😀", "\ud83d", "\ude00", "e\u0301", "</s>"]
texts = st.lists(st.sampled_from(_WORDS), max_size=3).map("".join)
_odd = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | texts
_json = _odd | st.sampled_from([[], {}, {"b": [1, {"a": "你"}], "a": 1.0}, ["\ud83d", True, None]])
_index = st.integers(0, 2)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_call = st.builds(
    lambda index, rest, function: {"index": index, **rest, **({} if function is None else {"function": function})},
    _index,
    _optional(id=texts, type=st.just("function")),
    st.none() | _optional(name=st.sampled_from(["search", "查询"]), arguments=st.none() | texts),
)
_delta = _optional(
    role=st.just("assistant"),
    content=st.none() | texts,
    reasoning_content=st.none() | texts,
    refusal=st.none() | texts,
    tool_calls=st.none() | st.lists(_call, max_size=3),
    annotations=_json,
)
_token = st.fixed_dictionaries({"token": texts, "logprob": st.floats(-99, 0), "bytes": st.none() | st.just([228])})
_logprobs = st.none() | _optional(
    content=st.none() | st.lists(_token, max_size=2), reasoning_content=st.lists(_token, max_size=2), extra=_odd
)
_ends = st.sampled_from([None, None, None, "stop", "tool_calls"])
_chat = st.builds(
    lambda index, delta, rest, other: {"index": index, "delta": delta, **rest, **other},
    _index,
    st.none() | _delta,
    _optional(logprobs=_logprobs, finish_reason=_ends),
    st.dictionaries(st.sampled_from(["matched_stop", "x", "质量"]), _json, max_size=1),
)
_fim_logprobs = _optional(tokens=st.lists(texts, max_size=2), text_offset=st.lists(_index), top_logprobs=st.just([{}]))
_fim = st.builds(
    lambda index, text, rest: {"index": index, "text": text, **rest},
    _index,
    texts,
    _optional(logprobs=st.none() | _fim_logprobs, finish_reason=_ends),
)


def _chunks(choice: st.SearchStrategy[Any], kind: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    head = st.just({"id": "abc", "object": kind, "created": 1, "model": "deepseek-flash"})
    chunk = st.builds(
        lambda *parts: {name: value for part in parts for name, value in part.items()},
        head | st.just({}),
        st.lists(choice, max_size=2).map(lambda choices: {"choices": choices}),
        _optional(usage=st.none() | st.just(USAGE), system_fingerprint=texts),
        st.dictionaries(st.sampled_from(["obfuscation", "x"]), _json, max_size=1),
    )
    return st.lists(chunk, max_size=8)


CHUNK_STREAMS = (_chunks(_chat, "chat.completion.chunk") | _chunks(_fim, "text_completion")).map(
    # As they come out of a decoder: halves of a pair that meet in one text are one character there.
    lambda chunks: json.loads(json.dumps(chunks))
)


def folded(chunks: Sequence[dict[str, Any]]) -> bytes:
    """Give the answer that a plain call gets of a stream."""
    fold = Fold()
    for chunk in chunks:
        fold.add(chunk)
    return json.dumps(fold.answer()).encode()
