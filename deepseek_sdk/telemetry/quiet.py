"""
openai's resources, whose calls other instrumentations leave out where this library tells of them.

`beta` takes seconds to import, and few need it: each resource is imported when it is first asked for, as in openai.
"""

from __future__ import annotations

from typing import Any

from openai import OpenAI

__all__ = ["resource"]


def _kinds(name: str) -> tuple[type, type]:
    if name == "beta":
        from deepseek_sdk.telemetry import quiet_beta  # noqa: PLC0415  it takes seconds

        return quiet_beta.QuietBeta, quiet_beta.AsyncQuietBeta
    if name == "completions":
        from deepseek_sdk.telemetry import quiet_completions  # noqa: PLC0415  only where it is asked for

        return quiet_completions.QuietCompletions, quiet_completions.AsyncQuietCompletions
    from deepseek_sdk.telemetry import quiet_chat  # noqa: PLC0415  likewise

    return quiet_chat.QuietChat, quiet_chat.AsyncQuietChat


def resource(name: str, client: Any) -> Any:
    """
    Make a resource of a client.

    Args:
        name: "chat", "completions" or "beta".
        client: The client, of either colour.

    Returns:
        A resource of openai's class, or rather of a class made of it.
    """
    sync, asynchronous = _kinds(name)
    return (sync if isinstance(client, OpenAI) else asynchronous)(client)
