"""Bytes and HTTP: the only package that touches httpx2, so that another HTTP library is a change in one place."""

from __future__ import annotations

from typing import Any

from deepseek_sdk._wire.alarm import DeadlineReached
from deepseek_sdk._wire.response import (
    RAW_RESPONSE,
    RESPONSE,
    host_and_path,
    stream_response,
    stub_request,
    stub_response,
    whole_response,
    with_connect_timeout,
)
from deepseek_sdk._wire.thread import CancelToken
from deepseek_sdk._wire.upstream import AsyncUpstream, ConnectionLost, SyncUpstream, Upstream
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
    "host_and_path",
    "stream_response",
    "stub_request",
    "stub_response",
    "supervised_client",
    "whole_response",
    "with_connect_timeout",
]


def supervised_client(**options: Any) -> Any:
    """
    Make the default HTTP client of the sync colour.

    Args:
        **options: What `httpx2.Client` takes.

    Returns:
        An HTTP client whose sockets obey deadlines.
    """
    # httpcore2 takes longer to load than all of this library, and is not needed until a client is made.
    from deepseek_sdk._wire.client import SupervisedClient  # noqa: PLC0415

    return SupervisedClient(**options)
