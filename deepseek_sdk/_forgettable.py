"""openai's streams without the cycle that would keep a forgotten one open until the next garbage collection."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["forgettable"]


def forgettable(answer: Any) -> Any:
    """
    Let a stream end as soon as nobody holds it any more.

    openai's stream holds its iterator, which holds the stream: the connection, and the place in a limiter, of one that
    a program broke off would be free only after the next garbage collection.

    Args:
        answer: A stream that was not read yet, or anything else, which is left as it is.

    Returns:
        *answer*; its iterator runs on a copy.
    """
    if "_iterator" in getattr(answer, "__dict__", ()):
        # A private attribute, under a contract test.
        reader = copy.copy(answer)
        del reader._iterator  # noqa: SLF001
        answer._iterator = reader.__stream__()  # noqa: SLF001
    return answer
