"""`deepseek-sdk demo`: a short conversation, a cache, an outage, and what each call went through."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from deepseek_sdk import Client
from deepseek_sdk.cli._demo.acts import WORDS, Words
from deepseek_sdk.cli._demo.cached import Asked, play_cache
from deepseek_sdk.cli._demo.conversation import CONVERSATIONS, SCENES, Conversation
from deepseek_sdk.cli._demo.outage import Tried, play_outage
from deepseek_sdk.cli._demo.questions import CACHE_WORDS
from deepseek_sdk.cli._demo.talk import Talk, play
from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._service import Service, emulated
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.config import read_settings
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.testing import Fault, Reply
from deepseek_sdk.testing.vocabulary import choose_vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["command"]


class Shown(NamedTuple):
    """
    What was shown.

    Attributes:
        talks: The calls of the conversation.
        asked: Those with the cache.
        tries: Those of the outage.
    """

    talks: Sequence[Talk]
    asked: Sequence[Asked] = ()
    tries: Sequence[Tried] = ()


@click.command("demo", short_help="Show every kind of call at work, against the emulator.")
@click.option(
    "--live",
    is_flag=True,
    help="Ask the real service, with DEEPSEEK_API_KEY, instead of the emulator; neither cache nor outage.",
)
@language_option
@output_option
def command(*, live: bool, lang: str, output: str) -> None:
    """
    Hold a short conversation through every kind of call, ask again, and live through an outage.

    What is asked again is answered by a cache. How each call went stands in tables on stdout.
    """
    conversation = CONVERSATIONS[lang]
    stage = console_of(sys.stderr)
    shown = Shown(asked_live(conversation, stage)) if live else asked_here(conversation, stage)
    results: list[Talk | Asked | Tried] = [*shown.talks, *shown.asked, *shown.tries]
    code = next((result.code for result in results if not result.is_expected), Exit.OK)
    stage.print()
    show_calls(shown, conversation, output=output)
    stage.print()
    passed = conversation.passed_live if live else conversation.passed
    verdict, style = (conversation.failed, "red") if code else (passed, "green")
    stage.print(verdict, style=style)
    click.get_current_context().exit(code)


def asked_live(conversation: Conversation, stage: Console) -> list[Talk]:
    """Hold the conversation with the service; nothing that it would have to fail at."""
    if not read_settings()["api_key"]:
        raise ConfigurationError(conversation.keyless)
    service = Service()
    service.client(Client).close()  # what keeps a client from being made is told once, and not by every scene
    stage.print(conversation.live, markup=False)
    return play([scene for scene in SCENES if not scene.is_cut], conversation, service, stage)


def asked_here(conversation: Conversation, stage: Console) -> Shown:
    """Hold the conversation with an emulator, ask another through a cache, then let two more go down."""
    vocabulary = choose_vocabulary()
    vocabulary.load()
    with emulated(**script_of(conversation, vocabulary)) as service:
        stage.print(conversation.offline.format(url=service.base_url), markup=False)
        talks = play(SCENES, conversation, service, stage)
    asked = play_cache(conversation.lang, vocabulary, stage)
    return Shown(talks, asked, play_outage(conversation.lang, vocabulary, stage))


def script_of(conversation: Conversation, vocabulary: Vocabulary) -> dict[str, Any]:
    """Make of an emulator one that knows the conversation, ready to answer at once but at the pace of a model."""
    return {
        "replies": [Reply(content=turn.answer, reasoning=turn.reasoning) for turn in conversation.turns],
        # A clean end without a finish reason: the cut that bare openai takes for a complete answer.
        "faults": [Fault.cut_by_eof(after_events=30) if scene.is_cut else None for scene in SCENES],
        "vocabulary": vocabulary,
        "prefill_tokens_per_s": 2000,
        "tokens_per_s": 150,
        "cache_delay_s": 0,
    }


def show_calls(shown: Shown, conversation: Conversation, *, output: str) -> None:
    """Print a row for each call: all in one piece, as tables one for each part, which have columns of their own."""
    words, cached = WORDS[conversation.lang], CACHE_WORDS[conversation.lang]
    talked, asked = [talk.row(conversation) for talk in shown.talks], [each.row() for each in shown.asked]
    tried = [each.row(words) for each in shown.tries]
    if output != "table":
        show([*talked, *asked, *tried], output=output, headings=conversation.headings)
        return
    show(talked, output=output, headings=conversation.headings, cells=in_words(talked, conversation))
    if asked:
        click.echo()
        cells = [each.cells(cached, Say(conversation.lang)) for each in shown.asked]
        show(asked, output=output, headings=cached.headings, cells=cells)
    if tried:
        click.echo()
        show(tried, output=output, headings=words.headings, cells=in_words(tried, words))


def in_words(rows: Sequence[Mapping[str, Any]], words: Conversation | Words) -> list[dict[str, object]]:
    """Word the rows for a table."""
    return [{name: words.word(value) for name, value in row.items()} for row in rows]
