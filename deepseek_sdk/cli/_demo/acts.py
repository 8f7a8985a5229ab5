"""What happens in the outage of the demo, and the words for it, in each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ACTS", "WORDS", "Act", "Words"]

ActName = Literal["well", "primary_down", "both_down", "back"]


class Act(NamedTuple):
    """
    A part of the outage.

    Attributes:
        name: Which.
        calls: How many are made.
        answered_by: The route that should answer them.
        primary: What goes wrong at the primary, as the emulator calls it; None for nothing.
        fallback: What goes wrong at the fallback, likewise.
        is_return: The primary is left alone when it begins, and has to be waited for.
    """

    name: ActName
    calls: int
    answered_by: str
    primary: str | None = None
    fallback: str | None = None
    is_return: bool = False


# A breaker opens when the fifth call in a row has failed. One call more shows that nobody asks any longer.
ACTS = (
    Act("well", 2, "primary"),
    Act("primary_down", 6, "fallback", primary="status_503"),
    Act("both_down", 6, "rules", primary="status_503", fallback="reset_before_headers"),
    Act("back", 2, "primary", fallback="reset_before_headers", is_return=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """
    The outage in one language.

    Attributes:
        intro: Says who may answer, and that circuits are open for a shorter time than usual.
        titles: Announce the acts.
        names: Name the acts in a cell.
        question: What every call asks.
        answer: What the emulators say.
        keywords: What the rule looks for in the question.
        preset: What the rule says.
        ruleless: Says that there is no rule engine, and what to run.
        columns: Names the columns of the lines, one line for each call.
        between: Stands between two notes in the last of these columns.
        failure: Says that a route failed, and why.
        times: Says how often, where that was not once.
        left_alone: Says that a route was not asked.
        degraded: Names a route whose answer is better than none, and no more.
        said: Introduces what a route said.
        waiting: Says how long it takes until the primary is asked again.
        again_in: Gives a time, in seconds.
        now: Says that it is up.
        circuits: Names the columns of the table of breakers.
        headings: Names the columns of the table of calls.
        values: Words what stands in cells.
    """

    intro: str
    titles: Mapping[ActName, str]
    names: Mapping[ActName, str]
    question: str
    answer: str
    keywords: tuple[str, ...]
    preset: str
    ruleless: str
    columns: tuple[str, str, str, str]
    between: str
    failure: str
    times: str
    left_alone: str
    degraded: str
    said: str
    waiting: str
    again_in: str
    now: str
    circuits: Mapping[str, str]
    headings: Mapping[str, str]
    values: Mapping[str, str]

    def word(self, value: object) -> object:
        """Word what stands in a cell."""
        return self.values.get(value, value) if isinstance(value, str) else value


_ENGLISH = Words(
    intro="An outage. Three routes: primary and fallback, two more emulators, and a rule engine of preset replies.\n"
    "A circuit that opens stays open for {:g} s here; the default is {:g} s.",
    titles={
        "well": "All is well: the primary answers",
        "primary_down": "The primary answers 503 and is left alone after five failures: the fallback takes over",
        "both_down": "The fallback breaks connections off: the rule engine answers",
        "back": "The primary is well again: the calls return to it",
    },
    names={"well": "all well", "primary_down": "primary down", "both_down": "both down", "back": "primary back"},
    question="When does our ticket job run?",
    answer="At 01:30 Beijing time, when tokens cost half.",
    keywords=("ticket", "job"),
    preset="The assistant is unavailable. What the wiki says about the ticket job: it runs at 01:30 Beijing time.",
    ruleless="There is no rule engine, so the outage of both is left out. Run: {}",
    columns=("answered by", "ms", "tries", "on the way"),
    between="; ",
    failure="{}: {}",
    times=" ({} times)",
    left_alone="{} left alone",
    degraded="{} (degraded)",
    said="{} said: {}",
    waiting="It is asked again in {:.1f} s; one call will find out whether it is well:",
    again_in="{:.1f} s",
    now="now",
    circuits={
        "route": "route",
        "state": "circuit",
        "calls": "calls",
        "failures": "failures",
        "retry_in": "asked again in",
        "reason": "because of",
    },
    headings={
        "call": "outage",
        "route": "route",
        "attempts": "attempts",
        "total_ms": "total ms",
        "primary_circuit": "primary",
        "fallback_circuit": "fallback",
        "outcome": "outcome",
    },
    values={"half_open": "half open", "connection": "cut off"},
)

_CHINESE = Words(
    intro="下面演示一次故障。共三条路由：primary 和 fallback 是另外两个模拟器，rules 是由预设回复组成的规则引擎。\n"
    "这里熔断只持续 {:g} 秒，默认是 {:g} 秒。",
    titles={
        "well": "一切正常：由 primary 作答",
        "primary_down": "primary 返回 503：改由 fallback 作答；失败五次后熔断，不再请求 primary",
        "both_down": "fallback 的连接也断了：由规则引擎作答",
        "back": "primary 恢复，调用回到 primary",
    },
    names={"well": "一切正常", "primary_down": "primary 故障", "both_down": "全部故障", "back": "primary 恢复"},
    question="我们的工单任务几点运行？",
    answer="北京时间 1:30，这时 token 半价。",
    keywords=("工单", "任务"),
    preset="助手暂时不可用。wiki 上的说明是：工单任务在北京时间 1:30 运行。",
    ruleless="没有规则引擎，因此跳过全部故障的部分。请运行：{}",
    columns=("作答路由", "毫秒", "尝试", "经过"),
    between="；",
    failure="{}：{}",
    times="（{} 次）",
    left_alone="{} 已熔断",
    degraded="{}（降级）",
    said="{} 的回答：{}",
    waiting="{:.1f} 秒后会用一次调用探测 primary 是否恢复：",
    again_in="{:.1f} 秒后",
    now="现在",
    circuits={
        "route": "路由",
        "state": "熔断器",
        "calls": "调用数",
        "failures": "失败数",
        "retry_in": "再次请求",
        "reason": "原因",
    },
    headings={
        "call": "故障演示",
        "route": "路由",
        "attempts": "尝试次数",
        "total_ms": "总毫秒",
        "primary_circuit": "primary",
        "fallback_circuit": "fallback",
        "outcome": "结果",
    },
    values={
        "closed": "闭合",
        "open": "断开",
        "half_open": "半开",
        "complete": "完整",
        "degraded": "降级",
        "overloaded": "过载",
        "connection": "连接断开",
        "consecutive failures": "连续失败",
        "probe failed": "探测失败",
    },
)

WORDS: Mapping[str, Words] = {"en": _ENGLISH, "zh": _CHINESE}
