"""What is remembered from one peak to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.disk import DiskTier
from deepseek_sdk.caching.warming.memory import Remembered, remember, remembered, settled
from deepseek_sdk.caching.warming.schedule import Rollout, Window
from tests.caching.disks import LARGE
from tests.caching.kept_answers import key_of
from tests.caching.warming.asked_ledgers import ask, at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deepseek_sdk.caching.warming.history import Ask

WINDOW = Window(at(1, 9), at(1, 11))


@pytest.fixture
def tier(tmp_path: Path) -> Iterator[DiskTier]:
    """Open a directory."""
    tier = DiskTier(tmp_path / "cache", max_bytes=LARGE)
    yield tier
    tier.close()


def test_it_is_read_again(tier: DiskTier) -> None:
    """What one process writes down, the next one reads; at first there is nothing."""
    first = remembered(tier)
    known = first.having_asked(map(key_of, range(3)), WINDOW)
    remember(tier, known)
    found = [remembered(tier)]
    remember(tier, Remembered(Rollout(0.4, 1, 1)))
    found.append(remembered(tier))

    assert (Remembered(), [known, Remembered(Rollout(0.4, 1, 1))]) == (first, found)
    assert (WINDOW, tuple(key_of(n)[:16] for n in range(3))) == (known.window, known.ids)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"rollout": [1,0,0], "window": [1], "ids": []}', '{"rollout": 0, "window": 1}', None]
)
def test_what_cannot_be_read(tier: DiskTier, text: str | None) -> None:
    """What another program has written there counts for nothing."""
    tier.write(lambda lane: lane.insist("INSERT INTO Settings VALUES ('deepseek_sdk_prewarm', ?)", (text,)))

    assert Remembered() == remembered(tier)


def test_a_peak_is_settled() -> None:
    """When the peak is over, what was wanted of what was asked decides how much is asked the next time."""
    asked_for: list[tuple[float, float]] = []

    def asks(since: float, until: float) -> list[Ask]:
        asked_for.append((since, until))
        return [ask(number, 1, 9) for number in range(8)]

    known = Remembered().having_asked(map(key_of, range(12)), WINDOW)

    assert known == settled(known, WINDOW.ends - 1, asks)
    assert Remembered(Rollout(0.2)) == settled(known, WINDOW.ends, asks)
    assert Remembered() == settled(Remembered(), WINDOW.ends, asks)
    assert [tuple(WINDOW)] == asked_for


def test_more_is_asked_before_the_same_peak() -> None:
    """What is asked in two goes counts once, together; what was for another peak is forgotten."""
    known = Remembered().having_asked([key_of(1), key_of(2)], WINDOW).having_asked([key_of(2), key_of(3)], WINDOW)
    later = known.having_asked([key_of(4)], Window(at(2, 9), at(2, 11)))
    many = Remembered().having_asked(map(key_of, range(2_500)), WINDOW)

    assert (3, 1, 2_000) == (len(known.ids), len(later.ids), len(many.ids))
