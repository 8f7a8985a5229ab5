"""An answer as it is kept: whether it may be, and all that is known of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._version import __version__
from deepseek_sdk.caching.admission import finding_of, refusal
from deepseek_sdk.caching.entry import Entry
from deepseek_sdk.caching.identity import query_of
from deepseek_sdk.caching.key import last_text, partition_key
from deepseek_sdk.caching.pieces import cut
from deepseek_sdk.caching.question import UNASKED
from deepseek_sdk.errors import trace_id
from deepseek_sdk.structured.judging import judge
from deepseek_sdk.structured.wish import wish_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk._call import Call
    from deepseek_sdk._record import Record
    from deepseek_sdk._sse import Event
    from deepseek_sdk.caching.admission import Limits
    from deepseek_sdk.caching.expiry import Expiry
    from deepseek_sdk.caching.question import Question
    from deepseek_sdk.structured.schemas import Validators

__all__ = ["Answered", "is_as_wanted", "made"]

# What stages write into the record where the prompt was cut, or another model was asked.
_FITTED, _LIGHTENED = "token_budget:", "spend_budget:"


class Answered(NamedTuple):
    """
    What came of an upstream call.

    Attributes:
        call: It; its record tells how it went.
        content: The JSON answer, as a plain call gets it.
        events: The events of a stream, or None.
        is_sound: The structure is as the request wants it.
        began_ms: When it was asked, in milliseconds since 1970.
    """

    call: Call
    content: bytes
    events: Sequence[Event] | None
    is_sound: bool
    began_ms: int


def made(answered: Answered, question: Question, *, expiry: Expiry, limits: Limits) -> tuple[Entry | None, str | None]:
    """
    Make of an answer what is kept.

    Args:
        answered: What came.
        question: What was asked.
        expiry: How long answers are kept.
        limits: What is too much.

    Returns:
        What is kept, or why nothing is, in one word.
    """
    answer = json.loads(answered.content)
    call, record = answered.call, answered.call.record
    finding = finding_of(
        answer,
        call.body,
        size=len(answered.content),
        is_degraded=record.degradation > 0 or not _is_from_the_first(call) or _says(record, _LIGHTENED),
        is_cut_prompt=_says(record, _FITTED),
    )
    refused = refusal(finding, limits)
    if refused is None and not (answered.is_sound or call.is_stream):
        refused = "invalid"
    return (None, refused) if refused is not None else (_entry(answered, question, answer, expiry), None)


def is_as_wanted(body: Mapping[str, Any], content: bytes, validators: Validators) -> bool:
    """
    Judge an answer by what the request asks of its structure.

    Args:
        body: The request.
        content: The JSON answer.
        validators: What schemas are checked with.

    Returns:
        Whether it can be given to anyone who asks the same.
    """
    wish = wish_of(body)
    if wish is None:
        return True
    verdict = judge(wish, content, validators)
    return verdict.finding is None and not verdict.edits


def _says(record: Record, word: str) -> bool:
    return any(line.startswith(word) for line in record.repairs)


def _is_from_the_first(call: Call) -> bool:
    """Tell whether who was asked for is who answered: what another model says is no answer to this request."""
    if not call.targets or not call.record.attempts:
        return True
    account = call.record.attempts[-1].account
    return account is None or account == call.targets[0].account


def _partition(call: Call, question: Question) -> str:
    """Tell with which others a question is compared: as the semantic tier sees it, where there is one."""
    if question.wording is not None:
        return question.wording.place
    return partition_key(call.path, call.body, tenant=question.tenant, params=query_of(call))


def _entry(answered: Answered, question: Question, answer: Any, expiry: Expiry) -> Entry:
    call, record = answered.call, answered.call.record
    last = record.attempts[-1] if record.attempts else None
    model = last.model if last is not None else call.model
    tags = tuple(record.tags.items())
    return Entry(
        key=question.key,
        partition=_partition(call, question),
        tenant=question.tenant,
        asked=record.asked or call.model,
        model=model,
        route="" if last is None else last.route,
        text=last_text(call.body),
        answer=answered.content,
        pieces=None if answered.events is None else _pieces(answered.events, answered.content),
        is_judged=answered.is_sound,
        finish_reason=answer["choices"][0]["finish_reason"],
        usage=json.dumps(answer["usage"]) if answer.get("usage") else None,
        cost=_cost(record),
        created_ms=answered.began_ms,
        expires_ms=expiry.expires_ms(
            key=question.key,
            asked=record.asked,
            model=model,
            tags=tags,
            created_ms=answered.began_ms,
            ttl_cap_s=question.control.ttl_s,
        ),
        tags=tags,
        provenance=(*_provenance(call, record), *([] if question.wants_usage else [UNASKED])),
    )


def _pieces(events: Sequence[Event], content: bytes) -> bytes:
    return cut([event.json() for event in events if not event.is_done], content)


def _cost(record: Record) -> str | None:
    cost = record.cost()
    if cost is None:
        return None
    amounts = {name: None if amount is None else str(amount) for name, amount in (("cny", cost.cny), ("usd", cost.usd))}
    return json.dumps({**amounts, "tier": cost.tier, "price_version": cost.price_version})


def _provenance(call: Call, record: Record) -> tuple[tuple[str, str], ...]:
    told = {
        "sdk": __version__,
        "path": call.path,
        "stream": "true" if call.is_stream else "false",
        "attempts": str(len(record.attempts)),
        "request_id": record.id,
        "trace_id": None if record.headers is None else trace_id(record.headers),
    }
    return tuple((name, value) for name, value in told.items() if value is not None)
