"""Structured output: what is not what was asked for is mended where that is safe, and else asked for once more."""

from __future__ import annotations

import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk._reply import Reply
from deepseek_sdk._sse import Event
from deepseek_sdk._wire import stub_response
from deepseek_sdk.errors import OutputInvalidError, ReasoningBudgetExhausted, TotalTimeout, classify
from deepseek_sdk.structured.schemas import Validators, import_jsonschema, is_imported

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._wire import Upstream
    from deepseek_sdk.structured.judging import Finding
    from deepseek_sdk.structured.wish import Wish

__all__ = ["StructuredOutput"]


class StructuredOutput:
    """
    Lets a plain call that wants JSON, or calls of tools, have just that.

    An answer that is not what was wanted is mended here where nothing but its punctuation is wrong, and else asked for
    once more, with what was wrong; one that was cut is asked for once with more room. All of it stands in the report.
    Streams pass: openai parses them at their end.
    """

    def __init__(self) -> None:
        # With a client, not with the library; and not with its first call, which may be one of an event loop.
        from deepseek_sdk.structured.wish import wish_of  # noqa: PLC0415  see above

        self._validators, self._wish_of = Validators(), wish_of

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call in as many tries as it takes and may have."""
        wants = not call.is_stream and ("response_format" in call.body or "tools" in call.body)
        wish = self._wish_of(call.body, _parser(call)) if wants and _is_judged(call) else None
        if wish is None:
            return await proceed(call)
        return await _Tries(wish, call, proceed, self._validators).begin()


def _is_judged(call: Call) -> bool:
    body = call.body
    is_chat = call.path == "/chat/completions" and call.options.lint != "off"
    return is_chat and bool(body.get("response_format") or body.get("tools"))


def _parser(call: Call) -> Callable[[Any], Any] | None:
    """Find what the caller's `parse()` will make of the answer: openai's request carries it."""
    for target in call.targets:
        parse = getattr(getattr(target, "options", None), "post_parser", None)
        if callable(parse):
            return parse  # type: ignore[no-any-return]
    return None


class _Tries:
    """The tries of one call: at most one more because of what an answer said, and one more because it was cut."""

    def __init__(self, wish: Wish, call: Call, proceed: Proceed, validators: Validators) -> None:
        self._wish = wish
        self._call = call
        self._proceed = proceed
        self._validators = validators
        self._has_asked_again = False
        self._has_asked_larger = False
        # What is to be asked for otherwise; and the last answer that was judged, should no better one come.
        self._pending: Finding | None = None
        self._kept: tuple[Finding, bytes] | None = None

    async def begin(self) -> Reply:
        call = self._call
        if self._wish.wants_json:
            # An empty answer is asked for again in other words, which helps more than asking the same again.
            call = call.replace(options=replace(call.options, on_empty="accept"))
        reply = await self._proceed(call)
        if self._wish.needs_schemas and not is_imported():
            # While the answer is on its way.
            await call.io.offload(import_jsonschema)
        reply.check_with(partial(self._judge, weakref.ref(reply)))
        reply.rescue_with(self._rescue)
        return reply

    def _judge(self, held: weakref.ref[Reply], answer: bytes) -> bytes | None:
        from deepseek_sdk.structured.judging import judge  # noqa: PLC0415  few calls need it

        verdict = judge(self._wish, answer, self._validators)
        finding = verdict.finding
        if verdict.edits:
            self._note(f"mended: {', '.join(verdict.edits)}")
        if finding is None or (finding.kind == "empty" and self._call.options.on_empty == "accept"):
            return verdict.mended
        self._kept = (finding, answer)
        self._pending = finding if self._may_ask(finding) else None
        if self._pending is None and self._is_left(finding):
            self._note(f"left as it came: {finding.kind}")
            return None
        raise _error(finding, held())

    def _may_ask(self, finding: Finding) -> bool:
        from deepseek_sdk.structured.asking import larger_limit  # noqa: PLC0415  few calls need it

        # What answers in an emergency would say the same again.
        if self._call.record.degradation:
            return False
        if finding.kind == "truncated":
            is_first = self._wish.is_binding and not self._has_asked_larger
            return is_first and larger_limit(self._call.body, finding.answer) is not None
        is_loose = finding.tool is not None and self._wish.tools[finding.tool].get("strict") is not True
        return not (self._has_asked_again or is_loose)

    def _is_left(self, finding: Finding) -> bool:
        """Tell what the caller gets as it is: openai's `parse()` has an error of its own for what was cut."""
        if not self._wish.is_binding:
            return True
        return finding.kind == "truncated" and not finding.is_reasoning

    async def _rescue(self, reply: Reply, error: Exception) -> Reply | None:
        finding, self._pending = self._pending, None
        if finding is None:
            return self._instead(reply, error)
        call = self._next(finding)
        try:
            other = await self._proceed(call)
        except Exception as later:
            instead = self._instead(reply, later)
            if instead is None:
                raise
            return instead
        other.check_with(partial(self._judge, weakref.ref(reply)))
        return other

    def _next(self, finding: Finding) -> Call:
        """Choose what is asked after an answer that will not do; what is asked after that builds on it."""
        from deepseek_sdk.structured.asking import asked_again, asked_larger  # noqa: PLC0415  likewise

        larger = asked_larger(self._call.body, finding) if finding.kind == "truncated" else None
        if larger is None:
            self._has_asked_again = True
            self._note(f"asked again: the answer was {finding.kind}")
            self._call = self._call.replace(body=asked_again(self._call.body, finding))
        else:
            self._has_asked_larger = True
            self._note("asked again with more tokens: the answer was cut")
            self._call = self._call.replace(body=larger)
        return self._call

    def _instead(self, reply: Reply, error: Exception) -> Reply | None:
        """Choose what stands for a try that failed altogether: the answer before it, or what was wrong with that."""
        if self._kept is None or isinstance(error, OutputInvalidError | ReasoningBudgetExhausted):
            return None
        finding, answer = self._kept
        if self._is_left(finding):
            return None if _is_nothing(finding) else _replayed(reply, finding, answer)
        if isinstance(error, TotalTimeout):
            return None
        telling = _error(finding, reply)
        telling.add_note(f"It was asked for once more, and that failed: {classify(error).reason}")
        try:
            raise telling from error
        finally:
            # Its traceback holds this frame: the two would keep each other, and the call.
            del telling

    def _note(self, text: str) -> None:
        # Never what the answer said: reports go into logs.
        self._call.record.repairs.append(f"structured output: {text}")


def _is_nothing(finding: Finding) -> bool:
    """Tell an answer without a word, which is an error of its own."""
    return finding.kind == "empty" and not finding.answer["choices"][0]["message"].get("reasoning_content")


def _error(finding: Finding, reply: Reply | None) -> OutputInvalidError | ReasoningBudgetExhausted:
    from openai.types.chat import ChatCompletion  # noqa: PLC0415  few calls need it

    if finding.is_reasoning:
        return ReasoningBudgetExhausted(completion=ChatCompletion.construct(**finding.answer))
    where = "" if finding.tool is None else f"{finding.tool}: "
    problems = tuple(f"{where}{problem}" for problem in finding.problems)
    response = stub_response(200, "http://answer.invalid") if reply is None else reply.source.response
    return OutputInvalidError(kind=finding.kind, problems=problems, raw=finding.raw, response=response)


def _replayed(reply: Reply, finding: Finding, answer: bytes) -> Reply:
    """Give an answer that was turned down after all."""
    record = reply.call.record
    record.usage, record.finish_reason = finding.answer.get("usage"), finding.answer["choices"][0].get("finish_reason")
    record.repairs.append(f"structured output: left as it came: {finding.kind}")
    return Reply(reply.call, _Kept(reply.source.response, answer), reply.clock, reply._attempt)  # noqa: SLF001  ended


class _Kept:
    """An answer that has come already."""

    upstream: Upstream | None = None
    only_waited = False

    def __init__(self, response: Any, answer: bytes) -> None:
        self.response = response
        self._answer = answer

    async def pull(self, _until: float) -> list[Event]:
        return [Event(self._answer, self._answer, is_whole=True)]

    async def close(self, *, is_done: bool) -> None:
        """There is nothing to close."""

    def abort(self) -> None:
        """There is nothing to abort."""
