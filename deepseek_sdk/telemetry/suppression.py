"""How other instrumentations of openai are told to leave a call out: one call is one inference."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

import openai
from opentelemetry import context as otel

if TYPE_CHECKING:
    from opentelemetry.context import Context

__all__ = ["Attached", "caller_context", "is_request_patched", "suppressing"]

# Where a context keeps the one that the caller had: what runs inside of a call is not to be left out.
_CALLER = "deepseek_sdk.caller_context"
# Who reads which: OpenTelemetry's own instrumentations and OpenInference the key of the API, whose name is random;
# Traceloop that, and a word of its own; the successor of OpenTelemetry's the key of its own library.
_API_KEY = getattr(otel, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
_KEYS = (_API_KEY, "suppress_instrumentation", "suppress_language_model_instrumentation")
_GENAI_KEY = "opentelemetry.genai.client.inference.context"
_GENAI_MODULE = "opentelemetry.util.genai.invocation"


class Attached:
    """
    A context that is the current one inside of a `with` block.

    It is taken off by putting back the one before, not by its token: a coroutine may be closed in another task, or by
    the garbage collector, where the token is refused, and the API would log an error. There it was not put on.
    """

    __slots__ = ("_before", "_context")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._before: Context | None = None

    def __enter__(self) -> None:
        self._before = otel.get_current()
        otel.attach(self._context)

    def __exit__(self, *_: object) -> None:
        if self._before is not None and otel.get_current() is self._context:
            otel.attach(self._before)


def suppressing(context: Context | None = None) -> Context:
    """
    Make a context in which other instrumentations leave calls of openai out.

    Args:
        context: Which it is made of; None: the current one.

    Returns:
        The context.
    """
    context = otel.get_current() if context is None else context
    values: dict[str, object] = {_CALLER: context, **context, **dict.fromkeys(_KEYS, True)}
    genai = sys.modules.get(_GENAI_MODULE)
    if genai is not None and hasattr(genai, "InferenceData"):
        values[_GENAI_KEY] = genai.InferenceData()
    return otel.Context(values)


def caller_context() -> Context:
    """
    Give the context that the caller of a call had.

    Returns:
        It: the current one, or where that was made to suppress others, the one it was made of.
    """
    current = otel.get_current()
    found: Any = current.get(_CALLER)
    return current if found is None else found


def is_request_patched() -> bool:
    """
    Tell whether an instrumentation sees every request that is sent, not only what the caller asks for.

    Returns:
        Whether openai's `request()` is something else than a function.
    """
    return type(openai.OpenAI.request) is not FunctionType or type(openai.AsyncOpenAI.request) is not FunctionType
