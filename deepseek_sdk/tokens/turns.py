"""
A conversation cut into turns that are rendered one by one.

Rendering a whole conversation after every turn would cost more than counting it. A user's message that follows an
answer begins a stretch of the prompt that does not depend on what stands before: once rendered and counted, it stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.tokens.memo import key_of_message, key_of_value
from deepseek_sdk.tokens.request import Prompt

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from deepseek_sdk.tokens.parts import Part, Renderer

__all__ = ["Plan", "Stretch", "plan_of", "render_stretch"]

_ROLES = frozenset({"user", "assistant", "tool"})
# Says "json", without which the service refuses JSON mode.
_PROBE: Mapping[str, Any] = {"role": "user", "content": "json"}
_PROBE_PARTS = 4  # a user's sign, the text, the assistant's sign, and that of thinking or not
_EMPTY: Mapping[str, Any] = {"role": "user", "content": ""}
_EMPTY_PARTS = 3
_FIRST_SIGNS = frozenset({"<｜User｜>", "<｜Assistant｜>"})
# Where there are tools, thoughts are kept; which tools does not matter to a turn.
_ANY_TOOL = ({"type": "function", "function": {"name": "any"}},)


class Stretch(NamedTuple):
    """
    A part of a request that is rendered and counted by itself.

    Attributes:
        key: Equal for equal stretches of requests that render them alike.
        kind: "whole" for a request that is not cut; else "head", "turn", or "last" for the turn to be answered.
        first: The index of its first message.
        end: The index after its last.
    """

    key: Hashable
    kind: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Plan:
    """
    How a request is counted.

    Attributes:
        prompt: The request.
        stretches: Its parts, in order.
    """

    prompt: Prompt
    stretches: Sequence[Stretch]


def plan_of(prompt: Prompt, *, is_exact: bool) -> Plan:
    """
    Cut a request.

    Args:
        prompt: Any; one in which something reaches over turns, such as a system message in the middle, is one stretch.
        is_exact: Whether the renderer is.

    Returns:
        The plan.
    """
    messages = prompt.messages
    keys = [key_of_message(message) for message in messages]
    edges = _edges(prompt)
    first = edges[0] if edges else len(messages)
    kind = "head" if edges else "whole"
    head = Stretch((kind, is_exact, *_setting(prompt), *keys[:first]), kind, 0, first)
    # One text, whose hash is worked out once.
    setting = f"{prompt.version} {prompt.is_thinking} {prompt.keeps_reasoning} {is_exact} "
    return Plan(prompt, [head, *_turns(edges, keys, setting)])


def render_stretch(plan: Plan, stretch: Stretch, renderer: Renderer) -> Sequence[Part]:
    """
    Render one stretch of a request.

    Args:
        plan: The request.
        stretch: One of its stretches.
        renderer: Renders.

    Returns:
        Its parts, as they stand in the rendering of the whole.

    Raises:
        UnrenderableError: The service would refuse it.
    """
    prompt = plan.prompt
    messages = prompt.messages[stretch.first : stretch.end]
    if stretch.kind == "whole":
        return renderer.render(prompt)
    if stretch.kind == "head":
        return renderer.render(replace(prompt, messages=(*messages, _PROBE)))[:-_PROBE_PARTS]
    plain = Prompt(
        version=prompt.version,
        tools=_ANY_TOOL if prompt.keeps_reasoning else (),
        is_thinking=prompt.is_thinking,
        effort="low",
    )
    if stretch.kind == "last":
        return _without_head(renderer.render(replace(plain, messages=messages)))
    return _without_head(renderer.render(replace(plain, messages=(*messages, _EMPTY)))[:-_EMPTY_PARTS])


def _without_head(parts: Sequence[Part]) -> Sequence[Part]:
    return parts[next(index for index, part in enumerate(parts) if part.tokens and part.text in _FIRST_SIGNS) :]


def _edges(prompt: Prompt) -> list[int]:
    """Give the indices at which turns begin, and that of the end; none where the conversation is not cut."""
    messages = prompt.messages
    roles = [message.get("role") for message in messages]
    start = 1 if roles[:1] == ["system"] else 0
    if start == len(roles) or prompt.forces_tool or not _ROLES.issuperset(roles[start:]):
        return []
    if prompt.tools and messages[-1].get("prefix"):
        # The service refuses these together: it has to be asked about the whole.
        return []
    borders = [
        index
        for index in range(start + 1, len(roles))
        if roles[index] == "user" and roles[index - 1] == "assistant" and not messages[index - 1].get("prefix")
    ]
    return [start, *borders, len(roles)]


def _setting(prompt: Prompt) -> tuple[Hashable, ...]:
    return (
        prompt.version,
        prompt.is_thinking,
        prompt.effort,
        key_of_value(prompt.tools),
        key_of_value(prompt.tool_choice),
        key_of_value(prompt.response_format),
    )


def _turns(edges: Sequence[int], keys: Sequence[Hashable], setting: str) -> Iterator[Stretch]:
    count = len(keys)
    for first, end in pairwise(edges):
        kind = "turn" if end < count else "last"
        yield Stretch((setting, kind, *keys[first:end]), kind, first, end)
