"""openai's resources, whose calls other instrumentations leave out where this library tells of them."""

from __future__ import annotations

import functools
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openai import OpenAI
from openai.resources.beta import AsyncBeta, Beta
from openai.resources.chat import AsyncChat, Chat
from openai.resources.chat.completions import AsyncCompletions as AsyncChatCompletions
from openai.resources.chat.completions import Completions as ChatCompletions
from openai.resources.completions import AsyncCompletions, Completions

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["resource"]


def _quietly(kind: type, name: str, *, is_async: bool) -> Any:
    """Override a method: the one of openai's class is looked up for each call, since others change it at any time."""

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


class _QuietChatCompletions(ChatCompletions):
    create = _quietly(ChatCompletions, "create", is_async=False)
    parse = _quietly(ChatCompletions, "parse", is_async=False)


class _AsyncQuietChatCompletions(AsyncChatCompletions):
    create = _quietly(AsyncChatCompletions, "create", is_async=True)
    parse = _quietly(AsyncChatCompletions, "parse", is_async=True)


class _QuietCompletions(Completions):
    create = _quietly(Completions, "create", is_async=False)


class _AsyncQuietCompletions(AsyncCompletions):
    create = _quietly(AsyncCompletions, "create", is_async=True)


class _QuietChat(Chat):
    @cached_property
    def completions(self) -> ChatCompletions:
        return _QuietChatCompletions(self._client)


class _AsyncQuietChat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncChatCompletions:
        return _AsyncQuietChatCompletions(self._client)


class _QuietBeta(Beta):
    @cached_property
    def chat(self) -> Chat:
        return _QuietChat(self._client)


class _AsyncQuietBeta(AsyncBeta):
    @cached_property
    def chat(self) -> AsyncChat:
        return _AsyncQuietChat(self._client)


_RESOURCES = {
    "beta": (_QuietBeta, _AsyncQuietBeta),
    "chat": (_QuietChat, _AsyncQuietChat),
    "completions": (_QuietCompletions, _AsyncQuietCompletions),
}


def resource(name: str, client: Any) -> Any:
    """
    Make a resource of a client.

    Args:
        name: "chat", "completions" or "beta".
        client: The client, of either colour.

    Returns:
        A resource of openai's class, or rather of a class made of it.
    """
    sync, asynchronous = _RESOURCES[name]
    return (sync if isinstance(client, OpenAI) else asynchronous)(client)
