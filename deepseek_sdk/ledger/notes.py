"""`Note`: what is to be known about numbers that are not complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kind", "Note"]

Kind: TypeAlias = Literal["removed", "killed", "killed_many", "dropped", "waiting", "forgotten", "unreadable"]

_EN: Mapping[Kind, str] = {
    "removed": "{calls} calls before {until} were removed to keep the ledger small or young.",
    "killed": "The process {pid} ended without a flush after {at}; up to a second of calls may be missing.",
    "killed_many": "{count} processes ended without a flush, the last of them, {pid}, after {at}; up to a second of "
    "calls of each may be missing.",
    "dropped": "{calls} calls could not be written and were dropped.",
    "waiting": "{calls} calls of this process are not written yet: {error}.",
    "forgotten": "Only the last {limit} calls are kept in memory; earlier ones are not counted.",
    "unreadable": "Calls in the ledger are not counted, since it cannot be read: {error}.",
}
_ZH: Mapping[Kind, str] = {
    "removed": "{until} 之前的 {calls} 次调用已按账本的大小或保留期限清理。",
    "killed": "进程 {pid} 在 {at} 之后异常退出，未写完缓冲，最多可能缺少一秒内的调用。",
    "killed_many": "有 {count} 个进程异常退出，未写完缓冲（最近一个是进程 {pid}，在 {at} 之后），"
    "每个最多可能缺少一秒内的调用。",
    "dropped": "有 {calls} 次调用因无法写入而丢弃。",
    "waiting": "本进程有 {calls} 次调用尚未写入：{error}。",
    "forgotten": "内存中只保留最近 {limit} 次调用，更早的未计入。",
    "unreadable": "账本无法读取，其中的调用未计入：{error}。",
}


class Note(NamedTuple):
    """
    One thing to be known.

    Attributes:
        kind: Which.
        values: Its numbers and instants.
    """

    kind: Kind
    values: Mapping[str, Any]

    def text(self, lang: str = "en") -> str:
        """
        Say it.

        Args:
            lang: "en" or "zh".

        Returns:
            A sentence.
        """
        return (_ZH if lang == "zh" else _EN)[self.kind].format(**self.values)
