"""The seam: openai's clients with `request()` overridden, and nothing else of what they do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack

import openai
from typing_extensions import override

from deepseek_sdk._call import CallOptions, checked_options
from deepseek_sdk._clock import UNSET, Deadlines, Unset
from deepseek_sdk._family import Family
from deepseek_sdk._finish import finish
from deepseek_sdk._headers import raw_mode
from deepseek_sdk._report import attached
from deepseek_sdk._validate import check_api_key, check_base_url, check_timeout
from deepseek_sdk._version import __version__
from deepseek_sdk._wire import RESPONSE, default_http_client, stream_response, whole_response
from deepseek_sdk.backends.deepseek import guarded_path, request_url
from deepseek_sdk.backends.wire import StreamSupport
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from openai._models import FinalRequestOptions

    from deepseek_sdk._call import Call, Plain, Priority
    from deepseek_sdk._openai_options import CopyOptions, OpenAIOptions
    from deepseek_sdk._record import Record
    from deepseek_sdk._reply import Reply

__all__ = ["DEFAULT_BASE_URL", "AsyncClient", "Client"]

DEFAULT_BASE_URL = "https://api.deepseek.com"

# What openai takes as proof of identity besides a key; with one of these none is needed.
_OTHER_CREDENTIALS = ("admin_api_key", "workload_identity", "provider")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heritage:
    """What a child takes over from its parent."""

    family: Family
    own: CallOptions
    support: StreamSupport


class _Shared:
    """What both colours have in common."""

    _heritage: _Heritage

    if TYPE_CHECKING:
        base_url: Any
        max_retries: int

    def _settle_in(self, heritage: _Heritage, openai_options: Mapping[str, Any]) -> None:
        """Finish construction: take what is shared, and undo what openai read from OPENAI_* variables."""
        self._heritage = heritage
        for name in ("organization", "project", "webhook_secret", "admin_api_key"):
            setattr(self, name, openai_options.get(name))
        self._custom_headers = openai_options.get("default_headers") or {}
        self._ambient_authorizations: frozenset[str] = frozenset()

    def copy(
        self,
        *,
        deadlines: Deadlines | None = None,
        plain: Plain | Unset = UNSET,
        session_id: str | Unset | None = UNSET,
        priority: Priority | Unset | None = UNSET,
        **openai_options: Unpack[CopyOptions],
    ) -> Self:
        """
        Make a child that shares connections and everything learnt, with some options changed.

        Args:
            deadlines: The clocks; fields that are not given stay as they are.
            plain: How plain calls are read: "auto", "stream" or "direct".
            session_id: The conversation its calls belong to.
            priority: "realtime" or "batch".
            **openai_options: What `openai.OpenAI.copy()` takes.

        Returns:
            The child.
        """
        mine = self._heritage
        own = _own_options(deadlines, plain=plain, session_id=session_id, priority=priority).over(mine.own)
        # What one endpoint refused says nothing about another.
        support = StreamSupport() if "base_url" in openai_options else mine.support
        heritage = _Heritage(family=mine.family, own=own, support=support)
        extra = {**openai_options.get("_extra_kwargs", {}), "_heritage": heritage}
        arguments: dict[str, Any] = {**openai_options, "_extra_kwargs": extra}
        return super().copy(**arguments)  # type: ignore[misc,no-any-return]

    with_options = copy

    @property
    def user_agent(self) -> str:
        """Name this library, and the client it is built on."""
        return f"deepseek-sdk/{__version__} OpenAI/Python {openai.__version__}"

    def _at_home(self, options: FinalRequestOptions) -> FinalRequestOptions:
        """Send account data to the root, wherever the base URL points."""
        url = request_url(self, options.url, None)
        return options if url == options.url else options.model_copy(update={"url": url})

    def _admit(self, send: Callable[..., Any], options: FinalRequestOptions, path: str, *, is_stream: bool) -> Call:
        mine: Any = self
        return self._heritage.family.admit(
            mine,
            send,
            options,
            path=path,
            is_stream=is_stream,
            own=self._heritage.own,
            support=self._heritage.support,
        )


def _response(reply: Reply, content: bytes | None, raw_mode: str | None, *, is_async: bool) -> Any:
    """Make what openai reads: of the whole content, or of an answer that is still in flight."""
    upstream, record = reply.source.response, reply.call.record
    if content is None:
        return stream_response(reply, upstream, record, raw_mode, is_async=is_async)
    return whole_response(content, upstream, record, raw_mode, is_direct=reply.call.is_direct)


def _reporting(options: FinalRequestOptions, record: Record) -> FinalRequestOptions:
    """Let what a raw response is parsed into, later and by the caller, tell its report."""
    parse = options.post_parser
    parser = attached if isinstance(parse, openai.NotGiven) else lambda answer, record: attached(parse(answer), record)
    return options.model_copy(update={"post_parser": partial(parser, record=record)})


def _guarded(options: FinalRequestOptions) -> str | None:
    """Tell which guarded surface a request is for; one whose body is sent as it is, unread, is for none."""
    is_readable = options.content is None and not options.files and not isinstance(options.json_data, bytes)
    return guarded_path(options.method, options.url) if is_readable else None


def _own_options(deadlines: Deadlines | None, **given: Any) -> CallOptions:
    return checked_options(given if deadlines is None else {**given, "deadlines": deadlines})


def _credentials(api_key: Any, base_url: Any, openai_options: Mapping[str, Any]) -> dict[str, Any]:
    """Resolve key and endpoint from arguments and DEEPSEEK_* variables, and check them."""
    check_timeout(openai_options.get("timeout"))
    if openai_options.get("provider") is not None:
        return {}
    if base_url is None or isinstance(base_url, openai.NotGiven):
        base_url = os.environ.get("DEEPSEEK_BASE_URL") or DEFAULT_BASE_URL
    check_base_url(base_url)
    if api_key is None:
        api_key = os.environ.get("DEEPSEEK_API_KEY") or None
    if api_key is not None:
        check_api_key(api_key)
    is_required = openai_options.get("_enforce_credentials", True)
    if not api_key and is_required and not any(openai_options.get(name) for name in _OTHER_CREDENTIALS):
        message = "there is no key: pass api_key=... or set the environment variable DEEPSEEK_API_KEY"
        raise ConfigurationError(message)
    # An empty string is kept apart from None, for which openai would look at OPENAI_API_KEY.
    return {"api_key": api_key or "", "base_url": base_url}


class Client(_Shared, openai.OpenAI):  # type: ignore[misc]  # copy() takes options of our own besides
    """
    `openai.OpenAI` for DeepSeek: every call works as before, and is supervised.

        Client()                                    key from DEEPSEEK_API_KEY
        Client(deadlines=Deadlines(first_token=8))  a clock that keep-alives cannot put off
        Client(plain="stream")                      plain calls are folded from a stream

    One client serves any number of threads.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: Any = None,
        http_client: Any = None,
        deadlines: Deadlines | None = None,
        plain: Plain | Unset = UNSET,
        session_id: str | Unset | None = UNSET,
        priority: Priority | Unset | None = UNSET,
        _heritage: _Heritage | None = None,
        **openai_options: Unpack[OpenAIOptions],
    ) -> None:
        """
        Make a client. Nothing is sent and no socket is opened.

        Args:
            api_key: The key, or a function that returns it; else DEEPSEEK_API_KEY.
            base_url: The endpoint; else DEEPSEEK_BASE_URL, else https://api.deepseek.com.
            http_client: An HTTP client of your own.
            deadlines: The clocks of every call.
            plain: How plain calls are read upstream: "auto" (the default), "stream" or "direct".
            session_id: The conversation the calls belong to.
            priority: "realtime" or "batch".
            **openai_options: Every other keyword of `openai.OpenAI`.

        Raises:
            ConfigurationError: An argument cannot be used; the message names it.
        """
        own = _own_options(deadlines, plain=plain, session_id=session_id, priority=priority)
        arguments: dict[str, Any] = {**openai_options, **_credentials(api_key, base_url, openai_options)}
        http_client = http_client or _default_http_client(openai_options, is_async=False)
        openai.OpenAI.__init__(self, http_client=http_client, **arguments)
        self._settle_in(_heritage or _founder(own), openai_options)

    @override
    def request(
        self, cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        """Send a request, as openai's resources ask for it; guarded surfaces go through the pipeline."""
        path = _guarded(options)
        if path is None:
            return super().request(cast_to, self._at_home(options), stream=stream, stream_cls=stream_cls)
        cast_to = self._maybe_override_cast_to(cast_to, options)
        send = partial(super().request, RESPONSE, stream=True)
        call = self._admit(send, options, path, is_stream=stream)
        try:
            reply = finish(self._heritage.family.proceed(call))
            content = None if stream else finish(reply.gather())
        except Exception as error:
            call.blame(error)
            raise
        if (mode := raw_mode(options)) is not None:
            options = _reporting(options, call.record)
        response = _response(reply, content, mode, is_async=False)
        answer = self._process_response(
            cast_to=cast_to, options=options, response=response, stream=stream, stream_cls=stream_cls
        )
        return attached(answer, call.record)


class AsyncClient(_Shared, openai.AsyncOpenAI):  # type: ignore[misc]  # likewise
    """
    `openai.AsyncOpenAI` for DeepSeek: every call works as before, and is supervised.

        AsyncClient()                                    key from DEEPSEEK_API_KEY
        AsyncClient(deadlines=Deadlines(first_token=8))  a clock that keep-alives cannot put off

    It runs on asyncio and on trio, and one client serves several event loops.
    """

    def __init__(
        self,
        *,
        api_key: str | Callable[[], Awaitable[str]] | None = None,
        base_url: Any = None,
        http_client: Any = None,
        deadlines: Deadlines | None = None,
        plain: Plain | Unset = UNSET,
        session_id: str | Unset | None = UNSET,
        priority: Priority | Unset | None = UNSET,
        _heritage: _Heritage | None = None,
        **openai_options: Unpack[OpenAIOptions],
    ) -> None:
        """
        Make a client. Nothing is sent and no socket is opened.

        Args:
            api_key: The key, or a coroutine function that returns it; else DEEPSEEK_API_KEY.
            base_url: The endpoint; else DEEPSEEK_BASE_URL, else https://api.deepseek.com.
            http_client: An HTTP client of your own; the default one serves several event loops, yours may not.
            deadlines: The clocks of every call.
            plain: How plain calls are read upstream: "auto" (the default), "stream" or "direct".
            session_id: The conversation the calls belong to.
            priority: "realtime" or "batch".
            **openai_options: Every other keyword of `openai.AsyncOpenAI`.

        Raises:
            ConfigurationError: An argument cannot be used; the message names it.
        """
        own = _own_options(deadlines, plain=plain, session_id=session_id, priority=priority)
        arguments: dict[str, Any] = {**openai_options, **_credentials(api_key, base_url, openai_options)}
        http_client = http_client or _default_http_client(openai_options, is_async=True)
        openai.AsyncOpenAI.__init__(self, http_client=http_client, **arguments)
        self._settle_in(_heritage or _founder(own), openai_options)

    @override
    async def request(
        self, cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        """Send a request, as openai's resources ask for it; guarded surfaces go through the pipeline."""
        path = _guarded(options)
        if path is None:
            return await super().request(cast_to, self._at_home(options), stream=stream, stream_cls=stream_cls)
        cast_to = self._maybe_override_cast_to(cast_to, options)
        send = partial(super().request, RESPONSE, stream=True)
        call = self._admit(send, options, path, is_stream=stream)
        try:
            reply = await self._heritage.family.proceed(call)
            content = None if stream else await reply.gather()
        except Exception as error:
            call.blame(error)
            raise
        if (mode := raw_mode(options)) is not None:
            options = _reporting(options, call.record)
        response = _response(reply, content, mode, is_async=True)
        answer = await self._process_response(
            cast_to=cast_to, options=options, response=response, stream=stream, stream_cls=stream_cls
        )
        return attached(answer, call.record)


def _founder(own: CallOptions) -> _Heritage:
    return _Heritage(family=Family(), own=own, support=StreamSupport())


def _default_http_client(openai_options: Mapping[str, Any], *, is_async: bool) -> Any:
    timeout = openai_options.get("timeout", openai.NOT_GIVEN)
    given = {} if isinstance(timeout, openai.NotGiven) else {"timeout": timeout}
    return default_http_client(is_async=is_async, **given)
