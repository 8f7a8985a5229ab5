"""`deepseek-sdk chat`: one question from a script, or a conversation in the terminal."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import platformdirs

from deepseek_sdk import Client
from deepseek_sdk.cli._account import base_url_option
from deepseek_sdk.cli._chat.ask import ask, row_of
from deepseek_sdk.cli._chat.commands import COMMANDS
from deepseek_sdk.cli._chat.errors import explain
from deepseek_sdk.cli._chat.keys import Interrupts
from deepseek_sdk.cli._chat.lines import History, Lines
from deepseek_sdk.cli._chat.loop import ChatLoop, notes_on
from deepseek_sdk.cli._chat.stdin import PATIENCE_S, piped_text, read_all, readable
from deepseek_sdk.cli._chat.talk import Answer, QuestionOptions, Talk
from deepseek_sdk.cli._chat.view import AnswerView, MarkdownChannel, ReasoningChannel, SilentChannel, TextChannel
from deepseek_sdk.cli._chat.words import WORDS, Words
from deepseek_sdk.cli._exits import Exit, exit_code
from deepseek_sdk.cli._language import language_option
from deepseek_sdk.cli._numbers import Numbers
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._service import Service, default_model, emulated
from deepseek_sdk.cli._terminal import console_of, is_lively

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from deepseek_sdk.cli._chat.view import Channel

__all__ = ["command"]

# The pace of a model; at once would show nothing of the streaming.
_EMULATED_TOKENS_PER_S = 60


def read_argument(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Read an argument as UTF-8, whatever the locale made of it."""
    return None if text is None else readable(text)


@click.command("chat", short_help="Ask one question, or hold a conversation.")
@click.argument("prompt", required=False, callback=read_argument)
@click.option("-m", "--model", default=default_model, show_default="from the settings", help="Whom to ask.")
@click.option("--system", callback=read_argument, help="System message.")
@click.option(
    "--thinking/--no-thinking", "is_thinking", default=None, help="Think first, or not; default: the server's."
)
@click.option("--effort", type=click.Choice(["low", "high", "max"]), help="How hard to think.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens, reasoning included.")
@click.option("--temperature", type=Numbers(0, 2), help="How much is left to chance.")
@click.option(
    "--show-reasoning/--hide-reasoning", default=None, help="Reasoning on stderr; default: where that is a terminal."
)
@base_url_option
@click.option("--emulator", "is_emulated", is_flag=True, help="Talk to the emulator, which echoes; no key needed.")
@click.option("--no-history", is_flag=True, help="Neither read nor keep what is typed.")
@language_option
@output_option
def command(
    *,
    prompt: str | None,
    show_reasoning: bool | None,
    base_url: str | None,
    is_emulated: bool,
    no_history: bool,
    lang: str,
    output: str,
    **options: Any,
) -> None:
    """
    Ask DeepSeek one question, or hold a conversation.

    With PROMPT, or with - and the question on stdin, the answer is all there is on stdout: its text as it comes, or one
    row of data with -o json, jsonl or csv. What is piped to stdin is put below PROMPT: git diff | deepseek-sdk chat
    "Review this change." Ctrl-C ends the program with 130.

    Without, in a terminal, questions and answers take turns. Ctrl-C ends the answer that is coming; what had come of it
    stays in the conversation. /help lists the commands.
    """
    words, talk = WORDS[lang], Talk(QuestionOptions(**options))
    if is_emulated and base_url:
        raise click.UsageError(words.usage["url"])
    question = question_of(prompt, words, output=output)
    reasoning = reasoning_channel(is_wanted=show_reasoning)
    with service_of(base_url, is_emulated=is_emulated) as service, service.client(Client) as client:
        if question is None:
            converse(client, talk, words, reasoning, is_remembering=not no_history)
        else:
            click.get_current_context().exit(
                answer_once(client, talk.ask(question), question, words, reasoning, output)
            )


def question_of(prompt: str | None, words: Words, *, output: str) -> str | None:
    """Find the one question; None stands for a conversation."""
    if prompt is None and sys.stdin.isatty():
        if output != "table":
            raise click.UsageError(words.usage["output"].format(output=output))
        if not sys.stdout.isatty():
            raise click.UsageError(words.usage["terminal"])
        return None
    question = read_all(sys.stdin) if prompt is None or prompt == "-" else with_piped_text(prompt, words)
    if not question.strip():
        raise click.UsageError(words.usage["empty"])
    return question


def with_piped_text(prompt: str, words: Words) -> str:
    """Put what was piped below *prompt*; a pipe that stays silent is told, and left alone."""
    if not prompt.strip():
        return prompt
    text = piped_text(sys.stdin, patience_s=PATIENCE_S)
    if text is None:
        console_of(sys.stderr).print(words.silence.format(seconds=PATIENCE_S), style="yellow", markup=False)
    return f"{prompt}\n\n{text}" if text and text.strip() else prompt


def reasoning_channel(*, is_wanted: bool | None) -> Channel:
    """Choose where reasoning is shown."""
    is_shown = sys.stderr.isatty() if is_wanted is None else is_wanted
    return ReasoningChannel(console_of(sys.stderr)) if is_shown else SilentChannel()


def service_of(base_url: str | None, *, is_emulated: bool) -> AbstractContextManager[Service]:
    """Choose whom to ask."""
    return emulated(tokens_per_s=_EMULATED_TOKENS_PER_S) if is_emulated else nullcontext(Service(base_url=base_url))


def answer_once(
    client: Client, request: Mapping[str, Any], question: str, words: Words, reasoning: Channel, output: str
) -> int:
    """Ask one question; give the exit code."""
    content = TextChannel(sys.stdout) if output == "table" else SilentChannel()
    with Interrupts() as interrupts:
        answer = ask(client, request, AnswerView(reasoning=reasoning, content=content), interrupts)
    has_something = answer.error is None or getattr(answer.error, "partial", None)
    if output != "table" and not answer.is_interrupted and has_something:
        show([row_of(question, answer)], output=output, headings={})
    return tell_end(answer, words, client)


def tell_end(answer: Answer, words: Words, client: Client) -> int:
    """Say on stderr what there is to say about the end; give the exit code."""
    console = console_of(sys.stderr)
    for note in notes_on(answer, words):
        console.print(note, style="yellow", markup=False)
    if answer.error is not None:
        told = explain(answer.error, words, client, is_conversation=False)
        console.print(told, style="red", markup=False)
        return exit_code(answer.error)
    if answer.is_interrupted:
        console.print(words.interrupted, style="dim", markup=False)
        return Exit.INTERRUPTED
    return Exit.OK


def converse(client: Client, talk: Talk, words: Words, reasoning: Channel, *, is_remembering: bool) -> None:
    """Hold a conversation until the user leaves."""
    is_rendered = is_lively(sys.stdout, os.environ)
    content = MarkdownChannel(console_of(sys.stdout, soft_wrap=False)) if is_rendered else TextChannel(sys.stdout)
    with Interrupts() as interrupts:
        ChatLoop(
            client=client,
            talk=talk,
            words=words,
            lines=Lines(history_of(words) if is_remembering else None, interrupts, COMMANDS),
            view=AnswerView(reasoning=reasoning, content=content),
            interrupts=interrupts,
            console=console_of(sys.stderr),
        ).run()


def history_of(words: Words) -> History:
    """Give the history, in the user's folder for such things; one that cannot be kept is told, and no more."""

    def warn(error: OSError) -> None:
        reason = error.strerror or str(error)
        console_of(sys.stderr).print(words.history.format(reason=reason), style="yellow", markup=False)

    return History(Path(platformdirs.user_state_dir("deepseek-sdk", appauthor=False)) / "chat_history", warn)
