"""Get pydantic objects: of an answer in JSON, and of a strict tool, which the client sends to /beta by itself."""

from __future__ import annotations

from openai import pydantic_function_tool
from openai.types.chat import ChatCompletionUserMessageParam
from pydantic import BaseModel
from service import service

from deepseek_sdk import Client, report
from deepseek_sdk.testing import Reply, ToolCall


class Meeting(BaseModel):
    """A meeting found in a text."""

    topic: str
    weekday: str
    hour: int


QUESTION = ChatCompletionUserMessageParam(role="user", content="The release? Let us talk on Tuesday at 3 pm.")
COMPLETE = '{"topic": "release", "weekday": "Tuesday", "hour": 15}'
REPLIES = ['{"topic": "release"}', COMPLETE, Reply(tool_calls=[ToolCall("Meeting", COMPLETE)])]

with service(REPLIES) as options, Client(**options) as client:
    answer = client.chat.completions.parse(model="deepseek-flash", messages=[QUESTION], response_format=Meeting)
    # The emulator's first answer lacks fields, and is asked for again.
    print(repr(answer.choices[0].message.parsed), *report(answer).repairs, sep="\n")

    called = client.chat.completions.parse(
        model="deepseek-flash",
        messages=[QUESTION],
        tools=[pydantic_function_tool(Meeting)],
        tool_choice={"type": "function", "function": {"name": "Meeting"}},
        extra_body={"thinking": {"type": "disabled"}},  # a forced tool needs thinking off
    )
    for call in called.choices[0].message.tool_calls or []:
        print(repr(call.function.parsed_arguments))
