"""What a rendered prompt is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from deepseek_sdk.tokens.request import Prompt

__all__ = ["Part", "Renderer", "UnrenderableError"]


class Part(NamedTuple):
    """
    A stretch of a prompt.

    Attributes:
        text: Plain characters, or how a special token is spelt.
        tokens: How many tokens a special one stands for; None for plain characters, which have to be counted.
    """

    text: str
    tokens: int | None = None


class UnrenderableError(ValueError):
    """The service would refuse such a request."""


class Renderer(Protocol):
    """
    What turns a request into parts.

    Attributes:
        is_exact: Whether the service renders the same.
    """

    is_exact: bool

    def render(self, prompt: Prompt) -> tuple[Part, ...]:
        """
        Render a request.

        Args:
            prompt: What of it counts.

        Returns:
            The parts, in order; two texts never follow each other.

        Raises:
            UnrenderableError: The service would refuse it.
        """
