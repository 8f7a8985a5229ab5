"""The cache as commands show it: rows, and words for them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from deepseek_sdk.caching.operations import opened, rows
from deepseek_sdk.caching.selection import Selection
from deepseek_sdk.cli._exits import hide_keys
from deepseek_sdk.cli._terminal import printable
from deepseek_sdk.ledger.export import safe_cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepseek_sdk.caching import ExactCache
    from deepseek_sdk.caching.entry import Entry
    from deepseek_sdk.caching.lane import Lane
    from deepseek_sdk.caching.meta import Row
    from deepseek_sdk.cli._language import Say

__all__ = [
    "entry_facts",
    "fact_headings",
    "facts_in_words",
    "flat",
    "list_cells",
    "list_headings",
    "list_row",
    "reason_in_words",
    "said_in_words",
    "shortened",
    "totals",
]

# So many cells of a tenant's name are shown in a table: most are hashes.
_TENANT_CELLS = 12
# So much of a fingerprint is shown; `models check` shows all of it.
_FINGERPRINT = 16
_VECTORS = "SELECT embedder, sum(rows) FROM vector_place GROUP BY embedder ORDER BY embedder"
# So many tenants are told one by one.
_MOST_TENANTS = 10


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
    told: Counter[str] = Counter({"entries": 0, "bytes": 0, "expired": 0})
    tenants: Counter[str] = Counter()
    models: Counter[str] = Counter()
    created: list[int] = []
    with opened(cache) as tier:
        for row in rows(cache, tier, Selection()):
            is_expired = row.expires_ms is not None and row.expires_ms <= now_ms
            told.update(entries=1, bytes=row.size, expired=is_expired)
            tenants[row.tenant] += 1
            models[row.model] += 1
            created = [min([*created[:1], row.created_ms]), max([*created[1:], row.created_ms])]
        vectors = {} if tier is None else tier.read(_vectors)
    oldest, newest = created or (None, None)
    told_of = {
        "models": {_shown(name): count for name, count in sorted(models.items())},
        "tenants": len(tenants),
        "largest_tenants": {_shown(name): count for name, count in tenants.most_common(_MOST_TENANTS)},
        "vectors": sum(vectors.values()),
        "embedders": vectors,
    }
    return {"path": str(cache.path), **told, **told_of, "oldest": when(oldest), "newest": when(newest)}


def _vectors(lane: Lane) -> dict[str, int]:
    """Count the vectors of each embedder."""
    told: Counter[str] = Counter()
    for embedder, count in lane.execute(_VECTORS, ()).fetchall():
        told[_shown(str(embedder))[:_FINGERPRINT]] += count
    return dict(told)


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
        "key": row.key,
    }


def list_headings(say: Say) -> dict[str, str]:
    """Name the columns of a list."""
    return {
        "id": "ID",
        "created": say(en="kept", zh="写入时间"),
        "model": say(en="model", zh="模型"),
        "tenant": say(en="tenant", zh="租户"),
        "size": say(en="bytes", zh="字节"),
        "tags": say(en="tags", zh="标签"),
    }


def list_cells(row: Row) -> dict[str, Any]:
    """Word an answer for a table that fits into a window of 100 cells."""
    told = list_row(row)
    tenant = shortened(told["tenant"])
    return {**told, "created": _moment(row.created_ms), "tenant": tenant, "tags": _pairs(told["tags"])}


def shortened(tenant: str) -> str:
    """Cut a tenant's name; where the caller's word has no room beside its kind, it is the word that is shown."""
    shown = Text(tenant)
    if shown.cell_len > _TENANT_CELLS:
        shown = Text(tenant.removeprefix("tenant:"))
    shown.truncate(_TENANT_CELLS, overflow="ellipsis")
    return shown.plain


def _moment(ms: int) -> str:
    """Write an instant by this machine's clock as `ls -l` does: the time of day this year, before it the year."""
    try:
        instant = datetime.fromtimestamp(ms / 1000).astimezone()
    except (OverflowError, OSError, ValueError):
        return str(ms)
    is_of_this_year = instant.year == datetime.now().astimezone().year
    return f"{instant:%m-%d %H:%M}" if is_of_this_year else f"{instant:%Y-%m-%d}"


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


def said_in_words(entry: Entry, say: Say) -> str:
    """Write down what was said as people read it: the user's last text, and the answer, part by part."""
    parts = [(say(en="user", zh="用户"), entry.text)]
    for choice in json.loads(entry.answer)["choices"]:
        parts += _parts(choice, say)
    return "\n\n".join(f"[{name}]\n{_shown(text)}" for name, text in parts if text)


def _parts(choice: Mapping[str, Any], say: Say) -> list[tuple[str, str]]:
    message = choice.get("message") or {"content": choice.get("text")}
    number = f" {choice['index'] + 1}" if choice.get("index") else ""
    words = {
        "reasoning_content": say(en="reasoning", zh="思考"),
        "content": say(en="answer", zh="回答"),
        "refusal": say(en="refusal", zh="拒绝"),
    }
    parts = [(words[name] + number, message.get(name) or "") for name in words]
    call = say(en="tool call", zh="工具调用") + number
    return parts + [(call, _call_in_words(one)) for one in message.get("tool_calls") or ()]


def _call_in_words(call: Mapping[str, Any]) -> str:
    made = call.get(call.get("type", "function")) or {}
    return f"{made.get('name', '')}({made.get('arguments', made.get('input', ''))})"


def reason_in_words(reason: str, say: Say) -> str:
    """Tell why a line of a file was skipped."""
    en, zh = _REASONS.get(reason, (reason, reason))
    return say(en=en, zh=zh)


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
    if isinstance(value, dict) and all(isinstance(word, str | int | None) for word in value.values()):
        return _pairs(value)
    return None if value is None else str(_flat(value))


def _pairs(told: Mapping[str, Any]) -> str | None:
    return ", ".join(f"{name}={value}" for name, value in told.items() if value is not None) or None


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
    "embedders": "向量模型",
    "entries": "条目",
    "expired": "已过期",
    "expires": "到期时间",
    "finish_reason": "结束原因",
    "is_judged": "已校验",
    "is_stream": "流式",
    "key": "键",
    "largest_tenants": "回答最多的租户",
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
    "vectors": "向量",
}

_REASONS = {
    "answer": ("no answer of a model", "不是模型的回答"),
    "conflict": ("asked before in this file, with another answer", "与文件中同一问题的前一个回答不同"),
    "content_filter": ("stopped by the content filter", "被内容过滤中断"),
    "duplicate": ("the same was there before", "文件中重复"),
    "empty": ("an empty answer", "回答为空"),
    "encoding": ("not UTF-8", "不是 UTF-8 编码"),
    "expired": ("past its time", "已过期"),
    "facts": ("facts are missing or of the wrong kind", "信息缺失或类型不对"),
    "finish_reason": ("an unknown finish reason", "结束原因未知"),
    "flushed": ("from before the cache was emptied", "早于上次清空缓存"),
    "incomplete": ("an incomplete answer", "回答不完整"),
    "json": ("no JSON object", "不是 JSON 对象"),
    "key": ("no key of 64 hex digits", "没有 64 位十六进制的键"),
    "known": ("kept already, as new or newer", "已有相同或更新的回答"),
    "length": ("cut at its greatest length", "达到长度上限被截断"),
    "limit": ("too many", "超出数量上限"),
    "pieces": ("the pieces of the stream do not fit", "流式分块与回答不符"),
    "request": ("no server would accept the question", "问题不是有效的请求"),
    "schema": ("of another format or version", "格式或版本不同"),
    "shape": ("no question with its answer", "不是问题和回答"),
    "tenant": ("of another tenant", "属于其他租户"),
    "too_large": ("too large", "太大"),
    "uncacheable": ("the cache has nothing to do with such a call", "这样的调用不使用缓存"),
}
