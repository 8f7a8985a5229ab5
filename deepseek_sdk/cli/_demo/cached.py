"""The cache of the demo: a model answers what is new, and the cache what was asked before, also in other words."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import openai

from deepseek_sdk import Client, report
from deepseek_sdk._cache import CacheOutcome
from deepseek_sdk._wire import default_http_client
from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.cli._connection import make
from deepseek_sdk.cli._decisions import decision_in_words, reason_of
from deepseek_sdk.cli._demo.questions import CACHE_WORDS, CacheWords, Question
from deepseek_sdk.cli._demo.rows import row_of
from deepseek_sdk.cli._demo.shown import quiet
from deepseek_sdk.cli._demo.talk import MODEL
from deepseek_sdk.cli._exits import Exit, error_line
from deepseek_sdk.cli._language import Say
from deepseek_sdk.cli._models import Teller
from deepseek_sdk.cli._numbers import milliseconds
from deepseek_sdk.cli._price.words import plain
from deepseek_sdk.cli._semantic import lacking
from deepseek_sdk.testing import Emulator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from deepseek_sdk.caching import ExactCache, SemanticCache
    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["Asked", "Scenery", "ask", "play_cache"]

# As in the conversation.
_PREFILL_TOKENS_PER_S, _TOKENS_PER_S = 2000, 150
# Longer than calls wait by default: who watches wants to see the answer, and not that the machine was busy.
_EMBED_S, _LOAD_S = 5.0, 60.0
_PLACES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """
    How one call with the cache went.

    Attributes:
        question: What was asked.
        answer: What it gave: a stream, or the error it raised.
    """

    question: Question
    answer: object

    @property
    def answered_by(self) -> str | None:
        """Who answered: "model", "exact", "semantic"; None: nobody."""
        if isinstance(self.answer, BaseException):
            return None
        outcome = report(self.answer).cache
        return (outcome.tier if outcome else None) or "model"

    @property
    def seconds(self) -> float:
        """How long it took, in seconds."""
        return report(self.answer).times.total or 0.0

    @property
    def is_expected(self) -> bool:
        """It was answered by whom it should be."""
        return self.answered_by == self.question.answered_by

    @property
    def code(self) -> Exit:
        """The exit code for an end that the demo does not want."""
        return Exit.FAILURE

    def row(self) -> dict[str, Any]:
        """Make the call's row of the table."""
        text, is_expected = self.question.text, self.is_expected
        return row_of(self.answer, call=text, client="sync", is_streamed=True, is_expected=is_expected)

    def cells(self, words: CacheWords, say: Say) -> dict[str, Any]:
        """Word the row for a table."""
        row = self.row()
        amounts = {name: _shown(Decimal(row[name])) for name in ("saved_cny", "saved_usd") if row[name]}
        return {**row, **amounts, "tier": self._who(words), "decision": decision_in_words(row["decision"], say)}

    def line(self, words: CacheWords, say: Say) -> str:
        """Say who answered, after how long, how alike the questions are, what that saved, and why."""
        if isinstance(self.answer, BaseException):
            return error_line(self.answer)
        return f"→ {words.between.join(self._facts(words, say))}"

    def _facts(self, words: CacheWords, say: Say) -> Iterator[str]:
        yield words.took.format(self._who(words), milliseconds(self.seconds))
        outcome = report(self.answer).cache or CacheOutcome(status="bypass")
        if outcome.similarity is not None:
            yield words.alike.format(outcome.similarity)
        if (saved := outcome.saved) is not None:
            yield words.saved.format(_shown(saved.cny), _shown(saved.usd))
        why = decision_in_words(reason_of(outcome), say)
        kept = outcome.decision.kept if outcome.decision else None
        yield words.kept.format(why, kept) if kept else str(why)

    def _who(self, words: CacheWords) -> str | None:
        return next((name for key, name in words.who.items() if key == self.answered_by), None)


def _shown(amount: Decimal | None) -> str:
    return "-" if amount is None else plain(round(amount, _PLACES))


class Scenery(NamedTuple):
    """
    What the calls are made with.

    Attributes:
        client: Makes them.
        cache: That of the client.
        words: Word them.
        say: Chooses the language.
        console: Where they are shown.
    """

    client: Client
    cache: ExactCache
    words: CacheWords
    say: Say
    console: Console


def play_cache(lang: str, vocabulary: Vocabulary, console: Console) -> list[Asked]:
    """
    Ask an emulator, and ask it again, with a cache between.

    Args:
        lang: The language of what is shown.
        vocabulary: Counts tokens.
        console: Where it is shown.

    Returns:
        How each call went; none where there is no semantic cache.
    """
    words, say = CACHE_WORDS[lang], Say(lang)
    console.print(f"\n{words.intro}", markup=False)
    if (lack := lacking(say)) is not None:
        console.print(words.lacking.format(*lack), style="yellow", markup=False)
        return []
    with quiet(), _kept(words, say, console) as cache:
        if cache is None:
            return []
        return _asked(cache, vocabulary, words, say, console)


@contextmanager
def _kept(words: CacheWords, say: Say, console: Console) -> Iterator[SemanticCache | None]:
    """Make a cache whose model is loaded, in a directory that is removed; None where the model cannot be used."""
    from deepseek_sdk.caching import SemanticCache  # noqa: PLC0415  where its extra is missing there is a line instead

    embedder = DefaultEmbedder(progress=Teller(console, say))
    with tempfile.TemporaryDirectory(prefix="deepseek-sdk-demo-", ignore_cleanup_errors=True) as place:
        cache = SemanticCache(Path(place) / "answers", embedder=embedder, embed_s=_EMBED_S)
        try:
            reason = _reason(cache, embedder, words, say, console)
            if reason is not None:
                console.print(words.unusable.format(reason), style="yellow", markup=False)
            yield cache if reason is None else None
        finally:
            cache.close()


def _reason(
    cache: SemanticCache, embedder: DefaultEmbedder, words: CacheWords, say: Say, console: Console
) -> str | None:
    """Load the model, and build it first where there is none; say why it cannot be used, or None: it can."""
    try:
        embedder.built()
    except (EmbeddingError, OSError) as error:
        return str(error)
    begun = time.monotonic()
    if not cache.wait_until_ready(_LOAD_S):
        return cache.service.reason or say(en="it takes too long to load", zh="加载用时过长")
    console.print(words.ready.format(time.monotonic() - begun), style="dim", markup=False)
    return None


def _asked(cache: SemanticCache, vocabulary: Vocabulary, words: CacheWords, say: Say, console: Console) -> list[Asked]:
    answers = {question.text: question.answer for question in words.questions}
    with (
        Emulator(
            replies=lambda request: answers[request.last_user_text],
            vocabulary=vocabulary,
            prefill_tokens_per_s=_PREFILL_TOKENS_PER_S,
            tokens_per_s=_TOKENS_PER_S,
        ) as server,
        _client(server.url, cache) as client,
    ):
        scenery = Scenery(client, cache, words, say, console)
        asked = [ask(question, scenery) for question in words.questions]
        _sum_up(asked, scenery)
        return asked


def _client(url: str, cache: SemanticCache) -> Client:
    http_client = default_http_client(is_async=False, trust_env=False)
    return make(Client, base_url=url, api_key="emulator", backend=None, cache=cache, http_client=http_client)


def ask(question: Question, scenery: Scenery) -> Asked:
    """
    Make one call, show its answer as it comes, and tell in a line where it came from.

    Args:
        question: What to ask.
        scenery: What the call is made with, and shown on.

    Returns:
        How it went.
    """
    console = scenery.console
    console.print(f"\n> {question.text}", style="cyan", markup=False)
    asked = Asked(question=question, answer=_answer(question.text, scenery))
    console.print()
    style = "green" if asked.is_expected else "red"
    console.print(asked.line(scenery.words, scenery.say), style=style, markup=False)
    return asked


def _answer(text: str, scenery: Scenery) -> object:
    """Give the stream, or what it raises."""
    messages: list[Any] = [{"role": "user", "content": text}]
    body = {"thinking": {"type": "disabled"}}
    try:
        answer = scenery.client.chat.completions.create(model=MODEL, messages=messages, stream=True, extra_body=body)
        for chunk in answer:
            for choice in chunk.choices:
                scenery.console.print(choice.delta.content or "", end="", markup=False)
    except openai.OpenAIError as error:
        return error
    return answer


def _sum_up(asked: Sequence[Asked], scenery: Scenery) -> None:
    """Tell what the cache has saved: money by its own count, time against the model's for the same answer."""
    saved, taken = scenery.cache.stats(), {one.question.answer: one.seconds for one in reversed(asked)}
    hits = [one for one in asked if one.answered_by in ("exact", "semantic")]
    seconds = sum(taken[one.question.answer] - one.seconds for one in hits)
    text = scenery.words.sum.format(len(hits), len(asked), seconds, _shown(saved.cny_saved), _shown(saved.usd_saved))
    scenery.console.print(f"\n{text}", style="bold", markup=False)
