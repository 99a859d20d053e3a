# SPDX-License-Identifier: MIT
"""crash.py - what a disk looks like after a power cut: QEMU's record of writes, and every state it allows.

THEORY      blklogwrites records each write, with its data, and each flush, when it has ended.  A power cut after entry
            k leaves all writes that a flush covers, and of the sectors of those after the last flush any subset: a
            disk with a cache may have written them or not, or a part of one.  `Cuts` rebuilds such disks.
            The workload (user/test/crashwork.c) tells in a marker partition of the same disk which fsync has
            returned; `check_promises` knows what must then be there.
FORMAT      a sector with magic, version, number of entries and sector size; then for each entry one sector with the
            first sector, the number of sectors, flags and length, and after it the data.
"""

import random
import struct
from dataclasses import dataclass
from pathlib import Path

SECTOR = 512
MAGIC = 0x6A736677736872
FLUSH, FUA, DISCARD = 1, 2, 4
MARK = 0x6B72616D
SLOTS, SLOT = 16, 4096

FS_START, FS_SECTORS = 64, 16 * 2048
MARKER_START, MARKER_SECTORS = FS_START + FS_SECTORS, 8
DISK_SECTORS = MARKER_START + MARKER_SECTORS


@dataclass
class Entry:
    sector: int
    data: bytes
    flush: bool


def read_log(path: Path) -> list[Entry]:
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


def table(*parts: tuple[int, int]) -> bytes:
    """A partition table: first sector and length of each."""
    rows = b"".join(struct.pack("<B3sB3sII", 0, b"", 0x83, b"", *part) for part in parts)
    return b"\0" * 446 + rows.ljust(64, b"\0") + b"\x55\xaa"


def partition_table() -> bytes:
    return table((FS_START, FS_SECTORS), (MARKER_START, MARKER_SECTORS))


class Cuts:
    """The disk after a cut: `base` is what it was when the record began."""

    def __init__(self, base: bytes, entries: list[Entry], marker: int = MARKER_START) -> None:
        self.entries, self.marker = entries, marker
        self.image = bytearray(base)  # all up to `done`
        self.done = 0

    def rebuild(self, cut: int, rng: random.Random | None) -> tuple[bytes, int]:
        """The disk after `cut` entries, cuts ascending; rng drops writes that no flush covers.  And the last mark."""
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
        return bytes(image), self.mark(cut)

    @staticmethod
    def _tear(image: bytearray, entry: Entry, rng: random.Random) -> None:
        """Some sectors of the write, and some not."""
        for off in range(0, len(entry.data), SECTOR):
            if rng.random() < 0.5:
                at = entry.sector * SECTOR + off
                image[at : at + SECTOR] = entry.data[off : off + SECTOR]

    @staticmethod
    def _apply(image: bytearray, entry: Entry) -> None:
        image[entry.sector * SECTOR : entry.sector * SECTOR + len(entry.data)] = entry.data

    def mark(self, cut: int) -> int:
        """The fsyncs that had returned: the marker was written after them, whether or not it has come to the disk."""
        for entry in reversed(self.entries[:cut]):
            if entry.sector == self.marker and len(entry.data) >= 8:
                magic, number = struct.unpack_from("<II", entry.data)
                if magic == MARK:
                    return number
        return 0


def pattern(number: int, size: int) -> bytes:
    return struct.pack(f"<{size // 4}I", *((number * 2654435761 + i) & 0xFFFFFFFF for i in range(size // 4)))


def content_size(n: int) -> int:
    return 4 * (100 + n * 37 % 2000)


def check_promises(root: Path, mark: int) -> list[str]:
    """What fsync number `mark` and those before it have promised, and `root`, a copy of the disk's files, lacks."""
    faults = []

    def expect(good: bool, what: str) -> None:
        if not good:
            faults.append(f"fsync {mark} had returned: {what}")

    def content(name: str) -> bytes | None:
        path = root / name
        return path.read_bytes() if path.is_file() else None

    if mark == 0:
        return faults
    step, part = divmod(mark - 1, 4)
    named = step if part >= 1 else step - 1  # the last step whose names are promised
    for n in range(max(0, named - 7), named + 1):
        data = content(f"c/{n}")
        if data is None and n == step - 8 + (part >= 1):
            continue  # the unlink that comes next may have happened
        expect(data == pattern(n, content_size(n)), f"c/{n} is {'there but wrong' if data is not None else 'missing'}")
    for n in range(0, named - 8 + 1):
        expect(content(f"c/{n}") is None, f"c/{n} was unlinked")
    if part == 0:
        data = content("c/t")
        if data is None:
            data = content(f"c/{step}")  # the rename that comes next may have happened
        expect(data == pattern(step, content_size(step)), f"the new file of step {step} is missing or wrong")
    if named >= 0:
        data = content("latest")
        expect(data in (pattern(named, 64), pattern(named + 1, 64)), f"latest is not that of {named}")
    logged = step if part >= 2 else step - 1
    data = content("log") or b""
    for n in range(logged + 1):
        expect(data[300 * n : 300 * n + 300] == pattern(n, 300), f"record {n} of the log is wrong")
    over, data = (step if part >= 3 else step - 1), content("over") or b""
    for n in range(max(0, over - SLOTS + 1), over + 1):
        slot, next_one = data[n % SLOTS * SLOT :][:SLOT], n + SLOTS <= step + 1  # it may be being overwritten
        old, new = pattern(n, SLOT), pattern(n + SLOTS, SLOT)
        for at in range(0, SLOT, SECTOR):
            part_of = slot[at : at + SECTOR]
            good = part_of == old[at : at + SECTOR] or (next_one and part_of == new[at : at + SECTOR])
            expect(good, f"slot {n % SLOTS} is not that of {n}")
    return faults


def check_order(root: Path) -> list[str]:
    """Data before metadata: files that only zeros were written to show nothing of what the blocks held before."""
    files = [p for p in (root / "noise").rglob("*") if p.is_file()]
    return [f"{p.relative_to(root)} shows old data" for p in files if p.read_bytes().strip(b"\0")]
