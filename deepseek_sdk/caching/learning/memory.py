"""`Learnt`: labels and vetoes, in RAM for whoever decides and on disk for all processes and for tomorrow."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deepseek_sdk._process import PerProcess
from deepseek_sdk.caching.deciding.correction import Correction, Verdict
from deepseek_sdk.caching.learning import table
from deepseek_sdk.caching.learning.labels import is_finite, latest, pair_digest
from deepseek_sdk.caching.learning.outbox import Outbox
from deepseek_sdk.caching.learning.quarantine import is_quarantined
from deepseek_sdk.caching.learning.shelf import Shelf
from deepseek_sdk.caching.learning.table import Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepseek_sdk.caching.disk import DiskTier
    from deepseek_sdk.caching.guarded import GuardedDisk
    from deepseek_sdk.caching.learning.labels import Label
    from deepseek_sdk.caching.learning.table import News

__all__ = ["EVERYBODY", "Learnt"]

# The tenant of a veto that holds for all.
EVERYBODY = ""
# How often to look for what other processes have learnt.
_LOOK_MS = 1_000


class Learnt:
    """
    What was learnt of pairs; any thread may use it, and nothing here waits for a disk.

    What other processes have learnt comes in by `catch_up()`, which whoever reads the disk calls before he decides.

    Args:
        disk: The cache's own; None: it is kept in RAM alone.
        now_ms: Tells the time, in milliseconds since 1970.
    """

    def __init__(self, *, disk: GuardedDisk | None, now_ms: Callable[[], int]) -> None:
        self._disk = disk
        self._now_ms = now_ms
        # One for each process: a fork may copy it while it is held.
        self._locks = PerProcess(threading.Lock)
        self._shelf = Shelf()
        self._seen = Mark()
        self._looked_ms: int | None = None
        self._outbox = Outbox()
        self._is_due = False
        self._corrections: dict[str, Correction] = {}
        self._reloads = 0

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self._shelf.labels

    @property
    def vetoes(self) -> int:
        """How many pairs are vetoed."""
        return self._shelf.vetoes

    def catch_up(self, tier: DiskTier) -> None:
        """
        Take in what other processes have learnt, if a second has passed since the last look; blocks, on the disk.

        Args:
            tier: The disk, on the thread that reads it.

        Raises:
            StoreError: The disk cannot be used.
        """
        with self._locks.get():
            now_ms, looked_ms = self._now_ms(), self._looked_ms
            # A clock that was set back is no reason not to look.
            if looked_ms is not None and 0 <= now_ms - looked_ms < _LOOK_MS:
                return
            self._looked_ms, seen = now_ms, self._seen
        found = tier.read(lambda lane: table.news(lane, seen))
        if found is not None:
            with self._locks.get():
                self._take(found)
        if self._outbox:
            # The disk may have refused what it was given.
            self._is_due = False
            self._write_soon()

    def observations(self, key: str) -> tuple[Label, ...]:
        """
        Give what was said of an entry.

        Args:
            key: Of the entry.

        Returns:
            Labels, oldest first.
        """
        with self._locks.get():
            return self._shelf.of(key)

    def is_known(self, key: str, text_digest: str) -> bool:
        """
        Tell whether a pair was judged already: once is enough.

        Args:
            key: Of the entry.
            text_digest: Of the question, by `digest_of()`.

        Returns:
            Whether there is a label.
        """
        return any(label.text_digest == text_digest for label in self.observations(key))

    def is_refused(self, key: str, text_digest: str) -> bool:
        """
        Tell whether an entry's answer was called wrong for a question, whichever of its aliases that is near to.

        Args:
            key: Of the entry.
            text_digest: Of the question, by `digest_of()`.

        Returns:
            Whether the last word on it is no; people speak before judges.
        """
        said = [label for label in self.observations(key) if label.text_digest == text_digest]
        return any(not label.is_right and label.source != "calibration" for label in latest(said))

    def is_quarantined(self, key: str) -> bool:
        """
        Tell whether an entry answers only the question that it was kept for; see `quarantine`.

        Args:
            key: Of the entry.

        Returns:
            Whether it does.
        """
        return is_quarantined(self.observations(key))

    def correction(self, key: str) -> Correction:
        """
        Give what the labels of an entry say about its score.

        Args:
            key: Of the entry.

        Returns:
            The correction; all zero where nothing was said.
        """
        with self._locks.get():
            known = self._corrections.get(key)
            if known is None:
                known = self._corrections[key] = _corrected(self._shelf.of(key))
                # Most entries were never spoken of: there is nothing to keep.
                if not known.verdicts:
                    del self._corrections[key]
            return known

    def is_vetoed(self, tenant: str, one: str, other: str) -> bool:
        """
        Tell whether two texts must never get each other's answers.

        Args:
            tenant: Whose; what was said for `EVERYBODY` holds for each.
            one: A text.
            other: Another.

        Returns:
            Whether somebody has said so.
        """
        if not self._shelf.vetoes:
            return False
        digests = [pair_digest(whose, one, other) for whose in {tenant, EVERYBODY}]
        with self._locks.get():
            return any(map(self._shelf.has_veto, digests))

    def recent(self, count: int) -> tuple[Label, ...]:
        """
        Give the newest labels of all entries.

        Args:
            count: How many at most.

        Returns:
            Them, oldest first.
        """
        with self._locks.get():
            return self._shelf.recent(count)

    def since(self, cursor: tuple[int, int] = (0, 0)) -> tuple[tuple[Label, ...], tuple[int, int], bool]:
        """
        Give the labels that somebody has not seen yet, of this process and of others.

        Args:
            cursor: What he was given with the last ones.

        Returns:
            The labels, oldest first; the next cursor; and whether these are all there are, since some were taken away.
        """
        with self._locks.get():
            here = (self._reloads, self._shelf.taken)
            if cursor == here:
                return (), here, False
            is_all = cursor[0] != self._reloads
            return self._shelf.since(0 if is_all else cursor[1]), here, is_all

    def add(self, *labels: Label) -> bool:
        """
        Keep labels.

        Args:
            labels: Which; one whose numbers are not finite is not taken.

        Returns:
            Whether any of them is new.
        """
        with self._locks.get():
            new = [label for label in labels if is_finite(label) and self._shelf.add(label)]
            for label in new:
                self._corrections.pop(label.key, None)
            self._note(lambda outbox: outbox.add(new))
        if new:
            self._write_soon()
        return bool(new)

    def veto(self, tenant: str, one: str, other: str) -> bool:
        """
        Never give two texts each other's answers.

        Args:
            tenant: Whose.
            one: A text.
            other: Another.

        Returns:
            Whether that is new.
        """
        digest = pair_digest(tenant, one, other)
        with self._locks.get():
            is_new = self._shelf.veto(digest)
            if is_new:
                self._note(lambda outbox: outbox.veto(digest))
        if is_new:
            self._write_soon()
        return is_new

    def pardon(self, tenant: str, one: str, other: str) -> bool:
        """
        Take a veto back.

        Args:
            tenant: Whose.
            one: A text.
            other: Another.

        Returns:
            Whether there was one.
        """
        digest = pair_digest(tenant, one, other)
        with self._locks.get():
            was_there = self._shelf.pardon(digest)
            if was_there:
                self._note(lambda outbox: outbox.pardon(digest))
        if was_there:
            self._write_soon()
        return was_there

    def forget(self, keys: Iterable[str]) -> int:
        """
        Drop what was said of entries, since they are gone or have new answers.

        Args:
            keys: Of the entries.

        Returns:
            How many labels went here; on disk, there may have been more.
        """
        keys = frozenset(keys)
        with self._locks.get():
            gone = self._shelf.forget(keys)
            for key in keys:
                self._corrections.pop(key, None)
            self._reloads += bool(gone)
            self._note(lambda outbox: outbox.forget(keys))
        self._write_soon()
        return gone

    def clear(self) -> None:
        """Drop all labels and vetoes."""
        with self._locks.get():
            self._begin()
            self._note(lambda outbox: outbox.clear())
        self._write_soon()

    def _begin(self) -> None:
        self._shelf = Shelf()
        self._corrections.clear()
        self._reloads += 1

    def _take(self, found: News) -> None:
        # What was learnt before the disk was first read is still known, and so is what does not stand there yet.
        if found.is_all and self._seen.epoch:
            self._begin()
        self._seen = found.mark
        for label in (*found.labels, *self._outbox.labels):
            if self._shelf.add(label):
                self._corrections.pop(label.key, None)
        for digest in (*found.vetoes, *self._outbox.vetoes):
            self._shelf.veto(digest)

    def _note(self, change: Callable[[Outbox], None]) -> None:
        if self._disk is not None:
            change(self._outbox)

    def _write_soon(self) -> None:
        if self._disk is not None and not self._is_due:
            # What comes until that is done goes along.
            self._is_due = True
            self._disk.write_soon(self._write)

    def _write(self, tier: DiskTier) -> None:
        self._is_due = False
        with self._locks.get():
            if not self._outbox:
                return
            parcel = self._outbox.packed()
        # Where this fails, it is done again with the next that is learnt, or looked for.
        tier.write(lambda lane: table.write(lane, parcel.changes))
        with self._locks.get():
            self._outbox.sent(parcel)


def _corrected(labels: tuple[Label, ...]) -> Correction:
    correction = Correction()
    for label in latest(labels):
        # A pair that came labelled for a calibration is in the coefficients already.
        if label.source != "calibration":
            correction = correction.after(Verdict(label.score, label.is_right))
    return correction
