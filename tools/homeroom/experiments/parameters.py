# SPDX-License-Identifier: MIT
"""parameters.py - where each of the model's parameters is from: the comment above it in qemu/fireplane.toml.

    # Memory of one Uniboard [WP, Table B-3].
    memory_mbps = 6700

A comment holds for all the parameters that follow it without another between them.
"""

import functools
import re

from homeroom.experiments.run import FAMILIES

TOPOLOGY = ("cpus", "memory_mib")  # what only says where CPUs and memory are


def parse(text: str) -> dict[str, list[str]]:
    """Parameter -> its sources, one for each part of the file that gives another."""
    found: dict[str, list[str]] = {}
    comment: list[str] = []
    fresh = True
    for line in text.splitlines():
        if line.startswith("#"):
            comment = [line[1:].strip()] if fresh else [*comment, line[1:].strip()]
            fresh = False
        elif line.startswith("["):
            comment, fresh = [], True
        elif match := re.match(r"(\w+)\s*=", line):
            fresh = True
            said = " ".join(comment)
            if said and said not in found.setdefault(match[1], []):
                found[match[1]].append(said)
    return found


@functools.cache
def _sources() -> dict[str, list[str]]:
    return parse(FAMILIES.read_text()) if FAMILIES.exists() else {}


def source(key: str) -> str:
    return " / ".join(_sources().get(key, []))
