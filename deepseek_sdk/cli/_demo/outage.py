"""The outage of the demo: two emulators and a rule engine; what goes down, who answers, and who returns."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import openai

from deepseek_sdk import BreakerPolicy, Client, RetryPolicy, Route, report
from deepseek_sdk._wire import default_http_client
from deepseek_sdk.backends.rules import Rule, RuleEngine
from deepseek_sdk.cli._connection import make
from deepseek_sdk.cli._demo.acts import ACTS, WORDS, Act, Words
from deepseek_sdk.cli._demo.rows import row_of
from deepseek_sdk.cli._demo.shown import breakers, call_line, line, quiet
from deepseek_sdk.cli._demo.talk import MODEL
from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.errors import MissingExtraError
from deepseek_sdk.testing import Emulator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["Tried", "play_outage"]

# Longer than the acts up to the return take, and short enough to wait for.
_OPEN_FOR_S = 3.0
_TOKENS_PER_S = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """
    How one call of the outage went.

    Attributes:
        act: When it was made.
        is_streamed: It was a stream.
        answer: What it gave: a completion, a stream, or the error it raised.
        text: What the answer says.
        circuits: The states of the circuits after it, by route.
    """

    act: Act
    is_streamed: bool
    answer: object
    text: str
    circuits: Mapping[str | None, str]

    @property
    def is_expected(self) -> bool:
        """It was answered, by the route that should."""
        return not isinstance(self.answer, BaseException) and report(self.answer).route == self.act.answered_by

    @property
    def code(self) -> Exit:
        """The exit code for an end that the act does not want."""
        return Exit.FAILURE

    def row(self, words: Words) -> dict[str, Any]:
        """Make the call's row of the table."""
        return row_of(
            self.answer,
            call=words.names[self.act.name],
            client="sync",
            is_streamed=self.is_streamed,
            is_expected=self.is_expected,
            circuits=self.circuits,
        )


class _Set(NamedTuple):
    """What the outage is played with."""

    primary: Emulator
    fallback: Emulator
    client: Client
    words: Words
    console: Console


def play_outage(lang: str, vocabulary: Vocabulary, console: Console) -> list[Tried]:
    """
    Let two emulators go down, and one come back.

    Args:
        lang: The language of what is shown.
        vocabulary: Counts tokens.
        console: Where it is shown.

    Returns:
        How each call went.
    """
    words = WORDS[lang]
    console.print(f"\n{words.intro.format(_OPEN_FOR_S, BreakerPolicy().open_for)}", markup=False)
    console.print(f"> {words.question}", style="cyan", markup=False)
    rules = _rules(words, console)
    acts = [act for act in ACTS if rules or act.answered_by != "rules"]
    with _set_up(words, vocabulary, rules, console) as scenery:
        return [tried for act in acts for tried in _play(act, scenery)]


def _rules(words: Words, console: Console) -> list[RuleEngine]:
    """Make the rule engine, or say what it lacks."""
    try:
        return [RuleEngine([Rule(words.preset, keywords=words.keywords)])]
    except MissingExtraError as error:
        console.print(words.ruleless.format(_install(error)), style="yellow", markup=False)
        return []


def _install(error: MissingExtraError) -> str:
    return f"python -m pip install 'deepseek-client-sdk[{error.extra}]'"


@contextmanager
def _set_up(words: Words, vocabulary: Vocabulary, rules: list[RuleEngine], console: Console) -> Iterator[_Set]:
    speech: dict[str, Any] = {"replies": words.answer, "vocabulary": vocabulary, "tokens_per_s": _TOKENS_PER_S}
    with Emulator(**speech) as primary, Emulator(**speech) as fallback, quiet():
        routes = [
            Route(MODEL, name="primary"),
            Route(MODEL, name="fallback", base_url=fallback.url, api_key="emulator"),
            *rules,
        ]
        with _client(primary.url, routes) as client:
            yield _Set(primary, fallback, client, words, console)


def _client(url: str, routes: list[Any]) -> Client:
    return make(
        Client,
        base_url=url,
        api_key="emulator",
        backend=None,
        routes=routes,
        breaker=BreakerPolicy(open_for=_OPEN_FOR_S),
        # Whoever is the last model to ask is asked twice, at once: nobody watches a demo wait.
        retry=RetryPolicy(max_retries=1, first_wait=0.1),
        http_client=default_http_client(is_async=False, trust_env=False),
    )


def _play(act: Act, scenery: _Set) -> list[Tried]:
    """Play one act, and show the breakers at its end."""
    words, console = scenery.words, scenery.console
    console.print(f"\n{words.titles[act.name]}", style="bold", markup=False)
    scenery.primary.faults, scenery.fallback.faults = act.primary, act.fallback
    if act.is_return:
        _wait(scenery)
    console.print(line(*words.columns), style="dim", markup=False)
    tries = [_try(act, number, scenery) for number in range(act.calls)]
    console.print(words.said.format(act.answered_by, tries[-1].text), style="dim", markup=False)
    console.print(breakers(scenery.client.health(), words))
    return tries


def _wait(scenery: _Set) -> None:
    """Wait until the circuit of the primary is half open, and show that."""
    seconds = next(route.retry_in for route in scenery.client.health().routes if route.route == "primary") or 0.0
    scenery.console.print(scenery.words.waiting.format(seconds), markup=False)
    time.sleep(seconds)
    scenery.console.print(breakers(scenery.client.health(), scenery.words))
    scenery.console.print()


def _try(act: Act, number: int, scenery: _Set) -> Tried:
    """Make one call, and show in a line what it went through."""
    is_streamed = number % 2 == 1
    answer, text = _ask(scenery.client, scenery.words.question, is_streamed=is_streamed)
    circuits = {route.route: route.state for route in scenery.client.health().routes}
    tried = Tried(act=act, is_streamed=is_streamed, answer=answer, text=text, circuits=circuits)
    style = None if tried.is_expected else "red"
    scenery.console.print(call_line(answer, scenery.words), style=style, markup=False)
    return tried


def _ask(client: Client, question: str, *, is_streamed: bool) -> tuple[Any, str]:
    """Give what a call gives, or raises, and what the answer says."""
    messages: list[Any] = [{"role": "user", "content": question}]
    body = {"thinking": {"type": "disabled"}}
    try:
        answer = client.chat.completions.create(model=MODEL, messages=messages, stream=is_streamed, extra_body=body)
        if not isinstance(answer, openai.Stream):
            return answer, answer.choices[0].message.content or ""
        return answer, "".join(choice.delta.content or "" for chunk in answer for choice in chunk.choices)
    except openai.OpenAIError as error:
        return error, ""
