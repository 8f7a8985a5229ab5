"""`Question`: a call as the cache sees it: what it asks, whose it is, and what of the cache it may have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.identity import identified
from deepseek_sdk.caching.replay import wants_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from deepseek_sdk._cache import CacheControl
    from deepseek_sdk._call import Call
    from deepseek_sdk.caching.admission import Limits
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.identity import Tenants
    from deepseek_sdk.caching.similar import Wording

__all__ = ["UNASKED", "Question", "is_long", "questioned"]

# What is noted of a kept stream that told no usage, since nobody had asked for it.
UNASKED = ("usage", "unasked")

# Writing down and hashing a longer request takes so long that an event loop would notice; each part of it takes some
# time of its own.
_LONG, _EACH = 100_000, 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    What is asked, and what of the cache it may have.

    Attributes:
        key: The SHA-256 of the request.
        tenant: Whose it is.
        control: What it may have.
        is_judged: The answer of a plain call has to be as the request wants it; else a kept one is taken as it is.
        is_stream: The answer comes as a stream, which nobody judges.
        wants_usage: The answer tells its usage: that of a plain call does, that of a stream where it is asked for.
        wording: Its text as the semantic tier sees it, or None: there is no such tier.
    """

    key: str
    tenant: str
    control: CacheControl
    is_judged: bool
    is_stream: bool
    wants_usage: bool
    wording: Wording | None = None

    @property
    def may_wait(self) -> bool:
        """Whether another process that asks the same may be waited for."""
        return self.control.reads and self.control.writes

    def may_have(self, entry: Entry) -> bool:
        """
        Say whether a kept answer will do.

        Args:
            entry: It.

        Returns:
            Whether it will: one that nobody has judged is for who takes it as it is, one whose usage nobody asked for
            is for who wants none.
        """
        if self.wants_usage and entry.usage is None and UNASKED in entry.provenance:
            return False
        return self.is_stream or entry.is_judged or not self.is_judged

    def place(self, call: Call) -> Hashable:
        """
        Tell which calls may share one upstream call: they ask the same, of the same, and would be treated alike.

        Args:
            call: The call.

        Returns:
            Equal for such calls.
        """
        options = call.options
        targets = tuple(getattr(target, "account", None) or getattr(target, "name", "") for target in call.targets)
        alike = (
            str(options.lint),
            str(options.on_empty),
            repr(options.token_budget),
            self.control.writes,
            self.control.ttl_s,
        )
        return (self.key, targets, self.is_judged and not self.is_stream, alike)


def questioned(
    call: Call,
    tenants: Tenants,
    control: CacheControl,
    limits: Limits,
    similarly: Callable[[Call, str], Wording] | None = None,
) -> Question | None:
    """
    Look at a call as the cache does.

    Args:
        call: It.
        tenants: Tells whose calls are.
        control: What it may have.
        limits: What is not kept, and so not looked for.
        similarly: Looks at a call of a tenant as the semantic tier does; None: there is no such tier.

    Returns:
        The question, or None: the cache has nothing to do with it.
    """
    if limits.is_too_warm(call.body):
        return None
    identity = identified(call, tenants)
    if identity is None:
        return None
    is_judged = bool(call.body.get("response_format") or call.body.get("tools")) and call.options.lint != "off"
    return Question(
        key=identity.key,
        tenant=identity.tenant,
        control=control,
        is_judged=is_judged,
        is_stream=call.is_stream,
        wants_usage=not call.is_stream or wants_usage(call.body),
        wording=None if similarly is None else similarly(call, identity.tenant),
    )


def is_long(body: Mapping[str, Any]) -> bool:
    """
    Tell a request for which the event loop should not be held.

    Args:
        body: Its JSON body.

    Returns:
        True for a long one.
    """
    room, waiting = _LONG, [body]
    # Not to its end: that would take long, too.
    while waiting and room >= 0:
        part: Any = waiting.pop()
        room -= _EACH + (len(part) if isinstance(part, str) else 0)
        if isinstance(part, dict | list):
            waiting += part.values() if isinstance(part, dict) else part
    return room < 0
