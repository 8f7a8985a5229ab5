"""The stages a call passes, in THE order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.stages.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk._pipeline import Stage

__all__ = ["Retry", "default_stages"]


def default_stages() -> Sequence[Stage]:
    """
    Make the chain.

    Returns:
        The stages, outermost first; the backend answers at the end.
    """
    return (Retry(),)
