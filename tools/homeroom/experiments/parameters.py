# SPDX-License-Identifier: MIT
"""parameters.py - find the source of each of the model's parameters: the comment above it in qemu/fireplane.toml.

    # Memory of one Uniboard [WP, Table B-3].
    memory_mbps = 6700

A comment is that of all parameters between it and the next comment.
"""

import re

from homeroom import machine
from homeroom.experiments.run import FAMILIES

TOPOLOGY = ("cpus", "memory_mib")  # parameters that only describe the boards; they have no source


def parse(text: str) -> dict[tuple[str, str], str]:
    """(table of the file, parameter) -> comment."""
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
    """The source of a parameter on these machines; if families differ in it, the sources of all."""
    sources = parse(FAMILIES.read_text())
    families = [(machine.load(name).fireplane or {}).get("family", "") for name in machines]
    return " / ".join(dict.fromkeys(sources[f, key] for f in ["common", *families] if (f, key) in sources))
