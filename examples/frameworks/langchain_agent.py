"""A LangChain agent with a tool, streamed token by token; its thinking is off, for LangChain does not send it back."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from offline import service

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.testing import Reply, ToolCall

PRICES = {"tea": 12, "coffee": 18}
REPLIES = [Reply(tool_calls=[ToolCall("price_of", {"drink": "tea"})]), "Two teas cost 24 yuan."]


def price_of(drink: str) -> int:
    """Tell the price of a drink in yuan."""
    return PRICES[drink]


with service(REPLIES), Client() as client:
    other = AsyncClient()  # for ainvoke() and astream()
    model = ChatOpenAI(
        model="deepseek-flash",
        client=client.chat.completions,
        root_client=client,
        async_client=other.chat.completions,
        root_async_client=other,
        extra_body={"thinking": {"type": "disabled"}},
    )
    question = {"messages": [("user", "What do two teas cost?")]}
    for chunk, _ in create_agent(model, [price_of]).stream(question, stream_mode="messages"):
        if chunk.type == "AIMessageChunk":
            print(chunk.content, end="", flush=True)
    print()
