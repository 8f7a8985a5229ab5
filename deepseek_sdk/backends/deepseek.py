"""What is peculiar to DeepSeek's endpoints: which of its hosts a request belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk._wire import host_and_path

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["guarded_path", "is_deepseek", "request_url"]

_GUARDED = ("/chat/completions", "/completions")
_ROOT_ONLY = ("/models", "/user/balance")
_SURFACES = ("/beta", "/v1", "/anthropic")


class HasBaseURL(Protocol):
    """An openai client, as far as this module is concerned."""

    @property
    def base_url(self) -> Any:
        """Where it sends its requests."""
        ...


def guarded_path(method: str, url: str) -> str | None:
    """
    Tell whether a request goes through the pipeline.

    Args:
        method: Its HTTP method.
        url: Where openai's client sends it, relative or absolute.

    Returns:
        "/chat/completions" or "/completions", or None for any other request.
    """
    if method.lower() != "post":
        return None
    if url in _GUARDED:
        return url
    path = "/" + url.partition("?")[0].strip("/")
    # The longer name ends with the shorter one, so it is asked for first.
    return next((guarded for guarded in _GUARDED if path.endswith(guarded)), None)


def is_deepseek(base_url: object) -> bool:
    """
    Tell whether an endpoint has DeepSeek's hosts: its own, or one that is addressed the same way, without a path.

    Args:
        base_url: The client's base URL.

    Returns:
        Whether `/beta` can be asked there.
    """
    host, path = host_and_path(base_url)
    return host == "deepseek.com" or host.endswith(".deepseek.com") or path in ("", "/beta", "/anthropic")


def request_url(client: HasBaseURL, url: str, body: Mapping[str, Any] | None) -> str:
    """
    Choose the host of a request: prefix completion, FIM and strict tools live under `/beta`, account data at the root.

    Args:
        client: The client; its base URL is looked at only where that matters: parsing it takes longer than the rest.
        url: Where openai's client sends the request.
        body: The request, or None where it has none.

    Returns:
        *url*, or an absolute URL on the right host.
    """
    # FIM, chat prefix completion and strict mode are served at https://api.deepseek.com/beta only (API reference).
    is_beta = body is not None and (url == "/completions" or _is_prefix(body) or _is_strict(body))
    is_moved = url.startswith("/") and (is_beta or url in _ROOT_ONLY) and is_deepseek(client.base_url)
    return f"{_root(client.base_url)}{'/beta' if is_beta else ''}{url}" if is_moved else url


def _root(base_url: object) -> str:
    text = str(base_url).rstrip("/")
    return next((text.removesuffix(surface) for surface in _SURFACES if text.endswith(surface)), text)


def _is_prefix(body: Mapping[str, Any]) -> bool:
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return isinstance(last, dict) and last.get("role") == "assistant" and last.get("prefix") is True


def _is_strict(body: Mapping[str, Any]) -> bool:
    tools = body.get("tools")
    functions = [tool.get("function") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return any(isinstance(function, dict) and function.get("strict") is True for function in functions)
