"""`embedder_of`: what users may say to name an embedder."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.embedding.base import CallableEmbedder, is_embedder
from deepseek_sdk.caching.embedding.default import DefaultEmbedder
from deepseek_sdk.caching.embedding.onnx import OnnxEmbedder
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.caching.embedding.base import Embedder

__all__ = ["embedder_of"]


def embedder_of(said: Any = None) -> Embedder:
    """
    Read what was said.

    | said | meaning |
    |---|---|
    | `None`, "default" | multilingual-e5-small; one for all caches of the process |
    | a text or a path | `OnnxEmbedder(said)`; likewise |
    | a function | it makes the vectors of a list of texts |
    | an embedder | it |

    Args:
        said: Any of these.

    Returns:
        An embedder; nothing is loaded yet.

    Raises:
        MissingExtraError: A package is not installed.
        ConfigurationError: It is none of these.
    """
    if said is None or said == "default":
        return _shared("", DefaultEmbedder)
    if isinstance(said, str | Path):
        return _shared(str(said), lambda: OnnxEmbedder(said))
    if isinstance(said, type):
        raise ConfigurationError(f"embedder must be an embedder, not the class {said.__name__}")
    if is_embedder(said):
        embedder: Embedder = said
        return embedder
    if callable(said):
        return _shared(said, lambda: CallableEmbedder(said))
    raise ConfigurationError(f"embedder must be an embedder, a function, or the name of a model, not {said!r}")


def _shared(name: Any, make: Callable[[], Embedder]) -> Embedder:
    """Give the embedder of a name that is in use, or make one."""
    if not isinstance(name, Hashable):
        return make()
    embedders = _embedders()
    return embedders.get(name) or embedders.setdefault(name, make())


@functools.cache
def _embedders() -> weakref.WeakValueDictionary[Any, Embedder]:
    return weakref.WeakValueDictionary()
