# SPDX-License-Identifier: MIT
"""osbench_report.py - the cost of each kernel path, compared with Linux; writes the table in docs/performance.md.

    make osbench

THEORY      osbench (user/bench/osbench.c) runs twice with -icount shift=0: then the time-stamp counter counts
            instructions.  On one CPU the counts are exact and the same in every run.  On two CPUs, QEMU 7.2 runs the
            CPUs in turn, so the counts include the instructions of a CPU that waits.  The figures for Linux were
            measured in the same way and are stored in tests/data/linux-instructions.txt.
            The goals compare one CPU with Linux on one CPU with mitigations off.
INVARIANTS  I1  the table is between the two marks in docs/performance.md; nothing else there changes
EXIT        0: every line meets its goal (GOALS).  1: one does not.  2: a run gave no figures.
SEE ALSO    docs/performance.md, tests/test_osbench.py
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from homeroom import guest
from homeroom.machine import TOP, MachineError, load, one_cpu

DATA = TOP / "tests/data/linux-instructions.txt"
PAGE = TOP / "docs/performance.md"
BEGIN, END = "<!-- osbench: begin -->", "<!-- osbench: end -->"
SECONDS = 600

# GOALS: the greatest ratio to Linux's count.  HALF: 0.5.  All lines that are not named here: 1.
HALF = {"null", "pipe_pp", "futex_pp", "fork", "forkexec", "thread", "pf_anon", "cow", "stat"}
USER_ONLY = {"empty": 1.02, "mutex4": 1.02, "malloc1": 1.02, "malloc4": 1.02}
NO_GOAL = {"yield_thr", "yield_proc", "sleep1ms"}


@dataclass
class Linux:
    """A line of Linux's figures: instructions per operation."""

    one: float  # one CPU, mitigations off
    two: float | None  # two CPUs, mitigations off; None: not measured
    unit: str


def linux_figures(text: str) -> dict[str, Linux]:
    """Test -> figures, in the file's order."""
    rows = (line.split() for line in text.splitlines() if not line.startswith(("#", "test ")))
    return {w[0]: Linux(float(w[1]), None if w[5] == "-" else float(w[5]), w[7]) for w in rows if len(w) >= 8}


def osbench_figures(text: str) -> dict[str, float]:
    """Test -> median instructions per operation, from osbench's output; {} if it did not end."""
    if not re.search(r"^OSB-END", text, re.M):
        return {}
    return {m[1]: float(m[2]) for m in re.finditer(r"^OSB (\S+) .*tsc_med=([\d.]+)", text, re.M)}


def goal(name: str) -> float | None:
    """The part of Linux's count that a test may use; None if any."""
    if name in NO_GOAL:
        return None
    return 0.5 if name in HALF else USER_ONLY.get(name, 1.0)


def missed(ours: dict[str, float], linux: dict[str, Linux]) -> list[str]:
    """The tests that do not meet their goals, those without a figure among them."""
    limits = {name: goal(name) for name in linux}
    return [n for n, part in limits.items() if n not in ours or (part is not None and ours[n] > part * linux[n].one)]


def run(cpus: int) -> str:
    """osbench's output on a machine with one or two CPUs."""
    machine = load("sf280r")
    machine = one_cpu(machine) if cpus == 1 else machine
    one = guest.Guest(machine, guest.Options(run="osbench -d /tmp", seed=1, qemu_args=guest.ICOUNT))
    try:
        one.start().wait(SECONDS)
    finally:
        one.close()
    return one.text()


def table(linux: dict[str, Linux], one: dict[str, float], two: dict[str, float]) -> str:
    """The Markdown table."""
    lines = [
        "| test | operation | Homeroom, 1 CPU | Linux, 1 CPU | ratio | Homeroom, 2 CPUs | Linux, 2 CPUs |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, them in linux.items():
        ours = one[name]
        both = "-" if them.two is None else f"{them.two:.0f}"
        lines.append(
            f"| `{name}` | {them.unit} | {ours:.0f} | {them.one:.0f} | {ours / them.one:.2f} | {two[name]:.0f} | {both} |"
        )
    return "\n".join(lines)


def write_page(page: Path, text: str) -> None:
    """Put the table between the page's marks (I1)."""
    old = page.read_text()
    head, rest = old.split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}")


def main() -> int:
    linux = linux_figures(DATA.read_text())
    try:
        outputs = [run(1), run(2)]
    except MachineError as error:
        print(f"osbench_report: {error}", file=sys.stderr)
        return 2
    one, two = (osbench_figures(text) for text in outputs)
    if missing := [name for name in linux if name not in one or name not in two]:
        print(f"osbench_report: no figures for {', '.join(missing)}; the runs' ends:", file=sys.stderr)
        for text in outputs:
            print("\n".join(text.splitlines()[-5:]), file=sys.stderr)
        return 2
    write_page(PAGE, table(linux, one, two))
    print(table(linux, one, two))
    if late := missed(one, linux):
        print(f"osbench_report: over the goal: {', '.join(late)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
