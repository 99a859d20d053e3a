# SPDX-License-Identifier: MIT
"""ddt.py - memory against files: a program like the AIPS package's DDT test, with every policy of the pageout daemon.

THEORY      user/bench/ddt.c goes through its memory again and again and reads and writes files meanwhile.  Its memory and
            code are swept from 0.6 to 1.3 of the memory that programs can have: what is free when the machine is up and
            34 MiB have been taken away by a file in tmpfs, for a large sweep takes long.
            Files are on one reference disk, with the program itself, swap is on another.
              policies  0 (before Solaris 7), 1 without and with priority_paging (Solaris 7), 2 (Solaris 8)
              marks     of the write throttle: Solaris 8's 393216/262144, and the paper's 6291456/4194304
            A policy is one boot; its runs follow each other.  Before each the files are mounted anew and the program is read.
            Elapsed is the guest's time times the disks' scale.  disk is the disks' own time, from their logs, unscaled:
            what was asked of them, in their seconds.
            The scale makes the disks faster and leaves the daemon's clock as it is, so what is per second is set to
            `scale` times its default: maxpgio; and the room that has to last from one of its rounds to the next,
            lotsfree, to LOTSFREE pages, with all policies.
            The paper: with priority paging the large DDT is about 25 % faster by Solaris 7, with large marks 10 to 30 %;
            by Solaris 8 the marks make 2 %.
USAGE       make experiment-ddt [SCALE=10] [STEPS='0.6 1.0'] [ROWS='policy0 policy1 policy1-pp policy2']
SEE ALSO    user/bench/ddt.c, docs/pageout.md, docs/benchmarks.md, qemu/refdisk
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value
from homeroom.machine import TOP, MachineError

MACHINE, MEMORY, SEED, SCALE = "sf280r", "64M", 4, 10
STEPS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
FILE_MIB, DISK_MIB, SWAP_MIB = 5, 64, 64
TAKEN_MIB = 34  # of memory, by a file in tmpfs
LOTSFREE = 512  # pages
MAXPGIO = 40
POLICIES = {
    "policy0": ("0, before Solaris 7", {"pageout_policy": 0}),
    "policy1": ("1, Solaris 7", {"pageout_policy": 1}),
    "policy1-pp": ("1, priority_paging=1", {"pageout_policy": 1, "priority_paging": 1}),
    "policy2": ("2, Solaris 8", {"pageout_policy": 2}),
}
MARKS = {"default": (393216, 262144), "large": (6291456, 4194304)}
# Nothing of the files is in memory, and all of the program is: so epi counts what has been taken away.
CLEAN = "rm -f /mnt/sorted /mnt/image; umount /mnt && mount -t ext3 /dev/vda /mnt && cat /mnt/ddt > /dev/null"
COLOURS = {"policy0": "#7d8894", "policy1": "#d08a2e", "policy1-pp": "#1f5f99", "policy2": "#3c8c4a"}
PAPER_GAIN = 25  # %, of priority paging


@dataclass
class Point:
    policy: str
    marks: str
    step: float  # memory and code / memory that programs can have
    elapsed: float  # seconds, scaled
    sync: float
    epi: int
    api: int
    fpi: int
    apo: int
    scan: int
    free_min: int  # pages
    low: float  # % of the samples in which less than lotsfree was free
    between: float  # % between lotsfree and cachefree
    throttles: int
    begun: float = 0  # of the host's clock
    ended: float = 0
    disk: float = 0  # seconds of both disks, unscaled

    @property
    def program_pages(self) -> int:
        return self.epi + self.api


def parse(text: str, policy: str, marks: str, step: float, scale: float) -> Point:
    line = next((line for line in text.splitlines() if line.startswith("result: bench=ddt")), None)
    if line is None:
        raise MachineError(f"ddt printed no result:\n{text}")
    f = dict(word.split("=", 1) for word in line.split()[1:])
    counts = (int(f[key]) for key in ("epi", "api", "fpi", "apo", "scan", "free_min"))
    return Point(policy, marks, step, float(f["elapsed_s"]) * scale, float(f["sync_s"]) * scale, *counts,
                 float(f["free_low_pct"]), float(f["free_between_pct"]), 0)  # fmt: skip


def settings(policy: str, scale: float) -> str:
    pairs = POLICIES[policy][1] | {
        "lotsfree": LOTSFREE, "maxpgio": round(MAXPGIO * scale), "disk_depth": 1, "tmpfs_max_percent": 75,
    }  # fmt: skip
    return "; ".join(f"set {name}={value}" for name, value in pairs.items())


def number(guest: storage.Machine, variable: str) -> int:
    return int(guest.check(f"echo {variable}/E | mdb -k").split()[-1])


def build_disks(folder: Path) -> None:
    (folder / "tree").mkdir()
    shutil.copy(TOP / "build/user/ondisk/ddt", folder / "tree/ddt")
    storage.make_disk(folder / "files.img", DISK_MIB, folder / "tree")


def measure(policy: str, folder: Path, steps: list[float], scale: float) -> list[Point]:
    """All runs of a policy, in one boot on fresh disks."""
    shutil.copy(folder / "files.img", folder / "now.img")
    with open(folder / "swap.img", "wb") as file:
        file.truncate(SWAP_MIB << 20)
    logs = [storage.DiskLog(folder / f"{policy}-{name}.log") for name in ("files", "swap")]
    disks = [f"refdisk:{folder / image},scale={scale:g},log={log.path}"
             for image, log in zip(("now.img", "swap.img"), logs, strict=True)]  # fmt: skip
    points = []
    with storage.Machine(MACHINE, memory=MEMORY, seed=SEED, disks=disks, system=settings(policy, scale)) as guest:
        guest.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt && swapon /dev/vdb")
        guest.check(f"dd if=/dev/zero of=/tmp/taken bs=1024k count={TAKEN_MIB} 2>/dev/null")
        room = int(guest.check("grep MemFree /proc/meminfo").split()[1])  # KiB
        guest.check(f"/mnt/ddt -i -f {FILE_MIB} -s {SEED} /mnt")
        for step in steps:
            for marks, (high, low) in MARKS.items():
                guest.check(f"echo ufs_HW/W 0t{high} | mdb -kw; echo ufs_LW/W 0t{low} | mdb -kw")
                guest.check(CLEAN)
                throttled = number(guest, "ufs_throttles")
                begun = time.monotonic()
                memory = round(room * step) - 512  # KiB; the code is the rest
                text = guest.check(f"/mnt/ddt -f {FILE_MIB} -m {memory} -s {SEED} /mnt", 1500)
                point = parse(text, policy, marks, step, scale)
                point.begun, point.ended = begun, time.monotonic()
                point.throttles = number(guest, "ufs_throttles") - throttled
                points.append(point)
                print(f"ddt: {policy}, {marks} marks, {step}: {point.elapsed:.1f} s, api {point.api}, epi {point.epi}, "
                      f"fpi {point.fpi}", file=sys.stderr, flush=True)  # fmt: skip
    for point in points:
        point.disk = sum(log.busy(point.begun, point.ended) for log in logs)
    return points


def pick(points: list[Point], policy: str, marks: str) -> list[Point]:
    return [p for p in points if p.policy == policy and p.marks == marks]


def judge(points: list[Point]) -> list[str]:
    """What the curves are to show, each as a line that begins with yes or no."""
    lines = []

    def say(holds: bool, what: str) -> None:
        lines.append(f"{'yes' if holds else 'NO '}  {what}")

    for marks in MARKS:
        pairs = list(zip(pick(points, "policy1", marks), pick(points, "policy1-pp", marks), strict=False))
        if not pairs:
            continue
        within = [(a, b) for a, b in pairs if b.low == 0]
        for without, with_it in within:
            say(2 * with_it.program_pages <= without.program_pages,
                f"{marks} marks, {with_it.step}: never less than lotsfree free: priority_paging=1 halves executable and "
                f"anonymous page-ins: {without.program_pages} to {with_it.program_pages}")  # fmt: skip
        if not within:
            lines.append(f"     {marks} marks: with priority_paging=1 less than lotsfree was free at times at every step")
        gains = [(b.step, 100 * (1 - b.elapsed / a.elapsed), 100 * (1 - b.disk / a.disk)) for a, b in pairs]
        text = ", ".join(f"{s}: {e:.0f} % ({d:.0f} %)" for s, e, d in gains)
        lines.append(f"     {marks} marks: priority_paging=1 saves of elapsed time (of the disks' time): {text}; "
                     f"the paper: {PAPER_GAIN} %")  # fmt: skip
    for policy in POLICIES:
        pairs = list(zip(pick(points, policy, "default"), pick(points, policy, "large"), strict=False))
        if not pairs:
            continue
        gains = [100 * (1 - b.elapsed / a.elapsed) for a, b in pairs]
        mean = sum(gains) / len(gains)
        text = f"policy {POLICIES[policy][0]}: large marks save {mean:.1f} % on average: " + ", ".join(
            f"{a.step}: {gain:.1f} %" for (a, _), gain in zip(pairs, gains, strict=True)
        )
        if policy == "policy2":
            say(all(abs(g) <= 5 for g in gains), f"{text}; 5 % at most either way (the paper: 2 %)")
        else:
            say(mean > 0, f"{text} (the paper: 10 to 30 %)")
    return lines


def plot(points: list[Point]) -> Path:
    from homeroom.experiments import plots

    panels = {"elapsed": "elapsed, s", "api": "anonymous pages in", "epi": "executable pages in", "fpi": "file pages in"}
    fig, grid = plots.plt.subplots(2, 2, figsize=(8.0, 5.6), layout="constrained")
    for axes, (what, title) in zip(grid.flat, panels.items(), strict=True):
        for policy, colour in COLOURS.items():
            for marks, style in (("default", "o-"), ("large", "--")):
                line = pick(points, policy, marks)
                label = POLICIES[policy][0] + (", large marks" if marks == "large" else "")
                axes.plot([p.step for p in line], [getattr(p, what) for p in line], style, color=colour, ms=3,
                          label=label if line else None)  # fmt: skip
        axes.set_title(title, fontsize=8)
        axes.set_ylim(bottom=0)
    grid[1][0].set_xlabel("working set / memory")
    grid[1][1].set_xlabel("working set / memory")
    grid[0][0].legend(fontsize=6)
    return storage.save(fig, "ddt")


def values(points: list[Point], scale: float) -> list[Value]:
    out = []
    for p in points:
        name = f"{p.policy}, {p.marks} marks, {p.step}"
        note = f"{settings(p.policy, scale)}; ufs_HW={MARKS[p.marks][0]} ufs_LW={MARKS[p.marks][1]}; {FILE_MIB} MiB files; " \
               f"below lotsfree {p.low:.0f} %, between {p.between:.0f} %"  # fmt: skip
        out += [
            Value(f"{name}: elapsed", "wall", "s", p.elapsed, note=note),
            Value(f"{name}: disks busy", "modelled", "s", p.disk, note=note),
            Value(f"{name}: epi", "counters", "pages", p.epi, note=note),
            Value(f"{name}: api", "counters", "pages", p.api, note=note),
            Value(f"{name}: fpi", "counters", "pages", p.fpi, note=note),
            Value(f"{name}: throttled", "counters", "times", p.throttles, note=note),
        ]
    for marks in MARKS:
        for a, b in zip(pick(points, "policy1", marks), pick(points, "policy1-pp", marks), strict=False):
            out.append(Value(f"priority paging saves, {marks} marks, {a.step}", "wall", "%",
                             100 * (1 - b.elapsed / a.elapsed), PAPER_GAIN))  # fmt: skip
    for policy in POLICIES:
        for a, b in zip(pick(points, policy, "default"), pick(points, policy, "large"), strict=False):
            out.append(Value(f"large marks save, {policy}, {a.step}", "wall", "%", 100 * (1 - b.elapsed / a.elapsed),
                             2 if policy == "policy2" else None))  # fmt: skip
    return out


def report(points: list[Point], scale: float) -> None:
    head = ["set / memory", "elapsed", "sync", "disks", "epi", "api", "fpi", "apo", "scanned", "least free", "< lotsfree",
            "< cachefree", "throttled"]  # fmt: skip
    for policy, (title, _) in POLICIES.items():
        for marks in MARKS:
            rows = [
                [f"{p.step}", f"{p.elapsed:.1f}", f"{p.sync:.1f}", f"{p.disk:.1f}", str(p.epi), str(p.api), str(p.fpi),
                 str(p.apo), str(p.scan), str(p.free_min), f"{p.low:.0f} %", f"{p.between:.0f} %", str(p.throttles)]
                for p in pick(points, policy, marks)
            ]  # fmt: skip
            if rows:
                print(storage.table(f"policy {title}; {marks} marks ({'/'.join(map(str, MARKS[marks]))})", head, rows) + "\n")
    print(f"{MACHINE} with {MEMORY}, {TAKEN_MIB} MiB of them taken, files of {FILE_MIB} MiB; disk times divided by {scale:g}; "
          f"lotsfree={LOTSFREE}, maxpgio={round(MAXPGIO * scale)}; elapsed is the guest's times that, in s.")  # fmt: skip
    print("The paper: priority paging saves about 25 % by Solaris 7, large marks 10 to 30 %; by Solaris 8 the marks 2 %.")


def main() -> int:
    parser = argparse.ArgumentParser(prog="ddt")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE") or SCALE))
    parser.add_argument("--steps", default=os.environ.get("STEPS") or " ".join(map(str, STEPS)))
    parser.add_argument("--rows", default=os.environ.get("ROWS") or " ".join(POLICIES))
    args = parser.parse_args()
    points: list[Point] = []
    try:
        with tempfile.TemporaryDirectory(prefix="homeroom.") as name:
            build_disks(Path(name))
            for policy in (p for p in POLICIES if p in args.rows.split()):
                points += measure(policy, Path(name), [float(s) for s in args.steps.split()], args.scale)
    except MachineError as error:
        print(f"ddt: {error}", file=sys.stderr)
        return 2
    report(points, args.scale)
    lines = judge(points)
    print("\n".join(lines))
    file = storage.record("ddt", values(points, args.scale), f"{MACHINE} MEM={MEMORY}", f"disk times / {args.scale:g}", SEED)
    print(f"rows in {run.shown(file)}, plot {run.shown(plot(points))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
