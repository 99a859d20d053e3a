# SPDX-License-Identifier: MIT
"""test_acpi_boot.py - boots with bad, odd and missing ACPI tables: each row of "Bad tables" in docs/lgroups.md.

The kernel learns from the firmware's tables which CPUs and which memory form a board.  Here other tables replace them
(opt/homeroom/acpi).  Each boot must succeed, print the line that the page promises, show the lgroups and distances that it
promises, and run a parallel program.
"""

import re
from dataclasses import dataclass, field

import pytest

from homeroom import acpi
from homeroom.machine import load

GIB = 1 << 30
COMMAND = "lgrpinfo -I; lgrpinfo -L; memcopy -t {cpus} -i 1; echo memcopy ended with $?"
MEMORY_LESS = "no memory on board 1"
SYNTHETIC = "synthetic latencies: local 10, remote 20"


@dataclass
class Tables:
    """The tables of a machine as lists of entries, so that a test can change them."""

    cpus: list  # (domain, APIC id)
    memory: list  # (domain, base, bytes)
    slit: list | None
    extra: list = field(default_factory=list)  # complete SRAT entries

    def blob(self):
        entries = [acpi.processor(*cpu) for cpu in self.cpus]
        entries += [acpi.memory(*m) for m in self.memory] + self.extra
        return acpi.srat(entries) + (acpi.slit(self.slit) if self.slit else acpi.removed(b"SLIT"))


def good(machine):
    n = machine.domains
    return Tables(
        cpus=[(d, machine.apic_id(cpu)) for d in range(n) for cpu in machine.domain_cpus(d)],
        memory=acpi.memory_ranges(machine),
        slit=[[10 if i == j else 30 for j in range(n)] for i in range(n)],
    )


def spoil(change):
    """A function that makes the tables of a machine after change(tables)."""

    def make(machine):
        tables = good(machine)
        change(tables)
        return tables.blob()

    return make


def put(row, column, *values):
    """A change of SLIT entries: values[0] at (row, column), and values[1] at (column, row)."""

    def change(tables):
        tables.slit[row][column] = values[0]
        if len(values) > 1:
            tables.slit[column][row] = values[1]

    return change


def two_on_one(tables):
    tables.cpus.append((1, tables.cpus[0][1]))


def interleave(tables):
    tables.memory = [(d, 0, 8 * GIB) for d, _, _ in tables.memory]


def alternate(tables):
    """A change: every 8 MiB belong to the next board, so a board's memory has gaps, but no two domains overlap."""
    boards = len(tables.memory)
    end = max(base + size for _, base, size in tables.memory)
    step = 8 << 20
    tables.memory = [(i % boards, i * step, step) for i in range(end // step)]


def elsewhere(tables):
    tables.memory = [(d, base + 64 * GIB, size) for d, base, size in tables.memory]


def hot_plug_room(tables):
    tables.extra += [acpi.memory(7, 64 * GIB, GIB, flags=3), acpi.processor(9, 200)]


def part_of_memory(tables):
    tables.memory = [(d, base + (size >> 1), size >> 1) for d, base, size in tables.memory]


def many_domains(tables):
    tables.extra += [acpi.processor(100 + i, 100 + i) for i in range(70)]


def renumber(numbers):
    """A change: domain i gets the number numbers[i]; the SLIT is removed, because it has no room for large numbers."""

    def change(tables):
        tables.cpus = [(numbers[d], cpu) for d, cpu in tables.cpus]
        tables.memory = [(numbers[d], base, size) for d, base, size in tables.memory]
        tables.slit = None

    return change


def all_cpus_on_board_0(tables):
    tables.cpus = [(0, cpu) for _, cpu in tables.cpus]


def all_memory_on_board_0(tables):
    tables.memory = [(0, base, size) for _, base, size in tables.memory]


def cut(signature, length):
    """A function that makes a table with this length in its header, and zeros as contents."""
    return lambda machine: acpi.table(signature, bytes(length - 36))


def slit_of(matrix):
    return spoil(lambda tables: setattr(tables, "slit", matrix))


ROWS = [
    # name, machine, tables, lgroups, remote distance or None, line or None
    ("good", "sf3800", spoil(lambda tables: None), 2, 30, None),
    ("no SRAT", "sf3800", lambda m: acpi.removed(b"SRAT"), 1, None, "no SRAT, one lgroup"),
    ("SRAT short", "sf3800", cut(b"SRAT", 40), 1, None, "SRAT is too short"),
    ("APIC id twice", "sf3800", spoil(two_on_one), 1, None, "SRAT rejected: the same APIC id is in two domains"),
    ("CPU not named", "sf3800", spoil(lambda t: t.cpus.pop()), 1, None,
     "SRAT rejected: fewer CPU entries than CPUs"),
    ("too many domains", "sf3800", spoil(many_domains), 1, None,
     "SRAT rejected: more domains than supported"),
    ("interleaved", "sf3800", spoil(interleave), 1, None, "MPO disabled because memory is interleaved"),
    ("alternating", "sf3800", spoil(alternate), 2, 30, None),
    ("memory elsewhere", "sf3800", spoil(elsewhere), 1, None, "SRAT rejected: it names no installed memory"),
    ("one domain", "sf3800", spoil(lambda t: (all_cpus_on_board_0(t), all_memory_on_board_0(t))), 1, None, None),
    ("hot plug", "sf3800", spoil(hot_plug_room), 2, 30, None),
    ("memory unnamed", "sf3800", spoil(part_of_memory), 2, 30, None),
    ("sparse domains", "sf3800", spoil(renumber([70000, 300])), 2, 20, None),
    ("no CPU on board 1", "sf3800", spoil(all_cpus_on_board_0), 2, None, None),
    (MEMORY_LESS, "sf3800", spoil(all_memory_on_board_0), 2, None, None),
    ("no SLIT", "sf3800", lambda m: acpi.removed(b"SLIT"), 2, 20, None),
    ("no SLIT, many boards", "sf4800+1", lambda m: acpi.removed(b"SLIT"), 4, 20, SYNTHETIC),
    ("SLIT short", "sf3800", cut(b"SLIT", 40), 2, 20, "SLIT is too short"),
    ("SLIT cut", "sf3800", lambda m: acpi.table(b"SLIT", (2).to_bytes(8, "little") + b"\x0a"), 2, 20,
     "SLIT is shorter than its matrix"),
    ("SLIT asymmetric", "sf3800", spoil(put(0, 1, 31)), 2, 20, "SLIT rejected: not symmetric"),
    ("SLIT diagonal", "sf3800", spoil(put(1, 1, 11)), 2, 20, "SLIT rejected: local distances differ"),
    ("SLIT remote near", "sf3800", spoil(put(0, 1, 9, 9)), 2, 20,
     "SLIT rejected: remote is not farther than local"),
    ("SLIT small", "sf3800", slit_of([[10]]), 2, 20, "SLIT rejected: it leaves out a domain of the SRAT"),
    ("SLIT zeros", "sf3800", slit_of([[0, 0], [0, 0]]), 2, 20, "SLIT rejected: it is all zeros"),
    ("SLIT a zero", "sf3800", spoil(put(0, 1, 0, 25)), 2, 25, None),
    ("SLIT uniform", "sf3800", slit_of([[10, 10], [10, 10]]), 1, None, None),
]  # fmt: skip


def lgroup_ids(text):
    """The output of `lgrpinfo -I` as a list."""
    line = next(ln for ln in text.splitlines() if re.fullmatch(r"[0-9]+( [0-9]+)*", ln.strip()))
    return [int(word) for word in line.split()]


def distances(text, n):
    """The matrix that `lgrpinfo -L` prints: n rows, without the lgroup's id."""
    rows = [re.findall(r"\d+", ln) for ln in text.splitlines() if re.match(r"\s*\d+\s*\|", ln)]
    table = [[int(v) for v in row[1:]] for row in rows]
    return [row[-n:] for row in table[-n:]]


@pytest.mark.parametrize("name, kind, tables, lgroups, remote, line", ROWS, ids=[row[0] for row in ROWS])
def test_row(boot_once, name, kind, tables, lgroups, remote, line):
    """The kernel prints the row's line, has the row's lgroups and distances, and runs a program."""
    kind, boards = ("sf6800", 4) if "+" in kind else (kind, None)
    machine = load(kind, boards, "128M")
    outcome, text, _ = boot_once(
        kind, boards=boards, memory="128M", acpi=tables(machine), run=COMMAND.format(cpus=machine.cpus)
    )
    assert outcome.status == 0, text[-3000:]
    # memcopy fails unless each page is at home; on a board without memory this is impossible
    ending = 1 if name == MEMORY_LESS else 0
    assert f"memcopy ended with {ending}" in text
    assert name != MEMORY_LESS or re.search(r"^lgroup 0: 4096 pages\s*$", text, re.M)
    notes = [ln for ln in text.splitlines() if ln.startswith("lgrp: ")]
    if line is None:
        assert not notes
    else:
        assert any(line in note for note in notes), notes
    assert lgroup_ids(text) == list(range(lgroups))
    if remote is not None:
        want = [[10 if i == j else remote for j in range(lgroups)] for i in range(lgroups)]
        assert distances(text, lgroups) == want
