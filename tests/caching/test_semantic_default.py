"""The cache as it is by default: the model that comes with it, and the calibrated score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deepseek_sdk.caching import SemanticCache
from tests.caching.embedding.conftest import build_once
from tests.caching.wordings import ask, settled

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Driver, StartEmulator


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_default(
    driver: Driver, emulator: StartEmulator, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """What asks the same in other words is found; what turns the question round, or is another one, is not."""
    embedder = build_once(tmp_path_factory)
    server = emulator(replies=lambda request: f"答：{request.last_user_text}")
    cache = SemanticCache(tmp_path / "cache", embedder=embedder, embed_s=20)
    client = driver.client(base_url=server.url, cache=cache)
    assert driver.call(client.cache.wait_until_ready, 200)
    kept = [ask(driver, client, text) for text in ("如何退款", "怎么开启自动续费", "How do I reset my password?")]
    settled(cache)
    asked = ("退款流程是什么", "怎么关闭自动续费", "红烧肉怎么做", "How can I reset my password")
    found = [ask(driver, client, text, cache="no-store") for text in asked]

    assert ["hit", "miss", "miss", "hit"] == [one.status for one in found]
    assert [kept[0].entry_id, kept[2].entry_id] == [found[0].entry_id, found[3].entry_id]
    assert ("antonym", "guard") == (found[1].guard, found[1].decision and found[1].decision.reason)
    assert (found[0].similarity or 0) > 0.95
    assert found[0].saved is not None
