"""What the commands that ask the service about the account have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import openai

from deepseek_sdk import Client
from deepseek_sdk.cli._connection import is_connection_error, make, unreachable
from deepseek_sdk.cli._exits import redact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.cli._language import Say

__all__ = ["BALANCE_PATH", "MODELS_PATH", "ask", "base_url_option", "client_of", "models_of", "money_of"]

# These answers are small and come at once, or not at all.
_TIMEOUT_S = 20.0
BALANCE_PATH = "/user/balance"
MODELS_PATH = "/models"

base_url_option = click.option("--base-url", metavar="URL", help="The endpoint; default: from the settings.")


def client_of(base_url: str | None) -> Client:
    """
    Make a client that asks *base_url*, or the endpoint of the settings.

    Args:
        base_url: The endpoint, or None.

    Returns:
        The client.

    Raises:
        ConfigurationError: None can be made.
    """
    return make(Client, base_url=base_url, timeout=_TIMEOUT_S, backend=None)


def ask(base_url: str | None, path: str, say: Say) -> object:
    """
    Ask *base_url*, or the endpoint of the settings, for account data.

    Args:
        base_url: The endpoint, or None.
        path: What to ask for.
        say: Chooses the language of what goes wrong.

    Returns:
        The answer, decoded.

    Raises:
        click.ClickException: The endpoint cannot be reached, or its answer is no JSON.
    """
    try:
        with client_of(base_url) as client:
            return _answer(client, path, say)
    except json.JSONDecodeError as error:
        text = say(en="the endpoint answered, but not with JSON: {}", zh="服务有应答，但内容不是 JSON：{}")
        raise click.ClickException(redact(text.format(error.doc[:100]))) from error


def _answer(client: Client, path: str, say: Say) -> object:
    try:
        return client.get(path, cast_to=object)
    except openai.APIConnectionError as error:
        if not is_connection_error(error):
            raise
        raise click.ClickException(unreachable(error, client, say)) from error


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
