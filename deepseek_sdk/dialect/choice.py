"""Which dialect the server behind a target speaks."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from deepseek_sdk.routing.models import ALIASES, RETIRED, SERVED

__all__ = ["DialectName", "dialect_of"]

DialectName = Literal["deepseek", "vllm", "openai"]

_OF_THE_SERVICE = SERVED | ALIASES.keys() | RETIRED.keys()
_HOST = re.compile(r"https?://(?:[^/@]*@)?(?:[^/:@]+\.)?deepseek\.com\.?(?:[:/]|$)", re.IGNORECASE)


def dialect_of(target: Any, model: str) -> DialectName:
    """
    Tell how the server behind a target wants to be asked.

    Args:
        target: It.
        model: The model it is asked for.

    Returns:
        What the route says; what a backend of this process says; "deepseek" for DeepSeek's hosts, and for the models it
        serves wherever they are served under its names; else "openai", which nothing is known about.
    """
    route = getattr(target, "route", None)
    if route is not None and route.dialect is not None:
        return route.dialect  # type: ignore[no-any-return]
    if getattr(target, "is_in_process", False):
        said: Any = getattr(getattr(target, "backend", None), "dialect", None)
        return said if said in get_args(DialectName) else "openai"
    return "deepseek" if _is_of_the_service(model) or _is_at_the_service(target) else "openai"


def _is_of_the_service(model: str) -> bool:
    # Other servers have names like "deepseek-r1:7b" and "deepseek-v3": their own models, asked in their own way.
    return model in _OF_THE_SERVICE


def _is_at_the_service(target: Any) -> bool:
    account = getattr(target, "account", None)
    return account is not None and _HOST.match(account.base_url) is not None
