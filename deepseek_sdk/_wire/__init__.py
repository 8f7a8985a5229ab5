"""Bytes and HTTP: the only package that touches httpx2, so that another HTTP library is a change in one place."""

from __future__ import annotations

from deepseek_sdk._wire.alarm import DeadlineReached
from deepseek_sdk._wire.client import CancelToken, SupervisedClient
from deepseek_sdk._wire.response import (
    RESPONSE,
    host_and_path,
    stream_response,
    stub_request,
    stub_response,
    whole_response,
)
from deepseek_sdk._wire.upstream import AsyncUpstream, ConnectionLost, SyncUpstream, Upstream
from deepseek_sdk._wire.watchdog import Watchdog

__all__ = [
    "RESPONSE",
    "AsyncUpstream",
    "CancelToken",
    "ConnectionLost",
    "DeadlineReached",
    "SupervisedClient",
    "SyncUpstream",
    "Upstream",
    "Watchdog",
    "host_and_path",
    "stream_response",
    "stub_request",
    "stub_response",
    "whole_response",
]
