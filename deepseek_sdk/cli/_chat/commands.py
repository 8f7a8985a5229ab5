"""The commands of a conversation: lines that begin with a slash."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk.cli._chat.talk import Talk
    from deepseek_sdk.cli._chat.words import Words

__all__ = ["COMMANDS", "Outcome", "obey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    What a command comes to.

    Attributes:
        says: What it answers.
        is_problem: It did not do what it was asked.
        question: What is to be asked now.
        is_end: The conversation is over.
    """

    says: str = ""
    is_problem: bool = False
    question: str | None = None
    is_end: bool = False


def obey(line: str, talk: Talk, words: Words) -> Outcome:
    """
    Carry out a command.

    Args:
        line: The command, with its argument.
        talk: The conversation.
        words: The language of the answer.

    Returns:
        What it comes to.
    """
    name, _, argument = line.partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        return Outcome(says=words.replies["unknown"].format(name=name), is_problem=True)
    return command(talk, argument.strip(), words)


def _help(_: Talk, __: str, words: Words) -> Outcome:
    return Outcome(says=words.help)


def _clear(talk: Talk, _: str, words: Words) -> Outcome:
    talk.clear()
    return Outcome(says=words.replies["cleared"])


def _model(talk: Talk, argument: str, words: Words) -> Outcome:
    talk.options.model = argument or talk.options.model
    return Outcome(says=words.replies["model"].format(model=talk.options.model))


def _system(talk: Talk, argument: str, words: Words) -> Outcome:
    talk.options.system = argument or None
    return Outcome(says=words.replies["system" if argument else "no_system"])


def _thinking(talk: Talk, argument: str, words: Words) -> Outcome:
    is_known = argument in {"on", "off"}
    if is_known:
        talk.options.is_thinking = argument == "on"
    state = {None: words.default, True: words.on, False: words.off}[talk.options.is_thinking]
    return Outcome(says=words.replies["thinking" if is_known else "thinking_usage"].format(state=state))


def _retry(talk: Talk, _: str, words: Words) -> Outcome:
    question = talk.retry()
    if question is None:
        return Outcome(says=words.replies["nothing"], is_problem=True)
    return Outcome(question=question)


def _save(talk: Talk, argument: str, words: Words) -> Outcome:
    if not argument:
        return Outcome(says=words.replies["save_usage"], is_problem=True)
    path = Path(argument)
    try:
        path = path.expanduser()
        _write(path, talk, words)
    except FileExistsError:
        return Outcome(says=words.replies["exists"].format(path=path), is_problem=True)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        return Outcome(says=words.replies["unsaved"].format(path=path, reason=reason), is_problem=True)
    return Outcome(says=words.replies["saved"].format(path=path))


def _write(path: Path, talk: Talk, words: Words) -> None:
    """Write the conversation to *path*; a file that it did not make itself stays as it is."""
    text = talk.transcript(is_json=path.suffix.lower() == ".json", words=words)
    mode = "w" if path.absolute() in talk.saved else "x"
    with path.open(mode, encoding="utf-8", newline="\n") as file:
        file.write(text)
    talk.saved.add(path.absolute())


def _quit(_: Talk, __: str, ___: Words) -> Outcome:
    return Outcome(is_end=True)


COMMANDS: Mapping[str, Callable[[Talk, str, Words], Outcome]] = {
    "/help": _help,
    "/clear": _clear,
    "/model": _model,
    "/system": _system,
    "/thinking": _thinking,
    "/retry": _retry,
    "/save": _save,
    "/quit": _quit,
}
