"""When a kept answer ends, and what it is still good for afterwards."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepseek_sdk.caching.entry import Entry

__all__ = ["SKEW_MS", "Expiry", "State"]

State: TypeAlias = Literal["fresh", "stale", "error_only", "expired"]

_DAY_S = 24 * 3600.0
# How far the clocks of two machines may be apart. An answer from further ahead was kept by a clock that was wrong, and
# so is its end.
SKEW_MS = 5 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expiry:
    """
    How long answers are kept.

        Expiry(ttl_s=3600)                                  an hour
        Expiry(ttl_s=None)                                  until there is no room
        Expiry(by_tag={"news": 60, "team=search": 600})     what has such a tag: at most so long
        Expiry(by_model={"deepseek-v4-pro": 7200})          what was asked of, or answered by, a model: likewise
        Expiry(stale_while_revalidate_s=60)                 given for a minute more, while a new one is fetched
        Expiry(stale_if_error_s=3600)                       given for an hour more, where nobody answers

    Attributes:
        ttl_s: For how long, in seconds; None: for ever. The shortest of all that apply is taken.
        by_tag: The same for tags, each "key" or "key=value".
        by_model: The same for models.
        jitter: What share of that time it may be more or less, so that what came together does not end together.
        stale_while_revalidate_s: How many seconds after its end an answer is still given while a new one is fetched.
        stale_if_error_s: How many seconds after its end it is still given where a new one cannot be had.
    """

    ttl_s: float | None = _DAY_S
    by_tag: Mapping[str, float] = field(default_factory=dict)
    by_model: Mapping[str, float] = field(default_factory=dict)
    jitter: float = 0.1
    stale_while_revalidate_s: float = 0.0
    stale_if_error_s: float = 0.0

    def __post_init__(self) -> None:
        if self.ttl_s is not None:
            _check("ttl_s", self.ttl_s, is_positive=True)
        for name in ("by_tag", "by_model"):
            object.__setattr__(self, name, _checked_times(f"ttl_{name}", getattr(self, name)))
        for name in ("jitter", "stale_while_revalidate_s", "stale_if_error_s"):
            _check(name, getattr(self, name), is_positive=False)
        if self.jitter >= 1:
            message = f"jitter must be less than 1, not {self.jitter!r}"
            raise ConfigurationError(message)

    def expires_ms(
        self,
        *,
        key: str,
        asked: str,
        model: str,
        tags: Iterable[tuple[str, str]],
        created_ms: int,
        ttl_cap_s: float | None = None,
    ) -> int | None:
        """
        Say when an answer ends.

        Args:
            key: Its key: all processes stretch the time alike.
            asked: The model that was asked for.
            model: The model that answered.
            tags: The tags of the call.
            created_ms: When it was asked for, in milliseconds since 1970.
            ttl_cap_s: What the call allows, in seconds: it is never kept longer than that.

        Returns:
            The instant, likewise, or None: never.
        """
        times = [] if self.ttl_s is None else [self.ttl_s]
        times += [self.by_model[name] for name in {asked, model} if name in self.by_model]
        names = [name for tag, value in tags for name in (tag, f"{tag}={value}")]
        times += [self.by_tag[name] for name in names if name in self.by_tag]
        lifetimes = [min(times) * (1 + self.jitter * _share(key))] if times else []
        lifetimes += [] if ttl_cap_s is None else [ttl_cap_s]
        return created_ms + round(min(lifetimes) * 1000) if lifetimes else None

    def state(self, entry: Entry, now_ms: int, max_age_s: float | None = None) -> State:
        """
        Say what an answer is good for.

        Args:
            entry: It.
            now_ms: The time, in milliseconds since 1970.
            max_age_s: How old the caller lets it be, in seconds, whatever else holds.

        Returns:
            "fresh"; "stale": to be given while a new one is fetched; "error_only": to be given where that fails;
            "expired".
        """
        age_ms = now_ms - entry.created_ms
        if age_ms < -SKEW_MS or (max_age_s is not None and age_ms > max_age_s * 1000):
            return "expired"
        past_ms = -1 if entry.expires_ms is None else now_ms - entry.expires_ms
        if past_ms < 0:
            return "fresh"
        if past_ms < self.stale_while_revalidate_s * 1000:
            return "stale"
        return "error_only" if past_ms < self.stale_if_error_s * 1000 else "expired"

    def keep_until_ms(self, expires_ms: int | None) -> int | None:
        """
        Say until when an answer is of any use.

        Args:
            expires_ms: When it ends, in milliseconds since 1970, or None: never.

        Returns:
            The instant, likewise.
        """
        if expires_ms is None:
            return None
        return expires_ms + math.ceil(max(self.stale_while_revalidate_s, self.stale_if_error_s) * 1000)


def _share(key: str) -> float:
    """Give a number from -1 to 1 that is the same for the same key."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4]) / 0xFFFFFFFF * 2 - 1


def _checked_times(name: str, times: object) -> Mapping[str, float]:
    if not hasattr(times, "items") or not all(isinstance(key, str) for key in dict(times)):  # type: ignore[call-overload]
        message = f"{name} must be a mapping of strings to seconds, not {times!r}"
        raise ConfigurationError(message)
    copied: dict[str, float] = dict(times)  # type: ignore[call-overload]
    for key, value in copied.items():
        _check(f"{name}[{key!r}]", value, is_positive=True)
    return copied


def _check(name: str, value: object, *, is_positive: bool) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (is_positive and value == 0):  # type: ignore[operator]
        message = f"{name} must be a number {'above' if is_positive else 'of at least'} 0, not {value!r}"
        raise ConfigurationError(message)
