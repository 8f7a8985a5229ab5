"""`Request`: a body, seen as messages whether it has messages or a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.tokens.fitting.counts import Counted, Counts

__all__ = ["Request", "can_be_fitted"]


class _OfPrompt(NamedTuple):
    total: int
    by_message: Sequence[int]


def can_be_fitted(body: Mapping[str, Any]) -> bool:
    """
    Tell whether a request has something that can be fitted.

    Args:
        body: It.

    Returns:
        True for messages, and for a prompt that is one text.
    """
    messages = body.get("messages")
    if isinstance(messages, list):
        return all(isinstance(message, dict) for message in messages)
    return isinstance(body.get("prompt"), str)


class Request:
    """
    A request.

    Args:
        body: It.
        counter: Counts its tokens.
    """

    def __init__(self, body: Mapping[str, Any], counter: Counts) -> None:
        self.body = body
        self._counter = counter
        self._is_chat = "messages" in body
        given: Sequence[Any] = body["messages"] if self._is_chat else ()
        self.given = given
        self.messages: Sequence[Any] = given if self._is_chat else [{"role": "user", "content": body["prompt"]}]

    def with_messages(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """
        Make a request of other messages.

        Args:
            messages: They.

        Returns:
            Its body.
        """
        return {**self.body, **({"messages": messages} if self._is_chat else {"prompt": messages[0]["content"]})}

    def count(self, messages: Sequence[Any]) -> Counted:
        """
        Count the request with other messages.

        Args:
            messages: They.

        Returns:
            Its tokens.
        """
        counted = self._counter.count(self.with_messages(list(messages)))
        if self._is_chat:
            return counted
        return _OfPrompt(counted.total, [self._counter.count_text(messages[0]["content"])])
