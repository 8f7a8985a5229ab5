"""Sets that are alike are found, whoever signs them."""

from __future__ import annotations

import random
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.warming.minhash import grouped, hashed, jaccard, own_signer, signer

if TYPE_CHECKING:
    from deepseek_sdk.caching.warming.minhash import Signer


class Sketch:
    """Signs as rensa does, in so far as it is used: the smallest of 64 hashes of all words."""

    def __init__(self, num_perm: int, seed: int) -> None:
        self.seeds = [f"{seed} {place} " for place in range(num_perm)]
        self.words: list[str] = []

    def update(self, words: list[str]) -> None:
        """Take words."""
        self.words += words

    def digest(self) -> list[int]:
        """Give the signs."""
        return [min(hashed([seed + word for word in self.words]), default=0) for seed in self.seeds]


@pytest.fixture(params=["own", "rensa"])
def sign(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Signer:
    """Give what signs, with and without the package that does it faster."""
    rensa: ModuleType | None = None
    if request.param == "rensa":
        rensa = ModuleType("rensa")
        rensa.__dict__["RMinHash"] = Sketch
    monkeypatch.setitem(sys.modules, "rensa", rensa)
    return signer()


def test_shares() -> None:
    """What two sets have in common is a share of what they have together."""
    sets = [
        (frozenset(map(ord, one)), frozenset(map(ord, other))) for one, other in (("ab", "bc"), ("a", "a"), ("a", ""))
    ]
    found = [jaccard(*two) for two in (*sets, (frozenset[int](), frozenset[int]()))]

    assert [1 / 3, 1, 0, 1] == found


def test_alike_sets_are_found(sign: Signer) -> None:
    """Of sets that share most of their members nearly all come together; others never do."""
    chance = random.Random(3)  # noqa: S311  no secret
    firsts = [frozenset(chance.sample(range(2**32), 20)) for _ in range(60)]
    others = [frozenset([*sorted(first)[:18], *chance.sample(range(2**32), 2)]) for first in firsts]
    leaders = grouped([*firsts, *others], 0.6, sign)

    assert list(range(60)) == leaders[:60]
    joined = [place == leader for place, leader in enumerate(leaders[60:])]
    assert sum(joined) >= 57
    assert all(
        is_joined or leader == place + 60
        for place, (is_joined, leader) in enumerate(zip(joined, leaders[60:], strict=True))
    )


def test_empty_sets() -> None:
    """Sets without members are alike, and like nothing else."""
    assert [0, 0, 2] == grouped([frozenset(), frozenset(), frozenset([1])], 0.5, own_signer())


def test_signs_estimate_shares() -> None:
    """The share of equal signs is about the share of common members."""
    sign = own_signer()
    words = [f"词{number}" for number in range(60)]
    one, other = sign(hashed(words[:40])), sign(hashed(words[20:]))

    assert sum(a == b for a, b in zip(one, other, strict=True)) / len(one) == pytest.approx(1 / 3, abs=0.15)
