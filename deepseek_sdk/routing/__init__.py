"""Routes: who may answer a call, in which order, and after which failure."""

from __future__ import annotations

from deepseek_sdk.routing.auto import RoutingDecision, RoutingPolicy
from deepseek_sdk.routing.route import Route

__all__ = ["Route", "RoutingDecision", "RoutingPolicy"]
