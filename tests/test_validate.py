from __future__ import annotations

import re
from typing import Any

import openai
import pytest

from deepseek_sdk._validate import check_api_key, check_base_url, check_timeout, request_problem, unsendable_field
from deepseek_sdk.errors import ConfigurationError

GOOD: dict[str, Any] = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize("key", ["sk-0123", "", "a.b_c-D", str, lambda: "sk-1"])
def test_keys_that_can_be_sent_are_taken(key: object) -> None:
    """A string without blanks, or a function, is a key."""
    check_api_key(key)


@pytest.mark.parametrize(
    "key", ["sk-0123\n", " sk-0123", "sk-\t0123", "sk-0123\x00", "sk-“0123”", "sk-\u200b0123", "sk-é"]
)
def test_keys_that_no_header_takes_are_refused(key: str) -> None:
    """A key with a line break, a blank or a character beyond ASCII is refused, and not shown."""
    with pytest.raises(ConfigurationError, match="copied whole") as caught:
        check_api_key(key)

    assert "0123" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "kind"), [(b"sk-0123", "bytes"), (5, "int"), (["sk-0123"], "list"), (None, "NoneType")]
)
def test_keys_of_other_types_are_refused(key: object, kind: str) -> None:
    """The message names the type of what was passed, and never its value."""
    with pytest.raises(ConfigurationError, match=f"not {kind}$") as caught:
        check_api_key(key)

    assert "0123" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://api.deepseek.com", "http://localhost:8000/v1", "HTTPS://API.DEEPSEEK.COM/", "http://[::1]:80/v1"]
)
def test_urls_that_can_be_asked_are_taken(url: str) -> None:
    """A base URL is http or https with a host."""
    check_base_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.deepseek.com",
        "localhost:8000/v1",
        "ftp://x.invalid",
        "https://",
        "https:///v1",
        "http://x:port",
        "http:x",
        5,
    ],
)
def test_other_urls_are_refused(url: object) -> None:
    """What is no URL, or has no host, is refused and shown."""
    with pytest.raises(ConfigurationError, match="base_url") as caught:
        check_base_url(url)

    assert repr(str(url)) in str(caught.value)


PROBLEMS: list[tuple[dict[str, Any], str, str]] = [
    ({"model": None}, "model", "model must be a name"),
    ({"model": ""}, "model", "not ''"),
    ({"model": "  "}, "model", "not '  '"),
    ({"model": 5}, "model", "not 5"),
    ({"messages": None}, "messages", "not NoneType"),
    ({"messages": "Hi"}, "messages", "not str"),
    ({"messages": {"role": "user"}}, "messages", "not dict"),
    ({"messages": []}, "messages", "nothing to answer"),
    ({"messages": ["Hi"]}, "messages", r"messages\[0\] must be a dictionary, not str"),
    ({"messages": [*GOOD["messages"], {"content": "x"}]}, "messages", r"messages\[1\] has no role"),
    ({"messages": [{"role": None}]}, "messages", r"messages\[0\] has no role"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages", r"messages\[0\] has a content that is neither"),
    ({"messages": [{"role": "user", "content": {}}]}, "messages", "neither a string nor a list"),
    ({"stop": ["x", 5]}, "stop", r"stop\[1\] must be a string, not 5"),
    ({"tools": ["x"]}, "tools", r"tools\[0\] must be a dictionary"),
    ({"temperature": float("nan")}, "temperature", "a number, not nan"),
    ({"top_p": float("inf")}, "top_p", "a number, not inf"),
    ({"max_tokens": 0}, "max_tokens", "at least 1, not 0"),
    ({"max_tokens": -1}, "max_tokens", "at least 1, not -1"),
    ({"max_tokens": 1.5}, "max_tokens", "a whole number, not 1.5"),
    ({"max_tokens": "100"}, "max_tokens", "a whole number, not '100'"),
    ({"max_tokens": True}, "max_tokens", "a whole number, not True"),
    ({"max_completion_tokens": 0}, "max_completion_tokens", "at least 1"),
    ({"n": "2"}, "n", "a whole number"),
    ({"seed": 1.0}, "seed", "a whole number"),
    ({"temperature": "hot"}, "temperature", "a number, not 'hot'"),
    ({"temperature": False}, "temperature", "a number, not False"),
    ({"top_p": []}, "top_p", "a number"),
    ({"presence_penalty": "x"}, "presence_penalty", "a number"),
    ({"frequency_penalty": {}}, "frequency_penalty", "a number"),
    ({"stop": 5}, "stop", "a string or a list of strings"),
    ({"stream_options": True}, "stream_options", "a dictionary"),
    ({"response_format": "json"}, "response_format", "a dictionary, not 'json'"),
    ({"thinking": "disabled"}, "thinking", "a dictionary such as"),
    ({"thinking": False}, "thinking", "a dictionary such as"),
    ({"tools": {"type": "function"}}, "tools", "a list"),
    ({"logprobs": "yes"}, "logprobs", "a boolean"),
    ({"top_logprobs": True}, "top_logprobs", "a whole number"),
    ({"user_id": 5}, "user_id", "a string"),
]


@pytest.mark.parametrize(("change", "param", "text"), PROBLEMS)
def test_what_no_server_accepts_is_seen(change: dict[str, Any], param: str, text: str) -> None:
    """The first argument that cannot be right is named, with what it must be and what it is."""
    problem = request_problem("/chat/completions", {**GOOD, **change})

    assert problem is not None
    assert param == problem[0]
    assert re.search(text, problem[1])


FINE: list[dict[str, Any]] = [
    {},
    {"messages": tuple(GOOD["messages"])},
    {"messages": [{"role": "unheard-of"}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}, {"role": "tool", "content": None}]},
    {"max_tokens": 1, "max_completion_tokens": None, "temperature": 0, "top_p": 0.5, "n": 1, "seed": -5},
    {"stop": "x"},
    {"stop": ["x"]},
    {"logprobs": True, "top_logprobs": 5},
    {"tools": None, "thinking": None, "response_format": None, "stream_options": None, "stop": None, "user_id": None},
    {"thinking": {"type": "disabled"}, "response_format": {"type": "json_object"}, "tools": [], "user_id": ""},
    {"unknown": object()},
]


@pytest.mark.parametrize("change", FINE)
def test_what_a_server_may_accept_is_let_through(change: dict[str, Any]) -> None:
    """Everything else is for the server to judge."""
    assert request_problem("/chat/completions", {**GOOD, **change}) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"model": "m", "prompt": "x"}, None),
        ({"model": "m", "prompt": "x", "logprobs": 5}, None),
        ({"model": "m", "prompt": ["x"], "messages": "no"}, None),
        ({"model": "m"}, "prompt"),
        ({"model": "m", "prompt": 5}, "prompt"),
        ({"model": "", "prompt": "x"}, "model"),
        ({"prompt": "x"}, "model"),
        ({"model": "m", "prompt": "x", "max_tokens": 0}, "max_tokens"),
    ],
)
def test_completions_need_no_messages(body: dict[str, Any], expected: str | None) -> None:
    """A completion has a prompt, which the server judges, and the same other arguments."""
    problem = request_problem("/completions", body)

    assert expected == (problem and problem[0])


@pytest.mark.parametrize("body", [None, [], "x"])
def test_a_body_is_a_dictionary(body: object) -> None:
    """Anything else cannot be a request."""
    problem = request_problem("/chat/completions", body)

    assert ("body", True) == (problem and problem[0], type(body).__name__ in str(problem))


def test_a_password_in_a_url_is_not_shown() -> None:
    """A URL that is refused is shown without what stands before its host."""
    with pytest.raises(ConfigurationError) as caught:
        check_base_url("ftp://user:secret@x.invalid")

    assert "secret" not in str(caught.value)
    assert "x.invalid" in str(caught.value)


@pytest.mark.parametrize("timeout", [None, 5, 0.5, openai.NOT_GIVEN, openai.Timeout(5)])
def test_timeouts_of_openai_are_taken(timeout: object) -> None:
    """A number, None, and a timeout with parts are what openai takes."""
    check_timeout(timeout)


@pytest.mark.parametrize("timeout", ["5", True, [5], {}])
def test_other_timeouts_are_refused(timeout: object) -> None:
    """Anything else is refused and shown."""
    with pytest.raises(ConfigurationError, match="timeout must be a number") as caught:
        check_timeout(timeout)

    assert repr(timeout) in str(caught.value)


RECURSIVE: dict[str, Any] = {}
RECURSIVE["self"] = RECURSIVE


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"a": 1, "b": object()}, "b"),
        ({"a": [{"x": {1}}]}, "a"),
        ({"a": float("nan")}, "a"),
        ({"a": b"x"}, "a"),
        ({"a": RECURSIVE}, "a"),
        ({"a": None, "b": "\ud83d", "c": [1.5, {"d": True}]}, "b"),
        ({}, None),
    ],
)
def test_what_is_no_key_is_found(body: dict[str, Any], expected: str | None) -> None:
    """The first field that cannot be written as JSON is named."""
    assert expected == unsendable_field(body)
