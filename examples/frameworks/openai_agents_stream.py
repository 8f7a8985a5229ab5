"""A streamed run of the OpenAI Agents SDK with a tool; its traces, which would go to OpenAI, are off."""

from __future__ import annotations

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from offline import service

from deepseek_sdk import AsyncClient
from deepseek_sdk.testing import Reply, ToolCall

REPLIES = [
    Reply(reasoning="I need the price.", tool_calls=[ToolCall("price_of", {"drink": "tea"})]),
    "Two teas cost 24 yuan.",
]


def price_of(drink: str) -> int:
    """Tell the price of a drink in yuan."""
    return {"tea": 12, "coffee": 18}[drink]


async def main() -> None:
    """Ask, and show the answer while it comes."""
    async with AsyncClient() as client:
        model = OpenAIChatCompletionsModel("deepseek-flash", openai_client=client)
        waiter = Agent(name="Waiter", model=model, tools=[function_tool(price_of)])
        run = Runner.run_streamed(waiter, "What do two teas cost?")
        async for event in run.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                print(event.data.delta, end="", flush=True)
        print()


set_tracing_disabled(True)
with service(REPLIES):
    asyncio.run(main())
