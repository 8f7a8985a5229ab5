"""
How often one fact survives in a long document that is cut, and in a long conversation; nothing is tuned to these texts.

Documents are made up here, of sections on different topics, with one fact in a random place. A question about the fact
shares its words ("lexical"), names what it is about in other words ("paraphrase"), or shares no word of it ("none").
"plain" is the first six sevenths and the last seventh of what may be kept, cut anywhere.

Run: python -m tests.bench.needles [documents in each cell]
"""

from __future__ import annotations

import math
import random
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.counter import Counter
from deepseek_sdk.tokens.fitting import TokenBudget, fit
from deepseek_sdk.tokens.fitting.bm25 import terms
from tests.bench.needle_texts import FACTS, FILLERS, Fact, Filler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DOCUMENTS = 36
SECTIONS, PARAGRAPHS, SENTENCES = 12, 8, 7
KEEPS = (0.10, 0.25, 0.50)
# The others do not look at the question, so one kind is like another.
ASKING = ("middle", "semantic")
KINDS = ("lexical", "paraphrase", "none")
HEAD_SHARE = 6 / 7
SHORTEST_WORD = 4


@dataclass(frozen=True)
class Cell:
    """What happened to the documents of one cell, for one kind of question."""

    found: int
    total: int
    kept: float
    cpu_ms: float

    def __str__(self) -> str:
        low, high = wilson(self.found, self.total)
        return f"{self.found / self.total:.0%} ({low:.0%}-{high:.0%})"


def wilson(found: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Give the Wilson interval of a share, at 95 %."""
    share = found / total
    middle = share + z * z / (2 * total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)


def paragraphs(filler: Filler, rng: random.Random) -> list[list[str]]:
    """Write a document: paragraphs of sentences, a topic for some of them at a time."""
    topics = [rng.choice(filler.topics) for _ in range(SECTIONS)]
    return [[filler.sentence(topic, rng) for _ in range(SENTENCES)] for topic in topics for _ in range(PARAGRAPHS)]


def hidden(fact: Fact, filler: Filler, rng: random.Random) -> list[str]:
    """Hide a fact in a document; give its paragraphs."""
    document = paragraphs(filler, rng)
    paragraph = rng.choice(document)
    paragraph.insert(rng.randrange(len(paragraph) + 1), fact.text)
    return [filler.between.join(sentences) for sentences in document]


def as_document(texts: Sequence[str], question: str) -> list[dict[str, Any]]:
    """Ask about a document."""
    return [
        {"role": "user", "content": "\n\n".join(texts)},
        {"role": "assistant", "content": "OK"},
        {"role": "user", "content": question},
    ]


def as_chat(texts: Sequence[str], question: str) -> list[dict[str, Any]]:
    """Ask at the end of a conversation, of which each paragraph is a message."""
    roles = ("user", "assistant")
    said = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    return [*said, {"role": "user", "content": question}]


def plainly(messages: list[dict[str, Any]], limit: int, counter: Counter) -> tuple[str, int]:
    """Keep the first six sevenths and the last seventh, wherever that cuts."""
    text = "\n\n".join(message["content"] for message in messages[:-1])
    share = limit / counter.count_text(text)
    head, tail = int(len(text) * share * HEAD_SHARE), int(len(text) * share * (1 - HEAD_SHARE))
    return text[:head] + text[len(text) - tail :], limit


def by_policy(policy: Any) -> Callable[[list[dict[str, Any]], int, Counter], tuple[str, int]]:
    """Fit by a policy, down to the limit and no further, so that all policies keep as much."""

    def fitted(messages: list[dict[str, Any]], limit: int, counter: Counter) -> tuple[str, int]:
        body = {"model": "deepseek-flash", "messages": messages}
        result = fit(body, TokenBudget(policy=policy, limit=limit, low_water=1.0), counter)
        return "\n\n".join(message["content"] for message in result.messages), result.total

    return fitted


DOCUMENT_WAYS = {"plain": plainly, **{name: by_policy(name) for name in ("head_tail", "middle", "semantic")}}
CHAT_WAYS = {"plain": plainly, **{name: by_policy(name) for name in ("head_tail", "middle", "history")}}


def measure(language: str, keep: float, way: Any, kind: str, shape: Any, count: int) -> Cell:
    """Hide facts, cut, and look for them."""
    found, kept, spent = 0, 0.0, 0.0
    for number in range(count):
        rng = random.Random(f"{language} {number}")  # noqa: S311  not a secret
        fact = FACTS[language][number % len(FACTS[language])]
        messages = shape(hidden(fact, FILLERS[language], rng), getattr(fact, kind))
        counter = Counter()
        limit = int(counter.count({"model": "deepseek-flash", "messages": messages}).total * keep)
        began = time.process_time()
        text, total = way(messages, limit, counter)
        spent += time.process_time() - began
        found += fact.answer in text
        kept += total / limit
    return Cell(found, count, kept / count, spent / count * 1000)


def rows(ways: dict[str, Any], shape: Any, count: int) -> Iterator[str]:
    """Write the rows of a table."""
    for language in FACTS:
        for keep in KEEPS:
            for name, way in ways.items():
                kinds = KINDS if name in ASKING else KINDS[:1]
                cells = [measure(language, keep, way, kind, shape, count) for kind in kinds]
                shown = cells * (len(KINDS) // len(kinds))
                used = sum(cell.kept for cell in cells) / len(cells)
                cpu = sum(cell.cpu_ms for cell in cells) / len(cells)
                yield f"| {language} | {keep:.0%} | {name} | {' | '.join(map(str, shown))} | {used:.0%} | {cpu:.0f} |"


def check_facts() -> None:
    """Make sure that the last kind of question shares no word with its fact, but for little ones."""
    for facts in FACTS.values():
        for fact in facts:
            shared = set(terms(fact.text)) & set(terms(fact.none))
            if long := [term for term in shared if not term.isascii() or len(term) >= SHORTEST_WORD]:
                message = f"{fact.none!r} shares {long} with {fact.text!r}"
                raise ValueError(message)


def main() -> None:
    """Print both tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS
    check_facts()
    head = f"| language | keep | way | {' | '.join(KINDS)} | used of it | CPU ms |\n|{'---|' * 8}"
    for title, ways, shape in (
        ("One long document, then a question", DOCUMENT_WAYS, as_document),
        ("A long conversation, then a question", CHAT_WAYS, as_chat),
    ):
        sys.stdout.write(f"\n{title}; {count} each, 95 % Wilson intervals\n\n{head}\n")
        for row in rows(ways, shape, count):
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
