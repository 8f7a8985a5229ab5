"""Show an answer while it comes, the model's reasoning in brackets; an answer that is cut raises instead of ending."""

from __future__ import annotations

from service import service

from deepseek_sdk import Client
from deepseek_sdk.testing import Reply

REPLY = Reply(reasoning="17 * 23 is 17 * 20 plus 17 * 3, so 340 + 51.", content="391")

with service([REPLY], tokens_per_s=50) as options, Client(**options) as client:
    stream = client.chat.completions.create(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "What is 17 times 23? Only the number."}],
        stream=True,
    )
    is_thinking = False
    for chunk in stream:
        for choice in chunk.choices:
            reasoning = getattr(choice.delta, "reasoning_content", None)
            if bool(reasoning) != is_thinking and (reasoning or choice.delta.content):
                is_thinking = not is_thinking
                print("[" if is_thinking else "]", end="")
            print(reasoning or choice.delta.content or "", end="", flush=True)
    print()
