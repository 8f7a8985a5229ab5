"""Markdown that is still being written: which blocks are finished, and how the last one looks so far."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from rich.markdown import Markdown, MarkdownElement, Paragraph, TableElement
from rich.segment import Segment

from deepseek_sdk.cli._chat.wrap import break_offsets

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["Block", "Tail", "split_blocks"]


class _Paragraph(Paragraph):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.text.split("\n", allow_blank=True):
            yield from line.divide(break_offsets(line.plain, options.max_width))


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            for column in getattr(table, "columns", ()):
                column.overflow = "fold"  # a cell that is too long goes on in the next line, and is not cut
            yield table


class _Markdown(Markdown):
    """Markdown as models write it: a line break is a line break, links show addresses, and HTML is text."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "paragraph_open": _Paragraph,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, code_theme="ansi_dark", hyperlinks=False)
        self.parsed = [part for token in self.parsed for part in _literal(token)]
        for token in self.parsed:
            for child in token.children or ():
                child.type = _INLINE.get(child.type, child.type)


# A space in place of a line break would part Chinese characters, and run the lines of a poem together. What looks like
# HTML is mostly code, which rich would drop.
_INLINE = {"softbreak": "hardbreak", "html_inline": "text"}


def _literal(token: Any) -> list[Any]:
    """Make of a block of HTML a paragraph that shows it as it is."""
    if token.type != "html_block":
        return [token]
    make = type(token)
    lines = token.content.rstrip("\n").split("\n")
    children = [part for line in lines for part in (make("hardbreak", "br", 0), make("text", "", 0, content=line))][1:]
    inline = make("inline", "", 0, children=children, content=token.content)
    return [make("paragraph_open", "p", 1), inline, make("paragraph_close", "p", -1)]


def split_blocks(text: str) -> tuple[list[str], str]:
    """
    Split a growing Markdown text into blocks, such as a paragraph, a list or a code fence.

    Args:
        text: What has come so far.

    Returns:
        The blocks that nothing to come can change, and the rest.
    """
    # An unfinished line may yet turn out as anything: "#" as a heading or as the "#1" of a sentence.
    whole = text[: text.rfind("\n") + 1]
    lines = whole.split("\n")
    starts = [token.map[0] for token in Markdown(whole).parsed if token.level == 0 and token.map and token.map[0]]
    ends = sorted({sum(len(line) + 1 for line in lines[:start]) for start in starts})
    return [text[start:end] for start, end in pairwise([0, *ends])], text[ends[-1] if ends else 0 :]


class Block:
    """
    A block, without the empty lines and the padding that rich puts around it.

    Args:
        text: The Markdown.
        is_first: No other stands above; otherwise an empty line sets them apart.
    """

    def __init__(self, text: str, *, is_first: bool) -> None:
        self._text = text
        self._is_first = is_first

    def lines(self, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        """Render it."""
        rendered = console.render_lines(_Markdown(self._text), options.update(height=None), pad=False)
        lines = [_stripped(line) for line in rendered]
        filled = [number for number, line in enumerate(lines) if line]
        if not filled:
            return []
        return [*([] if self._is_first else [[]]), *lines[filled[0] : filled[-1] + 1]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(console, options):
            yield from line
            yield Segment.line()


def _stripped(line: list[Segment]) -> list[Segment]:
    """Drop the spaces at the end of *line*."""
    kept = [*line]
    while kept and not kept[-1].text.rstrip(" "):
        kept.pop()
    if kept:
        kept[-1] = Segment(kept[-1].text.rstrip(" "), kept[-1].style)
    return kept


class Tail:
    """
    The block that is being written: as many lines of its end as the window holds.

    Attributes:
        text: Its Markdown, so far.
    """

    def __init__(self) -> None:
        self.text = ""
        self._is_first = True

    def take(self, text: str) -> Block:
        """Take *text* out, which it begins with, as it is to stay."""
        block = Block(text, is_first=self._is_first)
        self.text = self.text.removeprefix(text)
        self._is_first = self._is_first and not text.strip()
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = Block(_end_of(self.text, console.height), is_first=self._is_first).lines(console, options)
        # What has left the window can no longer be rewritten, and would stay there twice.
        for line in lines[-max(1, console.height - 1) :]:
            yield from line
            yield Segment.line()


def _end_of(text: str, rows: int) -> str:
    """Drop what a window of *rows* rows has no room for: drawing a long block whole at every frame takes too long."""
    lines = text.split("\n")
    start = text.lstrip()
    # A fence goes on being one by its first line, and a table by its first two.
    heads = 1 if start.startswith(("```", "~~~")) else 2 if start.startswith("|") else 0
    return text if len(lines) <= heads + rows else "\n".join(lines[:heads] + lines[-rows:])
