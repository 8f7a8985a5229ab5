from __future__ import annotations

from deepseek_sdk.caching.learning.outbox import Outbox
from deepseek_sdk.caching.learning.table import Changes
from tests.caching.disks import key_of
from tests.caching.verdicts import label_of


def test_everything_is_written_once() -> None:
    """What was written waits no more."""
    outbox = Outbox()
    outbox.add([label_of()])
    outbox.veto("a")
    parcel = outbox.packed()

    assert Changes([label_of()], ["a"], [], [], is_cleared=False) == parcel.changes
    assert 2 == len(outbox)
    outbox.sent(parcel)
    outbox.sent(parcel)
    assert (0, Changes([], [], [], [])) == (len(outbox), outbox.packed().changes)


def test_what_goes_takes_along_what_was_to_come() -> None:
    """A label of a forgotten entry is not written any more, nor a veto that was taken back; one that comes later is."""
    outbox = Outbox()
    outbox.add([label_of("一"), label_of("二", number=2)])
    outbox.veto("a")
    outbox.forget([key_of(1)])
    outbox.pardon("a")
    outbox.add([label_of("三")])

    assert Changes([label_of("二", number=2), label_of("三")], [], [key_of(1)], ["a"]) == outbox.packed().changes
    outbox.clear()
    outbox.veto("b")
    assert Changes([], ["b"], [], [], is_cleared=True) == outbox.packed().changes


def test_what_comes_again_meanwhile_is_written_again() -> None:
    """What is forgotten once more while the first time is being written is not taken for done."""
    outbox = Outbox()
    outbox.forget([key_of(1)])
    parcel = outbox.packed()
    outbox.add([label_of()])
    outbox.forget([key_of(1)])
    outbox.sent(parcel)

    assert [key_of(1)] == outbox.packed().changes.forgotten


def test_bounds_of_an_outbox() -> None:
    """The oldest goes where the disk has been away for long."""
    outbox = Outbox()
    outbox.add(label_of(at_ms=at) for at in range(8_198))

    assert [*range(6, 8_198)] == [label.at_ms for label in outbox.labels]
