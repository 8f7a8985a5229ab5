"""What is asked of the demo's cache, and the words around it, in each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CACHE_WORDS", "CacheWords", "Question"]

AnsweredBy = Literal["model", "exact", "semantic"]


class Question(NamedTuple):
    """
    What is asked.

    Attributes:
        text: The question.
        answer: What the emulator says to it.
        answered_by: "model", or the tier of the cache that should answer.
    """

    text: str
    answer: str
    answered_by: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheWords:
    """
    The cache in one language.

    Attributes:
        intro: Says what is asked of what.
        lacking: Says that there is no semantic cache, why, and what to run.
        unusable: Says that the model cannot be used, and why.
        ready: Says how long it took to load the model, in seconds.
        questions: What is asked, in this order.
        who: Words who answered.
        took: Says who answered, and after how many milliseconds.
        alike: Says how similar the two questions are.
        saved: Says what that saved, in two currencies.
        kept: Names the kept question.
        between: Stands between two facts.
        sum: Tells how many answers came from the cache, of how many, and what that saved: seconds and two amounts.
        headings: Names the columns of the table of calls.
    """

    intro: str
    lacking: str
    unusable: str
    ready: str
    questions: tuple[Question, ...]
    who: Mapping[AnsweredBy, str]
    took: str
    alike: str
    saved: str
    kept: str
    between: str
    sum: str
    headings: Mapping[str, str]


_REFUND = (
    'Open "My orders", choose the order and press "Request a refund". The money is back in one to three working days, '
    "on the account that you paid from."
)
_REFUND_ZH = "打开“我的订单”，选择要退的订单，点“申请退款”并填写原因。审核通过后，款项会在 1 至 3 个工作日内原路退回。"

_ENGLISH = CacheWords(
    intro="The cache: a question that was answered before costs neither time nor money, also in other words.\n"
    "This one is in a directory of its own, which is removed afterwards.",
    lacking="There is no semantic cache, so it is left out: {}. Run: {}",
    unusable="The model that compares questions cannot be used, so the cache is left out: {}",
    ready="The model that compares questions, on this machine, was loaded in {:.1f} s.",
    questions=(
        Question("How do I get a refund?", _REFUND, "model"),
        Question("How do I get a refund?", _REFUND, "exact"),
        Question("What is the refund process?", _REFUND, "semantic"),
        Question(
            "How do I turn on auto-renewal?",
            'Open "Subscriptions", choose the plan and switch auto-renewal on. You are charged the day before it ends.',
            "model",
        ),
        Question(
            "How do I turn off auto-renewal?",
            'Open "Subscriptions", choose the plan and switch auto-renewal off. It stays valid until the day it ends.',
            "model",
        ),
    ),
    who={"model": "model", "exact": "cache, exact", "semantic": "cache, semantic"},
    took="{}, {} ms",
    alike="similarity {:.3f}",
    saved="saved {} CNY or {} USD",
    kept="{} ({})",
    between="; ",
    sum="{} of {} answers came from the cache. Saved: {:.1f} s, {} CNY or {} USD.",
    headings={
        "call": "cache",
        "tier": "answered by",
        "total_ms": "total ms",
        "similarity": "similarity",
        "saved_cny": "saved CNY",
        "saved_usd": "saved USD",
        "decision": "because",
    },
)

_CHINESE = CacheWords(
    intro="下面演示缓存：答过的问题再问一次，换一种问法也一样，既不用等待也不花钱。\n这里使用临时目录，演示结束后删除。",
    lacking="没有语义缓存，因此跳过这一部分：{}。请运行：{}",
    unusable="比较问题的模型无法使用，因此跳过缓存部分：{}",
    ready="比较问题的模型在本机运行，加载用了 {:.1f} 秒。",
    questions=(
        Question("如何退款", _REFUND_ZH, "model"),
        Question("如何退款", _REFUND_ZH, "exact"),
        Question("退款流程是什么", _REFUND_ZH, "semantic"),
        Question(
            "怎么开启自动续费",
            "打开“我的订阅”，选择套餐，打开“自动续费”开关即可。系统会在到期前一天扣款，扣款前会发短信提醒。",
            "model",
        ),
        Question(
            "怎么关闭自动续费",
            "打开“我的订阅”，选择套餐，关闭“自动续费”开关即可。已付费的套餐可以用到到期日，之后不再扣款。",
            "model",
        ),
    ),
    who={"model": "模型", "exact": "缓存（精确）", "semantic": "缓存（语义）"},
    took="{}，{} 毫秒",
    alike="相似度 {:.3f}",
    saved="节省 {} 元（按美元价目 {} 美元）",
    kept="{}（{}）",
    between="；",
    sum="{} 次由缓存作答，共 {} 次提问。节省：{:.1f} 秒，{} 元（按美元价目 {} 美元）。",
    headings={
        "call": "缓存演示",
        "tier": "作答",
        "total_ms": "总毫秒",
        "similarity": "相似度",
        "saved_cny": "节省（元）",
        "saved_usd": "节省（美元）",
        "decision": "原因",
    },
)

CACHE_WORDS: Mapping[str, CacheWords] = {"en": _ENGLISH, "zh": _CHINESE}
