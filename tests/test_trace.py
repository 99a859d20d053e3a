# SPDX-License-Identifier: MIT
"""test_trace.py - the trace: the events of a known program, in order; the files for Perfetto; the last events at a panic.

tests/host/test_trace.c tests the buffers: wrapping, lost events, a reader beside the writer.
Tests that ask Perfetto's trace processor (traceprocessor.py) are skipped without it: tools/deps.sh browser traces.
"""

import base64
import io
import itertools
import json
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import monotonic

import pytest

import harness
from homeroom import perfetto, trace
from homeroom.machine import TOP

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH

FOLDER = TOP / "build/test-trace"
DISK = pytest.mark.machine("sf3800", disks=(f"{FOLDER}/a.img,queues=2",))
NUMBER = {name: number for number, name in trace.NAMES.items()}
IDLE = trace.KERNEL_THREADS + 4  # the idle thread of a CPU


@pytest.fixture(scope="module", autouse=True)
def image():
    FOLDER.mkdir(parents=True, exist_ok=True)
    mkfs = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096"]
    for name, mib, tool in (("a", 8, []), ("slow", 4, []), ("ext", 32, mkfs)):
        new = FOLDER / f"{name}.{os.getpid()}"  # another worker's machine may have the image open
        new.write_bytes(bytes(mib << 20))
        if tool:
            subprocess.run([*tool, new], check=True)
        new.replace(FOLDER / f"{name}.img")


# ---- on a machine ----


def traced(
    machine, command: str, events: str = "", entries: int = 16384, whole: bool = True
) -> tuple[trace.Trace, dict[str, int]]:
    """The trace of a command, and the numbers that the command printed.  `whole`: nothing may be lost."""
    options = f"-n {entries} -o /tmp/trace" + (f" -e {events}" if events else "")
    out = machine.check(f"trace {options} {command} && base64 /tmp/trace >/tmp/text && cat /tmp/text", timeout=120)
    begin = base64.b64encode(trace.MAGIC)[:8].decode()  # the first line of base64
    said, found, text = out.partition(begin)
    assert found, out[:1000]
    got = trace.read(io.BytesIO(base64.b64decode(found + text)))
    assert sorted(got.boards) == list(range(8)) and [got.boards[cpu] for cpu in (0, 3, 4, 7)] == [0, 0, 1, 1]
    told = re.search(r"^trace: (\d+) older events are lost", said, re.M)
    assert int(told[1] if told else 0) == sum(got.lost.values())
    assert not whole or not got.lost
    return got, {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", said)}


@DISK
def test_ping_pong(machine):
    """Each sleep of the two processes ends with one wake-up and a poke from the other; then the process runs on its CPU."""
    got, told = traced(machine, "/usr/test/tracework pong 1 5 50", "switch,wake,poke,intr,migrate")
    home = {told["ping"]: 1, told["pong"]: 5}
    asleep, woken, turns = set(), {}, Counter()
    current = {}
    for e in got.events:
        if e.name == "wake" and e.a in asleep and not e.b & trace.WAKE_AGAIN:
            assert e.a not in woken, "woken twice"
            woken[e.a] = e
            assert e.info == home[e.a], e
        if e.name != "switch":
            continue
        # Before a process has bound itself it can sleep for a lock elsewhere, and be woken there.
        if home.get(current.get(e.cpu)) == e.cpu and trace.STATES[e.info] == "sleeps":
            asleep.add(current[e.cpu])
        current[e.cpu] = e.tid
        if e.tid in asleep:
            assert e.tid in woken and e.cpu == home[e.tid] and trace.text(e.a, e.b) == "tracework", e
            other = woken.pop(e.tid)
            if other.tid in home and other.tid != e.tid:
                assert other.cpu == home[other.tid]
                turns[e.tid] += 1
            asleep.discard(e.tid)
    assert all(turns[tid] >= 10 for tid in home), turns  # of 50: the byte may be there before a process sleeps
    pokes = Counter(trace.text(e.a) for e in got.of("poke") if e.tid == told["ping"] and e.info == 5)
    assert pokes["wakeup"] >= 10, pokes  # a thread that an interrupt wakes may get CPU 5 poked to steal it
    assert any(e.cpu == 5 and trace.text(e.a) == "poke" for e in got.of("intr"))


@DISK
def test_a_ring_that_is_too_small(machine):
    """Two CPUs that switch all the time: until their first event that is left, each has a gap, and no bar or arrow."""
    got, told = traced(machine, "/usr/test/tracework pong 1 5 3000", entries=64, whole=False)
    assert got.lost[1] > 5000 and got.lost[5] > 5000
    events = trace.convert(got)["traceEvents"]
    is_whole(events)
    start = got.events[0].time
    left = {cpu: next(e.time for e in got.events if e.cpu == cpu) - start for cpu in got.lost}
    for cpu, first in left.items():
        bars = [e for e in events if e.get("tid") == cpu + 1 and e.get("cat") in ("run", "lost")]
        assert (bars[0]["name"], bars[0]["ts"]) == (f"lost {got.lost[cpu]} events", 0)
        assert bars[0]["dur"] == pytest.approx(first / 1000, abs=1e-6)
        assert all(bar["ts"] >= first / 1000 - 1e-6 for bar in bars[1:])
    arrows = [e["ts"] for e in events if e.get("flow_out")]
    assert arrows and min(arrows) >= max(left.values()) / 1000 - 1e-6
    named = {(e["tid"] - 1, e["name"]) for e in events if e.get("cat") == "run" and e["args"]["thread"] in told.values()}
    assert {(1, "tracework"), (5, "tracework")} == {(cpu, name) for cpu, name in named if cpu in (1, 5)}


@DISK
def test_thread_and_page_move(machine):
    """A page of board 0 follows its thread to board 1: fault, migration of thread and page, fault, in this order."""
    got, told = traced(machine, "/usr/test/tracework move 1 6", "migrate,fault,page")
    page = [e for e in got.events if e.name in ("fault", "page") and (e.tid, e.a) == (told["tid"], told["address"])]
    assert [(e.name, e.cpu, e.b) for e in page] == [("fault", 1, 0), ("page", 6, 1), ("fault", 6, 1)]
    assert page[1].info == trace.MOVED.index("advice") << 8  # from node 0
    assert all(e.info == 1 for e in page if e.name == "fault")  # writes
    between = [e for e in got.of("migrate") if e.a == told["tid"] and page[0].time < e.time < page[1].time]
    assert [(e.info, e.cpu) for e in between] == [(1, 6)]
    assert not got.of("switch") and not got.of("intr"), "events that were not asked for"


@DISK
def test_pages_that_a_call_moves(machine):
    """The reason of the migration is the call; test_observe.py has those of the kernel's own."""
    command = "trace -n 65536 -e page -o /tmp/trace /usr/test/t_numa migrate_all_pages > /dev/null && trace -i /tmp/trace"
    before = machine.kstats("lgrp:")
    reasons = Counter(re.findall(r" page +0x[0-9a-f]+ from node \d to \d, (.*)$", machine.check(command), re.M))
    after = machine.kstats("lgrp:")
    moved = sum(after[name] - before[name] for name in after if name.endswith(":pages migrated to"))
    assert reasons.keys() == {"call"} and 0.9 * moved < reasons["call"] <= moved  # a large page is one event


@DISK
def test_disk(machine):
    """Disk commands begin and end in pairs, and together read the requested data."""
    # Read-ahead can be on the way when dd has ended, also that of an earlier test's dd.
    idle = "until set -- $(grep ' vda ' /proc/diskstats) && [ ${12} = 0 ]; do sleep 0.1; done"
    machine.check(f"cat > /tmp/read <<'EOF'\ndd if=/dev/vda of=/dev/null bs=64k count=16\n{idle}\nEOF\n{idle}")
    got, _ = traced(machine, "sh /tmp/read", "io,iodone,intr")
    begun, sectors = {}, 0
    for e in got.events:
        if e.name == "io":
            assert trace.text(e.b) == "vda" and (e.a, e.b) not in begun
            begun[e.a, e.b] = e.info
        elif e.name == "iodone":
            assert begun.pop((e.a, e.b)) == e.info
            sectors += e.info
    assert not begun and sectors >= 2048
    assert any(trace.text(e.a).startswith("vda-q") for e in got.of("intr"))


@DISK
def test_lock(machine):
    """A thread that sleeps for a lock has an event with the lock, and then one with the time."""
    got, _ = traced(machine, "/usr/test/tracework lock", "lock,locked")
    waits, ended = {}, 0
    for e in got.events:
        if e.name == "lock":
            assert e.tid not in waits
            waits[e.tid] = e
        else:
            begin = waits.pop(e.tid)
            assert (begin.a, begin.info) == (e.a, e.info) and e.a >> 47 == 0x1FFFF
            assert 0 < e.b <= e.time - begin.time + 2  # times are rounded
            ended += 1
    assert ended > 0 and any(trace.text(e.b) for e in got.of("lock"))


@DISK
def test_fenced_set_names_each_interrupt(machine):
    """With the load inside a fenced set, its CPUs get only pokes; the trace has the sender and the reason of each."""
    machine.check("psrset -c 5 6 7 && psrset -f 1")
    try:
        got, _ = traced(
            machine, "psrset -e 1 sh -c 'dd if=/dev/vda of=/dev/null bs=64k count=64 iflag=direct'", "wake,poke,intr,xcall"
        )
    finally:
        machine.check("psrset -n 1; psrset -d 1")
    inside = [e for e in got.of("intr") if e.cpu in (5, 6, 7)]
    assert {trace.text(e.a) for e in inside} <= {"poke", "timer", "tlb"}, "a device's interrupt"
    for cpu in (5, 6, 7):
        sent = [e for e in got.of("poke") if e.info == cpu]
        taken = [e for e in inside if e.cpu == cpu and trace.text(e.a) == "poke"]
        for number, e in enumerate(taken, 1):
            assert sum(s.time <= e.time for s in sent) >= number, e  # several pokes may arrive as one interrupt
    wakeups = [e for e in got.of("wake") if e.info in (5, 6, 7) and e.b & trace.WAKE_INTR]
    assert wakeups and all(e.cpu < 5 for e in wakeups), "the disk's interrupt is outside, who waits for it inside"


def in_pairs(got: trace.Trace, name: str) -> bool:
    """Whether each thread has ended each event of this name that it began, before it began the next."""
    by_thread: dict[int, list[bool]] = {}
    for e in got.of(name):
        by_thread.setdefault(e.tid, []).append(bool(e.info & trace.ENDS))
    return all(ends == [False, True] * (len(ends) // 2) for ends in by_thread.values())


@pytest.mark.machine(
    "sf3800",
    disks=(f"refdisk:{FOLDER}/slow.img,scale=15",),
    system="set maxphys=16384; set ufs:ufs_LW=32768; set ufs:ufs_HW=65536",
)
def test_throttle(machine):
    """A writer that is faster than its disk waits each time when more than ufs_HW bytes are on the way."""
    got, _ = traced(machine, "dd if=/dev/zero of=/dev/vda bs=4k count=256", "write,throttle")
    waits = [e for e in got.of("throttle") if not e.info & trace.ENDS]
    assert len(waits) >= 3 and in_pairs(got, "throttle")
    assert all(e.info == 0 and e.a * 4096 > 65536 for e in waits), "the rule of ufs_HW"
    shown = machine.check("trace -i /tmp/trace | grep ' throttle '")
    assert shown.count(" begin, ufs_HW, ") == len(waits) and "maxpout" not in shown
    assert {e.b for e in waits} <= {e.b for e in got.of("write")}, "the same file"
    assert {trace.WRITES[e.info >> 8] for e in got.of("write") if e.tid == waits[0].tid} == {"behind"}


# fsflush writes any dirty page that it meets, at any time.
@pytest.mark.machine("sf3800", disks=(f"{FOLDER}/ext.img",), system="set dopageflush=0; set doiflush=0")
def test_the_path_of_a_write(machine):
    """A write and an fsync: write-behind, and inside of the fsync the commit and its flushes."""
    # Without the file of an earlier run, so that the commit revokes nothing; no other process commits meanwhile.
    machine.check("mkdir -p /mnt && mount -t ext3 -o commit=1000 /dev/vda /mnt && rm -f /mnt/f && sync")
    command = "dd if=/dev/zero of=/mnt/f bs=64k count=32 conv=fsync"
    got, _ = traced(machine, command, "read,write,fsync,commit,flush,io,iodone")
    dd = got.of("fsync")[0].tid
    assert [e.info for e in got.of("fsync")] == [0, trace.ENDS] and {e.tid for e in got.of("fsync")} == {dd}
    begin, end = got.of("fsync")
    assert end.a == 0 and end.b == begin.b
    writes = [e for e in got.of("write") if e.b == begin.b]
    assert sum(e.info & 0xFF for e in writes) >= 32 * 16  # pages of 4 KiB; a page may be written twice
    assert all(e.a % 4096 == 0 and trace.WRITES[e.info >> 8] in ("behind", "waits") for e in writes)
    assert any(trace.WRITES[e.info >> 8] == "behind" and e.time < begin.time for e in writes)
    assert trace.text(begin.a) == "vda"
    assert all(in_pairs(got, name) for name in ("fsync", "commit", "flush"))
    commits = [e for e in got.of("commit") if begin.time < e.time < end.time and e.tid == dd]
    assert len(commits) >= 2 and trace.text(commits[0].b) == "vda" and commits[0].a == commits[1].a
    flushes = [e for e in got.of("flush") if commits[0].time < e.time < commits[1].time and e.tid == dd]
    assert len(flushes) == 4 and {trace.text(e.b) for e in flushes} == {"vda"}  # after the log, and after the commit block
    ios = [e for e in got.of("io") if e.a >> 56 == 2 and flushes[0].time <= e.time <= flushes[1].time]
    assert len(ios) == 1, "the disk's command inside of the wait"
    log = [e for e in got.of("io") if e.a >> 56 == 1 and commits[0].time < e.time < flushes[0].time]
    assert not [e for e in got.of("write") if commits[0].time < e.time < flushes[0].time], "fsync has written the data before"
    assert commits[1].b == sum(e.info for e in log) // 8 - 1 > 1, "the blocks, and one that lists them"
    got, _ = traced(machine, "dd if=/dev/zero of=/mnt/small bs=4k count=2 conv=fsync", "write,fsync")
    (file,) = {e.b for e in got.of("fsync")}
    writes = [e for e in got.of("write") if e.b == file]
    assert writes and {trace.WRITES[e.info >> 8] for e in writes} == {"waits"}, "only fsync writes a file that is so small"
    machine.check("umount /mnt && mount -t ext3 /dev/vda /mnt")
    got, _ = traced(machine, "cat /mnt/f > /dev/null", "read")
    assert sum(e.info for e in got.of("read")) >= 32 * 16
    machine.check("umount /mnt")


@DISK
def test_placement(machine):
    """Each new page has an event with the policy, the lgroup and the node; it is where the policy wants it."""
    got, told = traced(machine, "/usr/test/tracework move 1 6", "touch,fallback,fault")
    (touch,) = [e for e in got.of("touch") if (e.tid, e.a) == (told["tid"], told["address"])]
    assert (touch.cpu, touch.info & 0xFF, trace.POLICIES[touch.info >> 8], touch.b) == (1, 0, "next", 0)
    fault = next(e for e in got.of("fault") if (e.tid, e.a) == (told["tid"], told["address"]))
    assert touch.time < fault.time
    assert not got.of("fallback"), "there is memory everywhere"


def test_placement_without_memory(boot_once):
    """A board that is full, and a board that has no memory: the pages are elsewhere, and the event says why."""

    def placed(lgroup: int, size: str) -> str:
        """The last touch with a fallback of dd: others, as trace itself, touch pages meanwhile and afterwards."""
        command = f"echo tid $$; pbind -b {lgroup} $$; exec dd if=/dev/zero of=/dev/null bs={size} count=1"
        mine = "awk '$1 == \"tid\" { tid = $2 } $3 == tid' | grep -B 1 ' fallback ' | tail -2"
        return f"trace -n 16384 -e touch,fallback sh -c '{command}' | {mine}"

    outcome, text, _ = boot_once("sf3800", memory="64M", run=placed(0, "80M"))
    assert outcome.status == 0
    both = r" touch +(0x[0-9a-f]+), next: lgroup 0, node 1\n.* fallback \1, lgroup 0: full, node 1$"
    assert re.search(both, text, re.M), text[-1000:]
    outcome, text, _ = boot_once("memoryless", run=placed(2, "1M"))
    assert outcome.status == 0
    both = r" touch +(0x[0-9a-f]+), next: lgroup 2, node 1\n.* fallback \1, lgroup 2: memless, node 1$"
    assert re.search(both, text, re.M), text[-1000:]  # lgroups without memory have the last numbers


# Each of these events is recorded where a kstat counts: the ends of their names.
COUNTED = {
    "switch": (":sys:csw",),
    "migrate": (":sys:migr",),
    "fault": (":sys:minf", ":sys:mjf"),
    "page": (":pages migrated to",),
    "poke": (":sys:pokes",),
    "fallback": (":alloc fail",),
    "read": (":sys:pgin",),
    "write": (":sys:pgout",),
    "flush": (":vda:flushes", ":vda:flushes"),  # begin and end
}
WORK = """
memcopy -t 8 -m -i 3 > /dev/null
dd if=/dev/zero of=/mnt/f bs=64k count=32 conv=fsync 2> /dev/null
pbind -b 0 $$ > /dev/null
dd if=/dev/zero of=/dev/null bs=70M count=1 2> /dev/null
umount /mnt
mount -t ext3 /dev/vda /mnt
cat /mnt/f > /dev/null
cat /dev/kstat > /tmp/2
"""


@pytest.mark.machine("sf3800", memory="64M", disks=(f"{FOLDER}/ext.img",))
def test_events_are_as_many_as_the_kstats_count(machine):
    """The kstats are read before and after the trace, and again inside of it: each number of events is between the two."""
    machine.check(f"mkdir -p /mnt; mount -t ext3 /dev/vda /mnt; cat > /tmp/work <<'EOF'\ncat /dev/kstat > /tmp/1{WORK}EOF\n")
    text = machine.check(
        "cat /dev/kstat > /tmp/0; trace -n 65536 sh /tmp/work > /tmp/events; cat /dev/kstat > /tmp/3; umount /mnt; "
        'awk \'$1 == "trace:" { print "lost", $2 } NR > 1 { n[$4]++ } END { for (e in n) print e, n[e] }\' /tmp/events'
    )
    events = {name: int(number) for name, number in map(str.split, text.splitlines())}
    assert "lost" not in events
    assert events["io"] == events["iodone"]  # a kstat counts requests, several of which may be one command
    kstats = [re.findall(r"^(.*)\t(\d+)$", machine.check(f"cat /tmp/{i}"), re.M) for i in range(4)]
    for name, ends in COUNTED.items():
        counts = [sum(int(n) * ends.count(end) for end in set(ends) for key, n in one if key.endswith(end)) for one in kstats]
        assert 0 < counts[2] - counts[1] <= events[name] <= counts[3] - counts[0], (name, events[name], counts)


@DISK
def test_free_memory(machine):
    """The clock samples the free memory of each board; what is recorded is what kstat shows.

    A slow host makes the clock lose ticks, so the ticks are counted, and not the time.
    """
    machine.check("printf 'cat /dev/kstat > /tmp/before; sleep 0.5; cat /dev/kstat > /tmp/after' > /tmp/wait")
    got, _ = traced(machine, "sh /tmp/wait", "memory")
    ticks = [
        sum(map(int, re.findall(r"^cpu:0:sys:\w+_ticks\t(\d+)$", machine.check(f"cat /tmp/{name}"), re.M)))
        for name in ("before", "after")
    ]
    assert ticks[1] > ticks[0] > 0
    for node in (0, 1):
        samples = [e for e in got.of("memory") if e.info == node]
        free, installed = (machine.kstats(f"mem:{node}:node:{name}").popitem()[1] for name in ("free", "installed"))
        assert len(samples) >= (ticks[1] - ticks[0]) // 10, "each tenth tick, even without a change"
        assert all(e.b == installed and abs(e.a - free) < installed // 10 for e in samples)


def test_samples_of_the_model(boot_once):
    """With the model, misses and traffic of each board are sampled; they only grow.

    With two boards, what one has sent and received is what the other has received and sent.
    """
    outcome, text, _ = boot_once(
        "sf3800", model="fireplane", run="trace -n 4096 -e misses,link memcopy -t 8 -i 20 | grep board"
    )
    assert outcome.status == 0
    traffic = []
    for board in (0, 1):
        misses = re.findall(rf" misses +board {board}: (\d+) local, (\d+) remote$", text, re.M)
        links = re.findall(rf" link +board {board}: (\d+) bytes at (\d+) ps$", text, re.M)
        assert len(misses) >= 3 and len(links) >= 3, text[-1000:]
        for table in (misses, links):
            for column in zip(*[map(int, row) for row in table], strict=True):
                assert list(column) == sorted(column)
        assert int(misses[-1][0]) > int(misses[0][0])
        traffic.append([int(row[0]) for row in links])
    pairs = [pair for pair in zip(*traffic, strict=False) if any(pair)]
    # the model may publish more between the samples of the two
    assert len(pairs) >= 3 and 4 * sum(one == other for one, other in pairs) > 3 * len(pairs), traffic


@DISK
def test_text_and_mistakes(machine):
    out = machine.check("trace -e switch,wake,name sh -c 'true; true'")
    assert re.search(r"^ +us +cpu +thread event$", out, re.M)
    assert re.search(r"^ +\d+\.\d{3} +\d +\d+ switch +to trace, before: \w+$", out, re.M)
    assert re.search(r"^ +\d+\.\d{3} +\d +\d+ name +sh$", out, re.M)
    assert re.search(r"^ +\d+\.\d{3} +\d +\d+ wake +\d+ on CPU \d, new$", out, re.M)
    assert machine.run("trace sh -c 'exit 7'").status == 7
    assert machine.run("trace -e nothing true").status == 2
    refused = machine.run("trace -n 8 true")
    assert refused.status == 1 and refused.out.strip() == "trace: trace_entries: allowed are 16 to 131072, not 8"
    assert machine.run("cat /dev/trace", uid=1000).status != 0
    assert machine.run("trace true", uid=1000).status == 1
    ended = (
        "trace -n 64 -e wake sleep 1000 > /tmp/o & until pidof sleep > /dev/null; do usleep 20000; done; "
        "kill $!; wait $!; echo $?"
    )
    assert machine.check(ended + "; echo trace_enable/X | mdb -k").split() == ["143", "trace_enable:", "trace_enable:", "0"]
    machine.check("trace -e switch -o /tmp/whole true && trace -i /tmp/whole > /tmp/shown")
    for cut in ("-s $(($(stat -c %s /tmp/whole) - 5))", "-s 320"):
        done = machine.run(f"cp /tmp/whole /tmp/cut; truncate {cut} /tmp/cut; trace -i /tmp/cut 2> /tmp/said")
        assert done.status == 1 and " switch " in done.out
        assert machine.check("cat /tmp/said") == "trace: /tmp/cut: it has no end mark: perhaps it was cut short\n"
    machine.check("trace -i /dev/trace")
    lossy = machine.check("trace -n 31 -e fault sh -c 'ls / >/dev/null; ls / >/dev/null'")
    assert re.search(r"^trace: \d+ older events are lost", lossy, re.M)
    assert machine.check("echo trace_enable/X | mdb -k").split() == ["trace_enable:", "trace_enable:", "0"]


@DISK
def test_rings_change_under_all_cpus(machine):
    """The buffers change their size while CPUs are off-line, fenced, or tracing."""
    machine.check("psradm -f 3; psradm -i 6; memcopy -t 8 -i 1000000 >/dev/null & echo $! >/tmp/busy")
    try:
        for entries in (32, 64, 1024):
            got = machine.check(f"trace -n {entries} -e switch,fault,intr,wake sleep 0.2").splitlines()
            assert len(got) > 2
    finally:
        machine.check("kill $(cat /tmp/busy); psradm -n 3 6")


def test_without_memory_it_stays_off(boot_once):
    run = "trace -n 131072 true && exit 1; echo trace_enable/X | mdb -k; trace -n 1024 -e switch true"
    outcome, text, _ = boot_once("t2000", memory="96M", run=run)
    assert outcome.status == 0
    assert "trace: no memory for 32 CPUs with 131072 events each (trace_entries)" in text
    assert re.search(r"^trace_enable: +0$", text, re.M) and re.search(r" switch +to trace, ", text)


def test_live(boot):
    """While tracing is off, /dev/trace has only the header and the CPUs.  mdb turns it on; events stay until they are read."""
    machine = boot("sf280r")
    read = "cat /dev/trace >/tmp/t; wc -c </tmp/t"
    assert int(machine.check(read)) == 96
    machine.check("echo trace_enable/W 2 | mdb -kw; true; echo trace_enable/W 0 | mdb -kw")
    size = int(machine.check(read))
    assert size > 96 + 64 and size % 32 == 0
    machine.check("base64 /tmp/t >/tmp/text")
    got = trace.read(io.BytesIO(base64.b64decode(machine.check("cat /tmp/text"))))
    assert {e.name for e in got.events} == {"switch"} and not got.lost
    assert int(machine.check(read)) == 96, "what was read is gone"
    assert "Invalid argument" in machine.run("dd if=/dev/trace bs=32 count=1").out  # a read must have room for two records


def test_panic_shows_the_last_events(boot_once):
    """/etc/system turns tracing on at boot."""
    run = "pbind -b 0 $$; pbind -b 1 $$; echo panic > /dev/selftest"  # events on both CPUs
    outcome, text, _ = boot_once("sf280r", run=run, system="set trace_enable=0xffffffff")
    assert outcome.kind == "panic"
    assert "trace: the last events of each CPU" in text
    cpus = re.findall(r"^ +\d+\.\d{3} us ago  CPU (\d) +\d+ (?:switch|wake|migrate|fault|intr|poke|xcall|io)\b", text, re.M)
    assert set(cpus) == {"0", "1"} and len(cpus) <= 12


def test_launcher(boot_once, tmp_path):
    """TRACE= gives a file for Perfetto after the run; the status is that of the command."""
    outcome, _, _ = boot_once("sf280r", run="ls /; exit 4", kernel="normal", trace=tmp_path / "out.json")
    assert outcome.status == 4
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    is_whole(events)
    assert {"sh", "ls"} <= {e["name"] for e in events if e["ph"] == "X"}


def test_launcher_in_perfettos_format(boot_once, tmp_path):
    target = tmp_path / "out.pftrace"
    outcome, _, _ = boot_once("sf280r", run="ls /; exit 4", kernel="normal", trace=target)
    assert outcome.status == 4
    names, tracks = ask(target, "SELECT DISTINCT name FROM slice WHERE category = 'run'", TRACKS)
    assert {"sh", "ls"} <= {row["name"] for row in names}
    assert {("board 0", None), ("CPU 0", "board 0"), ("CPU 1", "board 0")} <= {(row["name"], row["parent"]) for row in tracks}
    assert ("free memory", "board 0") in {(row["name"], row["parent"]) for row in tracks}


def test_the_launchers_rings(boot_once, tmp_path):
    """They fit the machine; the user's own number comes first."""
    for memory, cpus, slots in ((4 << 30, 72, 8192), (512 << 20, 8, 65536), (4 << 30, 8, 1 << 17), (1 << 40, 2, 1 << 17)):
        assert trace.slots(memory, cpus) == slots
    assert trace.slots(64 << 20, 8) == 8192
    run = "echo trace_entries/D | mdb -k"
    for system, number in ((None, trace.slots(512 << 20, 2)), ("set trace_entries=64", 64)):
        _, text, _ = boot_once("sf280r", run=run, kernel="normal", system=system, trace=tmp_path / "out.json")
        assert re.search(rf"^trace_entries\W+{number}$", text, re.M), text


# ---- the converter ----


def is_whole(events: list[dict]) -> None:
    """Check the rules of the trace-event format that apply to our files."""
    named = {(e["pid"], e.get("tid")) for e in events if e["name"] in ("process_name", "thread_name")}
    out, into, open_spans = set(), set(), set()
    last: dict[tuple, float] = {}
    for e in events:
        assert e["ph"] in "MXibe" and isinstance(e["name"], str)
        if e["ph"] == "M":
            continue
        assert e["ts"] >= 0
        if e["ph"] in "be":
            assert (e["pid"], None) in named
            key = (e["cat"], e["id"])
            assert (key in open_spans) == (e["ph"] == "e")
            open_spans ^= {key}
            continue
        assert (e["pid"], e["tid"]) in named and (e["pid"], None) in named
        if e["ph"] == "X":
            assert e["dur"] >= 0
        if e.get("cat") == "run":  # the slices of a CPU must not overlap
            assert e["ts"] >= last.get((e["pid"], e["tid"]), 0) - 1e-3
            last[e["pid"], e["tid"]] = e["ts"] + e["dur"]
        if e.get("flow_out"):
            out.add(e["bind_id"])
        if e.get("flow_in"):
            into.add(e["bind_id"])
    assert not open_spans and into <= out


def made(records: list[tuple], ncpus: int = 2, version: int = trace.VERSION) -> io.BytesIO:
    """A trace file with these records: (time, name or type, cpu, info, tid, a, b)."""
    data = trace.HEADER.pack(trace.MAGIC, version, trace.RECORD.size, ncpus, 0, 10**9)
    data += b"".join(trace.RECORD.pack(10**9, trace.CPU, cpu, cpu, 0, cpu, 0) for cpu in range(ncpus))
    for time, name, *rest in records:
        data += trace.RECORD.pack(time, NUMBER.get(name, name), *rest)
    return io.BytesIO(data)


def word(text: str) -> int:
    return int.from_bytes(text.encode()[:8].ljust(8, b"\0"), "little")


def test_converter():
    records = [
        (1000, trace.LOST, 0, 0, 0, 3, 0),
        (1000, "switch", 0, 0, 10, word("ping"), 0),
        (2000, "wake", 0, 1, 10, 20, 0),
        (2500, "poke", 0, 1, 10, word("wakeup"), 0),
        (9000, "switch", 0, 0, IDLE, word("idle"), 0),
        (500, "fault", 1, 1, 20, 0x1234, 1),
        (3000, "intr", 1, 0xF0, IDLE, word("poke"), 0),
        (4000, "switch", 1, 2, 20, word("long-nam"), word("e")),
        (5000, "io", 1, 8, 20, 64 | 1 << 56, word("vda")),
        (6000, "lock", 1, 2, 20, 0xFFFF8000_00000000, word("as")),
        (7500, "name", 1, 0, 20, word("new"), 0),
        (8000, "locked", 1, 2, 20, 0xFFFF8000_00000000, 2000),
    ]
    got = trace.read(made(records))
    assert [e.time for e in got.events] == sorted(r[0] for r in records if r[1] != trace.LOST)
    done = trace.convert(got)
    json.dumps(done)
    events = done["traceEvents"]
    is_whole(events)
    assert done["otherData"] == {"lost events": {"CPU 0": 3}}
    runs = {e["name"]: e for e in events if e.get("cat") == "run" and e["ts"] > 0}
    ping, other = runs["ping"], runs["long-name"]
    assert (ping["ts"], ping["dur"], ping["pid"], ping["tid"], ping["args"]["then it"]) == (0.5, 8, 1, 1, "sleeps")
    assert (other["ts"], other["dur"], other["pid"], other["tid"]) == (3.5, 3.5, 2, 2)
    assert (runs["new"]["ts"], runs["new"]["dur"]) == (7, 1.5)  # to the last event
    wake = next(e for e in events if e["name"] == "wake 20")
    assert wake["flow_out"] and other["flow_in"] and wake["bind_id"] == other["bind_id"]
    before = next(e for e in events if e.get("cat") == "run" and e["ts"] == 0)
    assert (before["name"], before["tid"], before["dur"]) == ("long-name", 2, 3.5)  # it ran from the beginning
    assert [e["ph"] for e in events if e.get("cat") == "io"] == ["b", "e"]
    assert [e["name"] for e in events if e.get("cat") == "lock"] == ["as", "as"]


def test_details_in_json():
    events = trace.convert(trace.read(made([r for r in RECORDS if r[1] != trace.LOST])))["traceEvents"]
    is_whole(events)
    args = {(e["cat"], e["ph"], round(1000 * e["ts"] + 100)): e["args"] for e in events if "cat" in e}
    file = "0xffff800000001000"
    assert args["touch", "i", 3600] == {"address": "0x7fff0000", "lgroup": 0, "policy": "next", "node": 1}
    assert args["fallback", "i", 3700] == {"address": "0x7fff0000", "lgroup": 0, "reason": "full", "node": 1}
    assert args["fsync", "b", 4100] == {"thread": 20, "file": file, "data only": False, "disk": "vda"}
    assert args["fsync", "e", 5500] == {"error": 5}
    assert args["commit", "b", 4200] == {"thread": 20, "transaction": 7, "disk": "vdb"}
    assert args["commit", "e", 5400] == {"blocks": 12}
    assert args["flush", "b", 4300] == {"thread": 20, "disk": "vda"} and args["flush", "e", 5300] == {}
    assert args["throttle", "b", 8710] == {"thread": 20, "rule": "ufs_HW", "pages": 33, "file": file}
    assert args["throttle", "b", 8730] == {"thread": 20, "rule": "maxpout", "pages": 44, "file": file}


# Events are lost on CPU 2 from the begin to 2600, and on CPU 1 from 3001 to 6000.
GAPS = [
    (1000, "switch", 0, 0, 10, word("ping"), 0),
    (1500, "wake", 0, 1, 10, 20, 0),
    (1600, "io", 0, 8, 10, 32, word("vda")),
    (1700, "iodone", 0, 8, 10, 32, word("vda")),
    (2650, "io", 0, 8, 10, 64, word("vda")),
    (2700, "wake", 0, 1, 10, 20, 0),
    (2750, "fsync", 0, 0, 10, 0, 1),
    (4000, "lock", 0, 0, 10, 1, word("as")),
    (4500, "wake", 0, 1, 10, 20, 0),
    (5000, "iodone", 0, 8, 10, 64, word("vda")),
    (6200, "wake", 0, 1, 10, 20, trace.WAKE_AGAIN),
    (7000, "locked", 0, 0, 10, 1, 3000),
    (7500, "fsync", 0, trace.ENDS, 10, 0, 1),
    (8000, "io", 0, 8, 10, 64, word("vda")),
    (8100, "iodone", 0, 8, 10, 64, word("vda")),
    (8200, "wake", 0, 1, 10, 30, 0),
    (8300, "wake", 0, 2, 10, 40, 0),
    (9000, "intr", 0, 0, 10, word("timer"), 0),
    (1200, "switch", 1, 0, 20, word("pong"), 0),
    (2900, "misses", 1, 0, 20, 100, 10),
    (3000, "intr", 1, 0, 20, word("timer"), 0),
    (6000, trace.LOST, 1, 0, 0, 3, 0),
    (6000, trace.LOST, 1, 0, 0, 4, 0),
    (6000, "fault", 1, 0, 20, 0x1000, 1),
    (6100, "misses", 1, 0, 20, 250, 30),
    (6300, "misses", 1, 0, 20, 255, 31),
    (6500, "switch", 1, 0, IDLE, word("idle"), 0),
    (8500, "switch", 1, 0, 30, word("third"), 0),
    (2600, trace.LOST, 2, 0, 0, 5, 0),
    (2600, "fault", 2, 0, 30, 0x2000, 1),
    (2700, "switch", 2, 0, IDLE + 1, word("idle"), 0),
    (8600, "switch", 2, 0, 40, word("idle"), 0),
]
BARS = {  # category, name, begin, length
    ("run", "ping", 1000, 8000),
    ("run", "pong", 1200, 1801),  # up to the gap
    ("run", "pong", 6000, 500),  # from the first event after the gap
    ("run", "third", 2600, 100),  # its first switch is later
    ("run", "third", 8500, 500),
    ("run", "idle", 8600, 400),  # a program with this name
    ("lost", "lost 5 events", 1000, 1600),
    ("lost", "lost 7 events", 3001, 2999),
    ("io", "read", 2650, 351),
    ("io", "read", 8000, 100),
    ("fsync", "fsync", 2750, 251),
}
MARKS = {("io", 1600), ("iodone", 1700), ("lock", 4000), ("iodone", 5000)}  # what would begin or end a bar


def test_nothing_spans_lost_events():
    events = trace.convert(trace.read(made(GAPS, ncpus=3)))["traceEvents"]
    is_whole(events)
    at = {(e["cat"], e["name"]): round(1000 + 1000 * e["ts"]) for e in events if e["ph"] == "b"}
    assert at.keys() == {("io", "vda read"), ("fsync", "fsync")}
    bars = {(e["cat"], e["name"], round(1000 + 1000 * e["ts"]), round(1000 * e["dur"])) for e in events if e["ph"] == "X"}
    assert {bar for bar in bars if bar[0] != "wake"} == {bar for bar in BARS if bar[0] in ("run", "lost")}
    ends = [(e["cat"], round(1000 + 1000 * e["ts"])) for e in events if e["ph"] == "e"]
    assert ends == [("io", 3001), ("fsync", 3001), ("io", 8100)]
    marks = {(e["cat"], round(1000 + 1000 * e["ts"])) for e in events if e["ph"] == "i"}
    assert {mark for mark in marks if mark[0] in trace.PAIRS} == MARKS
    assert [e["name"] for e in events if e.get("flow_in")] == ["third", "idle"]


@pytest.mark.xdist_group("questions")
def test_nothing_spans_lost_events_in_perfettos_format(answers):
    slices, flows, counters, args, _, loss = answers["gaps"]
    pairs = {r["category"] for r in slices} & {"run", "lost", *trace.PAIRS}
    found = [(r["category"], r["name"], r["ts"], r["dur"]) for r in slices if r["category"] in pairs]
    assert len(found) == len(BARS) + len(MARKS)
    assert {bar for bar in found if bar[3]} == BARS
    assert {(category, at) for category, _, at, length in found if not length} == MARKS
    assert [tuple(r.values()) for r in flows] == [("wake third", "third"), ("wake a thread", "idle")]
    assert [(r["ts"], r["value"]) for r in counters] == [(6100, 5), (6100, 1)]
    assert sum(int(r["value"]) for r in args if r["key"] == "debug.lost") == 12
    assert loss == [{"value": 12}]
    ended = [r["category"] for r in args if r["value"] == "events are lost"]
    assert sorted(ended) == ["fsync", "io", "run"]


def test_a_slow_reader():
    """It gets the end of the trace as one TRACE_LOST after the other, which are one gap of each CPU."""
    records = [(1000, "switch", 0, 0, 10, word("ping"), 0), (2000, "intr", 0, 0, 10, word("timer"), 0)]
    records += [(3000, trace.LOST, cpu, 0, 0, 5, 0) for cpu in (0, 1, 0, 1, 0)]
    events = trace.convert(trace.read(made(records)))["traceEvents"]
    bars = {(e["name"], e["tid"] - 1, e["ts"], round(e["dur"], 3)) for e in events if e["ph"] == "X"}
    assert bars == {("ping", 0, 0, 1.001), ("lost 15 events", 0, 1.001, 0.999), ("lost 10 events", 1, 0, 2)}


def test_a_line_says_what_keeps_lost_events(tmp_path, monkeypatch):
    monkeypatch.setattr(trace, "MOST_ENTRIES", 256)
    file, target = tmp_path / "raw", tmp_path / "out.pftrace"
    one = (1, "intr", 0, 0, 1, 0, 0)
    for lost, kept, said in (
        (0, 1, "1 events of 2 CPUs, 0 lost (it has no end mark"),
        (100, 1, "100 lost (all fit with SYSTEM='set trace_entries=128')"),
        (250, 1, "250 lost (all fit with SYSTEM='set trace_entries=256')"),
        (256, 1, "256 lost (fewer with SYSTEM='set trace_entries=256')"),
        (9, trace.MOST_ENTRIES - 1, "9 lost (larger rings are not possible; trace less, or with -e)"),
    ):
        file.write_bytes(made([(1, trace.LOST, 0, 0, 0, lost, 0)] * (lost > 0) + [one] * kept).getvalue())
        assert said in trace.write(file, target)


def test_a_target_that_is_not_written_stays(tmp_path, monkeypatch):
    """A damaged trace and a file that cannot be opened leave what was there; a part of a trace does not stay."""
    file, kept, part = tmp_path / "raw", tmp_path / "kept.json", tmp_path / "part.pftrace"
    for path in (kept, part):
        path.write_text("what was there")
    file.write_bytes(made([(2, "intr", 0, 0, 1, 0, 0)] * 3).getvalue())

    def cut(*_):
        raise trace.TraceError("damaged")

    with monkeypatch.context() as patch:
        patch.setattr(trace, "convert", cut)
        patch.setattr(perfetto.Converter, "events", cut)
        for path in (kept, part):
            with pytest.raises(trace.TraceError, match="damaged"):
                trace.write(file, path)
    assert kept.read_text() == "what was there" and not part.exists()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(trace.TraceError, match="Permission denied"):
        trace.write(file, kept)
    monkeypatch.undo()
    assert kept.read_text() == "what was there"


def test_no_trace(tmp_path):
    whole = made([(1, "intr", 0, 0, 1, 0, 0)]).getvalue()
    assert len(trace.read(io.BytesIO(whole + bytes(32) + b"what a disk had before" * 9)).events) == 1
    assert len(trace.read(io.BytesIO(whole + whole[-32:-1])).events) == 1  # the last record is cut off
    assert trace.read(made([(1, 77, 0, 0, 1, 0, 0)])).events == []  # a type of a later version is ignored
    for bad in (
        b"",
        whole[:20],
        bytes(64),
        whole[32:],
        whole[:32],
        made([], version=2).getvalue(),
        made([(1, "intr", 9, 0, 1, 0, 0)]).getvalue(),
    ):
        with pytest.raises(trace.TraceError):
            trace.read(io.BytesIO(bad))
    with pytest.raises(trace.TraceError):
        trace.write(tmp_path / "missing", tmp_path / "out.json")


def test_the_layout_is_the_headers():
    assert trace.NAMES[1] == "switch" and trace.NAMES[13] == "name" and trace.NAMES[24] == "link" and len(trace.NAMES) == 24
    assert struct.calcsize(trace.RECORD.format) == 32 == trace.HEADER.size


# ---- Perfetto's own format ----

PYTHON = TOP / ".venv-traces/bin/python"
TRACKS = "SELECT t.name, p.name AS parent FROM track t LEFT JOIN track p ON t.parent_id = p.id"
DATA = TOP / "tests/data/traces"


def ask_all(*asked: tuple) -> list[list[list[dict]]]:
    """What Perfetto's trace processor answers to each (file, queries), and before that a check of the format."""
    if not PYTHON.exists() or shutil.which("chromium") is None:
        harness.lacking("traces", "no trace processor to look at the file with: tools/deps.sh browser traces")
    words = json.dumps([(str(file), queries) for file, queries in asked])
    command = [PYTHON, TOP / "tests/traceprocessor.py"]
    done = subprocess.run(command, input=words, capture_output=True, text=True, timeout=harness.HOST_LIMIT)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout)
    assert all(checked["packets"] > 0 and checked["unknown"] == 0 for checked, *_ in answers), answers
    return [rows for _, *rows in answers]


def ask(file, *queries: str) -> list[list[dict]]:
    return ask_all((file, queries))[0]


RECORDS = [
    (1000, trace.LOST, 0, 0, 0, 3, 0),
    (1000, "switch", 0, 0, 10, word("ping"), 0),
    (2000, "wake", 0, 1, 10, 20, 4),
    (2500, "poke", 0, 1, 10, word("wakeup"), 0),
    (3500, "page", 0, 0x100, 10, 0x5000, 1),
    (3600, "touch", 0, 0x100, 10, 0x7FFF0000, 1),
    (3700, "fallback", 0, 0x100, 10, 0x7FFF0000, word("full")),
    (9000, "switch", 0, 0, IDLE, word("idle"), 0),
    (100, "fault", 1, 1, 20, 0x1234, 1),
    (3000, "intr", 1, 0xF0, 20, word("poke"), 0),
    (4000, "switch", 1, 2, 20, word("long-nam"), word("e")),
    (4100, "fsync", 1, 0, 20, word("vda"), 0xFFFF8000_00001000),
    (4200, "commit", 1, 0, 20, 7, word("vdb")),
    (4300, "flush", 1, 0, 20, 0, word("vda")),
    (5000, "io", 1, 8, 20, 64 | 1 << 56, word("vda")),
    (5100, "io", 1, 8, 20, 128 | 1 << 56, word("vda")),
    (5200, "iodone", 1, 8, 20, 64 | 1 << 56, word("vda")),
    (5300, "flush", 1, trace.ENDS, 20, 0, word("vda")),
    (5400, "commit", 1, trace.ENDS, 20, 7, 12),
    (5500, "fsync", 1, trace.ENDS, 20, 5, 0xFFFF8000_00001000),
    (6000, "lock", 1, 2, 20, 0xFFFF8000_00000000, word("as")),
    (6500, "memory", 1, 0, 20, 100, 200),
    (6600, "misses", 1, 0, 20, 100, 10),
    (6600, "link", 1, 0, 20, 1000, 10**6),
    (7500, "name", 1, 0, 20, word("new"), 0),
    (8000, "locked", 1, 2, 20, 0xFFFF8000_00000000, 2000),
    (8600, "misses", 1, 0, 20, 150, 40),
    (8600, "link", 1, 0, 20, 3400, 2 * 10**6),
    (8700, "throttle", 1, trace.ENDS, 20, 0, 1),  # its begin was lost
    (8710, "throttle", 1, 0, 20, 33, 0xFFFF8000_00001000),
    (8720, "throttle", 1, trace.ENDS, 20, 0, 0xFFFF8000_00001000),
    (8730, "throttle", 1, 1, 20, 44, 0xFFFF8000_00001000),
    (8740, "throttle", 1, trace.ENDS | 1, 20, 0, 0xFFFF8000_00001000),
    (8800, "xcall", 1, 3, 20, 0x1000, 0x2000),
]


HIS, HERS = 0xFFFF8000_00002000, 0xFFFF8000_00003000  # locks
# Thread 11 holds a lock when 12, and then 13, begin to wait for it.  11 releases it, and wakes 12, which has it for 5 ms.
# Between two holders 12 passes nothing on; 13 has it for 40 us.  14 waits for another lock meanwhile.
CHAIN = [
    (0, "switch", 0, 0, 11, word("a"), 0),
    (1_000_000, "lock", 0, 2, 12, HIS, word("as")),
    (1_500_000, "lock", 0, 2, 13, HIS, word("as")),
    (1_600_000, "lock", 0, 2, 14, HERS, word("as")),
    (3_000_000, "wake", 0, 0, 11, 12, 0),
    (3_200_000, "wake", 0, 0, 11, 12, trace.WAKE_AGAIN),
    (3_300_000, "wake", 0, 0, 15, 14, 0),
    (3_400_000, "locked", 0, 2, 14, HERS, 0),
    (4_000_000, "locked", 0, 2, 12, HIS, 0),
    (9_000_000, "wake", 0, 0, 12, 13, 0),
    (9_100_000, "locked", 0, 2, 13, HIS, 0),
    (9_120_000, "lock", 0, 2, 11, HIS, word("as")),
    (9_140_000, "wake", 0, 0, 13, 11, 0),
    (9_150_000, "locked", 0, 2, 11, HIS, 0),
]
HAD = [
    (13, 7600, 12, 5000),
    (13, 7600, 11, 1500),
    (13, 7600, None, 1100),
    (12, 3000, 11, 2000),
    (12, 3000, None, 1000),
    (14, 1800, 15, 1700),
]
HAD += [(14, 1800, None, 100)]
# Two threads call fsync at the same time, for files on two disks; each makes the flushes of its own, and 22 that of 23.
TWO = [
    (0, "switch", 0, 0, 21, word("a"), 0),
    *((1000 + i, "fsync", 0, 0, 21 + i, word(disk), 0x1000 + i) for i, disk in enumerate(("vda", "vdb", "vdb"))),
    (2000, "fsync", 0, 0, 24, 0, 0x2000),
    *((3000 + i, "flush", 0, 0, 21 + i, 0, word(disk)) for i, disk in enumerate(("vda", "vdb"))),
    *((4000 + i, "flush", 0, trace.ENDS, 21 + i, 0, word(disk)) for i, disk in enumerate(("vda", "vdb"))),
    *((5000 + i, "fsync", 0, trace.ENDS, 21 + i, 0, 0x1000 + i) for i in range(3)),
    (6000, "fsync", 0, trace.ENDS, 24, 0, 0x2000),
]
LOSS = "SELECT value FROM stats WHERE name = 'traced_buf_trace_writer_packet_loss' AND severity = 'data_loss'"
REMEDY = "(all fit with SYSTEM='set trace_entries=32')"
EVERY = (
    "SELECT s.ts, s.dur, s.name, s.category, t.name AS track, p.name AS above, u.name AS outer FROM slice s"
    " JOIN track t ON s.track_id = t.id LEFT JOIN track p ON t.parent_id = p.id"
    " LEFT JOIN slice u ON s.parent_id = u.id ORDER BY s.ts, s.dur DESC",
    "SELECT a.name AS waker, b.name AS run FROM flow JOIN slice a ON slice_out = a.id JOIN slice b ON slice_in = b.id",
    "SELECT c.ts, c.value, t.name, u.unit, p.name AS above FROM counter c JOIN track t ON c.track_id = t.id"
    " JOIN counter_track u ON u.id = t.id JOIN track p ON t.parent_id = p.id ORDER BY c.ts, t.name",
    "SELECT s.category, a.key, a.display_value AS value FROM slice s JOIN args a USING (arg_set_id)",
    TRACKS,
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """By file, the trace processor's answers: to the queries EVERY about RECORDS, and to each question of the book."""
    folder = tmp_path_factory.mktemp("questions")
    raw, target = folder / "raw", folder / "records.pftrace"
    raw.write_bytes(made(RECORDS).getvalue() + trace.RECORD.pack(*[0] * 7))
    assert (
        trace.write(raw, target, link_mbps=4800)
        == f"{target}: 33 events of 2 CPUs, 3 lost {REMEDY}; open it in ui.perfetto.dev"
    )
    gaps = folder / "gaps.pftrace"
    raw.write_bytes(made(GAPS, ncpus=3).getvalue() + trace.RECORD.pack(*[0] * 7))
    trace.write(raw, gaps)
    asked = [(target, EVERY), (gaps, (*EVERY, LOSS))]
    queries = {name: query for name, query, _ in questions()}
    for name, records, question in (("chain", CHAIN, "lock"), ("two", TWO, "fsync")):
        raw.write_bytes(made(records).getvalue() + trace.RECORD.pack(*[0] * 7))
        trace.write(raw, folder / f"{name}.pftrace")
        asked.append((folder / f"{name}.pftrace", [queries[question]]))
    for name, query, _ in questions():
        (folder / name).write_bytes(lzma.decompress((DATA / f"{name}.trace.xz").read_bytes()))
        trace.write(folder / name, folder / f"{name}.pftrace")
        asked.append((folder / f"{name}.pftrace", [query]))
    return {file.stem: rows for (file, _), rows in zip(asked, ask_all(*asked), strict=True)}


@pytest.mark.xdist_group("questions")
def test_every_event_in_perfettos_format(answers):
    slices, flows, counters, args, tracks = answers["records"]
    rows = {(r["category"], r["name"], r["ts"]): (r["dur"], r["track"], r["above"], r["outer"]) for r in slices}
    assert rows["run", "ping", 1000] == (8000, "CPU 0", "board 0", None)
    assert rows["run", "long-name", 100] == (3900, "CPU 1", "board 1", None), "it ran before its first switch"
    assert rows["run", "long-name", 4000] == (3500, "CPU 1", "board 1", None)
    assert rows["run", "new", 7500] == (1500, "CPU 1", "board 1", None), "up to the last event"
    assert rows["wake", "wake long-name", 2000][:3] == (0, "CPU 0", "board 0")
    assert rows["fsync", "fsync", 4100] == (1400, "long-name 20", "threads", None)
    assert rows["commit", "commit", 4200] == (1200, "long-name 20", "threads", "fsync")
    assert rows["flush", "vda", 4300] == (1000, "long-name 20", "threads", "commit")
    assert rows["lock", "as", 6000] == (2000, "long-name 20", "threads", None)
    assert rows["io", "write", 5000] == (200, "vda", "disks", None)
    assert rows["io", "write", 5100] == (3900, "vda", "disks", None), "on another track, up to the last event"
    assert rows["throttle", "ufs_HW", 8710][0] == rows["throttle", "maxpout", 8730][0] == 10
    assert rows["lost", "lost 3 events", 100] == (900, "CPU 0", "board 0", None)
    assert {r["category"] for r in slices} == {"run", "lost", *(name for name in NUMBER if name not in QUIET)}
    assert [tuple(r.values()) for r in flows] == [("wake long-name", "long-name")]
    assert [(r["ts"], r["value"], r["name"], r["unit"], r["above"]) for r in counters] == [
        (6500, 409600, "free memory", "bytes", "board 0"),
        (6600, 50, "link", "%", "board 0"),  # 2400 bytes in a microsecond, of 4800 MB/s
        (6600, 50, "local misses", "count", "board 0"),
        (6600, 30, "remote misses", "count", "board 0"),
    ]
    told = {(r["category"], r["key"].removeprefix("debug."), r["value"]) for r in args}
    assert {
        ("page", "reason", "advice"),
        ("fallback", "lgroup", "0"),
        ("fallback", "node", "1"),
        ("commit", "blocks", "12"),
        ("commit", "disk", "vdb"),
        ("fsync", "disk", "vda"),
        ("flush", "disk", "vda"),
    } <= told
    assert {("touch", "lgroup", "0"), ("touch", "node", "1"), ("throttle", "pages", "33"), ("throttle", "pages", "44")} <= told
    assert {("wake", "woken", "20"), ("wake", "by", "an interrupt"), ("run", "then", "sleeps"), ("fsync", "error", "5")} <= told
    assert sum(r["name"] == "vda" for r in tracks) == 2


QUIET = {"switch", "name", "migrate", "iodone", "locked", "read", "write", "memory", "misses", "link"}


def test_mistakes_in_perfettos_format(tmp_path):
    """A trace that is cut short, of another version, or damaged, and a full disk: one line each, and no file."""
    file, target = tmp_path / "raw", tmp_path / "out.pftrace"
    whole = made([r for r in RECORDS if r[2] == 1]).getvalue()
    for data in (whole[:-1], whole[: -5 * 32]):
        file.write_bytes(data)
        assert "(it has no end mark: perhaps it was cut short)" in trace.write(file, target)
    for data, said in (
        (made([], version=2).getvalue(), "a trace of version 2; this program reads 1"),
        (made([(1, "intr", 9, 0, 1, 0, 0)]).getvalue(), "the trace is damaged: 2 of 2 CPUs"),
        (made([], ncpus=0).getvalue(), "the trace is damaged: 0 of 0 CPUs"),
        (made([(9, "intr", 1, 0, 1, 0, 0), (5, "intr", 1, 0, 1, 0, 0)]).getvalue(), "the times of a CPU do not follow"),
        (made([(5, "misses", 1, 0, 1, 70_000, 0), (9, "misses", 1, 0, 1, 0, 0)]).getvalue(), "its counts of misses or of"),
        (made([(5, "misses", 1, 0, 1, 7, 2), (9, "misses", 1, 0, 1, 8, 1)]).getvalue(), "its counts of misses or of"),
        (made([(5, "link", 1, 0, 1, 7, 2), (9, "link", 1, 0, 1, 6, 3)]).getvalue(), "its counts of misses or of"),
        (b"something else" * 9, "not a trace"),
        (bytes(99), "the run ended before the trace was written"),
    ):
        target.unlink(missing_ok=True)
        file.write_bytes(data)
        with pytest.raises(trace.TraceError, match=said) as caught:
            trace.write(file, target)
        assert "\n" not in str(caught.value) and not target.exists()
    file.write_bytes(whole)
    with pytest.raises(trace.TraceError, match="the trace itself"):
        trace.write(file, file)
    assert file.read_bytes() == whole
    done = subprocess.run(
        [sys.executable, "-m", "homeroom.trace", file, "/dev/full"], cwd=TOP / "tools", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "trace: /dev/full: No space left on device\n")


def test_numbers_of_the_format():
    assert [perfetto.varint(n) for n in (0, 127, 128, 16383, 16384)] == [b"\0", b"\x7f", b"\x80\1", b"\xff\x7f", b"\x80\x80\1"]
    assert perfetto.varint(2**64 - 1) == b"\xff" * 9 + b"\1"


def questions() -> list[tuple[str, str, str]]:
    """The worked questions of docs/trace.md: name of the trace, query, and the answer as a table."""
    section = (TOP / "docs/trace.md").read_text().partition("\n## Five questions\n")[2].partition("\n## ")[0]
    return re.findall(r'^```sql title="(\w+)\.pftrace"\n(.*?)^```\n\n((?:^\|[^\n]*\n)+)', section, re.M | re.S)


def table(rows: list[dict]) -> str:
    lines = [list(rows[0]), ["---"] * len(rows[0])] + [["-" if v is None else v for v in row.values()] for row in rows]
    return (
        "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")
    )


@pytest.mark.xdist_group("questions")
@pytest.mark.parametrize("name, query, answer", questions(), ids=[name for name, _, _ in questions()])
def test_a_question(name, query, answer, answers):
    """The query answers the question, for a trace that was recorded with the command of the book."""
    (rows,) = answers[name]
    assert table(rows) == answer


@pytest.mark.xdist_group("questions")
def test_who_had_the_lock(answers):
    """The answer is divided among the holders; it does not name the last one only."""
    (rows,) = answers["chain"]
    assert [(int(r["waiter"].split()[-1]), r["us"], r["holder"], r["held_us"]) for r in rows] == HAD


@pytest.mark.xdist_group("questions")
def test_a_flush_of_another_disk_is_no_answer(answers):
    (rows,) = answers["two"]
    assert [(r["thread"].split()[-1], r["disk"], r["flushed_by"].split()[-1]) for r in rows] == [
        ("21", "vda", "21"),
        ("22", "vdb", "22"),
        ("23", "vdb", "22"),
    ]


def test_there_are_five_questions():
    assert len(questions()) == 5 and {name for name, _, _ in questions()} == {p.name.split(".")[0] for p in DATA.iterdir()}


# ---- a large trace ----

EVENTS, CPUS, RUN = 10_000_000, 72, 64


def write_large(file, seed: int) -> None:
    """A trace of EVENTS events: pieces of RUN consecutive events of recorded traces, in a random order on each CPU."""
    chance, pieces = random.Random(seed), []
    for recorded in sorted(DATA.iterdir()):
        by_cpu: dict[int, list] = {}
        for e in trace.read(io.BytesIO(lzma.decompress(recorded.read_bytes()))).events:
            by_cpu.setdefault(e.cpu, []).append(e)
        for events in by_cpu.values():
            pieces += [events[i : i + RUN + 1] for i in range(0, len(events) - RUN, RUN)]
    pack, left = trace.RECORD.pack, EVENTS
    file.write(trace.HEADER.pack(trace.MAGIC, trace.VERSION, trace.RECORD.size, CPUS, 0, 0))
    file.write(b"".join(pack(0, trace.CPU, cpu, cpu // 4, 0, cpu // 4, 0) for cpu in range(CPUS)))
    for cpu in range(CPUS):
        now, share = 10**9, left // (CPUS - cpu)
        left -= share
        while share > 0:
            piece = chance.choice(pieces)
            for e, after in itertools.islice(itertools.pairwise(piece), share):
                file.write(pack(now, NUMBER[e.name], cpu, e.info, e.tid, e.a, e.b))
                now += after.time - e.time
            share -= RUN
    file.write(bytes(trace.RECORD.size))


@pytest.mark.long
def test_ten_million_events(tmp_path):
    """A trace of 10 million events takes at most 150 MB, and its conversion little memory."""
    seed = random.randrange(1 << 32)
    with open(tmp_path / "raw", "wb") as file:
        write_large(file, seed)
    began = monotonic()
    # Not ru_maxrss: Linux counts the memory of the process that has forked, too.
    convert = "from homeroom import trace; trace.main(); print(open('/proc/self/status').read())"
    command = [sys.executable, "-c", convert, tmp_path / "raw", tmp_path / "large.pftrace"]
    said = subprocess.run(command, cwd=TOP / "tools", stdout=subprocess.PIPE, text=True, check=True).stdout
    most = int(re.search(r"^VmHWM:\s+(\d+) kB", said, re.M)[1])
    size = (tmp_path / "large.pftrace").stat().st_size
    print(
        f"seed {seed}: {said.splitlines()[0]}\n{size} bytes, {size / EVENTS:.2f} for each event; "
        f"{monotonic() - began:.0f} s, {most >> 10} MiB"
    )
    assert f"{EVENTS} events of {CPUS} CPUs" in said
    assert size <= 150_000_000
    assert most < 200 << 10  # KiB
    for path in tmp_path.iterdir():
        path.unlink()
