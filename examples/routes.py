"""Let another route answer while the first one is down, and return to it; the emulators are made to fail."""

from __future__ import annotations

import logging
import sys
import time

from service import service

from deepseek_sdk import BreakerPolicy, Client, Route, Rule, RuleEngine, report

# What the library has to say about routes and circuits, among what is printed.
logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="    log: %(message)s")

phrases = RuleEngine([Rule("Please call 400-000-0000.", keywords=["order"])])
quick = BreakerPolicy(consecutive_failures=2, open_for=0.5)  # the defaults are 5 failures, and 10 seconds

with (
    service(["It left Hangzhou."] * 3, faults=["status_503"] * 2) as first,
    service(["It left Hangzhou, says the other one."] * 9, faults=[None, None, "status_503"]) as second,
):
    spare = Route("deepseek-flash", name="spare", **second)
    with Client(**first, routes=["deepseek-flash", spare, phrases], breaker=quick, max_retries=0) as client:
        for pause in (0, 0, 0, 1, 0):
            time.sleep(pause)
            answer = client.chat.completions.create(
                model="deepseek-flash", messages=[{"role": "user", "content": "Where is my order?"}]
            )
            told = report(answer)
            print(f"{told.route}: {answer.choices[0].message.content}  (skipped: {[name for name, _ in told.skipped]})")
        for known in client.health().routes:
            print(f"{known.route}: {known.state}, {known.failures} of {known.calls} calls failed")
