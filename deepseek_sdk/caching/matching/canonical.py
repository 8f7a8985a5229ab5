"""One form for questions that differ in nothing but how they are put, such as 如何退款 and 退款流程是什么."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["canonical"]

# With what a question may end, or not; after a digit "!" may be a sign of its own.
_ENDS: Final = re.compile(r"(?:[ .?~,;:\u2026]|(?<![\d)\]])!)+$")
# How a question is opened out of politeness, and what such an opening may be followed by.
_OPENINGS_ZH = (
    r"(?:请问一下|请问|请教一下|请教|想问一下|问一下|想问|我想知道|想知道|咨询一下|麻烦问一下|你好|您好)[,. ]*"
)
_OPENINGS_EN = (
    r"(?:hi|hello|hey|please|excuse me|can you tell me|could you tell me|can you explain|could you explain|tell me|"
    r"explain|i want to know|i would like to know|i'd like to know|do you know)[,.:! ]+"
)
_PARTICLES = r"(?:呢|啊|呀|吗|嘛|哦|呐|哈)?"
_HOW_ZH = r"(?:怎么样|怎样|怎么|如何|咋样|咋)(?:才能够|才能|可以|能够|能|去|来)?(?:进行)?"
# Nouns for a way of doing something, and the verbs that are as empty.
_WAY_ZH = r"(?:具体)?(?:操作流程|办理流程|申请流程|操作步骤|操作方法|流程|步骤|方法|办法|方式)"
_DO_ZH = r"(?:操作|弄|搞|做)"
_APPLY_ZH = r"(?:办理|申请)"
_WHAT_ZH = r"(?:是什么|是啥|是怎样的|是怎么样的|有哪些|是哪些|怎么走)"
_GET_EN = r"(?:get|request|obtain|apply for|ask for)"
_ARTICLES = r"(?:an?|the|my|your|one's)"
_HOW_EN = r"(?:how (?:do|can|could|should|would|may|might) (?:i|we|one|someone)|how to|how does one)"
_WAY_EN = r"(?:process|procedure|steps?|way|method)"

# What X is left in each is compared as it stands.
_FRAMES: Final = tuple(
    (name, re.compile(frame))
    for name, frame in (
        ("apply", rf"{_HOW_ZH}{_APPLY_ZH}(?P<x>.{{2,}}?){_PARTICLES}"),
        ("apply", rf"(?P<x>.{{2,}}?)(?:应该|该|要)?{_HOW_ZH}{_APPLY_ZH}{_PARTICLES}"),
        ("apply", rf"(?:我)?(?:要|想)?{_APPLY_ZH}(?P<x>.{{2,}}?)(?:的)?{_WAY_ZH}{_WHAT_ZH}?{_PARTICLES}"),
        ("how", rf"{_HOW_ZH}(?P<x>.{{2,}}?){_PARTICLES}"),
        ("how", rf"(?:我)?(?:要|想)?(?P<x>.{{2,}}?)(?:的)?{_WAY_ZH}{_WHAT_ZH}?{_PARTICLES}"),
        ("how", rf"(?P<x>.{{2,}}?)(?:应该|该|要)?{_HOW_ZH}{_DO_ZH}{_PARTICLES}"),
        ("what", rf"(?:什么|啥)(?:叫做|叫|是)(?P<x>.{{2,}}?){_PARTICLES}"),
        ("what", rf"(?P<x>.{{2,}}?)(?:是什么|是啥){_PARTICLES}"),
        ("get", rf"{_HOW_EN} {_GET_EN} {_ARTICLES} (?P<x>.+)"),
        ("get", rf"what (?:is|are) the {_WAY_EN} (?:for|of|to) {_GET_EN} {_ARTICLES} (?P<x>.+)"),
        ("get", rf"what (?:is|are) the {_WAY_EN} (?:for|of) {_ARTICLES} (?P<x>.+)"),
        ("get", rf"what (?:is|are) (?:the )?(?P<x>.+?) {_WAY_EN}"),
        ("how", rf"{_HOW_EN} (?P<x>.+)"),
        ("how", rf"what (?:is|are) the {_WAY_EN} to (?P<x>.+)"),
    )
)
_CONTRACTED: Final = re.compile(r"\b(what|who|where|when|how|that|it|there)(?:'s|s(?= (?:the|a|an|my|your)\b))")
_OPENING: Final = re.compile(f"(?:{_OPENINGS_ZH}|{_OPENINGS_EN})+")
_ARTICLE: Final = re.compile(r"^an? |\bthe ")
_BLANK_IN_CHINESE: Final = re.compile(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")


def canonical(text: Text) -> str:
    """
    Bring a question into a standard form.

    It goes by whole patterns, and keeps every word that says something, in its order: questions with the same form ask
    the same, those with different ones may do so as well.

    Args:
        text: The question.

    Returns:
        The form; for a text without such a pattern the text itself, without what stands at its end.
    """
    plain = _ENDS.sub("", _BLANK_IN_CHINESE.sub("", text.normal))
    plain = _OPENING.sub("", plain, count=1) if _OPENING.match(plain) else plain
    plain = _CONTRACTED.sub(r"\1 is", plain).strip()
    return next(_framed(plain), plain or text.normal)


def _framed(plain: str) -> Iterator[str]:
    for name, frame in _FRAMES:
        found = frame.fullmatch(plain)
        if found is not None:
            yield f"{name}: {_ARTICLE.sub('', found['x']).strip()}"
