"""`deepseek-sdk tokens`: how many tokens a text or a request has."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.routing.models import DEFAULT_MODEL
from deepseek_sdk.tokens.counter import Counter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.tokens.counter import TokenCount

__all__ = ["command"]

# `tokens count FILE` is the same as `tokens FILE`.
_VERB = "count"


@click.command("tokens", short_help="Count the tokens of a text or of a request.")
@click.argument("words", nargs=-1, metavar="[count] [FILE]")
@click.option("--model", help=f"Model that would answer.  [default: {DEFAULT_MODEL}]")
@click.option(
    "--messages", "is_request", is_flag=True, help="FILE is a JSON list of messages, or the JSON body of a request."
)
@click.option("--by-message", is_flag=True, help="With --messages: a row for each message.")
@language_option
@output_option
def command(
    *, words: tuple[str, ...], model: str | None, is_request: bool, by_message: bool, lang: str, output: str
) -> None:
    """
    Count the tokens of FILE, a UTF-8 text; of stdin without one, or with "-".

    A text is counted alone. With --messages, it is counted what the service would bill for the request, its template
    included. Nothing is sent.
    """
    say = Say(lang)
    text = _read(words, say)
    counter = Counter()
    if not is_request:
        if by_message:
            raise click.UsageError(
                say(en="--by-message needs --messages", zh="--by-message 需要和 --messages 一起使用")
            )
        _show_text(text, counter, say, output)
        return
    body = _body(text, model, say)
    count = counter.count(body)
    if by_message:
        _show_messages(body, count, say, output)
    else:
        _show_count(count, say, output)
    _tell_doubts(count.why, say)


def _read(words: tuple[str, ...], say: Say) -> str:
    files = words[1:] if words[:1] == (_VERB,) else words
    if len(files) > 1:
        raise click.UsageError(say(en="give one file", zh="只能给出一个文件"))
    name = files[0] if files else "-"
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        text = say(en="{} cannot be read: {}", zh="无法读取 {}：{}")
        raise click.ClickException(text.format(name, error.strerror)) from error
    except UnicodeDecodeError as error:
        text = say(en="{} is not UTF-8: byte {}", zh="{} 不是 UTF-8 编码：第 {} 字节")
        raise click.ClickException(text.format(name, error.start)) from error


def _body(text: str, model: str | None, say: Say) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.ClickException(say(en="not JSON: {}", zh="不是 JSON：{}").format(error)) from error
    body = {"messages": value} if isinstance(value, list) else value
    messages = body.get("messages", []) if isinstance(body, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        wanted = say(
            en="expected a JSON list of messages, or a request with such a list",
            zh="应为 JSON 格式的消息列表，或包含消息列表的请求",
        )
        raise click.ClickException(wanted)
    return {"model": DEFAULT_MODEL, **body, **({"model": model} if model else {})}


def _show_text(text: str, counter: Counter, say: Say, output: str) -> None:
    tokens = counter.count_text(text)
    row = {
        "tokens": tokens,
        "exact": counter.vocabulary.is_exact,
        "characters": len(text),
        "bytes": len(text.encode()),
    }
    headings = {
        "tokens": say(en="tokens", zh="token 数"),
        "characters": say(en="characters", zh="字符数"),
        "bytes": say(en="bytes", zh="字节数"),
    }
    show([row], output=output, headings=headings)
    if not counter.vocabulary.is_exact:
        _tell_doubts(("no vocabulary installed",), say)


def _show_count(count: TokenCount, say: Say, output: str) -> None:
    row = {
        "tokens": count.total,
        "exact": count.exact,
        "low": count.low,
        "high": count.high,
        "messages": len(count.by_message),
        "overhead": count.overhead,
        "why": "; ".join(count.why),
    }
    headings = {
        "tokens": say(en="tokens", zh="token 数"),
        "low": say(en="at least", zh="下限"),
        "high": say(en="at most", zh="上限"),
        "messages": say(en="messages", zh="消息数"),
        "overhead": say(en="template and tools", zh="模板与工具"),
    }
    show([row], output=output, headings=headings)


def _show_messages(body: Mapping[str, Any], count: TokenCount, say: Say, output: str) -> None:
    messages = body.get("messages", [])
    rows: list[dict[str, Any]] = [
        {"message": index, "role": message.get("role"), "tokens": tokens}
        for index, (message, tokens) in enumerate(zip(messages, count.by_message, strict=True))
    ]
    rows.append({"message": None, "role": None, "tokens": count.overhead})
    headings = {
        "message": say(en="message", zh="消息"),
        "role": say(en="role", zh="角色"),
        "tokens": say(en="tokens", zh="token 数"),
    }
    cells = [*rows[:-1], {**rows[-1], "role": say(en="(template and tools)", zh="（模板与工具）")}]
    show(rows, output=output, headings=headings, cells=cells)


def _tell_doubts(why: tuple[str, ...], say: Say) -> None:
    if why:
        text = say(en="An estimate, because of: {}", zh="以上为估算值，原因：{}")
        console_of(sys.stderr).print(text.format("; ".join(why)), style="yellow", markup=False)
