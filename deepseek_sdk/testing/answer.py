"""From a reply to an answer: what the model would write under the limits of a request, token by token."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing.replies import echo_thought
from deepseek_sdk.testing.vocabulary import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.testing.job import Job
    from deepseek_sdk.testing.replies import Reply, ToolCall
    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["Answer", "Call", "plan_answer"]

# What the markup around a call costs besides its name and arguments; about right for one parameter.
_CALL_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Call:
    """
    A tool call as the wire carries it.

    Attributes:
        id: Such as `call_00_…`.
        name: The function's name.
        pieces: The fragments of its arguments.
    """

    id: str
    name: str
    pieces: Sequence[Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    What the model writes.

    Attributes:
        reasoning: The thought, in pieces.
        content: The answer, in pieces.
        calls: The tool calls.
        finish_reason: Why it stops.
        reasoning_tokens: The tokens of the thought.
        completion_tokens: All tokens written, the thought's included.
    """

    reasoning: Sequence[Piece]
    content: Sequence[Piece]
    calls: Sequence[Call]
    finish_reason: str
    reasoning_tokens: int
    completion_tokens: int

    @property
    def message(self) -> dict[str, Any]:
        """The assistant message, as a client would send it back."""
        return {
            "role": "assistant",
            "content": joined(self.content),
            "reasoning_content": joined(self.reasoning),
            "tool_calls": [call_json(call) for call in self.calls],
        }


def plan_answer(job: Job, reply: Reply, vocabulary: Vocabulary, *, asked: str, salt: str) -> Answer:
    """
    Fit a reply to a request: prefix, stop sequences, `max_tokens`.

    Args:
        job: The request.
        reply: What the model wants to say.
        vocabulary: Cuts text into tokens.
        asked: The last user message, for a thought that was not given.
        salt: Makes the ids of tool calls differ between requests.

    Returns:
        The answer.
    """
    thought = _thought(job, reply, vocabulary, asked)
    text = job.echoed + _after_prefix(reply.text, job.prefix)
    content, is_stopped = _stopped(_pieces(text, reply.chunks, vocabulary), job.stop)
    # A sequence that ends the text ends the turn: the calls would have come after it.
    calls = () if is_stopped or not job.is_chat else _calls(reply.tool_calls, vocabulary, salt)
    return _within(job.max_tokens, thought, content, calls, reply)


def call_json(call: Call) -> dict[str, Any]:
    """Return a whole tool call as a plain answer carries it."""
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": joined(call.pieces)},
    }


def joined(pieces: Sequence[Piece]) -> str:
    """Return the text of *pieces*."""
    return "".join(piece.text for piece in pieces)


def tokens_of(pieces: Sequence[Piece]) -> int:
    """Return the number of tokens of *pieces*."""
    return sum([piece[1] for piece in pieces])


def _thought(job: Job, reply: Reply, vocabulary: Vocabulary, asked: str) -> Sequence[Piece]:
    # Thinking switched off, or ended by a prefix: the model goes straight to its answer.
    if not job.thinks_now:
        return ()
    thought = reply.thought if reply.thought is not None else echo_thought(asked)
    return _pieces(_after_prefix(thought, job.thought_prefix), reply.reasoning_chunks, vocabulary)


def _after_prefix(text: str, prefix: str) -> str:
    """Continue from *prefix* if *text* begins with it, as a model would that had written it."""
    return text.removeprefix(prefix)


def _pieces(text: str, chunks: Sequence[str] | None, vocabulary: Vocabulary) -> Sequence[Piece]:
    # A prefix or an echo changes the text; the given chunks then no longer fit it.
    if chunks is None or "".join(chunks) != text:
        return vocabulary.pieces(text)
    return [Piece(chunk, tokens_of(vocabulary.pieces(chunk))) for chunk in chunks]


def _stopped(pieces: Sequence[Piece], stop: Sequence[str]) -> tuple[Sequence[Piece], bool]:
    text = joined(pieces) if stop else ""
    places = [place for place in (text.find(sequence) for sequence in stop) if place >= 0]
    return (_first_characters(pieces, min(places)), True) if places else (pieces, False)


def _first_characters(pieces: Sequence[Piece], length: int) -> list[Piece]:
    kept: list[Piece] = []
    for piece in pieces:
        if length <= 0:
            break
        kept.append(Piece(piece.text[:length], piece.tokens))
        length -= len(piece.text)
    return kept


def _calls(calls: Sequence[ToolCall], vocabulary: Vocabulary, salt: str) -> list[Call]:
    return [
        Call(call.id or _call_id(salt, index), call.name, _pieces(call.text, call.chunks, vocabulary))
        for index, call in enumerate(calls)
    ]


# Captured ids look like `call_00_` and 24 characters.
def _call_id(salt: str, index: int) -> str:
    return f"call_{index:02d}_{hashlib.sha256(f'{salt} {index}'.encode()).hexdigest()[:24]}"


def _within(
    budget: int, thought: Sequence[Piece], content: Sequence[Piece], calls: Sequence[Call], reply: Reply
) -> Answer:
    """Spend the budget in the order of writing; the thought eats from it first."""
    kept_thought, thought_tokens = _affordable(thought, budget)
    left = budget - thought_tokens if len(kept_thought) == len(thought) else 0
    kept_content, content_tokens = _affordable(content, left)
    left = left - content_tokens if len(kept_content) == len(content) else 0
    kept_calls, call_tokens = _affordable_calls(calls, left)
    # "length" means that something was left unsaid, not that the budget happens to be used up.
    is_cut = _counted(kept_thought, kept_content, kept_calls) != _counted(thought, content, calls)
    natural = "tool_calls" if calls else "stop"
    return Answer(
        reasoning=kept_thought,
        content=kept_content,
        calls=kept_calls,
        finish_reason=reply.finish_reason or ("length" if is_cut else natural),
        reasoning_tokens=thought_tokens,
        # A piece of several tokens that did not fit would still have begun: the whole budget is spent.
        completion_tokens=budget if is_cut else thought_tokens + content_tokens + call_tokens,
    )


def _counted(thought: Sequence[Piece], content: Sequence[Piece], calls: Sequence[Call]) -> tuple[int, ...]:
    return (len(thought), len(content), len(calls), *(len(call.pieces) for call in calls))


def _affordable(pieces: Sequence[Piece], budget: int) -> tuple[Sequence[Piece], int]:
    """Return as many *pieces* as the budget pays for, and what they cost."""
    cost = tokens_of(pieces)
    if cost <= budget:
        return pieces, cost
    kept: list[Piece] = []
    cost = 0
    for piece in pieces:
        if cost + piece.tokens > budget:
            break
        kept.append(piece)
        cost += piece.tokens
    return kept, cost


def _affordable_calls(calls: Sequence[Call], budget: int) -> tuple[list[Call], int]:
    kept: list[Call] = []
    cost = 0
    for call in calls:
        if cost + _CALL_TOKENS > budget:
            break
        pieces, tokens = _affordable(call.pieces, budget - cost - _CALL_TOKENS)
        kept.append(Call(call.id, call.name, pieces))
        cost += _CALL_TOKENS + tokens
    return kept, cost
