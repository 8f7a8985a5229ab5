"""
`model_of`: multilingual-e5-small as an ONNX model, from token numbers to vectors of length 1.

Its table of words has 4 bits as it comes; the weights of products are bytes: those of 4 bits take twice the time for
short texts, and six times for long ones.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.embedding.e5.rounding import Spread, rounded
from deepseek_sdk.caching.embedding.e5.source import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.embedding.base import Vectors
    from deepseek_sdk.caching.embedding.e5.source import Source

__all__ = ["model_of"]

# What onnxruntime adds to ONNX.
_MICROSOFT = "com.microsoft"
_OPSET, _IR = 21, 10
# How far numbers reach that come out of a normalisation, in standard deviations; attention takes a mean of them.
_NORMAL, _MEAN = 4.0, 2.0
# What is negative hardly gets through a Gelu.
_LEAST_THOUGHT = 0.2
# The value of a weight is 8 less than its half byte.
_ZERO = 0x88


def model_of(source: Source, progress: Callable[[float], None] = lambda _: None) -> Any:
    """
    Make the model.

    Args:
        source: The weights.
        progress: Is told which share is done.

    Returns:
        An `onnx.ModelProto`: from *input_ids* and *attention_mask* to *embedding*.
    """
    from onnx import TensorProto, helper  # noqa: PLC0415  not part of importing the library

    graph = _Graph(source)
    ids = TensorProto.INT64
    rows, before = graph.embedded(), "emb.ln"
    mask = graph.node("Cast", ["attention_mask"], to=TensorProto.INT32)
    for layer in range(source.shape.layers):
        progress((layer + 1) / (source.shape.layers + 1))
        rows = graph.layer(f"l{layer}.", rows, mask, graph.spread(before))
        before = f"l{layer}.oln"
    graph.pooled(rows)
    made = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info(name, ids, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", source.shape.hidden])],
        initializer=graph.weights,
    )
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
    progress(1.0)
    return helper.make_model(made, opset_imports=opsets, ir_version=_IR)


class _Graph:
    """Gathers nodes and weights; every method gives the name of its output."""

    def __init__(self, source: Source) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self._source = source
        self._shape = source.shape
        self._numbers = itertools.count()

    def node(
        self, operator: str, inputs: Sequence[str], *, domain: str = "", to_name: str = "", **settings: Any
    ) -> str:
        return self._nodes(operator, inputs, [to_name or f"v{next(self._numbers)}"], domain, settings)[0]

    def _nodes(
        self, operator: str, inputs: Sequence[str], outputs: list[str], domain: str, settings: dict[str, Any]
    ) -> list[str]:
        from onnx import helper  # noqa: PLC0415  not part of importing the library

        self.nodes.append(helper.make_node(operator, inputs, outputs, domain=domain, **settings))
        return outputs

    def weight(self, array: Any) -> str:
        import numpy as np  # noqa: PLC0415  not part of importing the library
        from onnx import numpy_helper  # noqa: PLC0415  likewise

        name = f"w{next(self._numbers)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _indices(self, *numbers: int) -> str:
        import numpy as np  # noqa: PLC0415  not part of importing the library

        return self.weight(np.array(numbers, np.int64))

    def embedded(self) -> str:
        """Look up the tokens, and add where they stand; all of them are of the first type."""
        width = self._shape.hidden
        places = self._source.floats("emb.pos", self._shape.positions, width)
        kind = self._source.floats("emb.type", self._shape.types, width)[0]
        zero = self._indices(0)
        length = self.node("Shape", ["input_ids"], start=1, end=2)
        used = self.node("Slice", [self.weight(places + kind), zero, length, zero])
        return self._normalised(self.node("Add", [self._words(), used]), "emb.ln")

    def _words(self) -> str:
        import numpy as np  # noqa: PLC0415  not part of importing the library

        rows, width = self._shape.words, self._shape.hidden
        scales, packed = self._source.quarters("emb.word", rows, width)
        zeros = np.full((rows * width // BLOCK + 1) // 2, _ZERO, np.uint8)
        inputs = [
            self._halves(packed, rows, width),
            "input_ids",
            self.weight(scales),
            self._halves(zeros, rows, width // BLOCK),
        ]
        return self.node(
            "GatherBlockQuantized", inputs, domain=_MICROSOFT, block_size=BLOCK, gather_axis=0, quantize_axis=1
        )

    def _halves(self, packed: Any, *shape: int) -> str:
        from onnx import TensorProto  # noqa: PLC0415  not part of importing the library

        name = f"w{next(self._numbers)}"
        tensor = TensorProto(name=name, data_type=TensorProto.UINT4, dims=shape, raw_data=packed.tobytes())
        self.weights.append(tensor)
        return name

    def _normalised(self, rows: str, name: str) -> str:
        width = self._shape.hidden
        both = [self.weight(self._source.floats(f"{name}.{part}", width)) for part in "wb"]
        return self.node("LayerNormalization", [rows, *both], axis=-1, epsilon=self._source.epsilon)

    def spread(self, name: str) -> Spread:
        """Say where the numbers lie that come out of a normalisation."""
        middle, deviation = (self._source.floats(f"{name}.{part}", self._shape.hidden) for part in "bw")
        return Spread(middle, deviation)

    def _weights(self, names: Sequence[str], outputs: int, inputs: int) -> tuple[Vectors, Vectors]:
        """Read the weights of *names*, one below the other, and their biases."""
        import numpy as np  # noqa: PLC0415  not part of importing the library

        parts = [self._source.matrix(f"{name}.w", outputs, inputs) for name in names]
        return np.concatenate(parts), np.concatenate([self._source.floats(f"{name}.b", outputs) for name in names])

    def _product(self, rows: str, weights: Vectors, bias: Vectors, reach: Vectors) -> str:
        """Multiply by weights, of which a row is for a number that comes out, and add biases."""
        import numpy as np  # noqa: PLC0415  not part of importing the library

        made = rounded(weights, reach)
        evened = self.node("Mul", [rows, self.weight(1 / made.divisor)])
        zeros = np.zeros(len(bias), np.int8)
        taken = [self.weight(array) for array in (made.weights, made.scales, zeros, bias)]
        return self.node("DynamicQuantizeMatMul", [evened, *taken], domain=_MICROSOFT)

    def layer(self, name: str, rows: str, mask: str, spread: Spread) -> str:
        """Attend, then think; either is added to what there was, and normalised."""
        rows = self._normalised(self.node("Add", [rows, self._attended(name, rows, mask, spread)]), f"{name}aln")
        thought = self._thought(name, rows, self.spread(f"{name}aln"))
        return self._normalised(self.node("Add", [rows, thought]), f"{name}oln")

    def _attended(self, name: str, rows: str, mask: str, spread: Spread) -> str:
        width, heads = self._shape.hidden, self._shape.heads
        # One product for three is faster, and the same; so are these three operators for a dozen of smaller ones.
        weights, bias = self._weights([name + part for part in "qkv"], width, width)
        three = self._product(rows, weights, bias, spread.reach(_NORMAL))
        parts = [f"v{next(self._numbers)}" for _ in range(3)]
        self._nodes("Split", [three], parts, "", {"axis": -1, "num_outputs": 3})
        scale = (width // heads) ** -0.5
        seen = self.node("MultiHeadAttention", [*parts, "", mask], domain=_MICROSOFT, num_heads=heads, scale=scale)
        reach = spread.through(weights[-width:], bias[-width:]).reach(_MEAN)
        return self._product(seen, *self._weights([f"{name}ao"], width, width), reach)

    def _thought(self, name: str, rows: str, spread: Spread) -> str:
        import numpy as np  # noqa: PLC0415  not part of importing the library

        width, inner = self._shape.hidden, self._shape.inner
        weights, bias = self._weights([f"{name}fi"], inner, width)
        # Exact, not by the tangent.
        thought = self.node("Gelu", [self._product(rows, weights, bias, spread.reach(_NORMAL))], domain=_MICROSOFT)
        within = spread.through(weights, bias)
        reach = np.maximum(within.middle + _NORMAL * within.deviation, _LEAST_THOUGHT)
        return self._product(thought, *self._weights([f"{name}fo"], width, inner), reach)

    def pooled(self, rows: str) -> None:
        """Take the mean over the tokens that are there, at length 1."""
        from onnx import TensorProto  # noqa: PLC0415  not part of importing the library

        first = self._indices(1)
        there = self.node("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        there = self.node("Unsqueeze", [there, self._indices(-1)])
        total = self.node("ReduceSum", [self.node("Mul", [rows, there]), first], keepdims=0)
        count = self.node("ReduceSum", [there, first], keepdims=0)
        mean = self.node("Div", [total, count])
        self.node("LpNormalization", [mean], to_name="embedding", axis=-1, p=2)
