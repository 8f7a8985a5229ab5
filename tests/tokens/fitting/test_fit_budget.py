from __future__ import annotations

from typing import Any

import pytest

from deepseek_sdk.errors import ConfigurationError
from deepseek_sdk.tokens.fitting import TokenBudget
from deepseek_sdk.tokens.fitting.room import Room, find_room

BAD = [
    ("limit", 0),
    ("limit", "1000"),
    ("limit", True),
    ("policy", "tail"),
    ("policy", None),
    ("head", -1),
    ("tail", 1.5),
    ("keep_turns", 0),
    ("low_water", 0),
    ("high_water", 1.5),
    ("summarise_with", ""),
    ("summarise_with", 3),
    ("compressor", "short"),
    ("embed", [1.0]),
    ("marker", " "),
    ("marker", None),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    """A value that cannot be used raises an error that begins with its name."""
    with pytest.raises(ConfigurationError, match=f"^{name} "):
        TokenBudget(**{name: value})


def test_values_are_looked_at_together() -> None:
    """Something must be kept of a long text, and a cut must not end above where it begins."""
    with pytest.raises(ConfigurationError, match="head and tail"):
        TokenBudget(head=0, tail=0)
    with pytest.raises(ConfigurationError, match="low_water must be at most high_water"):
        TokenBudget(low_water=0.9, high_water=0.8)


def test_marker_tells_how_much_is_missing() -> None:
    """The marker holds the number of tokens, where it asks for it."""
    assert "[… 12 tokens left out …]" == TokenBudget().marked(12)
    assert "[此处省略 12 个 token]" == TokenBudget(marker="[此处省略 {tokens} 个 token]").marked(12)
    assert "{0}" == TokenBudget(marker="{0}").marked(12)


CHAT: dict[str, Any] = {"messages": []}
QUICK: dict[str, Any] = {"messages": [], "thinking": {"type": "disabled"}}


@pytest.mark.parametrize(
    ("body", "limit", "window", "expected", "room"),
    [
        (CHAT, None, None, None, None),
        (CHAT, 1000, None, None, Room(1000, None, 0)),
        (CHAT, None, 1_048_565, None, Room(1_048_565 - 65_536 - 4095, 1_048_565, 65_536)),
        (QUICK, None, 1_048_565, None, Room(1_048_565 - 8192 - 4095, 1_048_565, 8192)),
        ({"prompt": "x"}, None, 1_048_565, None, Room(1_048_565 - 4096 - 4095, 1_048_565, 4096)),
        (CHAT, None, 1_048_565, 700, Room(1_048_565 - 700 - 4095, 1_048_565, 700)),
        ({**CHAT, "max_tokens": 100}, None, 1_048_565, 700, Room(1_048_565 - 100 - 4095, 1_048_565, 100)),
        ({**CHAT, "max_completion_tokens": 100}, None, 32_768, None, Room(32_768 - 100 - 128, 32_768, 100)),
        (CHAT, None, 32_768, None, Room(32_768 - 8192 - 128, 32_768, 8192)),
        (CHAT, 10_000, 32_768, None, Room(10_000, None, 8192)),
        (CHAT, 30_000, 32_768, None, Room(32_768 - 8192 - 128, 32_768, 8192)),
        ({**CHAT, "max_tokens": 40_000}, None, 32_768, None, Room(1, 32_768, 40_000)),
    ],
)
def test_room_is_what_the_answer_leaves(
    body: dict[str, Any], limit: int | None, window: int | None, expected: int | None, room: Room | None
) -> None:
    """A prompt may have what the window leaves beside the answer, or the limit where that is smaller."""
    assert room == find_room(body, limit, window, expected)
