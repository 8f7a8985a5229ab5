"""Numbers, and other fields of a request that stand for themselves."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

from deepseek_sdk.dialect.finding import Finding, without
from deepseek_sdk.errors import InvalidRequestError, MaxTokensError, StopSequencesError

if TYPE_CHECKING:
    from deepseek_sdk.dialect.finding import Body, Kind, Repair
    from deepseek_sdk.dialect.request import Request

__all__ = [
    "MAX_TOKENS",
    "completion_logprobs",
    "completion_max_tokens",
    "frequency_penalty",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "parallel_tool_calls",
    "presence_penalty",
    "several_choices",
    "stop_sequences",
    "stream_options",
    "temperature",
    "too_many_stops",
    "top_logprobs",
    "top_p",
    "user_id",
]

# "the valid range of max_tokens is [1, 393216]" (the service's refusal); fill-in-the-middle writes at most 4K (guide).
MAX_TOKENS = 393_216
_MAX_FIM_TOKENS = 4096
_MOST_STOPS = 16
_MOST_LOGPROBS = 20
_MOST_USER_BYTES = 512
# 0 is outside of the range (0, 1], and this means the same: the likeliest token only.
_SMALLEST_TOP_P = 1e-6


def _set(body: Body, **fields: Any) -> Body:
    return {**body, **fields}


def _dropped(name: str) -> Repair:
    return lambda body: without(body, name)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finding(
    name: str,
    message: str,
    fix: str,
    *,
    code: str = "",
    repair: Repair | None = None,
    kind: Kind = InvalidRequestError,
    **facts: Any,
) -> Finding:
    """Make a finding about one field."""
    return Finding(code=code or name, places=(name,), message=message, fix=fix, repair=repair, kind=kind, facts=facts)


def _limited(request: Request, most: int) -> Finding | None:
    value = request.body["max_tokens"]
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most):
        return None
    is_above = _is_number(value) and value > most
    return _finding(
        "max_tokens",
        f"max_tokens must be from 1 to {most}, not {value!r}",
        f"{most} is sent" if is_above else "send a whole number from 1 up",
        repair=partial(_set, max_tokens=most) if is_above else None,
        kind=MaxTokensError,
        minimum=1,
        maximum=most,
    )


def max_tokens(request: Request) -> Finding | None:
    """Find a limit of the answer that is out of range; more than can be is as much as can be."""
    return _limited(request, MAX_TOKENS)


def completion_max_tokens(request: Request) -> Finding | None:
    """Find the same for fill-in-the-middle."""
    return _limited(request, _MAX_FIM_TOKENS)


def max_completion_tokens(request: Request) -> Finding | None:
    """Find OpenAI's newer name for max_tokens: the service takes it, and does not limit the answer."""
    value = request.body["max_completion_tokens"]
    if value is None or request.body.get("max_tokens") is not None:
        return None
    return _finding(
        "max_completion_tokens",
        "max_completion_tokens is ignored by the service",
        "it is sent as max_tokens",
        repair=lambda body: {**without(body, "max_completion_tokens"), "max_tokens": value},
        kind=MaxTokensError,
        minimum=1,
        maximum=MAX_TOKENS,
    )


def several_choices(request: Request) -> Finding | None:
    """Find a request for more answers than one."""
    value = request.body["n"]
    if value is None or value == 1:
        return None
    return _finding("n", f"n must be 1, not {value!r}", "ask several times, at the same time if need be")


def too_many_stops(request: Request) -> Finding | None:
    """Find more stop sequences than the service takes; which of them matter only the caller knows."""
    stop = request.body["stop"]
    if not isinstance(stop, (list, tuple)) or len(stop) <= _MOST_STOPS:
        return None
    kept = list(dict.fromkeys(text for text in stop if text))
    return _finding(
        "stop",
        f"{len(stop)} stop sequences are more than {_MOST_STOPS}",
        f"the {len(kept)} different ones are sent" if len(kept) <= _MOST_STOPS else "send fewer",
        repair=partial(_set, stop=kept) if len(kept) <= _MOST_STOPS else None,
        kind=StopSequencesError,
        count=len(stop),
    )


def stop_sequences(request: Request) -> Finding | None:
    """Find stop sequences without a character."""
    stop = request.body["stop"]
    texts = [stop] if isinstance(stop, str) else stop
    if not isinstance(texts, (list, tuple)) or "" not in texts:
        return None
    kept = [text for text in texts if text != ""]
    repair = partial(_set, stop=kept) if kept else _dropped("stop")
    return _finding("stop", "a stop sequence is empty", "it is left out", code="empty_stop", repair=repair)


def logprobs(request: Request) -> Finding | None:
    """Find the number that completions take where chats want a boolean."""
    value = request.body["logprobs"]
    if value is None or isinstance(value, bool):
        return None
    is_number = isinstance(value, int)
    return _finding(
        "logprobs",
        f"logprobs must be true or false, not {value!r}",
        f"{bool(value)!r} is sent; top_logprobs says how many" if is_number else "send true or false",
        repair=partial(_set, logprobs=bool(value)) if is_number else None,
    )


def completion_logprobs(request: Request) -> Finding | None:
    """Find more alternatives than completions give."""
    value = request.body["logprobs"]
    if not isinstance(value, int) or value <= _MOST_LOGPROBS:
        return None
    message, fix = f"logprobs must be from 0 to {_MOST_LOGPROBS}, not {value!r}", f"{_MOST_LOGPROBS} is sent"
    return _finding("logprobs", message, fix, repair=partial(_set, logprobs=_MOST_LOGPROBS))


def top_logprobs(request: Request) -> Finding | None:
    """Find more alternatives than the service gives, or alternatives without `logprobs`."""
    value, wanted = request.body["top_logprobs"], request.body.get("logprobs")
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is None or (is_count and value <= _MOST_LOGPROBS and wanted):
        return None
    message = f"top_logprobs must be from 0 to {_MOST_LOGPROBS}, with logprobs, not {value!r}"
    if not is_count:
        return _finding("top_logprobs", message, "send a whole number from 0 up")
    if not value or wanted is False:
        return _finding("top_logprobs", message, "it is left out", repair=_dropped("top_logprobs"))
    most = min(value, _MOST_LOGPROBS)
    fix, repair = f"{most} is sent, with logprobs", partial(_set, logprobs=True, top_logprobs=most)
    return _finding("top_logprobs", message, fix, repair=repair)


def stream_options(request: Request) -> Finding | None:
    """Find options of a stream where none is asked for."""
    if request.body["stream_options"] is None or request.body.get("stream"):
        return None
    message = "stream_options go with stream=True only"
    return _finding("stream_options", message, "they are left out", repair=_dropped("stream_options"))


def temperature(request: Request) -> Finding | None:
    """Find a temperature that is out of range."""
    value = request.body["temperature"]
    if not _is_number(value) or 0 <= value <= 2:  # noqa: PLR2004  the documented range
        return None
    return _finding("temperature", f"temperature must be from 0 to 2, not {value!r}", "choose one in between")


def top_p(request: Request) -> Finding | None:
    """Find a share of the likeliest tokens that is out of range; elsewhere 0 is allowed."""
    value = request.body["top_p"]
    if not _is_number(value) or 0 < value <= 1:
        return None
    return _finding(
        "top_p",
        f"top_p must be above 0 and at most 1, not {value!r}",
        "choose one in between" if value else f"{_SMALLEST_TOP_P} is sent",
        repair=None if value else partial(_set, top_p=_SMALLEST_TOP_P),
    )


def frequency_penalty(request: Request) -> Finding | None:
    """Find a penalty that is out of range."""
    return _penalty(request, "frequency_penalty")


def presence_penalty(request: Request) -> Finding | None:
    """Find a penalty that is out of range."""
    return _penalty(request, "presence_penalty")


def _penalty(request: Request, name: str) -> Finding | None:
    value = request.body[name]
    if not _is_number(value) or -2 <= value <= 2:  # noqa: PLR2004  the documented range
        return None
    # "Deprecated: accepted, without effect" (chat reference).
    fix = "it is left out, it has no effect"
    return _finding(name, f"{name} must be from -2 to 2, not {value!r}", fix, repair=_dropped(name))


def user_id(request: Request) -> Finding | None:
    """Find a name of a user that is too long; its hash tells users apart as well."""
    value = request.body["user_id"]
    if not isinstance(value, str) or len(value) * 4 <= _MOST_USER_BYTES:
        return None
    encoded = value.encode("utf-8", "replace")
    if len(encoded) <= _MOST_USER_BYTES:
        return None
    hashed = hashlib.sha256(encoded).hexdigest()
    message = f"user_id takes {len(encoded)} bytes, more than {_MOST_USER_BYTES}"
    return _finding("user_id", message, "its hash is sent", repair=partial(_set, user_id=hashed))


def parallel_tool_calls(request: Request) -> Finding | None:
    """Find a switch that is none; the service ignores it in any case."""
    value = request.body["parallel_tool_calls"]
    if value is None or isinstance(value, bool):
        return None
    message = f"parallel_tool_calls must be true or false, not {value!r}"
    return _finding("parallel_tool_calls", message, "it is left out", repair=_dropped("parallel_tool_calls"))
