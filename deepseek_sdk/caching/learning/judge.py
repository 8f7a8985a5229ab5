"""A judge of pairs: what it is shown, what a model is asked, and how its answer is read."""

from __future__ import annotations

import inspect
import json
import logging
import re
import unicodedata
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import anyio

from deepseek_sdk.caching.failure import contained
from deepseek_sdk.caching.learning.labels import digest_of
from deepseek_sdk.caching.learning.prompts import ADDRESSED, CHINESE, ENGLISH, HAN, SAYINGS
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_number, check_share

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from deepseek_sdk._io import IO

__all__ = [
    "Judge",
    "ModelJudge",
    "Pair",
    "Verdict",
    "is_judgeable",
    "judge_body",
    "judged_by",
    "judged_by_model",
    "verdict_of",
]

_log = logging.getLogger("deepseek_sdk")

_FAILED = "The judge of the cache failed: %s: %s"

# What is longer is no question that two people would ask; an answer is shown in part.
_LONGEST_QUESTION, _LONGEST_ANSWER, _LONGEST_SYSTEM = 2_000, 6_000, 2_000
# One word, in any tokenizer, and room for a blank or a bracket.
_MOST_TOKENS = 16
_CUT = "\n[...]\n"

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^```\w*\s*(.*?)\s*```$", re.DOTALL)
# The first word, where a mark or nothing follows: "no idea" is no "no".
_FIRST = re.compile(r"[\W_]*([a-z]+|[\u4e00-\u9fff]+)\s*(?:[^\w\s]|$)")


class Pair(NamedTuple):
    """
    What a judge is shown.

    Attributes:
        asked: The question.
        kept: The question that the kept answer was written for.
        answer: The text of the kept answer.
        fresh: The text of a new answer to *asked*, or None: there is none.
        system: What both were told before, or None.
    """

    asked: str
    kept: str
    answer: str
    fresh: str | None = None
    system: str | None = None


class Verdict(NamedTuple):
    """
    What a judge says.

    Attributes:
        is_right: The kept answer is right for what was asked; None: he does not know.
        reason: Why he does not: "failed", "invalid", "unfit" or "unsure"; None where he does.
    """

    is_right: bool | None
    reason: str | None = None


class Judge(Protocol):
    """Says whether a kept answer is right for another question: a function, or a coroutine function."""

    def __call__(self, pair: Pair, /) -> bool | Awaitable[bool | None] | None:
        """
        Judge.

        Args:
            pair: What is to be judged.

        Returns:
            Whether it is right; None where one cannot tell.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelJudge:
    """
    The model that answers is the judge, too.

        ModelJudge()                          the model of the call, at most 60 times in an hour
        ModelJudge(model="deepseek-v4-pro")   another one
        ModelJudge(per_hour=600)              more often; a spend budget of the client holds for it all the same

    Args:
        model: Which; None: the one that the call asks for.
        per_hour: How often at most, within any hour.
        max_share: For which part of the calls at most; the first ten are free.
    """

    model: str | None = None
    per_hour: float = 60
    max_share: float = 0.1

    def __post_init__(self) -> None:
        """
        Check what was given.

        Raises:
            ConfigurationError: It cannot be used.
        """
        if not _is_name(self.model):
            raise ConfigurationError(f"model must be the name of a model or None, not {self.model!r}")
        check_number("per_hour", self.per_hour)
        check_share("max_share", self.max_share)


def is_judgeable(pair: Pair) -> bool:
    """
    Tell whether a model may judge a pair.

    Args:
        pair: It.

    Returns:
        False where a question is very long, there is no answer, or a text speaks to the judge instead of asking.
    """
    questions = pair.asked, pair.kept
    if not pair.answer.strip() or any(not text.strip() or len(text) > _LONGEST_QUESTION for text in questions):
        return False
    return not any(ADDRESSED.search(unicodedata.normalize("NFKC", text)) for text in questions)


def judge_body(pair: Pair, model: str) -> dict[str, Any]:
    """
    Write the request that has a model judge a pair.

    Args:
        pair: It.
        model: Which model.

    Returns:
        The body of a chat completion, which answers with one word.
    """
    instructions, ending = CHINESE if HAN.search(pair.asked) else ENGLISH
    told = {
        "system": _cut(pair.system or "", _LONGEST_SYSTEM),
        "question": pair.asked,
        "kept_question": pair.kept,
        "kept_answer": _cut(pair.answer, _LONGEST_ANSWER),
        "new_answer": _cut(pair.fresh or "", _LONGEST_ANSWER),
    }
    data = json.dumps({name: text for name, text in told.items() if text}, ensure_ascii=False, indent=1)
    # Half of a surrogate pair has no UTF-8. And no text can hold the name of what it stands in: that is its own hash.
    data = data.encode("utf-8", "replace").decode()
    fence = f"data-{digest_of(data)[:12]}"
    return {
        "model": model,
        "messages": [
            {"role": "system", "content": instructions},
            {"role": "user", "content": f"<{fence}>\n{data}\n</{fence}>\n\n{ending}"},
        ],
        "temperature": 0,
        # It is on by default, and would take the few tokens that there are.
        "thinking": {"type": "disabled"},
        "max_tokens": _MOST_TOKENS,
        "stream": False,
    }


def verdict_of(content: str | None) -> bool | None:
    """
    Read what a model answers.

    Args:
        content: It.

    Returns:
        The verdict; None where it says neither yes nor no, or more than that.
    """
    text = _THOUGHTS.sub("", unicodedata.normalize("NFKC", content or "")).strip()
    if (fenced := _FENCE.match(text)) is not None:
        text = fenced[1]
    if text.startswith("{"):
        return _of_json(text)
    first = _FIRST.match(text.casefold())
    return None if first is None else SAYINGS.get(first[1])


async def judged_by(judge: Callable[[Pair], Any], pair: Pair, io: IO, level: int = logging.WARNING) -> Verdict:
    """
    Ask a judge of the caller's own; whatever he does, nothing is raised.

    Args:
        judge: Him.
        pair: What is to be judged.
        io: The caller's, in the background: he may take his time.
        level: How loudly the log tells where he fails.

    Returns:
        What he says.
    """
    try:
        said = judge(pair) if _is_coroutine_function(judge) else await io.offload(_told, judge, pair)
        if inspect.isawaitable(said):
            # Without an event loop there is a thread that nobody waits for: it gets one.
            said = await said if io.is_async else anyio.run(_awaited, said)
    except (Exception, SystemExit) as error:  # noqa: BLE001  it is the caller's code
        _log.log(level, _FAILED, type(error).__name__, error)
        return Verdict(None, "failed")
    if said is None:
        return Verdict(None, "unsure")
    if _is_truth(said):
        return Verdict(bool(said))
    _log.log(level, "The judge of the cache must say True, False or None, not %r", said)
    return Verdict(None, "invalid")


async def judged_by_model(ask: Callable[[], Awaitable[str]], level: int = logging.WARNING) -> Verdict:
    """
    Ask a model; whatever becomes of that, nothing is raised.

    Args:
        ask: Does it, and gives what it says.
        level: How loudly the log tells where that fails.

    Returns:
        What it says.
    """
    try:
        said = verdict_of(await ask())
    except CancelledError:
        # It is this work that is.
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, nothing was learnt
        _log.log(level, _FAILED, type(error).__name__, error)
        return Verdict(None, "failed")
    return Verdict(said, None if said is not None else "unsure")


def _told(judge: Callable[[Pair], Any], pair: Pair) -> Any:
    with contained():
        return judge(pair)


def _is_truth(said: object) -> bool:
    """Tell truth values, also those of numpy, which are none of Python."""
    is_one = getattr(getattr(said, "dtype", None), "kind", "") == "b" and getattr(said, "shape", None) == ()
    return isinstance(said, bool) or is_one


def _is_name(model: object) -> bool:
    return model is None or (isinstance(model, str) and bool(model))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most // 2] + _CUT + text[-most // 2 :]


def _of_json(text: str) -> bool | None:
    try:
        values = list(json.loads(text).values())
    except (ValueError, RecursionError):
        return None
    if len(values) != 1:
        return None
    return values[0] if isinstance(values[0], bool) else SAYINGS.get(str(values[0]).strip().casefold())


def _is_coroutine_function(judge: Any) -> bool:
    return inspect.iscoroutinefunction(judge) or inspect.iscoroutinefunction(getattr(judge, "__call__", None))  # noqa: B004  of its class


async def _awaited(said: Awaitable[Any]) -> Any:
    return await said
