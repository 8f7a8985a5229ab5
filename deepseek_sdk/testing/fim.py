"""Fill-in-the-middle requests, `/beta/completions`: validation and counting, which the chat encoder does not cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepseek_sdk.testing import refusals
from deepseek_sdk.testing.house_rules import check_kinds, served_model
from deepseek_sdk.testing.job import MAX_FIM_TOKENS, Job, includes_usage, stop_sequences
from deepseek_sdk.testing.vocabulary import special_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.testing.vocabulary import Vocabulary

__all__ = ["fim_job"]

_MAX_STOPS = 16
_MAX_LOGPROBS = 20


def fim_job(body: Mapping[str, Any], raw: bytes, vocabulary: Vocabulary) -> Job:
    """
    Validate a request and count its prompt.

    Args:
        body: The decoded body.
        raw: The same as it arrived.
        vocabulary: Counts the text.

    Returns:
        What to answer; never with thinking, which the endpoint does not know.

    Raises:
        Refusal: The request is invalid.
    """
    _check(body, raw)
    # Fill-in-the-middle is for the non-thinking mode only (pricing page).
    return Job(
        model=served_model(body["model"]),
        ids=_ids(body, vocabulary),
        thinking=False,
        thinks_now=False,
        max_tokens=body.get("max_tokens") or MAX_FIM_TOKENS,
        stop=stop_sequences(body),
        top_logprobs=body.get("logprobs"),
        is_stream=bool(body.get("stream")),
        include_usage=includes_usage(body),
        is_chat=False,
        echoed=body["prompt"] if body.get("echo") else "",
    )


def _check(body: Mapping[str, Any], raw: bytes) -> None:
    for name in ("model", "prompt"):
        if name not in body:
            raise refusals.malformed(f"missing field `{name}`", raw=raw)
    served_model(body["model"])
    check_kinds(body, raw)
    # At most 4K (FIM guide).
    tokens = body.get("max_tokens")
    if tokens is not None and not 1 <= tokens <= MAX_FIM_TOKENS:
        raise refusals.out_of_range("max_tokens", f"[1, {MAX_FIM_TOKENS}]")
    _check_options(body)


def _check_options(body: Mapping[str, Any]) -> None:
    logprobs = body.get("logprobs") or 0
    if not isinstance(logprobs, int) or not 0 <= logprobs <= _MAX_LOGPROBS:
        raise refusals.out_of_range("logprobs", f"[0, {_MAX_LOGPROBS}].")
    stop = body.get("stop")
    if isinstance(stop, list) and len(stop) > _MAX_STOPS:
        raise refusals.invalid(f"Stop string array too long: {len(stop)}")
    if body.get("stream_options") and not body.get("stream"):
        raise refusals.invalid(refusals.STREAM_OPTIONS)


def _ids(body: Mapping[str, Any], vocabulary: Vocabulary) -> list[int]:
    # Three special tokens mark the beginning, the hole and the end.
    ids = [special_id("begin"), special_id("fim begin"), *vocabulary.ids(body["prompt"]), special_id("fim hole")]
    return [*ids, *vocabulary.ids(body.get("suffix") or ""), special_id("fim end")]
