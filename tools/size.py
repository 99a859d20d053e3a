#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""size.py - the size of the kernel in each profile, and the parts that could become optional.

    make size                       Markdown on standard output

THEORY   Lines of code are counted as in tools/house.py: without blank lines and without lines that have only a comment.
         kernel/profile.mk lists the files of each profile.
         CANDIDATES are parts of the core without which a kernel could be useful.  If a part became optional, each of
         its functions and variables that other files use would need a replacement in kernel/absent/.  The number of
         these comes from the object files of the core.  The second table shows the ten largest candidates.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

from house import count_lines

TOP = Path(__file__).resolve().parents[1]
PROFILES = ("core", "disk", "full")
SHOWN = 10
CANDIDATES = {  # name of the part: how the names of its files begin
    "/proc": ["kernel/procfs/"],
    "/sys": ["kernel/fs/sysfs/"],
    "processor sets": ["kernel/disp/pset.", "kernel/sys/sys_pset."],
    "calls of Solaris": ["kernel/sys/sys_lgrp.", "kernel/sys/sys_solaris."],
    "Linux's NUMA calls": ["kernel/sys/sys_numa.", "kernel/lgrp/mempolicy."],
    "migration and advice": ["kernel/vm/migrate.", "kernel/vm/advise."],
    "System V shared memory": ["kernel/sys/sys_shm."],
    "epoll": ["kernel/ipc/epoll."],
    "futexes": ["kernel/ipc/futex.", "kernel/sys/sys_futex."],
    "truss": ["kernel/sys/truss."],
    "the trace": ["kernel/stat/trace.", "kernel/fs/devfs/tracedev.", "kernel/disp/sample."],
    "kernel statistics": ["kernel/stat/kstat.", "kernel/fs/devfs/statdev.", "kernel/disp/cpu_kstats."],
    "/etc/system": ["kernel/stat/etc_system."],
    "job control": ["kernel/tty/tty_job.", "kernel/proc/pgrp."],
    "locks on files": ["kernel/vfs/filelock."],
    "the vDSO": ["kernel/proc/vdso"],
    "interval timers": ["kernel/proc/itimer."],
    "ending a process when memory is short": ["kernel/proc/oom."],
}


def parts(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """From the text of profile.mk: the file patterns of each part, and the parts that each profile leaves out."""
    text = re.sub(r"\\\n\s*", "", text)
    text = re.sub(r"\$\(addprefix ([^,]+),([^)]*)\)", lambda m: " ".join(m[1] + name for name in m[2].split()), text)
    variables = dict(re.findall(r"^(\w+)[ \t]*:=[ \t]*(.*)$", text, re.M))
    files = {name.removeprefix("PART_"): value.split() for name, value in variables.items() if name.startswith("PART_")}
    absent = {profile: variables[f"ABSENT_{profile}"] for profile in PROFILES}
    return files, {profile: [*files] if value == "$(PARTS)" else value.split() for profile, value in absent.items()}


def left_out(path: Path, lacking: list[str], files: dict[str, list[str]]) -> bool:
    """Whether a kernel without these parts does not contain the file.  A header belongs to the .c file of the same name."""
    name = str(path.with_suffix(".c"))
    if path.parts[:2] == ("kernel", "absent"):
        return path.stem.removeprefix("no_") not in lacking
    patterns = [pattern for part in lacking for pattern in files[part]]
    return any(name.startswith(p[:-1]) if p.endswith("%") else name == p for p in patterns)


def sources() -> dict[Path, int]:
    """Lines of code of each file of the kernel, without the files for host tests."""
    found = [p for folder in ("kernel", "drivers", "boot") for p in (TOP / folder).rglob("*") if p.suffix in (".c", ".h", ".S")]
    return {p.relative_to(TOP): count_lines(p.read_text())[0] for p in sorted(found) if p.name != "stubs.c"}


def seams(objects: Path) -> dict[str, dict[str, set[str]]]:
    """For each object file below `objects`, by its path without .o: its symbols that other files use, and these files."""
    defined, wanted = {}, collections.defaultdict(set)
    for path in objects.rglob("*.o"):
        name = str(path.relative_to(objects).with_suffix(""))
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind in "Uw":
                wanted[symbol].add(name)
            elif kind.isupper():
                defined[symbol] = name
    used = collections.defaultdict(dict)
    for symbol, name in defined.items():
        if others := wanted[symbol] - {name}:
            used[name][symbol] = others
    return used


def report() -> str:
    files, absent = parts((TOP / "kernel/profile.mk").read_text())
    lines = sources()
    kept = {profile: [p for p in lines if not left_out(p, absent[profile], files)] for profile in PROFILES}
    folders = sorted({p.parent for p in lines})
    out = ["| folder | " + " | ".join(PROFILES) + " |", "|---|" + "--:|" * len(PROFILES)]
    for folder in folders:
        counts = [sum(lines[p] for p in kept[profile] if p.parent == folder) for profile in PROFILES]
        out.append(f"| `{folder}/` | " + " | ".join(str(n or "-") for n in counts) + " |")
    out.append("| lines of code | " + " | ".join(str(sum(lines[p] for p in kept[profile])) for profile in PROFILES) + " |")
    out.append("| files | " + " | ".join(str(len(kept[profile])) for profile in PROFILES) + " |")

    used = seams(TOP / "build/core/obj")
    rows = []
    for what, begins in CANDIDATES.items():
        mine = [p for p in kept["core"] if str(p).startswith(tuple(begins))]
        names = {str(p.with_suffix("")) for p in mine}
        symbols = [symbol for name in names for symbol, by in used[name].items() if by - names]
        rows.append((sum(lines[p] for p in mine), what, len(symbols)))
    out += ["", f"The {SHOWN} largest parts of the core that could still become optional:", ""]
    out += ["| part | lines of code | functions and variables that others use |", "|---|--:|--:|"]
    out += [f"| {what} | {size} | {symbols} |" for size, what, symbols in sorted(rows, reverse=True)[:SHOWN]]
    return "\n".join(out)


if __name__ == "__main__":
    print(report())
    sys.exit(0)
