"""Get a valid object by instructor: what does not validate is asked for again, with the reason."""

from __future__ import annotations

import instructor
from offline import service
from pydantic import BaseModel, Field

from deepseek_sdk import Client, report
from deepseek_sdk.testing import Reply, ToolCall


class Meeting(BaseModel):
    """A meeting found in a text."""

    topic: str
    hour: int = Field(le=23)


REPLIES = [Reply(tool_calls=[ToolCall("Meeting", {"topic": "release", "hour": hour})]) for hour in (1500, 15)]

with service(REPLIES), Client() as client:
    meeting, completion = instructor.from_openai(client).chat.completions.create_with_completion(
        model="deepseek-flash",
        response_model=Meeting,
        max_retries=2,
        messages=[{"role": "user", "content": "Let us talk about the release at 3 pm."}],
        extra_body={"thinking": {"type": "disabled"}},  # a forced tool allows none
    )
    print(repr(meeting))
    print(report(completion).usage)
