"""Which rule answers a question: `Matcher` decides, and `Match` says how."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from deepseek_sdk.backends.rules.patterns import compiled
from deepseek_sdk.backends.rules.text import is_whole_word, trimmed
from deepseek_sdk.errors import MissingExtraError

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deepseek_sdk.backends.rules.rule import Rule
    from deepseek_sdk.backends.rules.text import Normalizer, Question

__all__ = ["Match", "Matcher"]

# What sorts first wins: the priority, negated; the way; how much matches, negated; the place of the rule.
Rank: TypeAlias = tuple[int, int, int, int]
Spans: TypeAlias = "dict[str, tuple[int, int]]"

_PHRASE, _KEYWORD, _PATTERN = range(3)
_KINDS: tuple[Literal["phrase", "keyword", "pattern"], ...] = ("phrase", "keyword", "pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """
    Why a rule answers.

    Attributes:
        rule: The rule.
        kind: What of it matched: "phrase", "keyword" or "pattern".
        text: What it matched, as it was written; the words of a group of keywords with blanks between them.
        groups: The named groups of the pattern that took part, as they were written.
    """

    rule: Rule
    kind: Literal["phrase", "keyword", "pattern"]
    text: str
    groups: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


class _Found(NamedTuple):
    """A rule that matches: its rank, the parts of the normal question, and the pattern's match, if it was one."""

    rank: Rank
    spans: Sequence[tuple[int, int]]
    by_pattern: re.Match[str] | None = None


class _Group(NamedTuple):
    """Keywords that must all occur."""

    rank: Rank
    words: tuple[str, ...]


class Matcher:
    """
    Finds the rule that answers.

    Phrases are looked up, and all keywords are found in one pass over the question, however many there are. Patterns
    are tried one after another, as long as one could still win.

    Args:
        rules: The rules, in order.
        normalize: Brings text into the form in which it is compared.

    Raises:
        ValueError: A pattern cannot be used on normal text.
        MissingExtraError: The search for many words at once is not installed.
    """

    def __init__(self, rules: Sequence[Rule], normalize: Normalizer) -> None:
        self._rules = tuple(rules)
        self._phrases = _phrases(rules, normalize)
        self._groups = _groups(rules, normalize)
        self._words = list(dict.fromkeys(word for groups in self._groups.values() for g in groups for word in g.words))
        self._search = _automaton(self._words)
        self._patterns = sorted(_patterns(rules, normalize), key=lambda item: item[0])

    def match(self, question: Question) -> Match | None:
        """
        Find the rule that answers a question.

        Args:
            question: It.

        Returns:
            The rule, and how it matched; None where none does.
        """
        if not question.normal:
            return None
        found = self._by_pattern(question.normal, self._by_words(question.normal))
        return None if found is None else self._explained(question, found)

    def _by_words(self, text: str) -> _Found | None:
        rank = self._phrases.get(trimmed(text))
        phrase = None if rank is None else _Found(rank, [(0, len(text))])
        spans = self._spans(text)
        groups = [group for word in spans for group in self._groups.get(word, ())]
        best = min((group for group in groups if all(word in spans for word in group.words)), default=None)
        if best is None or (phrase is not None and phrase.rank < best.rank):
            return phrase
        return _Found(best.rank, [spans[word] for word in best.words])

    def _spans(self, text: str) -> Spans:
        """Find where each keyword occurs first."""
        spans: Spans = {}
        for index, start, end in self._search.find_matches_as_indexes(text, overlapping=True):
            if self._words[index] not in spans and is_whole_word(text, start, end):
                spans[self._words[index]] = (start, end)
        return spans

    def _by_pattern(self, text: str, best: _Found | None) -> _Found | None:
        for (priority, way, _, index), pattern in self._patterns:
            if best is not None and best.rank <= (priority, way, -len(text), index):
                break
            found = pattern.search(text)
            if found is not None:
                other = _Found((priority, way, found.start() - found.end(), index), [found.span()], found)
                best = other if best is None or other.rank < best.rank else best
        return best

    def _explained(self, question: Question, found: _Found) -> Match:
        groups = {} if found.by_pattern is None else _quoted(question, found.by_pattern)
        return Match(
            rule=self._rules[found.rank[3]],
            kind=_KINDS[found.rank[1]],
            text=" ".join(question.quote(start, end) for start, end in found.spans),
            groups=MappingProxyType(groups),
        )


def _quoted(question: Question, found: re.Match[str]) -> dict[str, str]:
    taken = [name for name, value in found.groupdict().items() if value is not None]
    return {name: question.quote(*found.span(name)) for name in taken}


def _phrases(rules: Iterable[Rule], normalize: Normalizer) -> Mapping[str, Rank]:
    ranks: dict[str, Rank] = {}
    for index, rule in enumerate(rules):
        for phrase in rule.phrases:
            text = trimmed(normalize(phrase))
            rank = (-rule.priority, _PHRASE, -len(text), index)
            ranks[text] = min(ranks.get(text, rank), rank)
    return ranks


def _groups(rules: Iterable[Rule], normalize: Normalizer) -> Mapping[str, Sequence[_Group]]:
    """Arrange groups of keywords by one word of each, the one that the fewest groups have."""
    best: dict[tuple[str, ...], _Group] = {}
    for index, rule in enumerate(rules):
        for words in rule.keywords:
            normal = tuple(dict.fromkeys(map(normalize, words)))
            group = _Group((-rule.priority, _KEYWORD, -sum(map(len, normal)), index), normal)
            best[normal] = min(best.get(normal, group), group)
    uses = Counter(word for group in best.values() for word in group.words)
    arranged: dict[str, list[_Group]] = {}
    for group in best.values():
        arranged.setdefault(min(group.words, key=lambda word: uses[word]), []).append(group)
    return arranged


def _patterns(rules: Iterable[Rule], normalize: Normalizer) -> Iterator[tuple[Rank, re.Pattern[str]]]:
    for index, rule in enumerate(rules):
        for pattern in rule.patterns:
            yield (-rule.priority, _PATTERN, 0, index), compiled(pattern, normalize)


def _automaton(words: Sequence[str]) -> Any:
    try:
        import ahocorasick_rs  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("the rule engine", "rules") from error
    return ahocorasick_rs.AhoCorasick(words, store_patterns=False)
