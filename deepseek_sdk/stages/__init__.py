"""The stages a call passes, in THE order, and what a stage of your own is written with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._call import Call
from deepseek_sdk._io import IO
from deepseek_sdk._pipeline import Proceed, Stage
from deepseek_sdk._reply import Ending, Reply
from deepseek_sdk._sse import Event
from deepseek_sdk.stages.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IO", "Call", "Ending", "Event", "Proceed", "Reply", "Retry", "Stage", "default_stages"]


def default_stages() -> Sequence[Stage]:
    """
    Make the chain.

    Returns:
        The stages, outermost first; the backend answers at the end.
    """
    return (Retry(),)
