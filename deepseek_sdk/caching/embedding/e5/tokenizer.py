"""`tokenizer_of`: the tokenizer of multilingual-e5-small, from the pieces of its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepseek_sdk.caching.embedding.e5.source import Source

__all__ = ["tokenizer_of"]

# The first four numbers; the file has them in the order of another program.
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
_PAD, _UNKNOWN = 1, 3


def tokenizer_of(source: Source) -> str:
    """
    Make the tokenizer.

    Args:
        source: The pieces.

    Returns:
        The text of a file `tokenizer.json`.
    """
    from tokenizers import (  # noqa: PLC0415  not part of importing the library
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    known = list(zip(source.pieces, source.scores, strict=True))[len(_SPECIAL) :]
    made = Tokenizer(models.Unigram([*((piece, 0.0) for piece in _SPECIAL), *known], unk_id=_UNKNOWN))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    ends = [(piece, _SPECIAL.index(piece)) for piece in ("<s>", "</s>")]
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    made.enable_truncation(source.shape.positions)
    made.enable_padding(pad_id=_PAD, pad_token=_SPECIAL[_PAD])
    return str(made.to_str(pretty=False))
