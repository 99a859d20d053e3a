# SPDX-License-Identifier: MIT
"""perfetto.py - write a trace in Perfetto's own format, a stream of protobuf messages.

What a reader finds in the file, with the tables of Perfetto's trace processor:

    board N          a group of tracks (table track); its CPUs, and its counters, are tracks below it
    CPU N            a slice for each run of a thread, with the thread's name (table slice); none while the CPU is idle
                     a slice of length 0 for each other event of the CPU; its category is the event's name
                     a slice "lost N events" for each gap, with the category "lost"; N is also its argument "lost"
    threads          a group with a track for each thread that has waited: locks, throttle, fsync, commit, flush
    disks            a group with a track for each disk: its commands.  Commands that overlap are on tracks of the same name
    free memory      a counter of bytes (tables counter, counter_track)
    local misses, remote misses   counters: misses between two samples
    link             a counter: the share of its link that the board has used, percent; "link rate", MB/s, if the rate of
                     the link is not known
    stats            a row traced_buf_trace_writer_packet_loss with the number of all lost events, if there are any
    flow             from each wake-up to the run of the thread that follows it (table flow)

THEORY      A file of millions of events must be small, and be written in little memory.  So each event is written when it
            is read, and nothing is kept but the state of CPUs, disks and threads.  A packet has the difference to the time
            of the packet before it, by a clock of the file's own (INCREMENTAL).  Names are written once, and then
            replaced by numbers ("interned").  Packets are collected and compressed with zlib (compressed_packets).
            Messages are encoded here, because the library for protobuf takes two to three times as long as this program.
            tests/test_trace.py decodes them with that library, and with Perfetto's trace processor.
            Gaps, where events are lost, are treated as the head of trace.py says.
            The value of a counter that comes from a difference is valid from the sample before on, so it gets that time.
SEE ALSO    trace.py, docs/trace.md; https://perfetto.dev/docs/reference/trace-packet-proto (the numbers of the fields)
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from homeroom import trace
from homeroom.trace import text

BLOCK = 1 << 19  # bytes of packets that are compressed together
INCREMENTAL, BOOTTIME = 64, 6  # clocks; the first is private to the file, and counts differences
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  # TrackEvent.Type
BYTES_UNIT, COUNT_UNIT = 3, 2  # CounterDescriptor.Unit
EXPLICIT = 3  # TrackDescriptor.ChildTracksOrdering
PAGE_BYTES = 4096
FIRST_BOARD, FIRST_CPU, OTHER = 1, 300, 600  # numbers (uuid) of tracks
THREADS, DISKS = "threads", "disks"

SMALL = [bytes([i]) if i < 128 else bytes([i & 127 | 128, i >> 7]) for i in range(1 << 14)]


def varint(n: int) -> bytes:
    if n < 1 << 14:
        return SMALL[n]
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field: int, n: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3) + varint(n)


def message(field: int, data: bytes) -> bytes:
    """A field that is a message, a text or bytes."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def fixed(field: int, n: int) -> bytes:
    return varint(field << 3 | 1) + n.to_bytes(8, "little")


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


class Names:
    """Texts of one kind that are written once: `field` of InternedData; the text is field 2 of its messages."""

    def __init__(self, writer: "Writer", field: int) -> None:
        self._writer, self._field = writer, field
        self._known: dict[str, bytes] = {}

    def __getitem__(self, name: str) -> bytes:
        """The number of a text, as a varint."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = varint(len(self._known) + 1)
            self._writer.interned += message(self._field, b"\x08" + found + message(2, name.encode()))
        return found


class Writer:
    """The packets of a file.  All belong to one sequence, number 1."""

    def __init__(self, file: BinaryIO, begin: int) -> None:
        self._file, self._now, self._begin = file, begin, begin
        self._out = bytearray()
        self.interned = bytearray()  # messages that the next packet must bring along
        self.categories, self.names, self._keys, self._texts = (Names(self, field) for field in (1, 2, 3, 29))
        clocks = message(1, number(1, INCREMENTAL) + number(2, begin) + number(3, 1) + number(4, 1))
        clocks += message(1, number(1, BOOTTIME) + number(2, begin)) + number(2, BOOTTIME)
        defaults = message(59, number(58, INCREMENTAL))
        self._packet(number(13, 1) + message(6, clocks) + defaults)
        self._tracks = OTHER
        self._cache: dict[tuple, bytes] = {}  # by what is the same in many events: its fields
        self._heads: dict[str, bytes] = {}  # by name of a detail: its field

    def _packet(self, body: bytes) -> None:
        self._out += message(1, b"\x50\x01" + body)  # of sequence 1
        if len(self._out) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        self._file.write(message(1, message(50, zlib.compress(bytes(self._out)))))
        self._out.clear()

    def lost(self, n: int) -> None:
        """Add the number of lost events to Perfetto's own statistics (table stats), as a loss of data."""
        self._packet(message(35, message(1, number(19, n))))

    def track(self, name: str, parent: int = 0, uuid: int = 0, rank: int = 0, counter: bytes | None = None) -> int:
        """Describe a track.  Returns its number."""
        if uuid == 0:
            self._tracks += 1
            uuid = self._tracks
        body = number(1, uuid) + message(2, name.encode()) + number(11, EXPLICIT) + number(12, rank)
        if parent:
            body += number(5, parent)
        if counter is not None:
            body += message(8, counter)
        self._packet(message(60, body))
        return uuid

    def args(self, **values: object) -> bytes:
        """Details of an event: numbers, texts, and addresses as Address."""
        out = b""
        for key, value in values.items():
            name = self._heads.get(key)
            if name is None:
                name = self._heads[key] = b"\x08" + self._keys[key.replace("_", " ")]
            if type(value) is int:
                body = name + b"\x18" + varint(value)
            elif type(value) is str:
                body = name + b"\x88\x01" + self._texts[value]
            else:
                body = name + b"\x38" + varint(value.number)
            out += b"\x22" + SMALL[len(body)] + body
        return out

    def event(self, time: int, kind: int, track: int, category: str = "", name: str = "", more: bytes = b"") -> None:
        """Add a TrackEvent.  `more`: other fields of it, from args() and flow()."""
        key = (kind, track, category, name)
        head = self._cache.get(key)
        if head is None:
            head = b"\x48" + SMALL[kind] + b"\x58" + varint(track)
            if category:
                head += b"\x18" + self.categories[category]
            if name:
                head += b"\x50" + self.names[name]
            self._cache[key] = head
        ahead = time - self._now
        if ahead < 0:
            raise trace.TraceError("the trace is damaged: the times of a CPU do not follow each other")
        self._now = time
        body = b"\x40" + varint(ahead) + b"\x68\x02"  # the time; it needs the names and the clock of packets before it
        self._add(body, head + more)

    def value(self, time: int, track: int, value: float) -> None:
        """Add a value of a counter, valid from `time` on, which may be earlier than the events before."""
        fields = double(44, value) if isinstance(value, float) else number(30, value)
        self._add(number(8, time) + number(58, BOOTTIME) + b"\x68\x02", number(9, COUNTER) + number(11, track) + fields)

    def _add(self, body: bytes, event: bytes) -> None:
        if self.interned:
            body += message(12, bytes(self.interned))
            self.interned.clear()
        self._packet(body + b"\x5a" + varint(len(event)) + event)


def flow(number_: int, ends: bool) -> bytes:
    return fixed(48 if ends else 47, number_)


class Address:
    """A number that is shown in hexadecimal."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Lanes:
    """Slices that overlap, on as many tracks of one name as are needed."""

    def __init__(self, writer: Writer, name: str, parent: int) -> None:
        self._writer, self._name, self._parent = writer, name, parent
        self._free: list[int] = []  # tracks without a slice
        self._used: dict[object, list[int]] = {}  # by what has begun: its tracks

    def begin(self, key: object) -> int:
        track = self._free.pop() if self._free else self._writer.track(self._name, self._parent)
        self._used.setdefault(key, []).append(track)
        return track

    def end(self, key: object) -> int | None:
        """The track where `key` began; None if the begin was lost."""
        tracks = self._used.get(key)
        if not tracks:
            return None
        self._free.append(tracks.pop(0))
        return self._free[-1]

    def end_all(self) -> list[int]:
        """The tracks where something has begun."""
        tracks = [track for tracks in self._used.values() for track in tracks]
        self._free += tracks
        self._used.clear()
        return tracks


class Converter:
    """Writes the events of a trace; the head of this file says as what."""

    def __init__(self, source: trace.Source, file: BinaryIO, begin: int, link_mbps: float) -> None:
        self.out = Writer(file, begin)
        self.link_mbps = link_mbps
        self.boards = source.boards
        self.groups: dict[object, int] = {}  # by board, THREADS or DISKS: the track
        self.running: set[int] = set()  # CPUs with a run that has not ended
        self.gaps = 0  # that have not ended
        self.names: dict[int, str] = {}  # by thread: the last one
        self.later = source.names
        self.woken: dict[int, int] = {}  # by thread: the number of the arrow to its next run
        self.flows = 0
        self.disks: dict[str, Lanes] = {}
        self.waits: dict[int, tuple[int, list]] = {}  # by thread: its track, and what has begun there
        self.counters: dict[tuple, int] = {}
        self.samples: dict[tuple, tuple] = {}  # by event and board: the last one, and the CPU that recorded it
        self.how = {n: getattr(self, f"on_{name}", self.on_other) for n, name in trace.NAMES.items()}
        self.how |= {trace.GAP_BEGINS: self.on_gap, trace.GAP_ENDS: self.on_gap_end}
        self.how_in_gap = {n: self.on_in_gap if trace.NAMES.get(n) in trace.PAIRS else on for n, on in self.how.items()}
        for board in sorted({*source.boards.values()}):
            self.group(board)
        for cpu, board in sorted(source.boards.items()):
            self.out.track(f"CPU {cpu}", self.group(board), FIRST_CPU + cpu, cpu)
        if source.lost:
            self.out.lost(sum(source.lost.values()))
        for cpu, tid in source.before.items():
            self.run_on(begin, cpu, tid)

    def group(self, key: object) -> int:
        """The track of a board, of THREADS, or of DISKS."""
        if key not in self.groups:
            if isinstance(key, int):
                self.groups[key] = self.out.track(f"board {key}", 0, FIRST_BOARD + key, key)
            else:
                self.groups[key] = self.out.track(key, rank=1000)
        return self.groups[key]

    def events(self, records: Iterator[tuple]) -> tuple[int, int]:
        """Write the events.  Returns their number, and the time of the last one."""
        count = time = 0
        how, how_in_gap = self.how, self.how_in_gap
        for time, kind, cpu, info, tid, a, b in records:
            (how_in_gap if self.gaps else how)[kind](time, kind, cpu, info, tid, a, b)
            count += kind > 0
        return count, time

    def end(self, time: int) -> None:
        """End all slices that have not ended."""
        for cpu in self.running:
            self.out.event(time, END, FIRST_CPU + cpu)
        self.end_pairs(time, "after the trace")
        self.out.flush()

    def end_pairs(self, time: int, why: str) -> None:
        """End what threads wait for, and the commands of disks."""
        more = self.out.args(ended=why)
        for track, begun in self.waits.values():
            for _ in begun:
                self.out.event(time, END, track, more=more)
            begun.clear()
        for lanes in self.disks.values():
            for track in lanes.end_all():
                self.out.event(time, END, track, more=more)

    # ---- threads on CPUs ---------------------------------------------------------------------------

    def run(self, time: int, cpu: int, tid: int, name: str) -> None:
        self.names[tid] = name
        if trace.is_idle(tid, name):
            return
        more = self.out.args(thread=tid)
        arrow = self.woken.pop(tid, 0)
        if arrow:
            more += flow(arrow, ends=True)
        self.out.event(time, BEGIN, FIRST_CPU + cpu, "run", name, more)
        self.running.add(cpu)

    def run_on(self, time: int, cpu: int, tid: int) -> None:
        """Thread `tid` runs, but since when is not known."""
        name = self.names.get(tid) or self.later.get(tid)
        if name is not None:
            self.run(time, cpu, tid, name)

    def stop(self, time: int, cpu: int, then: str) -> None:
        if cpu in self.running:
            self.running.discard(cpu)
            self.out.event(time, END, FIRST_CPU + cpu, more=self.out.args(then=then))

    def on_switch(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.stop(time, cpu, trace.STATES[info & 3])
        self.run(time, cpu, tid, text(a, b))

    def on_name(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.stop(time, cpu, "has another name")
        self.run(time, cpu, tid, text(a, b))

    def on_gap(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.stop(time, cpu, "events are lost")
        self.out.event(time, BEGIN, FIRST_CPU + cpu, "lost", f"lost {a} events", self.out.args(lost=a))
        self.gaps += 1
        self.end_pairs(time, "events are lost")
        self.woken.clear()
        self.samples = {key: sample for key, sample in self.samples.items() if sample[-1] != cpu}

    def on_gap_end(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.out.event(time, END, FIRST_CPU + cpu)
        self.gaps -= 1
        self.run_on(time, cpu, tid)

    def mark(self, time: int, cpu: int, event: str, name: str, tid: int, more: bytes) -> None:
        """A mark on the track of a CPU, on which thread `tid` runs."""
        self.out.event(time, INSTANT, FIRST_CPU + cpu, event, name, self.out.args(thread=tid) + more)

    def on_wake(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        how = "new" if b & trace.WAKE_NEW else "again" if b & trace.WAKE_AGAIN else "slept"
        more = self.out.args(woken=a, queue_of_CPU=info, it=how)
        if b & trace.WAKE_INTR:
            more += self.out.args(by="an interrupt")
        if not b & trace.WAKE_AGAIN and not self.gaps:
            self.flows += 1
            self.woken[a] = self.flows
            more += flow(self.flows, ends=False)
        self.mark(time, cpu, "wake", f"wake {self.names.get(a, 'a thread')}", tid, more)

    def on_migrate(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        name = f"migrate {self.names.get(a, 'a thread')}"
        self.mark(time, cpu, "migrate", name, tid, self.out.args(moved=a, from_CPU=info))

    def on_intr(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.mark(time, cpu, "intr", text(a), tid, self.out.args(vector=info))

    def on_poke(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.mark(time, cpu, "poke", text(a), tid, self.out.args(CPU=info))

    # ---- memory and files --------------------------------------------------------------------------

    def on_fault(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        more = self.out.args(address=Address(a), **node(b))
        if info & 4:
            more += self.out.args(signal=1)
        self.mark(time, cpu, "fault", trace.ACCESS[info & 3], tid, more)

    def on_page(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        reason = trace.MOVED[info >> 8] if info >> 8 < len(trace.MOVED) else "?"
        more = self.out.args(address=Address(a), from_node=info & 255, to_node=b, reason=reason)
        self.mark(time, cpu, "page", "page moves", tid, more)

    def on_touch(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        more = self.out.args(address=Address(a), lgroup=info & 255, **node(b))
        self.mark(time, cpu, "touch", trace.POLICIES.get(info >> 8, "?"), tid, more)

    def on_fallback(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        more = self.out.args(address=Address(a), lgroup=info & 255, **node(info >> 8))
        self.mark(time, cpu, "fallback", text(b), tid, more)

    def on_read(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.mark(time, cpu, "read", "read", tid, self.out.args(pages=info, position=a, file=Address(b)))

    def on_write(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        more = self.out.args(pages=info & 255, position=a, file=Address(b))
        self.mark(time, cpu, "write", trace.WRITES[info >> 8 & 3], tid, more)

    def on_other(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        """Events without a function."""
        self.mark(time, cpu, trace.NAMES[kind], trace.NAMES[kind], tid, self.out.args(info=info, a=Address(a), b=Address(b)))

    def on_in_gap(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        """Those of PAIRS in a gap: a mark, and of a category of its own, so that no query takes it for a bar."""
        self.mark(time, cpu, trace.NAMES[kind], "in gap", tid, self.out.args(info=info, a=Address(a), b=Address(b)))

    def on_xcall(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.mark(time, cpu, "xcall", "xcall", tid, self.out.args(CPUs=info, begin=Address(a), end=Address(b)))

    # ---- disks, and what threads wait for ----------------------------------------------------------

    def on_io(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        disk, operation = text(b), trace.OPERATIONS[a >> 56 & 3]
        if disk not in self.disks:
            self.disks[disk] = Lanes(self.out, disk, self.group(DISKS))
        track = self.disks[disk].begin((operation, a & trace.SECTOR))
        more = self.out.args(sectors=info, sector=a & trace.SECTOR, thread=tid)
        self.out.event(time, BEGIN, track, "io", operation, more)

    def on_iodone(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        lanes = self.disks.get(text(b))
        track = lanes.end((trace.OPERATIONS[a >> 56 & 3], a & trace.SECTOR)) if lanes else None
        if track is not None:
            self.out.event(time, END, track, more=self.out.args(error=1) if a >> 63 else b"")

    def wait(self, time: int, tid: int, category: str, name: str, more: bytes) -> None:
        """Thread `tid` begins something that has an end, on a track of its own."""
        if tid not in self.waits:
            name_of = f"{self.names.get(tid, 'thread')} {tid}"
            self.waits[tid] = (self.out.track(name_of, self.group(THREADS)), [])
        track, begun = self.waits[tid]
        begun.append(category)
        self.out.event(time, BEGIN, track, category, name, self.out.args(thread=tid) + more)

    def done(self, time: int, tid: int, category: str, more: bytes = b"") -> None:
        """What it has begun ends, with all that it has begun since; nothing if the begin was lost."""
        track, begun = self.waits.get(tid, (0, []))
        while category in begun:
            last = begun.pop()
            self.out.event(time, END, track, more=more if last == category else b"")
            if last == category:
                return

    def on_lock(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        more = self.out.args(kind=trace.LOCK_KINDS[info & 3], address=Address(a))
        self.wait(time, tid, "lock", text(b), more)

    def on_locked(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.done(time, tid, "lock")

    def on_throttle(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        if info & trace.ENDS:
            self.done(time, tid, "throttle")
        else:
            self.wait(time, tid, "throttle", trace.RULES[info & 1], self.out.args(pages=a, file=Address(b)))

    def on_fsync(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        if info & trace.ENDS:
            self.done(time, tid, "fsync", self.out.args(error=a) if a else b"")
        else:
            disk = {"disk": text(a)} if a else {}
            self.wait(time, tid, "fsync", "fdatasync" if info & 1 else "fsync", self.out.args(file=Address(b), **disk))

    def on_commit(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        if info & trace.ENDS:
            self.done(time, tid, "commit", self.out.args(blocks=b))
        else:
            self.wait(time, tid, "commit", "commit", self.out.args(transaction=a, disk=text(b)))

    def on_flush(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        if info & trace.ENDS:
            self.done(time, tid, "flush", self.out.args(error=a) if a else b"")
        else:
            self.wait(time, tid, "flush", text(b), self.out.args(disk=text(b)))

    # ---- counters ----------------------------------------------------------------------------------

    def counter(self, board: int, name: str, description: bytes) -> int:
        if (board, name) not in self.counters:
            self.counters[board, name] = self.out.track(name, self.group(board), rank=500, counter=description)
        return self.counters[board, name]

    def before(self, kind: int, board: int, sample: tuple) -> tuple | None:
        """The last sample of this kind; None for the first.  TraceError if its counts, second and third, are larger."""
        last = self.samples.get((kind, board))
        if last is not None and (sample[1] < last[1] or sample[2] < last[2]):
            raise trace.TraceError("the trace is damaged: its counts of misses or of traffic go back")
        self.samples[kind, board] = sample
        return last

    def on_memory(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        self.out.value(time, self.counter(info, "free memory", number(3, BYTES_UNIT)), a * PAGE_BYTES)

    def on_misses(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        last = self.before(kind, info, (time, a, b, cpu))
        if last is not None:
            for name, count in (("local misses", a - last[1]), ("remote misses", b - last[2])):
                self.out.value(last[0], self.counter(info, name, number(3, COUNT_UNIT)), count)

    def on_link(self, time: int, kind: int, cpu: int, info: int, tid: int, a: int, b: int) -> None:
        last = self.before(kind, info, (time, a, b, cpu))
        if last is None:
            return
        mbps = (a - last[1]) * 1e6 / (b - last[2]) if b > last[2] else 0.0
        if self.link_mbps:
            self.out.value(last[0], self.counter(info, "link", message(6, b"%")), 100 * mbps / self.link_mbps)
        else:
            self.out.value(last[0], self.counter(info, "link rate", message(6, b"MB/s")), mbps)


def node(n: int) -> dict[str, int]:
    return {} if n == trace.NO_NODE else {"node": n}


def write(source: trace.Source, target: Path, link_mbps: float = 0) -> int:
    """Write the trace into a file.  Returns the number of events.  OSError: also of a full disk; TraceError."""
    records = source.records(gaps=True)
    first = next(records, None)
    with trace.whole_file(target) as file:
        converter = Converter(source, file, first[0] if first else 0, link_mbps)
        if first is None:
            converter.end(0)
            return 0
        count, time = converter.events(chained(first, records))
        converter.end(time)
    return count


def chained(first: tuple, rest: Iterator[tuple]) -> Iterator[tuple]:
    yield first
    yield from rest
