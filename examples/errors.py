"""See what a call went through, whether it ended well or was cut; the emulator cuts this one after ten events."""

from __future__ import annotations

from service import service

from deepseek_sdk import Client, report
from deepseek_sdk.errors import StreamInterruptedError
from deepseek_sdk.testing import Fault

POEM = "The stream ran clear until the bend, and there it stopped without an end."

with service([POEM], faults=[Fault.cut_by_eof(after_events=10)]) as options, Client(**options) as client:
    stream = client.chat.completions.create(
        model="deepseek-flash",
        messages=[{"role": "user", "content": "Write one line about a stream."}],
        stream=True,
        extra_body={"thinking": {"type": "disabled"}},
    )
    try:
        for chunk in stream:
            print("".join(choice.delta.content or "" for choice in chunk.choices), end="")
    except StreamInterruptedError as error:  # openai.APIConnectionError would catch it, too
        print(f"\n{error}\nWhat had arrived: {error.partial.text!r}")

    told = report(stream)
    for attempt in told.attempts:
        print(f"{attempt.route}, {attempt.model}: {attempt.outcome}, {attempt.reason}, {attempt.ended} s")
    print(told.times)
