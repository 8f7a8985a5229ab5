"""What a call would send, made as openai makes it and sent to nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openai._models import FinalRequestOptions

__all__ = ["rehearsed", "unsent"]


class _Taker:
    """Stands in the place of a client, and takes what its resources would have sent."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.taken: tuple[FinalRequestOptions, bool] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def post(self, *args: Any, **options: Any) -> Any:
        post: Any = openai.OpenAI.post  # it needs nothing of a client but request()
        return post(self, *args, **options)

    def request(self, _: Any, options: FinalRequestOptions, *, stream: bool = False, **__: Any) -> None:
        self.taken = options, stream


def rehearsed(client: Any, fields: Mapping[str, Any]) -> tuple[FinalRequestOptions, bool]:
    """
    Make the request of a call.

    Args:
        client: The client, of either colour.
        fields: The arguments of `chat.completions.create()`; with *prompt* those of `completions.create()`. What
            `parse()` takes is good, too.

    Returns:
        The request, and whether its answer would come as a stream.

    Raises:
        ConfigurationError: There are both messages and a prompt, or neither.
    """
    is_chat = "messages" in fields
    if is_chat == ("prompt" in fields):
        raise ConfigurationError("a request has either messages or a prompt")
    taker: Any = _Taker(client)
    if is_chat:
        from openai.resources.chat import Completions as Chat  # noqa: PLC0415  imported as late as in openai

        Chat(taker).create(**{**fields, **_structured(fields)})
    else:
        from openai.resources.completions import Completions  # noqa: PLC0415  likewise

        Completions(taker).create(**fields)
    return taker.taken  # type: ignore[no-any-return]


def unsent(*_: Any, **__: Any) -> Any:
    """Refuse to send what is only looked at."""
    raise AssertionError("this request is not to be sent")


def _structured(fields: Mapping[str, Any]) -> dict[str, Any]:
    wanted = fields.get("response_format")
    if not isinstance(wanted, type):
        return {}
    from openai.lib._parsing._completions import type_to_response_format_param  # noqa: PLC0415  likewise

    return {"response_format": type_to_response_format_param(wanted)}
