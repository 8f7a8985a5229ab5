"""Whether what was counted is what the service bills: the counts of this library beside `usage.prompt_tokens`."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.resilience.serial import Serial

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Drift", "DriftReport"]

_LOGGER = "deepseek_sdk.tokens"
_CALLS = 256
_MODELS = 64
_SHARE = 0.01
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """
    How the counts of a model compare with its bills.

    Attributes:
        model: The model.
        calls: How many of its latest calls were compared.
        counted: Their tokens as counted here.
        told: Their tokens as the service told them.
    """

    model: str
    calls: int
    counted: int
    told: int

    @property
    def ratio(self) -> float:
        """What the service told, divided by what was counted: 1.0 where they agree."""
        return self.told / self.counted if self.counted else 1.0

    @property
    def is_over(self) -> bool:
        """Whether they differ by more than one per cent."""
        return abs(self.told - self.counted) > _SHARE * self.counted


@dataclass(slots=True)
class _Model:
    """What is kept of a model: its latest calls, and when it was last warned of."""

    calls: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_CALLS))
    warned: float | None = None


class Drift:
    """
    Compares counts with bills, and warns through `logging` where they differ by more than one per cent.

    Args:
        now: Gives the time, in seconds from any start.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._serial = PerProcess(Serial)
        self._models: dict[str, _Model] = {}

    def note(self, model: str, counted: int, told: int) -> None:
        """
        Compare one call; may be called from anywhere, the garbage collector included.

        Args:
            model: The model that answered.
            counted: The tokens of its prompt as counted here.
            told: `usage.prompt_tokens`.
        """
        self._serial.get().soon(partial(self._note, model, counted, told))

    def reports(self) -> dict[str, DriftReport]:
        """Give the comparison of each model that was counted."""
        self._serial.get().work_off()
        return {name: _report(name, kept) for name, kept in list(self._models.items())}

    def _note(self, model: str, counted: int, told: int) -> None:
        if model not in self._models and len(self._models) >= _MODELS:
            return
        kept = self._models.setdefault(model, _Model())
        kept.calls.append((counted, told))
        report, now = _report(model, kept), self._now()
        if report.is_over and (kept.warned is None or now - kept.warned >= _HOUR_S):
            kept.warned = now
            logging.getLogger(_LOGGER).warning(
                "%s: %d prompt tokens were counted for %d calls, and the service told %d, %+.1f %%",
                model,
                report.counted,
                report.calls,
                report.told,
                100 * (report.ratio - 1),
            )


def _report(model: str, kept: _Model) -> DriftReport:
    calls = list(kept.calls)
    counted, told = (sum(column) for column in zip(*calls, strict=True)) if calls else (0, 0)
    return DriftReport(model=model, calls=len(calls), counted=counted, told=told)
