"""How an answer is shown while it comes: reasoning on stderr, the text on stdout."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from rich.live import Live
from rich.text import Text

from deepseek_sdk.cli._chat.markdown import Tail, split_blocks
from deepseek_sdk.cli._terminal import printable

if TYPE_CHECKING:
    from typing import TextIO

    from rich.console import Console

__all__ = ["AnswerView", "Channel", "MarkdownChannel", "ReasoningChannel", "SilentChannel", "TextChannel"]

# Often enough to look like typing.
_FRAME_S = 1 / 12
# Where a frame takes long, it is followed by a pause of so many times its length.
_IDLE_SHARE = 4


class Channel(Protocol):
    """Where one kind of text goes, piece by piece."""

    def add(self, text: str) -> None:
        """Show the next piece."""
        ...

    def close(self) -> None:
        """Complete what is shown; another piece may begin anew."""
        ...


class SilentChannel:
    """Shows nothing."""

    def add(self, text: str) -> None:
        """Drop *text*."""

    def close(self) -> None:
        """Do nothing."""


class TextChannel:
    """Writes the text as it is, each piece at once; a terminal is spared the control characters."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = ""

    def add(self, text: str) -> None:
        """Write the next piece."""
        self._stream.write(printable(text) if self._stream.isatty() else text)
        self._stream.flush()
        self._last = text[-1:] or self._last

    def close(self) -> None:
        """End the last line."""
        if self._last not in {"", "\n"}:
            self._stream.write("\n")
            self._stream.flush()
        self._last = ""


class ReasoningChannel:
    """Writes reasoning, dimmed, and an empty line after it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def add(self, text: str) -> None:
        """Write the next piece."""
        self._console.print(Text(printable(text), style="dim"), end="")
        self._last = text[-1:] or self._last

    def close(self) -> None:
        """Set what follows apart."""
        if self._last:
            self._console.print("" if self._last == "\n" else "\n")
        self._last = ""


class MarkdownChannel:
    """Renders Markdown: finished blocks stay, and scroll; only the one that is being written is drawn anew."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawing: _Drawing | None = None

    def add(self, text: str) -> None:
        """Show the next piece."""
        if self._drawing is None:
            self._drawing = _Drawing(self._console)
        self._drawing.add(printable(text))

    def close(self) -> None:
        """Keep the last block as well."""
        if self._drawing is not None:
            self._drawing.finish()
        self._drawing = None


class _Drawing:
    """
    Draws an answer in a thread of its own: what came last is seen also when nothing follows, and nothing waits for it.

    rich has such a thread too, but it does not know of the blocks that are printed meanwhile: then both move the cursor
    by what they believe to be drawn.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tail = Tail()
        self._news = ""
        self._lock = threading.Lock()
        options: Any = {"auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False, "transient": True}
        self._live = Live(self._tail, console=console, vertical_overflow="visible", **options)
        self._live.start()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="deepseek-sdk-chat", daemon=True)
        self._thread.start()

    def add(self, text: str) -> None:
        """Take the next piece."""
        with self._lock:
            self._news += text

    def finish(self) -> None:
        """Print what is left, and give the cursor back."""
        self._is_over.set()
        self._thread.join()
        self._tail.text += self._take_news()
        finished, rest = split_blocks(f"{self._tail.text}\n")
        self._keep(*finished, rest.removesuffix("\n"))
        self._live.stop()

    def _draw(self) -> None:
        pause_s = _FRAME_S
        while not self._is_over.wait(pause_s):
            started = time.perf_counter()
            if news := self._take_news():
                self._tail.text += news
                self._keep(*split_blocks(self._tail.text)[0])
                self._live.refresh()
            pause_s = max(_FRAME_S, _IDLE_SHARE * (time.perf_counter() - started))

    def _take_news(self) -> str:
        # Drawing takes long, and is done without the lock: nobody who adds text waits for it.
        with self._lock:
            news, self._news = self._news, ""
        return news

    def _keep(self, *blocks: str) -> None:
        for block in blocks:
            self._console.print(self._tail.take(block))


class AnswerView:
    """
    Shows the reasoning and the answer of one turn.

    Args:
        reasoning: Where the reasoning goes.
        content: Where the answer goes.
    """

    def __init__(self, *, reasoning: Channel, content: Channel) -> None:
        self._channels = {"reasoning_content": reasoning, "content": content}
        self._open: Channel | None = None

    def add(self, kind: str, text: str) -> None:
        """Show the next piece, of the field *kind* of a message."""
        channel = self._channels[kind]
        if self._open is not channel:
            self.close()
            self._open = channel
        channel.add(text)

    def close(self) -> None:
        """Complete what is shown."""
        if self._open is not None:
            self._open.close()
        self._open = None
