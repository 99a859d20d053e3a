# SPDX-License-Identifier: MIT
"""balance.py - first touch, random placement, and balancing by observation: programs whose memory is placed badly.

THEORY      misplace (user/bench/misplace.c) has six programs.  Four have memory that first touch places badly, and two have
            nothing to gain.  Each runs on an sf3800 and an sf6800 with the interconnect model, one thread for each CPU, once
            for each seed, under each policy of POLICIES: first touch, random placement (madvise), balancing (lgrp_balance=1).
            A run is one boot of one program under one policy.  Its file is named by a digest of everything on which it
            depends (run.py), so a run that has ended is not repeated.  The page shows all results that exist.
            The model charges no time for the kernel.  So the kernel's work is counted apart: COSTS are runs on the same machine
            without the model, with the guest's clock counting instructions of all CPUs.  The instructions of a run with
            balancing, less those without, divided by the pages sampled, are the cost of a page.  The time that this
            work would take, one instruction a clock and divided by the CPUs, is added to the modelled time.
            The goal: with balancing, no program takes more than GOAL longer than with first touch, kernel included.
            With PEER=linux, the same programs run on Linux with and without its NUMA balancing, seed 1 only.
USAGE       make experiment-balance [SEEDS=3] [ROWS='init hot'] [PEER=linux]; ROWS chooses what is measured now
EXIT        0: the goal holds in all results.  1: it does not.  2: a run failed.
SEE ALSO    docs/lgroups.md, docs/experiments.md, tests/test_balance.py
"""

import json
import re
import statistics
import sys
from dataclasses import asdict, dataclass

from homeroom import guest, machine
from homeroom.experiments import metrics, run, storage
from homeroom.experiments.definition import Run
from homeroom.machine import TOP

PAGE = TOP / "docs/results/balance.md"
MACHINES = ("sf3800", "sf6800")
ROWS = {
    "init": "one thread initialises the slices of all",
    "hot": "all read a table that one thread has initialised, in order",
    "table": "all read such a table at random, and use a slice of their own",
    "phases": "slices change hands twice",
    "all": "all use all pages, which are spread evenly",
    "short": "processes that end soon",
}
VISITS = {"init": "3m", "hot": "6m", "table": "2m", "phases": "4m", "all": "2m", "short": "1m"}
POLICIES = {
    "first": ("first touch", "-p first", ""),
    "random": ("random", "-p random", ""),
    "balance": ("balancing", "-p first", "set lgrp_balance=1"),
}
LINUX = {"linux": ("Linux", False), "linux-balance": ("Linux, balancing", True)}
GOAL = 0.04
SCALE = "ecache_kib=256"  # as in tools/experiments/paper.toml
COST_ROW, COST_VISITS = "phases", "6m"  # many pages move, and many are sampled
CLOCK_S = 1.111e-9  # of the modelled CPU
COUNTS = ("pages sampled", "pages moved", "pages spread", "threads moved")


@dataclass
class Result:
    """One run."""

    seconds: float  # modelled
    remote: float  # share of misses to memory of other boards
    counts: dict[str, int]  # by name of COUNTS; empty without balancing


def definition(name: str, row: str, policy: str) -> Run:
    """The run of a row under a policy, or on Linux."""
    if policy in LINUX:
        command = f"misplace -n {VISITS[row]} {row}"
        return Run(name, command, model_set=SCALE, os="linux", balancing=LINUX[policy][1], timeout=3600)
    _, options, system = POLICIES[policy]
    command = f"misplace {options} -n {VISITS[row]} {row}; kstat -p lgrp:0:balance: || true"
    return Run(name, command, system=system, model_set=SCALE, timeout=3600)


def cost_definition(name: str, balance: bool) -> Run:
    """A run without the model, of COST_ROW."""
    command = f"misplace -n {COST_VISITS} {COST_ROW}; kstat -p lgrp:0:balance: || true"
    return Run(name, command, system="set lgrp_balance=1" if balance else "", model=False, timeout=3600)


def count_instructions(what: Run) -> int:
    """Do a run of cost_definition(), with a clock that counts the instructions of all CPUs, and write its files.  0 or 1."""
    file, log = run.paths(what, 1)
    options = guest.Options(run=what.command, system=what.system, seed=1, qemu_args=guest.ICOUNT)
    one = guest.Guest(machine.load(what.machine), options)
    try:
        one.start().wait(what.timeout)
    finally:
        one.close()
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(one.text())
    found = metrics.parse(one.text())
    if not found:
        print(f"balance: {run.describe(what)}: FAILED: no result line; its log is {run.shown(log)}", file=sys.stderr)
        return 1
    file.write_text(json.dumps({"measurements": [asdict(m) for m in found]}))
    return 0


def read(what: Run, seed: int) -> dict | None:
    """The file of a run; None if there is none."""
    path = run.paths(what, seed)[0]
    return json.loads(path.read_text()) if path.exists() else None


def counts(log: str) -> dict[str, int]:
    """The kstat lgrp:0:balance, as kstat -p printed it."""
    return {name: int(n) for name, n in re.findall(r"^lgrp:0:balance:([a-z ]+)\t(\d+)", log, re.M) if name in COUNTS}


def result(what: Run, seed: int) -> Result | None:
    data = read(what, seed)
    if data is None:
        return None
    found = data["measurements"][0]
    local, remote = (found["counters"][f"miss_{where}"] for where in ("local", "remote"))
    log = run.paths(what, seed)[1].read_text(errors="replace")
    return Result(float(found["result"]["modelled_s"]), remote / max(local + remote, 1), counts(log))


def results(name: str, row: str, policy: str, seeds: int) -> list[Result]:
    """All results that exist."""
    found = (result(definition(name, row, policy), seed) for seed in range(1, seeds + 1))
    return [one for one in found if one is not None]


def cost(name: str) -> tuple[float, float] | None:
    """The kernel's instructions for a page that is sampled, moves included, and pages moved for each page sampled."""
    off, on = read(cost_definition(name, False), 1), read(cost_definition(name, True), 1)
    if off is None or on is None:
        return None
    ns = [1e9 * float(data["measurements"][0]["result"]["wall_s"]) for data in (off, on)]
    seen = counts(run.paths(cost_definition(name, True), 1)[1].read_text(errors="replace"))
    sampled = max(seen.get("pages sampled", 0), 1)
    return (ns[1] - ns[0]) / sampled, seen.get("pages moved", 0) / sampled


def median(values: list[Result], key: str) -> float:
    return statistics.median(getattr(one, key) for one in values)


def median_count(values: list[Result], name: str) -> float:
    return statistics.median(one.counts.get(name, 0) for one in values)


def kernel_seconds(name: str, values: list[Result], a_page: float) -> float:
    """The time that sampling and moving would take on each CPU."""
    return median_count(values, "pages sampled") * a_page * CLOCK_S / machine.load(name).cpus


def worse(name: str, row: str, seeds: int, a_page: float, than: str = "first") -> float | None:
    """By which part the run with balancing takes longer than with another policy, kernel included; None: not measured."""
    base, with_it = (results(name, row, policy, seeds) for policy in (than, "balance"))
    if not base or not with_it:
        return None
    seconds = median(with_it, "seconds") + kernel_seconds(name, with_it, a_page)
    return seconds / median(base, "seconds") - 1


def spread(values: list[Result]) -> str:
    """The median modelled time, and with several seeds the smallest and the largest."""
    seconds = [one.seconds for one in values]
    if len(seconds) < 2:
        return f"{seconds[0]:.3f}" if seconds else "not measured"
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


def times(name: str, seeds: int, a_page: float) -> list[str]:
    """The table of modelled times and of remote misses."""
    titles = [title for title, *_ in POLICIES.values()]
    lines = [f"| row | program | {', s | '.join(titles)}, s | with the kernel | against random | remote misses, % |"]
    lines.append("|---|---|" + "--:|" * (len(titles) + 3))
    for row, about in ROWS.items():
        by = {policy: results(name, row, policy, seeds) for policy in POLICIES}
        part = worse(name, row, seeds, a_page)
        said = "" if part is None else f"{part:+.1%}{'' if part <= GOAL else ' **does not hold**'}"
        random = worse(name, row, seeds, a_page, "random")
        against = "" if random is None else f"{random:+.1%}"
        remote = ", ".join(f"{median(values, 'remote') * 100:.0f}" if values else "-" for values in by.values())
        lines.append(f"| `{row}` | {about} | {' | '.join(map(spread, by.values()))} | {said} | {against} | {remote} |")
    return lines


def work(name: str, seeds: int, a_page: float) -> list[str]:
    """The table of what balancing did."""
    lines = [f"| row | {' | '.join(COUNTS)} | kernel, % of CPU time |", "|---|" + "--:|" * (len(COUNTS) + 1)]
    for row in ROWS:
        values = results(name, row, "balance", seeds)
        if values:
            shown = " | ".join(f"{median_count(values, what):.0f}" for what in COUNTS)
            part = kernel_seconds(name, values, a_page) / median(values, "seconds")
            lines.append(f"| `{row}` | {shown} | {part * 100:.2f} |")
    return lines


def linux(name: str) -> list[str]:
    """The table for Linux; nothing if it was not measured."""
    lines = []
    for row in ROWS if all(path.exists() for path in run.PEER) else ():
        off, on = (results(name, row, policy, 1) for policy in LINUX)
        if off and on:
            change = median(on, "seconds") / median(off, "seconds") - 1
            shares = ", ".join(f"{median(values, 'remote') * 100:.0f}" for values in (off, on))
            lines.append(f"| `{row}` | {off[0].seconds:.3f} | {on[0].seconds:.3f} | {change:+.1%} | {shares} |")
    if not lines:
        return [NO_LINUX, ""]
    head = ["| row | without balancing, s | with, s | change | remote misses, % |", "|---|--:|--:|--:|--:|"]
    return ["Linux, seed 1:", "", *head, *lines, "", FASTER, ""]


INTRODUCTION = """# Balancing by observation, measured

`make experiment-balance` writes this page.

Programs whose memory first touch places badly (`user/bench/misplace.c`) run with first touch, with random placement, and with
[balancing by observation](../lgroups.md#balancing-by-observation) (`lgrp_balance=1`). There is one thread for each CPU, and
the [interconnect model](../fireplane.md) is attached, with external caches of 256 KiB. A program does a fixed number of
visits to memory. The figures are its modelled times: the median of the seeds, with the smallest and the largest in brackets if
there are several.

The model charges no time for the kernel. So the kernel's work is measured apart, in instructions of all CPUs, without the
model. The column *with the kernel* compares balancing with first touch, after the time for these instructions is added: one
clock each, divided by the CPUs. The goal is at most +4 %. *Against random* compares the same sum with random placement:
where it is above 0, random placement is the better choice for a program that is known. *Remote misses* are percentages of all
misses, under the three policies.

The rows `all` and `short` have nothing to gain. Their losses are what balancing costs.

**What was chosen after results were seen.** The rate of samples begins at its maximum. Before the first runs of `init` and
`hot` it began at a quarter of the maximum. All other constants (`kernel/lgrp/observe.h`) were chosen before the first run.
The lengths of the runs were chosen so that most runs take a third of a second or more of modelled time. In longer runs there
would be more to gain: balancing takes about 0.2 s to learn where pages belong. The runs that count the kernel's instructions
had 1m visits at first; no page moved in them, so they have 6m now.
"""


def price(a_page: float, moved: float) -> str:
    """A sentence about the cost of a page."""
    if not a_page:
        return "The kernel's instructions were not measured."
    return (
        f"A page that is sampled costs {a_page:,.0f} instructions of the kernel: to hide it, to flush TLBs, to handle the\n"
        f"fault, and to move {moved:.2f} pages for each page sampled (row `{COST_ROW}`, {COST_VISITS} visits)."
    )


FASTER = """Linux's balancing gains more than Homeroom's. A part of this is not its merit: its timers use the host's clock, and
a modelled millisecond takes seconds of that clock ([peer](../peer.md)). So it acts far more often in a run than on a real
machine, and knows almost at once where pages belong. The gains show what it can reach, but not how fast."""
NO_LINUX = "Linux was not measured here; `PEER=linux` does so."


def page(seeds: int) -> tuple[str, bool]:
    """The text of the page, and whether the goal holds in all results."""
    lines, holds = [INTRODUCTION], True
    for name in MACHINES:
        a_page, moved = cost(name) or (0.0, 0.0)
        parts = [worse(name, row, seeds, a_page) for row in ROWS]
        lines += [f"## {machine.load(name).title}: {machine.load(name).cpus} CPUs", ""]
        if all(part is None for part in parts):
            lines += ["Not measured yet.", ""]
            continue
        holds &= all(part is None or part <= GOAL for part in parts)
        counted = [n for row in ROWS for policy in POLICIES if (n := len(results(name, row, policy, seeds)))]
        lines += [f"Each figure is from {min(counted)} to {max(counted)} seeds.", ""]
        lines += [*times(name, seeds, a_page), "", "What balancing did:", "", *work(name, seeds, a_page), ""]
        lines += [price(a_page, moved), "", *linux(name)]
    return "\n".join(lines).rstrip() + "\n", holds


def todo(rows: list[str], seeds: int, with_linux: bool) -> list[tuple[Run, int]]:
    """The runs that have no result yet: first those of seed 1."""
    wanted = [(cost_definition(name, on), 1) for name in MACHINES for on in (False, True)]
    for seed in range(1, seeds + 1):
        for name in MACHINES:
            wanted += [(definition(name, row, policy), seed) for row in rows for policy in POLICIES]
    if with_linux:
        wanted += [(definition(name, row, policy), 1) for name in MACHINES for row in rows for policy in LINUX]
    return [(what, seed) for what, seed in wanted if not run.paths(what, seed)[0].exists()]


def main() -> int:
    args = storage.arguments("balance", rows="", seeds=3, peer="")
    rows = storage.chosen("balance", args.rows, ROWS) if args.rows else list(ROWS)
    missing = todo(rows, args.seeds, args.peer == "linux")
    failed = 0
    for i, (what, seed) in enumerate(missing, 1):
        failed += run.execute(what, seed, lambda i=i: f"{i} of {len(missing)}") if what.model else count_instructions(what)
    text, holds = page(args.seeds)
    PAGE.write_text(text)
    print(f"balance: {PAGE.relative_to(TOP)}; the goal {'holds' if holds else 'does not hold'}")
    return 2 if failed else int(not holds)


if __name__ == "__main__":
    sys.exit(main())
