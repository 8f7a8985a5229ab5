"""What was asked and answered, in the shape of the conventions; nothing leaves before it was redacted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deepseek_sdk._fold import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk._sse import Event

__all__ = ["Listener", "Texts", "input_messages", "output_messages", "tool_definitions"]

_WITHHELD = "[withheld: redaction failed]"


class Texts:
    """
    Makes of texts what may leave the process.

    Args:
        redact: Called with each text, whole; None: nothing is taken out.
        limit: How many characters are kept afterwards.
    """

    def __init__(self, redact: Callable[[str], str] | None, limit: int) -> None:
        self._redact = redact
        self._limit = limit

    def __call__(self, text: str) -> str:
        """Redact, then cut: half a secret at a cut would not be recognised."""
        try:
            given: Any = str(text) if self._redact is None else self._redact(text)
            if not isinstance(given, str):
                # A function that forgets to return says nothing about the text: "None" would look like an answer.
                return _WITHHELD
            # What may hold half a character cannot be sent.
            clean = given.encode("utf-8", "replace").decode()
        except Exception:  # noqa: BLE001  a function of the user's; without its word nothing may leave
            return _WITHHELD
        return clean if len(clean) <= self._limit else f"{clean[: self._limit]}… [{len(clean) - self._limit} more]"

    def inside(self, value: Any) -> Any:
        """
        Do so with every text in a value of JSON.

        Args:
            value: It; keys stay as they are, as does what is no text.

        Returns:
            A copy.
        """
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {str(name): self.inside(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.inside(item) for item in value]
        return value if isinstance(value, int | float | None) else self(str(value))


class Listener:
    """Gathers an answer as its events pass."""

    def __init__(self) -> None:
        self._gathered = Gathered()

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        try:
            self._gathered.take(event)
        except (AttributeError, TypeError, KeyError, IndexError, ValueError):
            # A chunk of another shape: the caller, or the reply, deals with it.
            return

    def forget(self) -> None:
        """Begin anew: another source has taken over."""
        self._gathered = Gathered()

    def answer(self) -> dict[str, Any]:
        """
        Put together what has come.

        Returns:
            An answer in the shape of a plain one, empty where there is none.
        """
        try:
            answer = json.loads(self._gathered.content() or b"{}")
        except ValueError:
            return {}
        return answer if isinstance(answer, dict) else {}


def input_messages(body: Mapping[str, Any], texts: Texts) -> list[dict[str, Any]]:
    """
    Tell what was asked.

    Args:
        body: The body of the request.
        texts: Makes of each text what may be told.

    Returns:
        Messages with their parts.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        prompt = body.get("prompt")
        return [{"role": "user", "parts": [_text(texts, prompt)]}] if isinstance(prompt, str) else []
    return [_message(message, texts) for message in messages if isinstance(message, dict)]


def output_messages(answer: Mapping[str, Any], texts: Texts, *, is_complete: bool) -> list[dict[str, Any]]:
    """
    Tell what was answered.

    Args:
        answer: The answer, as far as it came.
        texts: Makes of each text what may be told.
        is_complete: It came to its end.

    Returns:
        A message for each choice; the finish reason of one that never ended is "error".
    """
    told = []
    for choice in answer.get("choices") or ():
        said = choice.get("message") or {"role": "assistant", "content": choice.get("text")}
        reason = choice.get("finish_reason") if is_complete else None
        told.append({**_message(said, texts, "assistant"), "finish_reason": reason or "error"})
    return told


def tool_definitions(body: Mapping[str, Any], texts: Texts) -> list[dict[str, Any]]:
    """
    Tell which tools were offered.

    Args:
        body: The body of the request.
        texts: Makes of each text what may be told.

    Returns:
        Their definitions.
    """
    tools = [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
    return [
        {"type": tool.get("type", "function"), **texts.inside(function)}
        for tool in tools
        if isinstance(function := tool.get("function", tool), dict)
    ]


def _message(message: Mapping[str, Any], texts: Texts, role: str = "user") -> dict[str, Any]:
    role = str(message.get("role") or role)
    return {"role": role, "parts": _parts(message, texts, is_tool=role == "tool")}


def _parts(message: Mapping[str, Any], texts: Texts, *, is_tool: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    reasoning, content = message.get("reasoning_content"), message.get("content")
    if reasoning:
        parts.append({"type": "reasoning", "content": texts(str(reasoning))})
    if is_tool:
        parts.append({"type": "tool_call_response", "id": message.get("tool_call_id"), "result": texts.inside(content)})
    elif isinstance(content, list):
        parts += [_part(item, texts) for item in content if isinstance(item, dict)]
    elif content:
        parts.append(_text(texts, str(content)))
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    return [*parts, *(_call(call, texts) for call in calls)]


def _text(texts: Texts, content: str) -> dict[str, Any]:
    return {"type": "text", "content": texts(content)}


def _part(item: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    if item.get("type") == "text":
        return _text(texts, str(item.get("text", "")))
    if item.get("type") == "image_url":
        return _image(item.get("image_url"), texts)
    return {"type": str(item.get("type")), "content": texts.inside(dict(item))}


def _image(value: Any, texts: Texts) -> dict[str, Any]:
    url = value.get("url") if isinstance(value, dict) else value
    if isinstance(url, str) and url.startswith("data:"):
        # A picture is larger than everything else together, and a redactor of texts cannot look into it.
        return {"type": "blob", "modality": "image", "mime_type": url[5:].partition(";")[0]}
    return {"type": "uri", "modality": "image", "uri": texts(str(url))}


def _call(call: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = function.get("arguments")
    return {
        "type": "tool_call",
        "id": call.get("id"),
        "name": function.get("name"),
        "arguments": None if arguments is None else texts.inside(arguments),
    }
