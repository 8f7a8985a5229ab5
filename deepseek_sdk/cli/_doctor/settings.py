"""Checks of what the user has set: settings and the key."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import TYPE_CHECKING

from deepseek_sdk._settings import SETTINGS, strange_variables
from deepseek_sdk._wire import host_and_path
from deepseek_sdk.backends.base import load_backend
from deepseek_sdk.cli._doctor.finding import failed, ok, skipped, warning
from deepseek_sdk.cli._language import origin_in_words
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._language import Say
    from deepseek_sdk.config import Settings

__all__ = ["check_backend", "check_settings", "judge_key", "unknown_variables"]

_SHORTEST_KEY = 20


def check_settings(settings: Settings, say: Say) -> list[Finding]:
    """Look at files and variables."""
    findings = [
        failed(
            "settings",
            problem,
            say(en="Correct it; see: deepseek-sdk config show", zh="请改正，参见 deepseek-sdk config show"),
        )
        for problem in settings.problems
    ]
    findings += [
        warning("settings", detail, say(en="Correct the name, or unset it.", zh="请改正变量名，或取消该变量。"))
        for detail in unknown_variables(os.environ, say)
    ]
    findings += _readable_keys(settings, say)
    return findings or [ok("settings", _summary(settings, say))]


def _summary(settings: Settings, say: Say) -> str:
    read = [str(file.path) for file in settings.files if file.is_read]
    given = [f"{name} ({origin_in_words(settings.origin(name), say)})" for name in SETTINGS if settings.is_given(name)]
    files = ", ".join(read) or say(en="none", zh="无")
    return say(en="files: {}; set: {}", zh="配置文件：{}；已设置：{}").format(files, ", ".join(given) or "-")


def unknown_variables(names: Iterable[str], say: Say) -> list[str]:
    """
    Describe environment variables that look like settings and are none.

    Args:
        names: All variables.
        say: Chooses the language.

    Returns:
        A sentence for each.
    """
    return [_unknown(name, near, say) for name, near in strange_variables(names).items()]


def _unknown(name: str, near: str | None, say: Say) -> str:
    text = say(en="the environment variable {} is not known", zh="环境变量 {} 不是配置项").format(name)
    hint = say(en="; did you mean {}?", zh="；是不是想写 {}？").format(near)
    return text + hint if near else text


def _readable_keys(settings: Settings, say: Say) -> list[Finding]:
    """Look for files with a key that others on this machine can read."""
    if os.name == "nt":
        return []
    files = [file for file in settings.files if file.values.get("api_key")]
    return [
        warning(
            "settings",
            say(en="{} holds a key and others can read it", zh="{} 里有 key，但其他用户也能读取").format(file.path),
            say(en="Run: ", zh="请运行：") + f"chmod 600 '{file.path}'",
        )
        for file in files
        if file.path.stat().st_mode & 0o077
    ]


def check_backend(settings: Settings, say: Say) -> list[Finding]:
    """Make the backend that answers in place of the endpoint, as a client does; without one there is no line."""
    return [_judge_backend(settings, say)] if settings["backend"] else []


def _judge_backend(settings: Settings, say: Say) -> Finding:
    name, origin = settings["backend"], origin_in_words(settings.origin("backend"), say)
    try:
        load_backend(name)
    except ConfigurationError as error:
        advice = say(
            en="Install the package that registers it, or unset the setting: deepseek-sdk config show",
            zh="请安装提供该后端的包，或取消该设置，参见 deepseek-sdk config show",
        )
        return failed("backend", say(en="from {}: {}", zh="来源：{}；{}").format(origin, error), advice)
    text = say(
        en="{} is installed, loads, and answers in place of the endpoint; from {}",
        zh="由后端 {} 代替远程服务作答，已安装且可加载；来源：{}",
    )
    return ok("backend", text.format(name, origin))


def judge_key(settings: Settings, status: int | None, say: Say) -> Finding:
    """
    Say whether there is a key and whether it is good.

    Args:
        settings: What is set.
        status: What the endpoint answered to it, or None where it was not asked or did not answer.
        say: Chooses the language.

    Returns:
        What was found.
    """
    key: str | None = settings["api_key"]
    if not key and any(": api_key " in problem for problem in settings.problems):
        detail = say(en="the one that is set cannot be used", zh="已设置的 key 不可用")
        return failed("key", detail, say(en="See settings.", zh="见 settings 一项。"))
    if not key and settings["backend"]:
        return skipped("key", say(en="there is none, and the backend needs none", zh="没有 key，后端也不需要"))
    if not key:
        advice = say(
            en="Set DEEPSEEK_API_KEY, or run: deepseek-sdk config init --with-key",
            zh="请设置 DEEPSEEK_API_KEY，或运行 deepseek-sdk config init --with-key",
        )
        return failed("key", say(en="there is no key", zh="没有 key"), advice)
    origin = origin_in_words(settings.origin("api_key"), say)
    if status in (401, 403):
        detail = say(en="from {}: the endpoint refused it (HTTP {})", zh="来源：{}；服务拒绝了它（HTTP {}）")
        advice = say(
            en="Check that it was copied whole, belongs to this endpoint, and was not deleted.",
            zh="请检查 key 是否复制完整、是否属于该服务、是否已被删除。",
        )
        return failed("key", detail.format(origin, status), advice)
    host, _ = host_and_path(settings["base_url"])
    if host.endswith("deepseek.com") and not _looks_like_one(key):
        detail = say(en="from {}: it does not look like a key of DeepSeek", zh="来源：{}；看起来不像 DeepSeek 的 key")
        advice = say(
            en="Keys begin with sk- and are longer; check it.", zh="DeepSeek 的 key 以 sk- 开头，而且更长，请检查。"
        )
        return warning("key", detail.format(origin), advice)
    is_accepted = status is not None and (status < HTTPStatus.BAD_REQUEST or status in (402, 429))
    accepted = say(en="from {}: accepted", zh="来源：{}；有效")
    unasked = say(en="from {}: not verified", zh="来源：{}；未验证")
    return ok("key", (accepted if is_accepted else unasked).format(origin))


def _looks_like_one(key: str) -> bool:
    return key.startswith("sk-") and len(key) >= _SHORTEST_KEY
