"""openai's beta resources, made of its own; a module of its own, since openai's imports hundreds of others."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from openai.resources.beta import AsyncBeta, Beta

from deepseek_sdk.telemetry.quiet_chat import AsyncQuietChat, QuietChat

if TYPE_CHECKING:
    from openai.resources.chat import AsyncChat, Chat

__all__ = ["AsyncQuietBeta", "QuietBeta"]


class QuietBeta(Beta):
    """The beta resource of the sync client."""

    @cached_property
    def chat(self) -> Chat:
        """What answers chats."""
        return QuietChat(self._client)


class AsyncQuietBeta(AsyncBeta):
    """The beta resource of the async client."""

    @cached_property
    def chat(self) -> AsyncChat:
        """What answers chats."""
        return AsyncQuietChat(self._client)
