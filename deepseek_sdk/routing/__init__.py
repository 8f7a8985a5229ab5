"""Routes: who may answer a call, in which order, and after which failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk._later import later as _later

if TYPE_CHECKING:
    from deepseek_sdk.routing.auto import RoutingDecision, RoutingPolicy
    from deepseek_sdk.routing.route import Route

__all__ = ["Route", "RoutingDecision", "RoutingPolicy"]

# Where the names stand: importing the library needs none of what chooses among routes.
__getattr__ = _later(
    __name__,
    {"Route": "route", "RoutingDecision": "auto", "RoutingPolicy": "auto"},
)
