"""What a call may have of the cache, and what is told of that."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek_sdk import CallOptions
from deepseek_sdk._books import Books
from deepseek_sdk._cache import CacheControl, CacheOutcome
from deepseek_sdk._usage import Usage
from deepseek_sdk.errors import ConfigurationError

SECONDS = st.none() | st.floats(min_value=0, max_value=1e6)
CONTROLS = st.builds(
    CacheControl, reads=st.booleans(), writes=st.booleans(), asks=st.booleans(), max_age_s=SECONDS, ttl_s=SECONDS
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("bypass", CacheControl(reads=False, writes=False)),
        (None, CacheControl(reads=False, writes=False)),
        ("refresh", CacheControl(reads=False)),
        (" REFRESH ", CacheControl(reads=False)),
        ("only", CacheControl(asks=False)),
        ("no-store", CacheControl(writes=False)),
        ("max-age=60, ttl=3600.5", CacheControl(max_age_s=60, ttl_s=3600.5)),
        ("only,max-age=5", CacheControl(asks=False, max_age_s=5)),
        (CacheControl(ttl_s=1), CacheControl(ttl_s=1)),
    ],
    ids=repr,
)
def test_what_is_said(said: Any, expected: CacheControl) -> None:
    """Words, several of them, and objects say what a call may have."""
    assert expected == CacheControl.parse(said)


@pytest.mark.parametrize(
    "said", ["", "refesh", "exact", "max-age", "max-age=", "max-age=1m", "only=1", "ttl=-1", "only,", 5, True, object()]
)
def test_what_cannot_be_said(said: Any) -> None:
    """Anything else is refused with what can be said, wherever it is said."""
    for say in (CacheControl.parse, lambda text: CallOptions(cache=text)):
        with pytest.raises(ConfigurationError, match="'bypass', 'refresh', 'only'"):
            say(said)


@pytest.mark.parametrize("said", ["only, refresh", "bypass,only"])
def test_what_leaves_nothing(said: str) -> None:
    """A call that may neither have a kept answer nor ask is a mistake, and is told at once."""
    with pytest.raises(ConfigurationError, match="leaves nothing"):
        CacheControl.parse(said)


@given(outer=CONTROLS, inner=CONTROLS)
def test_nearer_words_only_forbid(outer: CacheControl, inner: CacheControl) -> None:
    """Whatever is laid over what was said before, nothing that was forbidden becomes allowed, nor any time longer."""
    both = CallOptions(cache=inner).over(CallOptions(cache=outer)).cache

    for name, one in product(("reads", "writes", "asks"), (outer, inner)):
        assert getattr(one, name) or not getattr(both, name)
    for name in ("max_age_s", "ttl_s"):
        told = [getattr(one, name) for one in (outer, inner) if getattr(one, name) is not None]
        assert (min(told) if told else None) == getattr(both, name)


def test_a_saving_is_worked_out_for_copies() -> None:
    """A copy of what was told takes the saving along, and not the client's prices."""
    usage = Usage(hit=0, miss=1_000_000, output=0, reasoning=0)
    told = CacheOutcome(status="hit", usage=usage, model="deepseek-flash", price=Books().saving)
    saved = told.saved
    assert saved is not None

    for other in (pickle.loads(pickle.dumps(told)), copy.deepcopy(told)):  # noqa: S301  our own bytes
        assert (saved, True, True) == (other.saved, other.hit, other.is_free)
    assert Decimal(0) < (saved.cny or 0)
    assert "price" not in repr(told)


@pytest.mark.parametrize("status", ["miss", "refresh", "bypass", "negative"])
def test_what_was_asked_saved_nothing(status: Any) -> None:
    """Only what the cache answered saved anything."""
    usage = Usage(hit=0, miss=10, output=10, reasoning=0)
    told = CacheOutcome(status=status, usage=usage, model="deepseek-flash", price=Books().saving)

    assert (None, False, False) == (told.saved, told.hit, told.is_free)
