"""The pairs that the semantic cache is measured on: the data sets where they are at hand, our own pairs otherwise."""

from __future__ import annotations

import csv
import hashlib
import pickle
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deepseek_sdk.caching.deciding.features import features
from deepseek_sdk.caching.matching.canonical import canonical
from deepseek_sdk.caching.matching.guards import guard_against
from deepseek_sdk.caching.matching.text import Text, analysed
from tests.bench.semantic_pairs import own_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Pairs", "Texts", "Traffic", "components", "halved", "hashes", "read", "traffic"]

SHARED = Path(__file__).parents[3] / "shared" / "data"
# So many neighbours of each question are remembered in a replay, and so many are looked at.
KEPT, LOOKED_AT = 40, 5
FARTHEST = 0.9
QUESTIONS = "en_qqp_a"
# There are no others in it.
ONLY_RIGHT = "en_gptcache_mock"


class Texts:
    """Vectors and analyses of texts, each made once."""

    def __init__(self, embed: Callable[[Sequence[str]], Any], known: tuple[Any, Sequence[str]] | None = None) -> None:
        rows, texts = known or ((), ())
        self._embed = embed
        self._vectors = dict(zip(texts, rows, strict=True))
        self._analysed: dict[str, Text] = {}

    def vectors(self, texts: Sequence[str]) -> Any:
        """Give one row for each text."""
        missing = sorted({text for text in texts if text not in self._vectors}, key=len)
        for start in range(0, len(missing), 32):
            batch = missing[start : start + 32]
            self._vectors.update(zip(batch, self._embed(batch), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def text(self, raw: str) -> Text:
        """Take a text apart."""
        if raw not in self._analysed:
            self._analysed[raw] = analysed(raw)
        return self._analysed[raw]

    @classmethod
    def stored(cls, embed: Callable[[Sequence[str]], Any], path: Path | None) -> Texts:
        """Take up vectors from PATH.npy, of the texts in PATH.pkl, which we have written ourselves."""
        if path is None:
            return cls(embed)
        texts = pickle.loads(path.with_suffix(".pkl").read_bytes())  # noqa: S301  our own
        return cls(embed, (np.load(path.with_suffix(".npy")), texts))


class Pairs(NamedTuple):
    """Pairs with everything that is known of them; one row each."""

    rows: list[tuple[str, str]]
    right: Any
    left: Any
    other: Any
    cosine: Any
    found: Any
    guarded: Any
    same: Any

    def pick(self, which: Any) -> Pairs:
        """Take some of them."""
        chosen = np.arange(len(self.rows))[which]
        return Pairs([self.rows[at] for at in chosen], *(column[chosen] for column in self[1:]))


def read(name: str, texts: Texts, part: slice = slice(None)) -> Pairs:
    """Read one data set, or our own pairs."""
    own = [pair for pair in own_pairs() if pair[2] or name != ONLY_RIGHT]
    told = _lines(name)[part] if (SHARED / f"{name}.tsv").exists() else own[part]
    return described([(line[0], line[1]) for line in told], [int(line[2]) for line in told], texts)


def described(rows: Sequence[tuple[str, str]], right: Iterable[int], texts: Texts) -> Pairs:
    """Look at pairs as the cache does."""
    left, other = (texts.vectors([row[side] for row in rows]) for side in (0, 1))
    both = [(texts.text(one), texts.text(two)) for one, two in rows]
    return Pairs(
        list(rows),
        np.array(list(right), int),
        left,
        other,
        np.einsum("ij,ij->i", left, other),
        np.array([features(one, two) for one, two in both], np.float32),
        np.array([guard_against(one, two) is not None for one, two in both]),
        np.array([canonical(one) == canonical(two) for one, two in both]),
    )


def components(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Join texts into groups by the pairs they are in; give the name of each one's group."""
    parent: dict[str, str] = {}

    def top(text: str) -> str:
        parent.setdefault(text, text)
        while parent[text] != text:
            parent[text] = text = parent[parent[text]]
        return text

    for one, other in rows:
        parent[top(one)] = top(other)
    return {text: top(text) for text in parent}


def halved(name: str, texts: Texts) -> tuple[Pairs, Pairs]:
    """Read one data set in two halves that share no text."""
    pairs = read(name, texts)
    group = components(pairs.rows)
    half = np.array([_half(group[one]) for one, _ in pairs.rows])
    return pairs.pick(half == 0), pairs.pick(half == 1)


class Traffic(NamedTuple):
    """Questions in the order in which they come, with their classes and their nearest neighbours among earlier ones."""

    questions: list[str]
    classes: list[str]
    neighbours: Any
    cosines: Any


def traffic(name: str, texts: Texts, half: int) -> Traffic:
    """Make a stream of the questions of one half: two of one class ask the same."""
    lines = _lines(name) if (SHARED / f"{name}.tsv").exists() else [[*map(str, pair)] for pair in own_pairs()]
    same = components((line[0], line[1]) for line in lines if line[2] == "1")
    group = components((line[0], line[1]) for line in lines)
    everything = list(dict.fromkeys(text for line in lines for text in line[:2]))
    random.Random(7).shuffle(everything)  # noqa: S311  not a secret
    questions = [text for text in everything if _half(group[text]) == half]
    return Traffic(questions, [same.get(text, text) for text in questions], *_neighbours(texts.vectors(questions)))


def _neighbours(rows: Any) -> tuple[Any, Any]:
    count = len(rows)
    places, cosines = np.full((count, KEPT), -1), np.full((count, KEPT), -2.0, np.float32)
    for start in range(0, count, 1000):
        near = rows[start : start + 1000] @ rows[: start + 1000].T
        for at in range(start, min(start + 1000, count)):
            earlier = near[at - start, :at]
            order = np.argsort(-earlier)[:KEPT]
            places[at, : len(order)], cosines[at, : len(order)] = order, earlier[order]
    return places, cosines


def hashes() -> dict[str, str]:
    """Tell which data were used."""
    files = sorted(SHARED.glob("*.tsv"))
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files} or {"own pairs": _own_hash()}


def _own_hash() -> str:
    return hashlib.sha256(repr(own_pairs()).encode()).hexdigest()


def _lines(name: str) -> list[list[str]]:
    with (SHARED / f"{name}.tsv").open(encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def _half(group: str) -> int:
    return zlib.crc32(group.encode()) % 2
