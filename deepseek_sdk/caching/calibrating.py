"""Thresholds from labelled pairs of one's own: the pairs are embedded, and the thresholds kept beside the cache."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.deciding import calibration_file
from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.calibration import Example
from deepseek_sdk.caching.matching.text import analysed
from deepseek_sdk.caching.operations import opened
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from pathlib import Path

    from deepseek_sdk.caching.deciding.calibration import Calibration
    from deepseek_sdk.caching.embedding.base import Vectors
    from deepseek_sdk.caching.semantic import SemanticCache

__all__ = ["Limits", "adopt_kept", "calibrate", "labelled"]

_log = logging.getLogger("deepseek_sdk")

_FILE = "calibration.json"
# So many texts are given to the embedder at a time.
_AT_ONCE = 64
# So long it may take for them, and so long it may load, in seconds: a model may have to be fetched first.
_BATCH_S, _LOAD_S = 120.0, 1800.0
# Without pairs that are wrong nothing says where to stop, and without right ones there is nothing to serve.
_FEWEST = 10
_NAMES = ("a", "b", "label")


class Limits(NamedTuple):
    """How long to wait for the embedder, in seconds: for a batch of texts, and until it is loaded."""

    batch_s: float = _BATCH_S
    load_s: float = _LOAD_S


_LIMITS = Limits()


class Labelled(NamedTuple):
    """Two questions, and whether one answer does for both."""

    one: str
    other: str
    is_same: bool


def adopt_kept(path: Path | None, policy: Any) -> None:
    """
    Use the thresholds that were set for a cache before.

    Args:
        path: The directory of the cache, or None: it is in memory alone.
        policy: What is to use them.
    """
    if path is None or not isinstance(policy, Calibrated):
        return
    try:
        for calibration in calibration_file.read(path / _FILE).values():
            policy.adopt(calibration)
    except OSError as error:
        _log.warning("The calibration of the cache in %s cannot be read, the shipped one holds: %s", path, error)


def calibrate(
    cache: SemanticCache, pairs: Iterable[Any], max_false_hit: float, limits: Limits = _LIMITS
) -> Calibration:
    """
    Set the thresholds of a cache; see `SemanticCache.calibrate()`.

    Args:
        cache: Which.
        pairs: Labelled pairs.
        max_false_hit: The bound that there must be a threshold for.
        limits: How long to wait for the embedder.

    Returns:
        What came of it.

    Raises:
        ConfigurationError: The pairs, the bound, the policy, the embedder or the disk cannot be used.
    """
    policy = cache.policy
    if not isinstance(policy, Calibrated):
        raise ConfigurationError(f"calibrate() sets the thresholds of Calibrated, and this cache has {policy!r}")
    told = labelled(pairs)
    if not cache.wait_until_ready(limits.load_s):
        reason = cache.service.reason or f"it is not loaded after {limits.load_s:g} s"
        raise ConfigurationError(f"the embedder cannot be used: {reason}")
    examples = _examples(cache, told, limits.batch_s)
    calibration = policy.calibrate(cache.service.fingerprint or "", examples, max_false_hit)
    if cache.path is not None:
        with opened(cache):
            calibration_file.write(cache.path / _FILE, calibration)
    policy.adopt(calibration)
    cache.learner.recalibrated(cache.now_ms())
    return calibration


def labelled(pairs: Iterable[Any]) -> list[Labelled]:
    """
    Read labelled pairs.

    Args:
        pairs: Each of two texts and a label: True or 1 where one answer does for both questions, False or 0 where not;
            or a mapping with "a", "b" and "label".

    Returns:
        They.

    Raises:
        ConfigurationError: One is none; the message tells which.
    """
    if isinstance(pairs, str | bytes | Mapping) or not isinstance(pairs, Iterable):
        raise ConfigurationError(f"pairs must be an iterable of (text, text, label), not {type(pairs).__name__}")
    # What is said twice is no more certain.
    found = list(dict.fromkeys(_pair(number, pair) for number, pair in enumerate(pairs)))
    wrong = sum(not pair.is_same for pair in found)
    if min(wrong, len(found) - wrong) < _FEWEST:
        raise ConfigurationError(
            f"pairs must have {_FEWEST} different ones of each label at least, not {len(found) - wrong} and {wrong}"
        )
    return found


def _pair(number: int, pair: Any) -> Labelled:
    parts = _parts(pair)
    if len(parts) != len(_NAMES) or not all(isinstance(text, str) and text.strip() for text in parts[:2]):
        raise ConfigurationError(f"pairs[{number}] must be two texts and a label, not {pair!r}")
    if not isinstance(parts[2], int | float) or parts[2] not in (0, 1):
        raise ConfigurationError(f"pairs[{number}] must have the label True or False, 1 or 0, not {parts[2]!r}")
    return Labelled(parts[0], parts[1], bool(parts[2]))


def _parts(pair: Any) -> tuple[Any, ...]:
    if isinstance(pair, Mapping):
        parts: tuple[Any, ...] = tuple(pair.get(name) for name in _NAMES)
    else:
        parts = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str | bytes) else ()
    # A truth value of numpy is none of Python, and turns into one.
    return tuple(value.item() if getattr(value, "shape", None) == () else value for value in parts)


def _examples(cache: SemanticCache, pairs: list[Labelled], limit_s: float) -> list[Example]:
    rows = _rows(cache, list(dict.fromkeys(text for pair in pairs for text in pair[:2])), limit_s)
    return [
        Example(
            asked=analysed(pair.one),
            kept=analysed(pair.other),
            cosine=float(rows[pair.one] @ rows[pair.other]),
            vectors=(rows[pair.one], rows[pair.other]),
            is_right=pair.is_same,
        )
        for pair in pairs
    ]


def _rows(cache: SemanticCache, texts: list[str], limit_s: float) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for first in range(0, len(texts), _AT_ONCE):
        some = texts[first : first + _AT_ONCE]
        made = cache.service.submit(some, is_urgent=False)
        if made is None:
            raise ConfigurationError(f"the embedder cannot be used: {cache.service.reason or 'too much waits for it'}")
        rows |= zip(some, _made(made, limit_s), strict=True)
    return rows


def _made(made: Future[Vectors], limit_s: float) -> Vectors:
    try:
        return made.result(limit_s)
    except Exception as error:
        # An embedder may raise a TimeoutError of its own.
        reason = f"{type(error).__name__}: {error}" if made.done() else f"a batch takes longer than {limit_s:g} s"
        made.cancel()
        raise ConfigurationError(f"the embedder cannot be used: {reason}") from error
