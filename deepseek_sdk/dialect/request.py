"""`Request`: a body as the rules look at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from deepseek_sdk.routing.models import ALIASES

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Body, Finding

__all__ = ["Images", "Message", "MissingReasoning", "Policy", "Request", "Rule", "with_messages"]

MissingReasoning = Literal["error", "disable_thinking", "placeholder"]
Images = Literal["error", "placeholder"]
Message: TypeAlias = dict[str, Any]

_TEXT_ONLY = frozenset({"deepseek-v4-pro"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What is done where more than one repair is possible.

    Attributes:
        on_missing_reasoning: What to do about a history that lacks the reasoning it must bring back.
        images: What to do about images where the model reads none.
        keeps_names: Models keep their names: the server is not DeepSeek's, and may well serve a retired one.
    """

    on_missing_reasoning: MissingReasoning = "disable_thinking"
    images: Images = "error"
    keeps_names: bool = False


class Request:
    """
    A body as the rules look at it.

    Args:
        body: The JSON body; nothing changes it.
        policy: What holds where more than one repair is possible.

    Attributes:
        body: It.
        policy: It.
        messages: Its messages, or none where it has no list of them.
    """

    __slots__ = ("body", "messages", "policy")

    def __init__(self, body: Body, policy: Policy) -> None:
        self.body = body
        self.policy = policy
        messages = body.get("messages")
        self.messages: Sequence[Any] = messages if isinstance(messages, (list, tuple)) else ()

    def of(self, *roles: str) -> Iterator[tuple[int, Message]]:
        """Walk the messages of some *roles*, or all of them, with their indices."""
        for index, message in enumerate(self.messages):
            if isinstance(message, dict) and (not roles or message.get("role") in roles):
                yield index, message

    @property
    def tools(self) -> Sequence[Any]:
        """Its tools, or none."""
        tools = self.body.get("tools")
        return tools if isinstance(tools, (list, tuple)) else ()

    @property
    def is_thinking(self) -> bool:
        """Whether the model thinks: it does by default."""
        if "thinking" not in self.body:
            return self.body.get("reasoning_effort") != "none"
        thinking = self.body["thinking"]
        return not (isinstance(thinking, dict) and thinking.get("type") == "disabled")

    @property
    def has_chosen_thinking(self) -> bool:
        """Whether the caller asked for thinking, and not only did not switch it off."""
        thinking = self.body.get("thinking")
        return isinstance(thinking, dict) and thinking.get("type") in ("enabled", "adaptive")

    @property
    def needs_reasoning(self) -> bool:
        """Whether every answer of the history must bring its reasoning back."""
        # "For requests carrying the `tools` parameter, the `reasoning_content` must be fully passed back" (its guide).
        return bool(self.body.get("tools")) and self.is_thinking

    def with_reasoning(self) -> Iterator[tuple[int, Message]]:
        """Walk the answers that must bring their reasoning back, with their indices."""
        if not self.is_thinking:
            return
        # Without tools the service looks at calls since the last question, and drops all other reasoning.
        last = -1 if self.body.get("tools") else max((index for index, _ in self.of("user")), default=-1)
        for index, message in self.of("assistant"):
            if index > last and (self.body.get("tools") or message.get("tool_calls")):
                yield index, message

    @property
    def is_text_only(self) -> bool:
        """Whether the model reads no images."""
        model = self.body.get("model")
        return isinstance(model, str) and ALIASES.get(model, model) in _TEXT_ONLY


Rule: TypeAlias = Callable[[Request], "Finding | None"]


def with_messages(body: Body, changed: Mapping[int, Message]) -> Body:
    """
    Put other messages in the place of some.

    Args:
        body: It.
        changed: The new messages by their indices.

    Returns:
        A copy; the other messages are the same objects, so that a cached prefix stays one.
    """
    messages = [changed.get(index, message) for index, message in enumerate(body["messages"])]
    return {**body, "messages": messages}
