"""`client.tokens`: counting and fitting, in both colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import openai

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.routing.models import DEFAULT_MODEL
from deepseek_sdk.tokens.drift import Drift

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.tokens.counter import Counter, TokenCount
    from deepseek_sdk.tokens.drift import DriftReport
    from deepseek_sdk.tokens.fitting import CutMemory, Fit, TokenBudget
    from deepseek_sdk.tokens.vocabulary import Piece

__all__ = ["AsyncTokens", "Tokens"]

T = TypeVar("T")


class Tokens:
    """
    Counts and fits requests.

        client.tokens.count(messages, tools=tools).total        what the service will bill
        client.tokens.count(prompt="def f(", suffix=")").total  fill-in-the-middle
        client.tokens.count_text("Hello")                       a text alone
        client.tokens.fit(messages, budget=TokenBudget(policy="history"))   made to fit

    Args:
        counter: Gives the counter, made at the first use.
        drift: Compares counts with bills; None makes one.
        cuts: Where cuts are remembered; None: nowhere.
    """

    def __init__(
        self, counter: Callable[[], Counter], drift: Drift | None = None, cuts: CutMemory | None = None
    ) -> None:
        self._counter = counter
        self._drift = Drift() if drift is None else drift
        self._cuts = cuts

    def load(self) -> None:
        """Read the vocabulary now, which takes half a second, instead of at the first count."""
        self._counter().load()

    def count(
        self,
        messages: Iterable[Any] | None = None,
        *,
        model: str = DEFAULT_MODEL,
        tools: Iterable[Any] | None = None,
        tool_choice: Any = None,
        response_format: Any = None,
        prompt: str | Sequence[str] | None = None,
        suffix: str | None = None,
        reasoning_effort: str | None = None,
        thinking: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> TokenCount:
        """
        Count the prompt of a request, given as `create()` takes it.

        Args:
            messages: The conversation; answers may be in it as they came.
            model: Who would answer it.
            tools: The functions offered.
            tool_choice: Which of them may be called.
            response_format: The form of the answer.
            prompt: What stands before the hole, for a completion.
            suffix: What stands after it.
            reasoning_effort: How hard to think.
            thinking: Whether to think, `{"type": "disabled"}`; it may stand in *extra_body*, too.
            extra_body: Further fields of the request.
            fields: Arguments of `create()` that no prompt depends on, such as *temperature*.

        Returns:
            The count.

        Raises:
            TypeError: There are neither messages nor a prompt.
            ConfigurationError: One of them is of another type; the message names it.
        """
        if _is_given(extra_body) and not isinstance(extra_body, Mapping):
            raise ConfigurationError(f"extra_body must be a mapping or None, not {type(extra_body).__name__}")
        if isinstance(messages, str):
            raise ConfigurationError("messages must be a list of messages, not a text; for that there is count_text()")
        named = {
            "messages": messages,
            "model": model,
            "tools": tools,
            "tool_choice": tool_choice,
            "response_format": response_format,
            "prompt": prompt,
            "suffix": suffix,
            "reasoning_effort": reasoning_effort,
            "thinking": thinking,
        }
        # openai lets extra_body overrule what is named, too.
        return self._counter().count(_body({**named, **fields, **(extra_body or {})}))

    def count_text(self, text: str) -> int:
        """Count a text alone: plain characters, without any template."""
        _check_text("text", text)
        return self._counter().count_text(text)

    def pieces(self, text: str) -> Sequence[Piece]:
        """Cut a text at its tokens, but never inside a character."""
        _check_text("text", text)
        return self._counter().pieces(text)

    def fit(self, messages: Iterable[Any], *, budget: TokenBudget, model: str = DEFAULT_MODEL, **fields: Any) -> Fit:
        """
        Make a conversation fit; one that has grown is cut where it was cut before, as long as that is enough.

        Args:
            messages: The conversation.
            budget: How long it may be, and what to leave out.
            model: Who would answer it.
            fields: The other arguments of `create()`, such as *tools* and *max_tokens*.

        Returns:
            The messages that fit, and what was removed.

        Raises:
            ContextOverflowError: It is too long, and nothing may be left out.
            ConfigurationError: An argument is of another type; the message names it.
        """
        from deepseek_sdk.tokens.fitting import TokenBudget, fit  # noqa: PLC0415  only who fits needs it

        if not isinstance(budget, TokenBudget):
            raise ConfigurationError(f"budget must be a TokenBudget, not {budget!r}")
        body = _body({"messages": messages, "model": model, **fields})
        return fit(body, budget, self._counter(), memory=self._cuts)

    def drift(self) -> dict[str, DriftReport]:
        """Give, by model, how counts compare with what the service told, for calls that were counted before."""
        return self._drift.reports()


class AsyncTokens:
    """
    Counts and fits requests in a thread: the event loop goes on meanwhile. See `Tokens`.

    Args:
        counter: Gives the counter, made at the first use.
        drift: Compares counts with bills; None makes one.
        cuts: Where cuts are remembered; None: nowhere.
    """

    def __init__(
        self, counter: Callable[[], Counter], drift: Drift | None = None, cuts: CutMemory | None = None
    ) -> None:
        self._tokens = Tokens(counter, drift, cuts)

    async def load(self) -> None:
        """Read the vocabulary now; with `tokenizers` alone the loop stands still for half a second."""
        await _in_thread(self._tokens.load)

    async def count(
        self,
        messages: Iterable[Any] | None = None,
        *,
        model: str = DEFAULT_MODEL,
        tools: Iterable[Any] | None = None,
        tool_choice: Any = None,
        response_format: Any = None,
        prompt: str | Sequence[str] | None = None,
        suffix: str | None = None,
        reasoning_effort: str | None = None,
        thinking: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> TokenCount:
        """Count the prompt of a request, given as `create()` takes it; see `Tokens.count()`."""
        return await _in_thread(
            partial(
                self._tokens.count,
                messages,
                model=model,
                tools=tools,
                tool_choice=tool_choice,
                response_format=response_format,
                prompt=prompt,
                suffix=suffix,
                reasoning_effort=reasoning_effort,
                thinking=thinking,
                extra_body=extra_body,
                **fields,
            )
        )

    async def count_text(self, text: str) -> int:
        """Count a text alone: plain characters, without any template."""
        return await _in_thread(partial(self._tokens.count_text, text))

    async def pieces(self, text: str) -> Sequence[Piece]:
        """Cut a text at its tokens, but never inside a character."""
        return await _in_thread(partial(self._tokens.pieces, text))

    async def fit(
        self, messages: Iterable[Any], *, budget: TokenBudget, model: str = DEFAULT_MODEL, **fields: Any
    ) -> Fit:
        """Make a conversation fit; see `Tokens.fit()`."""
        return await _in_thread(partial(self._tokens.fit, messages, budget=budget, model=model, **fields))

    def drift(self) -> dict[str, DriftReport]:
        """Give, by model, how counts compare with what the service told, for calls that were counted before."""
        return self._tokens.drift()


async def _in_thread(work: Callable[[], T]) -> T:
    import anyio.to_thread  # noqa: PLC0415  the sync client does without

    # Who is cancelled need not wait for a count that nobody wants any more.
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _body(fields: Mapping[str, Any]) -> dict[str, Any]:
    body = {name: _plain(value) for name, value in fields.items() if _is_given(value)}
    if "messages" not in body and "prompt" not in body:
        raise TypeError("count() needs messages or a prompt")
    _check_body(body, fields)
    return body


def _check_body(body: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    _check_messages(body.get("messages", []))
    _check_prompt(body.get("prompt", ""))
    if "suffix" in body:
        _check_text("suffix", fields["suffix"])
    if not isinstance(body.get("tools", []), list):
        raise ConfigurationError(f"tools must be a list of tools, not {type(fields['tools']).__name__}")


def _check_messages(messages: Any) -> None:
    # What a conversation says is not for logs: errors tell types alone.
    if not isinstance(messages, list):
        raise ConfigurationError(f"messages must be a list of messages, not {type(messages).__name__}")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise ConfigurationError(f"messages[{index}] must be a message, not {type(message).__name__}")


def _check_prompt(prompt: Any) -> None:
    if not isinstance(prompt, str | list):
        raise ConfigurationError(f"prompt must be a string or a list of strings, not {type(prompt).__name__}")
    if isinstance(prompt, list):
        for index, text in enumerate(prompt):
            _check_text(f"prompt[{index}]", text)


def _check_text(name: str, text: Any) -> None:
    if not isinstance(text, str):
        raise ConfigurationError(f"{name} must be a string, not {type(text).__name__}")


def _is_given(value: Any) -> bool:
    return value is not None and not isinstance(value, openai.NotGiven | openai.Omit)


def _plain(value: Any) -> Any:
    """Turn a value into JSON as openai does on the way to the wire."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type) and hasattr(value, "model_json_schema"):
        return {"type": "json_schema", "json_schema": {"schema": value.model_json_schema()}}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(value, Mapping):
        made = {name: _plain(item) for name, item in value.items()}
        return value if isinstance(value, dict) and _is_same(made.values(), value.values()) else made
    if not isinstance(value, Iterable):
        return value
    items = list(value)
    plain = [_plain(item) for item in items]
    return value if isinstance(value, list) and _is_same(plain, items) else plain


def _is_same(made: Iterable[Any], given: Iterable[Any]) -> bool:
    # What needs no change is passed on as it is: who fits a conversation may look whether he got it back.
    return all(one is other for one, other in zip(made, given, strict=True))
