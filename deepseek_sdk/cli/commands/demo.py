"""`deepseek-sdk demo`: one short conversation through every kind of call, and a table of what each went through."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
import openai

from deepseek_sdk import AsyncClient, Client, report
from deepseek_sdk.cli._connection import is_connection_error, unreachable
from deepseek_sdk.cli._demo import CONVERSATIONS, SCENES, Conversation, Scene
from deepseek_sdk.cli._exits import Exit, error_line, exit_code
from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._numbers import milliseconds
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._service import Service, emulated
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.config import read_settings
from deepseek_sdk.errors import ConfigurationError, StreamInterruptedError
from deepseek_sdk.testing import Fault, Reply
from deepseek_sdk.testing.vocabulary import choose_vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

__all__ = ["command"]

MODEL = "deepseek-flash"


@click.command("demo", short_help="Show every kind of call at work, against the emulator.")
@click.option("--live", is_flag=True, help="Ask the real service, with DEEPSEEK_API_KEY, instead of the emulator.")
@language_option
@output_option
def command(*, live: bool, lang: str, output: str) -> None:
    """Hold a short conversation through every kind of call, and show what each call went through."""
    conversation = CONVERSATIONS[lang]
    stage = console_of(sys.stderr)
    with service_of(conversation, is_live=live) as service:
        stage.print((conversation.live if live else conversation.offline).format(url=service.base_url), markup=False)
        scenes = [scene for scene in SCENES if not (live and scene.is_cut)]
        results = play(scenes, conversation, service, stage)
    code = next((result.code for result in results if not result.is_expected), Exit.OK)
    rows = [result.row(conversation) for result in results]
    cells = [{name: conversation.word(value) for name, value in row.items()} for row in rows]
    stage.print()
    show(rows, output=output, headings=conversation.headings, cells=cells)
    stage.print()
    verdict, style = (conversation.failed, "red") if code else (conversation.passed, "green")
    stage.print(verdict, style=style)
    click.get_current_context().exit(code)


def service_of(conversation: Conversation, *, is_live: bool) -> AbstractContextManager[Service]:
    """Choose whom to ask: the service, or an emulator that knows the conversation."""
    if not is_live:
        return emulated(**script_of(conversation))
    if not read_settings()["api_key"]:
        raise ConfigurationError(conversation.keyless)
    service = Service()
    service.client(Client).close()  # what keeps a client from being made is told once, and not by every scene
    return nullcontext(service)


def script_of(conversation: Conversation) -> dict[str, Any]:
    """Make of an emulator one that knows the conversation, ready to answer at once but at the pace of a model."""
    vocabulary = choose_vocabulary()
    vocabulary.load()
    return {
        "replies": [Reply(content=turn.answer, reasoning=turn.reasoning) for turn in conversation.turns],
        # A clean end without a finish reason: the cut that bare openai takes for a complete answer.
        "faults": [Fault.cut_by_eof(after_events=30) if scene.is_cut else None for scene in SCENES],
        "vocabulary": vocabulary,
        "prefill_tokens_per_s": 2000,
        "tokens_per_s": 150,
        "cache_delay_s": 0,
    }


@dataclass(kw_only=True)
class Result:
    """How one call went: what was shown of it, and what its report is taken from."""

    scene: Scene
    answer: object = None
    error: openai.OpenAIError | None = None
    message: dict[str, Any] = field(default_factory=lambda: {"role": "assistant", "content": ""})

    @property
    def is_expected(self) -> bool:
        """The call ended as the scene wants: cut where the server cuts, complete elsewhere."""
        return isinstance(self.error, StreamInterruptedError) if self.scene.is_cut else self.error is None

    @property
    def code(self) -> Exit:
        """The exit code for an end that the scene does not want."""
        return exit_code(self.error) if self.error else Exit.FAILURE

    def row(self, conversation: Conversation) -> dict[str, Any]:
        """Make the call's row of the table."""
        told = report(self.error or self.answer)
        return {
            "call": conversation.name(self.scene),
            "client": self.scene.client,
            "streamed": self.scene.is_streamed,
            "route": told.route,
            "model": told.model,
            "attempts": len(told.attempts),
            "first_token_ms": milliseconds(told.times.first_token),
            "total_ms": milliseconds(told.times.total),
            "hit": told.usage.hit if told.usage else None,
            "miss": told.usage.miss if told.usage else None,
            "output": told.usage.output if told.usage else None,
            "outcome": type(self.error).__name__ if self.error else "complete",
            "is_expected": self.is_expected,
        }


def play(scenes: Sequence[Scene], conversation: Conversation, service: Service, stage: Console) -> list[Result]:
    """Make the call of each scene; each answer becomes part of the next call's conversation."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": conversation.system}]
    results = []
    for scene, turn in zip(scenes, conversation.turns, strict=False):
        messages.append({"role": "user", "content": turn.question})
        title = conversation.title.format(call=conversation.name(scene), client=conversation.word(scene.client))
        stage.print(f"\n{title}", style="bold", markup=False)
        stage.print(f"> {turn.question}", style="cyan", markup=False)
        result = call(scene, messages, service, stage)
        messages.append(result.message)
        results.append(result)
        if result.error is not None:
            tell_error(result.error, conversation, service, stage)
    return results


def call(scene: Scene, messages: list[dict[str, Any]], service: Service, stage: Console) -> Result:
    """Make one call and show its answer."""
    thinking = {"type": "enabled" if scene.is_thinking else "disabled"}
    request = {
        "model": MODEL,
        "messages": messages,
        "stream": scene.is_streamed,
        "extra_body": {"thinking": thinking},
    }
    result = Result(scene=scene)
    try:
        if scene.is_async:
            asyncio.run(ask_async(request, service, result, stage))
        else:
            ask(request, service, result, stage)
    except openai.OpenAIError as error:
        result.error = error
    stage.print()
    return result


def ask(request: dict[str, Any], service: Service, result: Result, stage: Console) -> None:
    """Ask with `Client`."""
    with service.client(Client) as client:
        result.answer = answer = client.chat.completions.create(**request)
        if not request["stream"]:
            tell(answer.choices[0].message, result, stage)
            return
        for chunk in answer:
            for choice in chunk.choices:
                tell(choice.delta, result, stage)


async def ask_async(request: dict[str, Any], service: Service, result: Result, stage: Console) -> None:
    """Ask with `AsyncClient`."""
    async with service.client(AsyncClient) as client:
        result.answer = answer = await client.chat.completions.create(**request)
        if not request["stream"]:
            tell(answer.choices[0].message, result, stage)
            return
        async for chunk in answer:
            for choice in chunk.choices:
                tell(choice.delta, result, stage)


def tell(part: Any, result: Result, stage: Console) -> None:
    """Show a message or a piece of one, reasoning dimmed, and keep it for the next call."""
    # The service wants its reasoning back, byte for byte, with the rest of the history.
    for name, style in (("reasoning_content", "dim"), ("content", None)):
        if text := getattr(part, name, None):
            is_turning = name == "content" and not result.message["content"] and "reasoning_content" in result.message
            stage.print("\n" * is_turning + text, style=style, end="", markup=False)
            result.message[name] = result.message.get(name, "") + text


def tell_error(error: openai.OpenAIError, conversation: Conversation, service: Service, stage: Console) -> None:
    """Show how a call failed, and what had arrived of its answer."""
    told = error_line(error)
    if is_connection_error(error):
        with service.client(Client) as client:
            told = unreachable(error, client, Say(conversation.lang))
    stage.print(told, style="yellow", markup=False)
    if isinstance(error, StreamInterruptedError):
        stage.print(conversation.arrived + error.partial.text, markup=False)
