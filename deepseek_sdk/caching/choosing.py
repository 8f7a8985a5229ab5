"""`cache_of`: what a client may be told of a cache."""

from __future__ import annotations

from deepseek_sdk.caching.exact import ExactCache
from deepseek_sdk.errors import ConfigurationError

__all__ = ["cache_of"]


def cache_of(said: object) -> ExactCache:
    """
    Read the argument of a client.

    Args:
        said: An ExactCache, which may be that of another client, a SemanticCache, "exact" or "semantic".

    Returns:
        The cache.

    Raises:
        ConfigurationError: It is something else.
    """
    if isinstance(said, ExactCache):
        return said
    if said in ("exact", True):
        return ExactCache()
    if said == "semantic":
        from deepseek_sdk.caching.semantic import SemanticCache  # noqa: PLC0415  few clients have it

        return SemanticCache()
    raise ConfigurationError(
        f"cache must be 'exact', 'semantic', an ExactCache, a SemanticCache, 'off' or None, not {said!r}"
    )
