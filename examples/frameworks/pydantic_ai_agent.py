"""A pydantic-ai agent with a tool and an output type, thinking on; the calls belong to a session."""

from __future__ import annotations

import asyncio

from offline import service
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

import deepseek_sdk
from deepseek_sdk import AsyncClient
from deepseek_sdk.testing import Reply, ToolCall


class Bill(BaseModel):
    """What somebody has to pay."""

    yuan: int


REPLIES = [
    Reply(reasoning="I need the price.", tool_calls=[ToolCall("price_of", {"drink": "tea"})]),
    Reply(reasoning="Twice 12.", tool_calls=[ToolCall("final_result", {"yuan": 24})]),
]


def price_of(drink: str) -> int:
    """Tell the price of a drink in yuan."""
    return {"tea": 12, "coffee": 18}[drink]


async def main() -> None:
    """Ask for the bill."""
    async with AsyncClient() as client:
        model = OpenAIChatModel("deepseek-flash", provider=DeepSeekProvider(openai_client=client))
        agent = Agent(model, tools=[price_of], output_type=Bill)
        with deepseek_sdk.options(session_id="table-7"):
            print((await agent.run("What do two teas cost?")).output)


with service(REPLIES):
    asyncio.run(main())
