"""What tests of fitting share: a counter that is simple and exact, conversations, and a judge of what comes out."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from deepseek_sdk.testing.own_judge import OwnJudge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOKEN = re.compile(r"[^\W_]{1,4}|[^\w\s]|_|\s+")


@dataclass(frozen=True)
class SimpleCount:
    """How long a request is."""

    total: int
    by_message: Sequence[int]


@dataclass
class SimpleCounter:
    """Counts pieces of words, punctuation and blanks, and four for each message."""

    counted: list[int] = field(default_factory=list)

    def count_text(self, text: str) -> int:
        """Count a text."""
        return len(_TOKEN.findall(text))

    def count(self, body: Mapping[str, Any]) -> SimpleCount:
        """Count a request."""
        self.counted.append(len(body.get("messages") or ()))
        sizes = [self._message(message) for message in body.get("messages") or ()]
        prompt = sum(self.count_text(body.get(name) or "") for name in ("prompt", "suffix"))
        tools = self.count_text(json.dumps(body["tools"])) if body.get("tools") else 0
        return SimpleCount(sum(sizes) + prompt + tools + 3, sizes)

    def fits(self, body: Mapping[str, Any], limit: int) -> bool | None:
        """Tell nothing without counting, but of what is short."""
        return True if len(json.dumps(body, default=str)) <= limit else None

    def _message(self, message: Mapping[str, Any]) -> int:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        calls = message.get("tool_calls") or ()
        texts = [*(part.get("text", "") for part in parts), message.get("reasoning_content") or ""]
        texts += [call["function"]["arguments"] for call in calls]
        return 4 + sum(map(self.count_text, texts))


class WordVocabulary:
    """Gives the judge a number for each word."""

    def ids(self, text: str) -> list[int]:
        """Give a number for each word."""
        return [1] * len(text.split())


def judge(body: Mapping[str, Any]) -> None:
    """Let the emulator's judge look at a request; it raises what the server would refuse."""
    rules: Any = OwnJudge(WordVocabulary(), reasoning_rule="every", context_tokens=10**9)  # type: ignore[arg-type]
    rules.judge(dict(body), json.dumps(body).encode(), is_beta=True)


def chat(*messages: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """Make a request."""
    return {"model": "deepseek-flash", "messages": list(messages), **fields}


def system(text: str) -> dict[str, Any]:
    """Make a system message."""
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, Any]:
    """Make a message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str, **fields: Any) -> dict[str, Any]:
    """Make an answer."""
    return {"role": "assistant", "content": text, "reasoning_content": "Hm.", **fields}


def step(number: int, result: str, results: int = 1) -> list[dict[str, Any]]:
    """Make an answer that calls tools, with their results."""
    names = [f"call_{number}_{index}" for index in range(results)]
    function = {"name": "look", "arguments": json.dumps({"page": number})}
    calls = [{"id": name, "type": "function", "function": function} for name in names]
    return [
        assistant("", tool_calls=calls),
        *({"role": "tool", "tool_call_id": name, "content": result} for name in names),
    ]


TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]

_LETTERS = [
    "a",
    "word ",
    "Satz. ",
    "\n",
    "\n\n",
    "中",
    "文。",
    "，",
    "é",
    "e\u0301",
    "👩‍👩‍👧 ",
    "🇨🇳",
    "👍🏽",
    "\r\n",
    "  ",
    "x" * 30,
]
texts = st.lists(st.sampled_from(_LETTERS), max_size=60).map("".join)
fenced = texts.map(lambda text: "```python\n" + text.replace("`", "") + "\n```\n")
tables = st.lists(st.integers(0, 10**6), max_size=40).map(lambda rows: json.dumps([{"row": row} for row in rows]))
contents = st.one_of(texts, st.tuples(texts, fenced, texts).map("\n\n".join), tables)


@st.composite
def turns(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw what the user says, what the model does about it, and its answer."""
    first = draw(contents)
    content: Any = first if draw(st.booleans()) else [{"type": "text", "text": first}]
    made = [{"role": "user", "content": content}]
    for number in range(draw(st.integers(0, 3))):
        made += step(number, draw(contents), draw(st.integers(1, 2)))
    return [*made, assistant(draw(texts))]


@st.composite
def conversations(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a request that the server would take."""
    opening = [system(draw(texts))] if draw(st.booleans()) else []
    said = [message for turn in draw(st.lists(turns(), max_size=5)) for message in turn]
    return chat(*opening, *said, user(draw(contents)), tools=TOOLS)
