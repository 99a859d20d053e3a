# SPDX-License-Identifier: MIT
"""test_trace.py - the trace: the events of a known program, in order; the file for Perfetto; the last events at a panic.

tests/host/test_trace.c tests the buffers: wrapping, lost events, a reader beside the writer.
"""

import base64
import io
import json
import re
import struct
from collections import Counter

import pytest

from homeroom import trace
from homeroom.machine import TOP

FOLDER = TOP / "build/test-trace"
DISK = pytest.mark.machine("sf3800", disks=(f"{FOLDER}/a.img,queues=2",))
NUMBER = {name: number for number, name in trace.NAMES.items()}


@pytest.fixture(scope="module", autouse=True)
def image():
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "a.img").write_bytes(bytes(8 << 20))


# ---- on a machine ----


def traced(machine, command: str, events: str = "", entries: int = 16384) -> tuple[trace.Trace, dict[str, int]]:
    """The trace of a command, and the numbers that the command printed."""
    options = f"-n {entries} -o /tmp/trace" + (f" -e {events}" if events else "")
    out = machine.check(f"trace {options} {command} && base64 /tmp/trace >/tmp/text && cat /tmp/text", timeout=120)
    begin = base64.b64encode(trace.MAGIC)[:8].decode()  # the first line of base64
    said, found, text = out.partition(begin)
    assert found, out[:1000]
    got = trace.read(io.BytesIO(base64.b64decode(found + text)))
    assert sorted(got.boards) == list(range(8)) and [got.boards[cpu] for cpu in (0, 3, 4, 7)] == [0, 0, 1, 1]
    assert not got.lost
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
        if current.get(e.cpu) in home and trace.STATES[e.info] == "sleeps":
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
def test_thread_and_page_move(machine):
    """A page of board 0 follows its thread to board 1: fault, migration of thread and page, fault, in this order."""
    got, told = traced(machine, "/usr/test/tracework move 1 6", "migrate,fault,page")
    page = [e for e in got.events if e.name in ("fault", "page") and (e.tid, e.a) == (told["tid"], told["address"])]
    assert [(e.name, e.cpu, e.b) for e in page] == [("fault", 1, 0), ("page", 6, 1), ("fault", 6, 1)]
    assert page[1].info == 1 << 8 and all(e.info == 1 for e in page if e.name == "fault")  # from node 0; writes
    between = [e for e in got.of("migrate") if e.a == told["tid"] and page[0].time < e.time < page[1].time]
    assert [(e.info, e.cpu) for e in between] == [(1, 6)]
    assert not got.of("switch") and not got.of("intr"), "events that were not asked for"


@DISK
def test_disk(machine):
    """Disk commands begin and end in pairs, and together read the requested data."""
    got, _ = traced(machine, "dd if=/dev/vda of=/dev/null bs=64k count=16", "io,iodone,intr")
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
        (1000, "switch", 0, 0, 10, word("ping"), 0),
        (2000, "wake", 0, 1, 10, 20, 0),
        (2500, "poke", 0, 1, 10, word("wakeup"), 0),
        (9000, "switch", 0, 0, 99, word("idle"), 0),
        (7500, "name", 1, 0, 20, word("new"), 0),
        (500, "fault", 1, 1, 20, 0x1234, 1),
        (3000, "intr", 1, 0xF0, 99, word("poke"), 0),
        (4000, "switch", 1, 2, 20, word("long-nam"), word("e")),
        (5000, "io", 1, 8, 20, 64 | 1 << 56, word("vda")),
        (6000, "lock", 1, 2, 20, 0xFFFF8000_00000000, word("as")),
        (7000, trace.LOST, 1, 0, 0, 3, 0),
        (8000, "locked", 1, 2, 20, 0xFFFF8000_00000000, 2000),
    ]
    got = trace.read(made(records))
    assert [e.time for e in got.events] == sorted(r[0] for r in records if r[1] != trace.LOST)
    done = trace.convert(got)
    json.dumps(done)
    events = done["traceEvents"]
    is_whole(events)
    assert done["otherData"] == {"lost events": {"CPU 1": 3}}
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
    assert trace.NAMES[1] == "switch" and trace.NAMES[13] == "name" and len(trace.NAMES) == 24
    assert struct.calcsize(trace.RECORD.format) == 32 == trace.HEADER.size
