"""
The errors of deepseek_sdk, and what may be done about each.

Every class is a `DeepSeekError` and, at the same time, the `openai` type that programs catch already, on the right:

    DeepSeekError
      ConfigurationError                openai.OpenAIError, ValueError
        MissingExtraError               ImportError
        PriceFileError
        RuleFileError
      InvalidRequestError               openai.BadRequestError, ValueError
      RequestRejectedError              openai.BadRequestError
        ContextOverflowError
        EmptyMessageError
        ImagesUnsupportedError
        MaxTokensError
        ReasoningMissingError
        ResponseFormatError
        StopSequencesError
        ToolChoiceInThinkingError
        ToolOrderError
        UnknownModelError
      InsufficientBalanceError          openai.APIStatusError
      ConcurrencyLimitError             openai.RateLimitError
      LimiterTimeoutError               openai.RateLimitError
      BudgetExceededError               openai.RateLimitError
      CircuitOpenError                  openai.APIConnectionError
      NoRuleError                       openai.APIConnectionError
      DeadlineError                     openai.APITimeoutError
        FirstTokenTimeout
        QueueTimeoutError
        StallTimeout
        TotalTimeout
      StreamInterruptedError            openai.APIConnectionError
        SystemResourceError
        UnknownFinishReasonError
      ServerEventError                  openai.APIError
      EmptyAnswerError                  openai.APIResponseValidationError
      MalformedResponseError            openai.APIResponseValidationError
      OutputInvalidError                openai.APIResponseValidationError
      ReasoningBudgetExhausted          openai.LengthFinishReasonError
      LedgerError                       openai.OpenAIError
      CacheMissError                    openai.NotFoundError

Errors that `openai` raises itself (`AuthenticationError`, `InternalServerError`, `APIConnectionError`, ...) pass
through as they are. `classify()` answers for all of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import openai

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from decimal import Decimal

    from deepseek_sdk._attempt import Attempt
    from deepseek_sdk.resilience.account import Account

    HeldBy = Literal["concurrency", "rpm", "tpm"]

__all__ = [
    "REASONS",
    "BudgetExceededError",
    "CacheMissError",
    "CircuitOpenError",
    "ConcurrencyLimitError",
    "ConfigurationError",
    "ContextOverflowError",
    "DeadlineError",
    "DeepSeekError",
    "Disposition",
    "EmptyAnswerError",
    "EmptyMessageError",
    "FirstTokenTimeout",
    "ImagesUnsupportedError",
    "InsufficientBalanceError",
    "InvalidRequestError",
    "LedgerError",
    "LimiterTimeoutError",
    "MalformedResponseError",
    "MaxTokensError",
    "MissingExtraError",
    "NoRuleError",
    "OutputInvalidError",
    "Partial",
    "PriceFileError",
    "QueueTimeoutError",
    "ReasoningBudgetExhausted",
    "ReasoningMissingError",
    "RequestRejectedError",
    "ResponseFormatError",
    "RuleFileError",
    "ServerEventError",
    "StallTimeout",
    "StopSequencesError",
    "StreamInterruptedError",
    "SystemResourceError",
    "ToolChoiceInThinkingError",
    "ToolOrderError",
    "TotalTimeout",
    "UnknownFinishReasonError",
    "UnknownModelError",
    "classify",
    "redact",
    "refine",
    "rejected",
    "trace_id",
    "unread",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """
    What had arrived of an answer when it failed: a true prefix of it, of choice 0.

        Partial(text="The capital is")          the answer so far
        Partial(reasoning="First, ...")         it was still thinking
        Partial(tool_calls=({...},))            OpenAI's shape; the last one's arguments may be cut
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text or self.reasoning or self.tool_calls)


class DeepSeekError(Exception):
    """
    The base of everything this library raises on its own account.

    Attributes:
        partial: What had arrived of the answer.
        attempts: Every upstream attempt of the call, in order.
        trace_id: The server's id of the request, for support, or None.
    """

    partial: Partial = Partial()
    attempts: Sequence[Attempt] = ()
    trace_id: str | None = None


class ConfigurationError(DeepSeekError, openai.OpenAIError, ValueError):
    """An argument of a constructor or a setting cannot be used; the message names it."""


class MissingExtraError(ConfigurationError, ImportError):
    """A feature needs packages that are not installed; the message holds the install line."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs packages that are not installed. "
            f"Run: python -m pip install 'deepseek-client-sdk[{extra}]'"
        )
        self.feature = feature
        self.extra = extra


class PriceFileError(ConfigurationError):
    """
    A file of prices cannot be used; the message names the table and the key.

    Attributes:
        path: The file.
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class RuleFileError(ConfigurationError):
    """
    A file of rules cannot be used.

    Attributes:
        problems: Everything that is wrong with it, each with the file, the line, the column and the rule.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class InvalidRequestError(DeepSeekError, openai.BadRequestError, ValueError):
    """An argument of a call cannot be right; nothing was sent. *param* names the argument."""

    def __init__(self, message: str, *, param: str, response: Any) -> None:
        kind = "invalid_request_error"
        super().__init__(
            message, response=response, body={"message": message, "type": kind, "param": param, "code": kind}
        )


class RequestRejectedError(DeepSeekError, openai.BadRequestError):
    """The server refused the request with a 400 whose text is known; each subclass says which rule was broken."""

    hint: ClassVar[str] = ""

    def __init__(self, error: openai.APIStatusError, facts: Mapping[str, Any]) -> None:
        message = f"{error.message.rstrip('.')}. {self.hint}" if self.hint else error.message
        super().__init__(message, response=error.response, body=error.body)
        self.trace_id = trace_id(error.response.headers)
        for name, value in facts.items():
            setattr(self, name, value)


class ContextOverflowError(RequestRejectedError):
    """
    Prompt and *max_tokens* together exceed the model's window.

    Attributes:
        limit: The window, in tokens.
        requested: What the request asked for in all, in tokens, or None where the text does not say.
        in_messages: Tokens of the prompt, or None.
        in_completion: Tokens reserved by *max_tokens*, or None.
    """

    hint = "Shorten the messages or lower max_tokens: both count"
    limit: int
    requested: int | None = None
    in_messages: int | None = None
    in_completion: int | None = None


class EmptyMessageError(RequestRejectedError):
    """An assistant message has neither content nor tool calls."""

    hint = 'Send content "" rather than null'


class ImagesUnsupportedError(RequestRejectedError):
    """
    The model reads no images.

    Attributes:
        index: The message that holds the image, or None where the text does not say.
    """

    hint = "Use deepseek-flash for images, or leave them out of the history"
    index: int | None = None


class MaxTokensError(RequestRejectedError):
    """
    *max_tokens* is out of range.

    Attributes:
        minimum: The smallest value accepted, in tokens.
        maximum: The largest value accepted, in tokens.
    """

    minimum: int
    maximum: int


class ReasoningMissingError(RequestRejectedError):
    """
    With tools and thinking, every assistant message must carry its own `reasoning_content`, byte for byte.

    Attributes:
        index: The message that lacks it, or None where the text does not say.
    """

    hint = "Append the message object of the answer to your messages as it is: it keeps reasoning_content"
    index: int | None = None


class ResponseFormatError(RequestRejectedError):
    """The response format is not served here; chat completions know `text` and `json_object`."""

    hint = 'Use {"type": "json_object"} and describe the schema in the prompt, or a strict tool'


class StopSequencesError(RequestRejectedError):
    """
    Too many *stop* sequences; the API takes 16.

    Attributes:
        count: How many were sent.
    """

    hint = "At most 16 are accepted"
    count: int


class ToolChoiceInThinkingError(RequestRejectedError):
    """Thinking mode knows only the tool choices `auto` and `none`."""

    hint = 'Send extra_body={"thinking": {"type": "disabled"}} to force a tool'


class ToolOrderError(RequestRejectedError):
    """
    Tool messages do not match the calls before them: one per id, nothing between.

    Attributes:
        index: The message at fault, or None where the text does not say.
    """

    index: int | None = None


class UnknownModelError(RequestRejectedError):
    """
    The endpoint does not serve the model.

    Attributes:
        model: The name that was sent, or None where the text does not say.
        supported: The names it serves, as far as the text names them.
    """

    hint = "deepseek-chat and deepseek-reasoner were retired on 2026-07-24: use deepseek-flash or deepseek-v4-pro"
    model: str | None = None
    supported: tuple[str, ...] = ()


class InsufficientBalanceError(DeepSeekError, openai.APIStatusError):
    """The account has no balance left (402)."""

    def __init__(self, error: openai.APIStatusError) -> None:
        message = f"{error.message.rstrip('.')}. Top up the account; client.balance() shows what is left"
        super().__init__(message, response=error.response, body=error.body)
        self.trace_id = trace_id(error.response.headers)


class ConcurrencyLimitError(DeepSeekError, openai.RateLimitError):
    """
    More requests are in flight than the account may have (429).

    Attributes:
        current: How many were in flight, or None where the text does not say.
        limit: How many may be, or None. It shrinks with the balance.
    """

    def __init__(self, error: openai.APIStatusError, *, current: int | None, limit: int | None) -> None:
        super().__init__(error.message, response=error.response, body=error.body)
        self.trace_id = trace_id(error.response.headers)
        self.current = current
        self.limit = limit


class LimiterTimeoutError(DeepSeekError, openai.RateLimitError):
    """
    The client's own limiter did not let the call through in time; nothing was sent.

    Attributes:
        waited: How long it waited, in seconds.
        limit: How many calls may be in flight at a time.
        in_flight: How many were.
        held_by: What held it back: "concurrency", "rpm" or "tpm".
    """

    def __init__(
        self, *, response: Any, waited: float, limit: int, in_flight: int, held_by: HeldBy = "concurrency"
    ) -> None:
        what = f"{in_flight} of {limit} calls are in flight" if held_by == "concurrency" else f"{held_by} is used up"
        super().__init__(
            f"The call waited {waited:.1f} s for its turn: {what}. LimiterPolicy says how much there is",
            response=response,
            body=None,
        )
        self.waited = waited
        self.limit = limit
        self.in_flight = in_flight
        self.held_by = held_by


class BudgetExceededError(DeepSeekError, openai.RateLimitError):
    """
    A spend budget has no room for the call; nothing was sent.

    Attributes:
        budget: The name of the budget.
        scope: Whose it is, such as "user 42", or "all".
        unit: "CNY", "USD" or "tokens"; the four amounts are in it.
        limit: How much may be spent.
        spent: How much was.
        reserved: How much calls in flight may still spend.
        requested: How much this call may need.
        until: When the budget begins anew, in seconds since 1970, or None: never.
    """

    def __init__(
        self,
        *,
        response: Any,
        budget: str,
        scope: str,
        unit: str,
        limit: Decimal,
        spent: Decimal,
        reserved: Decimal,
        requested: Decimal,
        until: float | None,
    ) -> None:
        if requested > limit:
            # There is never enough room for it, so that waiting does not help.
            what = f"The call may need more than the whole budget {budget!r} of {scope}"
            amounts = f"{requested} {unit}, and the limit is {limit}; {spent} are spent, {reserved} reserved"
        else:
            end = "" if until is None else f" until {datetime.fromtimestamp(until, UTC):%Y-%m-%d %H:%M} UTC"
            what = f"The budget {budget!r} of {scope} is used up{end}"
            amounts = f"{spent} {unit} of {limit} are spent, {reserved} reserved, and the call may need {requested}"
        super().__init__(f"{what}: {amounts}", response=response, body=None)
        self.budget, self.scope, self.unit = budget, scope, unit
        self.limit, self.spent, self.reserved, self.requested = limit, spent, reserved, requested
        self.until = until


class CircuitOpenError(DeepSeekError, openai.APIConnectionError):
    """
    The circuit breaker is open because of the calls before, or the server asked for a pause; nothing was sent.

    Attributes:
        account: What is left alone: endpoint, model and credential.
        retry_in: When it is asked again, in seconds from now, or None where only a hand can close the circuit.
        is_cooling: The server has asked for the pause; it is not unhealthy.
        may_wait: The policy lets calls wait for it.
        reason: Why the circuit is open, such as "consecutive failures", or None.
    """

    def __init__(
        self,
        *,
        request: Any,
        account: Account,
        retry_in: float | None,
        is_cooling: bool,
        may_wait: bool = False,
        reason: str | None = None,
    ) -> None:
        where = f"{account.model} at {account.base_url}"
        what = f"{where} has asked for a pause" if is_cooling else f"The circuit breaker of {where} is open"
        why = f" ({reason})" if reason and not is_cooling else ""
        when = "" if retry_in is None else f"; it may be asked again in {retry_in:.1f} s"
        super().__init__(message=f"{what}{why}: nothing was sent{when}", request=request)
        self.account = account
        self.retry_in = retry_in
        self.is_cooling = is_cooling
        self.may_wait = may_wait
        self.reason = reason


class NoRuleError(DeepSeekError, openai.APIConnectionError):
    """No rule of a rule engine matches what is asked, and it has no default reply."""

    def __init__(self, *, request: Any) -> None:
        super().__init__(message="No rule matches the question, and the engine has no default reply", request=request)


class DeadlineError(DeepSeekError, openai.APITimeoutError):
    """
    A clock of the call ran out.

    Attributes:
        limit: The limit that was exceeded, in seconds, or None where it was the server's.
    """

    what: ClassVar[str] = "The call took too long"

    def __init__(self, *, request: Any, limit: float | None, partial: Partial | None = None) -> None:
        super().__init__(request)
        self.limit = limit
        self.partial = partial or Partial()
        seconds = "" if limit is None else f" within {limit:g} s"
        self.message = f"{self.what}{seconds}.{_arrived(self.partial)}"
        self.args = (self.message,)


class FirstTokenTimeout(DeadlineError):  # noqa: N818  a name of the public interface
    """No content, reasoning or tool call arrived in time; keep-alives and role chunks do not count."""

    what = "No first token"


class QueueTimeoutError(DeadlineError):
    """The server answered 200, sent only blank lines and closed: the request never left its queue."""

    what = "The server queued the request and closed without an answer"


class StallTimeout(DeadlineError):  # noqa: N818
    """The answer had begun and then nothing more of it arrived in time."""

    what = "The answer stalled: nothing new"


class TotalTimeout(DeadlineError):  # noqa: N818
    """The whole call took longer than `Deadlines.total`."""

    what = "The answer was not complete"


class StreamInterruptedError(DeepSeekError, openai.APIConnectionError):
    """
    The answer ended before it was complete: a cut, a reset, a malformed ending.

    What had arrived is in *partial*; the original exception, if there was one, is the `__cause__`.
    """

    def __init__(self, reason: str, *, request: Any, partial: Partial | None = None) -> None:
        self.partial = partial or Partial()
        super().__init__(message=f"{reason}.{_arrived(self.partial)}", request=request)


class SystemResourceError(StreamInterruptedError):
    """The server stopped the answer for lack of resources (finish_reason `insufficient_system_resource`)."""


class UnknownFinishReasonError(StreamInterruptedError):
    """
    The answer ended with a finish_reason that nobody knows, so it cannot be called complete.

    Attributes:
        finish_reason: The value the server sent.
    """

    finish_reason: object = None


class ServerEventError(DeepSeekError, openai.APIError):
    """
    The server reported an error inside an answer that had begun with status 200.

    Attributes:
        body: The error object, as sent.
    """

    def __init__(self, message: str, *, request: Any, body: object, partial: Partial | None = None) -> None:
        self.partial = partial or Partial()
        super().__init__(f"{message.rstrip('.')}.{_arrived(self.partial)}", request, body=body)


class EmptyAnswerError(DeepSeekError, openai.APIResponseValidationError):
    """The server said `stop` and sent no content, no reasoning and no tool call."""

    def __init__(self, *, response: Any) -> None:
        super().__init__(
            response, None, message="The answer is complete and empty: finish_reason is stop, with nothing in it"
        )


class MalformedResponseError(DeepSeekError, openai.APIResponseValidationError):
    """
    The body is not what the API sends: broken JSON, HTML, no choices.

    Attributes:
        raw: The text that could not be read, at most 2,000 characters.
    """

    def __init__(self, reason: str, *, raw: str, response: Any, partial: Partial | None = None) -> None:
        self.raw = raw[:2000]
        self.partial = partial or Partial()
        super().__init__(response, self.raw, message=f"{reason}: {self.raw[:200]!r}.{_arrived(self.partial)}")


class OutputInvalidError(DeepSeekError, openai.APIResponseValidationError):
    """
    The answer is not what the response format asks for, also after it was asked for once more.

    Attributes:
        kind: "empty", "truncated" or "invalid".
        problems: What is wrong, a line for each place.
        raw: The text of the answer.
    """

    def __init__(
        self, *, kind: Literal["empty", "truncated", "invalid"], problems: Sequence[str], raw: str, response: Any
    ) -> None:
        what = "; ".join(problems) or "nothing is in it"
        super().__init__(response, raw, message=f"The answer does not fit the response format ({kind}): {what}")
        self.kind = kind
        self.problems = tuple(problems)
        self.raw = raw


class ReasoningBudgetExhausted(DeepSeekError, openai.LengthFinishReasonError):  # noqa: N818  a name of the public interface
    """
    All of *max_tokens* went into reasoning, and the answer did not begin: give it more, or turn thinking off.

    Attributes:
        completion: What came.
    """


class LedgerError(DeepSeekError, openai.OpenAIError):
    """
    The ledger, or the file of budgets, cannot be used.

    Attributes:
        path: Its file.
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class CacheMissError(DeepSeekError, openai.NotFoundError):
    """
    The cache has no answer, and the call may ask nobody: `cache="only"`.

    Attributes:
        key: The key that the answer would be kept under, or None where the request cannot be kept.
    """

    def __init__(self, *, key: str | None, response: Any) -> None:
        message = "The cache has no answer to this request, and cache='only' asks nobody"
        super().__init__(message, response=response, body=None)
        self.key = key


def _arrived(partial: Partial) -> str:
    if not partial:
        return " Nothing of the answer had arrived."
    return f" {len(partial.text)} characters of text and {len(partial.reasoning)} of reasoning had arrived."


def trace_id(headers: Mapping[str, str]) -> str | None:
    """
    Find the server's id of a request.

    Args:
        headers: The headers of the response.

    Returns:
        DeepSeek's trace id, else a gateway's request id, else None.
    """
    for name in ("x-ds-trace-id", "x-request-id", "x-deepseek-request-id"):
        if headers.get(name):
            return headers[name]
    return None


# The texts stand in DeepSeek's error bodies; the service gives them no machine-readable code.
_REJECTIONS: tuple[tuple[str, type[RequestRejectedError], Callable[[re.Match[str]], dict[str, Any]]], ...] = (
    (
        (
            r"maximum context length is (\d{1,18})"
            r"(?:.*?requested (\d{1,18}) tokens(?: \((\d{1,18}) in the messages, (\d{1,18}))?)?"
        ),
        ContextOverflowError,
        lambda m: dict(zip(("limit", "requested", "in_messages", "in_completion"), _integers(m), strict=True)),
    ),
    (
        r"valid range of max_tokens is \[(\d{1,18}), ?(\d{1,18})\]",
        MaxTokensError,
        lambda m: dict(zip(("minimum", "maximum"), _integers(m), strict=True)),
    ),
    (
        r"reasoning_(?:content|text)`? .*must be passed back|Missing `reasoning_content`(?:.*index (\d{1,18}))?",
        ReasoningMissingError,
        lambda m: {"index": _integers(m)[0]},
    ),
    (r"does not support this tool_choice", ToolChoiceInThinkingError, lambda _: {}),
    (r"response_format type is unavailable", ResponseFormatError, lambda _: {}),
    (
        r"(?:messages\[(\d{1,18})\].*)?unknown variant `image_url`",
        ImagesUnsupportedError,
        lambda m: {"index": _integers(m)[0]},
    ),
    (
        r"supported API model names are (.+?),? but you passed `?(.+?)`?\.?$|Model Not Exist",
        UnknownModelError,
        lambda m: {"supported": tuple(re.split(r",\s*", m[1])) if m[1] else (), "model": m[2]},
    ),
    (r"Stop string array too long: (\d{1,18})", StopSequencesError, lambda m: {"count": int(m[1])}),
    (r"content or tool_calls must be set", EmptyMessageError, lambda _: {}),
    (r"tool_calls?'? must be followed by|'tool_calls'|tool_call_id", ToolOrderError, lambda _: {}),
)


# A shorter text is no key, and would be masked wherever it happens to stand.
_SHORTEST_KEY = 8

# "Your current concurrency is 40, which exceeds your concurrency limit of 39 based on your remaining balance."
_CONCURRENCY = (r"current concurrency is (\d{1,18})", r"concurrency limit of (\d{1,18})")


def _integers(match: re.Match[str]) -> list[int | None]:
    return [None if group is None else int(group) for group in match.groups()]


_STATUS_ERRORS: Mapping[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
}


def rejected(
    kind: type[RequestRejectedError], message: str, *, param: str, response: Any, **facts: Any
) -> RequestRejectedError:
    """
    Describe a request that the server would refuse, before it is sent.

    Args:
        kind: What is wrong.
        message: The same in words, without a full stop.
        param: Where in the request, such as "messages[3].content".
        response: A response that stands for the refusal.
        **facts: Attributes of *kind*.

    Returns:
        The error that the server's refusal would have become.
    """
    word = "invalid_request_error"
    body = {"message": message, "type": word, "param": param, "code": word}
    return kind(openai.BadRequestError(message, response=response, body=body), facts)


def unread(response: Any, cause: Exception) -> openai.APIStatusError:
    """
    Describe a refusal whose text could not be read: its status says enough.

    Args:
        response: It.
        cause: Why its text could not be read.

    Returns:
        The error that `openai` has for the status.
    """
    status = response.status_code
    kind = openai.InternalServerError if status >= 500 else _STATUS_ERRORS.get(status, openai.APIStatusError)  # noqa: PLR2004
    message = f"Error code: {status}; its text could not be read: {str(cause) or type(cause).__name__}"
    error = kind(message, response=response, body=None)
    error.__cause__ = cause
    return error


def refine(error: openai.APIStatusError) -> openai.APIStatusError:
    """
    Turn a status error of `openai` into the class that says what is wrong, where one exists.

    Args:
        error: What `openai` made of a 4xx or 5xx answer.

    Returns:
        A more telling error of the same `openai` type, or *error* itself.
    """
    if error.status_code == HTTPStatus.PAYMENT_REQUIRED:
        return InsufficientBalanceError(error)
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS and "concurrency" in error.message:
        current, limit = (re.search(text, error.message) for text in _CONCURRENCY)
        return ConcurrencyLimitError(error, current=current and int(current[1]), limit=limit and int(limit[1]))
    if error.status_code == HTTPStatus.BAD_REQUEST:
        return _rejection(error)
    return _with_text(error)


def _with_text(error: openai.APIStatusError) -> openai.APIStatusError:
    """Add the text of a body that openai does not know, such as DeepSeek's 404: {"error_msg": "..."}."""
    body = error.body if isinstance(error.body, dict) else {}
    text = next((body[name] for name in ("error_msg", "detail") if isinstance(body.get(name), str)), None)
    if text is not None and text not in error.message:
        error.message = f"{error.message} - {text}"
        error.args = (error.message,)
    return error


def redact(error: BaseException, secret: str) -> None:
    """
    Take a key out of an error that a server put it into.

    Args:
        error: It; changed in place.
        secret: The key.
    """
    if error.__cause__ is not None and error.__cause__ is not error:
        redact(error.__cause__, secret)
    if len(secret) < _SHORTEST_KEY or not isinstance(error, openai.OpenAIError):
        return
    mask = f"****{secret[-4:]}"
    error.args = tuple(_masked(argument, secret, mask) for argument in error.args)
    for name in ("message", "body", "raw"):
        if hasattr(error, name):
            setattr(error, name, _masked(getattr(error, name), secret, mask))


def _masked(value: Any, secret: str, mask: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, mask)
    if isinstance(value, dict):
        return {name: _masked(item, secret, mask) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, secret, mask) for item in value]
    return value


def _rejection(error: openai.APIStatusError) -> openai.APIStatusError:
    for pattern, kind, facts in _REJECTIONS:
        if found := re.search(pattern, error.message, re.DOTALL):
            return kind(error, facts(found))
    return error


@dataclass(frozen=True, slots=True, kw_only=True)
class Disposition:
    """
    What may be done about an error.

        Disposition(reason="server_error", retry=True, move_on=True, trips=True)

    Attributes:
        reason: One word for reports and metrics.
        retry: The same route may be asked again, as long as nothing of the answer was shown.
        move_on: Another route may answer.
        trips: It counts against the health of the route.
    """

    reason: str
    retry: bool = False
    move_on: bool = False
    trips: bool = False


_STATUS = {
    400: Disposition(reason="rejected"),
    401: Disposition(reason="authentication", move_on=True),
    402: Disposition(reason="balance", move_on=True),
    403: Disposition(reason="permission", move_on=True),
    404: Disposition(reason="not_found", move_on=True),
    408: Disposition(reason="server_timeout", retry=True, move_on=True, trips=True),
    409: Disposition(reason="conflict"),
    422: Disposition(reason="rejected"),
    # 429 says nothing about the health of a route: it feeds the limiter, never the breaker.
    429: Disposition(reason="rate_limit", retry=True, move_on=True),
    500: Disposition(reason="server_error", retry=True, move_on=True, trips=True),
    502: Disposition(reason="server_error", retry=True, move_on=True, trips=True),
    503: Disposition(reason="overloaded", retry=True, move_on=True, trips=True),
    504: Disposition(reason="server_timeout", retry=True, move_on=True, trips=True),
}

# The most specific class first: the first that fits decides.
_KINDS: tuple[tuple[type[BaseException], Disposition], ...] = (
    (ConfigurationError, Disposition(reason="configuration")),
    (InvalidRequestError, Disposition(reason="invalid_request")),
    (UnknownModelError, Disposition(reason="unknown_model", move_on=True)),
    (ContextOverflowError, Disposition(reason="context_overflow", move_on=True)),
    # What was not sent says nothing about the route.
    (BudgetExceededError, Disposition(reason="budget")),
    (LimiterTimeoutError, Disposition(reason="limiter_timeout", move_on=True)),
    (CircuitOpenError, Disposition(reason="circuit_open", move_on=True)),
    (NoRuleError, Disposition(reason="no_rule", move_on=True)),
    # A silent route is left, not asked again: it may be generating, and billing, all the same.
    (FirstTokenTimeout, Disposition(reason="first_token_timeout", move_on=True, trips=True)),
    (StallTimeout, Disposition(reason="stall", move_on=True, trips=True)),
    (TotalTimeout, Disposition(reason="total_timeout")),
    (QueueTimeoutError, Disposition(reason="queue_timeout", retry=True, move_on=True, trips=True)),
    (SystemResourceError, Disposition(reason="system_resource", retry=True, move_on=True, trips=True)),
    (UnknownFinishReasonError, Disposition(reason="unknown_finish_reason", move_on=True)),
    (StreamInterruptedError, Disposition(reason="interrupted", retry=True, move_on=True, trips=True)),
    (ServerEventError, Disposition(reason="server_event", retry=True, move_on=True, trips=True)),
    (EmptyAnswerError, Disposition(reason="empty_answer", retry=True, move_on=True)),
    (MalformedResponseError, Disposition(reason="malformed", move_on=True, trips=True)),
    # The stage that finds it asks again itself, and says what was wrong.
    (OutputInvalidError, Disposition(reason="invalid_output")),
    (ReasoningBudgetExhausted, Disposition(reason="reasoning_budget")),
    (LedgerError, Disposition(reason="ledger")),
    (CacheMissError, Disposition(reason="cache_miss")),
    # openai reports a connect time-out and a read time-out as one class; its cause tells them apart.
    (openai.APITimeoutError, Disposition(reason="timeout", move_on=True, trips=True)),
    (openai.APIConnectionError, Disposition(reason="connection", retry=True, move_on=True, trips=True)),
)

_CONNECT_TIMEOUT = Disposition(reason="connect_timeout", retry=True, move_on=True, trips=True)
# All connections of our own pool were in use: that says nothing about the server.
_POOL_TIMEOUT = Disposition(reason="pool_timeout", retry=True, move_on=True)
_UNKNOWN = Disposition(reason="unexpected")

# Every word that `classify()` may give as a reason.
REASONS = frozenset(
    row.reason for row in (*_STATUS.values(), *(row for _, row in _KINDS), _CONNECT_TIMEOUT, _POOL_TIMEOUT, _UNKNOWN)
)


def classify(error: BaseException) -> Disposition:
    """
    Say what may be done about an error.

    Args:
        error: Anything a call raised.

    Returns:
        The row of the table for it; an unknown error may not be retried, moved on from, or counted.
    """
    if type(error) is openai.APITimeoutError:
        cause = type(error.__cause__).__name__
        if cause in ("ConnectTimeout", "PoolTimeout"):
            return _CONNECT_TIMEOUT if cause == "ConnectTimeout" else _POOL_TIMEOUT
    if isinstance(error, ServerEventError) and error.type == "invalid_request_error":
        return _STATUS[400]
    for kind, disposition in _KINDS:
        if isinstance(error, kind):
            return disposition
    if isinstance(error, openai.APIStatusError):
        fallback = 500 if error.status_code > 500 else 400  # noqa: PLR2004
        return _STATUS.get(error.status_code, _STATUS[fallback])
    return _UNKNOWN
