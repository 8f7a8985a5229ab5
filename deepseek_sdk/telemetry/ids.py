"""Whose call it is, as far as spans may say so."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from deepseek_sdk.telemetry import semconv

if TYPE_CHECKING:
    from deepseek_sdk._record import Record
    from deepseek_sdk.telemetry.settings import Ids, Telemetry

__all__ = ["Naming"]

_LENGTH = 32


class Naming:
    """
    Names users, sessions and tenants.

    Args:
        telemetry: As what.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        key = telemetry.hash_key
        # Without a key of the user's, whoever knows an id could find its hash: one of this process cannot be guessed.
        self._key = secrets.token_bytes(32) if not key else key.encode() if isinstance(key, str) else key
        self._users = telemetry.user_ids
        self._sessions = telemetry.session_ids

    def of(self, record: Record) -> dict[str, str]:
        """
        Name whose call it is.

        Args:
            record: Its record.

        Returns:
            Attributes of its spans.
        """
        named = {
            **self._named(record.user, self._users, semconv.USER, semconv.USER_HASH),
            **self._named(record.session_id, self._sessions, semconv.SESSION, semconv.SESSION_HASH),
            **self._named(record.tenant, self._sessions, semconv.TENANT, semconv.TENANT_HASH),
        }
        if semconv.SESSION in named:
            # "a hash MUST NOT be invented" for it (semantic-conventions-genai, gen_ai.conversation.id).
            named[semconv.CONVERSATION] = named[semconv.SESSION]
        return {**named, **{f"{semconv.TAGS}{key}": value for key, value in record.tags.items()}}

    def _named(self, value: str | None, how: Ids, raw: str, hashed: str) -> dict[str, str]:
        if value is None or how == "off":
            return {}
        if how == "raw":
            return {raw: value}
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return {hashed: digest[:_LENGTH]}
