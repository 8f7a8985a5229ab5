"""The conversation in a terminal: prompt, answer, and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepseek_sdk import report
from deepseek_sdk.cli._chat.ask import ask
from deepseek_sdk.cli._chat.commands import obey
from deepseek_sdk.cli._chat.errors import explain
from deepseek_sdk.cli._chat.keys import silent_keys

if TYPE_CHECKING:
    from rich.console import Console

    from deepseek_sdk import Client
    from deepseek_sdk.cli._chat.keys import Interrupts
    from deepseek_sdk.cli._chat.lines import Lines
    from deepseek_sdk.cli._chat.talk import Answer, Talk
    from deepseek_sdk.cli._chat.view import AnswerView
    from deepseek_sdk.cli._chat.words import Words

__all__ = ["ChatLoop", "notes_on"]


@dataclass(kw_only=True)
class ChatLoop:
    """
    A conversation of many turns.

    Attributes:
        client: Whom to ask with.
        talk: What has been said.
        words: The language.
        lines: What the user types.
        view: Where answers are shown.
        interrupts: What Ctrl-C does.
        console: Where everything else goes.
    """

    client: Client
    talk: Talk
    words: Words
    lines: Lines
    view: AnswerView
    interrupts: Interrupts
    console: Console

    def run(self) -> None:
        """Talk until the user leaves."""
        url = str(self.client.base_url).rstrip("/")
        self._say(self.words.greeting.format(model=self.talk.options.model, url=url), style="dim")
        while (question := self._next_question()) is not None:
            self._take_turn(question)

    def _next_question(self) -> str | None:
        """Obey commands until there is a question; give None where the user leaves instead."""
        while (text := self._read()) is not None:
            if text.startswith("/"):
                outcome = obey(text.rstrip(), self.talk, self.words)
                if outcome.says:
                    self._say(outcome.says, style="yellow" if outcome.is_problem else "dim")
                if outcome.is_end or outcome.question is not None:
                    return outcome.question
            elif text.strip():
                return text
        return None

    def _read(self) -> str | None:
        """Read what the user types; give None at the end: Ctrl-D, or Ctrl-C twice."""
        try:
            try:
                return self.lines.read()
            except KeyboardInterrupt:
                self._say(f"\n{self.words.leaving}", style="dim")
                return self.lines.read()
        except (EOFError, KeyboardInterrupt):
            self._say("")
            return None

    def _take_turn(self, question: str) -> None:
        with silent_keys():
            answer = ask(self.client, self.talk.ask(question), self.view, self.interrupts)
        self.talk.settle(answer)
        self._tell_end(answer)
        self.interrupts.forget()

    def _tell_end(self, answer: Answer) -> None:
        for note in notes_on(answer, self.words):
            self._say(note, style="yellow")
        if answer.error is not None:
            told = explain(answer.error, self.words, self.client, is_conversation=True)
            self._say(f"{told} {self.words.again}", style="red")
        elif answer.is_interrupted:
            self._say(self.words.kept if answer.is_kept else self.words.dropped, style="yellow")
        if answer.source is not None and answer.error is None:
            self._say(facts_of(answer.source, self.words), style="dim")

    def _say(self, text: str, *, style: str = "") -> None:
        self.console.print(text, style=style, markup=False)


def notes_on(answer: Answer, words: Words) -> list[str]:
    """Say what is unusual about the end of an answer that did not fail."""
    if answer.source is None or answer.error is not None:
        return []
    told = report(answer.source)
    ending = words.endings.get(told.finish_reason or "")
    return [note for note in (ending, words.only_reasoning if told.answer_in_reasoning else None) if note]


def facts_of(source: object, words: Words) -> str:
    """Say in one line what a call took."""
    told = report(source)
    usage = told.usage
    numbers = {
        "hit": usage.hit if usage else words.unknown,
        "miss": usage.miss if usage else words.unknown,
        "output": usage.output if usage else words.unknown,
        "first": _seconds(told.times.first_token, words),
        "total": _seconds(told.times.total, words),
    }
    return words.facts.format(model=told.model, **numbers)


def _seconds(value: float | None, words: Words) -> str:
    return words.unknown if value is None else f"{value:.2f}"
