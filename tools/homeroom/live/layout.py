# SPDX-License-Identifier: MIT
"""layout.py - what does not change while a machine runs: its boards, how they are joined, and the rates of its links.

The boards come from the arguments of QEMU and from the machine's file, so a machine that was changed by BOARDS= or MEM= is
drawn as it is.

SEE ALSO    page/picture.js (draws it), qemu/machines, qemu/fireplane.toml
"""

import re
from collections import defaultdict
from pathlib import Path

from homeroom import heat, machine, model
from homeroom.live.memory import Process

VERSION = 2  # of layout and frames, in recordings


def _nodes(process: Process) -> list[tuple[int, int]]:
    """For each node of QEMU's arguments the number of CPUs and the MiB."""
    memory: dict[int, int] = defaultdict(int)
    sockets: dict[int, int] = defaultdict(int)
    sizes = dict(re.findall(r"id=(board\d+),size=(\d+)M", " ".join(process.values("-object"))))
    for value in process.values("-numa"):
        fields = dict(part.split("=", 1) for part in value.split(",") if "=" in part)
        if value.startswith("node,"):
            memory[int(fields["nodeid"])] = int(sizes.get(fields.get("memdev", ""), 0))
        elif value.startswith("cpu,"):
            sockets[int(fields["node-id"])] += 1
    shape = dict(part.split("=", 1) for part in process.values("-smp")[0].split(",")[1:])
    each = int(shape["cores"]) * int(shape["threads"])
    cpus = int(process.values("-smp")[0].split(",")[0])
    if not memory:
        return [(cpus, int(process.values("-m")[0].rstrip("M")))]
    return [(sockets[i] * each, memory[i]) for i in sorted(memory)]


def _about(name: str) -> dict:
    """The title of a machine, and whether its boards are joined by a crossbar only; from its file, if it is one of ours."""
    try:
        chosen = machine.load(name)
    except machine.MachineError:
        return {"title": name, "crossbar": False}
    return {"title": chosen.title, "crossbar": (chosen.fireplane or {}).get("family") == "high-end"}


def _link_mbps(process: Process) -> float:
    """The rate of a board's link in the model, MB/s, from the parameter file of this run; 0 without the model."""
    try:
        return model.link_mbps(Path(process.model()["config"]).read_text())
    except (KeyError, OSError, ValueError):
        return 0


def of(process: Process) -> dict:
    """The layout of a machine, as the page wants it."""
    boards, first = [], 0
    for cpus, mib in _nodes(process):
        boards.append({"cpus": list(range(first, first + cpus)), "mib": mib})
        first += cpus
    about = {"version": VERSION, "name": process.name, "heat": heat.every(process)}
    return {**about, "boards": boards, "link_mbps": _link_mbps(process), **_about(process.name)}
