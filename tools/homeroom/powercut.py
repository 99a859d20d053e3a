# SPDX-License-Identifier: MIT
"""powercut.py - the disk as it may be after a power cut, from QEMU's record of its writes.

THEORY      A disk has a cache: a write that has ended may still be only in the cache, until a flush.  QEMU's blklogwrites
            records each write with its data, and each flush, when it has ended.  After a power cut behind entry k of
            the record, the disk has all writes before the last flush.  Of the writes after it the disk may have any
            sectors.  `Cuts` rebuilds such disks.
FORMAT      a sector with magic, version, number of entries and sector size; then for each entry one sector with the
            first sector, the number of sectors, flags and length, and after it the data.
SEE ALSO    tests/crash.py
"""

import random
import struct
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512
MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4


@dataclass
class Entry:
    """A write in the record, or a flush (without data)."""

    sector: int
    data: bytes
    flush: bool


def read_log(path: Path) -> list[Entry]:
    """Read a record of QEMU's blklogwrites."""
    raw = path.read_bytes()
    magic, version, count, size = struct.unpack_from("<QQQI", raw)
    assert magic == MAGIC and version == 1, "no record of writes"
    entries, at = [], size
    for _ in range(count):
        sector, sectors, flags, _ = struct.unpack_from("<QQQQ", raw, at)
        at += size
        data = b"" if flags & DISCARD else raw[at : at + sectors * size]
        at += len(data)
        assert not flags & DISCARD, "nothing of ours discards"
        entries.append(Entry(sector * size // SECTOR, data, bool(flags & (FLUSH | FUA))))
    return entries


class Cuts:
    """Rebuilds the disk after a power cut.  `base`: the disk when the record began."""

    def __init__(self, base: bytes, entries: list[Entry]) -> None:
        self.entries = entries
        self.image = bytearray(base)  # with all entries before `done`
        self.done = 0

    def rebuild(self, cut: int, rng: random.Random | None) -> bytearray:
        """The disk after the first `cut` entries; `cut` must not decrease from call to call.

        With `rng`, writes after the last flush are kept, lost or written in part, at random; without it all are kept.
        """
        flushed = max((k for k in range(cut) if self.entries[k].flush), default=-1) + 1
        for entry in self.entries[self.done : flushed]:
            self._apply(self.image, entry)
        self.done = max(self.done, flushed)
        image = bytearray(self.image)
        for entry in self.entries[self.done : cut]:
            if rng is None or rng.random() < 0.4:
                self._apply(image, entry)
            elif rng.random() < 0.5:
                self._tear(image, entry, rng)
        return image

    @staticmethod
    def _tear(image: bytearray, entry: Entry, rng: random.Random) -> None:
        """Apply some sectors of a write, chosen at random."""
        for off in range(0, len(entry.data), SECTOR):
            if rng.random() < 0.5:
                at = entry.sector * SECTOR + off
                image[at : at + SECTOR] = entry.data[off : off + SECTOR]

    @staticmethod
    def _apply(image: bytearray, entry: Entry) -> None:
        image[entry.sector * SECTOR : entry.sector * SECTOR + len(entry.data)] = entry.data
