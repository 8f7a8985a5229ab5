from __future__ import annotations

from typing import Any

import pytest
from openai import NOT_GIVEN, Omit
from openai._models import FinalRequestOptions

from deepseek_sdk._call import CallOptions
from deepseek_sdk._headers import options_in, raw_mode, without_own
from deepseek_sdk._wire import RAW_RESPONSE


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, CallOptions()),
        ({"X-Session-Id": "user-1"}, CallOptions(session_id="user-1")),
        ({"x-session-id": "user-1"}, CallOptions(session_id="user-1")),
        ({"X-SESSION-ID": "a", "x-session-id": "b"}, CallOptions(session_id="b")),
        ({"X-Mode": "realtime"}, CallOptions(priority="realtime")),
        ({"X-Mode": "RealTime"}, CallOptions(priority="realtime")),
        ({"X-Mode": "fast"}, CallOptions()),
        ({"X-Mode": ""}, CallOptions()),
        ({"X-Batch": "1"}, CallOptions(priority="batch")),
        ({"X-Batch": "True"}, CallOptions(priority="batch")),
        ({"X-Batch": "0"}, CallOptions()),
        ({"X-Batch": "no"}, CallOptions()),
        ({"X-Session-Id": Omit()}, CallOptions()),
        ({"X-Batch": True}, CallOptions()),
        ({"X-DeepSeek-Cache": "refresh"}, CallOptions(cache="refresh")),
        ({"x-deepseek-cache": "Only, max-age=5"}, CallOptions(cache="only, max-age=5")),
        ({"Authorization": "x", "X-Custom": "y"}, CallOptions()),
    ],
)
def test_options_are_read_from_headers(headers: dict[str, Any], expected: CallOptions) -> None:
    """Session and priority can be set by header, in any case of letters; what makes no sense is passed over."""
    assert expected == options_in(headers)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({RAW_RESPONSE: "true"}, "true"),
        ({RAW_RESPONSE: "stream"}, "stream"),
        ({RAW_RESPONSE: Omit()}, None),
        ({"X-Other": "true"}, None),
        ({}, None),
        (NOT_GIVEN, None),
    ],
)
def test_raw_mode_is_told(headers: Any, expected: str | None) -> None:
    """The header by which openai asks for a raw response is read from the request."""
    options = FinalRequestOptions.construct(method="post", url="/x", headers=headers)

    assert expected == raw_mode(options)


@pytest.mark.parametrize(
    ("defaults", "headers", "expected", "omitted"),
    [
        ({}, {}, {}, set()),
        ({}, {"X-Custom": "a", "Authorization": "b"}, {"X-Custom": "a", "Authorization": "b"}, set()),
        (
            {},
            {"X-Session-Id": "a", "x-MODE": "b", "X-Batch": "1", "X-DeepSeek-Cache": "no", "X": "y"},
            {"X": "y"},
            set(),
        ),
        ({}, {RAW_RESPONSE: "true"}, {}, set()),
        ({"X-Session-Id": "a", "X-Custom": "b"}, {}, {}, {"X-Session-Id"}),
        ({"X-Session-Id": "a"}, {"x-session-id": "b", "X": "y"}, {"X": "y"}, {"X-Session-Id"}),
    ],
)
def test_own_headers_do_not_reach_the_wire(
    defaults: dict[str, Any], headers: dict[str, Any], expected: dict[str, Any], omitted: set[str]
) -> None:
    """Headers that mean something here only are taken off, and those of the client are omitted by their names."""
    found = without_own(defaults, headers)

    assert expected == {name: value for name, value in found.items() if not isinstance(value, Omit)}
    assert omitted == {name for name, value in found.items() if isinstance(value, Omit)}
