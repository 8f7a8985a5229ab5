"""A conversation: what has been said, how the next question is asked, and what of an answer is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import openai

    from deepseek_sdk.cli._chat.words import Words

__all__ = ["Answer", "QuestionOptions", "Talk"]


@dataclass(kw_only=True)
class QuestionOptions:
    """
    How questions are asked; None leaves the choice to the server.

    Attributes:
        model: Whom to ask.
        system: The system message.
        is_thinking: Whether the model thinks first.
        effort: How hard it thinks.
        max_tokens: The longest answer, in tokens, reasoning included.
        temperature: How much is left to chance.
    """

    model: str
    system: str | None = None
    is_thinking: bool | None = None
    effort: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    def request(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Make the arguments of the streamed call that asks *messages*."""
        # DeepSeek documents no effort for calls that do not think.
        effort = None if self.is_thinking is False else self.effort
        chosen = {"max_tokens": self.max_tokens, "temperature": self.temperature, "reasoning_effort": effort}
        request: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        if self.is_thinking is not None:
            request["extra_body"] = {"thinking": {"type": "enabled" if self.is_thinking else "disabled"}}
        system = [{"role": "system", "content": self.system}] if self.system else []
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        return {"model": self.model, "messages": [*system, *messages], **streaming, **request}


@dataclass(kw_only=True)
class Answer:
    """
    An answer, as far as it came.

    Attributes:
        message: The assistant's message, every field as it was sent, byte for byte.
        source: What its report is taken from; None before the call.
        error: How it failed.
        is_interrupted: The user ended it.
    """

    message: dict[str, Any] = field(default_factory=lambda: {"role": "assistant", "content": ""})
    source: object = None
    error: openai.OpenAIError | None = None
    is_interrupted: bool = False

    def take(self, chunk: Any) -> Iterator[tuple[str, str]]:
        """Add what *chunk* holds, and yield each field with its new text."""
        for choice in chunk.choices:
            for name in ("reasoning_content", "content"):
                text = getattr(choice.delta, name, None)
                if isinstance(text, str):
                    self.message[name] = self.message.get(name, "") + text
                    yield name, text

    @property
    def content(self) -> str:
        """The text of the answer."""
        text: str = self.message["content"]
        return text

    @property
    def reasoning(self) -> str:
        """The reasoning before it."""
        text: str = self.message.get("reasoning_content", "")
        return text

    @property
    def is_kept(self) -> bool:
        """
        It becomes part of the conversation.

        A complete answer does, and one that the user ended, if there was any text of it: it was read, and may be asked
        about. One that failed does not: nobody chose its end.
        """
        return self.error is None and (bool(self.content) or not self.is_interrupted)


class Talk:
    """
    A conversation.

    Attributes:
        options: How its questions are asked.
        messages: What has been said.
        question: What was asked last, for `/retry`.
        saved: The files that it was written to.
    """

    def __init__(self, options: QuestionOptions) -> None:
        self.options = options
        self.messages: list[dict[str, Any]] = []
        self.question: str | None = None
        self.saved: set[Path] = set()
        self._is_last_kept = False

    def ask(self, question: str) -> dict[str, Any]:
        """Make the call that asks *question*."""
        self.question = question
        return self.options.request([*self.messages, {"role": "user", "content": question}])

    def settle(self, answer: Answer) -> None:
        """Keep the question with its *answer*, or take it back."""
        self._is_last_kept = answer.is_kept
        if answer.is_kept:
            # The service wants reasoning back byte for byte once there are tools, and ignores it otherwise.
            self.messages += [{"role": "user", "content": self.question}, answer.message]

    def retry(self) -> str | None:
        """Take the last question back, with its answer where there is one; give None where there is none."""
        if self._is_last_kept:
            del self.messages[-2:]
        self._is_last_kept = False
        return self.question

    def clear(self) -> None:
        """Forget what was said."""
        self.messages, self.question, self._is_last_kept = [], None, False

    def transcript(self, *, is_json: bool, words: Words) -> str:
        """Write the conversation down: as Markdown, or as the messages of a request."""
        system = [{"role": "system", "content": self.options.system}] if self.options.system else []
        messages = [*system, *self.messages]
        if is_json:
            return json.dumps(messages, ensure_ascii=False, indent=2) + "\n"
        turns = ((words.roles[message["role"]], message["content"].rstrip()) for message in messages)
        return "\n".join(f"## {role}\n\n{text}\n" for role, text in turns)
