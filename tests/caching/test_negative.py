"""Refusals that are remembered for a moment."""

from __future__ import annotations

import threading
import traceback
from typing import Any

import httpx2
import openai
import pytest

from deepseek_sdk._rejections import rejected_here
from deepseek_sdk.caching.negative import NegativeCache, copied
from deepseek_sdk.errors import (
    ConfigurationError,
    ContextOverflowError,
    InvalidRequestError,
    OutputInvalidError,
    StreamInterruptedError,
    ToolOrderError,
    classify,
)
from deepseek_sdk.testing.scripted import make_call

KINDS: dict[int, type[openai.APIStatusError]] = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    409: openai.ConflictError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
}


def refused(status: int = 400, text: str = "Invalid temperature: 内容", **changes: Any) -> openai.APIStatusError:
    """Give the error of a server's refusal, as openai makes it."""
    request = httpx2.Request(
        "POST",
        "https://api.deepseek.com/chat/completions",
        headers={"authorization": "Bearer sk-secret"},
        json={"a": "prompt"},
    )
    body = {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_request_error"}
    response = httpx2.Response(
        status,
        json={"error": body},
        headers={"x-ds-trace-id": "t1", "set-cookie": "s=1"},
        request=request,
        extensions={"deepseek_sdk": 1},
    )
    return KINDS.get(status, openai.APIStatusError)(text, **{"response": response, "body": body, **changes})


def raised(error: openai.APIStatusError) -> openai.APIStatusError:
    """Give an error with all that a call leaves on it."""
    try:
        raise error from KeyError("cause")
    except openai.APIStatusError as caught:
        caught.add_note("a note of this call")
        caught.__dict__.update(_deepseek_record=object(), attempts=(1, 2), trace_id="t1")
        return caught


class TestNegativeCache:
    """What is remembered, and for how long."""

    @pytest.mark.parametrize("status", [400, 422])
    def test_a_refusal_is_remembered(self, status: int) -> None:
        """For 45 seconds from when it was put."""
        cache = NegativeCache()

        assert cache.put("a", refused(status), 10.0)
        assert [True, True, False] == [cache.get("a", now) is not None for now in (10.0, 54.9, 55.0)]
        assert 0 == len(cache)
        assert cache.get("b", 10.0) is None

    @pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 409, 413, 418, 425, 429, 500, 502, 503, 529])
    def test_what_may_pass_is_not(self, status: int) -> None:
        """Keys, balances, limits and servers change from one moment to the next."""
        cache = NegativeCache()

        assert not cache.put("a", refused(status), 0.0)
        assert cache.get("a", 0.0) is None

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("x"),
            openai.APIConnectionError(request=httpx2.Request("POST", "http://a")),
            openai.APITimeoutError(request=httpx2.Request("POST", "http://a")),
            KeyboardInterrupt(),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_what_is_no_refusal_is_not(self, error: BaseException) -> None:
        """Only a server's word is."""
        assert not NegativeCache().put("a", error, 0.0)

    def test_what_may_be_tried_again_is_not(self) -> None:
        """Whatever its status is, where the table of errors says that another try may help."""
        errors = [refused(400, "busy"), refused(422, "busy")]

        assert [NegativeCache().put("a", error, 0.0) for error in errors] == [not classify(e).retry for e in errors]

    def test_what_was_refused_here_is_not(self) -> None:
        """That cost no request, and depends on how the call is to be linted."""
        call = make_call()
        errors = [
            rejected_here(ToolOrderError, "no", param="messages", call=call),
            rejected_here(InvalidRequestError, "no", param="model", call=call),
        ]

        assert [False, False] == [NegativeCache().put("a", error, 0.0) for error in errors]

    def test_a_refusal_that_was_not_read_is_not(self) -> None:
        """Nobody knows what it says."""
        stream = httpx2.Response(400, stream=httpx2.ByteStream(b"x"), request=httpx2.Request("POST", "http://a"))

        assert not NegativeCache().put("a", openai.BadRequestError("x", response=stream, body=None), 0.0)

    def test_the_oldest_are_forgotten(self) -> None:
        """There is room for so many; one that comes again is a new one."""
        cache = NegativeCache(limit=3)
        for key in ("a", "b", "c", "a", "d"):
            cache.put(key, refused(), 0.0)

        assert [True, False, True, True] == [cache.get(key, 0.0) is not None for key in "abcd"]
        assert 3 == len(cache)

    def test_all_can_be_forgotten(self) -> None:
        """At once."""
        cache = NegativeCache()
        cache.put("a", refused(), 0.0)
        cache.clear()

        assert cache.get("a", 0.0) is None

    @pytest.mark.parametrize("ttl_s", [0, 0.99, 600.1, -1, float("nan"), "45", None, True])
    def test_times_that_are_none_are_named(self, ttl_s: Any) -> None:
        """From a second to ten minutes."""
        with pytest.raises(ConfigurationError, match="1 to 600 seconds"):
            NegativeCache(ttl_s)

    @pytest.mark.parametrize("ttl_s", [1, 30, 600])
    def test_times_can_be_set(self, ttl_s: int) -> None:
        """Within these."""
        cache = NegativeCache(ttl_s)
        cache.put("a", refused(), 0.0)

        assert [True, False] == [cache.get("a", ttl_s + past) is not None for past in (-0.01, 0.01)]

    def test_threads_may_use_it(self) -> None:
        """At the same time; it never holds more than it should, and no refusal passes for another."""
        cache = NegativeCache(limit=8)
        wrong: list[object] = []

        def work(number: int) -> None:
            for turn in range(100):
                key = str((number + turn) % 12)
                cache.put(key, refused(text=key), 0.0)
                found = cache.get(key, 1.0)
                wrong.extend([found] if found is not None and found.args != (key,) else [])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [] == wrong
        assert 8 == len(cache)


class TestCopies:
    """Errors for other calls."""

    def test_a_copy_says_the_same(self) -> None:
        """Class, message, status, body, and the server's headers."""
        error = raised(refused())
        twin = copied(error)

        assert type(error) is type(twin)
        assert (str(error), error.args, repr(error)) == (str(twin), twin.args, repr(twin))
        assert (400, "invalid_request_error") == (twin.status_code, twin.type)
        assert (error.body, error.code, error.param) == (twin.body, twin.code, twin.param)
        assert error.response.json() == twin.response.json()
        assert "t1" == twin.response.headers["x-ds-trace-id"]
        assert classify(error) == classify(twin)

    def test_a_copy_has_nothing_of_the_first_call(self) -> None:
        """No traceback, cause or note, no record or attempts, and neither its key nor its prompt."""
        twin = copied(raised(refused()))

        assert (None, None, None) == (twin.__traceback__, twin.__cause__, twin.__context__)
        assert not {"__notes__", "_deepseek_record", "attempts"} & set(twin.__dict__)
        assert ("https://api.deepseek.com/chat/completions", b"") == (str(twin.request.url), twin.request.read())
        assert "authorization" not in twin.request.headers
        assert twin.response.request is twin.request
        assert {} == dict(twin.response.extensions)
        assert "set-cookie" not in twin.response.headers
        assert "KeyError" not in "".join(traceback.format_exception(twin))

    def test_copies_are_apart(self) -> None:
        """What a caller does to one, or to the error that was put, is not seen in another."""
        cache, error = NegativeCache(), refused()
        cache.put("a", error, 0.0)
        for changed in (error, cache.get("a", 0.0)):
            assert isinstance(changed, openai.BadRequestError)
            changed.message, changed.args = "changed", ("changed",)
            changed.body["message"] = "changed"  # type: ignore[index]
            changed.response.headers["x-ds-trace-id"] = "changed"
        found = cache.get("a", 0.0)

        assert isinstance(found, openai.BadRequestError)
        assert ("Invalid temperature: 内容", "t1") == (found.message, found.response.headers["x-ds-trace-id"])
        assert found.body == refused().body

    def test_classes_of_this_library_are_copied(self) -> None:
        """With what they tell besides."""
        overflow = ContextOverflowError(refused(text="too long"), {"limit": 100, "requested": 200})
        interrupted = StreamInterruptedError("cut", request=overflow.request, partial=None)
        invalid = OutputInvalidError(kind="empty", problems=("a",), raw="x", response=overflow.response)
        twins = [copied(overflow), copied(interrupted), copied(invalid)]

        assert [type(overflow), type(interrupted), type(invalid)] == [type(twin) for twin in twins]
        assert [str(overflow), str(interrupted), str(invalid)] == [str(twin) for twin in twins]
        assert (100, 200) == (twins[0].limit, twins[0].requested)  # type: ignore[attr-defined]
        assert (("a",), 400) == (twins[2].problems, twins[2].response.status_code)  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        "error",
        [
            ValueError("a", 1),
            KeyError("a"),
            OSError(2, "No such file", "x"),
            UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
            ExceptionGroup("several", [ValueError("a")]),
            StopIteration(5),
            openai.OpenAIError("a"),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_any_error_is_copied(self, error: Exception) -> None:
        """Those of Python itself too."""
        twin = copied(error)

        assert twin is not error
        assert (type(error), str(error), error.args) == (type(twin), str(twin), twin.args)
        assert getattr(error, "value", None) == getattr(twin, "value", None)
