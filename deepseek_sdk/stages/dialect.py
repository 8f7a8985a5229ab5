"""Ask each server in its own way, and nothing that it would refuse."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import openai

from deepseek_sdk._rejections import rejected_here
from deepseek_sdk.backends.deepseek import is_deepseek
from deepseek_sdk.routing.models import RETIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._pipeline import Proceed
    from deepseek_sdk._reply import Reply
    from deepseek_sdk.dialect.choice import DialectName
    from deepseek_sdk.dialect.finding import Body, Finding
    from deepseek_sdk.dialect.request import Images, MissingReasoning

__all__ = ["Dialect"]


class Dialect:
    """
    Mends what the server behind a route would refuse, or raises what it would have answered; see `CallOptions.lint`.

    Args:
        on_missing_reasoning: How a history is mended that lacks the reasoning it must bring back: "error" not at all,
            "disable_thinking" by doing without thinking, "placeholder" by a text of its own for each turn.
        images: How images are mended where the model reads none: "error" not at all, "placeholder" by a text.
    """

    def __init__(
        self, *, on_missing_reasoning: MissingReasoning = "disable_thinking", images: Images = "error"
    ) -> None:
        # With a client, not with the library; and not with its first call, which may be one of an event loop.
        from deepseek_sdk.dialect.choice import dialect_of  # noqa: PLC0415  see above
        from deepseek_sdk.dialect.examine import examined  # noqa: PLC0415  likewise
        from deepseek_sdk.dialect.request import Policy  # noqa: PLC0415  likewise

        self._dialect_of, self._examined = dialect_of, examined
        self._policy = Policy(on_missing_reasoning=on_missing_reasoning, images=images)

    async def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """Answer a call as its server wants to be asked."""
        if call.options.lint == "off" or (dialect := self._dialect_of(call.upstream, call.model)) == "openai":
            return await proceed(call)
        if dialect == "deepseek" and "response_format" in call.body and (by_tool := _by_tool(call)) is not None:
            with contextlib.suppress(openai.BadRequestError):
                return await self._answered_by_tool(by_tool, proceed)
            # What the schema may hold is not all written down: a format that is always taken is left.
            _note(
                call,
                ["response_format: the strict tool was refused; json_object and the schema in words are asked for"],
            )
        return await proceed(self._fitted(call, dialect))

    async def _answered_by_tool(self, call: Call, proceed: Proceed) -> Reply:
        from deepseek_sdk.structured.strict_tool import raised_from_tool  # noqa: PLC0415  few calls need it

        reply = await proceed(self._fitted(call, "deepseek"))
        # The caller asked for content: the arguments of the call are that.
        reply.check_with(raised_from_tool)
        return reply

    def _fitted(self, call: Call, dialect: DialectName) -> Call:
        is_foreign = call.model in RETIRED and not _is_served_by_deepseek(call)
        policy = replace(self._policy, keeps_names=True) if is_foreign else self._policy
        body, findings = self._examined(call.body, policy, dialect=dialect, path=call.path)
        return _settled(call, body, findings) if findings else call


def _is_served_by_deepseek(call: Call) -> bool:
    account = getattr(call.upstream, "account", None)
    return account is not None and is_deepseek(account.base_url)


def _by_tool(call: Call) -> Call | None:
    """Ask for a schema by a strict tool, to which the server holds the model, where that is possible."""
    given = call.body.get("response_format")
    if given is None or call.is_stream or call.options.lint == "strict" or call.path != "/chat/completions":
        return None
    from deepseek_sdk.structured.strict_tool import lowered_to_tool  # noqa: PLC0415  few calls need it

    body = lowered_to_tool(call.body)
    # Elsewhere than under /beta strict does nothing.
    if body is None or not _is_served_by_deepseek(call):
        return None
    _note(call, ["response_format: json_schema is not served by chat completions; a strict tool is asked for instead"])
    return call.replace(body=body)


def _settled(call: Call, body: Body, findings: Sequence[Finding]) -> Call:
    is_strict = call.options.lint == "strict"
    errors = [finding for finding in findings if finding.severity == "error"]
    refused = [finding for finding in errors if is_strict or (finding.repair is None and finding.is_certain)]
    if refused:
        raise _refusal(call, refused)
    # Strict changes nothing that the server would take, but says what it has to in the server's way.
    done = [finding for finding in findings if finding.repair is not None]
    if is_strict and not all(finding.severity == "note" for finding in done):
        return call
    _tell(call, done)
    return call.replace(body=body) if done else call


def _refusal(call: Call, refused: Sequence[Finding]) -> Exception:
    first = refused[0]
    message = "; ".join(_in_words(finding) for finding in refused)
    return rejected_here(first.kind, message, param=first.places[0], call=call, **first.facts)


def _in_words(finding: Finding) -> str:
    # What mending does is no advice where nothing is mended.
    how = finding.fix if finding.repair is None else f'lint="repair": {finding.fix}'
    return f"{finding.message} ({how})"


def _tell(call: Call, done: Sequence[Finding]) -> None:
    from deepseek_sdk.dialect.models import RETIRED_MODEL  # noqa: PLC0415  loaded by now

    _note(call, [finding.line for finding in done])
    for finding in done:
        if finding.code == RETIRED_MODEL:
            _deprecate(f"{finding.message}; {finding.fix}")


def _note(call: Call, lines: Sequence[str]) -> None:
    repairs = call.record.repairs
    # A call may pass here again, on its way to another route or with another question.
    repairs.extend(line for line in lines if line not in repairs)


def _deprecate(message: str) -> None:
    """Warn where the caller's own code is: by default nobody sees a warning about ours."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("deepseek_sdk", "openai"):
        frame = frame.f_back
    if frame is None:
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return
    module = frame.f_globals.get("__name__", "")
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    place = frame.f_code.co_filename, frame.f_lineno
    warnings.warn_explicit(message, DeprecationWarning, *place, module=module, registry=registry)
