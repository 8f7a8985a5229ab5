"""Why the cache gave a kept answer to a similar question, or did not, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk._cache import CacheOutcome
    from deepseek_sdk.cli._language import Say

__all__ = ["GUARDS", "REASONS", "decision_in_words", "reason_of"]

# In what the two questions differ.
GUARDS: Mapping[str, tuple[str, str]] = {
    "antonym": ("opposite words", "词义相反"),
    "date": ("another date", "日期不同"),
    "direction": ("another direction", "方向不同"),
    "entity": ("another thing", "对象不同"),
    "name": ("another name", "名称不同"),
    "number": ("another number", "数字不同"),
    "collision": ("next to nothing in common", "文字几乎没有共同之处"),
    "output": ("another form of answer", "输出要求不同"),
    "passage": ("another question about the same text", "同一段文字，问的内容不同"),
    "polarity": ("one is negated", "一个肯定、一个否定"),
    "question": ("another thing is asked", "问的内容不同"),
    "scope": ("another scope", "范围不同"),
    "script": ("another language", "语言不同"),
    "symbols": ("other operators", "运算符或符号不同"),
    "unit": ("another unit", "单位不同"),
    "version": ("another version", "版本不同"),
}

REASONS: Mapping[str, tuple[str, str]] = {
    "exact": ("the same words", "问法完全相同"),
    "served": ("asks the same", "意思相同"),
    "below": ("not sure that it asks the same", "意思相同的把握不够"),
    "vetoed": ("somebody has said that it asks something else", "有人指出意思不同"),
    "quarantined": ("the kept answer was wrong too often", "这条回答多次出错"),
    "verifier": ("the program's own check said no", "未通过程序自定的校验"),
    "gone": ("the kept answer is gone", "回答已不在缓存中"),
    "unusable": ("the kept answer is not for this call", "回答不适用于本次调用"),
    "no_candidate": ("nothing to compare with", "还没有可比较的问题"),
    "volatile": ("asks for what changes", "答案随时间变化"),
    "personal": ("asks for what is somebody's own", "涉及个人信息"),
    "length": ("too long to compare", "问题太长"),
    "role": ("no text of a user", "不是用户的文字"),
    "content": ("not text alone", "不只有文字"),
    "empty": ("no text", "没有文字"),
    "loading": ("the model is still loading", "模型仍在加载"),
    "slow": ("the model took too long", "模型用时过长"),
    "off": ("the model cannot be used", "模型不可用"),
    "failed": ("comparing failed", "比较时出错"),
}


def reason_of(outcome: CacheOutcome | None) -> str | None:
    """
    Tell in one word why a kept answer was given, or not.

    Args:
        outcome: What became of the call in the cache, or None: there was no cache.

    Returns:
        "exact", the name of the guard that decided, or the reason of the decision; None where there was none.
    """
    if outcome is None:
        return None
    if outcome.tier == "exact":
        return "exact"
    return outcome.guard or (outcome.decision.reason if outcome.decision else None)


def decision_in_words(reason: str | None, say: Say) -> str | None:
    """
    Word why a kept answer was given, or not.

    Args:
        reason: As `reason_of()` tells it.
        say: Chooses the language.

    Returns:
        That in a few words; a word that is not known is left as it is.
    """
    if reason is None:
        return None
    if reason in GUARDS:
        en, zh = GUARDS[reason]
        return say(en="a guard says no: {}", zh="不能通用：{}").format(say(en=en, zh=zh))
    if reason in REASONS:
        en, zh = REASONS[reason]
        return say(en=en, zh=zh)
    return reason
