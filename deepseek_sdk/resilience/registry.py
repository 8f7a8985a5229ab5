"""`Registry`: one of something per account, made when it is first asked for, and not kept for ever."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from deepseek_sdk._process import PerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deepseek_sdk.resilience.account import Account

__all__ = ["Registry"]

# A service that takes models or keys from its callers must not grow without bound.
_MOST = 1024


class Kept(Protocol):
    """What a registry holds."""

    @property
    def is_idle(self) -> bool:
        """Whether a new one would be no different."""
        ...


K = TypeVar("K", bound=Kept)


class _Map(dict["Account", K]):
    """
    What one process keeps: idle ones are dropped when there are twice as many as were not idle the last time.

    To look each time would take longer than all calls together while many accounts are new at once.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = self._tidy_at = most

    def tidy(self) -> None:
        if len(self) < self._tidy_at:
            return
        for account, value in list(self.items()):
            if value.is_idle:
                self.pop(account, None)
        self._tidy_at = max(self._most, 2 * len(self))


class Registry(Generic[K]):
    """
    A map that fills itself.

    Each process has its own: locks and counts of a parent mean nothing in its child.

    Args:
        make: Makes one for an account.
        most: How many are kept at least; above that, idle ones are dropped now and then.
    """

    def __init__(self, make: Callable[[Account], K], most: int = _MOST) -> None:
        self._make = make
        self._maps: PerProcess[_Map[K]] = PerProcess(partial(_Map, most))

    def __getitem__(self, account: Account) -> K:
        kept = self._maps.get()
        found = kept.get(account)
        return self._add(kept, account) if found is None else found

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._maps.get().values()))

    def __len__(self) -> int:
        return len(self._maps.get())

    def _add(self, kept: _Map[K], account: Account) -> K:
        kept.tidy()
        # setdefault() is atomic: of two that are made at once, all get the first.
        return kept.setdefault(account, self._make(account))
