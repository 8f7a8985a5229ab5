"""Ask several questions at the same time on one event loop."""

from __future__ import annotations

import asyncio

from service import service

from deepseek_sdk import AsyncClient

WORDS = ("cache", "retry", "stream")


async def define(client: AsyncClient, word: str) -> str:
    """Ask for the meaning of *word*."""
    answer = await client.chat.completions.create(
        model="deepseek-flash",
        messages=[{"role": "user", "content": f"Define {word!r} in five words."}],
        extra_body={"thinking": {"type": "disabled"}},
    )
    return f"{word}: {answer.choices[0].message.content}"


async def main() -> None:
    """Ask for all words at once."""
    with service(["It depends on the context."] * len(WORDS)) as options:
        async with AsyncClient(**options) as client:
            print(*await asyncio.gather(*(define(client, word) for word in WORDS)), sep="\n")


asyncio.run(main())
