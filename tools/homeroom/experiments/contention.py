# SPDX-License-Identifier: MIT
"""contention.py - operations a second of threads and processes that contend in the kernel, on Homeroom and on Linux.

THEORY      contend (user/bench/contend.c) measures each row with 1, 2, ... workers.  A round is one boot of each system on
            each machine, with the round's number as seed.  All rounds are measured in each call: rates depend on the host,
            so rates of another day could not be compared.
            Time in which the host kept QEMU waiting for a processor does not count: a rate is divided by the share of the
            time that QEMU was not kept waiting (host_lines() of beside.py).
            All CPUs share one thread of the host, so n workers have as much processor time as one.  The share of n
            workers is their total rate divided by the rate of one worker in the same boot, at best 1.
            The goals, for the numbers of workers from JUDGED on: where no TLB shootdown is needed, a share of KEEPS; where
            one is, at least Linux's share and at least Linux's rate.  Both are compared as medians of the rounds.
INVARIANTS  I1  the page has figures of one call only, and of all rounds; otherwise it is not written
USAGE       make contention [ROWS='map protect']; with ROWS it prints these rows and writes no page
EXIT        0: every row meets its goal.  1: one does not.  2: a run failed.
SEE ALSO    docs/benchmarks.md, tests/test_contention.py, beside.py (which boots and reads)
"""

import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from homeroom import machine
from homeroom.experiments import beside, storage
from homeroom.experiments.beside import Figure, Result, Run, number
from homeroom.machine import TOP, MachineError

PAGE = TOP / "docs/results/contention.md"
ROUNDS = 3
WORKERS = {"sf3800": (1, 2, 8), "sf6800": (1, 2, 8, 24)}  # the last is the number of CPUs
JUDGED = 8
KEEPS = 0.9


@dataclass(frozen=True)
class Row:
    title: str
    shootdown: bool = False  # other CPUs may have translations that the operation removes or restricts


ROWS = {
    "map": Row("map and unmap 1 MiB"),
    "protect": Row("make a page read-only and writable again, write to it", shootdown=True),
    "create": Row("create and remove a file in one directory"),
    "create-proc": Row("the same, processes"),
    "touch": Row("map 1 MiB, write to its 256 pages, unmap it", shootdown=True),
    "fault": Row("write to 256 mapped pages, give them back (`MADV_DONTNEED`)", shootdown=True),
    "stat": Row("stat of a file in one directory"),
    "null": Row("getppid"),
}


def rate(row: str, n: int) -> str:
    """The name of a figure: the operations a second of n workers."""
    return f"contend.{row}/{n}.rate"


def got(row: str, n: int) -> str:
    """The name of a figure: the share of the time for which the host gave QEMU a processor meanwhile."""
    return f"host.{row}/{n}.got"


def boot(name: str, rows: list[str]) -> Run:
    """The run that measures these rows on a machine."""
    counts = WORKERS[name]
    words = f"for row in {' '.join(rows)}; do for n in {' '.join(map(str, counts))}; do contend -n $n $row || exit; done; done"
    names = [name(row, n) for row in rows for n in counts for name in (rate, got)]
    return Run("contention", name, name, words, [Figure(name, "", "") for name in names], machine=name)


def measure(runs: list[Run], rows: list[str], folder: Path) -> dict[tuple[str, str], Result]:
    """Do all rounds.  Returns the results by machine and system.  MachineError if a run failed (I1)."""
    disks = {"seed": 1}
    todo = [(i, run, system) for i in range(1, ROUNDS + 1) for run in runs for system in beside.SYSTEMS]
    for count, (i, run, system) in enumerate(todo, 1):
        storage.progress(f"contention: {count} of {len(todo)}: {run.name}, {beside.SYSTEMS[system]}, round {i}")
        if failure := beside.execute(run, system, i, disks, folder):
            raise MachineError(failure)
    pairs = [(run, system) for run in runs for system in beside.SYSTEMS]
    return {(run.name, system): correct(beside.collect(run, system, ROUNDS, disks), run, rows) for run, system in pairs}


def correct(result: Result, run: Run, rows: list[str]) -> Result:
    """The result with rates that do not count time in which the host kept QEMU waiting."""
    figures = {}
    for row, n in ((row, n) for row in rows for n in WORKERS[run.name]):
        pairs = zip(result.figures[rate(row, n)], result.figures[got(row, n)], strict=True)
        figures[rate(row, n)] = [value / part for value, part in pairs]
    return replace(result, figures=figures)


def share(result: Result, row: str, n: int) -> float:
    """The total rate of n workers divided by that of one: the median of the rounds."""
    one, many = result.figures[rate(row, 1)], result.figures[rate(row, n)]
    return statistics.median(b / a if a > 0 else 0.0 for a, b in zip(one, many, strict=True))


def added(result: Result, row: str, n: int) -> str:
    """The microseconds that contention adds to an operation with n workers: the median of the rounds."""
    rounds = zip(result.figures[rate(row, 1)], result.figures[rate(row, n)], strict=True)
    found = [1e6 / many - 1e6 / one for one, many in rounds if one > 0 and many > 0]
    return f"{round(statistics.median(found), 2) + 0.0:.2f}" if found else "-"


def fault(row: str, n: int, ours: Result, linux: Result) -> str:
    """What a row with n workers misses of its goal; empty if it holds."""
    mine, theirs = share(ours, row, n), share(linux, row, n)
    if not ROWS[row].shootdown:
        return "" if mine >= KEEPS else f"share {mine:.2f}, less than {KEEPS}"
    rates = [statistics.median(result.figures[rate(row, n)]) for result in (ours, linux)]
    missed = [f"share {mine:.2f}, Linux {theirs:.2f}"] if mine < theirs else []
    missed += [f"rate {number(rates[0])}, Linux {number(rates[1])}"] if rates[0] < rates[1] else []
    return "; ".join(missed)


def faults(run: Run, rows: list[str], ours: Result, linux: Result) -> list[str]:
    """A sentence for each row and number of workers that does not meet its goal."""
    found = []
    for row in rows:
        for n in (n for n in WORKERS[run.name] if n >= JUDGED):
            if missed := fault(row, n, ours, linux):
                found.append(f"Does not hold: {run.name}: `{row}` with {n} workers: {missed}.")
    return found


def _head(left: list[str], counts: tuple[int, ...], right: list[str]) -> list[str]:
    """The first two lines of a table with a column for each system and number of workers."""
    names = [f"{title} {n}" if i == 0 else str(n) for title in beside.SYSTEMS.values() for i, n in enumerate(counts)]
    align = ["---"] * len(left) + ["--:"] * len(names) + ["---"] * len(right)
    return [f"| {' | '.join([*left, *names, *right])} |", f"|{'|'.join(align)}|"]


def tables(run: Run, rows: list[str], ours: Result, linux: Result) -> list[str]:
    """The lines of a machine's tables: rates, what contention adds, and shares with the goals."""
    counts = WORKERS[run.name]
    rates = _head(["row", "operation"], counts, [])
    costs = _head(["row"], counts[1:], [])
    shares = _head(["row", "shootdown"], counts[1:], ["goal"])
    for row in rows:
        cells = [beside.shown(result, rate(row, n)) for result in (ours, linux) for n in counts]
        rates.append(f"| `{row}` | {ROWS[row].title} | {' | '.join(cells)} |")
        cells = [added(result, row, n) for result in (ours, linux) for n in counts[1:]]
        costs.append(f"| `{row}` | {' | '.join(cells)} |")
        cells = [f"{share(result, row, n):.2f}" for result in (ours, linux) for n in counts[1:]]
        missed = [str(n) for n in counts if n >= JUDGED and fault(row, n, ours, linux)]
        holds = f"does not hold: {', '.join(missed)}" if missed else "holds"
        shares.append(f"| `{row}` | {'yes' if ROWS[row].shootdown else 'no'} | {' | '.join(cells)} | {holds} |")
    return ["Operations a second:", "", *rates, "", "Added to an operation, us:", "", *costs, "", "Shares:", "", *shares]


def spread(results: list[Result]) -> str:
    """A sentence about how far apart the rounds of a rate are."""
    rates = [values for result in results for values in result.figures.values() if statistics.median(values) > 0]
    found = [100 * (max(values) - min(values)) / statistics.median(values) for values in rates]
    if not found:
        return ""
    half, all_ = statistics.median(found), max(found)
    return f"The rounds of half of the rates differ by at most {half:.0f} % of the median, those of all rates by {all_:.0f} %."


def page(runs: list[Run], results: dict[tuple[str, str], Result]) -> str:
    """The text of the page."""
    rows = list(ROWS)
    lines = ["# Contention", "", "`make contention` writes this page.", ""]
    lines += [
        "Threads of one process, or processes (`create-proc`), repeat one operation at the same time, each on memory or a file",
        "of its own (`user/bench/contend.c`). They share the address space, or the directory `/tmp`, which is in memory. A",
        "rate counts the operations of all workers together, in an interval of one second of the guest's clock. Time in which",
        "other programs of the host kept the machine waiting for a processor does not count. The scheduler places the workers.",
        "",
        "All CPUs share one thread of the host. So *n* workers have as much processor time as one. Their total can be the rate",
        "of one worker, less what contention costs. The *share* is the total of *n* workers divided by the rate of one in the",
        f"same boot. The goals are for {JUDGED} and more workers. Where no TLB shootdown is needed, the share must be at least",
        f"{KEEPS}. Where one is needed, share and rate must be at least Linux's.",
        "",
        "A share depends on the rate of one worker: a system that is faster with one worker loses more of it by the same time.",
        "So there is also a table of the processor time that contention adds to an operation: the time of an operation with",
        "*n* workers, less that with one. It is not a goal, and was added when the shares were known.",
        "",
        f"Each figure is the median of {ROUNDS} boots, with seeds 1 to {ROUNDS}; brackets show the smallest and the largest.",
        spread(list(results.values())),
        "",
        *beside.sources({system: [results[run.name, system] for run in runs] for system in beside.SYSTEMS}),
        "",
    ]
    for run in runs:
        both = [results[run.name, system] for system in beside.SYSTEMS]
        lines += [f"## {machine.load(run.name).title}: {WORKERS[run.name][-1]} CPUs", "", *tables(run, rows, *both), ""]
        lines += [*(f"- {text}" for text in faults(run, rows, *both)), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    args = storage.arguments("contention", rows="")
    rows = storage.chosen("contention", args.rows, ROWS) if args.rows else list(ROWS)
    runs = [boot(name, rows) for name in WORKERS]
    beside.OUT.mkdir(parents=True, exist_ok=True)

    def experiment(folder: Path) -> int:
        results = measure(runs, rows, folder)
        if rows == list(ROWS):
            PAGE.write_text(page(runs, results))
            print(f"contention: {PAGE.relative_to(TOP)}")
        missed = []
        for run in runs:
            both = [results[run.name, system] for system in beside.SYSTEMS]
            print("\n".join([run.name, *tables(run, rows, *both), ""]))
            missed += faults(run, rows, *both)
        print("\n".join(missed) or "All goals hold.")
        return int(bool(missed))

    return storage.program("contention", experiment)


if __name__ == "__main__":
    sys.exit(main())
