# SPDX-License-Identifier: MIT
"""acpi.py - make ACPI tables that replace those of the firmware (the fw_cfg file opt/homeroom/acpi).

The firmware describes the machine to the kernel in ACPI tables: the SRAT gives the proximity domain of each CPU and each
range of memory, the SLIT the distances between domains.  QEMU numbers the domains 0, 1, 2, ...  Machines with other
numbers need tables of ours, and so do the tests with wrong or missing tables.
The file contains complete tables, one after the other; removed() makes a short record that removes a table.
"""

import struct

from homeroom.machine import Machine

MIB = 1 << 20
LOW_LIMIT = 0xE0000000  # pc-i440fx: a machine with this much memory or more ...
LOW_SPLIT = 0xC0000000  # ... has all memory beyond the first 3 GiB at HIGH_BASE
HIGH_BASE = 1 << 32


def table(signature: bytes, body: bytes, revision: int = 1) -> bytes:
    """A table with the standard header and its checksum."""
    head = struct.pack(
        "<4sIBB6s8sI4sI", signature, 36 + len(body), revision, 0, b"HRTEST", b"HOMEROOM", 1, b"HRM ", 1
    )
    whole = bytearray(head + body)
    whole[9] = -sum(whole) & 0xFF
    return bytes(whole)


def removed(signature: bytes) -> bytes:
    """The record that removes the firmware's table with this signature."""
    return struct.pack("<4sI", signature, 8)


def processor(domain: int, apic_id: int, flags: int = 1) -> bytes:
    """SRAT entry of type 0: a CPU by its xAPIC id."""
    return struct.pack(
        "<BBBBIB3sI", 0, 16, domain & 0xFF, apic_id, flags, 0, (domain >> 8).to_bytes(3, "little"), 0
    )


def memory(domain: int, base: int, length: int, flags: int = 1) -> bytes:
    """SRAT entry of type 1: a range of memory, in bytes."""
    return struct.pack("<BBIHQQIIQ", 1, 40, domain, 0, base, length, 0, flags, 0)


def srat(entries: list[bytes]) -> bytes:
    return table(b"SRAT", struct.pack("<IQ", 1, 0) + b"".join(entries), revision=3)


def slit(matrix: list[list[int]]) -> bytes:
    body = struct.pack("<Q", len(matrix)) + b"".join(bytes(row) for row in matrix)
    return table(b"SLIT", body)


def memory_ranges(machine: Machine) -> list[tuple[int, int, int]]:
    """(domain, base, length in bytes) of each range of memory, at the addresses where QEMU's pc-i440fx has it."""
    total = machine.memory_mib * MIB
    low = total if total < LOW_LIMIT else LOW_SPLIT
    out, at = [], 0
    for domain in range(machine.domains):
        end = at + machine.domain_memory_mib(domain) * MIB
        if at < min(end, low):
            out.append((domain, at, min(end, low) - at))
        if end > max(at, low):
            start = max(at, low)
            out.append((domain, start - low + HIGH_BASE, end - start))
        at = end
    return out


def tables(machine: Machine, numbers: list[int]) -> bytes:
    """SRAT and SLIT of a machine, with numbers[i] as the number of domain i."""
    entries = [processor(numbers[d], machine.apic_id(c)) for d in range(machine.domains) for c in machine.domain_cpus(d)]
    entries += [memory(numbers[d], base, length) for d, base, length in memory_ranges(machine)]
    if machine.slit is None:
        return srat(entries) + removed(b"SLIT")
    size = max(numbers) + 1
    matrix = [[10 if i == j else 254 for j in range(size)] for i in range(size)]
    for i, row in enumerate(machine.slit):
        for j, distance in enumerate(row):
            matrix[numbers[i]][numbers[j]] = distance
    return srat(entries) + slit(matrix)
