"""What the live service counted: texts of a user, and the tokens of the prompt."""

from __future__ import annotations

# Counted by the live API on 2026-09-11, `deepseek-flash`, thinking disabled; deepseek-ai/deepseek-recipe issue 5.
LIVE_COUNTS = [
    ("", 4),
    ("x", 5),
    ("<｜User｜>", 9),
    ("<｜Assistant｜>", 9),
    ("<｜System｜>", 9),
    ("<think>", 7),
    ("</think>", 7),
]
