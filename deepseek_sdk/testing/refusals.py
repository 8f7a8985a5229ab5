"""
What the live API says when it refuses a request: every text of it, in one place.

Texts are quoted from captured answers; the few that nobody has captured are marked as ours.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Refusal",
    "context_overflow",
    "insufficient_balance",
    "invalid",
    "malformed",
    "no_such_path",
    "status_body",
    "too_many",
    "wrong_key",
]

MISSING_REASONING = "The `reasoning_content` in the thinking mode must be passed back to the API."
FORCED_TOOL_IN_THINKING = "Thinking mode does not support this tool_choice"
RESPONSE_FORMAT = "This response_format type is unavailable now"
EMPTY_MESSAGES = "Empty input messages"
NEITHER_CONTENT_NOR_CALLS = "Invalid assistant message: content or tool_calls must be set"
TOOL_RESULTS_MISSING = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "(insufficient tool messages following tool_calls message)"
)
TOOL_WITHOUT_CALL = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
JSON_WORD = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
SEVERAL_CHOICES = "Invalid n value (currently only n = 1 is supported)"
STREAM_OPTIONS = "stream_options should be set along with stream = true"
TOOLS_WITH_PREFIX = "Function call should not be used with prefix"
MISPLACED_PREFIX = (
    "Invalid completion message: prefix set true with message which is not final message "
    "or message role is not assistant"
)
# Ours: no answer of the live API to these was ever published.
PREFIX_NEEDS_BETA = "The prefix field is a beta feature: use base_url https://api.deepseek.com/beta"
MIXED_STRICT = "Strict mode needs `strict: true` on every function of the request"
TOO_MANY_TOOLS = "Invalid 'tools': array too long. Expected an array with maximum length 128, but got {} instead."
LONG_TOOL_NAME = "Invalid 'tools[{}].function.name': string too long. Expected a string with maximum length 64."
LONG_USER_ID = "Invalid user_id: it may take no more than 512 bytes"

_STATUS_TEXTS = {
    400: ("Invalid request", "invalid_request_error"),
    401: ("Authentication Fails, Your api key: ****test is invalid", "authentication_error"),
    402: ("Insufficient Balance", "unknown_error"),
    404: ("Not Found. Please check the configuration.", "invalid_request_error"),
    408: ("Request Timeout", "timeout_error"),
    409: ("Conflict", "invalid_request_error"),
    413: ("Request Entity Too Large", "invalid_request_error"),
    422: ("Failed to deserialize the JSON body into the target type", "invalid_request_error"),
    429: ("Rate limit reached", "rate_limit_error"),
    500: ("Internal Server Error", "server_error"),
    502: ("Bad Gateway", "server_error"),
    503: ("Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.",
          "service_unavailable_error"),
    504: ("Gateway Timeout", "server_error"),
}  # fmt: skip


class Refusal(Exception):  # noqa: N818 - an answer of the server, no failure of ours
    """
    The server refuses the request.

    Attributes:
        status: The HTTP status.
        body: The body, to be sent as JSON.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(status, body)
        self.status = status
        self.body = body


def invalid(message: str) -> Refusal:
    """Refuse with a 400 that says *message*."""
    return Refusal(400, _error(message, "invalid_request_error"))


def malformed(detail: str, *, raw: bytes = b"", path: str = "", at: str = "") -> Refusal:
    """
    Refuse a body that does not have the shape of a request.

    Args:
        detail: What is wrong with it.
        raw: The body as it arrived, to find the column in.
        path: Where in the body, such as `messages[1]`.
        at: The offending text inside *raw*.
    """
    where = f"{path}: " if path else ""
    column = raw.find(at.encode()) + len(at.encode()) + 1 if at else len(raw)
    return invalid(
        f"Failed to deserialize the JSON body into the target type: {where}{detail} at line 1 column {max(column, 1)}"
    )


def unparsable(detail: str, *, line: int, column: int) -> Refusal:
    """Refuse a body that is no JSON."""
    return invalid(f"Failed to parse the request body as JSON: {detail} at line {line} column {column}")


def unknown_model(model: object, served: tuple[str, ...]) -> Refusal:
    """Refuse a *model* that is not *served*."""
    return invalid(f"The supported API model names are {', '.join(served)}, but you passed {model}.")


def out_of_range(name: str, limits: str) -> Refusal:
    """Refuse a number outside its *limits*, such as `[0, 2]`."""
    return invalid(f"Invalid {name} value, the valid range of {name} is {limits}")


def context_overflow(limit: int, *, prompt: int, completion: int) -> Refusal:
    """Refuse a prompt that does not fit the window together with its completion."""
    return invalid(
        f"This model's maximum context length is {limit} tokens. However, you requested {prompt + completion} tokens "
        f"({prompt} in the messages, {completion} in the completion). "
        "Please reduce the length of the messages or completion."
    )


def wrong_key(key: str | None, request_id: str) -> Refusal:
    """Refuse a *key* that is not the account's; None stands for no key at all."""
    if key is None:
        message = "Authentication Fails (auth header format should be Bearer sk-...)"
    else:
        message = f"Authentication Fails, Your api key: ****{key[-4:]} is invalid (request_id: {request_id})"
    return Refusal(401, _error(message, "authentication_error"))


def insufficient_balance() -> Refusal:
    """Refuse because the account is empty."""
    return Refusal(402, _error("Insufficient Balance", "unknown_error"))


def no_such_path() -> Refusal:
    """Refuse a path that is not served; the body has another shape than all others."""
    return Refusal(404, status_body(404))


def too_many(current: int, limit: int) -> Refusal:
    """Refuse because *current* requests in flight are more than *limit*."""
    message = (
        f"Your current concurrency is {current}, which exceeds your concurrency limit of {limit} based on your "
        "remaining balance. Please top up your balance to restore your concurrency."
    )
    return Refusal(429, _error(message, "rate_limit_error"))


def status_body(status: int, message: str | None = None) -> dict[str, Any]:
    """Return the body that goes with *status*; None takes the usual *message*."""
    usual, kind = _STATUS_TEXTS.get(status, (f"Status {status}", "unknown_error"))
    if status == HTTPStatus.NOT_FOUND:
        return {"error_msg": message or usual}
    return _error(message or usual, kind)


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": "invalid_request_error"}}
