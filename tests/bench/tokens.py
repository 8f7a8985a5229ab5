"""
What counting costs: CPU time on one core, for each encoder.

Run: python -m tests.bench.tokens

It is the CPU time of the process, which other load on the machine makes longer. Texts are the pages of this project,
Python's own code, and Chinese prose made of a few words; none is counted twice.
"""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk.tokens import Counter, DeepSeekVocabulary
from deepseek_sdk.tokens.encoders import KitokenEncoder, TokenizersEncoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
TURNS = 100
MILLION = 1_000_000
WORDS = (
    "模型",
    "推理",
    "缓存",
    "价格",
    "用户",
    "请求",
    "服务",
    "上下文",
    "长度",
    "输出",
    "结果",
    "我们",
    "可以",
    "使用",
    "一个",
    "这种",
    "方法",
    "来",
    "降低",
    "成本",
    "提高",
    "速度",
    "的",
    "了",
    "在",
    "是",
    "和",
)


def pages() -> list[str]:
    """Give the words of the documentation."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    return [word for file in files for word in file.read_text(encoding="utf-8").split(" ")]


def english(words: list[str], chance: random.Random) -> Iterator[str]:
    """Give prose, line by line."""
    while True:
        start = chance.randrange(len(words) - 40)
        yield " ".join(words[start : start + 40]) + f" {chance.random()}\n"


def chinese(chance: random.Random) -> Iterator[str]:
    """Give Chinese prose, sentence by sentence."""
    while True:
        yield (
            "".join(chance.choices(WORDS, k=chance.randint(6, 20)))
            + chance.choice("，。；！")
            + chance.choice(["", "\n"])
        )


def code() -> Iterator[str]:
    """Give Python, file by file."""
    while True:
        yield from (
            file.read_text(encoding="utf-8", errors="replace") for file in Path(os.__file__).parent.glob("*.py")
        )


def text_of(source: Iterator[str], tokens: int, counter: Counter) -> str:
    """Gather about so many *tokens*."""
    parts: list[str] = []
    while tokens > 0:
        part = next(source)
        tokens -= counter.count_text(part)
        parts.append(part)
    return "".join(parts)


def cpu_s(work: Callable[[], object]) -> float:
    """Measure the CPU time of the process."""
    before = time.process_time()
    work()
    return time.process_time() - before


def chat_ms(counter: Counter, words: list[str], size: int, model: str) -> tuple[float, int]:
    """Count a chat after each turn, *size* words a message; give the time of all counts, and the last count."""
    chance = random.Random(size)  # noqa: S311  repeatable, not secret
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief. " * 20}]
    spent, total = 0.0, 0

    def said() -> str:
        start = chance.randrange(len(words) - size)
        return " ".join(words[start : start + size])

    for _ in range(TURNS):
        messages.append({"role": "user", "content": said()})
        before = time.process_time()
        total = counter.count({"model": model, "messages": messages}).total
        spent += time.process_time() - before
        messages.append({"role": "assistant", "content": said()})
    return 1000 * spent, total


def main() -> None:
    """Print the figures as Markdown."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    words = pages()
    print("| encoder | what | tokens | CPU |\n|---|---|---:|---:|")  # noqa: T201  what it is for
    for maker in (KitokenEncoder, TokenizersEncoder):
        vocabulary = DeepSeekVocabulary(encoders=[maker])
        row(maker.name, "load the vocabulary", 0, cpu_s(vocabulary.load))
        measure(vocabulary, maker.name, words)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"\nPeak memory of the process: {peak} MiB")  # noqa: T201  what it is for


def measure(vocabulary: DeepSeekVocabulary, name: str, words: list[str]) -> None:
    """Print the figures of one encoder."""
    warm = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "warm up"}]}
    for model in ("deepseek-flash", "deepseek-v4-pro"):
        for size in (30, 80):
            counter = Counter(vocabulary=vocabulary)
            counter.count(warm)
            spent, tokens = chat_ms(counter, words, size, model)
            row(name, f"{TURNS} turns of {size} words a message, {model}, all counts together", tokens, spent / 1000)
    chance = random.Random(1)  # noqa: S311  repeatable, not secret
    sources = {"English": english(words, chance), "Chinese": chinese(chance), "Python": code()}
    for kind, source in sources.items():
        text = text_of(source, MILLION, Counter(vocabulary=vocabulary))
        body = {"model": "deepseek-flash", "messages": [{"role": "user", "content": text}]}
        counter = Counter(vocabulary=vocabulary)
        row(name, f"1 M tokens, {kind}", MILLION, cpu_s(lambda body=body, counter=counter: counter.count(body)))  # type: ignore[misc]


def row(name: str, what: str, tokens: int, seconds: float) -> None:
    """Print a line."""
    spent = f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"
    print(f"| {name} | {what} | {tokens or ''} | {spent} |")  # noqa: T201  what it is for


if __name__ == "__main__":
    main()
