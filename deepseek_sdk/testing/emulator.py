"""The emulator: a DeepSeek server on loopback, for tests, benchmarks and demonstrations."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing.faults import FaultQueue
from deepseek_sdk.testing.house_rules import REASONING_RULES
from deepseek_sdk.testing.job import CONTEXT_TOKENS
from deepseek_sdk.testing.prefix_cache import PrefixCache
from deepseek_sdk.testing.recording import Ledger
from deepseek_sdk.testing.replies import ReplyQueue
from deepseek_sdk.testing.service import Service
from deepseek_sdk.testing.time_model import ConcurrencyGate, TimeModel
from deepseek_sdk.testing.vocabulary import choose_vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Literal, Self

    from deepseek_sdk.testing.encoding import UsageShape
    from deepseek_sdk.testing.faults import Fault, FaultLike, Faults
    from deepseek_sdk.testing.job import Judge
    from deepseek_sdk.testing.recording import RecordedRequest
    from deepseek_sdk.testing.replies import Replies, ReplyFunction, ReplyLike
    from deepseek_sdk.testing.server import LoopbackServer
    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["Emulator"]


class Emulator:
    """
    A DeepSeek server on loopback.

    | Call | Meaning |
    |---|---|
    | `Emulator()` | echoes what it is asked, as fast as it can |
    | `Emulator(replies="Hi")` | always says Hi |
    | `Emulator(replies=["one", Reply(content="two")])` | one reply per request, then echoes |
    | `Emulator(replies=lambda request: request.last_user_text.upper())` | computes its replies |
    | `Emulator(faults=["status_503", None])` | the first request fails, the second does not |
    | `Emulator(fault_rate=0.1, seed=7)` | every tenth request draws a fault, the same ones each time |
    | `Emulator(prefill_tokens_per_s=10_000, tokens_per_s=50)` | takes its time |

    It is started and stopped by `with`, by `async with`, or by `start()` and `stop()`. It validates requests, renders
    prompts and words its refusals with DeepSeek's own `deepseek-recipe`; where that has no wheel, by lighter rules of
    its own and with estimated token counts.

    Args:
        replies: What the model says: a text, a `Reply`, a function of the request, or a list with one of them for each
            request; None repeats the question. A thought is made up for replies without one.
        faults: What goes wrong with each request to a completion path, None for nothing; see `Fault.menu()`.
        fault_rate: The share of the requests without a scripted fault that draw one at random, from 0 to 1.
        fault_mix: The faults to draw from; None draws from the whole menu.
        seed: Makes the draws repeatable.
        api_key: The only key that is let in; None lets everyone in.
        prefill_tokens_per_s: Prompt tokens read per second, cached ones being free; None takes no time.
        tokens_per_s: Tokens written per second; None takes no time, and events that are due at once share a write.
        concurrency_limit: The most requests in flight, above which it answers 429; None for no limit.
        keep_alive_s: Seconds of silence after which a keep-alive is sent; None for none.
        cache_delay_s: Seconds until a persisted prefix can be hit.
        cache_ttl_s: Seconds after which an unused prefix is forgotten.
        cache_interval_tokens: A prefix is persisted at every multiple of this, itself a multiple of 128; None for none.
        balance: The account's money by currency; with none left it answers 402.
        usage_shape: Where a stream's usage stands: `finish`, `own_chunk` or `both`.
        reasoning_rule: Which assistant messages of a request with tools must bring their reasoning back: `every`,
            `tool_calls`, or `non_empty` for text on every one.
        context_tokens: The size of the model's window.
        validator: `recipe`, `own`, or `auto` for the first that is installed.
        vocabulary: Counts tokens; None makes one. DeepSeek's takes half a second to load at the first start.
        idle_s: Seconds after which an idle connection is closed.
        host: The address to listen on.
        port: The port; 0 lets the system choose.

    Attributes:
        requests: What arrived, in order.
        connections: The number of TCP connections accepted so far.
        service: The parts it is made of, for whoever wants to look deeper.

    Raises:
        MissingExtraError: The packages of the extra `testing` are not installed.
    """

    def __init__(
        self,
        *,
        replies: Replies = None,
        faults: Faults = None,
        fault_rate: float = 0.0,
        fault_mix: Sequence[Fault | str] | None = None,
        seed: int = 0,
        api_key: str | None = None,
        prefill_tokens_per_s: float | None = None,
        tokens_per_s: float | None = None,
        concurrency_limit: int | None = 2500,
        keep_alive_s: float | None = 10.0,
        cache_delay_s: float = 1.0,
        cache_ttl_s: float = 3600.0,
        cache_interval_tokens: int | None = 4096,
        balance: Mapping[str, str] | None = None,
        usage_shape: UsageShape = "finish",
        reasoning_rule: Literal["every", "tool_calls", "non_empty"] = "every",
        context_tokens: int = CONTEXT_TOKENS,
        validator: Literal["auto", "recipe", "own"] = "auto",
        vocabulary: Vocabulary | None = None,
        idle_s: float = 60.0,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        _require_packages()
        _check_choices(usage_shape, reasoning_rule)
        vocabulary = vocabulary or choose_vocabulary()
        self._ledger = Ledger()
        self._host, self._port, self._idle_s = host, port, idle_s
        self._server: LoopbackServer | None = None
        self._desk: Any = None
        self.connections = 0
        self.service = Service(
            vocabulary=vocabulary,
            judge=_judge(validator, vocabulary, reasoning_rule, context_tokens),
            replies=ReplyQueue(replies),
            faults=FaultQueue(faults, rate=fault_rate, seed=seed, mix=fault_mix),
            cache=PrefixCache(delay_s=cache_delay_s, ttl_s=cache_ttl_s, interval_tokens=cache_interval_tokens),
            gate=ConcurrencyGate(concurrency_limit),
            speed=TimeModel(prefill_tokens_per_s=prefill_tokens_per_s, tokens_per_s=tokens_per_s),
            api_key=api_key,
            keep_alive_s=keep_alive_s,
            usage_shape=usage_shape,
            balance=dict(balance) if balance is not None else {"CNY": "110.00"},
        )

    def __repr__(self) -> str:
        state = self.url if self._server is not None else "stopped"
        return f"<Emulator {state}, {len(self.requests)} requests>"

    @property
    def url(self) -> str:
        """The base URL of the plain paths, such as `http://127.0.0.1:8000`; add `/beta` for the others."""
        return f"http://{self.address}"

    @property
    def address(self) -> str:
        """Where it listens: host and port."""
        return f"{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port; 0 until the first start if the system chooses. A later start takes the same one."""
        return self._port

    @property
    def requests(self) -> list[RecordedRequest]:
        """What arrived, in order."""
        return self._ledger.requests

    @property
    def in_flight(self) -> int:
        """The number of requests for completions in flight."""
        return self.service.gate.in_flight

    @property
    def replies(self) -> Replies:
        """What the model says; may be set at any time, which drops what was queued."""
        return self.service.replies.source

    @replies.setter
    def replies(self, replies: Replies) -> None:
        self.service.replies.source = replies

    @property
    def faults(self) -> Faults:
        """What goes wrong; may be set at any time, which drops what was queued."""
        return self.service.faults.source

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self.service.faults.source = faults

    @property
    def balance(self) -> Mapping[str, str]:
        """The account's money by currency; may be set at any time."""
        return self.service.balance

    @balance.setter
    def balance(self, balance: Mapping[str, str]) -> None:
        self.service.balance = dict(balance)

    @property
    def concurrency_limit(self) -> int | None:
        """The most requests in flight; may be set at any time."""
        return self.service.gate.limit

    @concurrency_limit.setter
    def concurrency_limit(self, limit: int | None) -> None:
        self.service.gate.limit = limit

    def script(self, *replies: ReplyLike | ReplyFunction) -> None:
        """
        Queue more replies, one per request; they go before a reply for every request.

        Args:
            *replies: Strings, `Reply` objects, callables, or None for an echo.
        """
        self.service.replies.add(replies)

    def inject(self, *faults: FaultLike) -> None:
        """
        Queue more faults, one per request; they go before a fault for every request.

        Args:
            *faults: Faults, names of the menu, or None for a healthy request.
        """
        self.service.faults.add(faults)

    def forget(self) -> None:
        """Drop the recorded requests and the persisted prefixes."""
        self._ledger.requests.clear()
        self.service.cache.clear()

    def wait_until_idle(self, timeout_s: float = 5.0) -> bool:
        """
        Wait until every request that arrived has its outcome.

        Args:
            timeout_s: The longest to wait, in seconds.

        Returns:
            Whether all have.
        """
        return self._ledger.wait_until_idle(timeout_s)

    def start(self) -> Self:
        """
        Listen.

        Returns:
            The emulator itself.

        Raises:
            RuntimeError: It is running already.
            OSError: It cannot listen there.
        """
        if self._server is not None:
            raise RuntimeError("the emulator is running already")
        from deepseek_sdk.testing.app import Desk, build_app  # noqa: PLC0415 - starlette and uvicorn are an extra
        from deepseek_sdk.testing.server import LoopbackServer  # noqa: PLC0415 - the same

        # Now, or the first request would wait for it and clocks would run out.
        self.service.vocabulary.load()
        desk = Desk(self.service, self._ledger)
        server = LoopbackServer(
            build_app(desk), host=self._host, port=self._port, on_connect=self._count, idle_s=self._idle_s
        )
        self._port = server.start()
        self._server, self._desk = server, desk
        return self

    def stop(self) -> None:
        """End every connection and wait until nothing is left; harmless when stopped."""
        server, self._server = self._server, None
        if server is not None:
            self._desk.is_stopping = True
            server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        from anyio import to_thread  # noqa: PLC0415 - only who needs it pays for it

        return await to_thread.run_sync(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from anyio import CancelScope, to_thread  # noqa: PLC0415 - as above

        # A cancelled test still has to end its server.
        with CancelScope(shield=True):
            await to_thread.run_sync(self.stop)

    def _count(self) -> None:
        self.connections += 1


def _require_packages() -> None:
    if not all(importlib.util.find_spec(name) for name in ("starlette", "uvicorn")):
        from deepseek_sdk.errors import MissingExtraError  # noqa: PLC0415 - it loads openai

        raise MissingExtraError("the emulator", "testing")


def _check_choices(usage_shape: str, reasoning_rule: str) -> None:
    if usage_shape not in {"finish", "own_chunk", "both"}:
        raise ValueError(f"usage_shape is 'finish', 'own_chunk' or 'both', not {usage_shape!r}")
    if reasoning_rule not in REASONING_RULES:
        raise ValueError(f"reasoning_rule is one of {', '.join(REASONING_RULES)}, not {reasoning_rule!r}")


def _judge(validator: str, vocabulary: Vocabulary, reasoning_rule: str, context_tokens: int) -> Judge:
    is_recipe = validator == "recipe" or (validator == "auto" and importlib.util.find_spec("deepseek_recipe"))
    if is_recipe:
        from deepseek_sdk.testing.recipe_judge import RecipeJudge as Chosen  # noqa: PLC0415 - no wheel everywhere
    else:
        from deepseek_sdk.testing.own_judge import OwnJudge as Chosen  # type: ignore[assignment] # noqa: PLC0415
    return Chosen(vocabulary, reasoning_rule=reasoning_rule, context_tokens=context_tokens)
