#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cost_table.py - what kernel paths cost, in instructions, beside what they cost in Linux.

Runs osbench (user/bench) on one CPU under QEMU's instruction counter, where the figures are exact and the same
on every run, and writes docs/performance.md.  --check only compares.  Exit status 1 if a line is over its limit:
Linux's figure, or half of it for the paths in HALF.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from homeroom import guest, machine
from homeroom.machine import TOP

LINUX = TOP / "user/bench/linux-instructions.txt"
PAGE = TOP / "docs/performance.md"
HALF = {"null", "pipe_pp", "futex_pp", "fork", "forkexec", "thread", "pf_anon", "cow", "stat"}
USER_ONLY = {"empty", "mutex4", "malloc1", "malloc4"}  # no kernel path: 2 % for the C library's own differences
NO_LIMIT = {"yield_thr", "yield_proc", "sleep1ms"}  # a matter of policy, and of the clock

HEAD = """\
# What kernel paths cost

Instructions per operation, from the program and back, on one CPU: `make costs` runs `osbench` (in `user/bench/`) under QEMU's
instruction counter (`ICOUNT=1`) and writes this page. Linux is Debian 12's 6.1 with `mitigations=off` on the same QEMU and
CPU model, with the same program. The limit is Linux's figure, or half of it for the paths that everything else is made of.

Counted instructions do not show the cost of cache and TLB misses. A switch between processes loads CR3, one between threads of
a process does not.

| path | operation | Homeroom | Linux | ratio | limit |
|---|---|---:|---:|---:|---:|
"""


def linux_figures() -> dict[str, tuple[float, str]]:
    """{test: (instructions, operation)}"""
    rows = (ln.split("\t") for ln in LINUX.read_text().splitlines() if not ln.startswith("#"))
    return {name: (float(cost), unit) for name, cost, unit in rows}


def measure(name: str, tests: list[str]) -> dict[str, float]:
    """{test: instructions}, the median of osbench's three repetitions."""
    run = "cd /tmp && osbench " + " ".join(tests)
    one = guest.Guest(machine.load(name), guest.Options(run=run, icount=True, seed=1)).start()
    outcome = one.wait(900)
    text = one.console.decode(errors="replace")
    if outcome.kind != "clean" or outcome.status != 0:
        sys.exit(f"cost_table: {outcome.message(True) or outcome}\n{one.tail(20)}")
    found = re.findall(r"^OSB (\S+) .*?tsc_med=([\d.]+)", text, re.MULTILINE)
    return {test: float(cost) for test, cost in found}


def limit_of(test: str, linux: float) -> float | None:
    if test in NO_LIMIT:
        return None
    if test in HALF:
        return linux / 2
    return linux * 1.02 if test in USER_ONLY else linux


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", nargs="*", help="osbench's tests (all)")
    parser.add_argument("--check", action="store_true", help="compare, and leave docs/performance.md alone")
    parser.add_argument("--machine", default="sf280r")
    args = parser.parse_args()
    linux = linux_figures()
    costs = measure(args.machine, args.test)
    rows, over = [], []
    for test, (theirs, unit) in linux.items():
        if test not in costs:
            continue
        ours, limit = costs[test], limit_of(test, theirs)
        if limit is not None and ours > limit:
            over.append(test)
        shown = "-" if limit is None else f"{limit:.0f}"
        rows.append((test, unit, f"{ours:.0f}", f"{theirs:.0f}", f"{ours / theirs:.2f}", shown))
    for row in rows:
        print("{:16} {:24} {:>9} {:>9} {:>5} {:>9}{}".format(*row, "  OVER" if row[0] in over else ""))
    if not args.check and not args.test:
        lines = (f"| `{t}` | {unit} | {o} | {li} | {ra} | {lim} |\n" for t, unit, o, li, ra, lim in rows)
        PAGE.write_text(HEAD + "".join(lines))
    missing = set(args.test or linux) - set(costs)
    if missing:
        print(f"cost_table: osbench did not print {', '.join(sorted(missing))}", file=sys.stderr)
    return int(bool(over or missing))


if __name__ == "__main__":
    sys.exit(main())
