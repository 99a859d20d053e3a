# SPDX-License-Identifier: MIT
"""limits.py - the cost of an operation while there are many threads, mappings, segments, locks, names or CPUs.

THEORY      limits (user/bench/limits.c) runs each case twice, with few and with many objects, under -icount.  So costs are
            instructions, and do not depend on the host.  The goal of each operation: with many objects it costs at most
            GOAL times as much as with few.
            Most cases run on one CPU.  Placement advice needs two boards, and the case "cpus" needs machines of two sizes:
            the other CPUs are idle, but what they execute is counted as well.
INVARIANTS  I1  the page has figures of one call only, and of all cases; otherwise it is not written
USAGE       make limits [ROWS='threads locks']; with ROWS it prints these cases and writes no page
EXIT        0: every row meets its goal.  1: one does not.  2: a run failed.
SEE ALSO    docs/benchmarks.md, tests/test_limits_bench.py
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from homeroom import guest, machine
from homeroom.experiments import run, storage
from homeroom.machine import TOP, Machine, MachineError, one_cpu

PAGE = TOP / "docs/results/limits.md"
GOAL = 2.0
SECONDS = 1200  # time limit of a boot
ONE, MEMORY = "sf280r", "6G"
SYSTEM = "set max_nprocs=30000; set max_map_count=200000; set tmpfs_max_percent=75"  # so that the large cases fit
DISK_MIB, SWAP_MIB, DISK_INODES = 2048, 512, 1_100_000


@dataclass(frozen=True)
class Case:
    title: str
    small: int
    large: int
    unit: str  # of small and large
    ops: dict[str, str]  # operation: what it is; "each": all of them together, divided by their number
    directory: str = "/tmp"
    program: str = ""  # the case of limits; by default the name of this case
    swap: bool = False
    machines: tuple[str, ...] = ()  # for few and for many objects, with all CPUs; by default, ONE with one CPU


NAMES = {
    "start": "create, each",
    "create": "create one more",
    "stat": "`stat`",
    "absent": "`stat` of a name that does not exist",
    "readdir": "`readdir`, each",
    "remove": "`unlink` of a name",
    "end": "`unlink`, each",
}
MAPS = {
    "start": "`mmap`, each",
    "map": "`mmap` and `munmap` of one more",
    "fault": "first touch",
    "sync": "write to a page, `msync`",
    "pageout": "page-out of a page (`MADV_PAGEOUT`)",
    "fork": "`fork` and exit, each",
    "truncate": "cut off the last page, which is mapped once",
    "unmap": "`munmap`, each",
}
ADVICE = {
    "start": "give advice, each",
    "advise": "change the advice of one range, twice",
    "fault": "first touch of a page between two ranges",
    "unadvise": "remove the advice of a range",
}
CASES = {
    "threads": Case(
        "threads of a process",
        100,
        10_000,
        "threads",
        {
            "start": "create, each",
            "create": "create one more, and join it",
            "wake": "wake one with a futex, and wait for its answer",
            "switch": "`sched_yield` to another thread and back",
            "list": "read `/proc/self/task`, each",
            "stat": "read `stat` of each thread there, each",
            "pause": "longest time for which the clock interrupt stops a program, in more than a second",
            "end": "wake and join, each",
            "exit": "exit of the process, each",
        },
    ),
    "maps": Case(
        "mappings of a file in tmpfs, each of another page",
        100,
        10_000,
        "mappings",
        {name: title for name, title in MAPS.items() if name not in ("sync", "pageout")},
    ),
    "maps-ext3": Case(
        "mappings of a file in ext3, each of another page", 100, 10_000, "mappings", MAPS, directory="/mnt", program="maps"
    ),
    "same": Case(
        "mappings of one page of a file",
        100,
        10_000,
        "mappings",
        {
            "start": "`mmap`, each",
            "touch": "first touch, each",
            "fork": "`fork` and exit, each",
            "truncate": "truncate the file, each",
            "unmap": "`munmap`, each",
        },
    ),
    "procs": Case(
        "processes; each maps another page of one file",
        100,
        10_000,
        "processes",
        {
            "start": "create, each",
            "fork": "`fork`, exit and wait of one more",
            "replace": "kill one, wait for it, and create another",
            "cow": "write to a page that all have inherited",
            "swapout": "the same in a new process, and page-out of the copy",
            "list": "read `/proc`, each",
            "stat": "read `stat` of each process there, each",
            "pause": "longest time for which the clock interrupt stops a program, in more than a second",
            "truncate": "cut off the last page of the file, which is mapped once",
            "end": "kill and wait, each",
        },
        swap=True,
    ),
    "segments": Case(
        "segments of a process",
        1000,
        100_000,
        "segments",
        {
            "start": "make one with `mprotect`, each",
            "map": "`mmap` and `munmap` of one more",
            "fault": "first touch",
            "protect": "`mprotect`, twice",
            "join": "`mprotect` that joins three segments, and one that splits them",
            "unmap": "`munmap`, and `mmap` at the same address",
            "fork": "`fork` and exit, each",
            "list": "read `/proc/self/maps`, each",
            "end": "`munmap` of all, each",
            "exit": "exit of the process, each",
        },
    ),
    "advice": Case(
        "ranges of private memory with advice (`MADV_ACCESS_LWP`)",
        100,
        10_000,
        "ranges",
        ADVICE,
        machines=("sf3800", "sf3800"),
    ),
    "advice-shared": Case(
        "ranges of shared memory with advice",
        100,
        250,
        "ranges",
        ADVICE,
        machines=("sf3800", "sf3800"),
    ),
    "locks": Case(
        "record locks in one file",
        100,
        10_000,
        "locks",
        {
            "start": "lock, each",
            "lock": "unlock a range, and lock it again",
            "type": "make a write lock a read lock, and a write lock again",
            "test": "`F_GETLK` of another process",
            "open": "`open` and `close` by another process",
            "end": "close the file, each",
        },
    ),
    "names": Case("names in a directory of tmpfs", 1000, 1_000_000, "names", NAMES),
    "names-ext3": Case("names in a directory of ext3", 1000, 1_000_000, "names", NAMES, directory="/mnt", program="names"),
    "cpus": Case(
        "CPUs, all but one idle",
        8,
        255,
        "CPUs",
        {
            "null": "`getppid`",
            "fork": "`fork`, exit and wait",
            "thread": "create a thread, and join it",
            "wake": "wake a thread with a futex, and wait for its answer",
            "map": "`mmap` and `munmap`",
            "tick": "clock interrupts of a second, each CPU",
            "pause": "longest time for which the clock interrupt stops a program, in more than a second",
        },
        machines=("sf3800", "cpus255"),
    ),
}


# ---- running -----------------------------------------------------------------------------------------------------------------


def rows(text: str) -> dict[str, float]:
    """The costs that limits printed, by OPERATION/N."""
    found = storage.result_lines(text, "limits")
    return {words["row"].split(".", 1)[1]: float(words["cost"]) for words in found}


def chosen_machine(case: Case, i: int) -> Machine:
    """The machine for few (0) or many (1) objects."""
    return machine.load(case.machines[i]) if case.machines else one_cpu(machine.load(ONE, memory=MEMORY))


def boot(chosen: Machine, command: str, folder: Path, case: Case) -> str:
    """The output of a command on a new machine; /mnt is an empty ext3 file system if the case needs one.  MachineError."""
    options = guest.Options(run=command, seed=1, system=SYSTEM, qemu_args=guest.ICOUNT, speed=2.0)
    if case.directory == "/mnt":
        options.disks = [str(storage.make_disk(folder / "disk.img", DISK_MIB, inodes=DISK_INODES))]
        options.run = f"mount -t ext3 /dev/vda /mnt && {command}"
    if case.swap:
        with open(folder / "swap.img", "wb") as file:
            file.truncate(SWAP_MIB << 20)
        options.disks, options.swap = [str(folder / "swap.img")], "/dev/vda"
    one = guest.Guest(chosen, options)
    try:
        outcome = one.start().wait(SECONDS)
    finally:
        one.close()
    text = one.text()
    if (message := outcome.message(True)) or outcome.status != 0:
        last = [line for line in text.splitlines() if line.strip()][-1:]
        raise MachineError(f"'{command}': {message or f'status {outcome.status}'}{': ' + last[0] if last else ''}")
    return text


def measure(name: str, folder: Path) -> dict[str, float]:
    """The costs of a case, by OPERATION/N.  MachineError if a run fails or prints no figure for an operation."""
    case, found = CASES[name], {}
    program = f"limits -d {case.directory} {case.program or name}"
    for i, n in enumerate((case.small, case.large)):
        storage.progress(f"limits: {name}, {n:,} {case.unit}")
        found |= rows(boot(chosen_machine(case, i), f"{program} {n}", folder, case))
    wanted = [f"{op}/{n}" for op in case.ops for n in (case.small, case.large)]
    if missing := [row for row in wanted if row not in found]:
        raise MachineError(f"{name}: no figure for {', '.join(missing)}")
    return found


# ---- results -----------------------------------------------------------------------------------------------------------------


def ratio(case: Case, costs: dict[str, float], op: str) -> float:
    """The cost with many objects, divided by that with few."""
    return costs[f"{op}/{case.large}"] / max(costs[f"{op}/{case.small}"], 1.0)


def faults(results: dict[str, dict[str, float]]) -> list[str]:
    """A sentence for each operation that does not meet its goal, the greatest ratio first."""
    found = [(ratio(CASES[name], costs, op), name, op) for name, costs in results.items() for op in CASES[name].ops]
    return [
        f"Does not hold: `{name}`, {CASES[name].ops[op]}: {value:.1f} times as much."
        for value, name, op in sorted(found, reverse=True)
        if value > GOAL
    ]


def table(name: str, costs: dict[str, float]) -> list[str]:
    """The lines of a case's table."""
    case = CASES[name]
    lines = [f"| `{name}` | {case.small:,} {case.unit} | {case.large:,} | ratio | goal |", "|---|--:|--:|--:|---|"]
    for op, title in case.ops.items():
        few, many, value = costs[f"{op}/{case.small}"], costs[f"{op}/{case.large}"], ratio(case, costs, op)
        lines.append(f"| {title} | {few:,.0f} | {many:,.0f} | {value:.2f} | {'holds' if value <= GOAL else 'does not hold'} |")
    return lines


def page(results: dict[str, dict[str, float]], rev: str) -> str:
    """The text of the page."""
    lines = ["# Limits", "", "`make limits` writes this page.", ""]
    lines += [
        "What does an operation cost while there are many threads, mappings, segments, locks, names or CPUs? `limits`",
        "(`user/bench/limits.c`) makes few or many of them, and measures operations on one of them, or on one more. *Each*",
        "means all of them together, divided by their number. Costs are in instructions (`-icount`), so they do not depend",
        f"on the host. The goal: with many objects, an operation costs at most {GOAL:g} times as much as with few.",
        "",
        "Operations that may wait for a disk count the instructions of the calling thread only. One object of shared memory",
        "has at most 256 ranges with advice, so these are measured with 250.",
        "",
        f"Measured with revision {rev}.",
        "",
    ]
    for name, costs in results.items():
        title = CASES[name].title
        lines += [f"## {title[0].upper()}{title[1:]}", "", *table(name, costs), ""]
    missed = faults(results)
    lines += ["## Goals", "", *(f"- {text}" for text in missed or ["All goals hold."])]
    return "\n".join(lines) + "\n"


def main() -> int:
    args = storage.arguments("limits", rows="")
    names = storage.chosen("limits", args.rows, CASES) if args.rows else list(CASES)

    def experiment(folder: Path) -> int:
        results = {name: measure(name, folder) for name in names}
        if names == list(CASES):
            PAGE.write_text(page(results, run.revision()))
            print(f"limits: {PAGE.relative_to(TOP)}")
        for name, costs in results.items():
            print("\n".join([*table(name, costs), ""]))
        missed = faults(results)
        print("\n".join(missed) or "All goals hold.")
        return int(bool(missed))

    return storage.program("limits", experiment)


if __name__ == "__main__":
    sys.exit(main())
