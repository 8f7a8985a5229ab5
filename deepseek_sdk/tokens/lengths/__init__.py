"""How long answers are: learnt from those that came, for reservations, times and checks, not for *max_tokens*."""

from __future__ import annotations

from deepseek_sdk.tokens.lengths.observer import LengthObserver
from deepseek_sdk.tokens.lengths.quantities import LengthEstimate, LengthKey, Quantiles, SecondsEstimate, Shares
from deepseek_sdk.tokens.lengths.scores import LengthReport, LengthScores
from deepseek_sdk.tokens.lengths.tracker import LengthTracker

__all__ = [
    "LengthEstimate",
    "LengthKey",
    "LengthObserver",
    "LengthReport",
    "LengthScores",
    "LengthTracker",
    "Quantiles",
    "SecondsEstimate",
    "Shares",
]
