"""Give each user a budget, see what calls cost, and where the money went; prices are those of DeepSeek's list."""

from __future__ import annotations

import sys
from typing import Any

from service import service

from deepseek_sdk import Budgets, Client, SpendBudget, report
from deepseek_sdk.errors import BudgetExceededError
from deepseek_sdk.telemetry import log_to

# In CNY or USD as well. What is kept in memory ends with the program; without a path, all processes share a file.
budgets = Budgets([SpendBudget(limit=600, unit="tokens", per="user", period="day", soft=0.75)], path=":memory:")
QUIET: Any = {"thinking": {"type": "disabled"}}

log_to(sys.stdout)
with (
    service(["Green tea, since it is from here. " * 3] * 20) as options,
    Client(**options, spend_budget=budgets, template="advice", tags={"shop": "tea"}) as client,
):
    for user in ("mei", "tom", "mei", "mei", "mei", "mei"):
        try:
            answer = client.with_options(user=user).chat.completions.create(
                model="deepseek-flash",
                messages=[{"role": "user", "content": "Which tea would you drink in Hangzhou? " * 8}],
                max_tokens=200,
                extra_body=QUIET,
            )
            print(f"{user}: {report(answer).cost}")
        except BudgetExceededError as error:  # openai.RateLimitError would catch it, too; nothing was sent
            print(f"{user}: no. {error.spent} of {error.limit} {error.unit} spent, {error.requested} needed")

    for state in budgets.state():
        print(f"{state.scope}: {state.remaining} {state.unit} left")
    for row in client.usage(by="user").rows:
        print(f"{row.key}: {row.calls} calls, {row.hit + row.miss} + {row.output} tokens, {row.cny} CNY")
