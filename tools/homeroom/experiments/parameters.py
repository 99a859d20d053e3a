# SPDX-License-Identifier: MIT
"""parameters.py - where each of the model's parameters is from: the comment above it in qemu/fireplane.toml.

    # Memory of one Uniboard [WP, Table B-3].
    memory_mbps = 6700

A comment holds for all the parameters that follow it without another between them.
"""

import re

from homeroom import machine
from homeroom.experiments.run import FAMILIES

TOPOLOGY = ("cpus", "memory_mib")  # what only says where CPUs and memory are


def parse(text: str) -> dict[tuple[str, str], str]:
    """(part of the file, parameter) -> source."""
    found: dict[tuple[str, str], str] = {}
    comment: list[str] = []
    part, fresh = "", True
    for line in text.splitlines():
        if line.startswith("#"):
            comment = [line[1:].strip()] if fresh else [*comment, line[1:].strip()]
            fresh = False
        elif match := re.match(r"\[(.+)\]", line):
            part, comment, fresh = match[1], [], True
        elif match := re.match(r"(\w+)\s*=", line):
            fresh = True
            if comment:
                found[part, match[1]] = " ".join(comment)
    return found


def source(key: str, machines: list[str]) -> str:
    """Where a parameter of these machines is from."""
    sources = parse(FAMILIES.read_text())
    families = [(machine.load(name).fireplane or {}).get("family", "") for name in machines]
    return " / ".join(dict.fromkeys(sources[f, key] for f in ["common", *families] if (f, key) in sources))
