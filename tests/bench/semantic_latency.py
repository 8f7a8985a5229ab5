"""
What the semantic tier costs a call, part by part and as a whole, with 100,000 kept questions that a lookup goes among.

The vectors of most of them are made up, and lie as the default embedder's do; a hundred are those of real questions,
whose paraphrases are asked. Guards and score are timed on these pairs. A whole hit is `create()` of a client, from the
call to the parsed answer; beside it stands the same call of bare openai to a server on loopback that answers at once.

Run: python -m tests.bench.semantic_latency [vectors]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import openai

from deepseek_sdk import Client, report
from deepseek_sdk.caching import SemanticCache
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.decision import Asked
from deepseek_sdk.caching.entry import Entry, encode
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.caching.matching.text import analysed
from deepseek_sdk.caching.store import meta_of
from deepseek_sdk.caching.vectors import Candidate, Vector, VectorStore
from tests.bench.cached_calls import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


VECTORS, ASKED, BATCH = 100_000, 100, 2_000
MODEL = "deepseek-flash"
THINGS = (
    "退款",
    "重置密码",
    "修改收货地址",
    "开发票",
    "绑定银行卡",
    "注销账号",
    "升级会员",
    "导出报表",
    "设置闹钟",
    "更换手机号",
)
PLACES = (
    "在手机上",
    "在网页上",
    "在小程序里",
    "在平板上",
    "在公司电脑上",
    "在家里",
    "在国外",
    "在学校",
    "在医院",
    "在门店",
)


def kept_question(number: int) -> str:
    """Give one of the questions that are kept."""
    return f"{PLACES[number % 10]}如何{THINGS[number // 10]}"


def asked_question(number: int) -> str:
    """Give the same question in other words."""
    return f"请问{PLACES[number % 10]}怎么{THINGS[number // 10]}呢？"


def ask(client: Any, text: str) -> Any:
    """Ask a question."""
    return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}])


def fill(cache: SemanticCache, like: Entry, place: str, count: int) -> None:
    """Keep so many more answers beside one, with vectors that lie as real ones do."""
    assert cache.store.disk is not None
    tier, rng = cache.store.disk.tier, np.random.default_rng(7)
    store = VectorStore(cache.service.fingerprint or "", cache.service.dimensions or 0)
    middle = rng.normal(size=store.dimensions)
    for first in range(0, count, BATCH):
        rows = middle / np.linalg.norm(middle) + rng.normal(size=(BATCH, store.dimensions)) * 0.45 / 384**0.5
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        entries = [made_up(like, first + number) for number in range(BATCH)]
        vectors = [Vector(entry.key, entry.text, row) for entry, row in zip(entries, rows, strict=True)]
        records = [(entry.key, encode(entry), meta_of(entry, None)) for entry in entries]
        tier.put_many(records, cache.now_ms(), beside=store.writing(place, vectors))


def made_up(like: Entry, number: int) -> Entry:
    """Give another answer like one."""
    told = {name: getattr(like, name) for name in Entry.__slots__}
    return Entry(**{**told, "key": f"{number:064x}", "text": f"第{number}个问题"})


def timed(work: Callable[[int], object], count: int) -> list[float]:
    """Time something, in milliseconds."""
    costs = []
    for number in range(count):
        before = time.perf_counter_ns()
        work(number)
        costs.append((time.perf_counter_ns() - before) / 1e6)
    return costs


def row(name: str, costs: list[float]) -> None:
    """Print a line of the table."""
    marks = statistics.quantiles(costs, n=100)
    sys.stdout.write(f"  {name:44} p50 {marks[49]:7.2f} ms  p99 {marks[98]:7.2f} ms\n")


def parts(cache: SemanticCache, place: str) -> Iterator[tuple[str, list[float]]]:
    """Time the parts of a lookup, one after another."""
    assert cache.store.disk is not None
    embedder: Any = cache.service.embedder
    embedder.embed(["warm"])
    yield "vector of one question", timed(lambda number: embedder.embed([asked_question(number % ASKED)]), 300)
    tier, near = cache.store.disk.tier, cache.neighbours.partitions
    rows = [embedder.embed([asked_question(number)])[0] for number in range(ASKED)]
    while not near.load(tier, place):
        pass
    yield f"search among {near.rows:,}", timed(lambda n: near.searched(tier, place, rows[n % ASKED], 8), 1_000)
    texts = [(asked_question(number), kept_question(number)) for number in range(ASKED)]
    guards, policy = Guards(), Calibrated()

    def guarded(number: int) -> object:
        one, other = texts[number % ASKED]
        return guards.against(analysed(one), analysed(other))

    def decided(number: int) -> object:
        one, other = texts[number % ASKED]
        own, kept = rows[number % ASKED], embedder_rows[number % ASKED]
        asked = Asked(analysed(one), own, cache.service.fingerprint)
        return policy.decide(asked, [Candidate(key="k", text=other, cosine=float(own @ kept), vector=kept)])

    embedder_rows = [embedder.embed([kept_question(number)])[0] for number in range(ASKED)]
    yield "analysis and guards of one pair", timed(guarded, 2_000)
    yield "whole decision about one candidate", timed(decided, 1_000)


def main() -> None:
    """Print the table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else VECTORS
    with server() as url, tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"base_url": url, "api_key": "test-key", "max_retries": 0}
        cache = SemanticCache(Path(folder), max_bytes=2**34, embed_s=1.0)
        with Client(**options, cache=cache) as client, openai.OpenAI(**options) as bare:
            assert client.cache is not None
            assert client.cache.wait_until_ready()
            for number in range(ASKED):
                ask(client, kept_question(number))
            like = client.cache.inspect(client.cache.ls()[0].key)
            assert like is not None
            place = like.partition
            fill(cache, like, place, count)
            sys.stdout.write(f"semantic tier, {count:,} vectors\n")
            for name, costs in parts(cache, place):
                row(name, costs)
            outcomes = []
            hits = timed(lambda n: outcomes.append(report(ask(client, asked_question(n % ASKED))).cache), ASKED)
            served = [
                cost for cost, outcome in zip(hits, outcomes, strict=True) if outcome and outcome.tier == "semantic"
            ]
            row(f"create() that hits ({len(served)} of {ASKED})", served)
            row("create() of bare openai, over loopback", timed(lambda n: ask(bare, asked_question(n % ASKED)), 200))
        cache.close()


if __name__ == "__main__":
    main()
