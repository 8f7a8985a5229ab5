"""The conversation of the demo: every kind of call, and what is shown of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.cli._connection import is_connection_error, unreachable
from deepseek_sdk.cli._demo.rows import row_of
from deepseek_sdk.cli._exits import Exit, error_line, exit_code
from deepseek_sdk.cli._language import Say
from deepseek_sdk.errors import StreamInterruptedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from deepseek_sdk.cli._demo.conversation import Conversation, Scene
    from deepseek_sdk.cli._service import Service

__all__ = ["MODEL", "Talk", "play"]

MODEL = "deepseek-flash"


@dataclass(kw_only=True)
class Talk:
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
        return row_of(
            self.error or self.answer,
            call=conversation.name(self.scene),
            client=self.scene.client,
            is_streamed=self.scene.is_streamed,
            is_expected=self.is_expected,
        )


def play(scenes: Sequence[Scene], conversation: Conversation, service: Service, stage: Console) -> list[Talk]:
    """Make the call of each scene; each answer becomes part of the next call's conversation."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": conversation.system}]
    results = []
    for scene, turn in zip(scenes, conversation.turns, strict=False):
        messages.append({"role": "user", "content": turn.question})
        title = conversation.title.format(call=conversation.name(scene), client=conversation.word(scene.client))
        stage.print(f"\n{title}", style="bold", markup=False)
        stage.print(f"> {turn.question}", style="cyan", markup=False)
        result = _call(scene, messages, service, stage)
        messages.append(result.message)
        results.append(result)
        if result.error is not None:
            _tell_error(result.error, conversation, service, stage)
    return results


def _call(scene: Scene, messages: list[dict[str, Any]], service: Service, stage: Console) -> Talk:
    """Make one call and show its answer."""
    thinking = {"type": "enabled" if scene.is_thinking else "disabled"}
    request = {
        "model": MODEL,
        "messages": messages,
        "stream": scene.is_streamed,
        "extra_body": {"thinking": thinking},
    }
    result = Talk(scene=scene)
    try:
        if scene.is_async:
            asyncio.run(_ask_async(request, service, result, stage))
        else:
            _ask(request, service, result, stage)
    except openai.OpenAIError as error:
        result.error = error
    stage.print()
    return result


def _ask(request: dict[str, Any], service: Service, result: Talk, stage: Console) -> None:
    """Ask with `Client`."""
    with service.client(Client) as client:
        result.answer = answer = client.chat.completions.create(**request)
        if not request["stream"]:
            _tell(answer.choices[0].message, result, stage)
            return
        for chunk in answer:
            for choice in chunk.choices:
                _tell(choice.delta, result, stage)


async def _ask_async(request: dict[str, Any], service: Service, result: Talk, stage: Console) -> None:
    """Ask with `AsyncClient`."""
    async with service.client(AsyncClient) as client:
        result.answer = answer = await client.chat.completions.create(**request)
        if not request["stream"]:
            _tell(answer.choices[0].message, result, stage)
            return
        async for chunk in answer:
            for choice in chunk.choices:
                _tell(choice.delta, result, stage)


def _tell(part: Any, result: Talk, stage: Console) -> None:
    """Show a message or a piece of one, reasoning dimmed, and keep it for the next call."""
    # The service wants its reasoning back, byte for byte, with the rest of the history.
    for name, style in (("reasoning_content", "dim"), ("content", None)):
        if text := getattr(part, name, None):
            is_turning = name == "content" and not result.message["content"] and "reasoning_content" in result.message
            stage.print("\n" * is_turning + text, style=style, end="", markup=False)
            result.message[name] = result.message.get(name, "") + text


def _tell_error(error: openai.OpenAIError, conversation: Conversation, service: Service, stage: Console) -> None:
    """Show how a call failed, and what had arrived of its answer."""
    told = error_line(error)
    if is_connection_error(error):
        with service.client(Client) as client:
            told = unreachable(error, client, Say(conversation.lang))
    stage.print(told, style="yellow", markup=False)
    if isinstance(error, StreamInterruptedError):
        stage.print(conversation.arrived + error.partial.text, markup=False)
