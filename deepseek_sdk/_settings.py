"""The table of settings: what each is called, what it may be, and what it means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_sdk._validate import check_api_key, check_base_url
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DEFAULT_BASE_URL", "SETTINGS", "Setting", "mask"]

DEFAULT_BASE_URL = "https://api.deepseek.com"

# Of a shorter key the last characters would be too large a part.
_LONG_ENOUGH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """
    One setting.

    Attributes:
        name: What files call it; a dot leads into a table.
        meaning: What it means, in "en" and "zh".
        check: Takes a value of a file or an argument and gives the one to use; a ValueError says what is wrong.
        from_text: Makes such a value of the text of an environment variable.
        variable: The environment variable.
        default: What holds where nothing is said.
        is_secret: It may never be shown.
    """

    name: str
    meaning: Mapping[str, str]
    check: Callable[[Any], Any]
    from_text: Callable[[str], object] = str
    variable: str
    default: Any = None
    is_secret: bool = False


def mask(key: str) -> str:
    """
    Make of a key what may be shown.

    Args:
        key: It.

    Returns:
        Its last four characters behind dots, or dots alone where it is short.
    """
    return f"{'sk-' if key.startswith('sk-') else ''}…{key[-4:] if len(key) >= _LONG_ENOUGH else ''}"


def _number_in(text: str) -> object:
    """Read a number; what is none stays text, for the check to refuse."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _key(value: object) -> object:
    # Whatever is wrong with a secret, it is not shown.
    if not isinstance(value, str):
        message = f"must be a string, not {type(value).__name__}"
        raise ValueError(message)  # noqa: TRY004  caught by who knows where it came from
    return _checked_by(check_api_key, value, "api_key")


def _url(value: object) -> object:
    if not isinstance(value, str):
        message = f"must be a URL, not {value!r}"
        raise ValueError(message)  # noqa: TRY004  likewise
    return _checked_by(check_base_url, value, "base_url")


def _checked_by(check: Callable[[object], None], value: str, name: str) -> str:
    try:
        check(value)
    except ConfigurationError as error:
        # Who knows where the value came from names it.
        raise ValueError(str(error).removeprefix(f"{name} ")) from None
    return value


def _name(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        message = f"must be a name, not {value!r}"
        raise ValueError(message)
    return value


def _seconds(value: Any) -> object:
    if value in ("off", "none"):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not value > 0:
        message = f'must be a number of seconds above 0, or "off", not {value!r}'
        raise ValueError(message)
    return value


def _count(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = f"must be a whole number, 0 or more, not {value!r}"
        raise ValueError(message)
    return value


def _one_of(*choices: str) -> Callable[[object], object]:
    def check(value: object) -> object:
        if value not in choices:
            message = f"must be one of {', '.join(map(repr, choices))}, not {value!r}"
            raise ValueError(message)
        return value

    return check


def _clock(name: str, *, en: str, zh: str) -> Setting:
    return Setting(
        name=f"deadlines.{name}",
        meaning={"en": en, "zh": zh},
        check=_seconds,
        from_text=_number_in,
        variable=f"DEEPSEEK_SDK_DEADLINES_{name.upper()}",
    )


_ALL = (
    Setting(
        name="api_key",
        meaning={"en": "The API key.", "zh": "API key。"},
        check=_key,
        variable="DEEPSEEK_API_KEY",
        is_secret=True,
    ),
    Setting(
        name="base_url",
        meaning={"en": "The endpoint.", "zh": "服务地址。"},
        check=_url,
        variable="DEEPSEEK_BASE_URL",
        default=DEFAULT_BASE_URL,
    ),
    Setting(
        name="model",
        meaning={"en": "The model that the command line asks.", "zh": "命令行默认使用的模型。"},
        check=_name,
        variable="DEEPSEEK_SDK_MODEL",
        default="deepseek-flash",
    ),
    Setting(
        name="timeout",
        meaning={
            "en": 'The longest silence of a server, in seconds, or "off".',
            "zh": "服务端最长可以多久不发数据，单位秒；off 为不限。",
        },
        check=_seconds,
        from_text=_number_in,
        variable="DEEPSEEK_SDK_TIMEOUT",
        default=600,
    ),
    Setting(
        name="max_retries",
        meaning={"en": "How often a failed request is sent again.", "zh": "请求失败后最多重试几次。"},
        check=_count,
        from_text=_number_in,
        variable="DEEPSEEK_SDK_MAX_RETRIES",
        default=2,
    ),
    Setting(
        name="plain",
        meaning={
            "en": 'How plain calls are read: "auto", "stream" or "direct".',
            "zh": "非流式调用的读取方式：auto、stream 或 direct。",
        },
        check=_one_of("auto", "stream", "direct"),
        variable="DEEPSEEK_SDK_PLAIN",
        default="auto",
    ),
    _clock(
        "connect",
        en='The longest that connecting may take, in seconds, or "off".',
        zh="建立连接的最长时间，单位秒；off 为不限。",
    ),
    _clock(
        "first_token",
        en='The longest wait for the first token, in seconds, or "off".',
        zh="等待首个 token 的最长时间，单位秒；off 为不限。",
    ),
    _clock(
        "stall",
        en='The longest pause inside an answer, in seconds, or "off".',
        zh="回答中途停顿的最长时间，单位秒；off 为不限。",
    ),
    _clock(
        "total",
        en='The longest that a whole call may take, in seconds, or "off".',
        zh="整个调用的最长时间，单位秒；off 为不限。",
    ),
    Setting(
        name="backend",
        meaning={
            "en": "The installed backend that answers in place of an endpoint.",
            "zh": "代替远程服务作答的后端，填已安装后端的名称。",
        },
        check=_name,
        variable="DEEPSEEK_SDK_BACKEND",
    ),
    Setting(
        name="lang",
        meaning={
            "en": 'The language of the command line: "zh" or "en"; else that of the locale.',
            "zh": "命令行的语言：zh 或 en；不设置时跟随系统。",
        },
        check=_one_of("zh", "en"),
        variable="DEEPSEEK_SDK_LANG",
    ),
)

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}
