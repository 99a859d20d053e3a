# SPDX-License-Identifier: MIT
"""layout.py - what does not change while a machine runs: its boards, how they are joined, and the rates of its links.

The boards come from the arguments of QEMU, as do the guest's lgroups, so a machine that was changed by BOARDS= or MEM= is
drawn as it is, and a MaxCPU board is a part of the board in whose domain it is: its CPUs have the last numbers.

SEE ALSO    page/picture.js (draws it), qemu/machines, qemu/fireplane.toml
"""

import re
from collections import defaultdict
from pathlib import Path

from homeroom import heat, machine, model
from homeroom.live.memory import Process

VERSION = 2  # of layout and frames, in recordings


def _nodes(process: Process) -> list[tuple[list[int], int]]:
    """For each node of QEMU's arguments its CPUs and the MiB."""
    memory: dict[int, int] = defaultdict(int)
    cpus: dict[int, list[int]] = defaultdict(list)
    count, *shape = process.values("-smp")[0].split(",")
    socket = dict(part.split("=", 1) for part in shape)
    each = int(socket["cores"]) * int(socket["threads"])  # CPUs of a socket
    sizes = dict(re.findall(r"id=(board\d+),size=(\d+)M", " ".join(process.values("-object"))))
    for value in process.values("-numa"):
        fields = dict(part.split("=", 1) for part in value.split(",") if "=" in part)
        if value.startswith("node,"):
            memory[int(fields["nodeid"])] = int(sizes.get(fields.get("memdev", ""), 0))
        elif value.startswith("cpu,"):
            first = int(fields["socket-id"]) * each
            cpus[int(fields["node-id"])] += range(first, first + each)
    if not memory:
        return [(list(range(int(count))), int(process.values("-m")[0].rstrip("M")))]
    # The kernel gives domains without memory the last numbers (kernel/lgrp/topo.c).
    return [(sorted(cpus[i]), memory[i]) for i in sorted(memory, key=lambda i: (not memory[i], i))]


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
    boards = [{"cpus": cpus, "mib": mib} for cpus, mib in _nodes(process)]
    about = {"version": VERSION, "name": process.name, "heat": heat.every(process)}
    return {**about, "boards": boards, "link_mbps": _link_mbps(process), **_about(process.name)}
