"""Answer from preset phrases when the service fails: the emulator refuses every request."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from service import service

from deepseek_sdk import Client, RuleEngine, report

# What the library says about each failure, among what is printed.
logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="  log: %(message)s")

PHRASES = Path(__file__).parent / "rules" / "phrases.toml"
QUESTIONS = (
    "Good morning!",
    "When do I get my money back?",
    "我的訂單 20261130 要退欵",
    "Where is ORDER no. 20261130?",
    "Tell me a joke.",
)

last_resort = RuleEngine.from_file(PHRASES)
with (
    service([], fault_rate=1.0, fault_mix=["status_503"]) as options,
    Client(**options, max_retries=0, routes=[last_resort]) as client,
):
    for question in QUESTIONS:
        answer = client.chat.completions.create(
            model="deepseek-flash", messages=[{"role": "user", "content": question}]
        )
        print(f"{question}\n  {report(answer).route}: {answer.choices[0].message.content}")

# What the phrases say can be tried without a client, too.
match = last_resort.match("My parcel is late")
print(match and f"{match.rule.name} answers, by {match.kind}: {match.text}")
