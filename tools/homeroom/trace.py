# SPDX-License-Identifier: MIT
"""trace.py - read the kernel's trace, and convert it into a file for ui.perfetto.dev.

    python3 -m homeroom.trace FILE OUT

The kernel's trace is a list of events with their times: thread switches, wake-ups, page faults, disk requests, ...
FILE is the output of `trace -o`: a file, or a whole disk.  OUT is in Perfetto's own format (perfetto.py) or, if its name
ends in .json, in Chrome's trace-event format, which needs more space and memory, but which any program can read:

    a board          a process, with its CPUs as threads
    switch           a slice (bar) with the thread's name, until the next switch of the CPU; none while the CPU is idle
    name             ends the slice, and begins one with the thread's new name
    wake             a mark, and an arrow to the slice in which the thread runs next
    io, iodone       begin and end of an asynchronous slice in the process "disks"
    lock, locked     begin and end of an asynchronous slice in the process "waits"; so do events that are recorded twice
    lost events      a slice "lost N events" of their CPU
    other events     marks; samples are left out

THEORY      Times in JSON are microseconds since the first event.  The thread that runs on a CPU before its first switch is
            known only if another event on this CPU names it.  A slice that has not ended is shown up to the last event.
            The events of a CPU follow each other in the file, so the whole trace in the order of time is a merge of one
            piece of the file for each CPU.  A Source does that without holding the events in memory.
            A ring that is full loses its oldest events.  The file has a TRACE_LOST in their place, so they happened in a
            Gap: after the CPU's event before it, or after the begin of the trace, and before the event after it.  What the
            CPU did there is not known, so a run ends where the gap begins.  What another CPU has begun could have ended
            there, too: waits, disk commands and arrows end where the gap of any CPU begins, and none begins before its end.
            Events of other CPUs in this time that would begin or end one are marks.
SEE ALSO    include/uapi/trace.h (the format; the events' names are read from it), perfetto.py, docs/trace.md
"""

import heapq
import json
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from homeroom.machine import TOP

MAGIC, VERSION = b" HRTRACE", 1
HEADER, RECORD = struct.Struct("<8sIIIIQ"), struct.Struct("<QBBHIQQ")
END, LOST, CPU = 0, 254, 255
GAP_BEGINS, GAP_ENDS = -2, -1  # not in a file; less than all types, so they come before the events of the same time
MOST_ENTRIES, USUAL_ENTRIES = 1 << 17, 1 << 13  # of a ring, and without trace_entries: kernel/fs/devfs/tracedev.c
MANY = 1 << 20  # events, which are converted in 10 to 20 s
KERNEL_THREADS = 1 << 22  # the first number of a thread of the kernel; those of processes are smaller
UAPI = TOP / "include/uapi/trace.h"
NAMES = dict(enumerate(re.findall(r'^ +X\([A-Z]+, "(\w+)"', UAPI.read_text(), re.MULTILINE), 1))

STATES = ("sleeps", "waits", "runs", "ended")  # enum thread_state
ACCESS = ("read", "write", "execute", "?")
OPERATIONS = ("read", "write", "flush", "?")
LOCK_KINDS = ("mutex", "reader", "writer", "?")
WAKE_NEW, WAKE_AGAIN, WAKE_INTR = 1, 2, 4
MOVED = ("?", "advice", "used there", "spread", "call")  # enum trace_moved
POLICIES = {1: "next", 2: "random in process", 3: "random in set", 4: "random", 5: "round robin", 6: "next CPU", 15: "nodes"}
RULES = ("ufs_HW", "maxpout")  # of throttle
WRITES = ("behind", "waits", "reclaim", "?")
TWICE = ("throttle", "fsync", "commit", "flush")  # recorded at the begin, and with ENDS at the end
SAMPLES = ("memory", "misses", "link")
PAIRS = ("io", "iodone", "lock", "locked", *TWICE)
ENDS = 0x8000
NO_NODE = 0xFF
PIECE = 1 << 20  # bytes that are read at once
DISKS, LOCKS = 1000, 1001  # processes beside the boards'
SECTOR = (1 << 56) - 1


class TraceError(Exception):
    """A file is not a trace, or cannot be read or written; the text is one line."""


def slots(memory: int, cpus: int) -> int:
    """The slots of each CPU's ring with TRACE=, a power of two, for a machine with `memory` bytes.

    Together they hold MANY events and take 1/32 of the memory, at most.  USUAL_ENTRIES for each CPU is the least.
    """
    most = min(MOST_ENTRIES, MANY // cpus, memory // 32 // RECORD.size // cpus)
    return max(USUAL_ENTRIES, 1 << max(most, 1).bit_length() - 1)


@dataclass(frozen=True)
class Event:
    time: int  # ns
    name: str
    cpu: int
    info: int
    tid: int
    a: int
    b: int


def text(*numbers: int) -> str:
    """The name in the arguments of an event, 8 bytes in each."""
    return b"".join(n.to_bytes(8, "little") for n in numbers).rstrip(b"\0").decode(errors="replace")


def is_idle(tid: int, name: str) -> bool:
    """Whether this is the thread that a CPU runs when it has nothing to do; a program may have the same name."""
    return name == "idle" and tid >= KERNEL_THREADS


@dataclass
class Gap:
    """Events of a CPU are lost between two moments.  `tid`: the thread that runs at the end; 0 if this is not known."""

    begin: int
    end: int
    cpu: int
    lost: int = 0
    tid: int = 0

    def steps(self) -> tuple[tuple, tuple]:
        """The begin and the end, like events."""
        return (self.begin, GAP_BEGINS, self.cpu, 0, 0, self.lost, 0), (self.end, GAP_ENDS, self.cpu, 0, self.tid, self.lost, 0)


@dataclass
class Trace:
    boards: dict[int, int] = field(default_factory=dict)  # by CPU: memory node of its board
    events: list[Event] = field(default_factory=list)  # sorted by time; those of one CPU in their order
    lost: Counter = field(default_factory=Counter)  # by CPU: number of events that did not fit
    steps: list[Event] = field(default_factory=list)  # the events, with the begin and end of each gap
    before: dict[int, int] = field(default_factory=dict)  # as that of a Source, and `names`
    names: dict[int, str] = field(default_factory=dict)

    def of(self, name: str) -> list[Event]:
        return [e for e in self.events if e.name == name]


class Source:
    """A trace in a file, whose events are read from there piece by piece.

    `boards`: by CPU, the memory node of its board.  `lost`: by CPU, the number of events that did not fit.  `whole`: the
    trace has its end mark, and so was not cut short.  `before`: by CPU, the thread that ran when the trace began, unless
    this is not known.  `names`: by thread, for threads that ran then or after a gap, their names there, if known.
    TraceError if the file is not a trace, or damaged.
    """

    def __init__(self, file: BinaryIO, name: str = "trace") -> None:
        self._file, self._name = file, name
        self.boards: dict[int, int] = {}
        self.lost: Counter = Counter()
        self.whole = False
        self._runs: list[list[int]] = []  # CPU, first byte, number of records that follow each other
        self._losses: list[int] = []  # first bytes of TRACE_LOST records
        ncpus = self._header(file.read(HEADER.size))
        self._find_runs()
        if ncpus == 0 or len(self.boards) != ncpus or any(cpu not in self.boards for cpu, _, _ in self._runs):
            raise TraceError(f"{name}: the trace is damaged: {len(self.boards)} of {ncpus} CPUs")
        begin, self.before = self._find_before()
        self._gaps = self._find_gaps(begin)
        self.names = self._find_names({*self.before.values(), *(gap.tid for gap in self._gaps)} - {0})

    def _header(self, head: bytes) -> int:
        if head and not any(head):
            raise TraceError("the run ended before the trace was written")
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            raise TraceError(f"{self._name}: not a trace")
        _, version, size, ncpus, _, _ = HEADER.unpack(head)
        if version != VERSION or size != RECORD.size:
            raise TraceError(f"{self._name}: a trace of version {version}; this program reads {VERSION}")
        return ncpus

    def _find_runs(self) -> None:
        """Fill in boards, lost, whole and _runs from all records, without looking at each of them."""
        at = HEADER.size
        while not self.whole and (data := self._file.read(PIECE)):
            types, cpus = data[8 :: RECORD.size], data[9 :: RECORD.size]
            number = len(data) // RECORD.size
            if (end := types.find(END, 0, number)) >= 0:
                number, self.whole = end, True
            for kind in (CPU, LOST):
                i = types.find(kind, 0, number)
                while i >= 0:
                    _, _, cpu, info, _, a, _ = RECORD.unpack_from(data, i * RECORD.size)
                    if kind == CPU:
                        self.boards[cpu] = info
                    else:
                        self.lost[cpu] += a
                        self._losses.append(at + i * RECORD.size)
                    i = types.find(kind, i + 1, number)
            i = 0
            while i < number:
                rest = cpus[i:number]
                run = len(rest) - len(rest.lstrip(rest[:1]))
                if self._runs and self._runs[-1][0] == cpus[i]:
                    self._runs[-1][2] += run
                else:
                    self._runs.append([cpus[i], at + i * RECORD.size, run])
                i += run
            at += len(data)

    def _records(self, at: int, number: int, piece: int) -> Iterator[tuple]:
        while number > 0:
            self._file.seek(at)
            data = self._file.read(min(number, piece) * RECORD.size)
            for record in RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]):
                if record[1] in NAMES:
                    yield record
            at, number = at + len(data), number - piece

    def records(self, gaps: bool = False) -> Iterator[tuple]:
        """The events in the order of time, each as the tuple (time, type, cpu, info, tid, a, b).

        With `gaps` also the begin and end of each gap; `tid` of an end and `a` are as in Gap `tid` and `lost`.
        """
        piece = max(256, PIECE // RECORD.size // max(1, len(self._runs)))
        return heapq.merge(
            *(self._records(at, number, piece) for _, at, number in self._runs), *(gap.steps() for gap in self._gaps if gaps)
        )

    def remedy(self) -> str:
        """What the user can do so that the same run loses less."""
        kept: Counter = Counter()
        for cpu, _, number in self._runs:
            kept[cpu] += number
        if max(kept[cpu] for cpu in self.lost) >= MOST_ENTRIES - 1:  # a ring of N slots holds N - 1 events
            return " (larger rings are not possible; trace less, or with -e)"
        entries = 1 << max((kept + self.lost).values()).bit_length()
        larger = f"with SYSTEM='set trace_entries={min(entries, MOST_ENTRIES)}'"
        return f" (all fit {larger})" if entries <= MOST_ENTRIES else f" (fewer {larger})"

    def _find_before(self) -> tuple[int | None, dict[int, int]]:
        """The time of the first event, None if there is none; and `before`, as if no events were lost."""
        first: dict[int, tuple] = {}
        for cpu, at, number in self._runs:
            record = next(self._records(at, number, 256), None)
            if record is not None:
                first.setdefault(cpu, record)
        begin = min((record[0] for record in first.values()), default=None)
        return begin, {cpu: tid for cpu, record in first.items() if (tid := thread_before(record))}

    def _find_gaps(self, begin: int | None) -> list[Gap]:
        """The gaps.  A CPU that begins with one is taken out of `before`.

        A slow reader gets one TRACE_LOST of a CPU after the other: they are one gap.
        """
        gaps, losses, latest, last = [], iter([*self._losses, sys.maxsize]), {}, {}
        at = next(losses)
        for cpu, first, number in self._runs:
            end = first + number * RECORD.size
            while at < end:
                time, _, _, _, _, lost, _ = self._at(at)
                where = at - RECORD.size if at > first else last.get(cpu)
                since, kind = self._at(where)[:2] if where is not None else (0, CPU)
                if kind == CPU:
                    self.before.pop(cpu, None)
                    since = (time if begin is None else begin) - 1
                if kind != LOST:
                    latest[cpu] = Gap(min(since + 1, time), time, cpu)
                    gaps.append(latest[cpu])
                gap = latest[cpu]
                gap.end, gap.lost = time, gap.lost + lost
                gap.tid = thread_before(self._at(at + RECORD.size)) if at + RECORD.size < end else 0
                at = next(losses)
            last[cpu] = end - RECORD.size
        return gaps

    def _at(self, at: int) -> tuple:
        self._file.seek(at)
        return RECORD.unpack(self._file.read(RECORD.size))

    def _find_names(self, wanted: set[int]) -> dict[int, str]:
        """The name of each thread at its first switch, unless it got another name before."""
        names = {}
        for _, kind, _, _, tid, a, b in self.records() if wanted else ():
            if tid in wanted and NAMES[kind] in ("switch", "name"):
                wanted.discard(tid)
                if NAMES[kind] == "switch":
                    names[tid] = text(a, b)
            if not wanted:
                break
        return names


def thread_before(record: tuple) -> int:
    """The thread that ran on a CPU immediately before the CPU's event; 0 if the event does not say it."""
    return 0 if NAMES.get(record[1], "switch") in ("switch", "name") else record[4]


def read(file: BinaryIO, name: str = "trace") -> Trace:
    """Read a trace, up to its TRACE_END or the end of the file.  TraceError if it is not a trace, or damaged."""
    return whole_trace(Source(file, name))


def whole_trace(source: Source) -> Trace:
    names = NAMES | {GAP_BEGINS: "gap begins", GAP_ENDS: "gap ends"}
    steps = [Event(time, names[kind], *rest) for time, kind, *rest in source.records(gaps=True)]
    steps.sort(key=lambda e: e.time)
    events = [e for e in steps if not e.name.startswith("gap ")]
    return Trace(source.boards, events, source.lost, steps, source.before, source.names)


def describe(e: Event) -> tuple[str, dict]:
    """The name of a mark, and its details."""
    if e.name == "wake":
        how = "new" if e.b & WAKE_NEW else "again" if e.b & WAKE_AGAIN else "slept"
        return f"wake {e.a}", {"thread": e.a, "queue of CPU": e.info, "it": how, "by an interrupt": bool(e.b & WAKE_INTR)}
    if e.name == "migrate":
        return f"migrate {e.a}", {"thread": e.a, "from CPU": e.info}
    if e.name == "fault":
        node = {} if e.b == NO_NODE else {"node": e.b}
        return "fault", {"address": hex(e.a), "access": ACCESS[e.info & 3], "signal": bool(e.info & 4), **node}
    if e.name == "page":
        moved = MOVED[e.info >> 8] if e.info >> 8 < len(MOVED) else "?"
        return "page moves", {"address": hex(e.a), "from node": e.info & 0xFF, "to node": e.b, "reason": moved}
    if e.name == "intr":
        return f"intr {text(e.a)}", {"vector": e.info}
    if e.name == "poke":
        return f"poke {text(e.a)}", {"CPU": e.info}
    if e.name in ("touch", "fallback", "read", "write"):
        return e.name, describe_page(e)
    return e.name, {"CPUs": e.info, "from": hex(e.a), "to": hex(e.b)}


def describe_page(e: Event) -> dict:
    """The details of an event about a page of memory or of a file."""
    if e.name == "touch":
        node = {} if e.b == NO_NODE else {"node": e.b}
        return {"address": hex(e.a), "lgroup": e.info & 0xFF, "policy": POLICIES.get(e.info >> 8, "?"), **node}
    if e.name == "fallback":
        node = {} if e.info >> 8 == NO_NODE else {"node": e.info >> 8}
        return {"address": hex(e.a), "lgroup": e.info & 0xFF, "reason": text(e.b), **node}
    reason = {"reason": WRITES[e.info >> 8 & 3]} if e.name == "write" else {}
    return {"pages": e.info & 0xFF, "position": e.a, "file": hex(e.b), **reason}


def describe_begin(e: Event) -> dict:
    """The details of an event that is recorded TWICE, at its begin."""
    if e.name == "throttle":
        return {"rule": RULES[e.info & 1], "pages": e.a, "file": hex(e.b)}
    if e.name == "fsync":
        disk = {"disk": text(e.a)} if e.a else {}
        return {"file": hex(e.b), "data only": bool(e.info & 1), **disk}
    return {"transaction": e.a, "disk": text(e.b)} if e.name == "commit" else {"disk": text(e.b)}


def describe_end(e: Event) -> dict:
    """The same at its end."""
    if e.name == "commit":
        return {"blocks": e.b}
    return {"error": e.a} if e.name in ("fsync", "flush") and e.a else {}


class Converter:
    """Makes the list of trace-event objects, as described at the head of this file."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.out = trace, []
        self.begin = trace.steps[0].time if trace.steps else 0
        self.end = trace.steps[-1].time if trace.steps else 0
        self.lost: dict[int, dict] = {}  # by CPU: its gap, as a slice that has not ended
        self.called: dict[int, str] = {}  # by thread: the last name
        self.running: dict[int, dict] = {}  # by CPU: the slice that has not ended
        self.woken: dict[int, int] = {}  # by thread: the number of the arrow to its next slice
        self.spans: dict[tuple, dict] = {}  # asynchronous slices that have not ended
        self.arrows = 0

    def at(self, time: int) -> float:
        """Microseconds since the first event."""
        return (time - self.begin) / 1000

    def place(self, cpu: int) -> dict:
        return {"pid": self.trace.boards[cpu] + 1, "tid": cpu + 1}  # thread 0 is the idle thread to Perfetto

    def add(self, phase: str, name: str, time: int, **rest) -> dict:
        self.out.append({"ph": phase, "name": name, "ts": self.at(time), **rest})
        return self.out[-1]

    def begin_slice(self, time: int, cpu: int, tid: int, name: str) -> None:
        self.called[tid] = name
        if is_idle(tid, name):
            return
        mine = self.add("X", name, time, cat="run", args={"thread": tid}, **self.place(cpu))
        self.running[cpu] = mine
        if (arrow := self.woken.pop(tid, None)) is not None:
            mine.update(bind_id=hex(arrow), flow_in=True)

    def continue_slice(self, time: int, cpu: int, tid: int) -> None:
        """Thread `tid` runs, but since when is not known."""
        if (name := self.called.get(tid) or self.trace.names.get(tid)) is not None:
            self.begin_slice(time, cpu, tid, name)

    def end_slice(self, cpu: int, time: int, state: str | None) -> None:
        if (mine := self.running.pop(cpu, None)) is not None:
            mine["dur"] = self.at(time) - mine["ts"]
            if state is not None:
                mine["args"]["then it"] = state

    def span(self, e: Event, pid: int, key: tuple, name: str, args: dict) -> None:
        """Begin an asynchronous slice."""
        identity = {"cat": e.name, "id": ":".join(map(str, key)), "pid": pid, "tid": pid}
        self.add("b", name, e.time, args=args, **identity)
        self.spans[key] = {"name": name, **identity}

    def end_span(self, time: int, key: tuple, args: dict) -> None:
        if (mine := self.spans.pop(key, None)) is not None:
            self.add("e", time=time, args=args, **mine)

    def end_spans(self, time: int, why: str) -> None:
        for key in list(self.spans):
            self.end_span(time, key, {"ended": why})

    def gap(self, e: Event) -> None:
        if e.name == "gap ends":
            if (mine := self.lost.pop(e.cpu, None)) is not None:  # None: the times of the CPU do not follow each other
                mine["dur"] = self.at(e.time) - mine["ts"]
            self.continue_slice(e.time, e.cpu, e.tid)
            return
        self.end_slice(e.cpu, e.time, None)
        self.lost[e.cpu] = self.add("X", f"lost {e.a} events", e.time, dur=0, cat="lost", **self.place(e.cpu))
        self.end_spans(e.time, "events are lost")
        self.woken.clear()

    def event(self, e: Event) -> None:
        if e.name.startswith("gap "):
            self.gap(e)
        elif e.name == "switch":
            self.end_slice(e.cpu, e.time, STATES[e.info & 3])
            self.begin_slice(e.time, e.cpu, e.tid, text(e.a, e.b))
        elif e.name == "name":
            self.end_slice(e.cpu, e.time, "has another name")
            self.begin_slice(e.time, e.cpu, e.tid, text(e.a, e.b))
        elif self.lost and e.name in PAIRS:
            args = {"info": e.info, "a": hex(e.a), "b": hex(e.b)}
            self.add("i", e.name, e.time, s="t", cat=e.name, args=args, **self.place(e.cpu))
        elif e.name in ("io", "iodone"):
            disk, operation = text(e.b), OPERATIONS[e.a >> 56 & 3]
            key = (disk, operation, e.a & SECTOR)
            if e.name == "io":
                args = {"sectors": e.info, "sector": e.a & SECTOR}
                self.span(e, DISKS, key, f"{disk} {operation}", args)
            else:
                self.end_span(e.time, key, {"error": bool(e.a >> 63)})
        elif e.name == "lock":
            args = {"kind": LOCK_KINDS[e.info & 3], "address": hex(e.a), "thread": e.tid}
            self.span(e, LOCKS, (e.tid, e.a), text(e.b), args)
        elif e.name == "locked":
            self.end_span(e.time, (e.tid, e.a), {"ns": e.b})
        elif e.name in TWICE:
            if e.info & ENDS:
                self.end_span(e.time, (e.tid, e.name), describe_end(e))
            else:
                self.span(e, LOCKS, (e.tid, e.name), e.name, {"thread": e.tid, **describe_begin(e)})
        elif e.name in SAMPLES:
            return
        else:
            name, args = describe(e)
            if e.name == "wake" and not e.b & WAKE_AGAIN and not self.lost:
                self.arrows += 1
                self.woken[e.a] = self.arrows
                arrow = {"bind_id": hex(self.arrows), "flow_out": True}
                self.add("X", name, e.time, dur=0, cat="wake", args=args, **arrow, **self.place(e.cpu))
            else:
                self.add("i", name, e.time, s="t", cat=e.name, args=args, **self.place(e.cpu))

    def names(self) -> None:
        boards = sorted(set(self.trace.boards.values()))
        groups = [(board + 1, f"board {board}") for board in boards] + [(DISKS, "disks"), (LOCKS, "waits")]
        for pid, name in groups:
            self.out.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
            self.out.append({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}})
        for cpu in sorted(self.trace.boards):
            self.out.append({"ph": "M", "name": "thread_name", "args": {"name": f"CPU {cpu}"}, **self.place(cpu)})

    def convert(self) -> dict:
        self.names()
        for cpu, tid in self.trace.before.items():
            self.continue_slice(self.begin, cpu, tid)
        for e in self.trace.steps:
            self.event(e)
        for cpu in list(self.running):
            self.end_slice(cpu, self.end, None)
        self.end_spans(self.end, "after the trace")
        lost = {f"CPU {cpu}": n for cpu, n in sorted(self.trace.lost.items())}
        return {"traceEvents": self.out, "displayTimeUnit": "ns", "otherData": {"lost events": lost}}


def convert(trace: Trace) -> dict:
    """The trace as the JSON object for Perfetto."""
    return Converter(trace).convert()


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which is removed if not all of it is written.  OSError: then also, unless it could not be opened."""
    with path.open("wb") as file:
        try:
            yield file
            file.flush()
        except BaseException:
            if path.is_file():
                path.resolve().unlink()  # not a link to it
            raise


def write_json(source: Source, target: Path) -> int:
    trace = whole_trace(source)
    data = json.dumps(convert(trace)).encode()
    with whole_file(target) as file:
        file.write(data)
    return len(trace.events)


def write(source: Path, target: Path, link_mbps: float = 0) -> str:
    """Convert a file.  Returns a line for the user.  TraceError: a target of which a part is written is removed.

    `link_mbps`: the rate of a board's link in the interconnect model, MB/s; 0: it is not known.
    """
    from homeroom import perfetto  # it needs this module

    try:
        file = open(source, "rb")
    except OSError as error:
        raise TraceError(f"{source}: {error.strerror}") from error
    with file:
        trace = Source(file, str(source))
        if target.exists() and target.samefile(source):
            raise TraceError(f"{target}: the trace itself; name another file")
        try:
            events = write_json(trace, target) if target.suffix == ".json" else perfetto.write(trace, target, link_mbps)
        except OSError as error:
            raise TraceError(f"{target}: {error.strerror}") from error
    short = "" if trace.whole else " (it has no end mark: perhaps it was cut short)"
    lost = sum(trace.lost.values())
    more = trace.remedy() if lost else ""
    return f"{target}: {events} events of {len(trace.boards)} CPUs, {lost} lost{more}{short}; open it in ui.perfetto.dev"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.partition("\n\n")[2].partition("\n\n")[0], file=sys.stderr)
        return 2
    try:
        print(write(Path(sys.argv[1]), Path(sys.argv[2])))
    except TraceError as error:
        print(f"trace: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
