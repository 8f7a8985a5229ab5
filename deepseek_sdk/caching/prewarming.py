"""`client.cache.prewarm()` and `client.cache.templates()`: the history is read, and the client itself asks."""

from __future__ import annotations

import inspect
from concurrent import futures
from concurrent.futures import CancelledError, Future
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

from deepseek_sdk._cache import CacheControl
from deepseek_sdk._call import options
from deepseek_sdk._finish import finish
from deepseek_sdk._report import report
from deepseek_sdk.caching.warming.daily import Daily
from deepseek_sdk.caching.warming.history import TAG, asks, counted, known
from deepseek_sdk.caching.warming.peaks import Peaks, Wants
from deepseek_sdk.caching.warming.prewarm import Prewarm, Progress, UnkeptError
from deepseek_sdk.caching.warming.schedule import Budget
from deepseek_sdk.caching.warming.templates import mined
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.ledger.period import BEIJING, clock_of, instant
from deepseek_sdk.resilience.checks import check_count, check_number, check_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo
    from pathlib import Path

    from deepseek_sdk._call import Call
    from deepseek_sdk._io import IO
    from deepseek_sdk.caching.exact import ExactCache
    from deepseek_sdk.caching.warming.planning import Request
    from deepseek_sdk.caching.warming.templates import Template
    from deepseek_sdk.ledger.period import Instant

__all__ = ["Prewarming", "prepared", "templates", "wanted"]

# How often to look whether it is time.
_LOOK_S = 3_600.0
_NAMED = "tenant:"


def templates(cache: ExactCache, client: Any, top: int, since: Instant) -> list[Template]:
    """
    Find what kinds of questions are asked most; see `Cache.templates()`.

    Args:
        cache: Where the texts of the questions are.
        client: Whose ledger knows how often they were asked.
        top: How many kinds.
        since: From when on.

    Returns:
        The kinds.
    """
    check_count("top", top, least=1)
    now = cache.now_ms() / 1000
    first = instant(since, now, BEIJING)
    path = _ledger(client, "templates")()
    if not path.is_file():
        return []
    counts = counted(asks(path, since=0.0 if first is None else first.timestamp(), until=now))
    return mined(((question.text, counts[question.id]) for question in known(cache, counts)), top)


def _ledger(client: Any, name: str) -> Callable[[], Path]:
    """Give what writes down the calls that wait to be, and says where."""
    ledger = client.ledger
    path: Path | None = getattr(ledger, "path", None)
    if path is None:
        message = f"{name}() needs to know what was asked: Client(ledger=True) writes it down from now on"
        raise ConfigurationError(message)

    def written() -> Path:
        ledger.flush()
        return path

    return written


def wanted(
    *,
    client: Any,
    budget_calls: int,
    budget_cny: float | None,
    at_once: int,
    share: float | None,
    since: Instant,
    tz: tzinfo | str | None,
) -> Wants:
    """
    Read what the user wants; see `Cache.prewarm()`.

    Args:
        client: Who asks.
        budget_calls: How many calls.
        budget_cny: How much money.
        at_once: How many at a time.
        share: Which part of the traffic.
        since: From when on.
        tz: By which clock.

    Returns:
        That.

    Raises:
        ConfigurationError: One of them cannot be used.
    """
    check_count("budget_calls", budget_calls, least=1)
    check_count("at_once", at_once, least=1)
    if budget_cny is not None:
        check_number("budget_cny", budget_cny)
    if share is not None:
        check_share("share", share)
    instant(since, 0.0, BEIJING)
    tariff = client.prices.tariff
    return Wants(
        budget=Budget(budget_calls, budget_cny),
        share=share,
        at_once=at_once,
        since=since,
        clock=BEIJING if tz is None else clock_of(tz),
        is_dear=lambda at: tariff.tier(at) in {"peak", "unknown"},
    )


def prepared(cache: ExactCache, client: Any, rehearse: Callable[..., Call], wants: Wants, *, now: bool) -> Prewarming:
    """
    Get ready to ask what will be asked in the daily peak; this reads files.

    Args:
        cache: Where the answers are to be.
        client: Who asks.
        rehearse: Makes the call that arguments of `create()` would be, and sends nothing.
        wants: What the user wants.
        now: What the coming peak will ask is asked at once.

    Returns:
        What has not begun yet.

    Raises:
        ConfigurationError: There is no ledger, or nothing of requests is kept, or the disk cannot be used.
        LedgerError: The ledger cannot be read.
    """
    if not cache.keep_requests or cache.store.disk is None:
        message = (
            "prewarm() needs to know what requests are beside the user's text: give the client an "
            "ExactCache(keep_requests=True) or a SemanticCache(keep_requests=True) on disk"
        )
        raise ConfigurationError(message)
    ledger = _ledger(client, "prewarm")
    with options(tenant=None):
        call = rehearse(model="deepseek-flash", messages=[{"role": "user", "content": "?"}])
    peaks = Peaks(cache, ledger, cache.tenants.of(call), wants)
    work = _at_once(peaks, wants) if now else _every_day(peaks, wants)
    return Prewarming(work, peaks, client, call.io)


def _at_once(peaks: Peaks, wants: Wants) -> Prewarm[Request]:
    coming = peaks.coming()
    questions = () if coming is None else coming.questions
    return Prewarm(questions, budget=wants.budget, at_once=wants.at_once, wall=peaks.now)


def _every_day(peaks: Peaks, wants: Wants) -> Daily[Request]:
    def prepare() -> tuple[Prewarm[Request], float] | None:
        coming = peaks.coming(_LOOK_S)
        if coming is None:
            return None
        prewarm = Prewarm(
            coming.questions, begins=coming.starts, budget=wants.budget, at_once=wants.at_once, wall=peaks.now
        )
        return prewarm, coming.window.ends

    return Daily(prepare, lambda _: peaks.settle(), again_s=_LOOK_S, wall=peaks.now)


class Prewarming:
    """
    What is asked before the daily peak, while that goes on: `client.cache.prewarm()` makes it.

        prewarming.progress              how far it has come
        prewarming.skipped               what cannot be asked, and why
        prewarming.cancel()              nothing more is asked
        prewarming.wait(60)              until it is over, from a thread
        await prewarming.await_end(60)   the same on an event loop

    Args:
        work: What is to be done.
        peaks: What the files say of it.
        client: Who asks.
        io: Where it goes on.
    """

    def __init__(self, work: Prewarm[Request] | Daily[Request], peaks: Peaks, client: Any, io: IO) -> None:
        self._work = work
        self._peaks = peaks
        self._client = client
        self._io = io
        self._over: Future[None] = Future()
        self._is_cancelled = False

    def __repr__(self) -> str:
        return f"<Prewarming {self.progress}>"

    @property
    def progress(self) -> Progress:
        """How far it has come; where it goes on every day, how far that of the last peak."""
        found = self._work.progress
        is_over = self._is_cancelled or self._over.done()
        return Progress("cancelled" if is_over else "waiting", 0, 0, 0, 0.0) if found is None else found

    @property
    def skipped(self) -> Mapping[str, int]:
        """
        How many frequent questions cannot be asked, by the reason.

        "foreign": they were asked with another API key; "given": the answer comes from `warm()`; "no_frame" and
        "other_request": what the request is beside the user's text was not kept.
        """
        return dict(self._peaks.skipped)

    def cancel(self) -> None:
        """Ask nothing more; what is under way ends by itself. May be called from any thread, and again."""
        self._is_cancelled = True
        self._work.cancel()

    def wait(self, timeout_s: float | None = None) -> bool:
        """
        Wait until all is over. Not to be called on an event loop, which could not go on.

        Args:
            timeout_s: How long at most, in seconds; None: for as long as it takes.

        Returns:
            Whether it is.
        """
        return bool(futures.wait([self._over], timeout_s).done)

    async def await_end(self, timeout_s: float | None = None) -> bool:
        """
        Wait until all is over, on an event loop.

        Args:
            timeout_s: How long at most, in seconds; None: for as long as it takes.

        Returns:
            Whether it is.
        """
        try:
            await self._io.wait(self._over, timeout_s)
        except TimeoutError:
            return False
        return True

    def start(self) -> Prewarming:
        """
        Begin, in a thread or on the event loop that runs; it ends with the client at the latest.

        Returns:
            This.

        Raises:
            ConfigurationError: The client is closed.
        """
        if self._io.start(self._go, self._end) is None:
            self._end()
            raise ConfigurationError("prewarm() needs a client that is not closed")
        return self

    async def _go(self, io: IO) -> None:
        try:
            if io.is_async:
                await self._work.arun(partial(self._ask, io))
            else:
                await self._in_thread(io)
        finally:
            self._end()

    async def _in_thread(self, io: IO) -> None:
        """Let a thread do it, and cancel it where the client is closed meanwhile."""
        done: Future[None] = Future()

        def work() -> None:
            try:
                self._work.run(lambda request: finish(self._ask(io, request)))
            finally:
                done.set_result(None)

        Thread(target=work, name="deepseek-sdk-prewarm", daemon=True).start()
        try:
            await io.wait(done)
        except CancelledError:
            self.cancel()

    def _end(self) -> None:
        self._peaks.leave()
        if not self._over.done():
            self._over.set_result(None)

    async def _ask(self, io: IO, request: Request) -> float | None:
        """Ask one question, and tell what that has cost, in CNY."""
        if not await io.offload(self._peaks.is_wanted, request):
            return 0.0
        told = report(await self._sent(request))
        cny = None if told.cost is None or told.cost.cny is None else float(told.cost.cny)
        if told.cache is None or told.cache.entry_id != request.key[:16]:
            raise UnkeptError("other_request" if told.cache is None else told.cache.refused or "other_request", cny)
        await io.offload(self._peaks.note, request)
        return cny

    async def _sent(self, request: Request) -> Any:
        from openai.types import Completion  # noqa: PLC0415  imported as late as in openai
        from openai.types.chat import ChatCompletion  # noqa: PLC0415  likewise

        kind = Completion if request.body.get("messages") is None else ChatCompletion
        owner = request.tenant.removeprefix(_NAMED) if request.tenant.startswith(_NAMED) else None
        tags = {**dict(request.tags), TAG: "true"}
        with options(cache=CacheControl(reads=False), tags=tags, tenant=owner, priority="batch"):
            answer = self._client.post(
                request.path, body=dict(request.body), cast_to=kind, options={"params": dict(request.params)}
            )
            # Within the block: that is when an async call looks at what holds for it.
            return await answer if inspect.isawaitable(answer) else answer
