"""What was calibrated is there the next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching.deciding.calibration_file import Calibration, read, write

if TYPE_CHECKING:
    from pathlib import Path


def calibration(fingerprint: str, bar: float = 4.0) -> Calibration:
    """Make one."""
    bars = ((0.01, bar), (0.1, 1.0))
    return Calibration(
        fingerprint=fingerprint, n=200, max_false_hit=0.01, threshold=bar, served=0.3, risk=0.01, bars=bars
    )


def test_calibrations_of_several_embedders_stand_side_by_side(tmp_path: Path) -> None:
    """Each is kept by its fingerprint; a new one takes the place of the old one of the same embedder."""
    path = tmp_path / "校准.json"
    for one in (calibration("a"), calibration("b"), calibration("a", 5.0)):
        write(path, one)

    assert {"a": calibration("a", 5.0), "b": calibration("b")} == read(path)
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 2}', '{"version": 1, "calibrations": [{}, 1, {"bars": [], "weights": []}]}']
)
def test_what_is_damaged_is_as_good_as_not_there(tmp_path: Path, text: str) -> None:
    """The shipped thresholds hold then, and the file can be written anew."""
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")
    assert {} == read(path)

    write(path, calibration("a"))
    assert {"a": calibration("a")} == read(path)


def test_no_file_means_no_calibration(tmp_path: Path) -> None:
    """Nothing is made by reading."""
    assert {} == read(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "nowhere" / "c.json", calibration("a"))
