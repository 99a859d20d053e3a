# SPDX-License-Identifier: MIT
"""layout.py - what does not change while a machine runs: its boards, how they are joined, and the rates of its links.

The boards come from the arguments of QEMU and from the machine's file, so a machine that was changed by BOARDS= or MEM= is
drawn as it is.

SEE ALSO    page/live.js (draws it), qemu/machines, qemu/fireplane.toml
"""

import re
from collections import defaultdict

from homeroom import heat, machine, model
from homeroom.live.memory import Process

VERSION = 1  # of layout and frames, in recordings


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


def _family(name: str) -> dict:
    """The rates of the links, MB/s, and whether there is a crossbar; from the machine's file, if it is one of ours."""
    try:
        chosen = machine.load(name)
        values = dict(line.split(" = ") for line in model.parameters(chosen).splitlines())
    except (machine.MachineError, OSError, ValueError):
        return {"title": name, "crossbar": False, "port": 0}
    crossbar = chosen.fireplane["family"] == "high-end"
    return {"title": chosen.title, "crossbar": crossbar, "port": int(values["port_mbps"])}


def of(process: Process) -> dict:
    """The layout of a machine, as the page wants it."""
    boards, first = [], 0
    for cpus, mib in _nodes(process):
        boards.append({"cpus": list(range(first, first + cpus)), "mib": mib})
        first += cpus
    about = {"version": VERSION, "name": process.name, "heat": heat.every(process)}
    return {**about, "boards": boards, **_family(process.name)}
