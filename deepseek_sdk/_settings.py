"""The table of settings: what each is called, what it may be, and what it means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk._validate import check_api_key, check_base_url
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "CONFIG_VARIABLE",
    "DEFAULT_BASE_URL",
    "SETTINGS",
    "TABLES",
    "Setting",
    "checked",
    "mask",
    "strange_variables",
]

CONFIG_VARIABLE = "DEEPSEEK_SDK_CONFIG"
DEFAULT_BASE_URL = "https://api.deepseek.com"
TABLES = ("deadlines",)

_PREFIX = "DEEPSEEK_SDK_"
# The local engine has variables of its own.
_OTHERS = ("DEEPSEEK_SDK_LOCAL_",)
# Of a shorter key the last characters would be too large a part.
_LONG_ENOUGH = 16


class Setting(NamedTuple):
    """
    One setting.

    Attributes:
        name: What files call it; a dot leads into a table.
        variable: The environment variable.
        meaning: What it means, in "en" and "zh".
        check: Takes the name and a value of a file or an argument, and gives the value to use; a ConfigurationError
            says what is wrong.
        from_text: Makes such a value of the text of an environment variable.
        default: What holds where nothing is said.
        is_secret: It may never be shown.
    """

    name: str
    variable: str
    meaning: Mapping[str, str]
    check: Callable[[str, Any], object]
    from_text: Callable[[str], object] = str
    default: Any = None
    is_secret: bool = False


def checked(name: str, value: object) -> object:
    """
    Check a setting.

    Args:
        name: Its name.
        value: What a file, an environment variable or an argument says that it is.

    Returns:
        The value to use.

    Raises:
        ConfigurationError: There is no such setting, or the value cannot be used; the message begins with the name.
    """
    setting = SETTINGS.get(name)
    if setting is None:
        raise ConfigurationError(_unknown(name))
    return setting.check(name, value)


def _unknown(name: str) -> str:
    if name in TABLES:
        inner = [setting.removeprefix(f"{name}.") for setting in SETTINGS if setting.startswith(f"{name}.")]
        return f"{name} must be a table with {_listed(inner)}"
    near = _nearest(name, (*SETTINGS, *TABLES))
    hint = f"did you mean {near!r}?" if near else f"settings are {_listed(SETTINGS)}"
    return f"there is no setting {name!r}; {hint}"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _nearest(name: str, names: Sequence[str]) -> str | None:
    import difflib  # noqa: PLC0415  wanted in errors only

    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


def strange_variables(names: Iterable[str]) -> dict[str, str | None]:
    """
    Find environment variables that look like settings and are none.

    Args:
        names: The names of all variables.

    Returns:
        Their names in alphabetical order, each with the variable that it may have been meant for, or None.
    """
    known = (CONFIG_VARIABLE, *(setting.variable for setting in SETTINGS.values()))
    strange = [n for n in sorted(names) if n.startswith(_PREFIX) and n not in known and not n.startswith(_OTHERS)]
    # With what they have in common, all would be near.
    by_rest = {_rest(name): name for name in known}
    return {name: by_rest.get(_nearest(_rest(name), [*by_rest]) or "") for name in strange}


def _rest(variable: str) -> str:
    return variable.removeprefix("DEEPSEEK_").removeprefix("SDK_")


def mask(key: str) -> str:
    """
    Make of a key what may be shown.

    Args:
        key: The whole key.

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


def _check_key(name: str, value: object) -> object:
    # Whatever is wrong with a secret, it is not shown.
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} must be a string, not {type(value).__name__}")
    check_api_key(value)
    return value


def _check_url(name: str, value: object) -> object:
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} must be a URL, not {value!r}")
    check_base_url(value)
    return value


def _check_name(name: str, value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be a name, not {value!r}")
    return value


def _check_seconds(name: str, value: Any) -> object:
    if value in ("off", "none"):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not value > 0:
        raise ConfigurationError(f'{name} must be a number of seconds above 0, or "off", not {value!r}')
    return value


def _check_count(name: str, value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigurationError(f"{name} must be a whole number, 0 or more, not {value!r}")
    return value


def _one_of(*choices: str) -> Callable[[str, object], object]:
    def check(name: str, value: object) -> object:
        if value not in choices:
            raise ConfigurationError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")
        return value

    return check


def _clock(name: str, *, en: str, zh: str) -> Setting:
    return Setting(
        name=f"deadlines.{name}",
        meaning={"en": en, "zh": zh},
        check=_check_seconds,
        from_text=_number_in,
        variable=f"DEEPSEEK_SDK_DEADLINES_{name.upper()}",
    )


_ALL = (
    Setting(
        name="api_key",
        meaning={"en": "The API key.", "zh": "API key。"},
        check=_check_key,
        variable="DEEPSEEK_API_KEY",
        is_secret=True,
    ),
    Setting(
        name="base_url",
        meaning={"en": "The endpoint.", "zh": "服务地址。"},
        check=_check_url,
        variable="DEEPSEEK_BASE_URL",
        default=DEFAULT_BASE_URL,
    ),
    Setting(
        name="model",
        meaning={"en": "The model that the command line asks.", "zh": "命令行默认使用的模型。"},
        check=_check_name,
        variable="DEEPSEEK_SDK_MODEL",
        default="deepseek-flash",
    ),
    Setting(
        name="timeout",
        meaning={
            "en": 'The longest silence of a server, in seconds, or "off".',
            "zh": "服务端最长可以多久不发数据，单位秒；off 为不限。",
        },
        check=_check_seconds,
        from_text=_number_in,
        variable="DEEPSEEK_SDK_TIMEOUT",
        default=600,
    ),
    Setting(
        name="max_retries",
        meaning={"en": "How often a failed request is sent again.", "zh": "请求失败后最多重试几次。"},
        check=_check_count,
        from_text=_number_in,
        variable="DEEPSEEK_SDK_MAX_RETRIES",
        default=2,
    ),
    Setting(
        name="plain",
        meaning={
            "en": 'How plain calls are read: "auto", "stream" or "direct".',
            "zh": "普通调用（非流式）的读取方式：auto、stream 或 direct。",
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
        check=_check_name,
        variable="DEEPSEEK_SDK_BACKEND",
    ),
    Setting(
        name="local_model",
        meaning={
            "en": "The path or the name of the model that the backend is made with.",
            "zh": "创建后端时使用的模型路径或名称。",
        },
        check=_check_name,
        variable="DEEPSEEK_SDK_LOCAL_MODEL",
    ),
    Setting(
        name="lint",
        meaning={
            "en": 'What happens to a request that the server would refuse: "repair", "strict" or "off".',
            "zh": "服务端会拒绝的请求如何处理：repair（自动修正）、strict（直接报错）或 off（照发）。",
        },
        check=_one_of("strict", "repair", "off"),
        variable="DEEPSEEK_SDK_LINT",
        default="repair",
    ),
    Setting(
        name="prices",
        meaning={
            "en": "A file of prices that goes over the built-in ones.",
            "zh": "价格文件，其中的价格优先于内置价格。",
        },
        check=_check_name,
        variable="DEEPSEEK_SDK_PRICES",
    ),
    Setting(
        name="ledger",
        meaning={
            "en": 'The file that every call is written to: a path, "on" for the usual place, or "off".',
            "zh": "记录每次调用的账本文件：填路径，on 为默认位置，off 为不记录。",
        },
        check=_check_name,
        variable="DEEPSEEK_SDK_LEDGER",
        default="off",
    ),
    Setting(
        name="cache",
        meaning={
            "en": 'Whether answers are kept: "exact", "semantic" (also for questions that ask the same) or "off".',
            "zh": "是否缓存回答：exact（完全相同的请求直接返回缓存）、semantic（意思相同的问题也返回缓存）或 off。",
        },
        check=_one_of("exact", "semantic", "off"),
        variable="DEEPSEEK_SDK_CACHE",
        default="off",
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
