"""Tool messages: one for each call, directly after the message that made it, and no others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.calls import ids_of
from deepseek_sdk.dialect.contents import NO_OUTPUT
from deepseek_sdk.dialect.finding import Finding, listed
from deepseek_sdk.errors import ToolOrderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Message, Request

__all__ = ["tool_order"]


@dataclass(slots=True)
class _Matched:
    """
    Which result belongs to which message.

    Attributes:
        results: The indices of the results of each message that made calls, in the order of their arrival.
        missing: The ids, and their place among the calls, that have none.
        orphans: The indices of results that belong to no call.
        late: The indices of results that do not follow their message.
    """

    results: dict[int, list[int]] = field(default_factory=dict)
    missing: dict[int, dict[str, int]] = field(default_factory=dict)
    orphans: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)


def tool_order(request: Request) -> Finding | None:
    """Find calls without a result, results without a call, and results that do not follow their call."""
    matched = _match(request.messages)
    dangling = [f"messages[{i}].tool_calls[{at}]" for i, ids in matched.missing.items() for at in ids.values()]
    orphans = [f"messages[{index}]" for index in matched.orphans]
    late = [f"messages[{index}]" for index in matched.late]
    says = (("has no tool message", dangling), ("answers no call", orphans), ("does not follow its call", late))
    places = (*dangling, *orphans, *late)
    if not places:
        return None
    dropped = "; what answers no call is left out" if orphans else ""
    return Finding(
        code="tool_order",
        places=places,
        message=", ".join(f"{listed(found)} {what}" for what, found in says if found),
        fix=f"every call is followed by its results, {NO_OUTPUT!r} where there is none{dropped}",
        # A conversation of results alone has nothing to answer.
        repair=_ordered if len(orphans) < len(request.messages) else None,
        kind=ToolOrderError,
        facts={"index": min([*matched.missing, *matched.orphans, *matched.late])},
    )


def _match(messages: Sequence[Any]) -> _Matched:
    matched = _Matched()
    waiting: dict[str, list[int]] = {}
    last = -1
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "tool":
            _place(matched, waiting, message.get("tool_call_id"), index, last)
            continue
        last = index
        if role == "assistant" and (ids := ids_of(message)):
            matched.results[index] = []
            matched.missing[index] = {own: at for at, own in enumerate(ids)}
            for own in ids:
                waiting.setdefault(own, []).append(index)
    _place_early(matched, waiting, messages)
    matched.missing = {index: ids for index, ids in matched.missing.items() if ids}
    return matched


def _place(matched: _Matched, waiting: dict[str, list[int]], own: Any, index: int, last: int) -> None:
    # The same id may come again in a later turn: the nearest call before it is meant.
    callers = waiting.get(own) if isinstance(own, str) else None
    if not callers:
        matched.orphans.append(index)
        return
    caller = callers.pop()
    matched.results[caller].append(index)
    # Calls that share an id stand there once, where another one among them cannot be read.
    matched.missing[caller].pop(own, None)
    if caller != last:
        matched.late.append(index)


def _place_early(matched: _Matched, waiting: dict[str, list[int]], messages: Sequence[Any]) -> None:
    """Give results that came before their call to it, where it has none."""
    early = [index for index in matched.orphans if waiting.get(messages[index].get("tool_call_id"))]
    for index in early:
        matched.orphans.remove(index)
        _place(matched, waiting, messages[index]["tool_call_id"], index, -1)


def _ordered(body: Body) -> Body:
    messages: Sequence[Any] = body["messages"]
    return {**body, "messages": [*_in_order(messages, _match(messages))]}


def _in_order(messages: Sequence[Any], matched: _Matched) -> Iterator[Message]:
    for index, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "tool":
            continue
        yield message
        for result in matched.results.get(index, ()):
            yield messages[result]
        for own in matched.missing.get(index, ()):
            yield {"role": "tool", "tool_call_id": own, "content": NO_OUTPUT}
