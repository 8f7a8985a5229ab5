"""`OnnxEmbedder`: any model with a tokenizer, from a directory or a model hub."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.embedding.base import EmbeddingError, check_words, fingerprint_of, need
from deepseek_sdk.caching.embedding.files import digest
from deepseek_sdk.caching.embedding.model import Manner, Model
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepseek_sdk.caching.embedding.base import Vectors

__all__ = ["OnnxEmbedder"]

# Where a model may lie, the first that is there.
_MODELS = ("model.onnx", "onnx/model.onnx")
# Weights of large models lie beside them.
_WEIGHTS = ("_data", ".data")
_TOKENIZER = "tokenizer.json"
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_FEWEST_TOKENS = 4


class _Files(NamedTuple):
    model: Path
    tokenizer: Path
    fingerprint: str


class _Opened(NamedTuple):
    model: Model
    fingerprint: str


class OnnxEmbedder:
    """
    Makes vectors with a model that onnxruntime runs.

    | call | meaning |
    |---|---|
    | `OnnxEmbedder("models/bge-small-zh-v1.5", pooling="cls")` | `model.onnx` and `tokenizer.json` of this directory |
    | `OnnxEmbedder("org/name", revision="1f2e3d")` | the same of a model hub, of which a copy is kept |
    | `OnnxEmbedder("org/name", file="onnx/model_int8.onnx")` | another of its files |

    A model hub is asked only for what is not here yet, at the address that `HF_ENDPOINT` says, and never where
    `HF_HUB_OFFLINE` is set.

    Args:
        path_or_hub_id: A directory with `model.onnx`, or `onnx/model.onnx`, and `tokenizer.json`; or a name on the hub.
        pooling: "mean" of the tokens, or the first, "cls", for models that do not pool by themselves.
        prefix: What the model wants before every text, such as "query: ".
        normalize: Bring vectors to length 1; the cache does so in any case.
        max_tokens: How much of a text is read.
        threads: How many threads work on a batch.
        revision: A version on the hub.
        file: The model's file, in the directory or on the hub.

    Raises:
        MissingExtraError: A package is not installed.
        ConfigurationError: An argument cannot be used.
    """

    # Of more at once it makes no faster vectors.
    batch = 16

    def __init__(
        self,
        path_or_hub_id: str | Path,
        *,
        pooling: Literal["mean", "cls"] = "mean",
        prefix: str = "",
        normalize: bool = True,
        max_tokens: int = 512,
        threads: int = 2,
        revision: str | None = None,
        file: str | None = None,
    ) -> None:
        if pooling not in {"mean", "cls"}:
            raise ConfigurationError(f'pooling must be "mean" or "cls", not {pooling!r}')
        check_words("prefix", prefix)
        check_count("max_tokens", max_tokens, least=_FEWEST_TOKENS)
        check_count("threads", threads, least=1)
        self._said = path_or_hub_id
        self._directory, self._file = _place(path_or_hub_id, file)
        self._revision = revision
        need("numpy", "onnxruntime", "tokenizers")
        self._manner = Manner(pooling, prefix, bool(normalize), max_tokens, threads)
        self._files: _Files | None = None
        # A child has no threads of its parent's, and would wait for them for ever.
        self._models = PerProcess(self._opened)

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self._said)!r})"

    def load(self) -> None:
        """
        Find the files, read them, and open the model; the first time it may be fetched from the hub.

        Raises:
            EmbeddingError: There is no such model, or it cannot be run.
        """
        self._models.get()

    @property
    def fingerprint(self) -> str:
        """Made of the files and of how they are used; it loads the model."""
        opened, manner = self._models.get(), self._manner
        return fingerprint_of(
            files=opened.fingerprint,
            pooling=manner.pooling,
            prefix=manner.prefix,
            is_unit=manner.is_unit,
            max_tokens=manner.max_tokens,
            dimensions=opened.model.dimensions,
        )

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; it loads the model."""
        return self._models.get().model.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """
        Make vectors; it loads the model.

        Args:
            texts: Of what.

        Returns:
            A row each.
        """
        return self._models.get().model.vectors(texts)

    def _opened(self) -> _Opened:
        # A child need not read the files again to know what they are.
        self._files = self._files or self._found()
        model = Model(self._files.model, self._files.tokenizer, self._manner)
        return _Opened(model, self._files.fingerprint)

    def _found(self) -> _Files:
        directory = self._directory or _fetched(str(self._said), self._revision, self._file)
        model = _model_in(directory, self._file)
        tokenizer = _tokenizer_in(directory, model)
        if model is None or tokenizer is None:
            missing = _TOKENIZER if model else self._file or "model.onnx"
            raise EmbeddingError(f"{self._said} holds no {missing}")
        files = [model, *(path for end in _WEIGHTS if (path := model.with_name(model.name + end)).is_file()), tokenizer]
        return _Files(model, tokenizer, fingerprint_of(digests=[digest(path) for path in files]))


def _place(said: Any, file: str | None) -> tuple[Path | None, str | None]:
    """Tell a directory, or None: a name on the hub; and the file in it that was named."""
    if not isinstance(said, str | Path) or not str(said):
        raise ConfigurationError(f"path_or_hub_id must be a directory or a name on a model hub, not {said!r}")
    # Unlike that of Path, it leaves the home of nobody as it is.
    path = Path(os.path.expanduser(said))  # noqa: PTH111  likewise
    if path.is_dir():
        return path, file
    if path.is_file() and file is None:
        return path.parent, path.name
    if isinstance(said, str) and _HUB_ID.fullmatch(said) and not said.endswith(".onnx"):
        need("huggingface_hub")
        return None, file
    raise ConfigurationError(f"path_or_hub_id must be a directory or a name on a model hub; there is no {str(said)!r}")


def _model_in(directory: Path, file: str | None) -> Path | None:
    names = _MODELS if file is None else (file,)
    return next((path for name in names if (path := directory / name).is_file()), None)


def _tokenizer_in(directory: Path, model: Path | None) -> Path | None:
    places = (directory, *(model.parents[:2] if model else ()))
    return next((path for place in places if (path := place / _TOKENIZER).is_file()), None)


def _fetched(name: str, revision: str | None, file: str | None) -> Path:
    """Find the copy of a model of the hub, or make it; only what is needed is fetched."""
    import huggingface_hub  # noqa: PLC0415  not part of importing the library

    models = _MODELS if file is None else (file,)
    wanted = [*models, *(model + end for model in models for end in _WEIGHTS), _TOKENIZER, f"onnx/{_TOKENIZER}"]
    try:
        kept = Path(huggingface_hub.snapshot_download(name, revision=revision, local_files_only=True))
        model = _model_in(kept, file)
        if model is not None and _tokenizer_in(kept, model) is not None:
            return kept
    except (OSError, ValueError):
        pass  # There is no copy.
    try:
        return Path(huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=wanted))
    except Exception as error:
        # Which classes they are depends on the version of the package and of what it speaks HTTP with.
        raise EmbeddingError(f"{name} cannot be fetched: {error}") from error
