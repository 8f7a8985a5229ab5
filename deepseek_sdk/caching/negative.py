"""Refusals that would be the same again: remembered for a moment, so that a loop of them costs no requests."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

import openai

from deepseek_sdk._process import PerProcess
from deepseek_sdk._wire import stub_request
from deepseek_sdk.errors import ConfigurationError, InvalidRequestError, classify

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["NegativeCache", "copied"]

E = TypeVar("E", bound=BaseException)

# Both say that the request is wrong; every other refusal is about the account, the moment or the server.
_STATUSES = (400, 422)
_SHORTEST_S, _LONGEST_S = 1, 600
# What belongs to one call only: its record, its attempts, its notes, and the HTTP exchange with its key and prompt.
_OWN = frozenset({"_deepseek_record", "__notes__", "attempts", "request", "response"})
# They describe bytes that are not handed on: the HTTP library would decode or count them again.
_FRAMING = frozenset({"content-encoding", "content-length", "transfer-encoding", "set-cookie"})


class NegativeCache:
    """
    Refusals of the last moment, in RAM; any thread may use it.

    Args:
        ttl_s: For how long a refusal is remembered, in seconds, from 1 to 600.
        limit: How many are remembered; the oldest is forgotten first.
    """

    def __init__(self, ttl_s: float = 45.0, limit: int = 1024) -> None:
        if not _is_time(ttl_s):
            message = f"negative_ttl_s must be {_SHORTEST_S} to {_LONGEST_S} seconds, not {ttl_s!r}"
            raise ConfigurationError(message)
        self._ttl_s = ttl_s
        self._limit = limit
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)
        self._known: OrderedDict[Hashable, tuple[float, BaseException]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def put(self, key: Hashable, error: BaseException, now_s: float) -> bool:
        """
        Remember a refusal.

        Args:
            key: What tells the request from others, with whoever is asked.
            error: What came of it.
            now_s: The time, of a clock that does not jump.

        Returns:
            Whether it is one that would be the same again.
        """
        if not _is_deterministic(error):
            return False
        kept = copied(error)
        with self._locks.get():
            self._known.pop(key, None)
            self._known[key] = (now_s + self._ttl_s, kept)
            while len(self._known) > self._limit:
                self._known.popitem(last=False)
        return True

    def get(self, key: Hashable, now_s: float) -> BaseException | None:
        """
        Look a request up.

        Args:
            key: Its key.
            now_s: The time, of the same clock.

        Returns:
            A new copy of the refusal, or None.
        """
        with self._locks.get():
            until, error = self._known.get(key, (0.0, None))
            if error is not None and now_s >= until:
                del self._known[key]
                error = None
        return None if error is None else copied(error)

    def forget(self, key: Hashable) -> None:
        """
        Forget a refusal: the request was answered after all.

        Args:
            key: What tells the request from others.
        """
        with self._locks.get():
            self._known.pop(key, None)

    def clear(self) -> None:
        """Forget all."""
        with self._locks.get():
            self._known.clear()


def copied(error: E) -> E:
    """
    Copy an error for another call.

    Args:
        error: It; not changed.

    Returns:
        An error of the same class that says the same, without a traceback, a cause, or anything of the first call.
    """
    kind = type(error)
    builtin: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
    # What an error of Python is made of. Classes of libraries want other arguments, and keep what they tell in fields.
    arguments = builtin.__reduce__(error)[1]
    twin = kind.__new__(kind, *arguments)
    builtin.__init__(twin, *arguments)
    twin.__dict__.update({name: _apart(value) for name, value in error.__dict__.items() if name not in _OWN})
    if isinstance(error, openai.APIError):
        twin.__dict__["request"] = stub_request(str(error.request.url))
        if hasattr(error, "response"):
            twin.__dict__["response"] = _response(error.response, twin.__dict__["request"])
    return twin


def _is_time(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and _SHORTEST_S <= value <= _LONGEST_S  # type: ignore[operator]


def _is_deterministic(error: BaseException) -> bool:
    if not isinstance(error, openai.APIStatusError) or error.status_code not in _STATUSES or classify(error).retry:
        return False
    # What is refused here costs no request, and depends on options that are not in the key. It has no body.
    return not isinstance(error, InvalidRequestError) and bool(_content(error.response))


def _content(response: Any) -> bytes:
    try:
        return bytes(response.content)
    except RuntimeError:
        # It was not read, and now nobody will.
        return b""


def _response(response: Any, request: Any) -> Any:
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
    return type(response)(response.status_code, headers=headers, content=_content(response), request=request)


def _apart(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, dict | list) else value
