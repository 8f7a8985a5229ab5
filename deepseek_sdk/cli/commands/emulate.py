"""`deepseek-sdk emulate`: the emulator in the foreground, for programs in any language."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk.cli._language import Say, language_option
from deepseek_sdk.cli._numbers import Numbers
from deepseek_sdk.cli._output import output_option, show
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.testing import Emulator, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["command"]

SPEED = Numbers(min=0, min_open=True)

HINTS = {
    "en": """\
An emulator of the DeepSeek API listens at the URL on stdout; it echoes what it is asked. Ctrl-C stops it.

    Client(base_url="{url}", api_key="{key}")
    curl {url}/chat/completions -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\
      -d '{{"model": "deepseek-flash", "messages": [{{"role": "user", "content": "Hello"}}]}}'
""",
    "zh": """\
DeepSeek API 模拟器已在 stdout 给出的地址上监听，会复述收到的内容。按 Ctrl-C 停止。

    Client(base_url="{url}", api_key="{key}")
    curl {url}/chat/completions -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\
      -d '{{"model": "deepseek-flash", "messages": [{{"role": "user", "content": "你好"}}]}}'
""",
}


def list_faults(say: Say, output: str) -> None:
    """Print the menu of faults, with the arguments of each and their usual values."""
    rows = [{"fault": name, "arguments": arguments_of(name), "meaning": text} for name, text in Fault.menu().items()]
    headings = {
        "fault": say(en="fault", zh="故障"),
        "arguments": say(en="arguments", zh="参数"),
        "meaning": say(en="meaning", zh="含义"),
    }
    show(rows, output=output, headings=headings)


def arguments_of(name: str) -> str | None:
    """Write down the arguments that the fault *name* takes, as `--fault` does."""
    given = dict(Fault.named(name).parameters)
    if name.startswith("status_"):
        del given["code"]  # the name says it
    return ", ".join(f"{parameter}={value}" for parameter, value in given.items()) or None


def check_faults(_: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> list[Fault]:
    """Find faults by their names; an unknown one is an error of usage."""
    try:
        return [Fault.named(name) for name in names]
    except ValueError as error:
        raise click.BadParameter(f"{error}; --list-faults shows them all", param=parameter) from error


@click.command("emulate", short_help="Run an emulator of the DeepSeek API until Ctrl-C.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option("--tokens-per-s", type=SPEED, help="Speed of answers; default: at once.")
@click.option("--prefill-tokens-per-s", type=SPEED, help="Speed of reading prompts; default: at once.")
@click.option("--fault", "fault_mix", multiple=True, callback=check_faults, help="What goes wrong; may be repeated.")
@click.option("--fault-rate", type=Numbers(0, 1), help="Share of requests that draw a fault; 1 with --fault.")
@click.option("--list-faults", "is_listing", is_flag=True, help="Show all faults and their arguments, and end.")
@click.option("--reply", "replies", help="What to answer, every time; default: what was asked.")
@click.option("--seed", type=int, default=0, show_default=True, help="Makes the draws repeatable.")
@click.option("--api-key", help="The only key to let in; default: any.")
@language_option
@output_option
def command(
    *, fault_mix: list[Fault], fault_rate: float | None, is_listing: bool, lang: str, output: str, **options: Any
) -> None:
    """Run an emulator of the DeepSeek API until Ctrl-C, which ends it with 0."""
    say = Say(lang)
    if is_listing:
        list_faults(say, output)
        return
    rate = fault_rate if fault_rate is not None else float(bool(fault_mix))
    stop = stop_signal()
    with running(Emulator(fault_mix=fault_mix or None, fault_rate=rate, **options), say) as url:
        if output == "table":
            click.echo(url)
        else:
            show([{"url": url}], output=output, headings={})
        key = say(en="the key of --api-key", zh="--api-key 指定的 key") if options["api_key"] else "any"
        console_of(sys.stderr).print(HINTS[lang].format(url=url, key=key), markup=False)
        # Windows delivers signals only between waits.
        while not stop.wait(0.5):
            pass


@contextmanager
def running(emulator: Emulator, say: Say) -> Iterator[str]:
    """Run *emulator* and give its URL; an address that cannot be had is one line on stderr."""
    try:
        emulator.start()
    except OSError as error:
        text = say(en="cannot listen on {}: {}", zh="无法监听 {}：{}")
        raise click.ClickException(text.format(emulator.address, error.strerror or error)) from error
    try:
        yield emulator.url
    finally:
        emulator.stop()


def stop_signal() -> threading.Event:
    """Give an event that is set when the user or a supervisor ends the program."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
