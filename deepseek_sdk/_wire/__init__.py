"""Bytes and HTTP: the only package that touches httpx2, so that another HTTP library is a change in one place."""

from __future__ import annotations

from typing import Any

from deepseek_sdk._wire.alarm import DeadlineReached, make_alarm
from deepseek_sdk._wire.response import (
    RAW_RESPONSE,
    RESPONSE,
    host_and_path,
    response_for_one,
    stream_response,
    stub_request,
    stub_response,
    tell_facts,
    whole_response,
    with_connect_timeout,
)
from deepseek_sdk._wire.thread import CancelToken
from deepseek_sdk._wire.upstream import (
    AsyncUpstream,
    ConnectionLost,
    SyncUpstream,
    Upstream,
    timeout_of,
    unread_refusal,
)
from deepseek_sdk._wire.watchdog import Watchdog

__all__ = [
    "RAW_RESPONSE",
    "RESPONSE",
    "AsyncUpstream",
    "CancelToken",
    "ConnectionLost",
    "DeadlineReached",
    "SyncUpstream",
    "Upstream",
    "Watchdog",
    "default_http_client",
    "host_and_path",
    "make_alarm",
    "response_for_one",
    "stream_response",
    "stub_request",
    "stub_response",
    "tell_facts",
    "timeout_of",
    "unread_refusal",
    "whole_response",
    "with_connect_timeout",
]


def default_http_client(*, is_async: bool, **options: Any) -> Any:
    """
    Make the HTTP client of a client that was given none.

    Args:
        is_async: The colour.
        **options: What `httpx2.Client` takes.

    Returns:
        An HTTP client whose sockets obey deadlines, or one that serves any number of event loops.
    """
    # httpcore2 takes longer to load than all of this library, and is not needed until a client is made.
    from deepseek_sdk._wire.client import LoopClient, SupervisedClient  # noqa: PLC0415

    return LoopClient(**options) if is_async else SupervisedClient(**options)
