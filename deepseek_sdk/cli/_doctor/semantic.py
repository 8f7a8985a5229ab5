"""Check of the semantic cache: whether the model that compares questions can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.embedding.default import DefaultEmbedder, default_directory
from deepseek_sdk.caching.embedding.e5.build import kept_in
from deepseek_sdk.cli._doctor.finding import failed, ok, skipped, warning
from deepseek_sdk.cli._models import checked_row
from deepseek_sdk.cli._semantic import lacking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say
    from deepseek_sdk.config import Settings

__all__ = ["check_semantic", "judge_model"]

_CHECK = "semantic"
_BUILD = "deepseek-sdk models build"


def check_semantic(settings: Settings, say: Say) -> Finding:
    """Look for the packages and the model; one that is there is loaded and examined, which takes two seconds or so."""
    run = say(en="Run: ", zh="请运行：")
    if (lack := lacking(say)) is not None:
        # Without it no client can be made that the settings want to have it.
        say_so = failed if settings["cache"] == "semantic" else skipped
        return say_so(_CHECK, lack.detail, run + lack.command)
    if kept_in(default_directory()) is None:
        text = say(
            en="the model is not built yet: programs build it when they first need it",
            zh="模型尚未生成：程序会在首次用到时生成",
        )
        return skipped(_CHECK, text, run + _BUILD)
    return judge_model(checked_row(DefaultEmbedder, "default"), say)


def judge_model(row: Mapping[str, Any], say: Say) -> Finding:
    """
    Say whether the model can be used.

    Args:
        row: What was found out, as `models check` shows it.
        say: Chooses the language.

    Returns:
        What was found.
    """
    if not row["passed"]:
        text = say(en="the model cannot be used: {}", zh="模型无法使用：{}")
        return warning(_CHECK, text.format(row["reason"]), say(en="Run: ", zh="请运行：") + _BUILD)
    text = say(
        en="multilingual-e5-small: the same questions are {:.2f} alike, others {:.2f} at most; {:.0f} ms for a text",
        zh="multilingual-e5-small：同义问题相似度 {:.2f}，无关问题最高 {:.2f}；单条文本 {:.0f} 毫秒",
    )
    return ok(_CHECK, text.format(row["related"], row["unrelated"], row["ms_per_text"]))
