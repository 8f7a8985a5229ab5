"""What `chat` says, in each language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WORDS", "Words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """
    The words of one language.

    Attributes:
        lang: Names the language.
        greeting: Begins a conversation.
        leaving: Says how to leave, after Ctrl-C at the prompt.
        interrupted: Ends a command that Ctrl-C ended.
        kept: Says that an answer was ended and stays.
        dropped: Says that an answer was ended before there was one.
        again: Says what to do after an answer that failed.
        facts: What an answer took.
        unknown: Stands for a number that the server has not said.
        endings: Says of a finish reason what it means, where it is not the usual one.
        only_reasoning: Says that all of the answer was reasoning.
        errors: A sentence for each kind of failure.
        in_conversation: The sentences that are others in a conversation, where other things can be done.
        served: Says which models there are.
        error: Such a sentence, with what the server or the network said.
        help: The commands of the conversation.
        on: Names what is switched on.
        off: Names what is switched off.
        default: Names what the server decides.
        roles: Names who speaks, in a transcript.
        replies: What the commands answer.
        usage: What is wrong with the command line.
        silence: Says that nothing came on stdin.
        history: Says that the history cannot be kept.
    """

    lang: str
    greeting: str
    leaving: str
    interrupted: str
    kept: str
    dropped: str
    again: str
    facts: str
    unknown: str
    endings: Mapping[str, str]
    only_reasoning: str
    errors: Mapping[str, str]
    in_conversation: Mapping[str, str]
    served: str
    error: str
    help: str
    on: str
    off: str
    default: str
    roles: Mapping[str, str]
    replies: Mapping[str, str]
    usage: Mapping[str, str]
    silence: str
    history: str


_ENGLISH = Words(
    lang="en",
    greeting="{model} · {url}\n/help lists the commands, Ctrl-D leaves.",
    leaving="Ctrl-C again, or Ctrl-D, leaves.",
    interrupted="Interrupted.",
    kept="Interrupted. What had come stays in the conversation; /retry asks again.",
    dropped="Interrupted before there was an answer. The question is taken back; /retry asks again.",
    again="The question is taken back; /retry asks again.",
    facts="{model} · tokens: hit {hit}, miss {miss}, out {output} · first {first} s, total {total} s",
    unknown="?",
    endings={
        "length": "The answer stops here because it reached the limit of tokens; --max-tokens sets it.",
        "content_filter": "The service's content filter ended the answer.",
    },
    only_reasoning="The model gave its answer in the reasoning, and no text outside it.",
    errors={
        "key": "The key was refused: check DEEPSEEK_API_KEY.",
        "balance": "The account has no balance left.",
        "limit": "There are too many requests at once: wait a moment.",
        "cut": "The answer was cut off before its end.",
        "timeout": "The server took too long.",
        "context": "The question does not fit into the model's window.",
        "model": "The server does not have this model: choose another with -m, --model.",
        "rejected": "The server refused the request.",
        "server": "The server failed.",
        "other": "The call failed.",
    },
    in_conversation={
        "context": "The conversation no longer fits into the model's window: /clear begins a new one.",
        "model": "The server does not have this model: choose another with /model.",
    },
    served=" It has {names}.",
    error="{sentence} ({detail})",
    help="""\
/help            this list
/clear           forget the conversation; settings stay
/model [NAME]    ask another model, or show which one is asked
/system [TEXT]   set the system message; without TEXT, remove it
/thinking on|off let the model think before it answers, or not
/retry           ask the last question again
/save FILE       write the conversation to FILE: as Markdown, or to a name.json
                 as the messages of a request
/quit            leave, as Ctrl-D does

A line that ends in a backslash goes on in the next one. \"\"\" begins a text of
many lines, and the next \"\"\" ends it. A line that begins with a space is never
a command. Ctrl-C ends an answer.""",
    on="on",
    off="off",
    default="as the server decides",
    roles={"system": "System", "user": "Question", "assistant": "Answer"},
    replies={
        "cleared": "The conversation is forgotten.",
        "model": "The model is {model}.",
        "system": "The system message is set.",
        "no_system": "There is no system message.",
        "thinking": "Thinking: {state}.",
        "thinking_usage": "Thinking: {state}. /thinking on or /thinking off changes it.",
        "nothing": "There is no question to ask again.",
        "saved": "Written to {path}.",
        "save_usage": "/save needs the name of a file.",
        "exists": "{path} is there already; it is left as it is.",
        "unsaved": "{path} cannot be written: {reason}",
        "unknown": "There is no command {name}; /help lists them. To ask it, begin with a space.",
    },
    usage={
        "empty": "the question is empty",
        "terminal": "a conversation needs a terminal; give PROMPT, or - and the question on stdin",
        "output": "-o {output} is for one question: give PROMPT, or - and the question on stdin",
        "url": "--emulator and --base-url exclude each other",
    },
    silence="Nothing came on stdin within {seconds:g} s; the question is asked without it. < /dev/null saves the wait.",
    history="The history is not kept: {reason}",
)

_CHINESE = Words(
    lang="zh",
    greeting="{model} · {url}\n输入 /help 查看命令，按 Ctrl-D 退出。",
    leaving="再按一次 Ctrl-C 或按 Ctrl-D 退出。",
    interrupted="已中断。",
    kept="已中断。已收到的部分保留在对话中，输入 /retry 可重新提问。",
    dropped="还没开始回答就已中断，问题已撤回，输入 /retry 可重新提问。",
    again="问题已撤回，输入 /retry 可重新提问。",
    facts="{model} · token：命中 {hit}，未命中 {miss}，输出 {output} · 首个 token {first} 秒，总计 {total} 秒",
    unknown="?",
    endings={
        "length": "达到 token 上限，回答到此为止；可用 --max-tokens 调整上限。",
        "content_filter": "回答被服务端的内容过滤终止。",
    },
    only_reasoning="模型只输出了思考内容，没有给出正式回答。",
    errors={
        "key": "API key 被拒绝，请检查 DEEPSEEK_API_KEY。",
        "balance": "账户余额不足。",
        "limit": "并发请求过多，请稍后再试。",
        "cut": "回答没有传完就断开了。",
        "timeout": "服务端响应超时。",
        "context": "问题超出了模型的上下文长度。",
        "model": "服务端没有这个模型，可用 -m, --model 更换。",
        "rejected": "服务端拒绝了这次请求。",
        "server": "服务端出错。",
        "other": "调用失败。",
    },
    in_conversation={
        "context": "对话已超出模型的上下文长度，可用 /clear 重新开始。",
        "model": "服务端没有这个模型，可用 /model 更换。",
    },
    served="可用的模型：{names}。",
    error="{sentence}（{detail}）",
    help="""\
/help            显示本列表
/clear           清空对话，设置不变
/model [NAME]    更换模型；不带参数时显示当前模型
/system [TEXT]   设置系统提示词；不带参数时将其删除
/thinking on|off 打开或关闭思考模式
/retry           重新提问上一个问题
/save FILE       把对话保存到文件：Markdown 格式；以 .json 结尾时保存为消息列表
/quit            退出，与 Ctrl-D 相同

行尾加反斜杠可以换行继续输入；以 \"\"\" 开头可以输入多行文本，到下一个 \"\"\" 为止。
以空格开头的行不会被当作命令。回答过程中按 Ctrl-C 只中断这次回答。""",
    on="开",
    off="关",
    default="由服务端决定",
    roles={"system": "系统提示词", "user": "提问", "assistant": "回答"},
    replies={
        "cleared": "对话已清空。",
        "model": "当前模型：{model}。",
        "system": "已设置系统提示词。",
        "no_system": "当前没有系统提示词。",
        "thinking": "思考模式：{state}。",
        "thinking_usage": "思考模式：{state}。用 /thinking on 或 /thinking off 切换。",
        "nothing": "没有可以重新提问的问题。",
        "saved": "已保存到 {path}。",
        "save_usage": "/save 后面要写文件名。",
        "exists": "{path} 已存在，没有覆盖。",
        "unsaved": "无法写入 {path}：{reason}",
        "unknown": "没有 {name} 这个命令，输入 /help 查看。如果这是要问的内容，请在前面加一个空格。",
    },
    usage={
        "empty": "没有输入问题",
        "terminal": "多轮对话需要终端；请给出 PROMPT，或用 - 从 stdin 读取问题",
        "output": "-o {output} 只用于单次提问；请给出 PROMPT，或用 - 从 stdin 读取问题",
        "url": "--emulator 与 --base-url 不能同时使用",
    },
    silence="stdin 在 {seconds:g} 秒内没有数据，问题将不附带它。加上 < /dev/null 可免去等待。",
    history="无法保存输入历史：{reason}",
)

WORDS: Mapping[str, Words] = {"en": _ENGLISH, "zh": _CHINESE}
