"""What is assumed of the length of answers while there are too few to go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from deepseek_sdk.tokens.lengths.quantities import LengthEstimate, Quantiles

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ASSUMED", "assumed"]

_Parts: TypeAlias = "tuple[Quantiles, Quantiles, Quantiles]"

_NONE = Quantiles(0, 0, 0)
_CONTENT = Quantiles(256, 1024, 2048)
_DEFAULT: Literal["high"] = "high"


def _thinking(p50: int, p90: int, p95: int) -> _Parts:
    total = Quantiles(p50 + _CONTENT.p50, p90 + _CONTENT.p90, p95 + _CONTENT.p95)
    return Quantiles(p50, p90, p95), _CONTENT, total


# Reasoning, content, total. Assumptions, on the long side, far below the service's own limits: 8,192 tokens without
# thinking, 65,536 with it (API docs). Thirty answers replace them.
ASSUMED: Mapping[str, _Parts] = {
    "fim": (_NONE, Quantiles(64, 256, 512), Quantiles(64, 256, 512)),
    "off": (_NONE, _CONTENT, _CONTENT),
    "low": _thinking(256, 2048, 4096),
    "high": _thinking(512, 4096, 8192),
    "max": _thinking(2048, 16_384, 32_768),
}


def assumed(mode: str) -> LengthEstimate:
    """
    Tell what is assumed.

    Args:
        mode: How much the model may think; an unknown mode counts as "high", the service's default.

    Returns:
        The estimate, of no samples.
    """
    reasoning, content, total = ASSUMED.get(mode, ASSUMED[_DEFAULT])
    return LengthEstimate(reasoning=reasoning, content=content, total=total, samples=0, source="prior")
