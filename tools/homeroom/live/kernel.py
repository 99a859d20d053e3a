# SPDX-License-Identifier: MIT
"""kernel.py - what the kernel of a running machine has in its memory: CPUs, threads, memory of the boards, counters.

THEORY      kernel.elf has the addresses of variables, and the kernel's tables (vmcoreinfo_fields and others) say where the
            fields of structs are.  A Layout makes of some fields of a struct one format of Python's module struct, so that
            one call decodes all of them.
            The machine runs while we read, so a list can change under the reader.  All that is read is checked, and what
            makes no sense is left out: the next reading, 0.1 s later, has it.
INVARIANTS  I1  a reading ends even if memory of the guest is damaged: lists are cut at LIST_MAX, numbers at their arrays
SEE ALSO    kernel/vmcoreinfo.c, kernel/stat/vmcoreinfo.h, memory.py
"""

import re
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from homeroom.live.memory import DIRECT_BASE, KERNEL_BASE, PAGE, Hopeless, LiveError, Memory

LIST_MAX = 40000  # processes have at most 30,000 threads together (kernel/proc/limits.c)
WALKS = 5  # through a list that changes meanwhile
FIELD = struct.Struct("<20s20sII")
COUNTER = struct.Struct("<Q")
EXECUTABLE = 4  # a section with code
TABLE = re.compile("vmcoreinfo_[a-z]+$")
SIZES = {1: "B", 2: "H", 4: "I", 8: "Q"}
LGRP_NONE = 255
TICK_NS = 10**7  # 1/HZ s: kernel/disp/thread.h
NO_CPU = 0xFFFFFFFF
OFFLINE, NOINTR = 1, 6
THRESHOLDS = ("cachefree", "lotsfree", "desfree", "minfree", "throttlefree")  # of the page daemon (kernel/pages/pageout.c)
# Of a CPU.  A test compares `migr` with the events.
STATS = ("usr_ticks", "sys_ticks", "idl_ticks", "wt_ticks", "intr", "ithr", "steals", "migr", "scan", "zero_pages")
NAME_MAX = 32  # bytes of an interrupt's name


def text(name: bytes) -> str:
    """A string of the kernel."""
    return name.split(b"\0")[0].decode(errors="replace")


class Symbols:
    """The symbols of an ELF file: address and size by name, and the bytes of a variable."""

    def __init__(self, path: Path) -> None:
        try:
            self._data = path.read_bytes()
        except OSError as error:
            raise Hopeless(f"{path}: {error.strerror}") from error
        try:
            self._parse()
        except (struct.error, ValueError, IndexError):
            raise Hopeless(f"{path} is not a kernel with symbols") from None

    def _parse(self) -> None:
        if self._data[:6] != b"\x7fELF\2\1":
            raise ValueError
        shoff, shentsize, shnum = (struct.unpack_from(f, self._data, at)[0] for f, at in (("<Q", 40), ("<H", 58), ("<H", 60)))
        self._sections = [struct.unpack_from("<IIQQQQIIQQ", self._data, shoff + i * shentsize) for i in range(shnum)]
        table = next((s for s in self._sections if s[1] == 2), None)
        if table is None:
            raise ValueError
        text = self._sections[table[6]][4]
        self.at: dict[str, tuple[int, int]] = {}
        for name, _, _, _, value, size in struct.iter_unpack("<IBBHQQ", self._data[table[4] : table[4] + table[5]]):
            end = self._data.index(b"\0", text + name)
            self.at.setdefault(self._data[text + name : end].decode(), (value, size))

    def bytes_of(self, name: str) -> bytes:
        """The contents of a constant."""
        address, size = self.at[name]
        for _, kind, _, start, offset, length, *_ in self._sections:
            if kind == 1 and start <= address and address + size <= start + length:
                return self._data[offset + address - start : offset + address - start + size]
        raise LiveError(f"{name} has no contents in kernel.elf")

    def code(self) -> tuple[int, bytes]:
        """The address and the bytes of the kernel's functions, which contain the addresses of all that they use."""
        for _, kind, flags, start, offset, length, *_ in self._sections:
            if kind == 1 and flags & EXECUTABLE and start >= KERNEL_BASE:
                return start, self._data[offset : offset + length]
        raise Hopeless("kernel.elf has no code")


Decoder = Callable[[], tuple]  # gives the present fields of one struct


class Layout:
    """Some fields of a struct of the kernel, which unpack() decodes together."""

    def __init__(self, fields: dict[tuple[str, str], tuple[int, int]], type_: str, *names: str) -> None:
        placed = sorted((*fields[type_, name], i) for i, name in enumerate(names))
        form, end = "<", 0
        for offset, size, _ in placed:
            form += f"{offset - end}x{SIZES.get(size, f'{size}s')}"
            end = offset + size
        packed = struct.Struct(form)
        self.size = end
        self.unpack, self.unpack_from = packed.unpack, packed.unpack_from  # give the fields in the order of their names
        order = [[i for _, _, i in placed].index(i) for i in range(len(names))]
        if order != sorted(order):
            pick = itemgetter(*order)
            self.unpack = lambda data: pick(packed.unpack(data))
            self.unpack_from = lambda memory, at: pick(packed.unpack_from(memory, at))
        self.decoders: dict[int, Decoder] = {}  # by address, so that the place of a struct is found only once


class _CpuAt(NamedTuple):
    """What does not change of a CPU."""

    address: int
    id: int
    node: int
    lgrp: int
    intr: int  # address
    now: Decoder  # of what it runs
    disp: Decoder
    stat: Decoder
    npages: Decoder


class Thread(NamedTuple):
    tid: int
    pid: int
    name: str
    state: int
    home: int  # LGRP_NONE: a kernel thread
    cpu: int
    bound: int  # CPU to which it is bound; NO_CPU: none
    pset: int
    space: int  # address of its address space; 0: a kernel thread
    process: int  # address of its process


class Cpu(NamedTuple):
    id: int
    node: int
    lgrp: int
    state: int  # P_ONLINE 2, P_OFFLINE 1, P_NOINTR 6
    pset: int  # -1: the default set
    in_user: bool
    idle: bool
    queued: int
    tid: int
    trace: int  # address of the ring of its trace; 0: it has none
    stat: tuple[int, ...]  # in the order of STATS


@dataclass
class Node:
    installed: int  # pages
    free: int


class Disk(NamedTuple):
    name: str
    waiting: int  # requests in the queue
    running: int  # requests at the device
    nread: int  # bytes
    nwritten: int


@dataclass
class Reading:
    """What the kernel had at one moment."""

    ticks: int  # time of the machine's clock at the last tick, in units of TICK_NS
    cpus: list[Cpu] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    disks: list[Disk] = field(default_factory=list)
    migrated: list[int] = field(default_factory=list)  # for each node the pages that have moved there


def physical(address: int) -> int:
    """The physical address of one of the direct map or of the kernel's image."""
    return address - (KERNEL_BASE if address >= KERNEL_BASE else DIRECT_BASE)


class Kernel:
    """The kernel of one machine."""

    def __init__(self, symbols: Symbols, memory: Memory) -> None:
        self._symbols, self.memory = symbols, memory
        if "vmcoreinfo_fields" not in symbols.at:
            raise Hopeless("this kernel does not say where its fields are: it was built with PROFILE=core, or is too old")
        address, code = symbols.code()
        self._compare(self.read(address, len(code)), code)
        fields = {}
        for symbol in filter(TABLE.match, symbols.at):
            table = symbols.bytes_of(symbol)
            for type_, name, offset, size in FIELD.iter_unpack(table):
                fields[text(type_), text(name)] = (offset, size)
        self._fields = fields
        names = ("tid", "state", "cpu", "bound_cpu", "part", "lg", "lwp", "name", "all_link", "as")
        self._thread = Layout(fields, "thread", *names)
        self._home = fields["lgrp_thread", "home"][0]
        self._cpu = Layout(fields, "cpu", "id", "node", "lgrp", "intr", "disp", "stat", "mem")
        self._now = Layout(fields, "cpu", "in_user", "idle", "thread", "trace")
        fields["disp_cpu", "nrun"] = fields["disp_queue", "nrun"]  # the queue is its first member
        self._disp = Layout(fields, "disp_cpu", "nrun", "part", "state")
        self._tid = Layout(fields, "thread", "tid")
        self._stat = Layout(fields, "cpu_stat", *STATS)
        self._lwp = Layout(fields, "lwp", "proc")
        self._pid = Layout(fields, "proc", "pid")
        self._homes = fields["proc", "lgrp"][0] + fields["lgrp_proc", "bitmap"][0]
        self.page = Layout(fields, "page", "flags", "obj")  # of a frame
        self._npages = Layout(fields, "mem_cpu", "npages")
        self._node = Layout(fields, "mem_node", "nfree_pages", "ninstalled_pages")
        self._node_size = fields["mem_node", ""][1]
        self._link = fields["thread", "all_link"][0]
        fields["list_node", "next"] = (0, 8)
        self._next = Layout(fields, "list_node", "next")
        self._migrated, self._lgrp_size = fields["lgrp_counters", "migr_to"][0], fields["lgrp_counters", ""][1]
        self._kinds = Layout(fields, "intr_cpu", "timer", "poke", "tlb")
        self._devices = fields["intr_cpu", "dev"]
        self._disk = Layout(fields, "disk", "link", "name", "whole", "stats")
        self._io = Layout(fields, "io_stats", "wcnt", "rcnt", "nread", "nwritten")
        self._ring = Layout(fields, "trace_ring", "head", "mask", "slot")
        self._cpus: list[_CpuAt] = []
        self._idle: set[int] = set()  # places of the idle threads in the list; these threads never end
        self._sets: dict[int, int] = {}  # numbers of processor sets, by address, in one reading
        self._processes: dict[int, tuple[int, int, int]] = {}  # by address of a thread its number, and its process
        self._known: dict[int, tuple[tuple, Thread, int]] = {}  # by address what a thread had, and what came of that

    @staticmethod
    def _compare(memory: bytes, code: bytes) -> None:
        """Compare the code in the machine with that of kernel.elf.  Hopeless if the machine has another kernel.

        LiveError if it has not loaded all of its kernel yet: then the bytes that are different are zero, as all memory of a
        machine that starts.
        """
        if memory == code:
            return
        for at in range(0, len(code), PAGE):
            there, here = memory[at : at + PAGE], code[at : at + PAGE]
            if there != here and any(a and a != b for a, b in zip(there, here, strict=True)):
                raise Hopeless("kernel.elf is not the kernel that runs in this machine: start the machine again")
        raise LiveError("the kernel of this machine has not been loaded, or is not kernel.elf: start the machine again")

    # ---- memory ----------------------------------------------------------------------------------

    def read(self, address: int, size: int) -> bytes:
        """The bytes at an address of the direct map or of the kernel's image."""
        return self.memory.read(physical(address), size)

    def _variable(self, name: str, size: int | None = None) -> bytes:
        address, whole = self._symbols.at[name]
        return self.read(address, whole if size is None else size)

    def number(self, name: str) -> int:
        """The value of a variable that is a number."""
        return int.from_bytes(self._variable(name), "little")

    def field(self, type_: str, name: str) -> int:
        """The offset of a field."""
        return self._fields[type_, name][0]

    def page_table(self, space: int) -> int:
        """The physical address of the top-level page table of an address space."""
        return int.from_bytes(self.read(space + self._fields["as", "cr3"][0], 8), "little")

    def families(self, threads: list[Thread]) -> dict[int, int]:
        """The homes of the threads of each family of processes (kernel/pages/owner.h), by the address of the family."""
        found: dict[int, int] = {}
        anon, family = self._fields["as", "anon"][0], self._fields["vm_object", "family"][0]
        for space, process in {t.space: t.process for t in threads if t.space and t.process}.items():
            try:
                homes = int.from_bytes(self.read(process + self._homes, 8), "little")
                address = int.from_bytes(self.read(space + anon + family, 8), "little")
            except LiveError:  # the process has ended
                continue
            found[address] = found.get(address, 0) | homes
        return found

    # ---- readings --------------------------------------------------------------------------------

    def _pset(self, part: int) -> int:
        """The number of the set at an address."""
        if part not in self._sets:
            self._sets[part] = struct.unpack("<i", self.read(part, 4))[0] if part else -1
        return self._sets[part]

    def _decoder(self, layout: Layout, address: int) -> Decoder:
        """A decoder of the struct at an address."""
        return partial(layout.unpack_from, *self.memory.place(physical(address), layout.size))

    def _at(self, layout: Layout, address: int) -> tuple:
        """The fields of the struct at an address, for structs of which each reading has many."""
        decode = layout.decoders.get(address)
        if decode is None:
            if len(layout.decoders) > LIST_MAX:
                layout.decoders.clear()
            decode = layout.decoders[address] = self._decoder(layout, address)
        return decode()

    def _read_cpu(self, at: _CpuAt) -> Cpu:
        in_user, idle, thread, trace = at.now()
        queued, part, state = at.disp()
        (tid,) = self._at(self._tid, thread)
        return Cpu(at.id, at.node, at.lgrp, state, self._pset(part), bool(in_user), bool(idle), queued, tid, trace, at.stat())

    def forget(self, but: Collection[int] = ()) -> None:
        """Forget what is known of threads that have ended, all but those at some addresses.

        Later another thread can be at the address of one and have its number, because numbers begin again.
        """
        for known in (self._known, self._processes):
            for address in known.keys() - but:
                del known[address]

    def _process(self, address: int, tid: int, lwp: int) -> tuple[int, int]:
        """The process of a thread: its pid and address.  They do not change while the thread lives."""
        known, *found = self._processes.get(address, (-1,))
        if known != tid:
            (proc,) = self._lwp.unpack(self.read(lwp, self._lwp.size))
            (pid,) = self._pid.unpack(self.read(proc, self._pid.size))
            found = (pid, proc)
            if pid:  # else the process begins, and has no pid yet
                self._processes[address] = (tid, pid, proc)
        return tuple(found)

    def _read_thread(self, address: int, numbers: dict[int, int]) -> tuple[Thread, int]:
        """A thread, and the link to the next one."""
        found = self._at(self._thread, address)
        tid, state, cpu, bound, part, lg, lwp, name, link, space = found
        found += (pset := self._pset(part),)
        known = self._known.get(address)
        if known is not None and known[0] == found:
            return known[1:]
        pid, proc = self._process(address, tid, lwp) if lwp else (0, 0)
        thread = Thread(tid, pid, text(name), state, lg[self._home], numbers.get(cpu, -1), bound, pset, space, proc)
        after = int.from_bytes(link[:8], "little")
        if pid or not lwp:
            self._known[address] = (found, thread, after)
        return thread, after

    def _walk(self, numbers: dict[int, int], found: dict[int, Thread | None]) -> bool:
        """Add the threads in the kernel's list to `found`, by address; None: an idle thread, or one that begins just now.

        Returns whether the list was followed to its end.
        """
        head, at = self._symbols.at["all_threads"][0], int.from_bytes(self._variable("all_threads", 8), "little")
        for _ in range(LIST_MAX):
            if at == head:
                return True
            try:
                if at in self._idle:
                    found[at] = None
                    (at,) = self._at(self._next, at)
                    continue
                thread, link = self._read_thread(at - self._link, numbers)
            except LiveError:  # the thread ended while we read it
                return False
            if not thread.process and thread.name == "idle":
                self._idle.add(at)
            begins = thread.process and not thread.pid
            found[at] = None if begins or at in self._idle else thread
            at = link
        return False

    def _threads(self) -> list[Thread]:
        """The threads of processes, and those of the kernel; without the idle threads.

        The kernel moves the first thread of the list to its end (class_tick() in kernel/disp/class.c).  If we read this thread
        just then, the end of the list follows it.  So threads are counted, and if some lack, another walk adds them.
        """
        numbers, found = {at.address: at.id for at in self._cpus}, {}
        for _ in range(WALKS):
            whole = self._walk(numbers, found)
            if whole and len(found) >= self.number("all_threads_count"):
                break
        self.forget({at - self._link for at in found})
        return [thread for thread in found.values() if thread is not None]

    def _find_cpus(self) -> None:
        """Find what does not change of the CPUs.  LiveError if the kernel has not prepared all of them."""
        count = self.number("ncpu")
        if not 0 < count <= self._symbols.at["cpus"][1] // 8:
            raise LiveError("the kernel has not started its CPUs")
        if len(self._cpus) < count:
            pointers = struct.unpack(f"<{count}Q", self._variable("cpus", 8 * count))
            found = []
            for address in pointers:
                id_, node, lgrp, intr, *parts = self._cpu.unpack(self.read(address, self._cpu.size)) if address else [0] * 7
                if not (intr and all(parts)):
                    raise LiveError("the kernel has not started its CPUs")
                layouts = self._now, self._disp, self._stat, self._npages
                found.append(_CpuAt(address, id_, node, lgrp, intr, *map(self._decoder, layouts, (address, *parts))))
            self._cpus = found

    def _disks(self) -> list[Disk]:
        """The whole disks.  None in a kernel without disks."""
        if "disks" not in self._symbols.at:
            return []
        head = self._symbols.at["disks"][0]
        found, at = [], int.from_bytes(self._variable("disks", 8), "little")
        for _ in range(LIST_MAX):
            if at == head:
                break
            link, name, whole, stats = self._disk.unpack(self.read(at, self._disk.size))
            if not whole:
                found.append(Disk(text(name), *self._io.unpack(stats[: self._io.size])))
            at = int.from_bytes(link[:8], "little")
        return found

    def paging(self) -> list[int]:
        """The thresholds of the page daemon, in pages, in the order of THRESHOLDS; none in a kernel without it."""
        return [self.number(name) for name in THRESHOLDS] if "lotsfree" in self._symbols.at else []

    def ring(self, address: int) -> tuple:
        """A ring of the trace: how many records were written to it, the number of its slots minus 1, and their address."""
        return self._at(self._ring, address)

    def interrupts(self) -> list[dict[str, int]]:
        """For each CPU how many interrupts it has taken, by source."""
        pointers = struct.unpack(f"<{self._symbols.at['intr_names'][1] // 8}Q", self._variable("intr_names"))
        offset, size = self._devices
        each = size // len(pointers)
        names = {number: text(self.read(at, NAME_MAX)) for number, at in enumerate(pointers) if at}
        found = []
        for at in self._cpus:
            data = self.read(at.intr, max(offset + size, self._kinds.size))
            counts = {name: int.from_bytes(data[(p := offset + i * each) : p + 8], "little") for i, name in names.items()}
            found.append(
                dict(zip(("timer", "poke", "tlb"), self._kinds.unpack(data[: self._kinds.size]), strict=True)) | counts
            )
        return found

    def reading(self) -> Reading:
        """What the kernel has now.  LiveError while it has not started."""
        now = Reading(self.number("clock_ns") // TICK_NS)  # not lbolt: a busy host makes the machine lose ticks
        self._sets.clear()
        self._find_cpus()
        now.cpus = [self._read_cpu(at) for at in self._cpus]
        now.threads = self._threads()
        table = self._symbols.at["mem_nodes"][0]
        if (nnodes := self.number("nnodes")) > self._symbols.at["mem_nodes"][1] // self._node_size:
            raise LiveError("the kernel's memory is damaged: start the machine again")
        data = self.read(table, nnodes * self._node_size)
        for at in range(0, len(data), self._node_size):
            free, installed = self._node.unpack_from(data, at)
            now.nodes.append(Node(installed, free))
        # Nodes without memory have the last numbers, and are not among nnodes.
        now.nodes += [Node(0, 0) for _ in range(len(now.nodes), 1 + max(at.node for at in self._cpus))]
        for at in self._cpus:
            (npages,) = at.npages()
            now.nodes[at.node].free += npages
        data = self._variable("lgrp_counters", len(now.nodes) * self._lgrp_size)
        now.migrated = [COUNTER.unpack_from(data, at)[0] for at in range(self._migrated, len(data), self._lgrp_size)]
        now.disks = self._disks()
        return now


def open_kernel(process, memory: Memory) -> Kernel:
    """The kernel of a process of memory.processes()."""
    kernels = process.values("-kernel")
    if not kernels:
        raise Hopeless("this machine was booted from a CD, and its kernel.elf is not known")
    try:
        return Kernel(Symbols(process.folder() / kernels[0]), memory)
    except KeyError as error:
        raise Hopeless(f"this kernel is of another version: it does not say where {error.args[0]} is") from None
