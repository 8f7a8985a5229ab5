"""What the commands that ask the service about the account have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import click
import openai

from deepseek_sdk import Client
from deepseek_sdk.cli._connection import is_connection_error, make, unreachable
from deepseek_sdk.cli._exits import hide_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deepseek_sdk.cli._language import Say

__all__ = ["BALANCE_PATH", "MODELS_PATH", "base_url_option", "fetch", "models_of", "money_of"]

T = TypeVar("T")

# These answers are small and come at once, or not at all.
_TIMEOUT_S = 20.0
_LONGEST_QUOTE = 100
BALANCE_PATH = "/user/balance"
MODELS_PATH = "/models"

base_url_option = click.option("--base-url", metavar="URL", help="The endpoint; default: from the settings.")


def fetch(base_url: str | None, path: str, say: Say, *, read: Callable[[object], T | None], what: str) -> T:
    """
    Ask *base_url*, or the endpoint of the settings, for account data.

    Args:
        base_url: The endpoint, or None.
        path: What to ask for.
        say: Chooses the language of what goes wrong.
        read: Takes the data out of the decoded answer; gives None where there is none.
        what: Names the data.

    Returns:
        The data.

    Raises:
        ConfigurationError: No client can be made.
        click.ClickException: The endpoint cannot be reached, or its answer is something else.
    """
    try:
        with make(Client, base_url=base_url, timeout=_TIMEOUT_S, backend=None) as client:
            body = _answer(client, path, say)
    except json.JSONDecodeError as error:
        raise _other(error.doc, what, say) from error
    data = read(body)
    if data is None:
        raise _other(repr(body), what, say)
    return data


def _answer(client: Client, path: str, say: Say) -> object:
    try:
        return client.get(path, cast_to=object)
    except openai.APIConnectionError as error:
        if not is_connection_error(error):
            raise
        raise click.ClickException(unreachable(error, client, say)) from error


def _other(said: str, what: str, say: Say) -> click.ClickException:
    text = say(en="the endpoint answered, but not with {}: {}", zh="服务有应答，但内容不是{}：{}")
    return click.ClickException(hide_keys(text.format(what, said[:_LONGEST_QUOTE])))


def models_of(body: object) -> list[Mapping[str, Any]] | None:
    """
    Read what the service says about its models.

    Args:
        body: Its answer, decoded.

    Returns:
        A mapping for each; None where it says no such thing.
    """
    if not isinstance(body, dict) or not isinstance(body.get("data"), list):
        return None
    return [model for model in body["data"] if isinstance(model, dict)]


def money_of(body: object) -> tuple[bool, list[Mapping[str, Any]]] | None:
    """
    Read what the service says about the balance.

    Args:
        body: Its answer, decoded.

    Returns:
        Whether there is enough to call the API, and a mapping for each currency; None where it says no such thing.
    """
    if not isinstance(body, dict) or not isinstance(body.get("balance_infos"), list):
        return None
    return bool(body.get("is_available")), [info for info in body["balance_infos"] if isinstance(info, dict)]
