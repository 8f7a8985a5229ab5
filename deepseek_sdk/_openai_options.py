"""The keywords of openai's constructors that are passed on as they are, for type checkers and editors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    import openai

__all__ = ["CopyOptions", "OpenAIOptions"]


class OpenAIOptions(TypedDict, total=False):
    """What `openai.OpenAI` and `openai.AsyncOpenAI` take besides key, endpoint and HTTP client."""

    admin_api_key: str | None
    data_residency: Any
    default_headers: Mapping[str, str] | None
    default_query: Mapping[str, object] | None
    max_retries: int
    organization: str | None
    project: str | None
    provider: Any
    timeout: float | openai.Timeout | openai.NotGiven | None
    webhook_secret: str | None
    websocket_base_url: Any
    workload_identity: Any
    _enforce_credentials: bool
    _strict_response_validation: bool


class CopyOptions(OpenAIOptions, total=False):
    """What `copy()` of openai's clients takes."""

    api_key: Any
    base_url: Any
    http_client: Any
    set_default_headers: Mapping[str, str] | None
    set_default_query: Mapping[str, object] | None
    _extra_kwargs: Mapping[str, Any]
