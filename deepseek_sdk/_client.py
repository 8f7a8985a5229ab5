"""The seam: openai's clients with `request()` overridden, and nothing else of what a call does."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import openai
from anyio import to_thread
from typing_extensions import override

from deepseek_sdk._finish import finish
from deepseek_sdk._forgettable import forgettable
from deepseek_sdk._report import attached
from deepseek_sdk._shared import Shared
from deepseek_sdk._wire import RESPONSE
from deepseek_sdk.telemetry.resources import AsyncQuiet, Quiet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from openai._models import FinalRequestOptions

    from deepseek_sdk._balance import Balance
    from deepseek_sdk._check import RouteCheck
    from deepseek_sdk.caching.handle import AsyncCache, Cache
    from deepseek_sdk.ledger import UsageReport
    from deepseek_sdk.ledger.period import Instant
    from deepseek_sdk.tokens import AsyncTokens, Tokens

__all__ = ["AsyncClient", "Client"]


class Client(Shared, Quiet, openai.OpenAI):  # type: ignore[misc]  # copy() takes options of our own besides
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

    @cached_property
    def tokens(self) -> Tokens:
        """Counts the tokens of requests, and makes those fit that are too long."""
        from deepseek_sdk.tokens import Tokens  # noqa: PLC0415  not part of importing the library

        books = self._heritage.family.policies.books
        return Tokens(lambda: books.counter, books.drift, books.cuts)

    @cached_property
    def cache(self) -> Cache | None:
        """The answers that are kept: to be looked at, and emptied; None where there is no cache."""
        from deepseek_sdk.caching.handle import Cache  # noqa: PLC0415  likewise

        store = self._heritage.family.policies.books.cache
        return None if store is None else Cache(store, self, self._rehearse)

    def balance(self) -> Balance:
        """
        Ask what is left on the account.

        Returns:
            The amounts, by currency.

        Raises:
            MalformedResponseError: The endpoint answers with something else.
            openai.APIError: It refuses, or cannot be reached.
        """
        from deepseek_sdk._balance import BALANCE_PATH, read_balance  # noqa: PLC0415  likewise

        return read_balance(self.get(BALANCE_PATH, cast_to=object), self.base_url)

    def usage(
        self,
        since: Instant = None,
        until: Instant = None,
        by: str | None = None,
        *,
        only: Mapping[str, str] | None = None,
        tz: tzinfo | str | None = None,
    ) -> UsageReport:
        """
        Add up what calls used and cost: those in the ledger, or without one those of this client and its children.

        Args:
            since: From when on: a datetime, a date, "7d" or "24h" ago, or seconds since 1970; None: from the first on.
            until: Up to when, likewise; a date is a whole day; None: up to now.
            by: What to tell calls apart by: "model", "user", "session", "tenant", "template", "tag:KEY", "day", "tier",
                "route", "cache"; None: nothing.
            only: Count these calls alone, such as {"user": "42"}.
            tz: Whose days, or the name of their zone; None: those of Beijing.

        Returns:
            The sums.

        Raises:
            ConfigurationError: An argument cannot be used.
            LedgerError: The ledger cannot be read, and nothing says that it cannot be written.
        """
        return self._heritage.family.policies.books.usage(since, until, by, only=only, tz=tz)

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


class AsyncClient(Shared, AsyncQuiet, openai.AsyncOpenAI):  # type: ignore[misc]  # likewise
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

    @cached_property
    def tokens(self) -> AsyncTokens:
        """Counts the tokens of requests, and makes those fit that are too long, in another thread."""
        from deepseek_sdk.tokens import AsyncTokens  # noqa: PLC0415  likewise

        books = self._heritage.family.policies.books
        return AsyncTokens(lambda: books.counter, books.drift, books.cuts)

    @cached_property
    def cache(self) -> AsyncCache | None:
        """The answers that are kept, in another thread: to be looked at, and emptied; None where there is no cache."""
        from deepseek_sdk.caching.handle import AsyncCache  # noqa: PLC0415  likewise

        store = self._heritage.family.policies.books.cache
        return None if store is None else AsyncCache(store, self, self._rehearse)

    async def balance(self) -> Balance:
        """
        Ask what is left on the account.

        Returns:
            The amounts, by currency.

        Raises:
            MalformedResponseError: The endpoint answers with something else.
            openai.APIError: It refuses, or cannot be reached.
        """
        from deepseek_sdk._balance import BALANCE_PATH, read_balance  # noqa: PLC0415  likewise

        return read_balance(await self.get(BALANCE_PATH, cast_to=object), self.base_url)

    async def usage(
        self,
        since: Instant = None,
        until: Instant = None,
        by: str | None = None,
        *,
        only: Mapping[str, str] | None = None,
        tz: tzinfo | str | None = None,
    ) -> UsageReport:
        """
        Add up what calls used and cost: those in the ledger, or without one those of this client and its children.

        Args:
            since: From when on: a datetime, a date, "7d" or "24h" ago, or seconds since 1970; None: from the first on.
            until: Up to when, likewise; a date is a whole day; None: up to now.
            by: What to tell calls apart by: "model", "user", "session", "tenant", "template", "tag:KEY", "day", "tier",
                "route", "cache"; None: nothing.
            only: Count these calls alone, such as {"user": "42"}.
            tz: Whose days, or the name of their zone; None: those of Beijing.

        Returns:
            The sums.

        Raises:
            ConfigurationError: An argument cannot be used.
            LedgerError: The ledger cannot be read, and nothing says that it cannot be written.
        """
        usage = self._heritage.family.policies.books.usage
        return await to_thread.run_sync(partial(usage, since, until, by, only=only, tz=tz))

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
