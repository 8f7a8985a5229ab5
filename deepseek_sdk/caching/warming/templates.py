"""
What kinds of questions are asked: texts that differ only in what fills their gaps, or in little else.

This tells people what is asked most; it never decides which answer somebody gets.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deepseek_sdk.caching.warming.minhash import grouped, hashed, signer
from deepseek_sdk.resilience.checks import check_count, check_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from deepseek_sdk.caching.warming.minhash import Signer

__all__ = ["Template", "masked", "mined", "shingles", "template_id"]

# What is longer is no question that is asked again in other words.
_LONGEST = 4_000
# So many kinds are counted, and so many of these compared with each other; the rarest are let go.
_COUNTED, _COMPARED = 100_000, 5_000
_EXAMPLES, _SHOWN = 3, 300
_ID_DIGITS = 16

# In this order: what comes first may hold what comes later.
_GAPS = tuple(
    (f"<{name}>", re.compile(pattern))
    for name, pattern in (
        ("url", r"(?a:(?:https?://|www\.)[\w./?%&=+#~:@!$*-]+)"),
        ("email", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
        ("uuid", r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"),
        ("text", r"\"[^\"]{1,200}\"|“[^”]{1,200}”|「[^」]{1,200}」|《[^》]{1,200}》|(?<!\w)'[^']{1,200}'(?!\w)"),
        ("date", r"\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月\d{1,2}[日号]?"),
        ("date", r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[t ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?)?"),
        ("time", r"\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m\b)?|\d{1,2}点(?:\d{1,2}分|半)?"),
        ("id", r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8,}\b"),
        ("number", r"\d+(?:[.,]\d+)*%?"),
    )
)
_BLANKS = re.compile(r"\s+")
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A gap, a character of Chinese or Japanese, or a word.
_TOKENS = re.compile(rf"<[a-z]+>|[{_CJK}]|[^\W_{_CJK}]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """
    A kind of question.

    Attributes:
        id: The `template_id()` of its most frequent form.
        text: That form, with marks such as "<number>" where the gaps are.
        count: How often questions of this kind were asked.
        questions: How many different ones there were.
        examples: The most frequent of them, as they were asked; long ones are cut.
    """

    id: str
    text: str
    count: int
    questions: int
    examples: tuple[str, ...]


def masked(text: str) -> str:
    """
    Leave gaps in a text: for URLs, addresses, UUIDs, quoted words, dates, times, identifiers and numbers in digits.

        masked("订单 10086 什么时候到？")             "订单 <number> 什么时候到?"
        masked('Translate "Guten Tag" into Dutch')    "translate <text> into dutch"

    Args:
        text: A question.

    Returns:
        It, in small letters and with blanks as one, with a mark in each gap; what is long is cut.
    """
    # Normalised first: full-width digits are digits.
    form = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    for mark, gap in _GAPS:
        form = gap.sub(mark, form)
    return _BLANKS.sub(" ", form).strip()


def template_id(text: str, context: str = "") -> str:
    """
    Name the kind of a question.

    Args:
        text: The question.
        context: What else tells kinds apart, such as the partition: the same words after other instructions.

    Returns:
        16 hex digits, equal for texts that differ only in their gaps.
    """
    return _named(masked(text), context)


def shingles(form: str) -> frozenset[int]:
    """
    Give what two forms may have in common.

    Args:
        form: As `masked()` gives it.

    Returns:
        A number for each word or Chinese character, and for each two that follow each other.
    """
    tokens = _TOKENS.findall(form) or [form]
    return hashed([*tokens, *(f"{one} {other}" for one, other in pairwise(tokens))])


def mined(
    questions: Iterable[tuple[str, int]], top: int = 20, *, threshold: float = 0.6, sign: Signer | None = None
) -> list[Template]:
    """
    Find what kinds of questions are asked most.

    Args:
        questions: Each with how often it was asked; a text may come more than once.
        top: How many kinds to give.
        threshold: How much of their words two forms must have in common to be of one kind, from 0 to 1.
        sign: Signs sets for the search; None: rensa where it is installed, else what is made here.

    Returns:
        The kinds, the most frequent first.

    Raises:
        ConfigurationError: *top* or *threshold* cannot be used.
    """
    check_count("top", top, least=1)
    check_share("threshold", threshold)
    forms = heapq.nsmallest(_COMPARED, _forms(questions).values(), key=_Form.rank)
    sets: list[AbstractSet[int]] = [shingles(form.text) for form in forms]
    leaders = grouped(sets, threshold, sign or signer())
    for form, leader in zip(forms, leaders, strict=True):
        if forms[leader] is not form:
            forms[leader].take(form)
    kinds = [form for place, form in enumerate(forms) if leaders[place] == place]
    return [form.template() for form in heapq.nsmallest(top, kinds, key=_Form.rank)]


class _Form:
    """Questions that differ only in their gaps."""

    __slots__ = ("asked", "count", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.count = 0
        self.asked: Counter[str] = Counter()

    def rank(self) -> tuple[int, str]:
        return -self.count, self.text

    def add(self, question: str, count: int) -> None:
        self.count += count
        self.asked[question] += count

    def take(self, other: _Form) -> None:
        self.count += other.count
        self.asked.update(other.asked)

    def template(self) -> Template:
        return Template(
            id=_named(self.text),
            text=_cut(self.text),
            count=self.count,
            questions=len(self.asked),
            examples=tuple(_cut(question) for question in _most_asked(self.asked)),
        )


def _named(form: str, context: str = "") -> str:
    told = f"{context}\n{form}"
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def _forms(questions: Iterable[tuple[str, int]]) -> dict[str, _Form]:
    forms: dict[str, _Form] = {}
    for question, count in questions:
        text = masked(question)
        if not text or count < 1:
            continue
        forms.setdefault(text, _Form(text)).add(question, count)
        if len(forms) > 2 * _COUNTED:
            forms = {form.text: form for form in heapq.nsmallest(_COUNTED, forms.values(), key=_Form.rank)}
    return forms


def _most_asked(asked: Counter[str]) -> Sequence[str]:
    return [question for question, _ in heapq.nsmallest(_EXAMPLES, asked.items(), key=lambda one: (-one[1], one[0]))]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
