"""
From a request to the text that the model reads, cut at its special tokens.

`deepseek-recipe`, the service's own encoder, renders where it is installed; elsewhere `own_rendering` does what is
essential.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens.own_rendering import OwnRenderer
from deepseek_sdk.tokens.parts import Part, UnrenderableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.tokens.parts import Renderer
    from deepseek_sdk.tokens.request import Prompt, Version

__all__ = ["RecipeRenderer", "choose_renderer", "parts_of"]

_NAMES: dict[Version, str] = {"v41": "deepseek-flash", "v4": "deepseek-v4-pro"}


class RecipeRenderer:
    """Renders with `deepseek-recipe`: its V4 encoder for pro, V4.1 for flash."""

    is_exact = True

    def __init__(self) -> None:
        import deepseek_recipe as recipe  # noqa: PLC0415  an optional package

        versions = (recipe.ModelVersion.DeepseekV41Flash, recipe.ModelVersion.DeepseekV4Pro)
        self._options = recipe.ConversionOptions().with_model_versions_by_name(
            dict(zip(_NAMES.values(), versions, strict=True))
        )
        self._request = recipe.ChatCompletionRequest
        # What no number of its own holds, and what is nested too deep for it, come as errors of Python's.
        self._refusals = (recipe.ConversionError, ValueError, TypeError, OverflowError, RecursionError)
        self._encodings: dict[Version, Any] = {"v41": recipe.DeepseekV41Encoding(), "v4": recipe.DeepseekV4Encoding()}

    def render(self, prompt: Prompt) -> tuple[Part, ...]:
        """Render a request; see `Renderer`."""
        try:
            converted = self._request(_body_of(prompt)).convert(self._options)
        except self._refusals as error:
            raise UnrenderableError(str(error)) from error
        return tuple(parts_of(self._encodings[prompt.version].render_conversation(converted.conversation)))


def parts_of(rendered: Any) -> Iterator[Part]:
    """
    Cut a rendered prompt at its special tokens.

    Args:
        rendered: A `RenderedPrompt` of `deepseek-recipe`.

    Yields:
        The parts.
    """
    # Text between special tokens is counted piece by piece: encoding the whole string at once gives other numbers.
    text, position = rendered.prompt, 0
    for start, end in rendered.special_ranges:
        if start > position:
            yield Part(text[position:start])
        yield Part(text[start:end], 1)
        position = end
    if position < len(text):
        yield Part(text[position:])


@functools.cache
def choose_renderer() -> Renderer:
    """
    Pick the best renderer that is installed.

    Returns:
        DeepSeek's own, or the essential one.
    """
    if importlib.util.find_spec("deepseek_recipe"):
        return RecipeRenderer()

    return OwnRenderer()


def _body_of(prompt: Prompt) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": _NAMES[prompt.version],
        "messages": list(prompt.messages),
        "thinking": {"type": "enabled" if prompt.is_thinking else "disabled"},
    }
    given = {
        "tools": list(prompt.tools),
        "tool_choice": prompt.tool_choice,
        "reasoning_effort": prompt.effort,
        "response_format": prompt.response_format,
    }
    return {**body, **{name: value for name, value in given.items() if value}}
