"""What kind of answer a question wants: a way, a reason, a place, a yes: in Chinese and English."""

from __future__ import annotations

import re

__all__ = ["frame_of", "restated", "without_frame"]

# The first that is found counts: "怎么回事" is no way, "多少钱" is no number of things.
_FRAMES = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("why", r"为什么|为何|为啥|怎么回事|什么原因|原因|\bwhy\b|\bthe reasons?\b|\bhow come\b"),
        ("difference", r"区别|不同|差别|\bdifferen|\bversus\b|\bvs\b"),
        ("meaning", r"什么意思|意思|含义|什么是|\bmeans?\b|\bmeaning\b|\bdefin|^what (?:is|are) (?:a|an)\b"),
        ("price", r"多少钱|价格|费用|价钱|\bhow much\b|\bcosts?\b|\bprices?\b"),
        ("when", r"什么时候|何时|几点|哪天|哪年|几号|\bwhen\b|\bwhat time\b"),
        ("how long", r"多久|多长时间|几天|\bhow long\b"),
        ("where", r"哪里|哪儿|在哪|到哪|去哪|何处|什么地方|\bwhere\b"),
        ("who", r"谁|\bwho\b|\bwhose\b"),
        ("number", r"多少|几[个岁次种]|多大|多高|\bhow (?:many|old|big|far|tall|often)\b"),
        ("quality", r"怎么样|好不好|好吗|如何[?？]?$|\bany good\b|\bworth\b"),
        (
            "way",
            r"怎么|怎样|如何|咋|方法|办法|步骤|流程|手续|教程|做法|\bhow\b|\bways?\b|\bprocess\b|\bsteps?\b|\bprocedure\b|\bmethods?\b",
        ),
        ("which", r"哪个|哪些|哪种|哪款|哪家|\bwhich\b|\bbest\b|什么.*好|有什么|有哪"),
        (
            "yes",
            r"吗|是否|能不能|可不可以|会不会|是不是|有没有|能否|^(?:is|are|do|does|did|can|could|will|would|should|has|have)\b",
        ),
        ("what", r"什么|啥|\bwhat\b"),
    )
)
_WAYS = frozenset({"流程", "手续", "process", "procedure", "way", "step", "method"})


def frame_of(normal: str) -> str:
    """
    Name what a question asks for.

    Args:
        normal: It, in small letters.

    Returns:
        "why", "way", "where", ...; "" where nothing says so.
    """
    return next((name for name, pattern in _FRAMES if pattern.search(normal)), "")


def without_frame(content: tuple[str, ...]) -> tuple[str, ...]:
    """
    Leave out what belongs to the question itself: "the process" of "what is the process of a refund".

    Args:
        content: The words with content.

    Returns:
        The others; all where there are no others.
    """
    return tuple(word for word in content if word not in _WAYS) or content


# What a question can be put with, or without: nobody asks for it.
_ASKING = frozenset({
    "如何", "怎么", "怎样", "怎么样", "怎么办", "怎么做", "怎么弄", "怎么办理", "咋", "咋办", "咋做", "什么",
    "是什么", "什么是", "是", "的", "了", "吗", "呢", "啊", "呀", "吧", "嘛", "么", "请问", "问", "问一下", "问下",
    "求", "请", "一下", "该", "应该", "才能", "能", "可以", "有", "方法", "办法", "步骤", "流程", "手续", "教程",
    "谁知道", "知道", "我想知道", "啥", "是啥", "有什么", "有哪些", "哪些", "how", "do", "does", "did", "to", "can",
    "could", "should", "what", "is", "are", "the", "a", "an", "way", "ways", "process", "procedure", "step", "steps",
    "of", "for", "please", "i", "you", "one",
})  # fmt: skip


def restated(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """
    Tell whether two questions have the same words in the same order, but for those that make a question of them.

    Args:
        one: The words of one.
        other: Those of the other.

    Returns:
        Whether they have, and are left with any.
    """
    left, right = _kernel(one), _kernel(other)
    return left == right and bool(left)


def _kernel(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _ASKING and any(letter.isalnum() for letter in word))
