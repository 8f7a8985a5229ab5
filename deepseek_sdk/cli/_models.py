"""What `models build` and `models check` do, and how they word it."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.embedding.e5.build import MODEL
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
from deepseek_sdk.caching.embedding.selftest import examined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rich.console import Console

    from deepseek_sdk.caching.embedding.base import Embedder
    from deepseek_sdk.cli._language import Say

__all__ = ["Teller", "built_row", "check_headings", "check_in_words", "checked_row", "named_embedder"]

_TIMES = 20
_PLACES = 4


class Teller:
    """
    Tells on a console how far the work is, a line for each step.

    Attributes:
        is_used: Whether there was any work.
    """

    def __init__(self, console: Console, say: Say) -> None:
        self.is_used = False
        self._console = console
        self._words = {
            "check": say(en="checking the weights", zh="校验权重文件"),
            "read": say(en="reading the weights", zh="读取权重"),
            "model": say(en="making the model", zh="生成模型"),
            "tokenizer": say(en="making the tokenizer", zh="生成分词器"),
            "manifest": say(en="making the checksums", zh="计算校验和"),
            "done": say(en="done", zh="完成"),
        }
        self._last = ""

    def __call__(self, what: str, share: float) -> None:
        """Tell of a step that begins."""
        self.is_used = True
        if what != self._last:
            self._last = what
            self._console.print(f"{share:4.0%} {self._words.get(what, what)}", style="dim", markup=False)


def built_row(embedder: DefaultEmbedder, begun: float, *, is_new: Callable[[], bool], say: Say) -> dict[str, Any]:
    """Build the model where that is needed; tell where it is."""
    try:
        kept = embedder.built(is_thorough=True)
        size = sum((kept.path / name).stat().st_size for name in kept.digests)
    except (EmbeddingError, OSError) as error:
        text = say(en="the model cannot be built: {}", zh="无法生成模型：{}")
        raise click.ClickException(text.format(error)) from error
    return {
        "path": str(kept.path),
        "sha256": kept.digests[MODEL],
        "bytes": size,
        "seconds": round(time.monotonic() - begun, 2),
        "is_new": is_new(),
        "fingerprint": embedder.fingerprint,
    }


def named_embedder(
    model: str | None, path: Path | None, manner: Mapping[str, Any], told: Callable[[str, float], None]
) -> DefaultEmbedder | OnnxEmbedder:
    """Make the embedder that a command line names."""
    if model is None:
        embedder = DefaultEmbedder(path, progress=told)
        embedder.built(is_thorough=True)
        return embedder
    return OnnxEmbedder(model, **manner)


def checked_row(make: Callable[[], DefaultEmbedder | OnnxEmbedder], name: str) -> dict[str, Any]:
    """Load an embedder, examine it, and measure it."""
    row = {"model": name, "passed": False, "reason": None, "fingerprint": None, "dimensions": None}
    row |= dict.fromkeys(("related", "unrelated", "gap", "load_seconds", "ms_per_text"))
    begun = time.perf_counter()
    try:
        embedder = make()
        embedder.load()
        row["load_seconds"] = round(time.perf_counter() - begun, 2)
        row |= _figures(embedder)
    except (EmbeddingError, OSError) as error:
        row["reason"] = str(error)
    return row


def _figures(embedder: Embedder) -> dict[str, Any]:
    test = examined(embedder)
    return {
        "passed": test.passed,
        "reason": test.reason,
        "fingerprint": embedder.fingerprint,
        "dimensions": embedder.dimensions,
        "related": _rounded(test.related),
        "unrelated": _rounded(test.unrelated),
        "gap": _rounded(test.gap),
        "ms_per_text": round(1000 * statistics.median(_seconds(embedder, number) for number in range(_TIMES)), 2),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _PLACES)


def _seconds(embedder: Embedder, number: int) -> float:
    begun = time.perf_counter()
    embedder.embed([f"请问订单 {number} 怎么申请退款？"])
    return time.perf_counter() - begun


def check_headings(say: Say) -> dict[str, str]:
    """Name the columns of what was found out."""
    return {"fact": say(en="fact", zh="项目"), "value": say(en="value", zh="值")}


def check_in_words(row: Mapping[str, Any], say: Say) -> list[dict[str, Any]]:
    """Word what was found out, each on a line of its own."""
    passed = say(en="yes", zh="是") if row["passed"] else say(en="no", zh="否")
    names = {
        "model": say(en="model", zh="模型"),
        "passed": say(en="can compare questions", zh="可用于比较问题"),
        "reason": say(en="reason", zh="原因"),
        "fingerprint": say(en="fingerprint", zh="指纹"),
        "dimensions": say(en="dimensions", zh="维数"),
        "related": say(en="same questions (median cosine)", zh="同义问题的余弦（中位数）"),
        "unrelated": say(en="other questions (highest cosine)", zh="无关问题的余弦（最大值）"),
        "gap": say(en="smallest gap", zh="最小差距"),
        "load_seconds": say(en="loaded in seconds", zh="加载用时（秒）"),
        "ms_per_text": say(en="milliseconds for a text", zh="单条文本用时（毫秒）"),
    }
    cells = {**row, "passed": passed}
    return [{"fact": heading, "value": cells[name]} for name, heading in names.items() if cells[name] is not None]
