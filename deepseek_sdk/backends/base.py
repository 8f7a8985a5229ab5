"""`Backend`: what answers calls in the place of DeepSeek's endpoint, and how an installed one is found by its name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from deepseek_sdk._call import Call
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.resilience.account import Account
    from deepseek_sdk.routing.route import Route

__all__ = ["ENTRY_POINT_GROUP", "Backend", "InProcess", "load_backend"]

ENTRY_POINT_GROUP = "deepseek_sdk.backends"


class Backend(Protocol):
    """
    The end of the pipeline: any object that can be called like this.

    It may await nothing but methods of `call.io`: that is what lets the sync client run it without an event loop. One
    that computes chunks leaves the rest to `reply_from()`.
    """

    async def __call__(self, call: Call) -> Reply:
        """
        Answer a call.

        Args:
            call: What is asked. `call.body` is the JSON body, `call.path` "/chat/completions" or "/completions".

        Returns:
            The answer in flight.

        Raises:
            openai.APIError: It refuses, or cannot be reached; `errors.classify()` says what is retried.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """
    A backend as a target of calls.

    Attributes:
        backend: It.
        name: What reports call it, or "" where it has a name of its own.
        account: What breaker and limiter know it by, or None for a last resort.
        read_timeout: openai's timeout, in seconds; a backend has no wire to be silent on.
        is_last_resort: What it says is better than no answer, and no more.
        route: The route it was made of, or None for the client's own backend.
        context_window: How many tokens prompt and answer may have together, or None where nobody knows.
    """

    backend: Backend
    name: str
    account: Account | None
    read_timeout: float | None
    is_last_resort: bool = False
    route: Route | None = None
    context_window: int | None = None

    secret: ClassVar[str] = ""
    is_in_process: ClassVar[bool] = True

    async def answer(self, call: Call) -> Reply:
        """Let the backend answer."""
        return await self.backend(call)


def load_backend(backend: str | Backend, model: str | None = None) -> Backend:
    """
    Find a backend.

    Args:
        backend: One, or the name under which an installed package registers a class or function that makes one.
        model: What to give to that class or function: the path or the name of a model; None: nothing.

    Returns:
        The backend.

    Raises:
        ConfigurationError: There is none of that name, or it cannot be made.
    """
    if not isinstance(backend, str):
        return _checked(backend, repr(backend))
    found = entry_points(group=ENTRY_POINT_GROUP, name=backend)
    if not found:
        installed = sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})
        known = f"installed are {', '.join(installed)}" if installed else "no package that registers one is installed"
        raise ConfigurationError(f"there is no backend {backend!r}; {known}")
    point = next(iter(found))
    try:
        made = point.load()() if model is None else point.load()(model)
    except Exception as error:
        raise ConfigurationError(f"the backend {backend!r} ({point.value}) cannot be made: {error}") from error
    return _checked(made, f"{backend!r} ({point.value})")


def _checked(backend: Any, name: str) -> Backend:
    if not callable(backend) or isinstance(backend, type):
        raise ConfigurationError(f"the backend {name} is not an object that answers calls: it has no __call__()")
    return backend  # type: ignore[no-any-return]
