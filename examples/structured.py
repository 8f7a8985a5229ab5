"""Get pydantic objects: of an answer in JSON, and of a strict tool, which the client sends to /beta by itself."""

from __future__ import annotations

from openai import pydantic_function_tool
from pydantic import BaseModel
from service import service

from deepseek_sdk import Client, report
from deepseek_sdk.testing import Reply, ToolCall


class Meeting(BaseModel):
    """A meeting found in a text."""

    topic: str
    weekday: str
    hour: int


INCOMPLETE = '{"topic": "release", "weekday": "Tuesday"}'
COMPLETE = '{"topic": "release", "weekday": "Tuesday", "hour": 15}'
REPLIES = [INCOMPLETE, COMPLETE, Reply(tool_calls=[ToolCall("Meeting", COMPLETE)])]

with service(REPLIES) as options, Client(**options) as client:
    answer = client.chat.completions.parse(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Let us talk about the release on Tuesday at 3 pm."}],
        response_format=Meeting,
    )
    print(repr(answer.choices[0].message.parsed))
    print(*report(answer).repairs, sep="\n")  # the emulator's first answer lacks a field, and is asked for again

    answer_with_tool = client.chat.completions.parse(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Let us talk about the release on Tuesday at 3 pm."}],
        tools=[pydantic_function_tool(Meeting)],
        tool_choice={"type": "function", "function": {"name": "Meeting"}},
        extra_body={"thinking": {"type": "disabled"}},  # a forced tool needs thinking off
    )
    for call in answer_with_tool.choices[0].message.tool_calls or []:
        print(repr(call.function.parsed_arguments))
