#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tables.py - write ACPI tables for a Sun Fire 6800 with which the lab "topology" can be watched.

KINDS       ring        the distance grows with the number of boards between
            alternating every 64 MiB of memory belong to the next board
            asymmetric  the distance from board 0 to board 1 is not that from board 1 to board 0
            interleaved board 1 claims the memory of board 0, too
USAGE       python3 labs/topology/tables.py KIND build/tables.acpi; make qemu-sf6800 ACPI=build/tables.acpi
SEE ALSO    labs/topology/README.md, tests/test_acpi_boot.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from homeroom import acpi
from homeroom.machine import Machine, load

STEP = 64 << 20  # bytes


def tables(machine: Machine, kind: str) -> bytes:
    """SRAT and SLIT of this kind."""
    n = machine.domains
    memory = acpi.memory_ranges(machine)
    slit = [[10 if i == j else 20 for j in range(n)] for i in range(n)]
    if kind == "ring":
        slit = [[10 + 10 * min((i - j) % n, (j - i) % n) for j in range(n)] for i in range(n)]
    elif kind == "alternating":
        end = max(base + size for _, base, size in memory)
        memory = [(i % n, i * STEP, STEP) for i in range(end // STEP)]
    elif kind == "asymmetric":
        slit[0][1] = 21
    elif kind == "interleaved":
        memory.append((1, *memory[0][1:]))
    entries = [acpi.processor(d, machine.apic_id(cpu)) for d in range(n) for cpu in machine.domain_cpus(d)]
    return acpi.srat(entries + [acpi.memory(*piece) for piece in memory]) + acpi.slit(slit)


def main() -> int:
    kinds = ("ring", "alternating", "asymmetric", "interleaved")
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        print(f"usage: tables.py {'|'.join(kinds)} FILE", file=sys.stderr)
        return 2
    Path(sys.argv[2]).write_bytes(tables(load("sf6800"), sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
