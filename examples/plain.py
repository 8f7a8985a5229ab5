"""Ask one question: everything is as with `openai.OpenAI`."""

from __future__ import annotations

from service import service

from deepseek_sdk import Client

with (
    service(["Red light is scattered least, so it is what is left at sunset."]) as options,
    Client(**options) as client,
):
    answer = client.chat.completions.create(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Why is the sunset red? One sentence."}],
    )
    print(answer.choices[0].message.content)
    print(answer.usage)
