"""
The HTTP face of the service: routes, recording, and the end of every request.

Imports starlette; only the emulator's own start does that.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route

from deepseek_sdk.testing import recording, refusals
from deepseek_sdk.testing.line import EXTENSION
from deepseek_sdk.testing.player import Player
from deepseek_sdk.testing.script import Ending, json_script
from deepseek_sdk.testing.service import Performance

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import Receive, Scope, Send

    from deepseek_sdk.testing.line import Line
    from deepseek_sdk.testing.recording import Ledger, RecordedRequest
    from deepseek_sdk.testing.service import Service

    _Decision: TypeAlias = Callable[["RecordedRequest", bool], Awaitable[Performance]]

__all__ = ["Desk", "build_app"]


class Desk:
    """
    Take requests in, have them answered, and write down what became of them.

    Args:
        service: Decides the answers.
        ledger: Keeps the requests.
    """

    def __init__(self, service: Service, ledger: Ledger) -> None:
        self.service = service
        self.ledger = ledger
        self.is_stopping = False

    async def serve(self, scope: Scope, receive: Receive, send: Send, decide: _Decision, *, is_guarded: bool) -> None:
        """
        Answer one request.

        Args:
            scope: The ASGI scope.
            receive: The ASGI function that reads.
            send: The ASGI function that writes.
            decide: Finds the answer, given the recorded request and whether it is within the concurrency limit.
            is_guarded: Whether it counts towards that limit.
        """
        line: Line = scope["extensions"][EXTENSION]
        # From here on the end of the connection cancels this task, whatever it waits for.
        line.watch()
        request = _record(scope, len(self.ledger.requests))
        self.ledger.open(request)
        # A request counts from its sending to the end of its response (rate-limit page).
        is_within = not is_guarded or self.service.gate.enter()
        try:
            await _read_body(request, scope, receive)
            performance = await self._decided(request, decide, is_within=is_within)
            await self._perform(request, performance, line, send)
        except (asyncio.CancelledError, ClientDisconnect):
            # The task ends here: its connection has gone, or the emulator stops.
            request.outcome = recording.STOPPED if self.is_stopping else recording.ABORTED
        except Exception as error:
            request.outcome = f"failed: {error!r}"
            raise
        finally:
            line.unwatch()
            if is_guarded:
                self.service.gate.leave()
            self.ledger.close(request, now=time.monotonic())

    async def _decided(self, request: RecordedRequest, decide: _Decision, *, is_within: bool) -> Performance:
        try:
            return await decide(request, is_within)
        except refusals.Refusal as refusal:
            request.outcome = "refused"
            return Performance(json_script(refusal.body, status=refusal.status))
        except Exception as error:  # noqa: BLE001 - a callable of the user's may raise anything
            request.outcome = f"failed: {error!r}"
            body = refusals.status_body(500, f"The emulator failed: {error!r}")
            return Performance(json_script(body, status=500))

    async def _perform(self, request: RecordedRequest, performance: Performance, line: Line, send: Send) -> None:
        script = performance.script.with_headers(x_ds_trace_id=uuid.uuid4().hex)
        request.status = script.status
        # Set before the fault strikes: some of them leave no later moment.
        request.outcome = request.fault or request.outcome

        def on_write(parts: int | None) -> None:
            if parts is not None:
                request.events += parts
            elif request.outcome == recording.IN_PROGRESS:
                # Before the last bytes, so that whoever has read the answer finds the outcome in place.
                request.outcome = recording.ANSWERED

        await Player(script, line, send, on_write).run()
        if script.ending is Ending.COMPLETE:
            performance.completed()


def build_app(desk: Desk) -> Starlette:
    """Return the ASGI application: the routes of the live API that the emulator knows, and 404 for the rest."""
    routes = [route for prefix in ("", "/v1") for route in _plain_routes(desk, prefix)]
    # Prefix, strict tools and fill-in-the-middle live under /beta; anything else is a 404 of its own shape.
    routes += [
        _route("/beta/chat/completions", "POST", desk, _completion(desk.service, is_chat=True, is_beta=True)),
        _route("/beta/completions", "POST", desk, _completion(desk.service, is_chat=False, is_beta=True)),
        _route("/{path:path}", None, desk, _missing),
    ]
    return Starlette(routes=routes)


def _plain_routes(desk: Desk, prefix: str) -> Iterator[Route]:
    chat = _completion(desk.service, is_chat=True, is_beta=False)
    yield _route(f"{prefix}/chat/completions", "POST", desk, chat)
    yield _route(f"{prefix}/models", "GET", desk, _lookup(desk.service, "models"))
    yield _route(f"{prefix}/user/balance", "GET", desk, _lookup(desk.service, "balance"))


def _route(path: str, method: str | None, desk: Desk, decide: _Decision) -> Route:
    return Route(path, _Endpoint(desk, decide, is_guarded=method == "POST"), methods=[method] if method else None)


class _Endpoint:
    """An ASGI application for one route; a class, because starlette wraps functions into its own responses."""

    def __init__(self, desk: Desk, decide: _Decision, *, is_guarded: bool) -> None:
        self._desk = desk
        self._decide = decide
        self._is_guarded = is_guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._desk.serve(scope, receive, send, self._decide, is_guarded=self._is_guarded)


def _completion(service: Service, *, is_chat: bool, is_beta: bool) -> _Decision:
    async def decide(request: RecordedRequest, is_within: bool) -> Performance:  # noqa: FBT001 - a positional protocol
        return await service.complete(request, is_chat=is_chat, is_beta=is_beta, is_within=is_within)

    return decide


def _lookup(service: Service, what: str) -> _Decision:
    async def decide(request: RecordedRequest, is_within: bool) -> Performance:  # noqa: ARG001, FBT001 - as above
        return Performance(service.look_up(request, what))

    return decide


async def _missing(request: RecordedRequest, is_within: bool) -> Performance:  # noqa: ARG001, FBT001 - as above
    raise refusals.no_such_path()


def _record(scope: Scope, number: int) -> RecordedRequest:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return recording.RecordedRequest(
        number=number,
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=headers,
        client=tuple(scope["client"] or ("", 0)),
        arrived=time.monotonic(),
    )


async def _read_body(request: RecordedRequest, scope: Scope, receive: Receive) -> None:
    request.raw = await Request(scope, receive).body()
    # A body that is no JSON is recorded too; whoever needs it decides what to say about it.
    try:
        request.body = json.loads(request.raw) if request.raw else None
    except ValueError:
        request.body = None
