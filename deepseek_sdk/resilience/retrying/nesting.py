"""Who owns the retries, where a client is used to answer a call of another client."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextvars import Token

__all__ = ["Owner", "is_owned"]


class Owner:
    """
    Marks what is done inside a `with` block as one attempt of somebody who repeats it where it fails.

    The mark goes along into threads and tasks that take over the context, and ends with the block for all of them: what
    they do afterwards is theirs. One owner is for one block at a time.
    """

    __slots__ = ("_token", "is_asking")

    is_asking: bool
    _token: Token[Owner | None]

    def __enter__(self) -> None:
        self.is_asking = True
        self._token = _OWNER.set(self)

    def __exit__(self, *_: object) -> None:
        self.is_asking = False
        try:  # noqa: SIM105  suppress() costs every call something
            _OWNER.reset(self._token)
        except ValueError:
            # A coroutine that nobody awaits any more is closed wherever the garbage collector runs.
            pass


_OWNER: ContextVar[Owner | None] = ContextVar("deepseek_sdk.retry_owner", default=None)


def is_owned() -> bool:
    """
    Tell whether somebody further out repeats what is done here.

    Returns:
        True inside an attempt, in the thread or task that makes it and in those that it has started.
    """
    owner = _OWNER.get()
    return owner is not None and owner.is_asking
