"""`RemoteEmbedder`: vectors from a server that has the `/embeddings` of OpenAI's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.embedding.base import EmbeddingError, check_words, fingerprint_of
from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.resilience.checks import check_count, check_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RemoteEmbedder"]


class RemoteEmbedder:
    """
    Asks a server for vectors; texts of users go there.

    Args:
        model: Its name there.
        base_url: Where, up to `/embeddings`; None: where *client* asks, or what `OPENAI_BASE_URL` says.
        api_key: The key; None: that of *client*, or none where *base_url* is given, else what `OPENAI_API_KEY` says.
        dimensions: How many numbers to ask for, of models that can be asked; None: as many as there are.
        prefix: What the model wants before every text.
        client: An `openai.OpenAI` to ask with; None: one of its own.
        timeout: The longest that a batch may take, in seconds.
        batch: How many texts a request may hold.

    Raises:
        ConfigurationError: An argument cannot be used.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        prefix: str = "",
        client: openai.OpenAI | None = None,
        timeout: float = 5.0,
        batch: int = 64,
    ) -> None:
        check_words("model", model, may_be_empty=False)
        check_words("prefix", prefix)
        check_seconds("timeout", timeout, may_be_zero=False)
        check_count("batch", batch, least=1)
        if dimensions is not None:
            check_count("dimensions", dimensions, least=2)
        if client is not None and (base_url is not None or api_key is not None):
            raise ConfigurationError("client must be None where base_url or api_key is given")
        self.batch = batch
        self._model, self._prefix, self._asked, self._timeout = model, prefix, dimensions, timeout
        self._dimensions = 0
        # Sockets of a parent are not a child's to use; a client that was given knows that itself, or not.
        self._clients = PerProcess(lambda: client or _client(base_url, api_key))
        self._url = str(self._clients.get().base_url)

    def __repr__(self) -> str:
        return f"RemoteEmbedder({self._model!r}, base_url={self._url!r})"

    @property
    def fingerprint(self) -> str:
        """Made of the address, the model, the prefix and the number of dimensions; it asks the server for the last."""
        return fingerprint_of(
            kind="remote", base_url=self._url, model=self._model, prefix=self._prefix, dimensions=self.dimensions
        )

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; it asks the server."""
        self.load()
        return self._dimensions

    def load(self) -> None:
        """Ask for the vector of a text, to see how long one is."""
        if not self._dimensions:
            self._dimensions = len(self._ask(["text"])[0])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """
        Ask for vectors.

        Args:
            texts: Of what.

        Returns:
            A row each, as the server gives them.

        Raises:
            EmbeddingError: The server gives another number of them.
            openai.OpenAIError: It gives none.
        """
        return [row for at in range(0, len(texts), self.batch) for row in self._ask(texts[at : at + self.batch])]

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        said: dict[str, Any] = {"input": [self._prefix + text for text in texts], "model": self._model}
        if self._asked is not None:
            said["dimensions"] = self._asked
        # Not every server knows base64, which openai asks for where nothing is said.
        answer = self._clients.get().embeddings.create(**said, encoding_format="float", timeout=self._timeout)
        rows = {item.index: item.embedding for item in answer.data or ()}
        if rows.keys() != set(range(len(texts))):
            raise EmbeddingError(f"{len(texts)} vectors were asked for, and others came: {sorted(rows)}")
        return [rows[index] for index in range(len(texts))]


def _client(base_url: str | None, api_key: str | None) -> openai.OpenAI:
    # The key of OpenAI is not for another address; a server of one's own may want none.
    key = "none" if base_url is not None and api_key is None else api_key
    try:
        # One more try: a lookup does not wait for long, and what fails is counted.
        return openai.OpenAI(base_url=base_url, api_key=key, max_retries=1)
    except openai.OpenAIError as error:
        raise ConfigurationError(f"api_key must be given: {error}") from error
