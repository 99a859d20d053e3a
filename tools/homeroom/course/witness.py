# SPDX-License-Identifier: MIT
"""witness.py - what a guest does, counted by the plugin qemu/witness/witness.c in a file that the guest cannot reach.

The layout of struct witness is repeated here with ctypes; the plugin refuses a file of another size.
"""

import ctypes
from ctypes import c_uint8, c_uint64
from pathlib import Path

from homeroom import acpi, guest
from homeroom.machine import TOP, Machine

PLUGIN = TOP / "build/witness.so"
CPUS_MAX, PARTS_MAX, GRAINS, NO_PART = 256, 64, 65536, 255
MIB = acpi.MIB


class Counts(ctypes.LittleEndianStructure):
    _fields_ = (
        ("instructions", c_uint64),
        ("elsewhere", c_uint64),
        ("foreign", c_uint64),
        ("text_base", c_uint64),
        ("ncpus", c_uint64),
        ("access", c_uint64 * PARTS_MAX * CPUS_MAX),
        ("part", c_uint8 * GRAINS),
    )


def raw_ranges(machine: Machine) -> list[tuple[int, int, int]]:
    """(domain, base, length) of each range of memory at the address that QEMU gives a plugin, in bytes.

    QEMU 7 adds the offset of a domain's memory among all memory to itself (qemu/fireplane/plugin.c); later ones give the
    guest-physical address.
    """
    if not guest.qemu_version().startswith("7."):
        return acpi.memory_ranges(machine)
    sizes = [machine.domain_memory_mib(domain) * MIB for domain in range(machine.domains)]
    return [(domain, 2 * sum(sizes[:domain]), size) for domain, size in enumerate(sizes)]


class Witness:
    """The files of one run, and its counters."""

    def __init__(self, folder: Path, machine: Machine, text_base: int, text: bytes) -> None:
        self._counts, self._text = folder / "counts", folder / "text"
        counts = Counts(ncpus=machine.cpus, text_base=text_base)
        counts.part[:] = [NO_PART] * GRAINS
        for domain, base, length in raw_ranges(machine):
            for grain in range(base // MIB, (base + length) // MIB):
                counts.part[grain] = domain
        self._counts.write_bytes(bytes(counts))
        self._text.write_bytes(text)

    def qemu_args(self) -> list[str]:
        return ["-plugin", f"{guest.quoted(PLUGIN)},counts={guest.quoted(self._counts)},text={guest.quoted(self._text)}"]

    def read(self) -> Counts:
        return Counts.from_buffer_copy(self._counts.read_bytes())
