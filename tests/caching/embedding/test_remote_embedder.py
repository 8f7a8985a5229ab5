"""Vectors from a server: what is asked, in which order they come, and what is no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

from deepseek_sdk.caching.embedding.base import EmbeddingError
from deepseek_sdk.caching.embedding.remote import RemoteEmbedder
from deepseek_sdk.errors import ConfigurationError
from tests.raw_server import RawServer, refusal, whole

if TYPE_CHECKING:
    from tests.raw_server import Exchange


def vectors(exchange: Exchange) -> None:
    """Answer with a row for each text, the last first; a row holds the length of its text."""
    texts = exchange.request.body["input"]
    rows = [{"object": "embedding", "index": i, "embedding": [len(text), 1.0]} for i, text in enumerate(texts)]
    whole({"object": "list", "model": "m", "data": rows[::-1], "usage": {"prompt_tokens": 1, "total_tokens": 1}})(
        exchange
    )


def test_vectors_come_in_order() -> None:
    """Texts are asked for in batches, with their prefix, and rows are put in the order of the texts."""
    with RawServer(vectors) as server:
        embedder = RemoteEmbedder("bge-m3", base_url=server.url, api_key="key", prefix="问：", dimensions=2, batch=2)
        rows = embedder.embed(["a", "bb", "你好啊"])

    assert [[3.0, 1.0], [4.0, 1.0], [5.0, 1.0]] == rows
    assert ["问：a", "问：bb"] == server.requests[0].body["input"]
    assert ("bge-m3", 2, "float") == tuple(
        server.requests[1].body[name] for name in ("model", "dimensions", "encoding_format")
    )
    assert ("/embeddings", "Bearer key") == (server.requests[0].target, server.requests[0].headers["authorization"])


def test_dimensions_are_asked_for_once() -> None:
    """How long a vector is, is found out from the first one; *dimensions* is sent where it was given only."""
    with RawServer(vectors) as server:
        embedder = RemoteEmbedder("m", base_url=server.url)
        embedder.load()

    assert (2, 1, False) == (embedder.dimensions, len(server.requests), "dimensions" in server.requests[0].body)
    assert 64 == len(embedder.fingerprint)


def test_fingerprint_tells_servers_and_models_apart() -> None:
    """Another address, model, prefix or length is another fingerprint; another key is not."""
    with RawServer(vectors) as one, RawServer(vectors) as two:
        made = [RemoteEmbedder(model, base_url=server.url) for server in (one, two) for model in "mn"]
        made.append(RemoteEmbedder("m", base_url=one.url, prefix="q"))
        seen = [embedder.fingerprint for embedder in made]
        same = RemoteEmbedder("m", base_url=one.url, api_key="other").fingerprint

    assert (5, seen[0]) == (len(set(seen)), same)


def test_key_is_not_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the environment is OpenAI's, and not for another address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    with RawServer(vectors) as server:
        RemoteEmbedder("m", base_url=server.url).load()

    assert "sk-of-openai" not in str(server.requests[0].headers)


def test_client_of_the_caller() -> None:
    """A client that is given is asked, at its address."""
    with RawServer(vectors) as server, openai.OpenAI(base_url=server.url, api_key="mine") as client:
        embedder = RemoteEmbedder("m", client=client)
        embedder.load()

    assert server.url in repr(embedder)
    assert "Bearer mine" == server.requests[0].headers["authorization"]


@pytest.mark.parametrize(
    "indices",
    [[], [1], [0, 0], [0, 2]],
)
def test_answers_that_do_not_fit(indices: list[int]) -> None:
    """Rows that are missing, or of other texts, are no answer."""
    data = [{"object": "embedding", "index": index, "embedding": [1.0]} for index in indices]
    with RawServer(whole({"object": "list", "model": "m", "data": data})) as server:
        embedder = RemoteEmbedder("m", base_url=server.url)

        with pytest.raises(EmbeddingError, match="2 vectors were asked for"):
            embedder.embed(["a", "b"])


def test_refusal_is_an_error_of_openai() -> None:
    """What the server refuses is raised as openai does."""
    with (
        RawServer(refusal(401, "no such key")) as server,
        pytest.raises(openai.AuthenticationError, match="no such key"),
    ):
        RemoteEmbedder("m", base_url=server.url).load()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"model": ""}, "model"),
        ({"model": 5}, "model"),
        ({"prefix": None}, "prefix"),
        ({"timeout": 0}, "timeout"),
        ({"batch": 0}, "batch"),
        ({"dimensions": 1}, "dimensions"),
        ({}, "api_key"),
        ({"client": 1, "api_key": "x"}, "client"),
    ],
)
def test_arguments_are_checked(settings: dict[str, Any], named: str) -> None:
    """An argument that cannot be used is named; without an address there has to be a key."""
    with pytest.raises(ConfigurationError, match=named):
        RemoteEmbedder(**{"model": "m", **settings})
