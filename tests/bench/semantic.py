"""
What the semantic cache serves, and how much of that is wrong, beside the raw cosine in the same run.

    lcqmc      pairs of odd index; coefficients and thresholds come from those of even index
    traps      pairs that differ in one word that matters, and paraphrases
    gptcache   GPTCache's own pairs: 964 different questions are kept, 999 are asked; equivalent ones are merged where
               they share two thirds of their words with content, and no guard objects; "unseen" are the same questions
               while the answer to them, and to what is equivalent, is not kept
    guarantee  200 random splits of the pairs of lcqmc: a threshold from one half, the risk on the other
    replay     the questions of Quora pairs that were not fitted on, in random order, into an empty cache; classes are
               joined by the pairs that are labelled as duplicates

"wrong" is the share of wrong hits among all lookups. Nothing is fitted here: see `semantic_fit`.

Run: python -m tests.bench.semantic [--vectors PATH] [--plot FILE.svg] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.conformal import risk_at, threshold
from deepseek_sdk.caching.deciding.decision import NOTHING_SAID, Asked
from deepseek_sdk.caching.deciding.sigmoid_fit import Observation
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.deciding.vcache import VCache
from deepseek_sdk.caching.learning.nearness import is_near_miss
from deepseek_sdk.caching.matching.guards import guard_against
from tests.bench.semantic_data import QUESTIONS, SHARED, Texts, hashes, read, traffic
from tests.bench.semantic_math import gain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deepseek_sdk.caching.deciding.decision import Decision, Policy
    from tests.bench.semantic_data import Pairs, Traffic

WRONG = (0.01, 0.05)
BOUNDS = (0.005, 0.01, 0.02, 0.05)
SPLITS = 200
FORBIDDEN = -1e3
CANDIDATES = 8


class Looked(NamedTuple):
    """One lookup: how sure the candidate is, and whether it is wrong."""

    score: float
    is_wrong: bool


class Bench:
    """Decides as the cache does, with the default embedder's vectors."""

    def __init__(self, texts: Texts, fingerprint: str) -> None:
        self.texts = texts
        self._fingerprint = fingerprint

    def asked(self, text: str) -> Asked:
        """Ask something."""
        return Asked(self.texts.text(text), self.texts.vectors([text])[0], self._fingerprint)

    def candidate(self, text: str, cosine: float, key: str | None = None) -> Any:
        """Have something kept."""
        return SimpleNamespace(key=key or text, text=text, cosine=cosine, vector=self.texts.vectors([text])[0])

    def decided(self, pairs: Pairs, policy: Policy) -> list[Decision]:
        """Decide about pairs, each alone in its cache."""
        return [
            policy.decide(self.asked(other), [self.candidate(one, float(cosine))])
            for (one, other), cosine in zip(pairs.rows, pairs.cosine, strict=True)
        ]

    def scored(self, pairs: Pairs, policy: Policy) -> Any:
        """Score pairs; what is forbidden scores lowest."""
        decided = self.decided(pairs, policy)
        # A forbidden candidate has a score, too: how sure it would be otherwise.
        return np.array([FORBIDDEN if one.guard or one.score is None else one.score for one in decided])


def lcqmc(bench: Bench) -> tuple[dict[str, Any], Any, Pairs]:
    """Compare on the held-out half."""
    pairs = read("zh_lcqmc_dev", bench.texts, slice(1, None, 2))
    wrong, ours = pairs.right == 0, bench.scored(pairs, Calibrated())
    told: dict[str, Any] = {"pairs": len(wrong)}
    for share in WRONG:
        told[f"at {share:.0%} wrong"] = gain(pairs.cosine, ours, wrong, share)._asdict()
    for bound in BOUNDS:
        bar = -math.log(bound)
        told[f"bound {bound:.1%}"] = {
            "served": float((ours > bar).mean()),
            "wrong": risk_at(bar, list(ours), list(wrong)),
        }
    return told, ours, pairs


def guarantee(ours: Any, pairs: Pairs) -> dict[str, Any]:
    """Calibrate on one half and test on the other, again and again."""
    chance, wrong = np.random.default_rng(7), pairs.right == 0
    found = {}
    for bound in BOUNDS:
        risks = []
        for _ in range(SPLITS):
            order = chance.permutation(len(wrong))
            known, unknown = order[: len(order) // 2], order[len(order) // 2 :]
            bar = threshold(ours[known].tolist(), wrong[known].tolist(), bound)
            risks.append(float(((ours[unknown] > bar) & wrong[unknown]).mean()))
        found[f"{bound:.1%}"] = {
            "mean risk": float(np.mean(risks)),
            "within 0.1 points": abs(float(np.mean(risks)) - bound) <= 0.001,
        }
    return found


def traps(bench: Bench) -> dict[str, Any]:
    """Count false and true hits of the default, and the cosine's true hits at as many false ones."""
    pairs = read("trap_zh_en", bench.texts)
    ours, right = bench.scored(pairs, Calibrated()), pairs.right == 1
    served = ours > -math.log(0.01)
    within = served | np.array([is_near_miss(one) for one in bench.decided(pairs, Calibrated())])
    false, true = float(served[~right].mean()), float(served[right].mean())
    by_cosine = np.sort(pairs.cosine[~right])[::-1]
    bar = by_cosine[round(false * len(by_cosine))]
    return {
        "pairs": len(right),
        "false hits": false,
        "true hits": true,
        "true hits of raw cosine at equal false hits": float((pairs.cosine[right] > bar).mean()),
        "true hits, and misses that a judge would be asked about": float(within[right].mean()),
        "false ones that a judge would be asked about": float((within & ~served)[~right].mean()),
    }


def gptcache(bench: Bench) -> dict[str, Any]:
    """Ask for paraphrases of what is kept, and for what is not."""
    pairs = read("en_gptcache_mock", bench.texts)
    kept = list(dict.fromkeys(one for one, _ in pairs.rows))
    group = merged(kept, bench)
    rows = bench.texts.vectors(kept)
    own = np.array([kept.index(one) for one, _ in pairs.rows])
    near = pairs.other @ rows.T
    told: dict[str, Any] = {"kept": len(kept), "after merging": len(set(group)), "asked": len(own)}
    policies: dict[str, Policy] = {"ours": Calibrated(), "cosine 0.97": Static(0.97), "cosine 0.96": Static(0.96)}
    for name, policy in policies.items():
        seen = [_ask(bench, policy, other, kept, near[at], None) for at, (_, other) in enumerate(pairs.rows)]
        unseen = [
            _ask(
                bench, policy, other, kept, near[at], {place for place, of in enumerate(group) if of == group[own[at]]}
            )
            for at, (_, other) in enumerate(pairs.rows)
        ]
        hits = [(at, place) for at, place in enumerate(seen) if place is not None]
        told[name] = {
            "hit": len(hits) / len(own),
            "precision": sum(group[place] == group[own[at]] for at, place in hits) / max(1, len(hits)),
            "precision, not merged": sum(place == own[at] for at, place in hits) / max(1, len(hits)),
            "false hits on unseen": sum(place is not None for place in unseen) / len(own),
        }
    return told


def merged(kept: Sequence[str], bench: Bench) -> list[int]:
    """Join questions that say the same: they share two thirds of their words with content, and no guard objects."""
    parent = list(range(len(kept)))
    words = [frozenset(bench.texts.text(text).content) for text in kept]
    for at in range(len(kept)):
        for before in range(at):
            both = len(words[at] & words[before])
            if (
                both * 3 >= 2 * len(words[at] | words[before])
                and guard_against(bench.texts.text(kept[at]), bench.texts.text(kept[before])) is None
            ):
                parent[_top(parent, at)] = _top(parent, before)
    return [_top(parent, at) for at in range(len(kept))]


def _top(parent: list[int], at: int) -> int:
    while parent[at] != at:
        at = parent[at]
    return at


def _ask(
    bench: Bench, policy: Policy, text: str, kept: Sequence[str], near: Any, without: set[int] | None
) -> int | None:
    order = [
        int(place) for place in np.argsort(-near)[: CANDIDATES + 60] if without is None or int(place) not in without
    ]
    candidates = [bench.candidate(kept[place], float(near[place]), str(place)) for place in order[:CANDIDATES]]
    decision = policy.decide(bench.asked(text), candidates)
    return int(decision.candidate.key) if decision.serve and decision.candidate is not None else None


class Seen:
    """What a replay has told a policy of entries; a policy that asks for nothing is told nothing."""

    level = 0

    def __init__(self) -> None:
        self._by_key: dict[str, list[Observation]] = {}
        self.correction = NOTHING_SAID.correction

    def add(self, key: str, cosine: float, *, is_right: bool) -> None:
        """Take in a label."""
        self._by_key.setdefault(key, []).append(Observation(cosine, is_right))

    def observations(self, key: str, /) -> Sequence[Observation]:
        """Give the labels of one entry."""
        return self._by_key.get(key, ())


def replay(bench: Bench, stream: Traffic, policy: Policy) -> dict[str, float]:
    """Put questions to an empty cache one after the other; what is not served is kept."""
    kept, hits, wrong, seen = np.zeros(len(stream.questions), bool), 0, 0, Seen()
    learns = isinstance(policy, VCache)
    for at, question in enumerate(stream.questions):
        near = [
            (int(p), float(c))
            for p, c in zip(stream.neighbours[at], stream.cosines[at], strict=True)
            if p >= 0 and kept[p]
        ]
        decision = _decided(bench, policy, question, near, stream, seen)
        best = None if decision is None or decision.candidate is None else int(decision.candidate.key)
        is_right = best is not None and stream.classes[best] == stream.classes[at]
        if decision is not None and decision.serve:
            hits, wrong = hits + 1, wrong + (not is_right)
            continue
        if learns and best is not None:
            seen.add(str(best), near[0][1], is_right=is_right)
        # The paper keeps a question only where its neighbour's answer was wrong.
        kept[at] = not (learns and is_right)
    return {"hits": hits / len(kept), "wrong": wrong / len(kept)}


def _decided(
    bench: Bench, policy: Policy, question: str, near: Sequence[tuple[int, float]], stream: Traffic, seen: Seen
) -> Decision | None:
    if not near or (near[0][1] < 0.9 and not isinstance(policy, VCache)):
        return None
    candidates = [bench.candidate(stream.questions[place], cosine, str(place)) for place, cosine in near[:CANDIDATES]]
    return policy.decide(bench.asked(question), candidates, seen)


def replays(bench: Bench) -> dict[str, Any]:
    """Compare policies on one stream."""
    stream = traffic(QUESTIONS, bench.texts, 1)
    policies: dict[str, Policy] = {
        "cosine 0.97": Static(0.97),
        "cosine 0.98": Static(0.98),
        "cosine 0.985": Static(0.985),
        **{f"ours {bound:.2%}": Calibrated(bound) for bound in (0.005, 0.01, 0.0175, 0.02)},
        **{f"vCache {delta:.0%}": VCache(delta, chance=random.Random(1).random) for delta in (0.01, 0.02)},  # noqa: S311
    }
    told = {name: replay(bench, stream, policy) for name, policy in policies.items()}
    return {"questions": len(stream.questions), **told}


def plot(curves: dict[str, tuple[Any, Any]], path: Path) -> None:
    """Draw precision against served share."""
    import matplotlib as mpl  # noqa: PLC0415  only to draw
    import matplotlib.pyplot as plt  # noqa: PLC0415  only to draw

    # Text as text, and the same file from the same numbers.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "semantic", "font.size": 9})
    figure, panel = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, (scores, wrong)), colour in zip(curves.items(), ("#0072b2", "#e69f00", "#bbbbbb"), strict=False):
        order = np.argsort(-scores, kind="stable")
        served = np.arange(1, len(order) + 1) / len(order)
        precision = 1 - np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
        shown = (served > 0.02) & (served < 0.6)
        panel.plot(served[shown][::20], precision[shown][::20], label=name, color=colour)
    panel.set_xlabel("served share of LCQMC pairs (odd half of dev)")
    panel.set_ylabel("precision of hits")
    panel.xaxis.set_major_formatter("{x:.0%}")
    panel.yaxis.set_major_formatter("{x:.0%}")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure everything, and print it as JSON."""
    parser = argparse.ArgumentParser(description="Measure the semantic cache.")
    parser.add_argument("--vectors", type=Path, help="vectors made before: PATH.npy of the texts in PATH.pkl")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from deepseek_sdk.caching.embedding.default import DefaultEmbedder  # noqa: PLC0415  heavy

    embedder = DefaultEmbedder()
    bench = Bench(Texts.stored(embedder.embed, options.vectors), embedder.fingerprint)
    rows, ours, pairs = lcqmc(bench)
    parts: dict[str, Callable[[], Any]] = {
        "guarantee": lambda: guarantee(ours, pairs),
        "traps": lambda: traps(bench),
        "gptcache": lambda: gptcache(bench),
        "replay": lambda: replays(bench),
    }
    told = {"data": hashes() if SHARED.exists() else "own pairs", "lcqmc": rows}
    for name, part in parts.items():
        told[name] = part()
    text = json.dumps(told, ensure_ascii=False, indent=1)
    sys.stdout.write(f"{text}\n")
    if options.json:
        options.json.write_text(f"{text}\n", encoding="utf-8")
    if options.plot:
        wrong = pairs.right == 0
        guarded = np.where(pairs.guarded, -1, pairs.cosine)
        plot(
            {"calibrated": (ours, wrong), "cosine, guards": (guarded, wrong), "cosine": (pairs.cosine, wrong)},
            options.plot,
        )


if __name__ == "__main__":
    main()
