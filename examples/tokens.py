"""Count what the service will bill, before and after a call, and shorten a conversation that has become too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from service import service

from deepseek_sdk import Client, TokenBudget, report

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

SYSTEM: ChatCompletionMessageParam = {"role": "system", "content": "You are a guide to Hangzhou."}
QUIET: Any = {"thinking": {"type": "disabled"}}

with service(["Take the boat from Hubin."] * 9) as options, Client(**options) as client:
    question: list[ChatCompletionMessageParam] = [SYSTEM, {"role": "user", "content": "西湖怎么走？"}]
    count = client.tokens.count(question, extra_body=QUIET)
    print(f"{count.total} tokens, exact: {count.exact}, by message: {count.by_message}")

    answer = client.chat.completions.create(model="deepseek-flash", messages=question, extra_body=QUIET)
    print("billed:", answer.usage and answer.usage.prompt_tokens)

    # A conversation that goes on, and may have 400 tokens; the oldest turns go first.
    budget = TokenBudget(policy="history", limit=400)
    chat: list[ChatCompletionMessageParam] = [SYSTEM]
    guide = client.with_options(token_budget=budget)
    for stop in range(6):
        chat.append({"role": "user", "content": f"Stop {stop}. " + "What is there to see, and what to eat? " * 8})
        answer = guide.chat.completions.create(model="deepseek-flash", messages=chat, extra_body=QUIET)
        chat.append({"role": "assistant", "content": answer.choices[0].message.content or ""})
        told = report(answer)
        print(f"{len(chat)} messages, {told.usage and told.usage.prompt} tokens sent", *told.repairs)

    fit = client.tokens.fit(chat, budget=budget, extra_body=QUIET)
    print(f"{fit.total_before} tokens fitted into {fit.total}; messages left out: {[r.message for r in fit.removed]}")
