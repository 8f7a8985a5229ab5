"""One question put to the service, with an answer that Ctrl-C can end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk import report
from deepseek_sdk.cli._chat.talk import Answer
from deepseek_sdk.cli._numbers import milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk import Client
    from deepseek_sdk.cli._chat.keys import Interrupts
    from deepseek_sdk.cli._chat.view import AnswerView

__all__ = ["ask", "row_of"]


def ask(client: Client, request: Mapping[str, Any], view: AnswerView, interrupts: Interrupts) -> Answer:
    """
    Ask, and show the answer as it comes.

    Args:
        client: Whom to ask with.
        request: The arguments of a streamed call.
        view: Where the answer is shown.
        interrupts: Ends the answer on Ctrl-C, by closing its connection: the server stops generating.

    Returns:
        What came, whether it ended well or not.
    """
    answer = Answer()
    try:
        _listen(client, request, answer, view, interrupts)
    except KeyboardInterrupt:
        answer.is_interrupted = True
    except openai.OpenAIError as error:
        answer.error, answer.source = error, error
    view.close()
    return answer


def _listen(
    client: Client, request: Mapping[str, Any], answer: Answer, view: AnswerView, interrupts: Interrupts
) -> None:
    stream: Any = interrupts.wait_for(partial(client.chat.completions.create, **request))
    answer.source = stream
    with stream:
        while (chunk := interrupts.wait_for(partial(next, stream, None))) is not None:
            for kind, text in answer.take(chunk):
                if text:
                    view.add(kind, text)


def row_of(question: str, answer: Answer) -> dict[str, Any]:
    """Make the row of data for one question."""
    told = report(answer.source)
    usage = told.usage
    return {
        "model": told.model,
        "route": told.route,
        "question": question,
        "reasoning": answer.message.get("reasoning_content"),
        "answer": answer.content,
        "finish_reason": told.finish_reason,
        "error": type(answer.error).__name__ if answer.error else None,
        "hit": usage.hit if usage else None,
        "miss": usage.miss if usage else None,
        "output": usage.output if usage else None,
        "reasoning_tokens": usage.reasoning if usage else None,
        "attempts": len(told.attempts),
        "first_token_ms": milliseconds(told.times.first_token),
        "total_ms": milliseconds(told.times.total),
        "trace_id": told.trace_id,
    }
