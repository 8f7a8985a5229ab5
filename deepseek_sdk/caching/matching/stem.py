"""The stem of an English word, lightly: plurals, and the endings of verbs."""

from __future__ import annotations

import functools

__all__ = ["stem"]

_VOWELS = frozenset("aeiouy")
_SHORTEST = 4  # letters; shorter words are left as they are
_IRREGULAR = {
    "children": "child", "men": "man", "women": "woman", "people": "person", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "bought": "buy", "sold": "sell", "paid": "pay", "sent": "send", "went": "go", "gone": "go",
    "goes": "go", "made": "make", "making": "make", "taken": "take", "took": "take", "taking": "take", "wrote": "write",
    "written": "write", "writing": "write", "using": "use", "used": "use", "got": "get", "getting": "get",
    "lost": "lose", "losing": "lose", "forgot": "forget", "forgotten": "forget", "built": "build", "began": "begin",
    "begun": "begin", "bigger": "big", "biggest": "big", "died": "die", "dying": "die", "lying": "lie", "lies": "lie",
    "tied": "tie", "chose": "choose", "chosen": "choose", "knew": "know", "known": "know", "won": "win",
    "eaten": "eat", "ate": "eat", "drank": "drink", "drove": "drive", "driven": "drive", "gave": "give",
    "given": "give", "ran": "run", "said": "say", "saw": "see", "seen": "see", "broke": "break", "broken": "break",
    "different": "differ", "difference": "differ", "differences": "differ", "explanation": "explain",
    "better": "better", "news": "news", "thing": "thing", "during": "during", "this": "this", "analysis": "analysis",
    "taught": "teach", "told": "tell", "fought": "fight", "met": "meet", "caught": "catch", "stole": "steal",
    "bed": "bed", "red": "red", "need": "need", "speed": "speed", "feed": "feed", "seed": "seed", "breed": "breed",
    "string": "string", "spring": "spring", "king": "king", "ring": "ring", "bring": "bring", "sing": "sing",
    "morning": "morning", "evening": "evening", "nothing": "nothing", "something": "something", "wedding": "wedding",
    "anything": "anything", "everything": "everything", "building": "building", "meeting": "meeting",
    "hundred": "hundred", "species": "species", "series": "series", "kubernetes": "kubernetes", "redis": "redis",
    "status": "status", "virus": "virus", "bus": "bus", "gas": "gas", "plus": "plus", "minus": "minus", "yes": "yes",
    "always": "always", "perhaps": "perhaps", "towards": "towards", "besides": "besides", "versus": "versus",
    "windows": "windows", "pandas": "pandas", "jenkins": "jenkins", "postgres": "postgres", "aws": "aws", "ios": "ios",
    "macos": "macos", "dns": "dns", "https": "https", "css": "css", "sms": "sms", "gps": "gps",
    "physics": "physics", "mathematics": "mathematics", "economics": "economics", "politics": "politics",
}  # fmt: skip


@functools.lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """
    Cut an ending off.

    Args:
        word: In small letters.

    Returns:
        Its stem: "cities" and "city" have one, and so have "uploads", "uploading" and "uploaded".
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < _SHORTEST or not word.isascii():
        return word
    return _without_e(_without_ending(_singular(word)))


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ied", "ed"):
        rest = word[: -len(ending)]
        if word.endswith(ending) and len(rest) > 1 and (ending == "ied" or not _VOWELS.isdisjoint(rest)):
            return rest + "y" if ending == "ied" else _single(rest)
    return word


def _single(rest: str) -> str:
    """Undo a doubled consonant: "stopp" is "stop"; not that of "install" and "express"."""
    is_doubled = len(rest) > 2 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz"  # noqa: PLR2004  of three letters
    return rest[:-1] if is_doubled else rest


def _without_e(word: str) -> str:
    """Leave a last e out, which "updating" has lost and "update" has not."""
    return word[:-1] if len(word) > _SHORTEST and word.endswith("e") and not word.endswith("ee") else word
