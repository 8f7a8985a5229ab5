"""What a policy cannot be made with is refused when it is made, by the name of the argument."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from deepseek_sdk.caching.deciding.calibrated import Calibrated
from deepseek_sdk.caching.deciding.static import Static
from deepseek_sdk.caching.deciding.vcache import VCache
from deepseek_sdk.caching.matching.guards import Guards
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepseek_sdk.caching.matching.text import Text

_SHARES: tuple[Any, ...] = (0, 1, -0.1, 1.5, math.nan, math.inf, True, "0.01", None, [0.01], 1j)
_COSINES: tuple[Any, ...] = (-1.01, 1.01, math.nan, -math.inf, False, "0.97", None, [0.97], 1j)
_GUARDS: tuple[Any, ...] = (5, 0, "", "antonym", [], {}, True, Guards, object(), lambda: None)
_CHANCES: tuple[Any, ...] = (None, 0.5, "random", [])

_REFUSED: tuple[tuple[str, Callable[[Any], object], tuple[Any, ...]], ...] = (
    ("max_false_hit", Calibrated, _SHARES),
    ("guards", lambda value: Calibrated(guards=value), _GUARDS),
    ("cosine", Static, _COSINES),
    ("guards", lambda value: Static(0.97, guards=value), _GUARDS),
    ("delta", VCache, _SHARES),
    ("chance", lambda value: VCache(chance=value), _CHANCES),
)


@pytest.mark.parametrize(
    ("name", "make", "value"), [(name, make, value) for name, make, values in _REFUSED for value in values]
)
def test_what_cannot_be_used_is_refused(name: str, make: Callable[[Any], object], value: Any) -> None:
    """The error names the argument, and shows what was given."""
    with pytest.raises(ConfigurationError, match=rf"^{name} must be ") as refused:
        make(value)

    assert repr(value) in str(refused.value)


class _Nothing:
    """Guards of one's own, which forbid nothing; as a container they are empty."""

    def against(self, _: Text, __: Text, /) -> str | None:
        """Forbid nothing."""
        return None

    def __len__(self) -> int:
        """Count nothing."""
        return 0


@pytest.mark.parametrize("guards", [None, Guards(), Guards(off={"name"}), _Nothing()])
def test_guards_that_can_be_used(guards: Any) -> None:
    """Guards of one's own will do, and none."""
    assert "Calibrated(0.01)" == repr(Calibrated(guards=guards))
    assert "Static(0.97)" == repr(Static(0.97, guards=guards))


@pytest.mark.parametrize("make", [lambda: Calibrated(0.5), lambda: Static(-1), lambda: Static(1), lambda: VCache(0.5)])
def test_edges_that_can_be_used(make: Callable[[], object]) -> None:
    """A threshold may be at either end."""
    assert make()
