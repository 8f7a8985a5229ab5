"""`Embedder`: makes vectors of texts; what it gives is checked here before anything is compared with it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import operator
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
    "facts_of",
    "fingerprint_of",
    "is_embedder",
    "need",
]

# What is shorter has no direction that could be told from rounding.
_SHORTEST = 1e-6
# A vector of one number has no direction.
_FEWEST = 2
# A function is told apart by its vectors of these, from so many sides, in steps that rounding seldom crosses.
_SAMPLES = ("text", "如何申请退款？", "How do I reset my password?", "今天北京的天气怎么样")
_SIDES, _STEP = 8, 0.05


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
    A function from texts to vectors, as an embedder; it is another one under another name, or with other vectors.

    Args:
        function: Gives a row of numbers for each text.
    """

    def __init__(self, function: Callable[[Sequence[str]], Any]) -> None:
        self._function = function
        self._dimensions = 0
        self._sample: list[int] = []

    def load(self) -> None:
        """Find out how many numbers a vector has, and what the vectors of some texts are."""
        if not self._dimensions:
            vectors = self._function([*_SAMPLES])
            width = _width(vectors)
            self._sample = _sample(checked(vectors, len(_SAMPLES), width))
            self._dimensions = width

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        self.load()
        return self._dimensions

    @property
    def fingerprint(self) -> str:
        """Made of the name of the function and of some of its vectors, since many functions may have one name."""
        self.load()
        kind = self._function if hasattr(self._function, "__qualname__") else type(self._function)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return fingerprint_of(kind="function", name=name, dimensions=self._dimensions, sample=self._sample)

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


def _sample(rows: Vectors) -> list[int]:
    """Round vectors to what is the same on every machine, and another for another model."""
    import numpy as np  # noqa: PLC0415  not part of importing the library

    width = rows.shape[1]
    found = b"".join(hashlib.shake_256(b"%d" % side).digest(width) for side in range(_SIDES))
    # The sums are about 1, however wide the vectors are.
    signs = np.frombuffer(found, np.uint8).reshape(_SIDES, width).astype(np.float64) % 2 * 2 - 1
    sums: list[int] = np.rint(rows.astype(np.float64) @ signs.T / _STEP).astype(int).ravel().tolist()
    return sums


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


def facts_of(embedder: Embedder) -> tuple[int, str]:
    """
    Ask an embedder what it is.

    Args:
        embedder: A loaded one.

    Returns:
        How many numbers a vector has, and its fingerprint.

    Raises:
        EmbeddingError: One of the two is none.
    """
    dimensions: Any = embedder.dimensions
    fingerprint: Any = embedder.fingerprint
    # The whole numbers of numpy are as good.
    is_whole = hasattr(dimensions, "__index__") and not isinstance(dimensions, bool)
    if not is_whole or (width := operator.index(dimensions)) < _FEWEST:
        raise EmbeddingError(f"its dimensions must be a whole number of at least {_FEWEST}, not {dimensions!r}")
    if not isinstance(fingerprint, str) or not fingerprint:
        raise EmbeddingError(f"its fingerprint must be a text that is not empty, not {fingerprint!r}")
    return width, fingerprint


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
