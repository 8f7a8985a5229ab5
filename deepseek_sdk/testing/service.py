"""The emulated service: from a request that arrived to the script of its answer."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import refusals
from deepseek_sdk.testing.answer import joined, plan_answer
from deepseek_sdk.testing.encoding import Envelope, encode_answer, usage_block
from deepseek_sdk.testing.fault_effects import blunt_script, is_blunt, rewritten_script, streams_instead
from deepseek_sdk.testing.fim import fim_job
from deepseek_sdk.testing.job import SERVED_MODELS, Job, chat_job
from deepseek_sdk.testing.replies import Reply, as_reply, echo, echo_middle
from deepseek_sdk.testing.script import Script, json_script
from deepseek_sdk.testing.vocabulary import THOUGHT_END

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk.testing.answer import Answer
    from deepseek_sdk.testing.encoding import UsageShape
    from deepseek_sdk.testing.faults import Fault, FaultQueue
    from deepseek_sdk.testing.job import Judge
    from deepseek_sdk.testing.prefix_cache import PrefixCache
    from deepseek_sdk.testing.recording import RecordedRequest
    from deepseek_sdk.testing.replies import ReplyQueue
    from deepseek_sdk.testing.time_model import ConcurrencyGate, TimeModel
    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["Performance", "Service"]

# Longer bodies are counted in a thread, so that one of them does not hold up every other answer.
_LONG_BODY = 32 * 1024
_FORGOTTEN: Callable[[], None] = lambda: None  # noqa: E731 - a value, not a function of its own


@dataclass(frozen=True, slots=True)
class Performance:
    """
    An answer to give.

    Attributes:
        script: What to do on the wire.
        completed: To be called when the answer has been given in full.
    """

    script: Script
    completed: Callable[[], None] = _FORGOTTEN


@dataclass(slots=True, kw_only=True)
class Service:
    """
    Decide how each request is answered.

    Attributes:
        vocabulary: Counts and cuts text.
        judge: Validates chat requests and counts their prompts.
        replies: What the model says.
        faults: What goes wrong.
        cache: The persisted prefixes.
        gate: How many requests may be in flight.
        speed: How long the model takes.
        api_key: The only key that is let in; None lets everyone in.
        keep_alive_s: Seconds of silence after which a keep-alive is sent; None for none.
        usage_shape: Where the usage of a stream stands.
        balance: The account's money by currency; nothing is answered when there is none.
    """

    vocabulary: Vocabulary
    judge: Judge
    replies: ReplyQueue
    faults: FaultQueue
    cache: PrefixCache
    gate: ConcurrencyGate
    speed: TimeModel
    api_key: str | None
    keep_alive_s: float | None
    usage_shape: UsageShape
    balance: Mapping[str, str]
    is_loaded: bool = False

    def look_up(self, request: RecordedRequest, what: str) -> Script:
        """
        Answer a request that only reads.

        Args:
            request: The request.
            what: `models` or `balance`.

        Raises:
            Refusal: The key is wrong.
        """
        self._check_key(request)
        return json_script(_models() if what == "models" else self._balance())

    async def complete(self, request: RecordedRequest, *, is_chat: bool, is_beta: bool, is_within: bool) -> Performance:
        """
        Answer a request for a completion.

        Args:
            request: The request.
            is_chat: Whether it is a chat, not a fill-in-the-middle.
            is_beta: Whether it came to a beta path.
            is_within: Whether it is within the concurrency limit.

        Raises:
            Refusal: The live API would refuse it.
        """
        fault = self.faults.take(request)
        # The fault is taken even if the key is wrong, so that the list stays in step with the requests.
        self._check_key(request)
        request.fault = fault.name if fault is not None else None
        if is_blunt(fault) and fault is not None:
            body = request.body if isinstance(request.body, dict) else {}
            return Performance(blunt_script(fault, is_stream=bool(body.get("stream"))))
        self._check_account(is_within=is_within)
        body = _decoded(request)
        job = await self._job(request, body, is_chat=is_chat, is_beta=is_beta)
        return await self._answer(request, body, job, fault)

    def _check_key(self, request: RecordedRequest) -> None:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if self.api_key is not None and (scheme.lower() != "bearer" or key != self.api_key):
            raise refusals.wrong_key(key or None, str(uuid.uuid4()))

    def _check_account(self, *, is_within: bool) -> None:
        if not is_within and self.gate.limit is not None:
            raise refusals.too_many(self.gate.in_flight, self.gate.limit)
        if not self._is_solvent():
            raise refusals.insufficient_balance()

    async def _job(self, request: RecordedRequest, body: dict[str, Any], *, is_chat: bool, is_beta: bool) -> Job:
        def judged() -> Job:
            if not is_chat:
                return fim_job(body, request.raw, self.vocabulary)
            return chat_job(body, self.judge.judge(body, request.raw, is_beta=is_beta))

        # At the first request, not at the start: many emulators never count anything.
        if not self.is_loaded:
            await asyncio.to_thread(self.vocabulary.load)
            self.is_loaded = True
        job = await asyncio.to_thread(judged) if len(request.raw) > _LONG_BODY else judged()
        request.prompt_tokens = len(job.ids)
        return job

    async def _answer(
        self, request: RecordedRequest, body: Mapping[str, Any], job: Job, fault: Fault | None
    ) -> Performance:
        reply = await self._reply(request, body, job)
        now = time.monotonic()
        # Caches are isolated by account and, inside it, by `user_id` (context caching guide).
        owner = (request.headers.get("authorization", ""), body.get("user_id"), job.model)
        hit = request.cache_hit_tokens = self.cache.lookup(owner, job.ids, now=now)
        asked = request.last_user_text
        answer = plan_answer(job, reply, self.vocabulary, asked=asked, salt=f"{request.number} {asked}")
        request.completion_tokens = answer.completion_tokens
        envelope = self._envelope(reply, uncached=len(job.ids) - hit)
        # The input is persisted once it has been read; the output follows when it has been written.
        self.cache.store(owner, job.ids, now=now + envelope.first_token_s)
        script = self._script(job, answer, reply, envelope, fault, hit)
        return Performance(script, lambda: self._persist_output(owner, body, job, answer))

    def _script(
        self, job: Job, answer: Answer, reply: Reply, envelope: Envelope, fault: Fault | None, hit: int
    ) -> Script:
        job = replace(job, is_stream=streams_instead(fault, is_stream=job.is_stream))
        usage = usage_block(job, answer, reply, hit_tokens=hit)
        return rewritten_script(fault, encode_answer(job, answer, reply, envelope, usage))

    def _envelope(self, reply: Reply, *, uncached: int) -> Envelope:
        return Envelope(
            id=str(uuid.uuid4()),
            created=int(time.time()),
            first_token_s=self.speed.prefill_s(uncached) + reply.wait_s,
            token_s=self.speed.writing_s(1),
            keep_alive_s=self.keep_alive_s,
            usage_shape=self.usage_shape,
        )

    async def _reply(self, request: RecordedRequest, body: Mapping[str, Any], job: Job) -> Reply:
        source: Any = self.replies.take()
        if callable(source):
            # A plain callable may block, say on an event of its test; the other answers go on meanwhile.
            is_async = inspect.iscoroutinefunction(source)
            source = source(request) if is_async else await asyncio.to_thread(source, request)
            source = await source if inspect.isawaitable(source) else source
        return as_reply(source) or _echo(request, body, job)

    def _persist_output(self, owner: object, body: Mapping[str, Any], job: Job, answer: Answer) -> None:
        # After a prefix the tokens around the seam are not those of a later prompt; the input has been persisted.
        if not job.is_chat or body["messages"][-1].get("prefix"):
            return
        if answer.calls:
            ids = self.judge.ids_with_answer(body, answer.message)
        else:
            thought = [*self.vocabulary.ids(joined(answer.reasoning)), THOUGHT_END] if job.thinks_now else []
            ids = [*job.ids, *thought, *self.vocabulary.ids(joined(answer.content))]
        self.cache.store(owner, ids, now=time.monotonic())

    def _is_solvent(self) -> bool:
        return any(Decimal(amount) > 0 for amount in self.balance.values())

    def _balance(self) -> dict[str, Any]:
        infos = [
            {
                "currency": currency,
                "total_balance": amount,
                "granted_balance": "0.00",
                "topped_up_balance": amount,
            }
            for currency, amount in self.balance.items()
        ]
        return {"is_available": self._is_solvent(), "balance_infos": infos}


def _models() -> dict[str, Any]:
    data = [{"id": name, "object": "model", "owned_by": "deepseek"} for name in SERVED_MODELS]
    return {"object": "list", "data": data}


def _decoded(request: RecordedRequest) -> dict[str, Any]:
    if isinstance(request.body, dict):
        return request.body
    try:
        value = json.loads(request.raw)
    except json.JSONDecodeError as error:
        raise refusals.unparsable(error.msg, line=error.lineno, column=error.colno) from error
    except UnicodeDecodeError as error:
        raise refusals.unparsable("invalid unicode code point", line=1, column=error.start + 1) from error
    raise refusals.malformed(f"invalid type: {type(value).__name__}, expected an object", raw=request.raw)


def _echo(request: RecordedRequest, body: Mapping[str, Any], job: Job) -> Reply:
    if not job.is_chat:
        return echo_middle(body["prompt"], body.get("suffix") or "")
    return echo(request.last_user_text, is_json=job.is_json, forced_tool=job.forced_tool)
