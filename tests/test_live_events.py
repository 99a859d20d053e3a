# SPDX-License-Identifier: MIT
"""test_live_events.py - the events and the memory that `make live` shows, against readings and commands that are known."""

import mmap
import os
import re
import signal
import struct
from collections import Counter
from types import SimpleNamespace

import pytest

from homeroom import machine
from homeroom.live import frames, layout, memory
from homeroom.live.kernel import LGRP_NONE, NO_CPU, NOINTR, STATS, WALKS, Cpu, Kernel, Layout, Node, Reading, Thread
from homeroom.live.rings import SLOTS_MAX, Rings
from homeroom.live.state import LINES_MAX, QUIET, TOUCHED, TS_ONPROC, TS_RUNNABLE, TS_SLEEP, TS_ZOMBIE, Events, Watcher
from homeroom.trace import NAMES, RECORD, WAKE_NEW
from livepage import IDLE, Live, play_back, written

pytestmark = pytest.mark.xdist_group("live")
ONLINE = 2
TYPES = {name: number for number, name in NAMES.items()}
RING, SLOTS = 0x1000, 0x100000  # addresses of the ring of CPU 0 and of its slots


class Trace:
    """What Rings needs of a kernel: rings of CPUs, with `slots` slots."""

    def __init__(self, slots: int = 16) -> None:
        self.slots, self.time = slots, 0
        self.heads: dict[int, int] = {}
        self.records: dict[int, bytearray] = {}

    def put(self, cpu: int, name: str, tid: int, info: int = 0, b: int = 0) -> None:
        """CPU `cpu` records an event."""
        ring = self.records.setdefault(RING + cpu, bytearray(self.slots * RECORD.size))
        head = self.heads.get(RING + cpu, 0)
        self.time += 1
        RECORD.pack_into(ring, head % self.slots * RECORD.size, self.time, TYPES[name], cpu, info, 0, tid, b)
        self.heads[RING + cpu] = head + 1

    def ring(self, address: int) -> tuple[int, int, int]:
        return self.heads.get(address, 0), self.slots - 1, SLOTS * (address - RING + 1)

    def read(self, address: int, size: int) -> bytes:
        at = address % SLOTS
        return bytes(self.records[RING + address // SLOTS - 1][at : at + size])


def cpu(number: int, state: int = ONLINE, pset: int = -1, trace: int = 0, **stat: int) -> Cpu:
    node = number // 4
    return Cpu(number, node, node, state, pset, False, True, 0, 0, trace, tuple(stat.get(name, 0) for name in STATS))


def thread(
    tid: int, on: int = 0, state: int = TS_SLEEP, pid: int = 0, home: int = 0, pset: int = -1, name: str = "sh"
) -> Thread:
    return Thread(tid, pid or tid, name, state, home, on, NO_CPU, pset, 1, 1)


def reading(threads=(), cpus=(), migrated=(0, 0)) -> Reading:
    return Reading(
        0, list(cpus) or [cpu(i) for i in range(8)], list(threads), [Node(100, 50), Node(100, 50)], [], list(migrated)
    )


def between(*readings: Reading, kernel: Trace | None = None) -> list[list]:
    """The events of all readings, one after the other."""
    events = Events(kernel or Trace())
    return [event for one in readings for event in events.since(one)]


# ---- pairs of readings ----

TOOK = "CPU 0 took {} from other CPUs"
TWO = [thread(5), thread(6, state=TS_ONPROC, on=4, home=1)]


@pytest.mark.parametrize(
    "old, new, wanted",
    [
        (reading(TWO), reading(TWO), []),
        (reading(TWO[:1]), reading(TWO), [["created", "thread 6 (sh) of process 6 begins", 4]]),
        (reading(TWO), reading(TWO[:1]), [["ended", "thread 6 (sh) of process 6 has ended", 4]]),
        (
            reading([thread(5)]),
            reading([thread(5, state=TS_ZOMBIE)]),
            [["ended", "thread 5 (sh) of process 5 has ended", 0]],
        ),
        (reading([thread(5, state=TS_ZOMBIE)]), reading(), []),
        (
            reading([thread(5)]),
            reading([thread(5, pid=9)]),
            [["created", "thread 5 (sh) of process 9 begins", 0], ["ended", "thread 5 (sh) of process 5 has ended", 0]],
        ),
        (reading(), reading([thread(i) for i in (5, 6, 7, 8)]), [["created", "4 threads (sh) begin", -1]]),
        (reading([thread(i) for i in (5, 6, 7, 8)]), reading(), [["ended", "4 threads (sh) have ended", -1]]),
        *(
            (reading([thread(5)]), reading([thread(5, 6, state)]), [["migrated", "thread 5 (sh): CPU 0 -> 6", 6]])
            for state in (TS_SLEEP, TS_RUNNABLE, TS_ONPROC)
        ),
        (reading([thread(5)]), reading([thread(5, home=1)]), [["re-homed", "thread 5 (sh): home 0 -> 1", 0]]),
        (reading([thread(5)]), reading([thread(5, home=LGRP_NONE)]), []),
        (reading([thread(5)]), reading([thread(5, pset=1)]), [["set bound", "thread 5 (sh) is now in set 1", 0]]),
        (reading([thread(5, pset=1)]), reading([thread(5)]), [["set bound", "thread 5 (sh) is now in the default set", 0]]),
        (reading(cpus=[cpu(0)]), reading(cpus=[cpu(0, pset=2)]), [["set bound", "CPU 0 is now in set 2", 0]]),
        (reading(cpus=[cpu(0, steals=3)]), reading(cpus=[cpu(0, steals=4)]), [["stolen", TOOK.format("1 thread"), 0]]),
        (reading(cpus=[cpu(0)]), reading(cpus=[cpu(0, steals=7)]), [["stolen", TOOK.format("7 threads"), 0]]),
        (reading(cpus=[cpu(5)]), reading(cpus=[cpu(5, zero_pages=TOUCHED - 1)]), []),
        (
            reading(cpus=[cpu(4), cpu(5)]),
            reading(cpus=[cpu(4, zero_pages=TOUCHED - 50), cpu(5, zero_pages=50)]),
            [["first touch", f"CPUs of board 1 touch memory that is new: {TOUCHED} pages since the reading before", -1]],
        ),
        (reading(), reading(migrated=(0, 9)), [["pages migrated", "pages move to board 1: 9 since the reading before", -1]]),
        (
            reading(cpus=[cpu(0), cpu(1)]),
            reading(cpus=[cpu(0, scan=2), cpu(1, scan=3)]),
            [["reclaim", "the page daemon begins: it examined 5 pages", -1]],
        ),
    ],
)  # fmt: skip
def test_a_pair_of_readings(old, new, wanted):
    assert between(old, new) == wanted


def test_the_first_reading_has_no_events():
    assert between(reading(TWO, [cpu(0, steals=9, scan=9, zero_pages=999)], (5, 5))) == []


@pytest.mark.parametrize("kind, busy", [("first touch", {"zero_pages": TOUCHED}), ("reclaim", {"scan": 1})])
def test_what_begins_once(kind, busy):
    """It is an event when it begins, and again after QUIET readings without it."""

    def pattern(*pauses: int):
        for count, pause in enumerate((0, *pauses)):
            yield from [reading(cpus=[cpu(0, **{name: n * count for name, n in busy.items()})])] * (pause + 1)

    assert [event[0] for event in between(*pattern(0, 0, 0))] == [kind]
    assert [event[0] for event in between(*pattern(0, QUIET - 1, 0))] == [kind]
    assert [event[0] for event in between(*pattern(0, QUIET, 0))] == [kind] * 2


@pytest.mark.parametrize("state", [ONLINE, NOINTR])
def test_a_broken_fence(state):
    """Only device interrupts break a fence: pokes, cross-calls and the timer remain, also if a reading is late."""
    quiet = reading(cpus=[cpu(0, state)]), reading(cpus=[cpu(0, state, intr=100_000)])
    assert between(*quiet) == []
    for n, words in ((1, "1 device interrupt"), (12, "12 device interrupts")):
        found = between(reading(cpus=[cpu(0, state, ithr=3)]), reading(cpus=[cpu(0, state, ithr=3 + n, intr=n)]))
        assert found == ([["fence broken", f"CPU 0 is fenced off, and took {words}", 0]] if state == NOINTR else [])
    assert between(reading(cpus=[cpu(0)]), reading(cpus=[cpu(0, NOINTR, ithr=5)])) == []  # some came before the fence


def test_a_frame_with_many_events():
    """The last line says how many more there are, by kind."""
    old, new = [thread(i) for i in range(1, 101)], [thread(i, 3, home=1) for i in range(1, 101)]
    found = between(reading(old), reading(new))
    assert Counter(kind for kind, *_ in found) == {"re-homed": LINES_MAX - 1, "migrated": 1, "more": 1}
    assert found[-1] == ["more", f"{200 - LINES_MAX} more events: {101 - LINES_MAX} re-homed, 99 migrated", -1]
    assert len(between(reading(old[:LINES_MAX]), reading([t._replace(cpu=1) for t in old[:LINES_MAX]]))) == LINES_MAX


@pytest.mark.parametrize("broken, left", [(1, 13), (50, 49)])
def test_important_events_are_not_left_out(browser, tmp_path, broken, left):
    """Each broken fence has its red frame, and each kind has its mark on the slider, though 50 CPUs steal at once."""

    def cpus(steals: int, ithr: int, scan: int) -> list[Cpu]:
        fenced = [cpu(50 + i, NOINTR, ithr=ithr, scan=scan) for i in range(broken)]
        return [one._replace(node=0) for one in [cpu(i, steals=steals) for i in range(50)] + fenced]

    events = between(reading(cpus=cpus(0, 0, 0)), reading([thread(5)], cpus(1, 2, 3)))
    assert [event[2] for event in events if event[0] == "fence broken"] == [50 + i for i in range(broken)]
    assert {kind for kind, *_ in events} == {"stolen", "fence broken", "reclaim", "created", "more"}
    assert events[-1] == ["more", f"{left} more events: {left} stolen", -1]
    boards = [{"cpus": [*range(50 + broken)], "mib": 4}]
    frame = {"c": [IDLE] * (50 + broken), "n": [[1024, 512, 0, 0, 0, 0, 0]]}
    play_back(browser, written(tmp_path / "rec.html", [frame, frame | {"e": events}], boards=boards))
    assert sorted(browser.value("tape.marks")) == [[1, "f"], [1, "r"], [1, "s"]]
    browser.value("seek(1)")
    assert browser.value("document.querySelectorAll('.broken').length") == broken


# ---- the trace ----


def traced(*threads: Thread) -> Reading:
    return reading(threads, [cpu(i, trace=RING + i) for i in range(8)])


def moved(*places: tuple[int, int, int], name: str = " (sh)") -> list[list]:
    return [["migrated", f"thread {tid}{name}: CPU {a} -> {b}", b] for tid, a, b in places]


def test_migrations_in_the_trace():
    """Each is an event, in the order of time, also of a thread that no reading has, but not of a thread of the kernel.

    What was recorded before the first reading is none.  What the comparison of two readings shows as well is one event.
    """
    kernel = Trace()
    events = Events(kernel)
    kernel.put(1, "migrate", 5, 0)
    assert events.since(traced(thread(5, 1))) == []
    for on, tid, was in ((2, 5, 1), (2, 1 << 22, 1), (1, 5, 2), (3, 77, 6), (4, 5, 1)):
        kernel.put(on, "migrate", tid, was)
    wanted = moved((5, 1, 2), (5, 2, 1)) + moved((77, 6, 3), name="") + moved((5, 1, 4))
    assert events.since(traced(thread(5, 4))) == wanted


def test_a_migration_after_the_threads_were_read():
    """The trace is read after the threads, so it can be ahead; the next comparison does not show the same again."""
    kernel = Trace()
    events = Events(kernel)
    events.since(traced(thread(5, 1)))
    kernel.put(2, "migrate", 5, 1)
    kernel.put(2, "wake", 5)
    assert events.since(traced(thread(5, 1))) == moved((5, 1, 2))
    assert events.since(traced(thread(5, 2))) == []
    assert events.since(traced(thread(5, 3))) == moved((5, 2, 3))  # recorded nowhere: the trace was turned off


def test_a_ring_that_appears_later():
    """It is read from its beginning, though its events are older than the reading that has it first."""
    kernel = Trace()
    events = Events(kernel)
    events.since(reading([thread(5)]))
    kernel.put(2, "migrate", 5, 0)
    kernel.put(2, "migrate", 77, 0)
    assert events.since(traced(thread(5, 2))) == moved((5, 0, 2)) + moved((77, 0, 2), name="")


def test_records_that_are_lost():
    """A ring with 16 slots gives the last 15; the page says how many were lost, and the comparison has the rest."""
    kernel = Trace()
    events = Events(kernel)
    events.since(traced(thread(5, 1), thread(6, 1)))
    kernel.put(2, "migrate", 5, 1)
    for n in range(20):
        kernel.put(2, "migrate", 6, n)
    found = events.since(traced(thread(5, 2), thread(6, 2)))
    assert found[0] == ["lost", "6 records of the trace were replaced before they could be read", -1]
    assert found[1:] == moved(*((6, n, 2) for n in range(5, 20)), (5, 1, 2))
    assert events.since(traced(thread(5, 2), thread(6, 2))) == []


def test_records_that_are_replaced_while_they_are_read():
    kernel = Trace()
    rings = Rings(kernel, "migrate")
    cpus = [cpu(0, trace=RING)]
    rings.events(cpus)
    for n in range(10):
        kernel.put(0, "migrate", 5, n)
    read, kernel.read = kernel.read, lambda *at: (read(*at), [kernel.put(0, "migrate", 6, n) for n in range(8)])[0]
    assert [event.info for event in rings.events(cpus)] == list(range(3, 10)) and rings.lost == 3
    kernel.read = read
    assert [event.a for event in rings.events(cpus)] == [6] * 8 and rings.lost == 0
    kernel.slots = SLOTS_MAX + 1  # what was a ring is other memory now
    assert rings.events(cpus) == []


def test_threads_that_no_reading_has():
    kernel = Trace()
    events = Events(kernel)
    events.since(traced())
    for tid in (5, 77):
        kernel.put(2, "wake", tid, 3, WAKE_NEW)
    kernel.put(2, "wake", 78, 3)
    assert events.since(traced()) == []
    assert events.since(traced(thread(5))) == [
        ["created", "thread 5 (sh) of process 5 begins", 0],
        ["created", "thread 77 begins, and ends within 0.1 s", 3],
    ]


# ---- the list of threads ----


@pytest.mark.parametrize("cut", [0, 1, WALKS - 1, WALKS])
def test_a_list_that_changes(cut):
    """A walk that a thread cuts short, by its end or because the kernel moves it, is tried again, so no other seems to end."""
    for ended in (True, False):
        walks = iter([({1: TWO[0]}, ended)] * cut + [({2: TWO[1], 3: None}, True)])

        def walk(_, found, walks=walks):
            more, whole = next(walks)
            found |= more
            return whole

        kernel = Kernel.__new__(Kernel)
        kernel._cpus, kernel._walk, kernel._link, kernel._known, kernel._processes = [], walk, 0, {}, {}
        kernel.number = lambda name: {"all_threads_count": 3 if cut else 2}[name]
        assert kernel._threads() == (TWO[not cut :] if cut < WALKS else TWO[:1])


# ---- memory ----


@pytest.mark.parametrize(
    "known, used, kinds",
    [
        ([10, 20, 30, 5], 100, [10, 20, 30, 5, 35]),
        ([0, 0, 0, 0], 7, [0, 0, 0, 0, 7]),
        ([10, 20, 30, 40], 100, [10, 20, 30, 40, 0]),
        ([10, 20, 30, 40], 50, [5, 10, 15, 20, 0]),
        ([1, 1, 1, 0], 2, [0, 0, 0, 0, 2]),
        ([1, 0, 0, 0], -3, [0, 0, 0, 0, 0]),
    ],
)
def test_kinds_of_memory(known, used, kinds):
    assert frames.by_kind(known, used) == kinds and sum(kinds) == max(0, used)


def test_which_memory_is_looked_at():
    """First all of it, then a chunk in turn, and in each other call one of the board that has changed most."""
    looked, pieces = [], [[(0, 2 * frames.DESCRIBED)], [(2 * frames.DESCRIBED, 2 * frames.DESCRIBED)]]
    kernel = SimpleNamespace(memory=SimpleNamespace(boards=pieces), field=lambda *_: 0, families=lambda _: {})
    one = frames.Frames(kernel)
    one._look = lambda chunk, homes: looked.append(chunk)
    few, many = frames.CHANGED - 1, frames.CHANGED
    for used in ([5, 5], [5, 5 + few], [5, 5 + few], [5, 5 + many], [5, 5 + many], [5, 5 + many], [5, 5 + many]):
        one.look([], used)
        looked.append("")
    assert looked == [0, 1, 2, 3, "", "", 1, "", 2, "", 2, "", 3, "", 3, ""]


PAGE = struct.Struct("<I x B 2x I 4x Q 40x")  # of a descriptor: flags, order, references, owner
PRIVATE = frames.PG_ANON | frames.PG_PRIVATE
ALICE, BOB = 0x1000, 0x2000  # families whose threads are at home on node 0, and on node 1


class Descriptors:
    """What Frames needs of a kernel: boards of 128 MiB, with their descriptors at their beginning, and one without memory.

    `blocks`: of each board the order, flags and owner of each block in use.
    """

    def __init__(self, *blocks: list[tuple[int, int, int]]) -> None:
        boards = [mmap.mmap(-1, frames.DESCRIBED) for _ in blocks]
        self.memory, self.used = memory.Memory(boards), []
        self.memory.translate = lambda _, address: (address - frames.VMEMMAP_BASE) // frames.CHUNK * frames.DESCRIBED
        self.field = lambda _, name: {"refs": 8, "order": 5}[name]
        self.page = Layout({("page", "flags"): (0, 4), ("page", "obj"): (16, 8)}, "page", "flags", "obj")
        self.families = lambda _: {ALICE: 1, BOB: 2}
        self.number = lambda _: 0
        for board, found in zip(boards, blocks, strict=True):
            at = 0
            for order, flags, owner in found:
                at = -(-at >> order) << order
                PAGE.pack_into(board, at * PAGE.size, flags, order, 1, owner)
                at += 1 << order
            PAGE.pack_into(board, at * PAGE.size, PRIVATE, 9, 0, ALICE)  # a free frame, with what it had before
            self.used.append(sum(1 << order for order, *_ in found))
        self.used.append(0)


def bar(*blocks: list[tuple[int, int, int]]) -> list[list[int]]:
    """The kinds of memory on boards whose frames are used for `blocks`."""
    kernel = Descriptors(*blocks)
    return frames.Frames(kernel).look([], kernel.used)


def test_what_a_frame_is_used_for():
    """By its flags and by the homes of the family's threads; to the page if a board has less than MOST blocks of an order."""
    used = [(0, PRIVATE, ALICE)] * 40 + [(0, PRIVATE, BOB)] * 30 + [(0, frames.PG_ANON, ALICE)] * 20
    used += [(0, frames.PG_UPTODATE, 0)] * 10 + [(0, frames.PG_DISK, 0)] * 5 + [(0, 0, 0)] * 7 + [(2, 0, 0)] * 3
    assert bar(used, used) == [[40, 30, 20, 15, 19], [30, 40, 20, 15, 19], [0] * 5]


@pytest.mark.parametrize("large", [1, 18])
@pytest.mark.parametrize("files", [0, 100, 500, 2000, 12000, 20000])
def test_large_pages_are_counted_to_the_page(large, files):
    """However many other frames there are; the 4 KiB pages, of which some are looked at, are right within 2 %."""
    small = [(0, PRIVATE, ALICE)] * 600 + [(0, frames.PG_UPTODATE, 0)] * files + [(2, 0, 0)] * 200
    home, away, shared, file, kernel = bar([], [(9, PRIVATE, BOB)] * large + small)[1]
    assert (home, shared) == (512 * large, 0) and home + away + file + kernel == 512 * large + 600 + files + 800
    assert abs(away - 600) <= 0.02 * (600 + files) and abs(file - files) <= 0.02 * (600 + files)


@pytest.mark.parametrize("period", [2, 3, 4, 64, 128])
@pytest.mark.parametrize("pages", [1000, 5000, 25600])
def test_frames_in_a_pattern(period, pages):
    """Every second, third ... frame of a board is of another kind than the others; both kinds are right within 15 %."""
    used = [(0, PRIVATE, BOB if place % period else ALICE) for place in range(pages)]
    home, away = bar(used)[0][:2]
    one = -(-pages // period)
    assert pages - 1 <= home + away <= pages and abs(home - one) < 0.15 * pages / 2


def test_frames_in_use_where_none_is_looked_at():
    """If one of each three frames is looked at, and exactly these are free, the others are found all the same."""
    refs = bytearray(b"\1" * 900)
    for place in frames._one_of_each(3, 900):
        refs[place] = 0
    ((order, number, places),) = frames._by_order(bytes(refs), bytes(900))
    assert (order, number, len(places)) == (0, 600, 200) and all(refs[place] for place in places)


def test_frames_that_many_processes_share():
    """The number of references has more than one byte."""
    one = Descriptors([(0, PRIVATE, ALICE)] * 10, [])
    board = one.memory.place(0, 1)[0]
    for frame, refs in enumerate((1, 255, 256, 257, 512, 30000, 255 << 8)):
        struct.pack_into("<I", board, frame * PAGE.size + 8, refs)
    assert frames.Frames(one).look([], one.used)[0] == [10, 0, 0, 0, 0]


def watcher_of(machine) -> Watcher:
    return Watcher(next(process for process in memory.processes() if process.pid == machine.guest.pid))


def stopped(machine, watcher: Watcher) -> dict:
    """A frame of a machine that stands still meanwhile."""
    one = SimpleNamespace(process=watcher.process, wait_for=Live.wait_for)
    Live.stop(one)
    try:
        return watcher.frame()
    finally:
        os.kill(machine.guest.pid, signal.SIGCONT)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.machine(n), *[pytest.mark.long] * (n == "sf15k")])
        for n in ("sf280r", "sf15k", "sf3800", "memoryless")
    ],
)
def test_the_bar_adds_up(machine, name):
    """The kinds and free memory are what is installed, to the page, and these are the kernel's own counts, within 64 pages.

    The kernel's part has the page descriptors, 1/64 of the memory.  Pages that processes take are not in it.
    """
    watcher = watcher_of(machine)

    def near() -> tuple[list[list[int]], bool]:
        """What a frame has, and whether that much is free by the kernel's counts of the moment before."""
        counts = machine.kstats("mem:")
        now = stopped(machine, watcher)["n"]
        pairs = [(counts.get(f"mem:{i}:node:free", 0), free) for i, (_, free, *_) in enumerate(now)]
        for i, (installed, free, *kinds) in enumerate(now):
            assert installed == counts.get(f"mem:{i}:node:installed", 0)  # none without memory
            assert free + sum(kinds) == installed and kinds[4] >= installed // 64
        return now, all(abs(free - known) < 64 for known, free in pairs)

    # Processes of the tests before may still give back their pages.
    before = next((now for now, good in (near() for _ in range(20)) if good), None)
    assert before is not None
    pid = machine.check(f": > /tmp/said; memcopy -t {machine.machine.cpus} -i 1000000 > /tmp/said 2>&1 & echo $!").strip()
    Live.wait_for(lambda: "pages" in machine.check("cat /tmp/said"))
    taken = 2 * int(re.search(r" 2 x (\d+) pages of 4K", machine.check("cat /tmp/said"))[1])

    def placed():
        now = stopped(machine, watcher)["n"]
        assert all(free + sum(kinds) == installed for installed, free, *kinds in now)
        grown = [[is_now - was for is_now, was in zip(*pair, strict=True)] for pair in zip(now, before, strict=True)]
        return sum(home + away for _, _, home, away, *_ in grown) > 0.9 * taken and all(abs(one[6]) < 512 for one in grown)

    Live.wait_for(placed)
    machine.check(f"kill {pid}; rm /tmp/said")


# ---- boards ----

MACHINES = sorted(path.stem for place in machine.PLACES for path in place.glob("*.toml"))


def layout_of(name: str) -> list[dict]:
    """The boards of a machine, from the arguments that QEMU gets."""
    return layout.of(memory.Process(1, name, tuple(machine.load(name).qemu_args()), 1, 0))["boards"]


@pytest.mark.parametrize("name", MACHINES)
def test_the_cpus_of_a_board(name):
    """They are those of its domain, as in the guest: those without memory have the last numbers."""
    one = machine.load(name)
    wanted = [(one.domain_memory_mib(i), one.domain_cpus(i)) for i in range(one.domains)] if one.srat else [(512, [0, 1, 2, 3])]
    wanted.sort(key=lambda board: board[0] == 0)
    assert [(board["mib"], board["cpus"]) for board in layout_of(name)] == wanted


@pytest.mark.parametrize("name, node, cpus", [("sf15k-maxcpu", 1, [4, 5, 6, 7, 74, 75]), ("memoryless", 2, [2, 3])])
def test_boards_in_the_guest(name, node, cpus):
    assert layout_of(name)[node]["cpus"] == cpus


def test_threads_on_a_maxcpu_board(browser, tmp_path):
    """Its CPUs are drawn in the board of their domain, and a thread that is at home there has no pink edge."""
    homes = {0: 0, 4: 1, 72: 0, 75: 1, 5: 0, 73: 1, 71: 17, 74: 17}  # by CPU the home of its thread
    threads = {str(100 + cpu): [1, "sh", TS_ONPROC, home, cpu, -1, -1] for cpu, home in homes.items()}
    one = {"c": [IDLE] * 76, "h": threads, "n": [[1024, 512, 0, 0, 0, 0, 0]] * 18}
    play_back(browser, written(tmp_path / "rec.html", [one], boards=layout_of("sf15k-76")))
    away = "[...document.querySelectorAll('.dot.away[data-thread]')].map((dot) => dot.dataset.thread).sort()"
    assert browser.value(away) == ["105", "173", "174"] and browser.value("view.dots.size") == len(homes)
    inside = """(cpu) => { const box = document.querySelector(`.cpu[data-cpu="${cpu}"]`).getBoundingClientRect();
        return view.boards.findIndex(({group}) => { const b = group.getBoundingClientRect();
            return b.left <= box.left && box.right <= b.right && b.top <= box.top && box.bottom <= b.bottom; }); }"""
    assert browser.value(f"[0, 3, 4, 71, 72, 73, 74, 75].map({inside})") == [0, 0, 1, 17, 0, 0, 1, 1]


# ---- trails ----


def test_trails(browser, tmp_path):
    """A thread that moved while it had no dot gets the trail of its last move with its next dot, also after a jump."""
    places = [(0, TS_ONPROC), (0, TS_SLEEP), (1, TS_SLEEP), (1, TS_ONPROC), (0, TS_ONPROC), (1, TS_SLEEP), (0, TS_ONPROC)]
    threads = [{"h": {"5": [5, "sh", state, 0, on, -1, -1]}} for on, state in places]
    frames = [*threads, {"h": {}}, {"h": {"5": [6, "sh", TS_ONPROC, 0, 1, -1, -1]}}]
    play_back(browser, written(tmp_path / "rec.html", frames))
    wanted = [[], [], [], [[0, 1]], [[1, 0]], [], [[1, 0]], [], []]  # begin
    count = len(frames)
    for at in [*range(count), 2, 0, 3, 0, 4, 5, 3, 6, *reversed(range(count))]:
        browser.value(f"seek({at})")
        browser.until(f"tape.at === {at} && view.frame.w === {at}")
        fading = [move for move in wanted[at - 1] if at]
        shown = browser.value("[...view.trails.children].map((line) => line.getAttribute('d'))")
        assert shown == browser.value(
            f"{fading + wanted[at]}.map((ends) => ends.map((i) => `${{view.cells[i].x}} ${{view.cells[i].y}}`))"
            ".map(([a, b]) => `M ${a} L ${b}`)"
        ), at
        browser.value("redraw()")
        assert browser.value("view.trails.childElementCount") == len(shown)
    assert not browser.errors


# ---- commands ----

REST = "> /dev/null 2>&1 &"
CPUS_IN_TURN = "for i in 0 1 2 3 4 5 6 7 1 4; do pbind -b $i $$ > /dev/null; done"


class Watched:
    """A machine, and the events of commands."""

    def __init__(self, machine) -> None:
        self.machine, self.watcher = machine, watcher_of(machine)
        self.frame = stopped(machine, self.watcher)

    def after(self, command: str = "true") -> list[list]:
        """The events of one reading after a command has ended."""
        self.machine.check(command)
        self.frame = stopped(self.machine, self.watcher)
        return self.frame["e"]

    def rest(self) -> None:
        """Readings after which all that begins is an event again."""
        for _ in range(QUIET + 1):
            self.frame = stopped(self.machine, self.watcher)

    def until(self, happens, command: str = "true") -> list[list]:
        """The events of a command and of what follows it, until happens()."""
        found = self.after(command)

        def more():
            if not happens():
                found.extend(self.after("sleep 0.01"))
            return happens()

        Live.wait_for(more)
        return found


@pytest.mark.machine("sf3800")
def test_known_commands(machine):
    """A thread sleeps, but for a line that it reads after each pbind: it migrates 20 times, between homes."""
    one = Watched(machine)
    script = "mkfifo /tmp/lines; (exec 3<>/tmp/lines; while read line <&3; do :; done)"
    found = one.after(f"{script} {REST} echo $! > /tmp/pid")
    pid = machine.check("cat /tmp/pid").strip()
    mine = f"thread {pid} "
    assert [kind for kind, text, _ in found if text.startswith(mine)].count("created") == 1

    def runs_on(cpu: int):
        return lambda: one.frame["h"][int(pid)][4] == cpu

    def turn(cpu: int) -> list[list]:
        return one.until(runs_on(cpu), f"pbind -b {cpu} {pid} && echo > /tmp/lines && sleep 0.02")

    turn(5)
    found = [event for n in range(20) for event in turn(5 if n % 2 else 1)]
    assert Counter(kind for kind, text, _ in found if text.startswith(mine)) == {"migrated": 20, "re-homed": 20}
    assert {text for kind, text, _ in found if kind == "migrated" and text.startswith(mine)} == {
        f"{mine}(sh): CPU 5 -> 1",
        f"{mine}(sh): CPU 1 -> 5",
    }
    found = one.after(f"pbind -u {pid}; psrset -c 4 5; psrset -f 1; psrset -b 1 {pid}")
    assert sorted(event for event in found if event[0] == "set bound") == [
        ["set bound", "CPU 4 is now in set 1", 4],
        ["set bound", "CPU 5 is now in set 1", 5],
        ["set bound", f"{mine}(sh) is now in set 1", 5],
    ]
    before = machine.kstats("intr:")
    found = one.after("for i in $(seq 40); do echo; usleep 5000; done > /tmp/lines")
    after = machine.kstats("intr:")
    assert sum(after[f"intr:{i}:cpu:poke"] - before[f"intr:{i}:cpu:poke"] for i in (4, 5)) > 1
    assert not [event for event in found if event[0] == "fence broken"]
    one.rest()
    found = one.after("psrset -e 1 dd if=/dev/zero of=/dev/null bs=4M count=1")
    words = next(text for kind, text, _ in found if kind == "first touch" and "board 1" in text)
    assert int(re.search(r": (\d+) pages", words)[1]) >= 1024
    found = one.after("psrset -d 1; psradm -n 4 5")
    assert Counter(kind for kind, text, _ in found if kind == "set bound") == {"set bound": 3}
    found = one.until(lambda: int(pid) not in one.frame["h"], f"kill {pid}; rm /tmp/lines")
    # On its way to its end it may run on any CPU, because it is not bound any more.
    assert [kind for kind, text, _ in found if text.startswith(mine) and kind != "migrated"] == ["ended"]
    before = machine.kstats("lgrp:")
    found = one.after("/usr/test/t_numa migrate_all_pages")
    after = machine.kstats("lgrp:")
    for board in range(2):
        name = f"lgrp:{board}:lgrp{board}:pages migrated to"
        moved_here = after[name] - before[name]
        wanted = [f"pages move to board {board}: {moved_here} since the reading before"] if moved_here else []
        assert [text for kind, text, _ in found if kind == "pages migrated" and f"board {board}:" in text] == wanted
    assert any(kind == "pages migrated" for kind, *_ in found)


@pytest.mark.machine("sf3800")
def test_each_migration_in_the_trace(machine):
    """With the trace, the events are as many as the kernel's own count of migrations, also of processes that no frame has."""
    one, kernel_threads = Watched(machine), 0
    rings = one.watcher._events._rings
    read = rings.events

    def events(cpus):
        nonlocal kernel_threads
        found = read(cpus)
        kernel_threads += sum(event.name == "migrate" and event.a >= 1 << 22 for event in found)
        return found

    rings.events = events
    migr = STATS.index("migr")

    def count() -> int:
        return sum(cpu.stat[migr] for cpu in one.watcher._events._old.cpus)

    one.after("echo trace_enable/W 0xc | mdb -kw")
    before, kernel_threads = count(), 0
    found = [event for _ in range(5) for event in one.after(CPUS_IN_TURN)]
    counts = Counter(kind for kind, *_ in found)
    for kind, text, _ in found:
        if kind == "more":
            parts = (part.split(maxsplit=1) for part in text.partition(": ")[2].split(", "))
            counts.update({name: int(n) for n, name in parts})
    assert not counts["lost"] and counts["migrated"] + kernel_threads == count() - before > 50
    assert sum(kind == "migrated" and " (" not in text for kind, text, _ in found) > 5  # of processes that no reading has
    # Turning the trace off keeps what was recorded before.
    found = one.after(f"{CPUS_IN_TURN}; echo trace_enable/W 0 | mdb -kw")
    assert [text for kind, text, _ in found if kind == "migrated" and " (" not in text]
