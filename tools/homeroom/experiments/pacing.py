# SPDX-License-Identifier: MIT
"""pacing.py - the paper's table of AIX disk-I/O pacing: an editor starts while a large file is copied.

THEORY      A program that writes much fills the queue of a disk, and all other requests wait behind its writes.  Pacing
            stops the program when a file has as many pages to write as the high mark, until only as many as the low mark
            are left.  The paper measures the cost for the program, and the gain for others.
            Here a file of 64 MiB is copied from one reference disk to another, 4 KiB with each write(2).  Meanwhile vi
            starts from the second disk (the target).  No page of vi is in memory, so its pages are read, a few at a
            time, between the writes of the copy.  Both disks get one command at a time, so requests wait in the guest's
            queue.
              rows of the paper   with the paper's pairs of marks and AIX's settings: requests in order of arrival,
                                  adjacent ones joined up to 64 KiB as by its SCSI driver, write-behind of four pages,
                                  read-ahead of eight, no write throttle
              other marks         4n and 4n + 2 beside the paper's high marks of 4n + 1; a copy that writes 64 KiB at a
                                  time
              automatic           disk_sched=2 without marks; with AIX's settings, and with Homeroom's defaults
              elevator            disk_sched=1 with Homeroom's defaults (write throttle on, clusters of maxphys)
            All are without read-around and deadlines.
            Times are the guest's, multiplied by the scale of the disks, so the time of the processor is multiplied as
            well.  The target's own time for all its requests, unscaled, comes from its log.  Counts show the number of
            commands that the target executed between the arrival of a read of vi and its turn.  The copy ends when its
            last write(2) returns; its data are on the disk after a sync.
            Each row is measured RUNS times: the median counts, and the spread is the largest value minus the smallest.
USAGE       make experiment-pacing [SCALE=4] [MIB=64] [RUNS=3] [ROWS='17/8 auto']
SEE ALSO    kernel/blk/iosched.c, kernel/pages/throttle.h, qemu/refdisk, docs/disks.md
"""

import random
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value

MACHINE, SEED, SCALE = "sf280r", 4, 4
DISK_MIB = 160
# AIX: read-ahead of 8 pages (maxpgahead), write-behind of 4 (numclust=1), the SCSI driver joins up to 64 KB (max_coalesce).
ONE_AT_A_TIME = storage.PLAIN | {"disk_depth": 1}
AIX = ONE_AT_A_TIME | {"disk_sched": 0, "disk_coalesce": 65536, "ufs:ufs_WRITES": 0, "maxphys": 32768, "ufs:maxcontig": 2}
SAME = 0.03  # times that differ by less count as equal: so much do two runs of a row differ
STARTS_AFTER = 0.2  # when vi starts, as a share of the time that the copy takes without pacing in the paper


@dataclass
class Row:
    name: str
    settings: dict[str, int]
    paper_cp: float | None = None
    paper_vi: float | None = None
    paper_word: str = ""
    cp: float = 0  # seconds, scaled
    synced: float = 0
    busy: float = 0  # seconds of the target, unscaled
    vi: float = 0
    reads: int = 0
    ahead: float = 0
    ahead_most: int = 0
    after_cp: bool = False
    block: int = 4  # KiB that the copy writes at a time
    faults: list[str] = field(default_factory=list)
    spread: dict[str, float] = field(default_factory=dict)


MEASURED = ("cp", "synced", "busy", "vi", "reads", "ahead", "ahead_most")


def marks(high: int, low: int) -> dict[str, int]:
    return AIX | {"maxpout": high, "minpout": low}


ROWS = [
    Row("0/0", marks(0, 0), 50, None, "not done"),
    Row("0/0 again", marks(0, 0), 50, None, "after cp"),
    Row("9/6", marks(9, 6), 77, 2.7),
    Row("17/8", marks(17, 8), 64, 3.4),
    Row("17/12", marks(17, 12), 58, 3.6),
    Row("33/16", marks(33, 16), 55, 4.9),
    Row("33/24", marks(33, 24), 52, 9.0),
    Row("16/8", marks(16, 8)),
    Row("18/8", marks(18, 8)),
    Row("32/16", marks(32, 16)),
    Row("34/16", marks(34, 16)),
    Row("17/8, 64 KiB", marks(17, 8), block=64),
    Row("automatic", AIX | {"disk_sched": 2}),
    Row("automatic, defaults", ONE_AT_A_TIME | {"disk_sched": 2}),
    Row("elevator, defaults", ONE_AT_A_TIME | {"disk_sched": 1}),
]


def build_images(folder: Path, mib: int) -> None:
    """Make the source disk with the file, and the target disk with vi."""
    for name in ("source", "target"):
        (folder / name).mkdir()
    (folder / "source/big").write_bytes(random.Random(SEED).randbytes(mib << 20))
    shutil.copy("/bin/busybox", folder / "target/vi")
    for name in ("source", "target"):
        storage.make_disk(folder / f"{name}.img", DISK_MIB, folder / name)


def boot(folder: Path, row: Row, scale: float) -> tuple[storage.Machine, storage.DiskLog]:
    """Boot with a new copy of the target, and mount both disks.  Returns the machine and the target's log."""
    shutil.copy(folder / "target.img", folder / "now.img")
    source, target = (storage.DiskLog(folder / f"{name}.img", scale) for name in ("source", "now"))
    guest = storage.Machine(MACHINE, seed=SEED, disks=[source.disk, target.disk], system=storage.system(row.settings))
    guest.check("mkdir -p /src /dst && mount -t ext3 /dev/vda /src && mount -t ext3 /dev/vdb /dst && sync")
    return guest, target


def start_vi(guest: storage.Machine) -> tuple[float, dict[str, int]]:
    """Start vi.  Returns the guest's seconds, and the counts of the target disk meanwhile."""
    guest.check("echo sd:1:vdb > /dev/kstat")  # all counts from 0
    text = guest.check("vistart /dst/vi /dst/new", 1200)
    after = guest.kstats("sd:1:vdb")
    took = float(re.search(r"start_ns=(\d+)", text)[1]) / 1e9
    return took, after


def unloaded(folder: Path, scale: float) -> tuple[float, int]:
    """The time of vi's start without a copy (seconds, scaled), and its number of reads."""
    guest, _ = boot(folder, ROWS[0], scale)
    with guest:
        took, counts = start_vi(guest)
    return took * scale, counts["reads"]


def check_writes(guest: storage.Machine, row: Row) -> None:
    """Check with truss that the copy's program writes row.block KiB at a time; otherwise add a fault."""
    text = guest.check(f"truss dd if=/src/big of=/dst/few bs={row.block}k count=3 2>&1; rm /dst/few; sync")
    size = row.block * 1024
    if len(re.findall(rf"write\(1, .*\b{size}\) *= {size}\b", text)) != 3:
        row.faults.append(f"truss does not show three writes of {size} bytes: {text.strip()[-200:]}")


def repeat(folder: Path, row: Row, scale: float, runs: int) -> None:
    """Measure a row `runs` times; sets its values to the medians, and `spread`."""
    found: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(runs):
        measure(folder, row, scale)
        for name, values in found.items():
            values.append(getattr(row, name))
    for name, values in found.items():
        setattr(row, name, type(values[0])(statistics.median(values)))
        row.spread[name] = max(values) - min(values)


def measure(folder: Path, row: Row, scale: float) -> None:
    """Measure a row once, in one boot; sets its values."""
    guest, target = boot(folder, row, scale)
    clock = time.monotonic()
    with guest:
        check_writes(guest, row)
        guest.check(
            f"(t0=$(cut -d' ' -f1 /proc/uptime); dd if=/src/big of=/dst/copy bs={row.block}k 2>/dev/null; "
            "t1=$(cut -d' ' -f1 /proc/uptime); sync; t2=$(cut -d' ' -f1 /proc/uptime); "
            "echo $t0 $t1 $t2 > /tmp/times.new; mv /tmp/times.new /tmp/times) > /dev/null 2>&1 &"
        )
        guest.check(f"sleep {50 * STARTS_AFTER / scale:.2f}")
        begun = float(guest.check("cut -d' ' -f1 /proc/uptime"))
        took, counts = start_vi(guest)
        guest.check("while [ ! -e /tmp/times ]; do sleep 0.1; done", 1200)
        start, end, synced = map(float, guest.check("cat /tmp/times").split())
        clock_end = time.monotonic()
        status, text = guest.run("cmp /src/big /dst/copy")
        if status:
            row.faults.append(f"the copy differs: {text.strip()}")
    row.cp, row.synced, row.vi = (end - start) * scale, (synced - start) * scale, took * scale
    row.reads, row.ahead_most = counts["reads"], counts["raheadmax"]
    row.ahead = counts["rahead"] / max(1, row.reads)
    row.after_cp = begun + took > end
    row.busy = target.busy(clock, clock_end)


def shown(value: float | None, word: str = "") -> str:
    return word if value is None else f"{value:.1f}"


def plot(rows: list[Row], alone: float) -> Path:
    fig, axes = storage.figure("pacing")
    for paper, colour, label in ((True, "#7d8894", "AIX"), (False, "#1f5f99", "ours")):
        points = [(r.paper_cp, r.paper_vi, r) if paper else (r.cp, r.vi, r) for r in rows]
        points = [p for p in points if p[1]]
        axes.plot([p[0] for p in points], [p[1] for p in points], "o", color=colour, label=label)
        for x, y, row in points:
            axes.annotate(row.name, (x, y), textcoords="offset points", xytext=(5, 3), fontsize=7, color=colour)
    axes.axhline(alone, color="#b3382c", lw=0.8)
    axes.annotate("vi alone", (axes.get_xlim()[0], alone), textcoords="offset points", xytext=(3, 3), fontsize=7)
    axes.set_yscale("log")
    axes.set_xlabel("copy, s")
    axes.set_ylabel("start of vi, s")
    axes.legend()
    return storage.save(fig, "pacing")


def judge(rows: list[Row], alone: float) -> list[str]:
    """Compare the table with the claims.  Returns a line for each claim."""
    by_name = {r.name: r for r in rows}
    judged = storage.Judgement()
    say = judged.say
    if "0/0" in by_name:
        say(by_name["0/0"].after_cp, "without pacing vi waits for the copy")
    marked = [r for r in rows if r.paper_vi]
    unpaced = [r.cp for r in rows if r.name.startswith("0/0")]
    if marked and unpaced:
        say(min(r.cp for r in marked) > max(unpaced), "with any marks cp takes longer than without")
        say(max(r.vi for r in marked) < min(r.vi for r in rows if r.name.startswith("0/0")), "and vi starts sooner")
    highs = sorted({r.settings["maxpout"] for r in marked})
    slowest = [max(r.vi for r in marked if r.settings["maxpout"] == high) for high in highs]
    quickest = [min(r.vi for r in marked if r.settings["maxpout"] == high) for high in highs]
    if len(highs) > 1:
        say(all(a < b for a, b in zip(slowest, quickest[1:], strict=False)), "vi starts sooner with a smaller high mark")
    if len(marked) > 1:
        orders = {"vi": ("vi", "paper_vi", 1), "cp": ("cp", "paper_cp", -1)}
        orders["cp, the target's own time"] = ("busy", "paper_cp", -1)
        for title, (what, paper, sign) in orders.items():
            order = sorted(marked, key=lambda r, paper=paper, sign=sign: sign * getattr(r, paper))
            ours = [sign * getattr(r, what) for r in order]
            holds = all(b > a - SAME * abs(a) for i, a in enumerate(ours) for b in ours[i + 1 :])
            names = (" < " if sign > 0 else " > ").join(r.name for r in order)
            say(holds, f"{title}: the paper's order: {names} (what differs by {SAME:.0%} is equal)")
    for row in rows:
        if row.name.startswith("automatic") and unpaced:
            times, cost = row.vi / alone, row.cp / (sum(unpaced) / len(unpaced))
            say(times <= 3, f"{row.name}: vi {times:.2f} times its start alone (3 at most)")
            say(cost <= 1.1, f"{row.name}: cp {cost:.2f} times its unpaced time (1.1 at most)")
    return judged.lines


def values(rows: list[Row], alone: float, alone_reads: int, runs: int) -> list[Value]:
    """The rows for results.csv."""
    out = [Value("vi alone", "wall", "s", alone, 0.71), Value("vi alone, reads", "counters", "reads", alone_reads, 50)]
    for r in rows:
        note = "; ".join([*(f"{k}={v}" for k, v in r.settings.items()), *r.faults])
        for what, title, kind, unit, paper in (
            ("cp", "cp", "wall", "s", r.paper_cp), ("synced", "cp and sync", "wall", "s", None),
            ("busy", "target busy", "modelled", "s", None), ("vi", "vi", "wall", "s", r.paper_vi),
            ("ahead", "ahead of each read", "counters", "commands", None),
        ):  # fmt: skip
            one = Value(f"{r.name}: {title}", kind, unit, getattr(r, what), paper, r.spread.get(what), runs, note)
            out.append(one)
    return out


def report(rows: list[Row], alone: float, alone_reads: int, scale: float, mib: int) -> None:
    lines = []
    for r in rows:
        own = {k: v for k, v in r.settings.items() if "pout" not in k and storage.PLAIN.get(k) != v}
        lines.append([
            r.name, " ".join(f"{k.split(':')[-1]}={v}" for k, v in own.items()),
            shown(r.paper_cp, "-"), shown(r.cp), shown(r.synced), shown(r.busy), shown(r.paper_vi, r.paper_word or "-"),
            shown(r.vi) + (" after cp" if r.after_cp else ""),
            f"{r.spread.get('cp', 0):.1f}, {r.spread.get('vi', 0):.1f}", str(r.reads), f"{r.ahead:.1f}", str(r.ahead_most),
        ])  # fmt: skip
    head = ["high/low", "settings", "AIX cp", "cp", "cp+sync", "target", "AIX vi", "vi", "spread", "reads", "ahead", "most"]
    print(storage.table(f"Pacing: {mib} MiB copied ({MACHINE}, times of the disks divided by {scale:g})", head, lines))
    print(f"vi alone: {alone:.2f} s, {alone_reads} reads (AIX: 0.71 s, about 50)")
    for line in [*judge(rows, alone), *(f"{r.name}: {f}" for r in rows for f in r.faults)]:
        print(line)


def main() -> int:
    args = storage.arguments("pacing", scale=float(SCALE), mib=64, runs=3, rows="")  # rows: names, or how names begin
    names = storage.chosen("pacing", args.rows, [r.name for r in ROWS], str.startswith)
    wanted = [r for r in ROWS if not args.rows or r.name in names]

    def experiment(folder: Path) -> int:
        build_images(folder, args.mib)
        alone, alone_reads = unloaded(folder, args.scale)
        for row in wanted:
            repeat(folder, row, args.scale, args.runs)
            storage.progress(f"pacing: {row.name}: cp {row.cp:.1f} s, vi {row.vi:.2f} s")
        report(wanted, alone, alone_reads, args.scale, args.mib)
        found = values(wanted, alone, alone_reads, args.runs)
        file = storage.record("pacing", found, MACHINE, f"disk times / {args.scale:g}", SEED)
        print(f"rows in {run.shown(file)}, plot {run.shown(plot(wanted, alone))}")
        return int(any(r.faults for r in wanted))

    return storage.program("pacing", experiment)


if __name__ == "__main__":
    sys.exit(main())
