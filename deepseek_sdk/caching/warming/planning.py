"""A plan for the next peak: what the history, the cache and the vectors say, put together; nothing is asked here."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from deepseek_sdk.caching.frames import read_frame
from deepseek_sdk.caching.warming.nearness import nearness
from deepseek_sdk.caching.warming.schedule import Budget, Candidate, Rollout, chosen, next_window, risk, starts, worth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.warming.history import Hours, Known, Peak
    from deepseek_sdk.caching.warming.nearness import Vectors
    from deepseek_sdk.caching.warming.schedule import Window

__all__ = ["Plan", "Request", "planned", "requested"]


class Plan(NamedTuple):
    """
    What is to be asked before a peak.

    Attributes:
        peak: The peak, as the history tells it.
        window: When it comes next.
        starts: When to begin, in seconds since 1970.
        chosen: What is asked, the most useful first.
        worthy: How many questions were worth it; the rest of them waits until it has paid.
        rollout: What was chosen by.
    """

    peak: Peak
    window: Window
    starts: float
    chosen: tuple[Candidate, ...]
    worthy: int
    rollout: Rollout


class Request(NamedTuple):
    """
    A request that can be asked anew.

    Attributes:
        key: Of its answer.
        path: Where it goes.
        params: Its query.
        body: Its JSON body.
        tenant: Whose it is, as the cache writes it.
        tags: Of the call that asked it first.
    """

    key: str
    path: str
    params: Mapping[str, Any]
    body: Mapping[str, Any]
    tenant: str
    tags: tuple[tuple[str, str], ...]


def planned(
    hours: Hours,
    questions: Sequence[Known],
    *,
    now: float,
    rollout: Rollout = Rollout(),  # noqa: B008  nothing of it can be changed
    budget: Budget = Budget(),  # noqa: B008  likewise
    vectors: Callable[[Sequence[Known]], Vectors | None] | None = None,
    seconds_per_call: float = 10.0,
    at_once: int = 1,
    is_dear: Callable[[float], bool] | None = None,
) -> Plan | None:
    """
    Plan for the next peak.

    Args:
        hours: What was asked when.
        questions: What is known of that, such as can be asked anew.
        now: The time, in seconds since 1970.
        rollout: How much of it to ask.
        budget: What that may cost.
        vectors: Gives a unit vector of each question, or None where it cannot; None: only counts tell what a peak asks.
        seconds_per_call: How long a call takes.
        at_once: How many go on at a time.
        is_dear: Says of an instant whether calls cost more then than at other hours.

    Returns:
        The plan, or None: there is no peak, or nothing that is worth it.

    Raises:
        ConfigurationError: A number cannot be used.
    """
    peak = hours.peak()
    if peak is None:
        return None
    window = next_window(peak, now, hours.clock)
    ranked = worth(_candidates(hours, peak, window, questions, vectors))
    some = tuple(chosen(ranked, rollout, budget.check()))
    if not some:
        return None
    begin = starts(window, len(some), now=now, seconds_per_call=seconds_per_call, at_once=at_once, is_dear=is_dear)
    return Plan(peak, window, begin, some, len(ranked), rollout)


def _candidates(
    hours: Hours,
    peak: Peak,
    window: Window,
    questions: Sequence[Known],
    vectors: Callable[[Sequence[Known]], Vectors | None] | None,
) -> Iterator[Candidate]:
    near = _near(hours, peak, questions, vectors)
    for question, nearest in zip(questions, near, strict=True):
        expected = hours.expected(question.id, peak.hours)
        yield Candidate(question.key, expected, nearest, risk(question.expires_ms, window), question.cny)


def _near(
    hours: Hours,
    peak: Peak,
    questions: Sequence[Known],
    vectors: Callable[[Sequence[Known]], Vectors | None] | None,
) -> Sequence[float]:
    found = None if vectors is None or not questions else vectors(questions)
    if found is None:
        return [1.0] * len(questions)
    then, ever = hours.weights(peak.hours), hours.weights(range(24))
    ids = [question.id for question in questions]
    return nearness(found, [then.get(one, 0.0) for one in ids], [ever.get(one, 0.0) for one in ids])


def requested(tier: DiskTier | None, questions: Iterable[Known]) -> tuple[list[Request], Mapping[str, int]]:
    """
    Make requests of questions, by the frames that were kept with their answers.

    Args:
        tier: The cache on disk, open; None: there is none, and no frames.
        questions: What to ask.

    Returns:
        The requests, and how many there are not, by the reason: "no_frame": the rest of the request is not known, or
        cannot be read; "other_request": it is known of another one only.

    Raises:
        StoreError: The disk cannot be used.
    """
    found, skipped = [], Counter[str]()
    for question in questions:
        request = _requested(tier, question)
        if isinstance(request, str):
            skipped[request] += 1
        else:
            found.append(request)
    return found, dict(skipped)


def _requested(tier: DiskTier | None, question: Known) -> Request | str:
    frame = None if tier is None else tier.read(lambda lane: read_frame(lane, question.partition))
    if frame is None:
        return "no_frame"
    body = frame.request_of(question.key, question.text, question.tenant)
    if body is None:
        return "other_request"
    return Request(question.key, frame.path, frame.params, body, question.tenant, question.tags)
