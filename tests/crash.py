# SPDX-License-Identifier: MIT
"""crash.py - check the files on disks as they may be after a power cut (tools/homeroom/powercut.py).

THEORY      The workload writes files and calls fsync: user/test/crashwork.c, crashcrowd.c (with threads) and
            crashfiles.c (small files and sync).  When an fsync has returned, it writes a mark with its number into
            another partition of the same disk.  So the last mark before the cut tells which data must be there;
            check_promises(), check_crowd() and check_files() check that.
            Before the workload every free block contains a pattern.  If a file shows the pattern, it contains data that
            were never written to it.
"""

import functools
import random
import struct
from pathlib import Path

from homeroom import powercut
from homeroom.powercut import SECTOR, Entry

MARK = 0x6B72616D
SLOTS, SLOT = 16, 4096

FS_START, FS_SECTORS = 64, 16 * 2048
MARKER_START, MARKER_SECTORS = FS_START + FS_SECTORS, 8
DISK_SECTORS = MARKER_START + MARKER_SECTORS


def table(*parts: tuple[int, int]) -> bytes:
    """A partition table; `parts`: first sector and number of sectors of each partition."""
    rows = b"".join(struct.pack("<B3sB3sII", 0, b"", 0x83, b"", *part) for part in parts)
    return b"\0" * 446 + rows.ljust(64, b"\0") + b"\x55\xaa"


def partition_table() -> bytes:
    return table((FS_START, FS_SECTORS), (MARKER_START, MARKER_SECTORS))


class Cuts(powercut.Cuts):
    """Rebuilds disks, and finds the marks."""

    def __init__(self, base: bytes, entries: list[Entry], marker: int = MARKER_START) -> None:
        super().__init__(base, entries)
        self.marker = marker

    def rebuild(self, cut: int, rng: random.Random | None) -> tuple[bytearray, int]:
        """The disk, as powercut.Cuts makes it, and the last mark."""
        return super().rebuild(cut, rng), self.mark(cut)

    def mark(self, cut: int, slot: int = 0) -> int:
        """The number of the last mark in a slot before the cut, 0 if there is none.

        The mark was written after its fsync had returned, so the promise holds even if the cut has lost the mark itself.
        """
        return next(self._marks(reversed(self.entries[:cut]), slot), 0)

    def marks(self, slot: int) -> list[int]:
        """All marks of a slot, in their order."""
        return list(self._marks(self.entries, slot))

    def _marks(self, entries, slot: int):
        """The marks of a slot in these entries.  A mark may be anywhere in an entry: adjacent requests may be joined."""
        for entry in entries:
            at = (self.marker + slot - entry.sector) * SECTOR
            if 0 <= at < len(entry.data):
                magic, number = struct.unpack_from("<II", entry.data, at)
                if magic == MARK:
                    yield number


@functools.lru_cache(2048)  # consecutive cuts need mostly the same patterns
def pattern(number: int, size: int) -> bytes:
    """The contents number `number` of the workloads, as the C programs make them."""
    return struct.pack(f"<{size // 4}I", *((number * 2654435761 + i) & 0xFFFFFFFF for i in range(size // 4)))


def content_size(n: int) -> int:
    return 4 * (100 + n * 37 % 2000)


def check_promises(root: Path, mark: int) -> list[str]:
    """The faults of crashwork's files below `root`, if fsync number `mark` and all before it had returned."""
    faults = []

    def expect(good: bool, what: str) -> None:
        if not good:
            faults.append(f"fsync {mark} had returned: {what}")

    # A step has four fsyncs (`part`): after the new file, the names, the log, the slot that is overwritten.

    def content(name: str) -> bytes | None:
        path = root / name
        return path.read_bytes() if path.is_file() else None

    if mark == 0:
        return faults
    step, part = divmod(mark - 1, 4)
    named = step if part >= 1 else step - 1  # the last step whose names were synced
    for n in range(max(0, named - 7), named + 1):
        data = content(f"c/{n}")
        if data is None and n == step - 8 + (part >= 1):
            continue  # the next unlink may already be on the disk
        expect(data == pattern(n, content_size(n)), f"c/{n} is {'there but wrong' if data is not None else 'missing'}")
    for n in range(0, named - 8 + 1):
        expect(content(f"c/{n}") is None, f"c/{n} was unlinked")
    if part == 0:
        data = content("c/t")
        if data is None:
            data = content(f"c/{step}")  # the next rename may already be on the disk
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
        slot, next_one = data[n % SLOTS * SLOT :][:SLOT], n + SLOTS <= step + 1  # the next write to it may have begun
        old, new = pattern(n, SLOT), pattern(n + SLOTS, SLOT)
        for at in range(0, SLOT, SECTOR):
            part_of = slot[at : at + SECTOR]
            good = part_of == old[at : at + SECTOR] or (next_one and part_of == new[at : at + SECTOR])
            expect(good, f"slot {n % SLOTS} is not that of {n}")
    return faults


def check_order(root: Path) -> list[str]:
    """The faults of files to which only zeros were written: they must not show the earlier contents of their blocks."""
    files = [p for p in (root / "noise").rglob("*") if p.is_file()]
    return [f"{p.relative_to(root)} shows old data" for p in files if p.read_bytes().strip(b"\0")]


def difference(data: bytes, full: bytes) -> str:
    """A text that says where a file first differs from its expected contents, and what is there."""
    at = next((k for k, (x, y) in enumerate(zip(data, full, strict=False)) if x != y), min(len(data), len(full)))
    rest = data[at : at + 512]
    kind = "zeros" if not rest.strip(b"\0") else "what free blocks held" if STALE in rest else rest[:16].hex()
    return f"{len(data)} of {len(full)} bytes, from {at} on {kind if rest else 'nothing'}"


WORKERS, PAGES = 3, 8
STALE = b"FORMERLY"  # contents of free blocks


def crowd_size(step: int) -> int:
    return 8 * (50 + step * 37 % 1500)


class Crowd:
    """Checks the directory of one worker of user/test/crashcrowd.c, whose first `promised` steps must be on the disk."""

    def __init__(self, root: Path, worker: int, promised: int) -> None:
        self.root, self.worker, self.promised = root / f"w{worker}", worker, promised
        self.faults: list[str] = []

    def state(self, q: int, j: int) -> int:
        """The state of step j of cycle q: 0 not begun, 1 begun, 2 promised."""
        n = 6 * q + j
        return 2 if n < self.promised else 1 if n == self.promised else 0

    def bytes_of(self, step: int) -> bytes:
        return pattern(step * WORKERS + self.worker, crowd_size(step))

    def get(self, name: str) -> bytes | None:
        path = self.root / name
        return path.read_bytes() if path.is_file() else None

    def expect(self, good: bool, what: str) -> None:
        if not good:
            self.faults.append(f"w{self.worker}, {self.promised} steps promised: {what}")

    def new_file(self, name: str, state: int, step: int) -> None:
        """Check a file that is made and written in one step."""
        data, full = self.get(name), self.bytes_of(step)
        if state == 2:
            self.expect(data == full, f"{name} is {'missing' if data is None else 'wrong: ' + difference(data, full)}")
        elif state == 1:
            good = data is None or data == full[: len(data)]
            self.expect(good, f"{name} shows what was never written: {difference(data or b'', full)}")
        else:
            self.expect(data is None, f"{name} is there already")

    def gone(self, name: str, state: int, step: int) -> bool:
        """Check a file that a later step removes.  Returns True if that step has begun, so nothing more is to check."""
        data = self.get(name)
        if state == 2:
            self.expect(data is None, f"{name} was removed")
        elif state == 1:
            self.expect(data in (None, self.bytes_of(step)), f"{name} is wrong while it is removed")
        return state != 0

    def renamed(self, q: int) -> None:
        """Check b, c and d of cycle q.

        b is written, cut to half, renamed to c and linked as d; two cycles later d is removed, and c is written anew.
        """
        full, new = self.bytes_of(6 * q + 1), self.bytes_of(6 * q + 16)
        half = full[: len(full) // 2]
        b, c, d = self.get(f"b{q}"), self.get(f"c{q}"), self.get(f"d{q}")
        if self.state(q, 2) == 0:
            self.new_file(f"b{q}", self.state(q, 1), 6 * q + 1)
            self.expect(c is None and d is None, f"c{q} or d{q} is there already")
        elif self.state(q, 2) == 1:  # the rest may already be zeros while the size is still the old one
            good = b is not None and b[: len(half)] == half and len(b) in (len(half), len(full))
            good = good and all(x in (y, 0) for x, y in zip(b[len(half) :], full[len(half) :], strict=False))
            self.expect(good, f"b{q} is wrong while it is cut")
        elif self.state(q, 3) == 0:
            self.expect((b, c, d) == (half, None, None), f"b{q} is not cut")
        elif self.state(q, 3) == 1:
            good = (b, c, d) in ((half, None, None), (None, half, None), (None, half, half))
            self.expect(good, f"b{q}, c{q}, d{q} are wrong while they are renamed")
        elif self.state(q + 2, 4) == 0:
            self.expect((b, c, d) == (None, half, half), f"b{q}, c{q}, d{q} are wrong")
        elif self.state(q + 2, 4) == 1:
            good = b is None and d in (None, half) and c is not None
            self.expect(good and (c == half or (d is None and c == new[: len(c)])), f"c{q} is wrong while it is made new")
        else:
            self.expect((b, c, d) == (None, new, None), f"c{q} is not new")

    def mapped(self, q: int) -> None:
        """Check the page of file m that cycle q has written through a mapping."""
        data = (self.get("m") or b"")[q % PAGES * 4096 :][:4096]
        ours = pattern((6 * q + 5) * WORKERS + self.worker, 4096)
        old = pattern((6 * (q - PAGES) + 5) * WORKERS + self.worker, 4096) if q >= PAGES else bytes(4096)
        state = self.state(q, 5)
        for at in range(0, 4096, SECTOR):
            part = data[at : at + SECTOR]
            good = part == ours[at : at + SECTOR] or (state == 1 and part == old[at : at + SECTOR])
            self.expect(good, f"page {q % PAGES} of m is not that of cycle {q}")

    def check(self) -> list[str]:
        last = self.promised // 6
        for q in range(last + 1):
            if not self.gone(f"a{q}", self.state(q + 2, 4), 6 * q):
                self.new_file(f"a{q}", self.state(q, 0), 6 * q)
            self.renamed(q)
            if not self.gone(f"e{q}/f", self.state(q + 3, 5), 6 * q + 5):
                self.new_file(f"e{q}/f", self.state(q, 5), 6 * q + 5)
            if self.state(q, 5) != 0 and self.state(q + PAGES, 5) == 0:
                self.mapped(q)
        return self.faults


def check_crowd(root: Path, marks: list[int]) -> list[str]:
    """The faults of crashcrowd's files, with the last mark of each worker; and those of check_order()."""
    faults = [f for worker, mark in enumerate(marks) if mark for f in Crowd(root, worker, mark).check()]
    return faults + check_order(root)


FILES, DIRS, FILE_THREADS = 160, 5, 2


def check_files(root: Path, mark: int) -> list[str]:
    """The faults of crashfiles' files after `mark` rounds: each file must be complete or absent.

    There is one exception for each thread.  A file is made by one call and written by the next, page by page.  A
    transaction that closes between two pages contains only the first pages of the file, or none.
    """
    faults, begun = [], 0
    for n in range((mark + 1) * FILES):
        made, i = divmod(n, FILES)
        path, full = root / f"d{i % DIRS}/{made}.{i}", pattern(n, 4 * (1024 + n * 37 % 3073))
        data = path.read_bytes() if path.is_file() else None
        if made == mark and data is not None and len(data) < len(full) and data == full[: len(data)] and len(data) % 4096 == 0:
            begun += 1
        elif data is None and made == mark - 1:
            faults.append(f"round {mark} was synced: {path.name} is missing")
        elif data is not None and made < mark - 2:
            faults.append(f"round {mark} was synced: {path.name} was removed in it")
        elif data not in (None, full):
            faults.append(f"{path.name} after round {mark}: {difference(data, full)}")
    there = sum(len(list((root / f"d{i}").iterdir())) for i in range(DIRS) if (root / f"d{i}").is_dir())
    known = sum((root / f"d{n % FILES % DIRS}/{n // FILES}.{n % FILES}").is_file() for n in range((mark + 1) * FILES))
    if there != known:
        faults.append(f"after round {mark}: {there - known} files that were not made yet")
    if begun > FILE_THREADS:
        faults.append(f"after round {mark}: {begun} files are there in part")
    return faults
