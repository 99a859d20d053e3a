# SPDX-License-Identifier: MIT
"""fireplane.py - read the counters of the interconnect model from outside the guest.

THEORY      The model and the guest share a region of memory (the "page"), and the model writes its counters there.  The
            region is a file, so programs on the host can read it, too.  While a guest runs, the file is
            build/fireplane/MACHINE.PID.page with the PID of the launcher; afterwards it is build/fireplane/MACHINE.last.
            With MODEL_PAGE= it has that name instead.
            The layout is defined in include/uapi/fireplane.h; this file repeats it with ctypes.
            tests/test_fireplane_page.py compiles a C program and compares all offsets.
INVARIANTS  I1  the file is only read, never written
            I2  a file that is too short, or has another version, raises an error with one line
SEE ALSO    docs/fireplane.md, tools/homeroom/watch.py, tools/homeroom/experiments
"""

import contextlib
import ctypes
import mmap
import operator
import os
import re
import struct
from ctypes import c_char, c_uint32, c_uint64
from pathlib import Path

from homeroom.machine import TOP

MAGIC = 0x454E414C50455246
VERSION = 4
SHARED_BYTES = 1 << 20
MAX_CPUS, MAX_BOARDS = 256, 64
RESOURCES = ("port", "memory", "bus", "request", "response", "crossbar")
PAGES = (TOP / "build/fireplane", TOP / "build/experiments/runs")  # folders with the pages of running guests


class PageError(Exception):
    """A file is not a page of the model; the text is one line."""


class Header(ctypes.LittleEndianStructure):
    _fields_ = (
        ("magic", c_uint64),
        ("version", c_uint32),
        ("ncpus", c_uint32),
        ("nboards", c_uint32),
        ("armed", c_uint32),
        ("clock_ps", c_uint64),
        ("ecache_bytes", c_uint64),
        ("accesses", c_uint64),
        ("skew_ps", c_uint64),
        ("boards_known", c_uint32),
        ("ecache_ways", c_uint32),
        ("tested", c_uint32),
        ("disarmed", c_uint32),
        ("params", c_char * 2048),
        ("heat_every", c_uint64),
    )


class Counts(ctypes.LittleEndianStructure):
    _fields_ = (
        ("time_ps", c_uint64),
        ("instr", c_uint64),
        ("loads", c_uint64),
        ("stores", c_uint64),
        ("ec_ref", c_uint64),
        ("ec_hit", c_uint64),
        ("miss_local", c_uint64),
        ("miss_remote", c_uint64),
        ("load_miss_local", c_uint64),
        ("load_miss_remote", c_uint64),
        ("writeback", c_uint64),
        ("stall_ps", c_uint64),
        ("fp_stall_ps", c_uint64),
        ("queue_ps", c_uint64 * len(RESOURCES)),
    )


class Cpu(ctypes.LittleEndianStructure):
    _fields_ = (
        ("counts", Counts),
        ("board", c_uint32),
        ("active", c_uint32),
        ("ret", c_uint64 * 2),
        ("arg", c_uint64 * 4),
    )


NUMBERS = struct.Struct(f"<{ctypes.sizeof(Counts) // 8}Q2I")  # the beginning of Cpu
PLACES = {name: i for i, (name, _) in enumerate(Counts._fields_[:-1])} | {  # there, by name
    "board": ctypes.sizeof(Counts) // 8,
    "active": ctypes.sizeof(Counts) // 8 + 1,
}
CPU_OFFSET, CPU_STRIDE = 4096, 512
TRAFFIC_OFFSET = CPU_OFFSET + MAX_CPUS * CPU_STRIDE
TRAFFIC_STRIDE = 8 * MAX_BOARDS
TRAFFIC_END = TRAFFIC_OFFSET + MAX_BOARDS * TRAFFIC_STRIDE


class Page:
    """A copy of a shared page."""

    def __init__(self, data: bytes, name: str = "page") -> None:
        if len(data) < TRAFFIC_END:
            raise PageError(f"{name}: {len(data)} bytes; a page of the model has {SHARED_BYTES}")
        self._data = data
        self.header = Header.from_buffer_copy(data)
        if self.header.magic != MAGIC:
            raise PageError(f"{name}: the model has not started (no magic number)")
        if self.header.version != VERSION:
            raise PageError(f"{name}: layout version {self.header.version}; this program reads {VERSION}")
        if self.header.ncpus > MAX_CPUS or self.header.nboards > MAX_BOARDS:
            raise PageError(f"{name}: {self.header.ncpus} CPUs on {self.header.nboards} boards are more than can be")

    def fields(self, *names: str) -> list[tuple]:
        """For each CPU the fields of Cpu and Counts with these names."""
        pick = operator.itemgetter(*(PLACES[name] for name in names))
        at = range(CPU_OFFSET, CPU_OFFSET + self.header.ncpus * CPU_STRIDE, CPU_STRIDE)
        return [pick(NUMBERS.unpack_from(self._data, place)) for place in at]

    def traffic(self) -> list[list[int]]:
        """Bytes moved, [from board][to board]."""
        row, boards = struct.Struct(f"<{self.header.nboards}Q"), range(self.header.nboards)
        return [list(row.unpack_from(self._data, TRAFFIC_OFFSET + i * TRAFFIC_STRIDE)) for i in boards]

    def params(self) -> dict[str, str]:
        """The parameters that the model uses, as it wrote them into the page."""
        pairs = (line.partition("=") for line in self.header.params.decode(errors="replace").splitlines())
        return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def read(path: Path) -> Page:
    """Read the page in a file (I1).  PageError as in I2, or if the file cannot be read."""
    try:
        return Page(path.read_bytes(), path.name)
    except OSError as error:
        raise PageError(f"{path}: {error.strerror}") from error


class Live:
    """The page of a running guest, mapped into memory: each read() copies its current contents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except (OSError, ValueError) as error:
            raise PageError(f"{path}: {getattr(error, 'strerror', None) or 'the file is empty'}") from error

    def read(self) -> Page:
        return Page(self._map[:TRAFFIC_END], self.path.name)

    def ended(self) -> bool:
        """Whether the launcher has ended, or the file was removed."""
        return not self.path.exists() or not _launcher_lives(self.path)


def _launcher_lives(path: Path) -> bool:
    """Whether the process in the name of a page still runs; True for a name without a PID."""
    match = re.fullmatch(r".*\.(\d+)\.page", path.name)
    if match is None:
        return True
    with contextlib.suppress(PermissionError):
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            return False
    return True


def newest(folders: tuple[Path, ...] = PAGES) -> Path | None:
    """The page of the running guest that was started last; None if no guest runs."""
    found = []
    for path in (path for folder in folders for path in folder.glob("*.page")):
        with contextlib.suppress(OSError):
            if _launcher_lives(path):
                found.append((path.stat().st_ctime, path))
    return max(found)[1] if found else None


def newest_ended(folder: Path = PAGES[0]) -> Path | None:
    """The page of the guest that ended last; None if there is none."""
    return max(folder.glob("*.last"), key=lambda path: path.stat().st_ctime, default=None)
