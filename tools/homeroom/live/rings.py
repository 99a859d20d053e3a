# SPDX-License-Identifier: MIT
"""rings.py - events of the kernel's trace, while it is on, from the rings of the CPUs.

THEORY      Two readings show where a thread was at two moments, but not what happened between them.  If the machine runs with
            TRACE=, each CPU writes its events into a ring (kernel/stat/trace.h).  A Rings remembers how much of each ring it
            has read, and takes what was written since.  `make live` needs few of the types, so a search of the types' bytes
            finds their records, and only these are decoded.
SEE ALSO    kernel.py, state.py, include/uapi/trace.h
"""

import re
from collections.abc import Iterator

from homeroom.live.kernel import Cpu, Kernel
from homeroom.live.memory import LiveError
from homeroom.trace import NAMES, RECORD, Event

TYPE_AT = 8  # offset of the type in a record
SLOTS_MAX = 131072  # trace_entries


class Rings:
    """Reads the events with some names."""

    def __init__(self, kernel: Kernel, *names: str) -> None:
        self._kernel = kernel
        types = [number for number, name in NAMES.items() if name in names]
        self._bits = sum(1 << number for number in types)
        self._wanted = re.compile(b"[" + re.escape(bytes(types)) + b"]")
        self._read: dict[int, int] = {}  # by address of a ring the number of its records that were read

    def are_written(self) -> bool:
        """Whether the trace is on and records the events."""
        return self._kernel.number("trace_enable") & self._bits == self._bits

    def _records(self, address: int) -> bytes:
        """What was written to a ring since the last call; nothing at the first one."""
        head, mask, slots = self._kernel.ring(address)
        first = max(self._read.get(address, head), head - mask)  # older ones were replaced
        self._read[address] = head
        if mask >= SLOTS_MAX:  # the ring was freed meanwhile
            return b""
        data = b""
        while first < head:
            at = first & mask
            count = min(head - first, mask + 1 - at)
            data += self._kernel.read(slots + at * RECORD.size, count * RECORD.size)
            first += count
        return data

    def events(self, cpus: list[Cpu]) -> Iterator[Event]:
        """The events since the last call, by CPU."""
        for address in (cpu.trace for cpu in cpus if cpu.trace):
            try:
                data = self._records(address)
            except LiveError:  # the ring was freed meanwhile
                continue
            for match in self._wanted.finditer(data[TYPE_AT :: RECORD.size]):
                time, kind, *rest = RECORD.unpack_from(data, match.start() * RECORD.size)
                yield Event(time, NAMES[kind], *rest)
