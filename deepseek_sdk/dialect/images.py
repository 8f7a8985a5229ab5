"""Images, which not every model reads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, listed
from deepseek_sdk.dialect.request import with_messages
from deepseek_sdk.errors import ImagesUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.dialect.finding import Body
    from deepseek_sdk.dialect.request import Request

__all__ = ["images"]

_KINDS = ("image_url", "file")
_LEFT_OUT = {"type": "text", "text": "[An image was left out: this model reads none.]"}


def images(request: Request) -> Finding | None:
    """Find images for a model that reads none; one in the history makes every later call fail."""
    places = [*_places(request)] if request.is_text_only else []
    if not places:
        return None
    named = tuple(f"messages[{index}].content[{at}]" for index, at in places)
    is_stripped = request.policy.images == "placeholder"
    return Finding(
        code="images",
        places=named,
        message=f"{listed(named)} is an image, and {request.body['model']} reads none",
        fix="a placeholder is sent" if is_stripped else "ask deepseek-flash, or leave the images out",
        repair=partial(_stripped, indices={index for index, _ in places}) if is_stripped else None,
        kind=ImagesUnsupportedError,
        facts={"index": places[0][0]},
    )


def _places(request: Request) -> Iterator[tuple[int, int]]:
    for index, message in request.of():
        content = message.get("content")
        for at, part in enumerate(content if isinstance(content, (list, tuple)) else ()):
            if _is_image(part):
                yield index, at


def _is_image(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in _KINDS


def _stripped(body: Body, *, indices: set[int]) -> Body:
    messages = {index: body["messages"][index] for index in indices}
    contents = {i: [_LEFT_OUT if _is_image(part) else part for part in m["content"]] for i, m in messages.items()}
    return with_messages(body, {index: {**messages[index], "content": parts} for index, parts in contents.items()})
