"""Stream a chat with LlamaIndex, whose openai package is installed against its pin: see docs/integrations.md."""

from __future__ import annotations

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from offline import service

from deepseek_sdk import AsyncClient, Client
from deepseek_sdk.testing import Reply

with service([Reply(reasoning="Short.", content="Red light is scattered least.")]), Client() as client:
    model = OpenAILike(
        model="deepseek-flash",
        openai_client=client,
        async_openai_client=AsyncClient(),
        max_retries=0,  # the client has its own
        is_chat_model=True,
        context_window=1_000_000,
    )
    for piece in model.stream_chat([ChatMessage("Why is the sunset red? One sentence.")]):
        print(piece.delta, end="", flush=True)
    print()
