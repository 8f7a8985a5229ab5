"""Which part of a rendered prompt is which message's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.request import message_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deepseek_sdk.tokens.parts import Part
    from deepseek_sdk.tokens.request import Version

__all__ = ["share_out"]

_BEGIN = "<｜begin▁of▁sentence｜>"
# Which messages each sign stands before.
_SIGNS = {
    _BEGIN: "",
    "<｜Assistant｜>": "assistant",
    "<｜System｜>": "system",
    "<｜User｜>": "user",
    "<｜latest_reminder｜>": "latest_reminder",
}
# What else belongs to the template, wherever it stands.
_TEMPLATE = frozenset({"<｜end▁of▁sentence｜>", "<think>", "</think>"})


@dataclass(slots=True)
class _Stretch:
    """
    What stands between two signs of the template.

    Attributes:
        owners: The messages, by index, that it is of.
        is_head: Whether there is more in it than its messages.
        texts: Its plain characters.
        tokens: Its tokens.
        specials: Those of them that are special ones.
    """

    owners: tuple[int, ...] = ()
    is_head: bool = False
    texts: list[str] = field(default_factory=list)
    tokens: int = 0
    specials: int = 0


def share_out(
    parts: Sequence[Part],
    sizes: Sequence[int],
    messages: Sequence[Mapping[str, Any]],
    version: Version,
    count: Callable[[str], int],
) -> list[int]:
    """
    Say how many tokens each message takes.

    Args:
        parts: Messages as they were rendered.
        sizes: The tokens of each part.
        messages: The messages.
        version: The template.
        count: Counts a text.

    Returns:
        The tokens of each: its own, and of what only it brings with it. Where several share a stretch, the longest one
        has what the others leave.
    """
    shares = [0] * len(messages)
    for stretch in _stretches(parts, sizes, messages, version):
        total = stretch.tokens
        if len(stretch.owners) == 1 and not stretch.is_head:
            shares[stretch.owners[0]] += total
        elif stretch.owners:
            _divide(stretch, total, messages, count, shares)
    return shares


def _divide(
    stretch: _Stretch,
    total: int,
    messages: Sequence[Mapping[str, Any]],
    count: Callable[[str], int],
    shares: list[int],
) -> None:
    own = {index: "\n\n".join(message_texts(messages[index])) for index in stretch.owners}
    longest = max(own, key=lambda index: len(own[index]))
    others = {index: count(text) for index, text in own.items() if index != longest}
    text = "".join(stretch.texts)
    rest = text.replace(own[longest], "", 1)
    if stretch.is_head and len(rest) > len(own[longest]):
        tokens = count(own[longest])
    elif stretch.is_head:
        # What is beside it is shorter, and counted sooner.
        tokens = total - stretch.specials - count(rest)
    else:
        tokens = total - sum(others.values())
    for index, share in {**others, longest: max(0, tokens)}.items():
        shares[index] += share


def _stretches(
    parts: Sequence[Part], sizes: Sequence[int], messages: Sequence[Mapping[str, Any]], version: Version
) -> Iterator[_Stretch]:
    owners = {role: iter(groups) for role, groups in _groups(messages, version).items()}
    stretch, before = _Stretch(), ""
    for part, size in zip(parts, sizes, strict=True):
        if part.tokens is None:
            stretch.texts.append(part.text)
            stretch.tokens += size
        elif part.text in _SIGNS:
            yield stretch
            # What follows the very beginning is the head: in V4 at once, in V4.1 behind a sign of its own.
            is_head = part.text == _BEGIN if version == "v4" else (before, part.text) == (_BEGIN, "<｜System｜>")
            role = "head" if is_head else _SIGNS[part.text]
            stretch = _Stretch(next(owners[role], ()), is_head) if role else _Stretch()
        elif part.text not in _TEMPLATE:
            stretch.tokens += size
            stretch.specials += size
        before = part.text
    yield stretch


def _groups(messages: Sequence[Mapping[str, Any]], version: Version) -> dict[str, list[tuple[int, ...]]]:
    """Gather the messages that stand together, by the sign that they stand behind."""
    groups: dict[str, list[tuple[int, ...]]] = {role: [] for role in _SIGNS.values()}
    systems = tuple(index for index, message in enumerate(messages) if message.get("role") == "system")
    head = systems if version == "v4" else systems[: 1 if systems[:1] == (0,) else 0]
    groups["head"] = [head]
    before = ""
    for index, message in enumerate(messages):
        role = str(message.get("role"))
        if index in head:
            continue
        sign = role if role in groups else "user"
        if sign == "user" and before == "user":
            groups["user"][-1] += (index,)
        else:
            groups[sign].append((index,))
        before = sign
    return groups
