"""Routes: who may answer a call, in which order, and after which failure."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepseek_sdk.routing.auto import RoutingDecision, RoutingPolicy
    from deepseek_sdk.routing.route import Route

__all__ = ["Route", "RoutingDecision", "RoutingPolicy"]

# Where the names stand: importing the library needs none of what chooses among routes.
_LATER = {"Route": "route", "RoutingDecision": "auto", "RoutingPolicy": "auto"}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
