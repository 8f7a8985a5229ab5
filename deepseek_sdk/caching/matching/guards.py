"""`Guards`: what forbids to serve the answer of one question to another, whatever their vectors say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from deepseek_sdk.caching.matching.normal import folded, shown
from deepseek_sdk.caching.matching.pairing import Pair
from deepseek_sdk.caching.matching.rules import RULES
from deepseek_sdk.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepseek_sdk.caching.matching.text import Text

__all__ = ["GUARDS", "Guards", "guard_against"]

GUARDS: Final = tuple(name for name, _ in RULES)


class Guards:
    """
    Forbids to serve the answer of one question to another.

        Guards()                                     all of them
        Guards(off={"name"})                         all but one
        Guards(antonyms=[("合租", "整租")])           with further opposites
        Guards(kinds=[("basic", "pro", "team")])     with further things of one kind, each of which is another

    Args:
        off: The names of guards that are not to be asked.
        antonyms: Words that oppose each other.
        kinds: Things of one kind; two of them ask for different answers.

    Raises:
        ConfigurationError: There is no guard of such a name, or a group has not two words.
    """

    def __init__(
        self,
        *,
        off: Iterable[str] = (),
        antonyms: Iterable[Iterable[str]] = (),
        kinds: Iterable[Iterable[str]] = (),
    ) -> None:
        without = _names("off", off)
        self._rules = tuple((name, rule) for name, rule in RULES if name not in without)
        said = (("antonym", "antonyms", antonyms), ("entity", "kinds", kinds))
        self._own = tuple((name, _groups(where, groups)) for name, where, groups in said if name not in without)

    def against(self, a: Text, b: Text) -> str | None:
        """
        Say what forbids it.

        Args:
            a: One question.
            b: The other.

        Returns:
            The name of the first guard that does; the same for the pair turned round; None: nothing does.
        """
        if (a.normal, a.tokens) == (b.normal, b.tokens):
            return None
        pair = Pair(a, b)
        found = next((name for name, rule in self._rules if rule(pair)), None)
        return found or next((name for name, groups in self._own if any(_differ(a, b, own) for own in groups)), None)


def guard_against(a: Text, b: Text) -> str | None:
    """
    Say which guard forbids to serve the answer of one question to another.

    Args:
        a: One question.
        b: The other.

    Returns:
        The name of the first of all guards that does; the same for the pair turned round; None: nothing does.
    """
    if (a.normal, a.tokens) == (b.normal, b.tokens):
        return None
    pair = Pair(a, b)
    return next((name for name, rule in RULES if rule(pair)), None)


def _names(where: str, names: Any) -> frozenset[str]:
    given = frozenset({names} if isinstance(names, str) else names)
    if not given <= set(GUARDS):
        raise ConfigurationError(
            f"{where} must be names of guards ({', '.join(GUARDS)}), not {sorted(given - {*GUARDS})!r}"
        )
    return given


def _groups(where: str, groups: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    found = []
    for group in groups:
        words = () if isinstance(group, str) else tuple(folded(shown(str(word))) for word in group)
        if len({*words} - {""}) < 2:  # noqa: PLR2004  a pair
            raise ConfigurationError(f"{where} must be groups of two words or more, not {group!r}")
        found.append(words)
    return tuple(found)


def _differ(a: Text, b: Text, group: tuple[str, ...]) -> bool:
    """Whether each has a word of the group that the other lacks."""
    ours, theirs = ({word for word in group if _is_in(word, text.normal)} for text in (a, b))
    return bool(ours - theirs and theirs - ours)


def _is_in(word: str, text: str) -> bool:
    """Whether a text has a word: a Latin one by itself, not within another."""
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not word.isascii() or not (_is_letter(before) or _is_letter(after)):
            return True
        at = text.find(word, at + 1)
    return False


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()
