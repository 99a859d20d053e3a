# SPDX-License-Identifier: MIT
"""mkeyed.py - a file with nine indexes grows to several times the size of memory: user, system and real time per batch.

THEORY      user/bench/mkeyed.c inserts 14 batches of records into a file on the reference disk.  Each index is a tree, so
            the time of a batch depends on its keys:
              batch    the keys of a batch are larger than all keys before, as in the article.  A batch changes only
                       leaves at the right edge of each tree.  So when the file is larger than memory, all batches
                       should take the same time
              uniform  keys are uniform over the whole range.  A batch changes all leaves, so the pages to read and write
                       become more as the file grows
            A file in tmpfs uses memory until only 20 MiB are free.  So a small file is already larger than memory, and
            "memory" here means these 20 MiB.  The clocks of fsflush and pageout are faster by the scale of the disk.
            Real time is the guest's time, multiplied by the disk's scale.  User and system time are the guest's,
            unscaled, in ticks of 10 ms; for the judgement their sum is taken from the process's own, finer clock.
            The disk's own time is the time for the requests of a batch, unscaled, from its log.
            fsflush and the journal work at their own times, and a batch is short in comparison.  So the curve that
            should be flat is the mean of several runs with different keys.  Each run is printed too, with the columns
            of iostat -xn for each batch; their rates are per second of a machine with an unscaled disk.
            The article shows curves without numbers: "reasonably consistent" from run 3 (1 GB) to run 14 (7.2 GB).
USAGE       make experiment-mkeyed [SCALE=20] [ROWS='batch uniform'] [RECORDS=3500]
SEE ALSO    user/bench/mkeyed.c, docs/benchmarks.md, qemu/refdisk
"""

import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value
from homeroom.machine import MachineError

MACHINE, MEMORY, SEED, BATCHES, RECORDS, SCALE = "sf280r", "64M", 4, 14, 3500, 20
ROOM_MIB = 20  # free memory at the begin; a file in tmpfs uses the rest
LOOKUPS = 100  # records that are looked up at the end
DISK_MIB = 160
MOST = 0.10  # share by which the last batch may take longer than the first with a file larger than memory
KINDS = {"batch": "keys of each batch above all before", "uniform": "keys uniform over the whole range"}
REPEATS = {"batch": 3, "uniform": 1}  # runs for a curve, which is their mean; each has the next seed


@dataclass
class Batch:
    records: float
    file_bytes: float
    user: float
    system: float
    processor: float  # user and system, measured with a finer clock
    real: float  # seconds, scaled
    pgin: float
    pgout: float
    reads: float  # requests of the disk
    writes: float
    read_kib: float
    written_kib: float
    waited: float  # sum of the seconds that requests waited for the disk, scaled
    served: float  # sum of the seconds that the disk had requests, scaled
    disk: float | None = None  # seconds of the disk, unscaled


def disk(f: dict[str, str], scale: float) -> tuple[float, ...]:
    """The fields reads to served of a Batch, from a result line; 0 on a system that does not count them (Linux)."""
    counts = [float(f.get(f"disk_{name}", 0)) for name in ("reads", "writes", "read_bytes", "written_bytes", "wait_s", "run_s")]
    return tuple(n * unit for n, unit in zip(counts, (1, 1, 1 / 1024, 1 / 1024, scale, scale), strict=True))


def parse(text: str, scale: float) -> list[Batch]:
    return [
        Batch(int(f["records"]), int(f["file_bytes"]), float(f["user_s"]), float(f["sys_s"]), float(f["cpu_s"]),
              float(f["real_s"]) * scale, int(f.get("pgin", 0)), int(f.get("pgout", 0)), *disk(f, scale))
        for f in storage.result_lines(text, "mkeyed")
    ]  # fmt: skip


def measure(kind: str, folder: Path, records: int, scale: float, seed: int) -> list[Batch]:
    """The batches of one boot with a new disk.  MachineError if the program fails, or finds a fault in its file."""
    log = storage.DiskLog(storage.make_disk(folder / f"{kind}.img", DISK_MIB), scale)
    system = storage.system(
        storage.PLAIN
        | {"disk_depth": 1, "pageout_policy": 2, "pageout_timescale": round(scale), "tmpfs_max_percent": 75}
    )
    with storage.Machine(MACHINE, memory=MEMORY, seed=seed, disks=[log.disk], system=system) as guest:
        storage.leave_room(guest, ROOM_MIB)
        guest.check("mkdir -p /mnt && mount -t ext3 /dev/vda /mnt && sync")
        flag = "-u " if kind == "uniform" else ""
        marks: list[float] = []

        def watch(line: str) -> None:
            if "result:" in line:
                marks.append(time.monotonic())
                storage.progress(f"mkeyed: {kind}, seed {seed}: batch {len(marks)} after {marks[-1] - begun:.0f} s")

        begun = time.monotonic()
        text = guest.check(f"mkeyed {flag}-b {BATCHES} -n {records} -c {LOOKUPS} -s {seed} /mnt/keyed", 1500, watch)
    found = parse(text, scale)
    if len(found) != BATCHES or len(marks) != BATCHES:
        raise MachineError(f"mkeyed printed {len(found)} batches:\n{text}")
    for batch, first, last in zip(found, [begun, *marks], marks, strict=False):
        batch.disk = log.busy(first, last)
    return found


def mean(runs: list[list[Batch]]) -> list[Batch]:
    """The mean of several runs, batch by batch."""
    return [Batch(*map(statistics.mean, zip(*map(astuple, same), strict=True))) for same in zip(*runs, strict=True)]


def growth(batches: list[Batch], memory: int, what: str) -> tuple[int, float]:
    """(number of the batch after the first that ends with a file larger than memory, share by which the last takes more)"""
    base = next(i for i, b in enumerate(batches) if b.file_bytes > memory) + 1
    first, last = (getattr(batches[i], what) for i in (base, -1))
    return base + 1, last / first - 1


def slope(batches: list[Batch], memory: int, what: str) -> float:
    """The share as in growth(), but along the least-squares line through all these batches: one disturbed batch matters
    less."""
    base = next(i for i, b in enumerate(batches) if b.file_bytes > memory) + 1
    y = [getattr(b, what) for b in batches[base:]]
    middle, mean = (len(y) - 1) / 2, sum(y) / len(y)
    rise = sum((i - middle) * (v - mean) for i, v in enumerate(y)) / sum((i - middle) ** 2 for i in range(len(y)))
    return rise * (len(y) - 1) / (mean - rise * middle)


def plot(runs: dict[str, list[list[Batch]]], memory: int) -> Path:
    """Draw the mean of each kind's runs; if there are several, each of them as a thin line."""
    fig, axes = storage.figure("mkeyed")
    for kind, colour in (("batch", "#1f5f99"), ("uniform", "#b3382c")):
        if kind not in runs:
            continue
        x, batches = range(1, len(runs[kind][0]) + 1), mean(runs[kind])
        for single in runs[kind] if len(runs[kind]) > 1 else []:
            axes.plot(x, [b.real for b in single], "-", color=colour, lw=0.5, alpha=0.6)
        axes.plot(x, [b.real for b in batches], "o-", color=colour, label=f"{kind}, real")
        axes.plot(x, [b.disk for b in batches], "--", color=colour, lw=0.8, label=f"{kind}, disk busy")
    first = next(iter(runs.values()))[0]
    outgrown = next((i for i, b in enumerate(first) if b.file_bytes > memory), None)
    if outgrown is not None:
        axes.axvline(outgrown + 0.5, color="#7d8894", lw=0.8)
        axes.annotate("file larger than memory", (outgrown + 0.6, 0), fontsize=7, color="#7d8894",
                      textcoords="offset points", xytext=(0, 4))  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_xlabel("batch")
    axes.set_ylabel("s")
    axes.legend(fontsize=7)
    return storage.save(fig, "mkeyed")


def judge(runs: dict[str, list[Batch]], memory: int) -> list[str]:
    """Compare the curves with the claims.  Returns a line for each claim."""
    judged = storage.Judgement()
    if "batch" in runs:
        for what, title in (("real", "real time"), ("processor", "user + system"), ("disk", "disk busy")):
            base, more = growth(runs["batch"], memory, what)
            line = slope(runs["batch"], memory, what)
            judged.say(line < MOST, f"batch: {title} grows by less than {MOST:.0%} from batch {base} to the last: {line:+.1%} "
                       f"along the line through them, {more:+.1%} from the one to the other")  # fmt: skip
    if "uniform" in runs:
        for what, title in (("real", "real time"), ("disk", "disk busy")):
            base, more = growth(runs["uniform"], memory, what)
            rises = slope(runs["uniform"], memory, what) > MOST
            judged.say(rises, f"uniform: {title} rises: {more:+.0%} from batch {base} to the last")
    return judged.lines


def spread(same: Iterable[float]) -> float:
    """The largest value minus the smallest."""
    return max(same := list(same)) - min(same)


def values(all_runs: dict[str, list[list[Batch]]], memory: int) -> list[Value]:
    """The rows for results.csv."""
    out = []
    for kind, runs in all_runs.items():
        batches = mean(runs)
        for i, b in enumerate(batches, 1):
            for what, measured, unit, field in (
                ("real", "wall", "s", "real"), ("user", "wall", "s", "user"), ("system", "wall", "s", "system"),
                ("processor", "wall", "s", "processor"),
                ("disk busy", "modelled", "s", "disk"),
                ("pages in", "counters", "pages", "pgin"), ("pages out", "counters", "pages", "pgout"),
                ("requests read", "counters", "requests", "reads"), ("requests written", "counters", "requests", "writes"),
            ):  # fmt: skip
                out.append(Value(f"{kind}, batch {i}: {what}", measured, unit, getattr(b, field), runs=len(runs),
                                 spread=spread(getattr(run[i - 1], field) for run in runs),
                                 note=f"file of {b.file_bytes / 2**20:.0f} MiB"))  # fmt: skip
        for what in ("real", "processor", "disk"):
            out.append(Value(f"{kind}: growth of {what}, file larger than memory to the last batch",
                             "modelled" if what == "disk" else "wall", "%", 100 * slope(batches, memory, what),
                             runs=len(runs), spread=spread(100 * slope(run, memory, what) for run in runs)))  # fmt: skip
    return out


def columns(b: Batch) -> list[str]:
    """The columns of a batch: its size, times and pages, then those of iostat -xn."""
    rates = (b.reads / b.real, b.writes / b.real, b.read_kib / b.real, b.written_kib / b.real)
    queues = (b.waited / b.real, b.served / b.real, 100 * b.disk / b.real)
    return [f"{b.file_bytes / 2**20:.0f}", f"{b.user:.2f}", f"{b.system:.2f}", f"{b.processor:.3f}", f"{b.real:.1f}",
            f"{b.disk:.1f}", f"{b.pgin:.0f}", f"{b.pgout:.0f}", *(f"{n:.1f}" for n in (*rates, *queues))]  # fmt: skip


def report(all_runs: dict[str, list[list[Batch]]], scale: float, records: int) -> None:
    """Print a table for each run, and for the mean."""
    head = ["batch", "MiB", "user", "sys", "both", "real", "disk", "pages in", "out", "r/s", "w/s", "kr/s", "kw/s", "wait",
            "actv", "%b"]  # fmt: skip
    for kind, runs in all_runs.items():
        shown = {f"seed {SEED + i}": batches for i, batches in enumerate(runs)}
        if len(runs) > 1:
            shown[f"mean of {len(runs)}"] = mean(runs)
        for title, batches in shown.items():
            rows = [[str(i), *columns(b)] for i, b in enumerate(batches, 1)]
            print(storage.table(f"{kind}: {KINDS[kind]}, {records} records a batch, seconds, {title}", head, rows))
            print()
    print(f"{MACHINE} with {MEMORY}, {ROOM_MIB} MiB of them free; disk times divided by {scale:g}; real is multiplied by it, "
          "user and sys are not.  The columns from r/s on are those of iostat -xn for the batch.")  # fmt: skip
    print("The article: 305,000 records a batch, 1 GB after 2 batches, 7.2 GB after 14; consistent from batch 3 to batch 14.")


def main() -> int:
    args = storage.arguments("mkeyed", scale=float(SCALE), records=RECORDS, rows=" ".join(KINDS))
    memory, kinds = ROOM_MIB << 20, storage.chosen("mkeyed", args.rows, KINDS)

    def experiment(folder: Path) -> int:
        all_runs = {
            kind: [measure(kind, folder, args.records, args.scale, SEED + i) for i in range(REPEATS[kind])]
            for kind in kinds
        }
        runs = {kind: mean(same) for kind, same in all_runs.items()}
        if any(batches[-2].file_bytes <= memory for batches in runs.values()):
            raise MachineError("the file does not outgrow memory: RECORDS is too small")
        report(all_runs, args.scale, args.records)
        print("\n".join(judge(runs, memory)))
        scale = f"disk times / {args.scale:g}"
        file = storage.record("mkeyed", values(all_runs, memory), f"{MACHINE} MEM={MEMORY}", scale, SEED)
        print(f"rows in {run.shown(file)}, plot {run.shown(plot(all_runs, memory))}")
        return 0

    return storage.program("mkeyed", experiment)


if __name__ == "__main__":
    sys.exit(main())
