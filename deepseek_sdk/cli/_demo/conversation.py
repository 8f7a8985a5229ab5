"""What the demo plays: the kinds of calls it makes, and the conversation they carry, in each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONVERSATIONS", "SCENES", "Conversation", "Scene", "Turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """
    One kind of call.

    Attributes:
        is_async: `AsyncClient` makes it, not `Client`.
        is_streamed: Tokens are shown as they come.
        is_thinking: The model thinks first.
        is_cut: The server breaks off in the middle of the answer.
    """

    is_async: bool = False
    is_streamed: bool = False
    is_thinking: bool = False
    is_cut: bool = False

    @property
    def client(self) -> str:
        """Which client makes it."""
        return "async" if self.is_async else "sync"


SCENES = (
    Scene(),
    Scene(is_streamed=True, is_thinking=True),
    Scene(is_async=True),
    Scene(is_async=True, is_streamed=True),
    Scene(is_streamed=True, is_cut=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A question, and what the emulator answers."""

    question: str
    answer: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """
    The demo in one language: a turn for each scene, and the words around them.

    Attributes:
        lang: Names the language.
        system: The system message.
        turns: A turn for each scene.
        offline: Says who answers when the emulator does.
        live: Says who answers when the service does.
        plain: Names a plain call.
        streamed: Names a streamed call.
        cut: Names the call that is cut.
        title: Announces a call.
        arrived: Introduces what had arrived of an answer.
        headings: Names the columns of the table.
        values: Words what stands in them, where the data has a word of its own.
        keyless: Says that the service cannot be asked without a key.
        passed: Says that everything went as it should.
        passed_live: Says the same where the service was asked.
        failed: Says that something did not.
    """

    lang: str
    system: str
    turns: tuple[Turn, ...]
    offline: str
    live: str
    plain: str
    streamed: str
    cut: str
    title: str
    arrived: str
    headings: Mapping[str, str]
    values: Mapping[str, str]
    keyless: str
    passed: str
    passed_live: str
    failed: str

    def name(self, scene: Scene) -> str:
        """Name the call that *scene* makes."""
        if scene.is_cut:
            return self.cut
        return self.streamed if scene.is_streamed else self.plain

    def word(self, value: object) -> object:
        """Word what stands in a cell."""
        return self.values.get(value, value) if isinstance(value, str) else value


_ENGLISH = Conversation(
    lang="en",
    system="You help engineers who run jobs against the DeepSeek API. Answer in two sentences.",
    turns=(
        Turn(
            question="A nightly job summarises support tickets. When should it run to be cheap?",
            answer="Outside the peak hours, which are Monday to Friday, 09:00-12:00 and 14:00-18:00 Beijing time: "
            "then the same tokens cost half. Nights, weekends and Chinese public holidays are off-peak all day.",
        ),
        Turn(
            question="It should start at 01:30 in Beijing, and the server's clock is on UTC. What is the cron line?",
            reasoning="Beijing is UTC+8 the whole year. 01:30 minus eight hours is 17:30 of the day before. "
            "Every night, so no weekday field is needed.",
            answer="`30 17 * * *`: Beijing is eight hours ahead of UTC all year, so 17:30 UTC is 01:30 the next day.",
        ),
        Turn(
            question="Every prompt repeats the same two pages of instructions. Can that be cheaper?",
            answer="Yes: put the instructions first and the ticket last. The server caches the common beginning of "
            "prompts, and tokens read from that cache cost a fraction of new ones.",
        ),
        Turn(
            question="And how do I know that it works?",
            answer="Read the usage of each answer: `prompt_cache_hit_tokens` counts what came from the cache. "
            "If it falls to zero, something at the beginning of the prompt changes from call to call, often a date.",
        ),
        Turn(
            question="Write the note for my team's wiki, please.",
            answer="Our ticket job runs at 01:30 Beijing time, when tokens cost half. Its prompt starts with the "
            "instructions, never with the date or the ticket, so that most of it is read from the server's cache. "
            "The dashboard shows cache hits per run; below 80 % somebody has edited the beginning of the prompt.",
        ),
    ),
    offline="An emulator of the DeepSeek API answers, on this machine, over real HTTP: {url}",
    live="The DeepSeek API answers.",
    plain="plain",
    streamed="streamed",
    cut="streamed, cut by the server",
    title="{call} ({client})",
    arrived="What had arrived, in error.partial.text: ",
    headings={
        "call": "call",
        "client": "client",
        "route": "route",
        "model": "model",
        "attempts": "attempts",
        "first_token_ms": "first token ms",
        "total_ms": "total ms",
        "hit": "prompt hit",
        "miss": "miss",
        "output": "output",
        "outcome": "outcome",
    },
    values={},
    keyless="demo --live asks the real service: set DEEPSEEK_API_KEY to your key",
    passed="Every call ended as it should, the one that was cut and those of the outage included.",
    passed_live="Every call ended as it should.",
    failed="Not every call ended as it should.",
)

_CHINESE = Conversation(
    lang="zh",
    system="你帮助在 DeepSeek API 上运行批处理任务的工程师。用两句话回答。",
    turns=(
        Turn(
            question="我们每晚有个任务要给客服工单写摘要，什么时候跑最省钱？",
            answer="避开高峰时段即可：周一至周五北京时间 9:00-12:00 和 14:00-18:00 是高峰，同样的 token "
            "在其他时间只要一半的价钱。夜里、周末和中国法定节假日全天都算低峰。",
        ),
        Turn(
            question="想在北京时间凌晨 1:30 开始，但服务器用的是 UTC，cron 怎么写？",
            reasoning="北京时间全年都是 UTC+8。1:30 减去八小时，是前一天的 17:30。每晚都跑，不需要限定星期。",
            answer="`30 17 * * *`：北京时间全年比 UTC 早八小时，所以 UTC 17:30 就是北京第二天的 1:30。",
        ),
        Turn(
            question="每个提示词前面都有同样的两页说明，能不能更便宜？",
            answer="可以：把说明放在最前面，工单放在最后。服务端会缓存各个提示词相同的开头，"
            "从缓存读到的 token 只收一小部分费用。",
        ),
        Turn(
            question="怎么知道缓存真的生效了？",
            answer="看每次回答的 usage：`prompt_cache_hit_tokens` 就是命中缓存的 token 数。"
            "如果它掉到零，说明提示词的开头每次都在变，最常见的原因是写进了日期。",
        ),
        Turn(
            question="请写一段放到团队 wiki 里的说明。",
            answer="工单摘要任务在北京时间 1:30 运行，这时 token 半价。提示词以固定说明开头，"
            "绝不以日期或工单开头，这样大部分内容都能从服务端缓存读取。看板上有每次运行的缓存命中率，"
            "低于 80% 就说明有人改动了提示词的开头。",
        ),
    ),
    offline="由本机上的 DeepSeek API 模拟器作答，通过真实的 HTTP 访问：{url}",
    live="由 DeepSeek API 作答。",
    plain="普通调用",
    streamed="流式调用",
    cut="流式调用，被服务端切断",
    title="{call}（{client}）",
    arrived="断开之前收到的内容（error.partial.text）：",
    headings={
        "call": "调用",
        "client": "客户端",
        "route": "路由",
        "model": "模型",
        "attempts": "尝试次数",
        "first_token_ms": "首个 token 毫秒",
        "total_ms": "总毫秒",
        "hit": "提示命中",
        "miss": "未命中",
        "output": "输出",
        "outcome": "结果",
    },
    values={
        "sync": "同步",
        "async": "异步",
        "complete": "完整",
        "StreamInterruptedError": "中断（StreamInterruptedError）",
    },
    keyless="demo --live 会请求真实服务：请先把 DEEPSEEK_API_KEY 设为你的 key",
    passed="每次调用的结局都符合预期，包括被切断的那一次和故障期间的各次。",
    passed_live="每次调用的结局都符合预期。",
    failed="有的调用没有得到应有的结局。",
)

CONVERSATIONS: Mapping[str, Conversation] = {"en": _ENGLISH, "zh": _CHINESE}
