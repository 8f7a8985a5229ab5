"""Policies by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepseek_sdk.caching.eviction.lfu import Lfu
from deepseek_sdk.caching.eviction.lru import Lru
from deepseek_sdk.caching.eviction.lru_k import LruK
from deepseek_sdk.caching.eviction.s3_fifo import S3Fifo
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.caching.eviction.shelf import Policy

__all__ = ["POLICIES", "policy_of"]

POLICIES: Mapping[str, Policy] = {policy.name: policy for policy in (S3Fifo(), Lru(), Lfu(), LruK())}


def policy_of(name: str) -> Policy:
    """
    Find a policy.

    Args:
        name: "s3-fifo", "lru", "lfu" or "lru-k".

    Returns:
        The policy.

    Raises:
        ConfigurationError: There is none of that name.
    """
    policy = POLICIES.get(str(name))
    if policy is None:
        raise ConfigurationError(f"eviction must be one of {', '.join(map(repr, POLICIES))}, not {name!r}")
    return policy
