"""`Embedder`: makes vectors of texts; what it gives is checked here before anything is compared with it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from typing import TYPE_CHECKING, Any, Protocol

from deepseek_sdk.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    import numpy as np
    import numpy.typing as npt

    Vectors: TypeAlias = npt.NDArray[np.float32]

__all__ = [
    "CallableEmbedder",
    "Embedder",
    "EmbeddingError",
    "check_words",
    "checked",
    "fingerprint_of",
    "is_embedder",
    "need",
]

# What is shorter has no direction that could be told from rounding.
_SHORTEST = 1e-6
# A vector of one number has no direction.
_FEWEST = 2


class EmbeddingError(Exception):
    """Texts have no vectors: the embedder fails, or what it gives cannot be compared."""


class Embedder(Protocol):
    """
    Makes vectors of texts; any object with these three may be given to the cache.

    Where there is a method `load()`, it is called before anything else; it may take long, and has to make *fingerprint*
    and *dimensions* known. A number *batch* says how many texts it likes at once.
    """

    @property
    def fingerprint(self) -> str:
        """Another text for everything that changes the vectors: vectors of two embedders are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str], /) -> Any:
        """
        Make the vectors of texts; it may block, and is called by one thread at a time.

        Args:
            texts: At least one.

        Returns:
            An array of a row of *dimensions* finite numbers for each text, in their order.
        """
        ...


class CallableEmbedder:
    """
    A function from texts to vectors, as an embedder; it is another embedder under another name.

    Args:
        function: Gives a row of numbers for each text.
    """

    def __init__(self, function: Callable[[Sequence[str]], Any]) -> None:
        self._function = function
        self._dimensions = 0

    def load(self) -> None:
        """Find out how many numbers a vector has, from the first one."""
        if not self._dimensions:
            self._dimensions = _width(self._function(["text"]))

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        self.load()
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """Made of the name of the function."""
        kind = self._function if hasattr(self._function, "__qualname__") else type(self._function)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return fingerprint_of(kind="function", name=name, dimensions=self.dimensions)

    def embed(self, texts: Sequence[str]) -> Any:
        """
        Ask the function.

        Args:
            texts: Of what.

        Returns:
            What it gives.
        """
        return self._function(texts)


def _width(vectors: Any) -> int:
    try:
        return len(vectors[0])
    except (TypeError, LookupError) as error:
        raise EmbeddingError(f"the embedder gave {type(vectors).__name__}, not a row for each text") from error


def is_embedder(value: object) -> bool:
    """
    Tell an embedder from other things.

    Args:
        value: Anything.

    Returns:
        Whether it has what an embedder needs; nothing is loaded for that.
    """
    # hasattr() would ask for properties, which may load a model.
    names = {*dir(value)}
    return {"embed", "fingerprint", "dimensions"} <= names


def fingerprint_of(**parts: object) -> str:
    """
    Make a fingerprint.

    Args:
        parts: All that changes the vectors, as JSON knows it.

    Returns:
        64 hex digits.
    """
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def checked(vectors: Any, count: int, dimensions: int) -> Vectors:
    """
    See to it that vectors can be compared.

    Args:
        vectors: What an embedder gave.
        count: How many there should be.
        dimensions: How many numbers each should have.

    Returns:
        They, each of length 1.

    Raises:
        EmbeddingError: They are of another shape, not finite, or have no direction.
    """
    import numpy as np  # noqa: PLC0415  not part of importing the library

    try:
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(f"the embedder gave no array of numbers: {error}") from error
    if dimensions < _FEWEST or rows.shape != (count, dimensions):
        raise EmbeddingError(f"the vectors have the shape {rows.shape}, not {(count, dimensions)}")
    # Of float64: the squares of large numbers are larger than a float32 can be.
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbeddingError("the vectors hold numbers that are not finite")
    if count and lengths.min() < _SHORTEST:
        raise EmbeddingError("a vector is zero")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit


def need(*packages: str, feature: str = "The semantic cache") -> None:
    """
    See to it that packages are installed; none is imported.

    Args:
        packages: Their names in an import.
        feature: What needs them.

    Raises:
        MissingExtraError: One is not.
    """
    if not all(importlib.util.find_spec(name) for name in packages):
        raise MissingExtraError(feature, "cache")


def check_words(name: str, value: Any, *, may_be_empty: bool = True) -> None:
    """
    Check a text.

    Args:
        name: The argument.
        value: What was given.
        may_be_empty: An empty one will do.

    Raises:
        ConfigurationError: It is another thing.
    """
    if not isinstance(value, str) or not (value or may_be_empty):
        raise ConfigurationError(f"{name} must be a text, not {value!r}")
