"""The seam: openai's clients with `request()` overridden, and nothing else of what a call does."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import openai
from typing_extensions import override

from deepseek_sdk._finish import finish
from deepseek_sdk._forgettable import forgettable
from deepseek_sdk._report import attached
from deepseek_sdk._shared import Shared
from deepseek_sdk._wire import RESPONSE

if TYPE_CHECKING:
    from openai._models import FinalRequestOptions

    from deepseek_sdk._check import RouteCheck

__all__ = ["AsyncClient", "Client"]


class Client(Shared, openai.OpenAI):  # type: ignore[misc]  # copy() takes options of our own besides
    """
    `openai.OpenAI` for DeepSeek: every call works as before, and is supervised.

        Client()                                    key from DEEPSEEK_API_KEY
        Client(deadlines=Deadlines(first_token=8))  a clock that keep-alives cannot put off
        Client(plain="stream")                      plain calls are folded from a stream

    One client serves any number of threads.
    """

    @override
    def request(
        self, cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        """Send a request, as openai's resources ask for it; guarded surfaces go through the pipeline."""
        path = self._guarded(options)
        if path is None:
            return super().request(cast_to, self._at_home(options), stream=stream, stream_cls=stream_cls)
        cast_to = self._maybe_override_cast_to(cast_to, options)
        call = self._admit(partial(super().request, RESPONSE, stream=True), options, path, is_stream=stream)
        try:
            reply = finish(self._heritage.family.proceed(call))
            content = None if stream else finish(reply.gather())
            assembly = self._assembly(options, reply, content)
            answer = self._process_response(cast_to=cast_to, stream=stream, stream_cls=stream_cls, **assembly)
        except BaseException as error:
            call.fail(error)
            self._heritage.family.release_forgotten()
            raise
        return attached(forgettable(answer), call.record)

    def check(self) -> list[RouteCheck]:
        """
        Ask every endpoint which models it serves.

        Returns:
            A result for the client's own endpoint and for each route; a route whose model is not served is named.
        """
        from deepseek_sdk._check import checked_routes  # noqa: PLC0415  not part of importing the library

        return finish(checked_routes(self._places(), _models_of))

    @override
    def close(self) -> None:
        """Close every connection and end what goes on in the background; the client cannot be used after that."""
        finish(self._heritage.family.close(self))
        super().close()


class AsyncClient(Shared, openai.AsyncOpenAI):  # type: ignore[misc]  # likewise
    """
    `openai.AsyncOpenAI` for DeepSeek: every call works as before, and is supervised.

        AsyncClient()                                    key from DEEPSEEK_API_KEY
        AsyncClient(deadlines=Deadlines(first_token=8))  a clock that keep-alives cannot put off

    It runs on asyncio and on trio, and one client serves several event loops.
    """

    @override
    async def request(
        self, cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        """Send a request, as openai's resources ask for it; guarded surfaces go through the pipeline."""
        path = self._guarded(options)
        if path is None:
            return await super().request(cast_to, self._at_home(options), stream=stream, stream_cls=stream_cls)
        cast_to = self._maybe_override_cast_to(cast_to, options)
        call = self._admit(partial(super().request, RESPONSE, stream=True), options, path, is_stream=stream)
        try:
            reply = await self._heritage.family.proceed(call)
            content = None if stream else await reply.gather()
            assembly = self._assembly(options, reply, content)
            answer = await self._process_response(cast_to=cast_to, stream=stream, stream_cls=stream_cls, **assembly)
        except BaseException as error:
            call.fail(error)
            raise
        return attached(forgettable(answer), call.record)

    async def check(self) -> list[RouteCheck]:
        """
        Ask every endpoint which models it serves.

        Returns:
            A result for the client's own endpoint and for each route; a route whose model is not served is named.
        """
        from deepseek_sdk._check import checked_routes  # noqa: PLC0415  likewise

        return await checked_routes(self._places(), _async_models_of)

    @override
    async def close(self) -> None:
        """
        Close every connection, on every event loop, and end what goes on in the background.

        The client cannot be used after that.
        """
        await self._heritage.family.close(self)
        await super().close()

    aclose = close


async def _models_of(client: openai.OpenAI) -> list[str]:
    return [str(model.id) for model in client.models.list()]


async def _async_models_of(client: openai.AsyncOpenAI) -> list[str]:
    return [str(model.id) async for model in client.models.list()]
