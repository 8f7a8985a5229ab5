"""`Registry`: one of something per account, made when it is first asked for, and not kept for ever."""

from __future__ import annotations

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


class Registry(Generic[K]):
    """
    A map that fills itself.

    Each process has its own: locks and counts of a parent mean nothing in its child.

    Args:
        make: Makes one for an account.
        most: How many are kept at least; above that, idle ones are dropped when another is made.
    """

    def __init__(self, make: Callable[[Account], K], most: int = _MOST) -> None:
        self._make = make
        self._most = most
        self._maps: PerProcess[dict[Account, K]] = PerProcess(dict)

    def __getitem__(self, account: Account) -> K:
        kept = self._maps.get()
        found = kept.get(account)
        return self._add(kept, account) if found is None else found

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._maps.get().values()))

    def __len__(self) -> int:
        return len(self._maps.get())

    def _add(self, kept: dict[Account, K], account: Account) -> K:
        if len(kept) >= self._most:
            for old, value in list(kept.items()):
                if value.is_idle:
                    kept.pop(old, None)
        # setdefault() is atomic: of two that are made at once, all get the first.
        return kept.setdefault(account, self._make(account))
