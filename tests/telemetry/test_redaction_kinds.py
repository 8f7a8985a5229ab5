"""Which texts a log keeps and which it does not: kinds of secrets, kinds of places, and what only looks like them."""

from __future__ import annotations

import io
import json
import logging
import time

import pytest

from deepseek_sdk.telemetry import RedactingFormatter

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJ-SMeK_KF2"

MASKED = [
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic ****"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA== refused", "Authorization: Basic **** refused"),
    ("Proxy-Authorization: Basic dXNl, x", "Proxy-Authorization: Basic ****, x"),
    ("authorization=Token x", "authorization=Token ****"),
    ("Authorization: Bearer abc", "Authorization: Bearer ****"),
    ("Authorization: Custom abc123 x", "Authorization: **** x"),
    ('Authorization: Token token="a b", nonce="c" x', "Authorization: Token **** x"),
    ('Authorization: Digest username="M", realm="a b", response=\'66 29\' x', "Authorization: Digest **** x"),
    ("curl -H 'Authorization: Digest a=\"b\", c=d e' url", "curl -H 'Authorization: Digest ****' url"),
    ('{"password": "open sesame 12"}', '{"password": "****"}'),
    ('{"password": "open \\"sesame\\" \\\\", "a": 1}', '{"password": "****", "a": 1}'),
    ("{'passwd': 'open sesame', 'a': 1}", "{'passwd': '****', 'a': 1}"),
    ('"password": "cut in the mid', '"password": "****'),
    ('"password": "cut\nnext line', '"password": "****\nnext line'),
    ("password=ab x", "password=**** x"),
    ("passwd: a", "passwd: ****"),
    ("client_secret=1&x=2", "client_secret=****&x=2"),
    ("GET /v1?key=abc&n=1 HTTP/1.1", "GET /v1?key=****&n=1 HTTP/1.1"),
    ("https://h/v1?a=1&api_key=abc#top", "https://h/v1?a=1&api_key=****"),
    ("https://h/v1?access_token=a.b-c&n=2", "https://h/v1?access_token=****&n=2"),
    ("https://h/v1?x=1&amp;token=ab", "https://h/v1?x=1&amp;token=****"),
    ("https://user:pass word", "https://user:pass word"),
    ("https://user:p@ss@host/path", "https://user:****@host/path"),
    ("redis://:pw@host/0", "redis://:****@host/0"),
    ("Cookie: sid=abc; theme=dark\nHost: a", "Cookie: ****\nHost: a"),
    ("Set-Cookie: sid=abc; Path=/; Expires=Wed, 21 Oct 2015 07:28:00 GMT", "Set-Cookie: ****"),
    ('-H "cookie: a=b; c=d" url', '-H "cookie: ****" url'),
    (f"got {JWT}, which is old", "got ****, which is old"),
    (f"令牌{JWT}已过期", "令牌****已过期"),
    ("密钥sk-0123456789abcdef是我的", "密钥sk-****是我的"),
    ("密码password：hunter22，请保密", "密码password：****，请保密"),
    ("图" + "QUJDa0" * 20 + "==。", "图****。"),
    (
        "[('Authorization', 'Basic dXNl cjpw'), ('Accept', '*/*')]",
        "[('Authorization', 'Basic ****'), ('Accept', '*/*')]",
    ),
    ("[(b'cookie', b'a=b; c=d'), (b'a', b'b')]", "[(b'cookie', b'****'), (b'a', b'b')]"),
    ('[["x-api-key", "a b"], ["accept", "c"]]', '[["x-api-key", "****"], ["accept", "c"]]'),
    ("{'Set-Cookie': ['a=b; Path=/', 'c=d'], 'x': 1}", "{'Set-Cookie': ['****', '****'], 'x': 1}"),
    (r"b'X-Api-Key: ab\r\nCookie: a=b\r\n'", r"b'X-Api-Key: ****\r\nCookie: ****"),
]

READABLE = [
    "token count: 5",
    "max_tokens=5",
    "prompt_tokens: 12, completion_tokens: 30, total_tokens: 42",
    "tokens: 12",
    "time_to_first_token=0.5",
    "key: value",
    "the key=value pairs of a keyboard",
    "monkey: banana, keyword=3",
    "cookies are fine",
    "a secret of yours, a password or an API key",
    "authorization failed",
    "error invalid_token: expired",
    "basic authentication is not supported",
    "deepseek-v4-flash and deepseek-reasoner at https://api.deepseek.com:443/v1?model=a",
    "req_0123456789abcdef0123456789abcdef",
    "chatcmpl-0123456789abcdef",
    '{"properties": {"password": {"type": "string"}}, "required": ["password", "name"]}',
    '{"password": ""}',
    "deepseek_sdk/telemetry/settings.py line 100",
    "risk-taking task-force",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "eyJ is how they begin. So. There.",
    "令牌数：5，缓存命中：3",
]

PIECES = ["a+", "eyJ", "eyJa.", "password ", 'password="', "password:[", "://a:", "Bearer ", "\\", '\\"']
PIECES += [
    "Authorization: a",
    'Authorization: Digest a="',
    "cookie:a&",
    "('cookie',",
    "&key=",
    " ",
    "=",
    "Ab1+/_",
    "\n",
]


@pytest.mark.parametrize(("text", "clean"), MASKED)
def test_secrets(text: str, clean: str) -> None:
    """Secrets of each kind are taken out, and nothing but them; once more changes nothing."""
    formatter = RedactingFormatter()

    assert clean == formatter.redacted(text)
    assert clean == formatter.redacted(clean)


@pytest.mark.parametrize("text", READABLE)
def test_what_is_no_secret(text: str) -> None:
    """What only looks like a secret stays readable."""
    assert text == RedactingFormatter().redacted(text)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("secret", ["open sesame 12", 'a"b c', "a\\", "\\\" '密码", "x"])
def test_json_in_json(secret: str, depth: int) -> None:
    """JSON is read however often it was put into JSON."""
    text, clean = {"password": secret, "a": 1}, {"password": "****", "a": 1}
    dumped, wanted = json.dumps(text, ensure_ascii=False), json.dumps(clean)
    for _ in range(depth - 1):
        dumped, wanted = json.dumps(dumped, ensure_ascii=False), json.dumps(wanted)

    assert wanted == RedactingFormatter().redacted(dumped)


@pytest.mark.parametrize(
    "given", [{"Authorization": "Basic a b"}, [("cookie", "a b=c")], b"Cookie: d=a b", "password: q7"]
)
def test_arguments_of_a_record(given: object) -> None:
    """What stands in arguments of a record, bytes and headers too, and in its exception, is taken out as well."""
    logger, handler = logging.getLogger("of an application"), logging.StreamHandler(stream := io.StringIO())
    handler.setFormatter(RedactingFormatter())
    logger.addHandler(handler)
    try:
        raise ValueError("passwd=q7")  # noqa: TRY301  its traceback is wanted
    except ValueError:
        logger.exception("sent Authorization: Basic %s with %s", "q7", given)
    logger.removeHandler(handler)

    said = stream.getvalue()
    assert "Traceback" in said
    assert [] == [text for text in ("q7", "a b") if text in said]


@pytest.mark.parametrize("head", ["", 'password="', "Authorization: Digest a="])
@pytest.mark.parametrize("piece", PIECES)
def test_long_texts(piece: str, head: str) -> None:
    """A text of any shape takes time in proportion to its length: a megabyte takes no minutes."""
    formatter = RedactingFormatter()
    begun = time.process_time()
    formatter.redacted(head + piece * (1_000_000 // len(piece)))

    assert time.process_time() - begun < 20
