"""Embedders that tests make: one that knows words and needs no model, and small models that onnxruntime runs."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DIMENSIONS = 256
_COMMON = frozenset(
    ("a", "an", "are", "do", "does", "for", "how", "i", "is", "it", "of", "should", "the", "to", "what", "when", "why")
)


class Words:
    """
    Makes vectors of the words of a text, and of the characters of a Chinese one: enough for the self-test.

    Args:
        gate: What it waits for before it works, or None.
    """

    fingerprint = "words"
    dimensions = DIMENSIONS

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.batches: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.gate = gate
        self.error: BaseException | None = None

    def embed(self, texts: Sequence[str]) -> Any:
        """Add up the vectors of the words."""
        self.batches.append(list(texts))
        self.begun.release()
        if self.gate is not None:
            assert self.gate.wait(20)
        if self.error is not None:
            raise self.error
        return np.stack([vector(text) for text in texts])


def vector(text: str) -> Any:
    """Give each word a direction of its own."""
    words = [word for word in re.findall(r"[a-z]+|[一-鿿]", text.lower()) if word not in _COMMON]
    return sum((_direction(word) for word in words), start=_direction("") * 0.1)


def _direction(word: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSIONS)


def write_tokenizer(path: Path, words: Sequence[str] = ()) -> None:
    """Write the tokenizer of a few words: [CLS] is 1, [SEP] is 2, [UNK] is 3, and words are from 4 on."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: PLC0415  only some tests need it

    known = {name: number for number, name in enumerate(("[PAD]", "[CLS]", "[SEP]", "[UNK]", *words))}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(path / "tokenizer.json"))


def write_model(
    path: Path,
    table: Any,
    *,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    output: str = "last_hidden_state",
    width: int | None = None,
    summed: int = 1,
) -> None:
    """
    Write a model that looks tokens up in a table.

    Args:
        path: Its file.
        table: A row for each token.
        inputs: What it takes; what is not *input_ids* is added up, and multiplied by nothing.
        output: The name of what it gives: the rows of the tokens, or, under another name, their sum.
        width: How wide it says that the output is; None: as it is.
        summed: Along which axis the rows are added up: 1 is that of the tokens.
    """
    import onnx  # noqa: PLC0415  only some tests need it
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415  likewise

    rows = np.asarray(table, np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    last = "rows"
    for name in inputs:
        if name == "input_ids":
            continue
        nodes += [
            helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", [f"{name}_f", "end"], [f"{name}_u"]),
            helper.make_node("Mul", [f"{name}_u", "zero"], [f"{name}_z"]),
            helper.make_node("Add", [last, f"{name}_z"], [f"{name}_a"]),
        ]
        last = f"{name}_a"
    is_by_token = output == "last_hidden_state"
    nodes.append(
        helper.make_node("Identity", [last], [output])
        if is_by_token
        else helper.make_node("ReduceSum", [last, "one"], [output], keepdims=0)
    )
    constants = {"table": rows, "end": np.array([-1]), "one": np.array([summed]), "zero": np.float32(0)}
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        [
            helper.make_tensor_value_info(
                output, TensorProto.FLOAT, ["batch", *(["tokens"] if is_by_token else []), width or rows.shape[1]]
            )
        ],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), str(path))
