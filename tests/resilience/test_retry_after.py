from __future__ import annotations

from math import inf

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk.resilience.retrying.retry_after import headers_of, retry_after
from tests.resilience.failures import NOW, REQUEST, date, refused


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": " 3 "}, 3),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9),
        ({"retry-after": date(NOW + 30)}, 30),
        ({"retry-after": date(NOW - 30)}, 0),
        ({"retry-after": "Fri, 15 Jan 2027 09:00:30 +0100"}, 30),
        ({"retry-after": "Fri, 15 Jan 2027 08:00:30"}, 30),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 99 Foo 2026 07:28:00 GMT"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    """Milliseconds, seconds and dates are read; nothing a server can send raises, or asks for less than no time."""
    assert expected == retry_after(headers, NOW)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()))
def test_no_header_raises(headers: dict[str, str]) -> None:
    """Any text at all gives a number of seconds that can be waited, or None."""
    seconds = retry_after(headers, NOW)

    assert seconds is None or 0 <= seconds < inf


def test_where_the_headers_are() -> None:
    """Errors of the server carry headers, others none."""
    assert "3" == headers_of(refused(429, retry_after="3"))["Retry-After"]
    assert [{}, {}] == [headers_of(error) for error in (openai.APIConnectionError(request=REQUEST), ValueError("no"))]
