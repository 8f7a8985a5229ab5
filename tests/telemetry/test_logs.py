"""Logging: secrets do not stand in it, those of tracebacks included."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.telemetry import RedactingFormatter, log_to

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    logger = logging.getLogger("deepseek_sdk")
    before = (logger.level, list(logger.handlers))
    yield
    logger.setLevel(before[0])
    logger.handlers = before[1]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-0123456789abcdef used", "key sk-**** used"),
        ("Authorization: Bearer abc.def-ghi_123", "Authorization: Bearer ****"),
        ("api_key=hunter22 x", "api_key=**** x"),
        ('{"api-key": "hunter22", "a": 1}', '{"api-key": "****", "a": 1}'),
        ("password: 密码12345 x", "password: **** x"),
        ("https://user:pass-word@host/path", "https://user:****@host/path"),
        ("image " + "QUJDa0" * 20 + "==", "image ****"),
        ("你好，没有秘密", "你好，没有秘密"),
        ("deepseek_sdk/telemetry/settings.py line 100", "deepseek_sdk/telemetry/settings.py line 100"),
        ("risk-taking task-force", "risk-taking task-force"),
    ],
)
def test_secrets(text: str, clean: str) -> None:
    """Keys, tokens, passwords and pictures are taken out, other words stay."""
    assert clean == RedactingFormatter().redacted(text)


def test_tracebacks() -> None:
    """What stands in a traceback is taken out as well."""
    stream = io.StringIO()
    log_to(stream, "DEBUG")
    try:
        raise ValueError("refused sk-0123456789abcdef")  # noqa: TRY301  its traceback is wanted
    except ValueError:
        logging.getLogger("deepseek_sdk").exception("it failed with %s", "Bearer abcdefghij")

    assert "Traceback" in stream.getvalue()
    assert [] == [secret for secret in ("0123456789abcdef", "abcdefghij") if secret in stream.getvalue()]


def test_patterns_of_yours() -> None:
    """Further patterns are taken out; what their first group has found stays."""
    formatter = RedactingFormatter("%(message)s", patterns=[r"\d{11}", r"(用户：)\w+"])

    assert "电话 **** 用户：****" == formatter.redacted("电话 13800138000 用户：张三")


def test_a_handler_of_yours() -> None:
    """A handler of one's own gets the formatter, and the library's level is set."""
    handler = logging.StreamHandler(io.StringIO())

    assert handler is log_to(handler, logging.WARNING)
    assert isinstance(handler.formatter, RedactingFormatter)
    assert logging.WARNING == logging.getLogger("deepseek_sdk").level
