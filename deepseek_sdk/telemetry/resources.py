"""What lets other instrumentations of openai leave a call out: they sit above the seam, on openai's resources."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai.resources.beta import AsyncBeta, Beta
    from openai.resources.chat import AsyncChat, Chat
    from openai.resources.completions import AsyncCompletions, Completions

    from deepseek_sdk.telemetry.listening import Listening

__all__ = ["AsyncQuiet", "Quiet"]


class _Quiet:
    @property
    def _listening(self) -> Listening | None:
        """Who listens, by the client's word, or None: then its resources are openai's own."""
        raise NotImplementedError

    def _quiet(self, name: str) -> Any:
        if self._listening is None:
            # Not super(): a cached property of openai's would need a place in this class.
            return _made(vars(_owner(type(self), name))[name], self)
        from deepseek_sdk.telemetry import quiet  # noqa: PLC0415  openai's own resources are imported as late

        return quiet.resource(name, self)


def _owner(kind: type, name: str) -> type:
    """Find the class below this library's own that has a property; one above it may be who asks."""
    kinds = kind.__mro__
    ours = next(place for place, base in enumerate(kinds) if base in (Quiet, AsyncQuiet))
    return next(base for base in kinds[ours + 1 :] if name in vars(base))


def _made(found: Any, client: object) -> Any:
    # Others put properties of their own in the place of openai's.
    return found.func(client) if isinstance(found, cached_property) else found.__get__(client, type(client))


class Quiet(_Quiet):
    """A base of the sync client: resources whose calls others leave out where this library tells of them."""

    @cached_property
    def chat(self) -> Chat:
        """The chat resource of openai."""
        return self._quiet("chat")  # type: ignore[no-any-return]

    @cached_property
    def completions(self) -> Completions:
        """The completions resource of openai."""
        return self._quiet("completions")  # type: ignore[no-any-return]

    @cached_property
    def beta(self) -> Beta:
        """The beta resource of openai."""
        return self._quiet("beta")  # type: ignore[no-any-return]


class AsyncQuiet(_Quiet):
    """The same for the async client."""

    @cached_property
    def chat(self) -> AsyncChat:
        """The chat resource of openai."""
        return self._quiet("chat")  # type: ignore[no-any-return]

    @cached_property
    def completions(self) -> AsyncCompletions:
        """The completions resource of openai."""
        return self._quiet("completions")  # type: ignore[no-any-return]

    @cached_property
    def beta(self) -> AsyncBeta:
        """The beta resource of openai."""
        return self._quiet("beta")  # type: ignore[no-any-return]
