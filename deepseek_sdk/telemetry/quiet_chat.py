"""openai's resource for chats, and how others are made like it."""

from __future__ import annotations

import functools
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openai.resources.chat import AsyncChat, Chat
from openai.resources.chat.completions import AsyncCompletions, Completions

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["AsyncQuietChat", "QuietChat", "quietly"]


def quietly(kind: type, name: str, *, is_async: bool) -> Any:
    """
    Override a method: the one of openai's class is looked up for each call, since others change it at any time.

    Args:
        kind: The class of openai's.
        name: The method.
        is_async: It is one of the async client.

    Returns:
        The method for a class made of *kind*.
    """

    @functools.wraps(vars(kind)[name])
    def called(self: Any, *args: Any, **options: Any) -> Any:
        method = vars(kind)[name].__get__(self, kind)
        context = _context(self)
        if context is None:
            return method(*args, **options)
        if is_async:
            return _awaited(method(*args, **options), context)
        with context:
            return method(*args, **options)

    return called


async def _awaited(answer: Awaitable[Any], context: Any) -> Any:
    with context:
        return await answer


def _context(of: Any) -> Any:
    listening = of._client._listening  # noqa: SLF001  the resource's own client
    if listening is None or listening.emitter() is None:
        return None
    from deepseek_sdk.telemetry.suppression import Attached, suppressing  # noqa: PLC0415  only where somebody listens

    return Attached(suppressing())


class _QuietCompletions(Completions):
    create = quietly(Completions, "create", is_async=False)
    parse = quietly(Completions, "parse", is_async=False)


class _AsyncQuietCompletions(AsyncCompletions):
    create = quietly(AsyncCompletions, "create", is_async=True)
    parse = quietly(AsyncCompletions, "parse", is_async=True)


class QuietChat(Chat):
    """The chat resource of the sync client."""

    @cached_property
    def completions(self) -> Completions:
        """What answers chats."""
        return _QuietCompletions(self._client)


class AsyncQuietChat(AsyncChat):
    """The chat resource of the async client."""

    @cached_property
    def completions(self) -> AsyncCompletions:
        """What answers chats."""
        return _AsyncQuietCompletions(self._client)
