# SPDX-License-Identifier: MIT
"""state.py - what the page shows of a machine at one moment, and what has happened since the moment before.

THEORY      A Watcher reads the machine (kernel.py) and the model's page (fireplane.py) again and again.  From two readings it
            computes a Frame: states, rates and events.  A frame is a dictionary that can be written as JSON:
                t   seconds since the machine started, by its own clock
                c   for each CPU [state, set, thread, threads in its queue, user %, system %, fenced, interrupts a second]
                h   for each thread, by its id, [process, name, state, home, CPU, bound CPU, set]
                n   for each node [installed, free] in pages, then the used ones as frames.KINDS
                d   for each disk [name, requests that wait, requests at the device, bytes read, bytes written a second]
                b   for each board [active CPUs, instructions, local misses, remote misses, bytes out, bytes in], each since
                    the model was armed; then m: modelled ps, and k: modelled ps that the links have had, see _link_time()
                a   whether the model counts; e: events since the frame before: [kind, text, CPU or -1]
            and once a second, because it changes little or is long:
                i   for each CPU the interrupts a second, by source
                p   the page daemon's thresholds, in pages, as kernel.THRESHOLDS
            Most events are found by comparison, so what is undone before the next reading is not seen.  While the machine's
            trace is on, migrations and short-lived threads come from its rings (rings.py), and the comparison has only the
            migrations that the rings have lost.
            A thread has migrated when the kernel says so (put_on_cpu() in kernel/disp/runq.c): it got a CPU that is not the
            one on which it ran before.  thread.cpu changes only there, so the state of the thread does not matter.
            `first touch`, `pages migrated` and `reclaim` begin with the first reading that has such pages, and are an event
            again when QUIET readings had none.
SEE ALSO    server.py, page/picture.js, docs/live.md
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from homeroom import boards, fireplane
from homeroom.live import frames, rings
from homeroom.live.kernel import LGRP_NONE, NO_CPU, NOINTR, OFFLINE, STATS, Cpu, Kernel, Reading, Thread, open_kernel
from homeroom.live.memory import Hopeless, LiveError, Process, open_memory
from homeroom.trace import WAKE_NEW, Event

HZ = 100
ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # a frame, as text
KERNEL_TID = 1 << 22  # the first number of a thread of the kernel (kernel/disp/thread.c)
TS_SLEEP, TS_RUNNABLE, TS_ONPROC, TS_ZOMBIE = range(4)
LINES_MAX = 40  # events in a frame, unless more fences are broken
FENCE_BROKEN = "fence broken"  # the kind of an event that the picture shows as well
SEVERAL = 3  # threads of one name that are an event each
TOUCHED = 256  # pages that the CPUs of a board zero between two readings before that is an event: 1 MiB
QUIET = 10  # readings
TICKS_MIN = 10  # of the guest's clock, before its interrupts are rates: with the model a second of the host can be less
BOOT = 60  # seconds in which a kernel must start
LATE = 5  # seconds after which a reading is not compared with the one before
SLOW = 10  # readings from one with `i` and `p` to the next


def thread_list(kind: str, threads: list[Thread], one: str, many: str) -> Iterator[tuple[str, str, int]]:
    """Events of some threads; one event for threads of one name if there are more than SEVERAL."""
    groups: dict[str, list[Thread]] = defaultdict(list)
    for t in sorted(threads):
        groups[t.name].append(t)
    for name, group in groups.items():
        if len(group) > SEVERAL:
            yield kind, f"{len(group)} threads ({name}) {many}", -1
        else:
            yield from ((kind, f"thread {t.tid} ({name}) of process {t.pid} {one}", t.cpu) for t in group)


def shortened(found: list[list]) -> list[list]:
    """LINES_MAX of some events, in their order, then one that counts the others; all, if they are not more.

    All broken fences stay, because the picture of their CPUs shows them, and one event of each kind, because the slider of a
    recording has marks for kinds.
    """
    if len(found) <= LINES_MAX:
        return found
    first = {kind: i for i, (kind, *_) in reversed([*enumerate(found)])}
    must = {i for i, (kind, *_) in enumerate(found) if kind == FENCE_BROKEN or first[kind] == i}
    others = [i for i in range(len(found)) if i not in must]
    keep = sorted([*must, *others[: max(0, LINES_MAX - len(must))]])
    left = Counter(kind for kind, *_ in found) - Counter(found[i][0] for i in keep)
    kinds = ", ".join(f"{n} {kind}" for kind, n in left.items())
    more = [["more", f"{left.total()} more events: {kinds}", -1]] if left else []
    return [found[i] for i in keep] + more


class Events:
    """What has happened between the readings of a machine."""

    def __init__(self, kernel: Kernel) -> None:
        names = ("ithr", "steals", "scan", "zero_pages")
        self._ithr, self._steals, self._scan, self._zeroed = (STATS.index(name) for name in names)
        self._rings = rings.Rings(kernel, "migrate", "wake")
        self._old: Reading | None = None
        self._born: list[tuple[int, int]] = []  # threads that began before the last look at the trace, and their CPUs
        self._ran: dict[int, int] = {}  # by thread the CPU of its last migration, of those in the last look at the trace
        self._active: dict[tuple, int] = {}  # by event the readings left until it may be one again

    def _thread_events(self, old: dict[int, Thread], new: dict[int, Thread]) -> Iterator[tuple[str, str, int]]:
        # Another process with a thread of the same number is another thread.
        same = {tid for tid in new.keys() & old.keys() if new[tid].pid == old[tid].pid}
        yield from thread_list("created", [new[tid] for tid in new.keys() - same], "begins", "begin")
        yield from thread_list("ended", [old[tid] for tid in old.keys() - same], "has ended", "have ended")
        for tid in sorted(same):
            was, t = old[tid], new[tid]
            if was is t:
                continue
            if was.home != t.home and t.home != LGRP_NONE:
                yield "re-homed", f"thread {tid} ({t.name}): home {was.home} -> {t.home}", t.cpu
            if was.pset != t.pset:
                where = f"set {t.pset}" if t.pset >= 0 else "the default set"
                yield "set bound", f"thread {tid} ({t.name}) is now in {where}", t.cpu

    def _migrations(self, trace: list[Event], old: dict[int, Thread], new: dict[int, Thread]) -> Iterator[tuple[str, str, int]]:
        """Migrations of threads of processes: from the trace, and of the others those that a comparison shows."""
        # The threads were read before the trace, so what it has last may be new in the next reading.
        ran, self._ran = self._ran, {}
        for event in trace:
            if event.name == "migrate" and event.a < KERNEL_TID:
                self._ran[event.a] = event.cpu
                thread = new.get(event.a) or old.get(event.a)
                name = f" ({thread.name})" if thread else ""
                yield "migrated", f"thread {event.a}{name}: CPU {event.info} -> {event.cpu}", event.cpu
        for tid, t in sorted(new.items()):
            was = old.get(tid)
            if was and was.pid == t.pid and tid not in self._ran and (cpu := ran.get(tid, was.cpu)) != t.cpu:
                yield "migrated", f"thread {tid} ({t.name}): CPU {cpu} -> {t.cpu}", t.cpu

    def _short_lived(
        self, trace: list[Event], old: dict[int, Thread], new: dict[int, Thread]
    ) -> Iterator[tuple[str, str, int]]:
        """Threads that no reading has, from the trace."""
        for tid, cpu in self._born:
            if tid not in old and tid not in new:
                yield "created", f"thread {tid} begins, and ends within 0.1 s", cpu
        self._born = [(e.a, e.info) for e in trace if e.name == "wake" and e.b & WAKE_NEW]

    def _cpu_events(self, old: Reading, new: Reading) -> Iterator[tuple[str, str, int]]:
        for was, now in zip(old.cpus, new.cpus, strict=False):
            if (stolen := now.stat[self._steals] - was.stat[self._steals]) > 0:
                yield "stolen", f"CPU {now.id} took {stolen} thread{'s' if stolen > 1 else ''} from other CPUs", now.id
            if was.pset != now.pset:
                yield (
                    "set bound",
                    f"CPU {now.id} is now in " + (f"set {now.pset}" if now.pset >= 0 else "the default set"),
                    now.id,
                )
            # Pokes, cross-calls and the CPU's own timer remain (docs/psets.md).
            if now.state == was.state == NOINTR and (n := now.stat[self._ithr] - was.stat[self._ithr]) > 0:
                yield FENCE_BROKEN, f"CPU {now.id} is fenced off, and took {n} device interrupt{'s' if n > 1 else ''}", now.id

    def _begins(self, happens: bool, *event) -> bool:
        """Whether something that happens between the last two readings has just begun."""
        left = self._active.pop(event, 0)
        if happens:
            self._active[event] = QUIET
        elif left > 1:
            self._active[event] = left - 1
        return happens and not left

    def _memory_events(self, old: Reading, new: Reading) -> Iterator[tuple[str, str, int]]:
        scanned, touched = 0, [0] * len(new.nodes)
        for was, now in zip(old.cpus, new.cpus, strict=False):
            scanned += now.stat[self._scan] - was.stat[self._scan]
            touched[now.node] += now.stat[self._zeroed] - was.stat[self._zeroed]
        for i, pages in enumerate(touched):
            if self._begins(pages >= TOUCHED, "touch", i):
                yield "first touch", f"CPUs of board {i} touch memory that is new: {pages} pages since the reading before", -1
        for i, (was, now) in enumerate(zip(old.migrated, new.migrated, strict=False)):
            if self._begins(now > was, "migrate", i):
                yield "pages migrated", f"pages move to board {i}: {now - was} since the reading before", -1
        if self._begins(scanned > 0, "scan"):
            yield "reclaim", f"the page daemon begins: it examined {scanned} pages", -1

    def _found(self, old: Reading, new: Reading, trace: list[Event]) -> Iterator[tuple[str, str, int]]:
        was, now = ({t.tid: t for t in reading.threads if t.pid and t.state != TS_ZOMBIE} for reading in (old, new))
        if self._rings.lost:
            yield "lost", f"{self._rings.lost} records of the trace were replaced before they could be read", -1
        yield from self._memory_events(old, new)
        yield from self._cpu_events(old, new)
        yield from self._thread_events(was, now)
        yield from self._short_lived(trace, was, now)
        yield from self._migrations(trace, was, now)

    def since(self, new: Reading) -> list[list]:
        """The events since the last reading, shortened; none at the first."""
        old, self._old = self._old, new
        trace = self._rings.events(new.cpus)
        return shortened([list(event) for event in self._found(old, new, trace)] if old else [])


class Watcher:
    """The readings of one machine."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.kernel: Kernel = open_kernel(process, open_memory(process))
        self._page = process.model().get("page")
        self._model: fireplane.Live | None = None
        self._clocks: boards.Reading | None = None  # the last reading of the model
        self._link_ps = 0
        self._memory = frames.Frames(self.kernel)
        self._events = Events(self.kernel)
        self._turns = 0
        # The last reading that had a new value of the clock: rates are since then.  While the clock stands, the last ones stay.
        self._old: Reading | None = None
        self._cpu_at: dict[int, Cpu] = {}  # its CPUs, by their numbers
        self._kinds = [STATS.index(name) for name in ("usr_ticks", "sys_ticks", "idl_ticks", "wt_ticks")]
        self._intr = STATS.index("intr")
        self._interrupts: tuple[int, list[dict[str, int]]] | None = None  # ticks and counts of the last `i`
        self._shares: dict[int, list[int]] = {}  # by CPU the last user %, system %, interrupts a second
        self._disk_rates: dict[str, list[int]] = {}  # by disk the last bytes read, written a second

    def _cpu(self, now: Cpu) -> list:
        was, ticks = self._cpu_at.get(now.id), self._ticks
        if was is not None and ticks > 0:
            counted = [max(0, now.stat[i] - was.stat[i]) for i in self._kinds]  # fewer than `ticks` if the host is busy
            shares = [round(100 * n / max(1, sum(counted))) for n in counted[:2]]
            self._shares[now.id] = [*shares, max(0, now.stat[self._intr] - was.stat[self._intr]) * HZ // ticks]
        user, system, rate = self._shares.get(now.id, (0, 0, 0))
        state = "o" if now.state == OFFLINE else "i" if now.idle else "u" if now.in_user else "s"
        return [state, now.pset, now.tid, now.queued, user, system, int(now.state == NOINTR), rate]

    def _nodes(self, now: Reading) -> list[list[int]]:
        self._turns += 1
        kinds = self._memory.look(now.threads, [node.installed - node.free for node in now.nodes])
        return [[node.installed, node.free, *used] for node, used in zip(now.nodes, kinds, strict=True)]

    def _disks(self, now: Reading) -> dict:
        """Queues and rates of the disks; nothing without disks."""
        old = {disk.name: disk for disk in self._old.disks} if self._old else {}
        found = []
        for disk in now.disks:
            was, ticks = old.get(disk.name, disk), self._ticks
            if ticks > 0:
                grown = disk.nread - was.nread, disk.nwritten - was.nwritten
                self._disk_rates[disk.name] = [max(0, n) * HZ // ticks for n in grown]
            found.append([disk.name, disk.waiting, disk.running, *self._disk_rates.get(disk.name, (0, 0))])
        return {"d": found} if found else {}

    def _slow(self, now: Reading) -> dict:
        """What a frame has only once a second."""
        if self._turns % SLOW != 1:
            return {}
        found: dict = {}
        counts = self.kernel.interrupts()
        ticks = now.ticks - self._interrupts[0] if self._interrupts else 0
        if self._interrupts and ticks >= TICKS_MIN:
            old = self._interrupts[1]
            found["i"] = [
                {name: rate for name, n in new.items() if (rate := round((n - was.get(name, 0)) * HZ / ticks)) > 0}
                for new, was in zip(counts, old, strict=False)
            ]
        if not self._interrupts or ticks >= TICKS_MIN:
            self._interrupts = (now.ticks, counts)
        thresholds = self.kernel.paging()
        return found | ({"p": thresholds} if thresholds else {})

    def _link_time(self, now: boards.Reading) -> int:
        """The modelled time since the first reading, in ps, of which the page computes the shares of links.

        The latest clock alone is not enough.  Each CPU has a clock, and after a pause a thread can go on with one that is
        behind: then the latest clock stands, although lines move, until this CPU has passed it.
        """
        if (was := self._clocks) is not None:
            ran = max((new - old for new, old in zip(now.ran_ps, was.ran_ps, strict=True)), default=0)
            self._link_ps += max(0, ran, now.time_ps - was.time_ps)
        self._clocks = now
        return self._link_ps

    def _boards(self) -> dict:
        """What the model has counted; nothing without a model."""
        if self._page is None:
            return {}
        try:
            self._model = self._model or fireplane.Live(fireplane.Path(self._page))
            now = boards.reading(self._model.read(), self.process.name)
        except fireplane.PageError:  # the model has not started
            return {}
        sums = [[b.active, b.instr, b.local, b.remote, b.out, b.into] for b in now.boards]
        return {"b": sums, "m": now.time_ps, "k": self._link_time(now), "a": int(now.armed)}

    def frame(self) -> dict:
        """The present state.  LiveError if the machine has ended, or its kernel has not started."""
        now = self.kernel.reading()
        self._ticks = now.ticks - self._old.ticks if self._old else 0
        frame = {
            "t": now.ticks / HZ,
            "c": [self._cpu(cpu) for cpu in now.cpus],
            "h": {
                t.tid: [t.pid, t.name, t.state, t.home, t.cpu, -1 if t.bound == NO_CPU else t.bound, t.pset]
                for t in now.threads
                if (t.state != TS_ZOMBIE if t.pid else t.state in (TS_RUNNABLE, TS_ONPROC))
            },
            "n": self._nodes(now),
            "e": self._events.since(now),
            **self._disks(now),
            **self._slow(now),
            **self._boards(),
        }
        if self._ticks > 0 or self._old is None:
            self._old, self._cpu_at = now, {cpu.id: cpu for cpu in now.cpus}
        return frame


def frames_of(process: Process, wait: Callable[[], None]) -> Iterator[dict]:
    """The frames of a machine until it ends, each with `w`: the host's seconds since the first call.

    After each frame, and while the kernel starts, wait() is called.  LiveError if the machine cannot be shown, or its kernel
    cannot be read for BOOT seconds.
    """
    last = began = time.monotonic()
    watcher = None
    for _ in process.until_its_end():
        start = time.monotonic()
        try:
            watcher = watcher or Watcher(process)
            frame = watcher.frame()
        except LiveError as error:  # the kernel has not started yet or starts again, or the machine is ending
            if (watcher is None and isinstance(error, Hopeless)) or start - last > BOOT:
                raise
        else:
            last = start
            yield frame | {"w": round(start - began, 2)}
        wait()
        if time.monotonic() - start > LATE:  # no page was open
            watcher, last = None, time.monotonic()
