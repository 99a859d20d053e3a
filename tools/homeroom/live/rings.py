# SPDX-License-Identifier: MIT
"""rings.py - events of the kernel's trace, while it is on, from the rings of the CPUs.

THEORY      Two readings show where a thread was at two moments, but not what happened between them.  If the machine runs with
            TRACE=, each CPU writes its events into a ring (kernel/stat/trace.h).  A Rings remembers how much of each ring it
            has read, and takes what was written since.  `make live` needs few of the types, so a search of the types' bytes
            finds their records, and only these are decoded.
            The first call only notes how much the rings have.  A ring that appears later is read from its beginning.
            Turning the trace off keeps the rings, so the last events are read too.  If a CPU writes more than its ring can
            hold between two calls, the older records are lost, and counted.
SEE ALSO    kernel.py, state.py, include/uapi/trace.h
"""

import re
from collections.abc import Iterable

from homeroom.live.kernel import Cpu, Kernel
from homeroom.live.memory import LiveError
from homeroom.trace import NAMES, RECORD, Event

TYPE_AT = 8  # offset of the type in a record
SLOTS_MAX = 131072  # trace_entries


class Rings:
    """Reads the events with some names."""

    def __init__(self, kernel: Kernel, *names: str) -> None:
        self._kernel = kernel
        self._wanted = re.compile(b"[" + re.escape(bytes(number for number, name in NAMES.items() if name in names)) + b"]")
        self._read: dict[int, int] | None = None  # by address of a ring the number of its records that were read
        self.lost = 0  # records that the last call has not got

    def _records(self, address: int, first: int) -> tuple[int, bytes]:
        """How many records were written to a ring, and those from number `first` on that it still has."""
        head, mask, slots = self._kernel.ring(address)
        if mask >= SLOTS_MAX:
            raise LiveError("the ring was freed meanwhile")
        if first > head:  # another ring at the address of an old one
            first = 0
        at, data = max(first, head - mask), b""  # older ones were replaced
        begin = at
        while at < head:
            count = min(head - at, mask + 1 - (at & mask))
            data += self._kernel.read(slots + (at & mask) * RECORD.size, count * RECORD.size)
            at += count
        # The CPU may have replaced the first ones while we read.
        gone = min(max(0, self._kernel.ring(address)[0] - mask - begin), head - begin) if data else 0
        self.lost += begin - first + gone
        return head, data[gone * RECORD.size :]

    def events(self, cpus: Iterable[Cpu]) -> list[Event]:
        """The events since the last call, in the order of time; none in the first call."""
        old, self._read, self.lost = self._read, {}, 0
        found = []
        for address in (cpu.trace for cpu in cpus if cpu.trace):
            try:
                if old is None:
                    self._read[address] = self._kernel.ring(address)[0]
                    continue
                self._read[address], data = self._records(address, old.get(address, 0))
            except LiveError:  # the ring was freed meanwhile
                continue
            for match in self._wanted.finditer(data[TYPE_AT :: RECORD.size]):
                time, kind, *rest = RECORD.unpack_from(data, match.start() * RECORD.size)
                found.append(Event(time, NAMES[kind], *rest))
        return sorted(found, key=lambda event: event.time)
