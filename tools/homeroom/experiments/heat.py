# SPDX-License-Identifier: MIT
"""heat.py - page heat: is a count of one miss in several right, what does it cost, and how does it look?

THEORY      memcopy prints the misses on each of its pages (BENCH_HEAT=1).  Two runs with one seed have the same misses, so
            the run that counts all of them is the exact answer for the run that counts one of EVERY.  The error of a page
            is that of a random sample: with C misses on the page its standard deviation is at most sqrt((EVERY - 1) / C).
            With PASSES passes this is 0.9 % for the hottest pages, so the largest of TOP errors stays below 3 %.
            The cost is that of QEMU's CPU time for the same run with heat off and on, in pairs that take turns.
            The picture has the pages of both placements: owner by colour, and the share of misses from other boards.
USAGE       make experiment-heat
EXIT        0.  1: an error is over 3 %, or the cost over 10 %.  2: a run failed
SEE ALSO    docs/heat.md, tests/test_heat.py
"""

import re
import statistics
import sys
from pathlib import Path

from homeroom import guest, machine
from homeroom.experiments import run, storage
from homeroom.experiments.storage import Value
from homeroom.machine import MachineError

MACHINE, SEED, EVERY, TOP, PAIRS = "sf6800", 7, 16, 100, 5
SCALE = "ecache_kib=64"
THREADS, PAGES, PASSES = 2, 256, 3200  # of both arrays; a thread reads twice the pages that its external cache holds
COST = "memcopy -t 24 -i 20"
LIMIT_ERROR, LIMIT_COST = 3.0, 10.0  # percent

Heat = dict[int, tuple[int, dict[int, int]]]  # lgroup and misses by accessing lgroup, by address


def parse(text: str) -> Heat:
    """The pages in the lines `heat: address lgroup lgroup:misses ...` of a benchmark."""
    found: Heat = {}
    for address, owner, rest in re.findall(r"^heat: ([0-9a-f]+) (\d+) (.*)$", text, re.M):
        found[int(address, 16)] = (int(owner), {int(a): int(n) for a, n in re.findall(r"(\d+):(\d+)", rest)})
    return found


def measure(command: str, every: int) -> tuple[str, float]:
    """A run's console and the CPU seconds of its QEMU.  MachineError if it fails."""
    options = guest.Options(run=command, seed=SEED, model="fireplane", model_set=SCALE, heat=every, speed=4.0)
    one = guest.Guest(machine.load(MACHINE), options)
    outcome = one.start().wait(600)
    if outcome.status != 0:
        raise MachineError(f"'{command}' with HEAT={every} failed: {outcome.message(True)}\n{one.tail(10)}")
    return one.text(), outcome.cpu_seconds


def errors(exact: Heat, sampled: Heat, top: int = TOP) -> list[float]:
    """The errors of the `top` hottest pages, percent: of all misses on a page."""
    totals = {page: sum(misses.values()) for page, (_, misses) in exact.items()}
    hottest = sorted(totals, key=totals.get, reverse=True)[:top]
    found = {page: sum(misses.values()) for page, (_, misses) in sampled.items()}
    return [100.0 * (found.get(page, 0) / totals[page] - 1.0) for page in hottest]


def modelled(text: str) -> list[str]:
    """The lines of a run that have modelled values."""
    return re.findall(r"^(?:result|counters): .*", text, re.M)


def copy(placement: str) -> str:
    return f"BENCH_HEAT=1 memcopy -t {THREADS} -P {PAGES} -i {PASSES} -p {placement}"


def costs() -> dict[int, list[float]]:
    """HEAT= -> the cost of each pair of runs, percent of the time without heat."""
    found: dict[int, list[float]] = {EVERY: [], 1: []}
    for _ in range(PAIRS):
        _, off = measure(COST, 0)
        for every, list_ in found.items():
            list_.append(100.0 * (measure(COST, every)[1] / off - 1.0))
    return found


def draw(heats: dict[str, Heat]) -> Path:
    """The address space of each placement: a cell for each page, its owner as frame, the share of other boards as colour."""
    fig, axes = storage.figure("heat", height=1.1 + 1.1 * len(heats))
    columns, y, ticks = 32, 0, []
    for title, heat in heats.items():
        hottest = max(sum(misses.values()) for _, misses in heat.values())
        pages = sorted(page for page, (_, misses) in heat.items() if sum(misses.values()) > hottest / 50)
        ticks.append((y + 0.5, title))
        for i, page in enumerate(pages):
            owner, misses = heat[page]
            total = sum(misses.values())
            far = 1.0 - misses.get(owner, 0) / total
            at = (i % columns, y + i // columns)
            colour = (0.12 + 0.58 * far, 0.37 - 0.14 * far, 0.60 - 0.43 * far)
            axes.add_patch(_cell(at, colour, total / hottest))
            axes.text(at[0] + 0.5, at[1] + 0.55, str(owner), fontsize=6, ha="center", va="center", color="white")
        y += -(-len(pages) // columns) + 1
    axes.set_xlim(0, columns)
    axes.set_ylim(y - 1, 0)
    axes.set_xticks([])
    axes.set_yticks([at for at, _ in ticks], [title for _, title in ticks])
    axes.set_xlabel("pages in the order of addresses; number: lgroup of the page; blue: misses of its own CPUs, red: of others")
    return storage.save(fig, "heat")


def _cell(at: tuple[float, float], colour: tuple[float, float, float], share: float):
    from matplotlib.patches import Rectangle

    return Rectangle((at[0] + 0.04, at[1] + 0.04), 0.92, 0.92, color=colour, alpha=0.35 + 0.65 * share)


def experiment(_: Path) -> int:
    exact, sampled = (measure(copy("first"), every)[0] for every in (1, EVERY))
    off = errors(parse(exact), parse(sampled))
    worst, mean = max(map(abs, off)), statistics.fmean(map(abs, off))
    same = modelled(exact) == modelled(sampled)
    heats = {"first touch": parse(sampled), "random": parse(measure(copy("random"), EVERY)[0])}
    cost = costs()
    values = [
        Value(f"largest error of the {TOP} hottest pages, HEAT={EVERY}", "counters", "%", worst),
        Value(f"mean error of the {TOP} hottest pages, HEAT={EVERY}", "counters", "%", mean),
    ]
    for every, found in cost.items():
        middle, spread = statistics.median(found), max(found) - min(found)
        values.append(Value(f"cost, HEAT={every}", "wall", "% CPU time of QEMU", middle, spread=spread, runs=PAIRS))
    rows = [
        [v.row, "" if v.ours is None else f"{v.ours:.2f} {v.unit}", "" if v.spread is None else f"{v.spread:.2f}"]
        for v in values
    ]
    print(storage.table(f"page heat ({MACHINE}, {SCALE})", ["", "value", "spread"], rows))
    for every, found in cost.items():
        print(f"each pair, HEAT={every}: {', '.join(f'{x:+.1f} %' for x in found)}")
    print("the modelled rows of both runs are equal" if same else "THE MODELLED ROWS DIFFER")
    file = storage.record("heat", values, MACHINE, SCALE, SEED)
    print(f"rows in {run.shown(file)}, plot {run.shown(draw(heats))}")
    return int(not same or worst > LIMIT_ERROR or statistics.median(cost[EVERY]) > LIMIT_COST)


if __name__ == "__main__":
    sys.exit(storage.program("heat", experiment))
