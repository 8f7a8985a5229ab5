"""The calibrations of one cache: a JSON file beside it, by the embedder's fingerprint."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.deciding.calibration import Calibration

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Calibration", "read", "write"]

VERSION = 1


def read(path: Path) -> dict[str, Calibration]:
    """
    Read all calibrations.

    Args:
        path: The file.

    Returns:
        They, by fingerprint; none where there is no file, or another version of the library has written it.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        return {}
    if not isinstance(told, dict) or told.get("version") != VERSION:
        return {}
    found = {}
    for said in told.get("calibrations", ()):
        # What is damaged is as good as not there: the shipped thresholds hold.
        with contextlib.suppress(TypeError, ValueError, KeyError):
            calibration = _calibration(said)
            found[calibration.fingerprint] = calibration
    return found


def write(path: Path, calibration: Calibration) -> None:
    """
    Write one calibration beside those of other embedders; a crash leaves the old file or the new one.

    Args:
        path: The file.
        calibration: It.

    Raises:
        OSError: The file cannot be written.
    """
    known = {**read(path), calibration.fingerprint: calibration}
    told = {"version": VERSION, "calibrations": [dataclasses.asdict(one) for one in known.values()]}
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123  a descriptor
            json.dump(told, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def _calibration(said: Mapping[str, Any]) -> Calibration:
    bars = tuple((float(bound), float(bar)) for bound, bar in said["bars"])
    weights = tuple(float(weight) for weight in said["weights"])
    if not bars or len(weights) not in (0, 3) or [*bars] != sorted(bars):
        raise ValueError("no thresholds")
    numbers = {name: float(said[name]) for name in ("max_false_hit", "threshold", "served", "risk")}
    return Calibration(fingerprint=str(said["fingerprint"]), n=int(said["n"]), bars=bars, weights=weights, **numbers)
