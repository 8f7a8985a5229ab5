"""
The private names of openai, httpx2 and httpcore2 that this library leans on, one test each.

When one of these fails after an upgrade, its name says what changed and its text says who needs it.
"""

from __future__ import annotations

import ast
import inspect
import re
import socket
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import openai
import pytest
from openai._base_client import AsyncAPIClient, SyncAPIClient
from openai._models import FinalRequestOptions
from openai.types.chat import ChatCompletion

from deepseek_sdk import Client
from tests.raw_server import (
    RawServer,
    answer,
    completion,
    delta,
    stream,
    whole,
    without_certificates,  # noqa: F401  a fixture
)

PACKAGE = Path(__file__).parents[1] / "deepseek_sdk"
BOTH = pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
BASES = pytest.mark.parametrize("kind", [SyncAPIClient, AsyncAPIClient])

# Private names of other packages that are used, and the test below that watches each.
WATCHED = {
    "_ambient_authorizations": "test_ambient_authorizations",
    "_api_key_provider": "test_key_provider",
    "_base_url": "test_base_url",
    "_client": "test_http_client_attribute",
    "_content": "test_response_content",
    "_custom_headers": "test_custom_headers",
    "_extra_kwargs": "test_copy_hands_on_extra_arguments",
    "_enforce_credentials": "test_credentials_can_be_optional",
    "_init_proxy_transport": "test_transport_hooks",
    "_init_transport": "test_transport_hooks",
    "_iterator": "test_iterator_of_a_stream",
    "_maybe_override_cast_to": "test_override_of_the_type",
    "_models": "test_request_options",
    "_network_backend": "test_network_backend",
    "_pool": "test_pool",
    "_process_response": "test_process_response",
    "_response": "test_helper_keeps_the_response",
    "_transport": "test_transport_for_url",
    "_transport_for_url": "test_transport_for_url",
}


def bare(kind: type = openai.OpenAI, **given: Any) -> Any:
    """Make a client of openai."""
    return kind(api_key="k", base_url="http://127.0.0.1:9", **given)


def parameters(function: Any) -> set[str]:
    """Name what a function takes."""
    return set(inspect.signature(function).parameters)


@BASES
def test_request(kind: type) -> None:
    """`request()` takes what our override takes and hands on: the seam itself."""
    expected = {"self", "cast_to", "options", "stream", "stream_cls"}

    assert expected == parameters(kind.request)  # type: ignore[attr-defined]


@BASES
def test_process_response(kind: type) -> None:
    """`_process_response()` builds openai's objects from a response that we feed; the seam ends with it."""
    expected = {"self", "cast_to", "options", "response", "stream", "stream_cls", "retries_taken"}

    assert expected == parameters(kind._process_response)  # type: ignore[attr-defined]


def test_process_response_builds() -> None:
    """`_process_response()` gives a `ChatCompletion` for a response that never was on a wire."""
    request = httpx2.Request("POST", "http://127.0.0.1:9/chat/completions")
    response = httpx2.Response(200, json=completion("Hi"), request=request)
    options = FinalRequestOptions(method="post", url="/chat/completions")
    built = bare()._process_response(
        cast_to=ChatCompletion, options=options, response=response, stream=False, stream_cls=None
    )

    assert (ChatCompletion, "Hi") == (type(built), built.choices[0].message.content)


@BASES
def test_override_of_the_type(kind: type) -> None:
    """`_maybe_override_cast_to()` takes openai's header for streaming responses off and gives the type it names."""
    from openai._constants import OVERRIDE_CAST_TO_HEADER  # noqa: PLC0415  this is what is watched

    options = FinalRequestOptions(method="post", url="/x", headers={"A": "b"})
    marked: Any = {"A": "b", OVERRIDE_CAST_TO_HEADER: int}
    options.headers = marked
    found = kind._maybe_override_cast_to(bare(), str, options)  # type: ignore[attr-defined]

    assert (int, {"A": "b"}) == (found, options.headers)


def test_raw_response_header() -> None:
    """Raw mode is asked for by a header of this name, which we take off and put back."""
    from openai._constants import RAW_RESPONSE_HEADER  # noqa: PLC0415  this is what is watched

    assert "X-Stainless-Raw-Response" == RAW_RESPONSE_HEADER


@BOTH
def test_http_client_attribute(kind: type) -> None:
    """`_client` is the HTTP client: where we look whether its sockets obey our alarm."""
    http_client = httpx2.AsyncClient() if kind is openai.AsyncOpenAI else httpx2.Client()

    assert http_client is bare(kind, http_client=http_client)._client


@BOTH
def test_custom_headers(kind: type) -> None:
    """`_custom_headers` are the client's default headers: we read and replace them."""
    assert {"A": "b"} == dict(bare(kind, default_headers={"A": "b"})._custom_headers)


@BOTH
def test_key_provider(kind: type) -> None:
    """A key that is a function is kept apart: `_targets` tells breakers and limiters by it, not by its last value."""

    def provide() -> str:
        return "k"

    assert provide is kind(api_key=provide, base_url="http://a.invalid")._api_key_provider
    assert bare(kind)._api_key_provider is None


@BOTH
def test_base_url(kind: type) -> None:
    """The endpoint is an attribute: `_targets` looks at it for every call."""
    client = bare(kind)

    assert client._base_url is client.base_url


@BOTH
def test_iterator_of_a_stream(kind: type) -> None:
    """A stream keeps its iterator in an attribute, and makes one by a method: `_forgettable` puts another there."""
    made = openai.Stream if kind is openai.OpenAI else openai.AsyncStream
    response = httpx2.Response(200, content=b"data: 1\n\ndata: [DONE]\n\n", request=httpx2.Request("POST", "http://a"))
    opened: Any = made(cast_to=int, response=response, client=bare(kind))

    assert type(opened.__stream__()) is type(opened._iterator)


@BOTH
def test_ambient_authorizations(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """`_ambient_authorizations` remembers keys of OPENAI_CUSTOM_HEADERS: we empty it."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer x")

    # The first releases of openai 3 have none.
    assert isinstance(getattr(bare(kind), "_ambient_authorizations", frozenset()), frozenset)


@BOTH
def test_what_the_environment_sets(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but these attributes is set from OPENAI_* variables: we undo each of them."""
    before = state(bare(kind))
    for name in environment_names():
        monkeypatch.setenv(name, "X-From: environment" if name.endswith("HEADERS") else "http://environment")
    changed = {name for name, value in state(bare(kind)).items() if before.get(name) != value}

    known = {"organization", "project", "webhook_secret", "admin_api_key", "_custom_headers", "_ambient_authorizations"}
    assert changed <= known


def environment_names() -> set[str]:
    """Find the variables that openai's client code reads."""
    root = Path(openai.__file__).parent
    sources = [root / "_client.py", root / "_base_client.py", *sorted((root / "lib").glob("_client*.py"))]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    return set(re.findall(r"\"(OPENAI_[A-Z_]+)\"", text)) - {"OPENAI_LOG"}


def state(client: Any) -> dict[str, str]:
    """Describe the attributes of a client."""
    return {name: repr(value) for name, value in vars(client).items() if " at 0x" not in repr(value)}


@BOTH
def test_copy_hands_on_extra_arguments(kind: type) -> None:
    """`copy()` makes an instance of its own class and hands `_extra_kwargs` on: how children get our state."""
    seen: list[Any] = []

    class Child(kind):  # type: ignore[misc]
        def __init__(self, *, mark: str = "", **given: Any) -> None:
            seen.append(mark)
            super().__init__(**given)

    child = Child(api_key="k").copy(_extra_kwargs={"mark": "ours"})

    assert (Child, ["", "ours"]) == (type(child), seen)


@BOTH
def test_with_options_is_copy(kind: type) -> None:
    """`with_options` is the function `copy` under another name: we bind both anew."""
    assert kind.with_options is kind.copy  # type: ignore[attr-defined]


@BOTH
def test_credentials_can_be_optional(kind: type) -> None:
    """`_enforce_credentials` is taken by the constructor."""
    assert "_enforce_credentials" in parameters(kind.__init__)  # type: ignore[misc]


def test_request_options() -> None:
    """`FinalRequestOptions` has the fields that we read and replace, and `model_copy()` leaves the original alone."""
    fields = {"method", "url", "headers", "json_data", "extra_json", "max_retries", "timeout", "post_parser"}
    options = FinalRequestOptions(method="post", url="/x", json_data={"a": 1})
    changed = options.model_copy(update={"json_data": {"b": 2}, "extra_json": None, "max_retries": 0})

    assert fields <= set(FinalRequestOptions.model_fields)
    assert ({"a": 1}, {"b": 2}, 0) == (options.json_data, changed.json_data, changed.get_max_retries(5))


def test_unread_response() -> None:
    """`request(httpx2.Response, ..., stream=True)` returns the response before its body was read."""
    with RawServer(stream(*answer("Hi"))) as server:
        client = openai.OpenAI(api_key="k", base_url=server.url)
        options = FinalRequestOptions(method="post", url="/chat/completions", json_data={"model": "m"})
        response = client.request(httpx2.Response, options, stream=True, stream_cls=openai.Stream[Any])

        assert isinstance(response, httpx2.Response)
        assert not response.is_stream_consumed
        response.close()
        client.close()


def test_transport_hooks() -> None:
    """`httpx2.Client` makes its transports by `_init_transport()` and `_init_proxy_transport()`: we arm them."""
    made: list[str] = []

    class Watching(httpx2.Client):
        def _init_transport(self, *args: Any, **given: Any) -> httpx2.BaseTransport:
            made.append("transport")
            return super()._init_transport(*args, **given)

        def _init_proxy_transport(self, *args: Any, **given: Any) -> httpx2.BaseTransport:
            made.append("proxy")
            return super()._init_proxy_transport(*args, **given)

    with Watching(proxy="http://127.0.0.1:9"):
        pass

    assert {"transport", "proxy"} == set(made)


def test_default_client_is_a_class() -> None:
    """`openai.DefaultHttpxClient` can be subclassed and is an `httpx2.Client` with openai's limits and time-outs."""
    assert issubclass(openai.DefaultHttpxClient, httpx2.Client)


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
def test_pool(proxy: str | None) -> None:
    """An `HTTPTransport` keeps its connections in `_pool`."""
    transport = httpx2.HTTPTransport(proxy=proxy)

    assert isinstance(transport._pool, httpcore2.ConnectionPool)
    transport.close()


def test_transport_for_url() -> None:
    """`_transport_for_url()` gives the transport that a URL is asked by: how `doctor` knows of proxies."""
    with httpx2.Client(mounts={"http://a.test": httpx2.HTTPTransport()}) as client:
        assert client._transport_for_url(httpx2.URL("http://b.test")) is client._transport
        assert client._transport_for_url(httpx2.URL("http://a.test")) is not client._transport


@pytest.mark.parametrize("proxy", [None, "http://127.0.0.1:9"])
def test_network_backend(proxy: str | None) -> None:
    """A pool opens connections by its `_network_backend`: where the deadlines of the sync colour come in."""
    pool: Any = httpx2.HTTPTransport(proxy=proxy)._pool

    assert isinstance(pool._network_backend, httpcore2.NetworkBackend)


def test_network_stream_is_seen() -> None:
    """Responses show their connection, on a used one as well, and the connection shows its socket."""
    with RawServer(whole({})) as server, httpx2.Client() as client:
        streams = [client.get(server.url).extensions["network_stream"] for _ in range(2)]

    assert all(isinstance(found, httpcore2.NetworkStream) for found in streams)
    assert all(isinstance(found.get_extra_info("socket"), socket.socket) for found in streams)


def test_network_backend_interface() -> None:
    """The backend and the stream have these methods and no others: ours stand in for all of them."""
    backend = {
        "connect_tcp": {"self", "host", "port", "timeout", "local_address", "socket_options"},
        "connect_unix_socket": {"self", "path", "timeout", "socket_options"},
        "sleep": {"self", "seconds"},
    }
    connection = {
        "read": {"self", "max_bytes", "timeout"},
        "write": {"self", "buffer", "timeout"},
        "close": {"self"},
        "start_tls": {"self", "ssl_context", "server_hostname", "timeout"},
        "get_extra_info": {"self", "info"},
    }

    assert backend == methods(httpcore2.NetworkBackend)
    assert connection == methods(httpcore2.NetworkStream)


def methods(kind: type) -> dict[str, set[str]]:
    """Give the parameters of each method of a class."""
    return {name: parameters(value) for name, value in vars(kind).items() if inspect.isfunction(value)}


def test_response_content() -> None:
    """`Response._content` is what `content` and `json()` read: we fill it in."""
    response = httpx2.Response(200, stream=httpx2.ByteStream(b""))
    response._content = b'{"a": 1}'

    assert {"a": 1} == response.json()


def test_response_stream() -> None:
    """`Response.stream` is the body that was passed in, whole and undecoded: we read it instead of `iter_raw()`."""
    with (
        RawServer(stream(b"ab", b"cd")) as server,
        httpx2.Client() as client,
        client.stream("POST", server.url) as response,
    ):
        assert isinstance(response.stream, httpx2.SyncByteStream)
        assert b"abcd" == b"".join(response.stream)


def test_helper_keeps_the_response() -> None:
    """The stream helper keeps the HTTP response in `_response`: where `report()` looks."""
    with RawServer(stream(*answer("Hi"))) as server:
        client = openai.OpenAI(api_key="k", base_url=server.url)
        messages: Any = [{"role": "user", "content": "x"}]
        with client.chat.completions.stream(model="m", messages=messages) as helper:
            assert isinstance(helper._response, httpx2.Response)
        client.close()


def test_streams_keep_the_response() -> None:
    """`Stream.response` and a raw response's `http_response` are the HTTP response: where `report()` looks."""
    with RawServer(stream(*answer("Hi"))) as server, openai.OpenAI(api_key="k", base_url=server.url) as client:
        body: Any = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
        with client.chat.completions.create(**body) as opened:
            assert isinstance(opened.response, httpx2.Response)
        raw = client.chat.completions.with_raw_response.create(**body)
        assert isinstance(raw.http_response, httpx2.Response)
        raw.http_response.close()


def test_models_leave_dict_entries_alone() -> None:
    """An entry in a model's `__dict__` that is no field stays out of comparison and dump: where a record is kept."""
    first, second = ChatCompletion.construct(id="a"), ChatCompletion.construct(id="a")
    first.__dict__["_deepseek_record"] = object()

    assert second == first
    assert second.model_dump() == first.model_dump()
    assert repr(second) == repr(first)


def test_accumulator_still_doubles() -> None:
    """The accumulator of openai adds repeated roles up: while it does, such events have to be rewritten."""
    from openai.lib.streaming._deltas import accumulate_delta  # noqa: PLC0415  this is what is watched

    assert {"role": "assistantassistant"} == accumulate_delta({"role": "assistant"}, {"role": "assistant"})


def test_streams_are_read_without_a_check_of_the_end() -> None:
    """A stream that just ends passes for a whole one in openai: while it does, this library has a reason to be."""
    with RawServer(stream(delta(content="Hal"))) as server, openai.OpenAI(api_key="k", base_url=server.url) as client:
        messages: Any = [{"role": "user", "content": "x"}]
        chunks = list(client.chat.completions.create(model="m", messages=messages, stream=True))

    assert ["Hal"] == [chunk.choices[0].delta.content for chunk in chunks]


def test_sync_and_async_signatures() -> None:
    """The sync and the async client take the same arguments, but for the HTTP client."""
    from deepseek_sdk import AsyncClient  # noqa: PLC0415

    assert parameters(AsyncClient.__init__) - {"http_client"} == parameters(Client.__init__) - {"http_client"}
    assert parameters(AsyncClient.copy) == parameters(Client.copy)


def private_names() -> set[str]:
    """Find the private attributes in our code that our code does not define."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py") if "testing" not in path.parts
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    own |= {node.arg for node in nodes if isinstance(node, (ast.arg, ast.keyword)) and node.arg}
    own |= {node.id for node in nodes if isinstance(node, ast.Name)}
    own |= {value for node in nodes if isinstance(node, ast.Constant) and isinstance(value := node.value, str)}
    own |= {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    # What every NamedTuple has is public, whatever it is called, and so is what the manual of Python documents.
    own |= {"_asdict", "_fields", "_getframe", "_replace"}
    return {name for name in used if re.match(r"_[a-z]", name)} - (own - set(WATCHED))


def test_every_private_name_is_watched() -> None:
    """Each private name of another package that the code uses has its test here."""
    assert private_names() <= set(WATCHED)
    assert all(callable(globals()[name]) for name in WATCHED.values())
