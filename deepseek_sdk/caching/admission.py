"""Which answers are kept: those that are complete, said what they had to say, and came from where they should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Finding", "Limits", "finding_of", "refusal"]

_COMPLETE = ("stop", "tool_calls", "function_call")
# DeepSeek's reference: the default of temperature is 1.
_TEMPERATURE = 1.0
_SAID = ("content", "text", "refusal", "tool_calls", "function_call", "audio")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    What is known of an answer that may be kept.

    Attributes:
        finish_reasons: How each choice ended; None for one that did not.
        size: How many bytes it takes.
        temperature: What it was asked for with, or 1.0, the server's default.
        is_empty: A choice says nothing and calls nothing: reasoning alone is no answer.
        is_degraded: It came from a last resort, or from another than was asked for.
        is_cut_prompt: Its prompt was cut or compressed to fit.
    """

    finish_reasons: tuple[str | None, ...]
    size: int
    temperature: float = _TEMPERATURE
    is_empty: bool = False
    is_degraded: bool = False
    is_cut_prompt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    What is too much.

    Attributes:
        max_entry_bytes: What an answer may take.
        max_temperature: The highest temperature at which answers are kept, or None: any.
    """

    max_entry_bytes: int = 1024 * 1024
    max_temperature: float | None = None

    def __post_init__(self) -> None:
        if type(self.max_entry_bytes) is not int or self.max_entry_bytes < 1:
            message = f"max_entry_bytes must be a whole number of at least 1, not {self.max_entry_bytes!r}"
            raise ConfigurationError(message)
        if self.max_temperature is not None and not (_is_number(self.max_temperature) and self.max_temperature >= 0):
            message = f"max_temperature must be None or a number of at least 0, not {self.max_temperature!r}"
            raise ConfigurationError(message)

    def is_too_warm(self, body: Mapping[str, Any]) -> bool:
        """
        Tell a request whose answer is not kept, and so not looked for.

        Args:
            body: The request.

        Returns:
            Whether its temperature is too high.
        """
        return self.max_temperature is not None and _temperature(body) > self.max_temperature


def finding_of(answer: Mapping[str, Any], body: Mapping[str, Any], *, size: int, **known: bool) -> Finding:
    """
    Look at an answer.

    Args:
        answer: It, decoded, as a plain call gets it.
        body: The request.
        size: How many bytes the answer takes.
        **known: What else is known of it: the flags of `Finding`, but for *is_empty*.

    Returns:
        What decides whether it is kept.
    """
    choices = answer.get("choices")
    found = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    wanted = body.get("n") if type(body.get("n")) is int else 1
    reasons = [choice.get("finish_reason") or None for choice in found]
    missing = [None] * (int(wanted or 1) - len(found))
    return Finding(
        finish_reasons=(*reasons, *missing),
        size=size,
        temperature=_temperature(body),
        is_empty=not all(map(_says, found)),
        **known,
    )


def refusal(finding: Finding, limits: Limits = Limits()) -> str | None:
    """
    Say why an answer is not kept.

    Args:
        finding: What is known of it.
        limits: What is too much.

    Returns:
        One word, or None where it is kept: "incomplete", "length", "content_filter", "finish_reason", "empty",
        "degraded", "cut_prompt", "temperature", "too_large".
    """
    if not finding.finish_reasons or None in finding.finish_reasons:
        return "incomplete"
    wrong = [reason for reason in finding.finish_reasons if reason not in _COMPLETE]
    if wrong:
        return wrong[0] if wrong[0] in ("length", "content_filter") else "finish_reason"
    return next((word for word, holds in _reasons(finding, limits) if holds), None)


def _reasons(finding: Finding, limits: Limits) -> list[tuple[str, bool]]:
    is_too_warm = limits.max_temperature is not None and finding.temperature > limits.max_temperature
    return [
        ("empty", finding.is_empty),
        ("degraded", finding.is_degraded),
        ("cut_prompt", finding.is_cut_prompt),
        ("temperature", is_too_warm),
        ("too_large", finding.size > limits.max_entry_bytes),
    ]


def _temperature(body: Mapping[str, Any]) -> float:
    temperature = body.get("temperature")
    return temperature if _is_number(temperature) else _TEMPERATURE


def _says(choice: dict[str, Any]) -> bool:
    message = choice.get("message", choice)
    return isinstance(message, dict) and any(message.get(name) for name in _SAID)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
