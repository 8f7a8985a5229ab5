"""One way to write what can be written in several: widths, punctuation, traditional characters, blanks."""

from __future__ import annotations

import unicodedata

from deepseek_sdk.caching.matching.lexicon import lexicon

__all__ = ["LONGEST", "folded", "shown"]

# Longer texts are cut: what follows hardly decides which question it is, and looking at it takes time.
LONGEST = 2000

# Quotation marks, dashes, and signs, by their code points: many look like others.
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f\u300a\u300b\u3008\u3009", '"'),
        **dict.fromkeys("\u3010\u3011\u3014\u3015", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00d7\u2715\u2716\u00b7", "*"),
        "\u3001": ",",
        "\u3002": ".",
        "\u00f7": "/",
        "\uff5e": "~",
        "\u2265": ">=",
        "\u2264": "<=",
        "\u2260": "!=",
    }
)
# Compatibility forms would make 22 of 2 to the power of 2.
_POWERS = str.maketrans(
    {sign: f"^{power}" for power, sign in enumerate("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")}
)


def shown(raw: str) -> str:
    """
    Write a text the common way, but leave its capitals.

    Args:
        raw: The text.

    Returns:
        It: compatibility forms and punctuation as in ASCII, simplified characters, one blank where there were several.
    """
    text = raw[:LONGEST]
    if not text.isascii():
        text = (
            unicodedata.normalize("NFKC", text.translate(_POWERS))
            .translate(_PUNCTUATION)
            .translate(lexicon().simplified)
        )
    return " ".join(text.split())


def folded(text: str) -> str:
    """
    Fold capitals.

    Args:
        text: As `shown` wrote it.

    Returns:
        It in small letters.
    """
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())
