"""
What `import deepseek_sdk` costs besides `import openai`, in CPU time; each in a new process, turn by turn.

Run: python -m tests.bench.imports
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

ROUNDS = 15
BUDGET_MS = 50.0
PROGRAM = "import time; start = time.process_time(); import {}; print(time.process_time() - start)"


def cost(module: str) -> float:
    """Import a module in a new process; return the CPU time that took, in milliseconds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout) * 1000


def main() -> None:
    """Print both costs, their difference and their ratio."""
    for module in ("openai", "deepseek_sdk"):
        cost(module)  # writes byte code
    pairs = [(cost("openai"), cost("deepseek_sdk")) for _ in range(ROUNDS)]
    bare, ours = (min(column) for column in zip(*pairs, strict=True))
    typical = statistics.median(ours - bare for bare, ours in pairs)
    sys.stdout.write(
        f"import openai {bare:.0f} ms, import deepseek_sdk {ours:.0f} ms, CPU, best of {ROUNDS}: "
        f"{ours - bare:+.0f} ms, ratio {ours / bare:.3f}; median of the differences {typical:+.0f} ms; "
        f"budget {BUDGET_MS:+.0f} ms\n"
    )


if __name__ == "__main__":
    main()
