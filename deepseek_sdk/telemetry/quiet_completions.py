"""openai's resources for completions, made of its own."""

from __future__ import annotations

from openai.resources.completions import AsyncCompletions, Completions

from deepseek_sdk.telemetry.quiet_chat import quietly

__all__ = ["AsyncQuietCompletions", "QuietCompletions"]


class QuietCompletions(Completions):
    """The completions of the sync client."""

    create = quietly(Completions, "create", is_async=False)


class AsyncQuietCompletions(AsyncCompletions):
    """The completions of the async client."""

    create = quietly(AsyncCompletions, "create", is_async=True)
