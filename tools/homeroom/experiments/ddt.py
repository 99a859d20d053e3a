# SPDX-License-Identifier: MIT
"""ddt.py - a program and its files compete for memory, with each policy of the pageout daemon.

THEORY      When free memory is short, the pageout daemon must choose between pages of programs and pages of files.  A
            paper advises how to set Solaris for the DDT test of the AIPS package; here a similar program runs with each
            setting.  user/bench/ddt.c visits all its memory again and again, and reads and writes files.
              size      memory and code of the program, from 0.6 to 1.3 of the memory for programs and files.  That is
                        256 MiB ("you should not expect them to help if you only have 64 megabytes"): after the boot a
                        file in tmpfs uses the rest
              policies  0 (before Solaris 7), 1 without and with priority_paging (Solaris 7), 2 (Solaris 8)
              marks     of the write throttle: the defaults, 393216/262144, and those of the paper, 6291456/4194304
            There is one disk, as in a workstation, with a partition for the program and the files and one for swap.
            Its model is of 1999 (qemu/refdisk/dnes309170.toml): the advice is of 2000, and the time for computing (below)
            is that of a processor of these years.
            A policy is one boot, on a machine with one CPU on-line.  Before each run the files are mounted anew and the
            program is read into memory.  The first run of a boot is not counted: after it, the pageout daemon has scanned
            all of memory.
            The scale makes the disk faster.  The clocks of the daemons become faster by the same factor
            (pageout_timescale), so that the daemons have as much time as with the slow disk.  No other setting of
            pageout changes.
            A run ends when the data that the program has written are on the disk.  Otherwise large marks would seem to
            save time that they only postpone.  elapsed is the guest's time, multiplied by the scale; it includes the
            time of the emulator.  busy is the time that the disk took for all requests, unscaled, from its log.
            At each visit of a page the program computes for work_us microseconds, on a processor as old as the disk; at
            SCALE=8 it computes an eighth of that.  The real DDT computes, too: its times depend on SPECfp (NRAO,
            "Relationships between the AIPSmark and the SPECmark", aips.nrao.edu/ddt-vs-spec.html).  CHOICE: an FFT of
            the 512 complex numbers of a page, 5 n log2 n = 23,040 operations, at about 50 million per second.  OTHERS
            are other times of computing, and a memory of 64 MiB.
            With small marks the program is stopped while it could compute.  Large marks save this time, so elapsed times
            are compared.
            The paper: with priority paging the large DDT is about 25 % faster under Solaris 7, with large marks 10 to
            30 %; under Solaris 8 it is "about 2 %" slower without them.
USAGE       make experiment-ddt [SCALE=8] [STEPS='0.6 1.0'] [ROWS='policy0 policy1 policy1-pp policy2'] [JOBS=2] [RUNS=1]
            make experiment-ddt FULL=1   OTHERS as well, three runs a point
SEE ALSO    user/bench/ddt.c, docs/pageout.md, docs/benchmarks.md, qemu/refdisk
"""

import os
import shutil
import statistics
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value
from homeroom.machine import TOP, MachineError

MACHINE, SEED, SCALE, DISK = "sf280r", 4, 8, "dnes309170"
STEPS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
KERNEL_MIB = 64  # memory in addition to that for programs and files; what the kernel does not use goes to a file in tmpfs
IMAGE_MIB, FILES_MIB, SWAP_MIB = 4, 192, 384
WARM_UP = 0.7  # size in the run that is not counted
JOBS = 2  # policies measured at a time
POLICIES = {
    "policy0": ("0, before Solaris 7", {"pageout_policy": 0}),
    "policy1": ("1, Solaris 7", {"pageout_policy": 1}),
    "policy1-pp": ("1, priority_paging=1", {"pageout_policy": 1, "priority_paging": 1}),
    "policy2": ("2, Solaris 8", {"pageout_policy": 2}),
}
MARKS = {"default": (393216, 262144), "large": (6291456, 4194304)}
# Before a run: no file page in memory, and all code of the program.  So epi counts code pages that were taken from it.
CLEAN = (
    "cd /mnt && rm -f t.* scratch*; "
    "cd / && umount /mnt && mount -t ext3 /dev/vda1 /mnt && cat /mnt/ddt > /dev/null"
)
COLOURS = {"policy0": "#7d8894", "policy1": "#d08a2e", "policy1-pp": "#1f5f99", "policy2": "#3c8c4a"}
PAPER_GAIN = 25  # %, of priority paging


@dataclass(frozen=True)
class Setting:
    work_us: int  # time of computing at each visit of a page, on a processor as old as the disk
    room_mib: int  # memory for programs and files

    @property
    def memory(self) -> str:
        return f"{self.room_mib + KERNEL_MIB}M"

    def __str__(self) -> str:
        return f"{self.work_us} us, {self.room_mib} MiB"


USUAL = Setting(500, 256)
OTHERS, OTHER_STEPS, OTHER_RUNS = [Setting(us, 256) for us in (100, 250, 1000)] + [Setting(500, 64)], (0.8, 0.9, 1.0), 3


@dataclass
class Point:
    policy: str
    marks: str
    step: float  # memory and code of the program / memory for programs and files
    elapsed: float  # seconds of the guest, times the scale
    sync: float  # the part of elapsed after the program's last step
    epi: int
    api: int
    fpi: int
    apo: int
    scan: int
    free_min: int  # pages
    low: float  # % of the samples in which less than lotsfree was free
    between: float  # % between lotsfree and cachefree
    throttles: int = 0
    begun: float = 0  # time of the host's clock
    ended: float = 0
    busy: float = 0  # seconds of the disk, unscaled
    spread: float = 0  # largest minus smallest elapsed, for the mean of several runs
    runs: int = 1

    @property
    def program_pages(self) -> int:
        return self.epi + self.api


def parse(text: str, policy: str, marks: str, step: float, scale: float) -> Point:
    """The point that ddt has printed.  MachineError if it printed no result."""
    lines = storage.result_lines(text, "ddt")
    if not lines:
        raise MachineError(f"ddt printed no result:\n{text}")
    f = lines[0]
    counts = (int(f[key]) for key in ("epi", "api", "fpi", "apo", "scan", "free_min"))
    sync = float(f["sync_s"])
    return Point(policy, marks, step, (float(f["elapsed_s"]) + sync) * scale, sync * scale, *counts,
                 float(f["free_low_pct"]), float(f["free_between_pct"]))  # fmt: skip


def settings(policy: str, scale: float) -> str:
    """The /etc/system lines for a policy."""
    pairs = {"pageout_timescale": round(scale), "disk_depth": 1, "tmpfs_max_percent": 75}
    return storage.system(storage.PLAIN | POLICIES[policy][1] | pairs)


def number(guest: storage.Machine, variable: str) -> int:
    """The value of a kernel variable of 8 bytes."""
    return int(guest.check(f"echo {variable}/E | mdb -k").split()[-1])


def partition(kind: int, begin_mib: int, mib: int) -> bytes:
    """An entry of the partition table."""
    return struct.pack("<B3sB3sII", 0, b"", kind, b"", begin_mib << 11, mib << 11)


def build_disk(folder: Path) -> None:
    """Make disk.img: after its first MiB a file system with the program, then room for swap."""
    (folder / "tree").mkdir()
    shutil.copy(TOP / "build/user/ondisk/ddt", folder / "tree/ddt")
    files = storage.make_disk(folder / "files.img", FILES_MIB, folder / "tree")
    with open(folder / "disk.img", "wb") as disk:
        disk.truncate((1 + FILES_MIB + SWAP_MIB) << 20)
        disk.seek(446)
        disk.write(partition(0x83, 1, FILES_MIB) + partition(0x82, 1 + FILES_MIB, SWAP_MIB) + bytes(32) + b"\x55\xaa")
        disk.seek(1 << 20)
        disk.write(files.read_bytes())


def one_run(guest: storage.Machine, policy: str, marks: str, step: float, scale: float, setting: Setting) -> Point:
    """Run ddt once in a running machine."""
    high, low = MARKS[marks]
    guest.check(f"echo ufs_HW/W 0t{high} | mdb -kw; echo ufs_LW/W 0t{low} | mdb -kw")
    guest.check(CLEAN)
    throttled = number(guest, "ufs_throttles")
    begun: list[float] = []  # times of the program's lines; it prints the first one when it begins
    memory = round(setting.room_mib * 1024 * step) - 512  # KiB; the code is the rest
    command = f"/mnt/ddt -g {IMAGE_MIB} -m {memory} -w {round(setting.work_us / scale)} /mnt"
    point = parse(guest.check(command, 1500, lambda _: begun.append(time.monotonic())), policy, marks, step, scale)
    point.begun, point.ended = begun[0], time.monotonic()
    point.throttles = number(guest, "ufs_throttles") - throttled
    storage.progress(f"ddt: {setting}: {policy}, {marks} marks, {step}: {point.ended - point.begun:.1f} s, api {point.api}, "
                     f"epi {point.epi}, fpi {point.fpi}")  # fmt: skip
    return point


def mean(same: list[Point]) -> Point:
    """The mean of several runs of one point, with the spread of elapsed."""
    first = same[0]
    names = [f.name for f in fields(Point) if f.name not in ("policy", "marks", "step", "spread", "runs")]
    means = {name: statistics.mean(getattr(p, name) for p in same) for name in names}
    elapsed = [p.elapsed for p in same]
    return Point(first.policy, first.marks, first.step, **means, spread=max(elapsed) - min(elapsed), runs=len(same))


def measure(policy: str, folder: Path, steps: list[float], scale: float, setting: Setting, runs: int) -> list[Point]:
    """All points of a policy, in one boot with a new copy of the disk.  Two runs of a point do not follow each other."""
    image = folder / f"{policy}-{setting.work_us}-{setting.room_mib}.img"
    shutil.copy(folder / "disk.img", image)
    log = storage.DiskLog(image, scale, DISK)
    with storage.Machine(MACHINE, memory=setting.memory, seed=SEED, disks=[log.disk], system=settings(policy, scale)) as guest:
        guest.check("psradm -f 1; mkdir -p /mnt && mount -t ext3 /dev/vda1 /mnt && swapon /dev/vda2")
        storage.leave_room(guest, setting.room_mib)
        guest.check(f"/mnt/ddt -i -g {IMAGE_MIB} /mnt")
        one_run(guest, policy, "default", WARM_UP, scale, setting)
        rounds = [
            [one_run(guest, policy, marks, step, scale, setting) for step in steps for marks in MARKS] for _ in range(runs)
        ]
    image.unlink()
    for points in rounds:
        for point in points:
            point.busy = log.busy(point.begun, point.ended)
    return [mean(list(same)) for same in zip(*rounds, strict=True)]


def pick(points: list[Point], policy: str, marks: str) -> list[Point]:
    """The points of one curve."""
    return [p for p in points if p.policy == policy and p.marks == marks]


def saved(a: Point, b: Point) -> float:
    """The percentage of a's elapsed time that b saves."""
    return 100 * (1 - b.elapsed / a.elapsed)


def pairs(points: list[Point], first: tuple[str, str], second: tuple[str, str]) -> list[tuple[Point, Point]]:
    """Points of two curves, (policy, marks) each, step by step."""
    return list(zip(pick(points, *first), pick(points, *second), strict=False))


def judge(points: list[Point]) -> list[str]:
    """Compare the curves with the claims of the paper.  Returns a line for each claim."""
    judged = storage.Judgement()
    for marks in MARKS:
        both = pairs(points, ("policy1", marks), ("policy1-pp", marks))
        within = [(a, b) for a, b in both if b.low == 0 and a.program_pages > 0]
        for without, with_it in within:
            judged.say(2 * with_it.program_pages <= without.program_pages,
                f"{marks} marks, {with_it.step}: never less than lotsfree free: priority_paging=1 halves executable and "
                f"anonymous page-ins: {without.program_pages} to {with_it.program_pages}")  # fmt: skip
        if both and not within:
            judged.note(f"{marks} marks: at every step less than lotsfree was free at times, or no page came in without it")
        if both:
            text = ", ".join(f"{b.step}: {saved(a, b):.0f} %" for a, b in both)
            judged.note(f"{marks} marks: priority_paging=1 saves {text}; the paper: {PAPER_GAIN} %")
    for policy, (title, _) in POLICIES.items():
        gains = {a.step: saved(a, b) for a, b in pairs(points, (policy, "default"), (policy, "large"))}
        if not gains:
            continue
        mean = sum(gains.values()) / len(gains)
        text = f"policy {title}: large marks save {mean:.1f} % on average: "
        text += ", ".join(f"{step}: {gain:.1f} %" for step, gain in gains.items())
        if policy == "policy2":
            judged.say(abs(mean) <= 5, f"{text}; 5 % at most (the paper: 2 %)")
        else:
            judged.say(mean >= 10, f"{text}; 10 % at least (the paper: 10 to 30 %)")
    return judged.lines


def plot(points: list[Point]) -> Path:
    from homeroom.experiments import plots

    panels = {"elapsed": "elapsed, s", "api": "anonymous pages in", "epi": "executable pages in", "fpi": "file pages in"}
    fig, grid = plots.plt.subplots(2, 2, figsize=(8.0, 5.6), layout="constrained")
    for axes, (what, title) in zip(grid.flat, panels.items(), strict=True):
        for policy, colour in COLOURS.items():
            for marks, style in (("default", "o-"), ("large", "--")):
                line = pick(points, policy, marks)
                label = POLICIES[policy][0] + ("" if marks == "default" else f", {marks} marks")
                axes.plot([p.step for p in line], [getattr(p, what) for p in line], style, color=colour, ms=3,
                          label=label if line else None)  # fmt: skip
        axes.set_title(title, fontsize=8)
        axes.set_ylim(bottom=0)
    grid[1][0].set_xlabel("working set / memory")
    grid[1][1].set_xlabel("working set / memory")
    grid[0][0].legend(fontsize=6)
    return storage.save(fig, "ddt")


def values(points: list[Point], scale: float, setting: Setting) -> list[Value]:
    """The rows for results.csv."""
    out, before = [], "" if setting == USUAL else f"{setting}: "
    for p in points:
        name = f"{before}{p.policy}, {p.marks} marks, {p.step}"
        note = f"{settings(p.policy, scale)}; ufs_HW={MARKS[p.marks][0]} ufs_LW={MARKS[p.marks][1]}; " \
               f"files of {IMAGE_MIB} MiB; below lotsfree {p.low:.0f} %, between {p.between:.0f} %"  # fmt: skip
        out += [
            Value(f"{name}: elapsed", "wall", "s", p.elapsed, spread=p.spread, runs=p.runs, note=note),
            Value(f"{name}: disk busy", "modelled", "s", p.busy, runs=p.runs, note=note),
            Value(f"{name}: epi", "counters", "pages", p.epi, runs=p.runs, note=note),
            Value(f"{name}: api", "counters", "pages", p.api, runs=p.runs, note=note),
            Value(f"{name}: fpi", "counters", "pages", p.fpi, runs=p.runs, note=note),
            Value(f"{name}: throttled", "counters", "times", p.throttles, runs=p.runs, note=note),
        ]
    for marks in MARKS:
        for a, b in pairs(points, ("policy1", marks), ("policy1-pp", marks)):
            out.append(Value(f"{before}priority paging saves, {marks} marks, {a.step}", "wall", "%", saved(a, b), PAPER_GAIN))
    for policy in POLICIES:
        for a, b in pairs(points, (policy, "default"), (policy, "large")):
            out.append(Value(f"{before}large marks save, {policy}, {a.step}", "wall", "%", saved(a, b)))
    return out


def report(points: list[Point], scale: float, setting: Setting) -> None:
    """Print a table for each policy and pair of marks."""
    head = ["set / memory", "elapsed", "spread", "busy", "sync", "epi", "api", "fpi", "apo", "scanned", "least free",
            "< lotsfree", "< cachefree", "throttled"]  # fmt: skip
    for policy, (title, _) in POLICIES.items():
        for marks in MARKS:
            rows = [
                [f"{p.step}", f"{p.elapsed:.1f}", f"{p.spread:.1f}", f"{p.busy:.1f}", f"{p.sync:.1f}",
                 *(f"{n:.0f}" for n in (p.epi, p.api, p.fpi, p.apo, p.scan, p.free_min)),
                 f"{p.low:.0f} %", f"{p.between:.0f} %", f"{p.throttles:.0f}"]
                for p in pick(points, policy, marks)
            ]  # fmt: skip
            if rows:
                print(storage.table(f"policy {title}; {marks} marks ({'/'.join(map(str, MARKS[marks]))})", head, rows) + "\n")
    runs = f"mean of {points[0].runs} runs; " if points[0].runs > 1 else ""
    print(f"{MACHINE} with {setting.memory}, {setting.room_mib} MiB of them for programs and files; files of {IMAGE_MIB} MiB; "
          f"{setting.work_us} us of computing at each visit of a page; {runs}"
          f"times of the disk ({DISK}) divided by {scale:g}, daemons' clocks multiplied by it; seconds unscaled.")  # fmt: skip
    print("The paper: under Solaris 7 priority paging saves about 25 %, large marks 10 to 30 %; under Solaris 8 they save 2 %.")


def main() -> int:
    args = storage.arguments(
        "ddt", scale=float(SCALE), steps=" ".join(map(str, STEPS)), rows=" ".join(POLICIES), jobs=JOBS, runs=1
    )
    full = os.environ.get("FULL") == "1"
    steps = [storage.number("ddt", "STEPS", step) for step in args.steps.split()]
    chosen = storage.chosen("ddt", args.rows, POLICIES)

    def experiment(folder: Path) -> int:
        build_disk(folder)
        parts = [(USUAL, steps, args.runs), *((other, OTHER_STEPS, max(args.runs, OTHER_RUNS)) for other in OTHERS if full)]
        found = []
        for setting, at, runs in parts:
            with ThreadPoolExecutor(max(args.jobs, 1)) as pool:
                curves = pool.map(lambda p, s=setting, a=at, n=runs: measure(p, folder, a, args.scale, s, n), chosen)
                points = [point for curve in curves for point in curve]
            report(points, args.scale, setting)
            print("\n".join(judge(points)) + "\n")
            found += values(points, args.scale, setting)
            if setting == USUAL:
                picture = plot(points)
        file = storage.record("ddt", found, MACHINE, f"{DISK}, times / {args.scale:g}", SEED)
        print(f"rows in {run.shown(file)}, plot {run.shown(picture)}")
        return 0

    return storage.program("ddt", experiment)


if __name__ == "__main__":
    sys.exit(main())
