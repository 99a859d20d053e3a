# SPDX-License-Identifier: MIT
"""heat.py - page heat, read from outside the guest: how often the CPUs of each board miss on each page of a process.

    make heat                      CSV of all processes of the newest machine that counts; PID=process: of another
    make heat FILE=heat.csv        the same, into a file
    make qemu-sf6800 MODEL=fireplane HEAT=16   starts a machine that counts one of 16 misses by page

THEORY      The interconnect model has a table with a row for each page of physical memory (fp_heat of
            include/uapi/fireplane.h), in a file without a name, as the memory of the boards.  The page tables of a process
            are in the guest's memory; they tell at which addresses the process has a page.  So the guest is asked for
            nothing, and does not notice.
            A page of memory that several processes have appears at each of them, with the misses of all.
INVARIANTS  I1  nothing is written to the machine
            I2  no reading takes longer because the guest changes its page tables meanwhile: TABLES_MAX
EXIT        0: written.  1: no machine runs, it does not count misses by page, or the file cannot be written.  2: wrong options
SEE ALSO    docs/heat.md, live/page/heat.js (the picture), qemu/fireplane/heat.c
"""

import argparse
import csv
import ctypes
import io
import mmap
import os
import struct
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from ctypes import c_uint32, c_uint64
from pathlib import Path

from homeroom.live import memory as memories
from homeroom.live.kernel import Kernel, open_kernel
from homeroom.live.memory import ADDRESS, LARGE, PAGE, PRESENT, PROC, LiveError, Memory, Process, open_memory
from homeroom.trace import whole_file

MAGIC, VERSION, OFFSET = 0x5441454845474150, 1, 4096
NAME = "/memfd:homeroom-heat"
FORMAT = 1  # of the CSV
FULL = 0xFFFFFFFF  # a count that cannot grow
TABLES_MAX = 20000  # page tables and large pages of a process
CELLS_MAX = 2048  # of a picture
OFF = "misses are not counted by page: start the machine with MODEL=fireplane HEAT=16"


class Header(ctypes.LittleEndianStructure):
    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint32),
        ("nboards", c_uint32),
        ("pages", c_uint64),
        ("every", c_uint64),
        ("seed", c_uint64),
    )


def every(process: Process) -> int:
    """The model of this machine counts one of so many misses; 0: none."""
    return int(process.model().get("heat", 0))


class Table:
    """The model's table of a running machine."""

    def __init__(self, process: Process) -> None:
        folder = PROC / str(process.pid) / "fd"
        try:
            path = next((path for path in folder.iterdir() if os.readlink(path).startswith(NAME)), None)
            if path is None:
                raise LiveError(f"process {process.pid} has no table of page heat")
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except OSError as error:
            raise LiveError(f"process {process.pid}: {error.strerror}") from error
        self.header = Header.from_buffer_copy(self._map)
        if (self.header.magic, self.header.version) != (MAGIC, VERSION):
            raise LiveError(f"process {process.pid} has a table of page heat of another version")
        self._row = struct.Struct(f"<{self.header.nboards}I")
        self._cold = bytes(self._row.size)

    def row(self, address: int) -> tuple[int, ...] | None:
        """The counts of the page at a physical address, by board; None: all are 0."""
        at = OFFSET + address // PAGE * self._row.size
        data = self._map[at : at + self._row.size]
        return None if data == self._cold or len(data) < self._row.size else self._row.unpack(data)


def mapped(memory: Memory, top: int) -> Iterator[tuple[int, int]]:
    """The pages of 4 KiB below a top-level page table, in order: virtual and physical address."""
    left = TABLES_MAX

    def walk(table: int, base: int, shift: int, entries: int = 512) -> Iterator[tuple[int, int]]:
        nonlocal left
        left -= 1
        try:
            data = memory.read(table, PAGE)
        except LiveError:  # the process is ending
            return
        for i, entry in enumerate(struct.unpack("<512Q", data)[:entries]):
            if not entry & PRESENT or left < 0:
                continue
            at = base + (i << shift)
            if entry & LARGE and shift == 30:  # the kernel has no pages of 1 GiB
                continue
            if shift == 12 or (entry & LARGE and shift == 21):
                left -= shift == 21
                first = entry & ADDRESS & -(1 << shift)
                yield from ((at + offset, first + offset) for offset in range(0, 1 << shift, PAGE))
            else:
                yield from walk(entry & ADDRESS, at, shift - 9)

    return walk(top & ADDRESS, 0, 39, 256)  # the other half is the kernel's


class Owners:
    """Which board has a page of memory."""

    def __init__(self, memory: Memory) -> None:
        pieces = sorted((start, board) for board, found in enumerate(memory.boards) for start, _ in found)
        self._starts, self._boards = [start for start, _ in pieces], [board for _, board in pieces]

    def of(self, address: int) -> int:
        return self._boards[max(0, bisect_right(self._starts, address) - 1)]


def picture(table: Table, memory: Memory, top: int) -> dict:
    """The address space as JSON for the page: runs of cells; a cell stands for `per` pages.

    A run is [address, cells]; a cell is [misses by CPUs of other boards than the page's, [board, pages of the cell that it has,
    board, pages ...], [board, misses of its CPUs, board, misses ...]], with the most first.
    """
    owners, runs, end = Owners(memory), [], -1
    for virtual, physical in mapped(memory, top):
        if virtual != end:
            runs.append((virtual, []))
        runs[-1][1].append(physical)
        end = virtual + PAGE
    total = sum(len(pages) for _, pages in runs)
    per = max(1, -(-total // CELLS_MAX))

    def cell(pages: list[int]) -> list:
        owned, misses, near = Counter(map(owners.of, pages)), Counter(), 0
        for page in pages:
            if (row := table.row(page)) is not None:
                misses.update({board: count * table.header.every for board, count in enumerate(row) if count})
                near += row[owners.of(page)] * table.header.every
        return [misses.total() - near, *([n for pair in counts.most_common() for n in pair] for counts in (owned, misses))]

    cells = [[f"{start:x}", [cell(pages[i : i + per]) for i in range(0, len(pages), per)]] for start, pages in runs]
    return {"every": table.header.every, "per": per, "pages": total, "runs": cells}


def processes(kernel: Kernel) -> dict[int, tuple[str, int]]:
    """The processes of a machine by their ids: name, and top-level page table."""
    found: dict[int, tuple[str, int]] = {}
    kernel.forget()  # the last reading can be hours ago
    for thread in sorted(kernel.reading().threads):
        if thread.pid and thread.space and thread.pid not in found:
            found[thread.pid] = (thread.name, kernel.page_table(thread.space))
    return dict(sorted(found.items()))


class Reader:
    """Reads the page heat of a machine.  LiveError if the machine does not count, or its kernel has not started."""

    def __init__(self, process: Process) -> None:
        self.table, self.memory = Table(process), open_memory(process)
        self.kernel = open_kernel(process, self.memory)

    def picture(self, pid: int) -> dict:
        """The address space of a process, as picture() gives it.  LiveError if there is no such process."""
        found = processes(self.kernel).get(pid)
        if found is None:
            raise LiveError(f"there is no process {pid}")
        return picture(self.table, self.memory, found[1])


def csv_of(process: Process) -> tuple[str, str]:
    """The CSV of a machine, and a line about it."""
    reader = Reader(process)
    table, memory, kernel = reader.table, reader.memory, reader.kernel
    owners, boards = Owners(memory), range(table.header.nboards)
    times, pages, full, out = table.header.every, 0, False, io.StringIO()
    rate = f"one of {times} misses was counted, seed {table.header.seed:#x}; the numbers are counts times {times}"
    out.write(f"# page heat of {process.name}, format {FORMAT}: {rate}\n")
    # A name can have any character, also one that begins a comment, or ends a line for some readers.
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["pid", "name", "page", "owner", *(f"board{i}" for i in boards)])
    for pid, (name, top) in processes(kernel).items():
        for virtual, physical in mapped(memory, top):
            if (row := table.row(physical)) is not None:
                writer.writerow([pid, name, f"{virtual:#x}", owners.of(physical), *(count * times for count in row)])
                pages, full = pages + 1, full or FULL in row
    said = f"{process.name}, {pages} pages with misses"
    return out.getvalue(), said + ("; some counts have reached their largest value" if full else "")


def find(pid: str | None) -> Process:
    """The machine of process `pid`; None: the one that was started last, of those that count.  LiveError if there is none."""
    process = memories.find("heat", pid, every)
    if not every(process):
        raise LiveError(OFF)
    return process


def main() -> int:
    parser = argparse.ArgumentParser(prog="heat", description="misses by page and board of a running machine, as CSV")
    parser.add_argument("--file", type=Path, help="write into this file (default: standard output)")
    parser.add_argument("--pid", help="the QEMU process of the machine, if several run")
    args = parser.parse_args()
    try:
        if args.file is not None and args.file.exists() and not args.file.is_file():
            raise LiveError(f"{args.file}: {'Is a directory' if args.file.is_dir() else 'not a regular file'}")
        text, said = csv_of(find(args.pid))
        if args.file is not None:
            with whole_file(args.file) as file:
                file.write(text.encode())
        else:
            print(text, end="", flush=True)
    except BrokenPipeError:  # the reader of a pipe has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        print(f"heat: {args.file or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 1
    except LiveError as error:
        print(f"heat: {error}", file=sys.stderr)
        return 1
    print(f"heat: {said}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
