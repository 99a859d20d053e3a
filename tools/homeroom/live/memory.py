# SPDX-License-Identifier: MIT
"""memory.py - the memory of a running machine, read from outside.

THEORY      QEMU keeps the memory of each board in a file without a name (memfd).  Linux shows the files of a process in
            /proc/PID/fd, so another program of the same user can map them and read what the guest has in its memory, while
            the guest runs.  Neither QEMU nor the guest notices.
            Physical addresses: the boards' memory lies in the order of the boards, first below the hole for devices, then
            from 4 GiB on.  Virtual addresses of the kernel are those of the direct map, of the kernel's image, and all
            others; the last are found in the page tables.
INVARIANTS  I1  the memory is only read
SEE ALSO    kernel.py, docs/live.md, kernel/x86/layout.h
"""

import mmap
import os
import re
import select
import struct
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DIRECT_BASE = 0xFFFF888000000000
KERNEL_BASE = 0xFFFFFFFF80000000
GIB = 1 << 30
PAGE = 4096
PRESENT, LARGE, ADDRESS = 1, 1 << 7, 0x000FFFFFFFFFF000
PROC = Path("/proc")


class LiveError(Exception):
    """A machine cannot be shown; the text is one line."""


class Hopeless(LiveError):
    """It cannot be shown later, either."""


@dataclass(frozen=True)
class Process:
    """A QEMU that runs Homeroom."""

    pid: int
    name: str  # of the machine
    args: tuple[str, ...]
    parent: int  # process that started it: the launcher
    started: int  # in clock ticks since the host's boot

    def values(self, option: str) -> list[str]:
        """The values of an option of QEMU."""
        return [value for word, value in pairwise(self.args) if word == option]

    def model(self) -> dict[str, str]:
        """The options of the interconnect model (model.qemu_args); empty if the machine runs without it."""
        for value in self.values("-plugin"):
            parts = (part.replace("\0", ",") for part in value.replace(",,", "\0").split(","))
            options = dict(part.split("=", 1) for part in parts if "=" in part)
            if "page" in options:
                return options
        return {}

    def folder(self) -> Path:
        """The folder to which its relative names refer.  Hopeless if the process has ended, or belongs to another user."""
        try:
            return (PROC / str(self.pid) / "cwd").readlink()
        except OSError:
            raise Hopeless(f"process {self.pid} has ended, or belongs to another user") from None

    def runs(self) -> bool:
        return _state(self.pid) == (self.parent, self.started)

    def until_its_end(self) -> Iterator[None]:
        """A value for each turn of a loop that ends with the process; costs less than runs()."""
        try:
            file = os.pidfd_open(self.pid)
        except OSError:  # it has ended, or the host is older than Linux 5.3, or a container forbids the call
            while self.runs():
                yield
            return
        try:
            ended = select.poll()
            ended.register(file, select.POLLIN)
            if self.runs():  # the number was not given to another process meanwhile
                while not ended.poll(0):
                    yield
        finally:
            os.close(file)


def _state(pid: int) -> tuple[int, int] | None:
    """The parent of a process and when it was started; None if it has ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()  # before ")": a name of any bytes
    except OSError:
        return None
    return None if fields[0] in b"ZX" else (int(fields[1]), int(fields[19]))


def processes() -> list[Process]:
    """The machines of this user that run, the one that was started last at the end."""
    found = []
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            mine = folder.stat().st_uid == os.geteuid()
            args = tuple(os.fsdecode(word) for word in (folder / "cmdline").read_bytes().split(b"\0")[:-1])
        except OSError:
            continue
        name = next((b for a, b in pairwise(args) if a == "-name" and b.startswith("homeroom-")), None)
        qemu = mine and args and Path(args[0]).name.startswith("qemu-system-")
        if name and qemu and (state := _state(int(folder.name))) is not None:
            found.append(Process(int(folder.name), name.removeprefix("homeroom-"), args, *state))
    return sorted(found, key=lambda p: p.started)


def find(program: str, pid: str | None, fits: Callable[[Process], bool] = lambda _: True) -> Process:
    """The machine of process `pid` (PID= as it was typed); None: the one that was started last, of those that fit if any does.

    Without `pid`, and if several run, prints a line with all of them, for `program`.  LiveError if there is no such machine.
    """
    running = processes()
    names = ", ".join(f"{process.pid} {process.name}" for process in running)
    if pid is not None:
        if not re.fullmatch("[0-9]{1,9}", pid):
            raise LiveError(f"PID={pid}: write the number of a QEMU process")
        for process in running:
            if process.pid == int(pid):
                return process
        raise LiveError(f"process {pid} is no machine of yours" + (f"; there are: {names}" if running else ""))
    if not running:
        raise LiveError("no machine runs; start one in another terminal: make qemu-sf6800, or here: make live MACHINE=sf6800")
    found = ([process for process in running if fits(process)] or running)[-1]
    if len(running) > 1:
        print(f"{program}: {len(running)} machines run: {names}; this is {found.pid}, PID= chooses another", file=sys.stderr)
    return found


class Memory:
    """The memory of a machine by its physical addresses."""

    def __init__(self, boards: list[mmap.mmap]) -> None:
        self.total = sum(map(len, boards))
        low = 3 * GIB + GIB // 2  # of QEMU's board pc
        if self.total >= low:
            low = 3 * GIB
        self._bases: list[int] = []  # physical address of each piece
        self._pieces: list[tuple[mmap.mmap, int, int]] = []  # its memory, the first byte there, its length
        self.boards: list[list[tuple[int, int]]] = []  # for each board the address and length of its pieces
        at = 0
        for memory in boards:
            below = max(0, min(len(memory), low - at))
            self.boards.append([])
            for first, size in ((0, below), (below, len(memory) - below)):
                if size:
                    self._bases.append(at + first if at + first < low else at + first - low + 4 * GIB)
                    self._pieces.append((memory, first, size))
                    self.boards[-1].append((self._bases[-1], size))
            at += len(memory)

    def place(self, address: int, size: int) -> tuple[mmap.mmap, int]:
        """The board's memory that has `size` bytes at a physical address, and their place there."""
        i = bisect_right(self._bases, address) - 1
        if i >= 0:
            memory, first, length = self._pieces[i]
            offset = address - self._bases[i]
            if offset + size <= length:
                return memory, first + offset
        raise LiveError(f"no memory at {address:#x}")

    def read(self, address: int, size: int) -> bytes:
        """The bytes at a physical address; LiveError if there is no memory."""
        memory, at = self.place(address, size)
        return memory[at : at + size]

    def translate(self, top: int, address: int) -> int:
        """The physical address of a virtual one, by the page tables below `top`; LiveError if it is not mapped."""
        table = top
        for shift in (39, 30, 21, 12):
            entry = struct.unpack("<Q", self.read(table + (address >> shift & 511) * 8, 8))[0]
            if not entry & PRESENT:
                break
            if shift == 12 or (entry & LARGE and shift < 39):
                return (entry & ADDRESS & -(1 << shift)) + (address & ((1 << shift) - 1))
            table = entry & ADDRESS
        raise LiveError(f"{address:#x} is not mapped")


def open_memory(process: Process) -> Memory:
    """Map the memory of a machine.  LiveError if that is not allowed, or QEMU is starting or ending."""
    sizes = [
        int(match[1]) << 20
        for value in process.values("-object")
        if (match := re.fullmatch(r"memory-backend-memfd,id=board\d+,size=(\d+)M", value))
    ]
    folder = PROC / str(process.pid) / "fd"
    boards = []
    try:
        names = sorted((path for path in folder.iterdir()), key=lambda path: int(path.name))
        # QEMU makes them in the order of its arguments.
        for path in (path for path in names if os.readlink(path).startswith("/memfd:memory-backend-memfd")):
            with path.open("rb") as file:
                boards.append(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    except PermissionError:
        raise Hopeless(f"process {process.pid} belongs to another user") from None
    except (OSError, ValueError):  # it closes a file just now, or has not given it its size yet
        raise LiveError(f"process {process.pid} is starting or ending") from None
    if [len(memory) for memory in boards] != sizes:
        raise LiveError(f"process {process.pid} does not have the memory that its arguments say")
    return Memory(boards)
