"""`Model`: an ONNX model and its tokenizer, opened in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.embedding.base import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    import numpy.typing as npt

    from deepseek_sdk.caching.embedding.base import Vectors

__all__ = ["Manner", "Model"]

# Outputs that are vectors of texts, the first that a model has; others hold a vector for each token.
_POOLED = ("sentence_embedding", "embedding", "embeddings", "dense_vecs", "text_embeds")
_BY_TOKEN = ("last_hidden_state", "token_embeddings", "hidden_states")
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
# What runs at once: memory goes with it, and no speed is gained beyond it.
_MOST_TOKENS = 1024
# A text is computed as if it were as long as the longest with which it runs.
_MOST_PADDING = 1.5
_BY_TOKEN_RANK = 3


class Manner(NamedTuple):
    """
    How vectors are made with a model.

    Attributes:
        pooling: "mean" over the tokens, or that of the first, "cls"; models that pool by themselves are left to it.
        prefix: What is put before every text.
        is_unit: Vectors are brought to length 1.
        max_tokens: How much of a text is read.
        threads: How many threads work on a batch.
        is_batched: Texts run together; else each alone: its vector depends on nothing that happens to run with it.
    """

    pooling: Literal["mean", "cls"] = "mean"
    prefix: str = ""
    is_unit: bool = True
    max_tokens: int = 512
    threads: int = 2
    is_batched: bool = True


class Model:
    """
    Runs a model.

    Args:
        path: Its file.
        tokenizer: The file of its tokenizer.
        manner: How.

    Raises:
        EmbeddingError: One of the files is none, or the model wants what is not known here.
    """

    def __init__(self, path: Path, tokenizer: Path, manner: Manner) -> None:
        self._manner, self._padding = manner, 0
        self._session = _session(path, manner.threads)
        self._inputs = _inputs(self._session)
        self._output = _output([output.name for output in self._session.get_outputs()])
        self.dimensions = self._width()
        # Last of all: it may stop all threads for a second, which a model that is no good is not worth.
        self._tokenizer, self._padding = _tokenizer(tokenizer, manner.max_tokens)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """
        Make vectors.

        Args:
            texts: Of what.

        Returns:
            A row each.
        """
        import numpy as np  # noqa: PLC0415  not part of importing the library

        codes = self._codes(texts)
        made = np.empty((len(codes), self.dimensions), np.float32)
        together = grouped([len(code) for code in codes])
        for group in together if self._manner.is_batched else ([index] for index in range(len(codes))):
            made[group] = self._rows([codes[index] for index in group])
        return made

    def _width(self) -> int:
        """Try the model, with a token that each has, and find out how many numbers its vectors have."""
        widths = {int(self._rows([[0] * length]).shape[1]) for length in (2, 3)}
        if len(widths) > 1:
            raise EmbeddingError(f"the model gives vectors whose shape goes with the text: {sorted(widths)}")
        return widths.pop()

    def _codes(self, texts: Sequence[str]) -> list[list[int]]:
        # One at a time: a batch would use threads that a forked child does not have. Halves of a pair are no text.
        whole = ((self._manner.prefix + text).encode("utf-8", "replace").decode("utf-8") for text in texts)
        return [self._tokenizer.encode(text).ids for text in whole]

    def _rows(self, codes: Sequence[Sequence[int]]) -> Vectors:
        import numpy as np  # noqa: PLC0415  not part of importing the library

        longest = max(1, *(len(code) for code in codes))
        ids = np.full((len(codes), longest), self._padding, np.int64)
        mask = np.zeros((len(codes), longest), np.int64)
        for row, code in enumerate(codes):
            ids[row, : len(code)] = code
            mask[row, : len(code)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: given[name].astype(kind, copy=False) for name, kind in self._inputs.items()}
        return self._pooled(self._session.run([self._output], feed)[0], mask)

    def _pooled(self, output: Any, mask: npt.NDArray[Any]) -> Vectors:
        import numpy as np  # noqa: PLC0415  not part of importing the library

        rows = np.asarray(output, np.float32)
        if rows.ndim == _BY_TOKEN_RANK and rows.shape[:2] == mask.shape:
            rows = rows[:, 0] if self._manner.pooling == "cls" else _mean(rows, mask)
        if rows.ndim != 2 or len(rows) != len(mask):  # noqa: PLR2004  rows of numbers
            raise EmbeddingError(f"the model gives an array of the shape {np.shape(output)} for {mask.shape} tokens")
        if self._manner.is_unit:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def _mean(rows: Vectors, mask: npt.NDArray[Any]) -> Vectors:
    import numpy as np  # noqa: PLC0415  not part of importing the library

    there = mask[..., None].astype(np.float32)
    mean: Vectors = (rows * there).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return mean


def grouped(lengths: Sequence[int]) -> Iterator[list[int]]:
    """
    Put texts of similar length together, so that little is computed for nothing.

    Args:
        lengths: How many tokens each has.

    Yields:
        The places of some of them.
    """
    group: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        is_full = (len(group) + 1) * lengths[index] > _MOST_TOKENS
        if group and (is_full or lengths[index] > _MOST_PADDING * lengths[group[0]]):
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def _tokenizer(path: Path, max_tokens: int) -> tuple[Any, int]:
    from tokenizers import Tokenizer  # noqa: PLC0415  not part of importing the library

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        # The package raises Exception itself.
        raise EmbeddingError(f"{path.name} is no tokenizer: {error}") from error
    most = (tokenizer.truncation or {}).get("max_length", max_tokens)
    tokenizer.enable_truncation(min(max_tokens, most))
    padding = (tokenizer.padding or {}).get("pad_id")
    tokenizer.no_padding()
    if padding is None:
        named = (tokenizer.token_to_id(name) for name in ("<pad>", "[PAD]"))
        padding = next((number for number in named if number is not None), 0)
    return tokenizer, int(padding)


def _session(path: Path, threads: int) -> Any:
    import onnxruntime  # noqa: PLC0415  not part of importing the library

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # Threads that wait must not take the time of the program. Warnings are for who makes models, not for users.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # The exceptions of the package have no other class in common.
        raise EmbeddingError(f"{path.name} is no model that can be run: {error}") from error


def _inputs(session: Any) -> Mapping[str, str]:
    """Name the inputs, and the kind of number that each takes."""
    wanted = {node.name: "int32" if "int32" in node.type else "int64" for node in session.get_inputs()}
    if "input_ids" not in wanted or (unknown := wanted.keys() - _INPUTS):
        named = ", ".join(sorted(wanted.keys() if "input_ids" not in wanted else unknown))
        raise EmbeddingError(f"the model wants inputs that are not known here: {named}")
    return wanted


def _output(names: Sequence[str]) -> str:
    return next((name for name in (*_POOLED, *_BY_TOKEN) if name in names), names[0])
