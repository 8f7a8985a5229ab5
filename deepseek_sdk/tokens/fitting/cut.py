"""`Cut`: what is left out of a conversation, so that the same can be left out again of a longer one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.tokens.fitting.layout import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deepseek_sdk.tokens.fitting.borders import Span
    from deepseek_sdk.tokens.fitting.jsontext import Form

__all__ = ["Cut", "Drop", "Text", "TextCut", "applied", "digest", "texts_of"]


class Text(NamedTuple):
    """
    A text of a message.

    Attributes:
        message: The index of the message.
        part: The index of the part, where the content is a list of parts.
        text: It.
    """

    message: int
    part: int | None
    text: str


def texts_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """
    List the texts of a conversation that may be cut.

    Args:
        messages: It.

    Yields:
        The contents: no reasoning, no arguments of tools, and no beginning of an answer that is to be gone on with.
    """
    for index, message in enumerate(messages):
        content = message.get("content")
        if message.get("prefix"):
            continue
        if isinstance(content, str):
            yield Text(index, None, content)
        elif isinstance(content, list):
            for part, item in enumerate(content):
                text = item.get("text") if isinstance(item, dict) else None
                if isinstance(text, str):
                    yield Text(index, part, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCut:
    """
    What is left out of one text.

    Attributes:
        message: The index of the message.
        part: The index of the part, or None.
        form: What is cut; see `Layout`.
        kept: What is kept, in characters.
        markers: What stands in each gap.
        tokens: How much is left out.
    """

    message: int
    part: int | None
    form: Form
    kept: tuple[Span, ...]
    markers: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """
    Messages that are left out.

    Attributes:
        start: The first.
        stop: What comes after the last.
        tokens: How much that is.
        marker: What says so.
    """

    start: int
    stop: int
    tokens: int
    marker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """
    What is left out of a conversation.

    Attributes:
        drops: Messages.
        texts: Parts of texts.
        summary: What stands in the place of the messages, or "".
        question: What the parts were chosen by, or "".
        limit: How long the request might be that it was made for, in tokens.
        covers: How many of the first messages it depends on.
        digest: What these were.
    """

    drops: tuple[Drop, ...] = ()
    texts: tuple[TextCut, ...] = ()
    summary: str = ""
    question: str = ""
    limit: int = 0
    covers: int = 0
    digest: bytes = b""

    @property
    def reach(self) -> int:
        """How many of the first messages are concerned."""
        return max([drop.stop for drop in self.drops] + [text.message + 1 for text in self.texts], default=0)

    @property
    def dropped(self) -> set[int]:
        """The messages that are left out."""
        return {index for drop in self.drops for index in range(drop.start, drop.stop)}


def digest(messages: Sequence[Mapping[str, Any]]) -> bytes:
    """
    Tell conversations apart.

    Args:
        messages: One.

    Returns:
        The same for the same messages.
    """
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True, default=repr)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def applied(messages: Sequence[Mapping[str, Any]], cut: Cut) -> list[dict[str, Any]]:
    """
    Leave something out of a conversation.

    Args:
        messages: It; not changed.
        cut: What.

    Returns:
        The rest, with markers. Messages that stay as they are, are the same objects.
    """
    result: list[Any] = list(messages)
    for text in cut.texts:
        result[text.message] = _shortened(result[text.message], text)
    for number, drop in enumerate(cut.drops):
        note = drop.marker if number or not cut.summary else f"{drop.marker}\n\n{cut.summary}"
        _note(result, drop, note)
    dropped = cut.dropped
    return [message for index, message in enumerate(result) if index not in dropped]


def _shortened(message: Mapping[str, Any], cut: TextCut) -> dict[str, Any]:
    return _with_text(message, cut.part, lambda text: join(text, cut.form, cut.kept, cut.markers))


def _with_text(message: Mapping[str, Any], part: int | None, change: Callable[[str], str]) -> dict[str, Any]:
    content = message["content"]
    if part is None:
        return {**message, "content": change(content)}
    changed = {**content[part], "text": change(content[part]["text"])}
    return {**message, "content": [*content[:part], changed, *content[part + 1 :]]}


def _note(messages: list[Any], drop: Drop, marker: str) -> None:
    """
    Say in what the user says next, or has said before, that something is missing.

    A message of its own would be a second one of the user's in a row, which many servers of other models refuse.
    """
    following = _nearest_user(messages, range(drop.stop, len(messages)))
    before = _nearest_user(messages, range(drop.start - 1, -1, -1))
    if following is not None:
        messages[following] = _noted(messages[following], f"{marker}\n\n", "")
    elif before is not None:
        messages[before] = _noted(messages[before], "", f"\n\n{marker}")


def _nearest_user(messages: Sequence[Mapping[str, Any]], places: range) -> int | None:
    """Find what the user says there, before the model says anything."""
    for index in places:
        if messages[index].get("role") == "user":
            return index
        if messages[index].get("role") in ("assistant", "tool"):
            break
    return None


def _noted(message: Mapping[str, Any], before: str, after: str) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        front = [{"type": "text", "text": before.strip()}] if before else []
        return {**message, "content": [*front, *content, *([{"type": "text", "text": after.strip()}] if after else [])]}
    return {**message, "content": f"{before}{content or ''}{after}"}
