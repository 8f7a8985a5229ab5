"""
Fits the coefficients that the package ships for the default embedder, and those for embedders that nobody knows.

Chinese: LCQMC (every second pair, from the first), OPPO, AFQMC, PAWS-X and half of QQP, each with an intercept of its
own, weighted by how far its labels can be trusted. English: the nearest neighbours of a replay of that half of QQP,
and its pairs. Thresholds come from conformal risk control on scores of cross-validation. Nothing else is looked at.

Run: python -m tests.bench.semantic_fit [--vectors PATH]
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import deepseek_sdk
from deepseek_sdk.caching.deciding.conformal import needed, threshold
from deepseek_sdk.caching.deciding.features import FEATURES, SPLINE, spline
from deepseek_sdk.caching.deciding.score import LIFT, LIFTED_FROM, RESTATED, SCALE, bent, margin_terms
from tests.bench.semantic_data import (
    FARTHEST,
    QUESTIONS,
    Pairs,
    Texts,
    components,
    described,
    halved,
    hashes,
    read,
    traffic,
)
from tests.bench.semantic_math import fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.semantic_data import Traffic

__all__ = ["columns_of"]

BOUNDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
FOLDS = 5
# QQP's labels are noisy: of the 254 pairs of the replay that it calls different and that score highest, 121 are, read
# one by one by one reader, with what is unsure counted as different. Its wrong hits count as so many.
TRULY_WRONG = 0.48
# Short English questions and long ones, in words with content: the same cosine means more between long ones.
EDGES = (6,)
# Above and below all scores.
HIGHEST = 50.0
# What the replay keeps, so that what comes later has something to hit: about what the cache would.
REPLAY_COSINE = 0.97


class Part(NamedTuple):
    """Rows of one source."""

    pairs: Pairs
    margin: Any
    weight: float


class Plan(NamedTuple):
    """What a kind of pairs is fitted with: penalties of the metric (0: no metric) and of the lexical figures."""

    metric: float
    lexical: float
    has_cosine: bool = True
    has_margin: bool = False


def columns_of(pairs: Pairs, margin: Any, plan: Plan) -> Any:
    """Spread pairs over the columns that have coefficients."""
    near = np.array([bent(cosine) for cosine in pairs.cosine], np.float32)[:, None]
    blocks = []
    if plan.metric:
        blocks += [SCALE * pairs.left * pairs.other, SCALE * np.abs(pairs.left - pairs.other)]
    if plan.has_cosine:
        blocks += [np.array([spline(cosine) for cosine in pairs.cosine]), pairs.found, pairs.found * near]
    else:
        blocks += [pairs.found]
    if plan.has_margin:
        known = [None if math.isnan(one) else float(one) for one in margin]
        blocks.append(np.array([margin_terms(one, at[0]) for one, at in zip(known, near, strict=True)]))
    return np.concatenate(blocks, 1).astype(np.float32)


def penalties(plan: Plan, intercepts: int) -> list[float]:
    """Give what keeps each coefficient small."""
    count = len(FEATURES)
    metric = [plan.metric] * 768 if plan.metric else []
    texts = [0.1] * len(SPLINE) + [plan.lexical] * 2 * count if plan.has_cosine else [plan.lexical] * count
    return metric + texts + [0.3] * 3 * plan.has_margin + [0.01] * intercepts


def fit(parts: Sequence[Part], plan: Plan) -> tuple[Any, float]:
    """Fit all parts together, each with its own intercept; give the coefficients and the first one's intercept."""
    columns = np.concatenate([columns_of(part.pairs, part.margin, plan) for part in parts])
    own = np.concatenate(
        [np.eye(len(parts), dtype=np.float32)[[at] * len(part.margin)] for at, part in enumerate(parts)]
    )
    right = np.concatenate([part.pairs.right for part in parts])
    weights = np.concatenate([np.full(len(part.margin), part.weight) for part in parts])
    found = fitted(np.concatenate([columns, own], 1), right, weights, penalties(plan, len(parts)))
    return found[: -len(parts)], float(found[-len(parts)])


def held_out(parts: Sequence[Part], plan: Plan) -> Any:
    """Score the first part, each fold by what was fitted without it; what a guard forbids scores lowest."""
    first = parts[0]
    group = components(first.pairs.rows)
    fold = np.array([zlib.crc32(group[one].encode()) % FOLDS for one, _ in first.pairs.rows])
    scores = np.zeros(len(fold))
    for at in range(FOLDS):
        rest = first._replace(pairs=first.pairs.pick(fold != at), margin=first.margin[fold != at])
        found, intercept = fit([rest, *parts[1:]], plan)
        scores[fold == at] = (
            columns_of(first.pairs.pick(fold == at), first.margin[fold == at], plan) @ found + intercept
        )
    return lifted(scores, first.pairs)


def lifted(scores: Any, pairs: Pairs) -> Any:
    """Put what is only restated above, and what a guard forbids below all else, as the cache does."""
    is_restated = (pairs.found[:, RESTATED] > 0) & (pairs.cosine > LIFTED_FROM)
    known = np.where(is_restated, np.maximum(scores, LIFT), scores)
    return np.where(pairs.guarded, -HIGHEST, np.where(pairs.same, HIGHEST, known))


def bars(scores: Any, wrong: Any, lookups: int, share: float = 1.0) -> list[list[float]]:
    """Set a threshold for each bound; *share* of what is called wrong is."""
    rest = lookups - len(scores)
    all_scores, all_wrong = [*scores, *[-HIGHEST] * rest], [*wrong, *[False] * rest]
    known = [bound for bound in BOUNDS if bound / share < 1 and needed(bound / share) <= lookups]
    found = [(bound, threshold(all_scores, all_wrong, bound / share)) for bound in known]
    return [[bound, round(max(bar, -20.0), 4)] for bound, bar in found]


def nearest(stream: Traffic, texts: Texts) -> tuple[Part, Any]:
    """Replay a stream with a static threshold; give each question's nearest candidate, and how long the question is."""
    kept = np.zeros(len(stream.questions), bool)
    rows, right, margins, lengths = [], [], [], []
    for at, question in enumerate(stream.questions):
        near = [
            (int(place), float(cosine))
            for place, cosine in zip(stream.neighbours[at], stream.cosines[at], strict=True)
            if place >= 0 and kept[place]
        ]
        if near and near[0][1] >= FARTHEST:
            rows.append((question, stream.questions[near[0][0]]))
            right.append(int(stream.classes[at] == stream.classes[near[0][0]]))
            margins.append(near[0][1] - near[1][1] if len(near) > 1 else math.nan)
            lengths.append(len(texts.text(question).content))
        kept[at] = not near or near[0][1] < REPLAY_COSINE
    return Part(described(rows, right, texts), np.array(margins), 1.0), np.array(lengths)


def kind(parts: Sequence[Part], plan: Plan) -> dict[str, Any]:
    """Fit one kind of pairs, without thresholds."""
    found, intercept = fit(parts, plan)
    numbers = [float(f"{number:.5g}") for number in found]
    empty = {"cosine": [0.0] * len(SPLINE), "bent": [0.0] * len(FEATURES)}
    told: dict[str, Any] = {"intercept": round(intercept, 5)} | ({} if plan.has_cosine else empty)
    if plan.metric:
        told |= {"product": numbers[:384], "difference": numbers[384:768]}
        numbers = numbers[768:]
    count = len(FEATURES)
    names = (("cosine", len(SPLINE)), ("lexical", count), ("bent", count)) if plan.has_cosine else (("lexical", count),)
    for name, length in (*names, *([("margin", 3)] if plan.has_margin else [])):
        told[name], numbers = numbers[:length], numbers[length:]
    return told


def unknown(pairs: Pairs, weight: float) -> Part:
    """Take pairs as they are: nobody knows what else would have been near."""
    return Part(pairs, np.full(len(pairs.rows), math.nan), weight)


def chinese(texts: Texts, half: Pairs, plan: Plan) -> dict[str, Any]:
    """Fit pairs in which there is Chinese."""
    others = (("zh_oppo_a", 0.2), ("zh_afqmc_dev", 0.1), ("zh_pawsx_dev", 0.2))
    parts = [unknown(read("zh_lcqmc_dev", texts, slice(0, None, 2)), 1.0)]
    parts += [unknown(read(name, texts), weight) for name, weight in others] + [unknown(half, 0.2)]
    right = parts[0].pairs.right
    return kind(parts, plan) | {"edges": [], "bars": [bars(held_out(parts, plan), right == 0, len(right))]}


def english(texts: Texts, half: Pairs, plan: Plan) -> dict[str, Any]:
    """Fit all others."""
    stream = traffic(QUESTIONS, texts, 0)
    replayed, lengths = nearest(stream, texts)
    parts = [replayed, unknown(half, 1.0)]
    scores, right = held_out(parts, plan), replayed.pairs.right
    asked = np.array([len(texts.text(question).content) for question in stream.questions])
    found = []
    for low, high in zip((0, *EDGES), (*EDGES, math.inf), strict=True):
        band, count = (lengths >= low) & (lengths < high), int(((asked >= low) & (asked < high)).sum())
        found.append(bars(scores[band], right[band] == 0, count, TRULY_WRONG))
    return kind(parts, plan) | {"edges": list(EDGES), "bars": found}


def written(name: str, kinds: dict[str, Any], fingerprints: Sequence[str]) -> None:
    """Write the coefficients where the package has them."""
    about = {
        "zh": "LCQMC dev, pairs of even index (fit and thresholds); OPPO, AFQMC dev, PAWS-X dev, half of QQP (fit)",
        "en": "half of QQP by connected components, replayed in random order (fit and thresholds)",
        "truly_wrong": TRULY_WRONG,
        "hashes": hashes(),
    }
    told = {"name": name, "fingerprints": list(fingerprints), "features": list(FEATURES), "spline": list(SPLINE)}
    path = Path(deepseek_sdk.__file__).parent / "caching" / "deciding" / "data" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told | {"about": about, "kinds": kinds}, separators=(",", ":")) + "\n", encoding="utf-8")


def main() -> None:
    """Fit everything."""
    parser = argparse.ArgumentParser(description="Fit the coefficients of the semantic cache.")
    parser.add_argument("--vectors", type=Path, help="vectors made before: PATH.npy of the texts in PATH.pkl")
    options = parser.parse_args()
    from deepseek_sdk.caching.embedding.default import DefaultEmbedder  # noqa: PLC0415  heavy

    embedder = DefaultEmbedder()
    texts = Texts.stored(embedder.embed, options.vectors)
    half, _ = halved(QUESTIONS, texts)
    kinds = {"zh": chinese(texts, half, Plan(3.0, 0.5)), "en": english(texts, half, Plan(0.0, 5.0, has_margin=True))}
    embedder.load()
    written("e5-small", kinds, [embedder.fingerprint])
    plan = Plan(0.0, 0.5, has_cosine=False)
    written("any", {"zh": chinese(texts, half, plan), "en": english(texts, half, plan)}, [])


if __name__ == "__main__":
    main()
