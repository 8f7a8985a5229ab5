"""What `cache warm` does: answers of one's own become kept ones."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from deepseek_sdk import Client
from deepseek_sdk.caching import ExactCache
from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.cli._connection import make
from deepseek_sdk.cli._exits import Exit
from deepseek_sdk.cli._models import Teller
from deepseek_sdk.cli._semantic import lacking
from deepseek_sdk.cli._terminal import console_of
from deepseek_sdk.config import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    from deepseek_sdk.caching.embedding.base import Embedder
    from deepseek_sdk.caching.warming.warm import Warmed
    from deepseek_sdk.cli._language import Say

__all__ = ["cache_with", "embedder_of", "read_pairs", "read_ttl", "warmed"]

_TTL = re.compile(r"(\d{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NEVER = "never"
_LOAD_S = 60.0
# What stands for the key of calls whose tenant is said.
_ANY_KEY = "none"


class NoVectorsError(click.ClickException):
    """Something is not installed that vectors need."""

    exit_code = Exit.CONFIGURATION


def read_ttl(_: click.Context, parameter: click.Parameter, value: str) -> float | None:
    """Read for how long answers are kept, in seconds; None: for ever."""
    if value == _NEVER:
        return None
    found = _TTL.fullmatch(value)
    if found is None or not int(found[1]):
        raise click.BadParameter(f"{value!r} is no time such as 7d, 24h, 30m or never.", param=parameter)
    return float(int(found[1]) * _SECONDS[found[2]])


def read_pairs(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read tags."""
    for value in values:
        name, equals, _value = value.partition("=")
        if not (name and equals):
            raise click.BadParameter(f"{value!r} is not NAME=VALUE, such as feature=search.", param=parameter)
    return dict(value.split("=", 1) for value in values)


def embedder_of(say: Say) -> DefaultEmbedder:
    """
    Make the embedder that is built in, and build its model where there is none.

    Args:
        say: Chooses the language.

    Returns:
        It.

    Raises:
        NoVectorsError: Something is not installed.
        ClickException: The model cannot be built.
    """
    advice = _advice(say)
    if (lack := lacking(say)) is not None:
        text = say(en="{}. Run: {}; {}", zh="{}。请运行：{}；{}")
        raise NoVectorsError(text.format(*lack, advice))
    embedder = DefaultEmbedder(progress=Teller(console_of(sys.stderr), say))
    try:
        embedder.built()
    except (EmbeddingError, OSError) as error:
        text = say(en="the model cannot be built: {}; {}", zh="无法生成模型：{}；{}")
        raise click.ClickException(text.format(error, advice)) from error
    return embedder


def cache_with(embedder: Embedder | None) -> Callable[..., ExactCache]:
    """
    Say what makes a cache.

    Args:
        embedder: What makes vectors, or None: there are none.

    Returns:
        The class, or one with that embedder.
    """
    if embedder is None:
        return ExactCache
    from deepseek_sdk.caching import SemanticCache  # noqa: PLC0415  one command needs it

    return partial(SemanticCache, embedder=embedder)


def warmed(
    cache: ExactCache,
    source: str | BinaryIO,
    say: Say,
    *,
    model: str,
    system: str | None,
    tags: Mapping[str, str],
    tenant: str | None,
) -> tuple[Warmed, str | None]:
    """
    Keep the answers of a file.

    Args:
        cache: Where.
        source: The file.
        say: Chooses the language.
        model: Who would have answered.
        system: The system message, or None.
        tags: Of the answers.
        tenant: Whose; None: of calls with the key of the settings.

    Returns:
        What came of it, and whose the answers are.

    Raises:
        ClickException: The model cannot be used.
    """
    _load(cache, say)
    # Where the tenant is said, the key does not matter.
    named: dict[str, Any] = {} if tenant is None else {"tenant": tenant, "api_key": _key() or _ANY_KEY}
    with make(Client, cache=cache, **named) as client, console_of(sys.stderr).status(say(en="keeping", zh="写入中")):
        kept: Any = client.cache
        told = kept.warm(source, model=model, system=system, tags=tags)
        return told, kept.explain([{"role": "user", "content": "?"}], model=model).tenant


def _load(cache: ExactCache, say: Say) -> None:
    """See to it that the cache can make vectors, if it is one that does."""
    from deepseek_sdk.caching import SemanticCache  # noqa: PLC0415  one command needs it

    if isinstance(cache, SemanticCache) and not cache.wait_until_ready(_LOAD_S):
        reason = cache.service.reason or say(en="it takes too long to load", zh="加载用时过长")
        text = say(en="the model cannot be used: {}; {}", zh="模型无法使用：{}；{}")
        raise click.ClickException(text.format(reason, _advice(say)))


def _advice(say: Say) -> str:
    return say(en="--exact does without", zh="也可以用 --exact，不保存向量")


def _key() -> str | None:
    key: str | None = read_settings()["api_key"]
    return key
