"""Let the model call a function, and send its whole message back, reasoning included, as DeepSeek wants it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from service import service

from deepseek_sdk import Client
from deepseek_sdk.testing import Reply, ToolCall

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionToolParam

PRICES = {"tea": 12, "coffee": 18}
TOOL: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "price_of",
        "description": "The price of a drink in yuan.",
        "parameters": {"type": "object", "properties": {"drink": {"type": "string"}}},
    },
}
REPLIES = [Reply(tool_calls=[ToolCall("price_of", {"drink": "tea"})]), "Two teas cost 24 yuan."]

with service(REPLIES) as options, Client(**options) as client:
    messages: list[Any] = [{"role": "user", "content": "What do two teas cost?"}]
    answer = client.chat.completions.create(model="deepseek-flash", messages=messages, tools=[TOOL])
    message = answer.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or []:
        if call.type == "function":
            drink = json.loads(call.function.arguments)["drink"]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": str(PRICES[drink])})
    answer = client.chat.completions.create(model="deepseek-flash", messages=messages, tools=[TOOL])
    print(answer.choices[0].message.content)
