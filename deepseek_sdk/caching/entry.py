"""`Entry`: one kept answer with all that is known of it, and the bytes that it is on disk."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
import zlib
from dataclasses import dataclass, fields
from typing import Any

__all__ = ["SCHEMA", "BadRecordError", "Entry", "decode", "encode"]

# The shape of a record: one of another number is not read.
SCHEMA = 1

_DIGEST_BYTES = hashlib.sha256().digest_size
_PLAIN, _PACKED, _SIGNED = 0, 1, 2
# What is shorter gains little by being packed.
_PACKED_FROM_BYTES = 1024
# What a record may come to when it is unpacked: a small one could be made to fill the memory.
_LIMIT_BYTES = 64 * 1024 * 1024
# What the objects take beside their texts.
_OVERHEAD_BYTES = 512

_TEXTS = ("partition", "tenant", "asked", "model", "route", "text", "finish_reason")
_TEXTS_OR_NONE = ("usage", "cost")
_PAIRS = ("tags", "provenance")


class BadRecordError(ValueError):
    """A record cannot be used: it is damaged, of another schema or key, or not signed as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """
    One kept answer; nothing in it can be changed.

    Attributes:
        key: The SHA-256 of the request, 64 hex digits.
        partition: The SHA-256 of the request but for the last user text.
        tenant: Whose it is: a hash, or the caller's own word.
        asked: The model that was asked for.
        model: The model that answered, by the server's word.
        route: The route that answered.
        text: The raw text of the last user message, or "".
        answer: The JSON completion, as a plain call gets it.
        pieces: Where the chunks of the stream began and ended (see `pieces`), or None where it came whole.
        is_judged: A plain call may have it unseen: its structure is as the request wants it, or nothing is wanted.
        finish_reason: How choice 0 ended.
        usage: The usage block as JSON, or None.
        cost: What it cost as JSON, or None.
        created_ms: When it was asked for, in milliseconds since 1970.
        expires_ms: When it ends, likewise; None: never.
        tags: The tags of the call.
        provenance: Where it came from.
    """

    key: str
    partition: str
    tenant: str
    asked: str
    model: str
    route: str
    text: str
    answer: bytes
    pieces: bytes | None
    is_judged: bool
    finish_reason: str
    usage: str | None
    cost: str | None
    created_ms: int
    expires_ms: int | None
    tags: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        """What people call it by: the beginning of its key."""
        return self.key[:16]

    @property
    def size(self) -> int:
        """How much memory it takes, in bytes."""
        parts = [getattr(self, field.name) for field in fields(self)]
        words = [word for pair in (*self.tags, *self.provenance) for word in pair]
        return _OVERHEAD_BYTES + sum(map(sys.getsizeof, (*parts, *words)))


def encode(entry: Entry, *, secret: bytes | None = None) -> bytes:
    """
    Write an entry down.

    Args:
        entry: It.
        secret: Signs the record, so that no one without it can plant one; None: it is only guarded against damage.

    Returns:
        A digest, one byte of flags, and JSON followed by the answer and its pieces, packed where they are long.

    Raises:
        BadRecordError: It is too large to be read again.
    """
    payload = b"\n".join((_header(entry), entry.answer + (entry.pieces or b"")))
    if len(payload) > _LIMIT_BYTES:
        message = f"an entry of {len(payload):,} bytes is too large"
        raise BadRecordError(message)
    flags = _PLAIN if secret is None else _SIGNED
    if len(payload) > _PACKED_FROM_BYTES:
        flags, payload = flags | _PACKED, zlib.compress(payload, 1)
    record = bytes((flags,)) + payload
    return _digest(entry.key, record, secret) + record


def decode(data: bytes, key: str, *, secret: bytes | None = None) -> Entry:
    """
    Read an entry.

    Args:
        data: What `encode()` returned, or anything else.
        key: The key that it was found under.
        secret: What it must be signed with; None: it must not be signed.

    Returns:
        The entry.

    Raises:
        BadRecordError: It cannot be used.
    """
    record = _checked(data, key, secret)
    try:
        header, _, body = _unpacked(record).partition(b"\n")
        return _entry(json.loads(header), body, key)
    except BadRecordError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error) as error:
        message = "the record is malformed"
        raise BadRecordError(message) from error


def _header(entry: Entry) -> bytes:
    told = {"schema": SCHEMA, "key": entry.key}
    told |= {name: getattr(entry, name) for name in (*_TEXTS, *_TEXTS_OR_NONE, *_PAIRS)}
    told |= {"created_ms": entry.created_ms, "expires_ms": entry.expires_ms, "is_judged": entry.is_judged}
    told["answer"] = len(entry.answer)
    told["pieces"] = None if entry.pieces is None else len(entry.pieces)
    # Escaped: a text may hold half of a surrogate pair, which has no UTF-8.
    return json.dumps(told, separators=(",", ":")).encode()


def _digest(key: str, record: bytes, secret: bytes | None) -> bytes:
    told = key.encode("utf-8", "surrogatepass") + b"\n" + record
    return hashlib.sha256(told).digest() if secret is None else hmac.digest(secret, told, "sha256")


def _checked(data: bytes, key: str, secret: bytes | None) -> bytes:
    digest, record = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if not record or record[0] > _PACKED | _SIGNED:
        message = "it is no record"
    elif bool(record[0] & _SIGNED) != (secret is not None):
        message = "the record is signed, and there is no secret" if secret is None else "the record is not signed"
    elif not hmac.compare_digest(digest, _digest(key, record, secret)):
        message = "the record is damaged, or of another key or secret"
    else:
        return record
    raise BadRecordError(message)


def _unpacked(record: bytes) -> bytes:
    if not record[0] & _PACKED:
        return record[1:]
    unpacker = zlib.decompressobj()
    payload = unpacker.decompress(record[1:], _LIMIT_BYTES + 1)
    if not unpacker.eof or unpacker.unused_data:
        message = "the record is cut, or too large when it is unpacked"
        raise BadRecordError(message)
    return payload


def _entry(told: Any, body: bytes, key: str) -> Entry:
    if not isinstance(told, dict) or told.get("schema") != SCHEMA or told.get("key") != key:
        message = "the record is of another schema or key"
        raise BadRecordError(message)
    answer, pieces = _parts(told, body)
    words: dict[str, Any] = {name: _typed(told, name, str) for name in _TEXTS}
    words |= {name: _typed(told, name, str, type(None)) for name in _TEXTS_OR_NONE}
    words |= {name: _pairs(_typed(told, name, list)) for name in _PAIRS}
    return Entry(
        **words,
        key=key,
        answer=answer,
        pieces=pieces,
        is_judged=_typed(told, "is_judged", bool),
        created_ms=_typed(told, "created_ms", int),
        expires_ms=_typed(told, "expires_ms", int, type(None)),
    )


def _typed(told: dict[str, Any], name: str, *kinds: type) -> Any:
    # By the type itself: True is an int.
    if type(told[name]) not in kinds:
        message = f"the record has no usable {name}"
        raise BadRecordError(message)
    return told[name]


def _parts(told: dict[str, Any], body: bytes) -> tuple[bytes, bytes | None]:
    length, rest = _typed(told, "answer", int), _typed(told, "pieces", int, type(None))
    if min(length, rest or 0) < 0 or length + (rest or 0) != len(body):
        message = "the record is cut"
        raise BadRecordError(message)
    return body[:length], None if rest is None else body[length:]


def _pairs(items: list[Any]) -> tuple[tuple[str, str], ...]:
    if not all(type(item) is list and [type(word) for word in item] == [str, str] for item in items):
        message = "the record has pairs that are none"
        raise BadRecordError(message)
    return tuple((name, value) for name, value in items)
