"""The cache as commands show it: rows, and words for them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from deepseek_sdk.caching.operations import opened, rows
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.cli._exits import hide_keys
from deepseek_sdk.cli._terminal import printable
from deepseek_sdk.ledger.export import safe_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.meta import Row
    from deepseek_sdk.cli._language import Say

__all__ = ["entry_facts", "fact_headings", "facts_in_words", "flat", "in_words", "list_headings", "list_row", "totals"]

# So much of a tenant's name is shown in a table: most are hashes.
_TENANT_CHARACTERS = 16


def when(ms: int | None) -> str | None:
    """Write an instant, by this machine's clock."""
    if ms is None:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return str(ms)


def totals(cache: ExactCache, now_ms: int) -> dict[str, Any]:
    """Add up what a cache holds."""
    told: Counter[str] = Counter({"entries": 0, "bytes": 0, "expired": 0, "hits": 0})
    tenants: set[str] = set()
    models: set[str] = set()
    created: list[int] = []
    with opened(cache) as tier:
        for row in rows(cache, tier, Selection()):
            is_expired = row.expires_ms is not None and row.expires_ms <= now_ms
            told.update(entries=1, bytes=row.size, expired=is_expired, hits=row.hits)
            tenants.add(row.tenant)
            models.add(row.model)
            created = [min([*created[:1], row.created_ms]), max([*created[1:], row.created_ms])]
    oldest, newest = created or (None, None)
    told_of = {"tenants": len(tenants), "models": sorted(map(_shown, models))}
    return {"path": str(cache.path), **told, **told_of, "oldest": when(oldest), "newest": when(newest)}


def list_row(row: Row) -> dict[str, Any]:
    """Make of an answer what programs read."""
    return {
        "id": row.key[:16],
        "created": when(row.created_ms),
        "expires": when(row.expires_ms),
        "asked": _shown(row.asked),
        "model": _shown(row.model),
        "tenant": _shown(row.tenant),
        "tags": {_shown(name): _shown(value) for name, value in row.tags},
        "size": row.size,
        "hits": row.hits,
        "key": row.key,
    }


def list_headings(say: Say) -> dict[str, str]:
    """Name the columns of a list."""
    return {
        "id": "ID",
        "created": say(en="kept", zh="写入时间"),
        "expires": say(en="ends", zh="到期时间"),
        "model": say(en="model", zh="模型"),
        "tenant": say(en="tenant", zh="租户"),
        "size": say(en="bytes", zh="字节"),
        "hits": say(en="hits", zh="命中"),
        "tags": say(en="tags", zh="标签"),
    }


def in_words(row: Mapping[str, Any]) -> dict[str, Any]:
    """Word a row of a list for a table."""
    tenant: str = row["tenant"]
    shown = tenant if len(tenant) <= _TENANT_CHARACTERS else f"{tenant[:_TENANT_CHARACTERS]}…"
    return {**row, "tenant": shown, "tags": _tags(row["tags"])}


def entry_facts(entry: Entry, *, with_text: bool) -> dict[str, Any]:
    """Tell all that is known of an answer; what user and model said only where that is wanted."""
    facts = {
        "id": entry.id,
        "key": entry.key,
        "partition": entry.partition,
        "tenant": _shown(entry.tenant),
        "asked": _shown(entry.asked),
        "model": _shown(entry.model),
        "route": _shown(entry.route),
        "finish_reason": _shown(entry.finish_reason),
        "created": when(entry.created_ms),
        "expires": when(entry.expires_ms),
        "tags": {_shown(name): _shown(value) for name, value in entry.tags},
        "provenance": {_shown(name): _shown(value) for name, value in entry.provenance},
        "usage": None if entry.usage is None else json.loads(entry.usage),
        "cost": None if entry.cost is None else json.loads(entry.cost),
        "is_stream": entry.pieces is not None,
        "is_judged": entry.is_judged,
        "text_characters": len(entry.text),
        "answer_bytes": len(entry.answer),
    }
    if with_text:
        facts |= {"text": _shown(entry.text), "answer": _revealed(json.loads(entry.answer)["choices"])}
    return facts


def fact_headings(say: Say) -> dict[str, str]:
    """Name the columns of what is known of one answer."""
    return {"fact": say(en="fact", zh="项目"), "value": say(en="value", zh="值")}


def facts_in_words(facts: Mapping[str, Any], say: Say) -> list[dict[str, Any]]:
    """Word facts for a table, each on a line of its own."""
    return [{"fact": _name(name, say), "value": _value(value, say)} for name, value in facts.items()]


def flat(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make rows fit for CSV."""
    return [{name: safe_cell(_flat(value)) for name, value in row.items()} for row in found]


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _value(value: Any, say: Say) -> str | None:
    if isinstance(value, bool):
        return say(en="yes", zh="是") if value else say(en="no", zh="否")
    if isinstance(value, dict) and all(isinstance(word, str) for word in value.values()):
        return _tags(value)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return ", ".join(value) or None
    return None if value is None else str(_flat(value))


def _tags(tags: Mapping[str, str]) -> str | None:
    return ", ".join(f"{name}={value}" for name, value in tags.items()) or None


def _shown(text: str) -> str:
    # Halves of characters cannot be printed.
    return hide_keys(printable(text)).encode("utf-8", "replace").decode()


def _revealed(value: Any) -> Any:
    """Take out of an answer what a terminal would obey, and what looks like a key."""
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, list):
        return [_revealed(item) for item in value]
    return {_shown(name): _revealed(item) for name, item in value.items()} if isinstance(value, dict) else value


def _name(name: str, say: Say) -> str:
    return _CHINESE.get(name, name) if say.lang == "zh" else name.replace("_", " ")


_CHINESE = {
    "answer": "回答",
    "answer_bytes": "回答字节数",
    "asked": "请求的模型",
    "bytes": "字节",
    "cost": "费用",
    "created": "写入时间",
    "entries": "条目",
    "expired": "已过期",
    "expires": "到期时间",
    "finish_reason": "结束原因",
    "hits": "命中",
    "is_judged": "已校验",
    "is_stream": "流式",
    "key": "键",
    "model": "模型",
    "models": "模型",
    "newest": "最新",
    "oldest": "最早",
    "partition": "分区",
    "path": "目录",
    "provenance": "来源",
    "route": "路由",
    "tags": "标签",
    "tenant": "租户",
    "tenants": "租户",
    "text": "用户消息",
    "text_characters": "用户消息字符数",
    "usage": "用量",
}
