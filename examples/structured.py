"""Get a pydantic object: a strict tool, which the client sends to DeepSeek's /beta endpoint by itself."""

from __future__ import annotations

from openai import pydantic_function_tool
from pydantic import BaseModel
from service import service

from deepseek_sdk import Client
from deepseek_sdk.testing import Reply, ToolCall


class Meeting(BaseModel):
    """A meeting found in a text."""

    topic: str
    weekday: str
    hour: int


REPLY = Reply(tool_calls=[ToolCall("Meeting", {"topic": "release", "weekday": "Tuesday", "hour": 15})])

with service([REPLY]) as options, Client(**options) as client:
    answer = client.chat.completions.parse(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Let us talk about the release on Tuesday at 3 pm."}],
        tools=[pydantic_function_tool(Meeting)],
        tool_choice={"type": "function", "function": {"name": "Meeting"}},
        extra_body={"thinking": {"type": "disabled"}},  # a forced tool needs thinking off
    )
    for call in answer.choices[0].message.tool_calls or []:
        print(repr(call.function.parsed_arguments))
