# SPDX-License-Identifier: MIT
"""frames.py - what the memory of each board is used for, from the descriptors of its frames.

THEORY      The kernel counts free frames, but not what the others are used for.  Each frame has a descriptor of 64 bytes.  A
            machine has too many to look at all ten times a second, so each call looks at one chunk: the descriptors that lie
            in 2 MiB, which describe 128 MiB.  The references of a free frame are 0, so a search of the bytes finds the frames
            in use.  If there are more than MOST, only every second, third ... of them is looked at.
            A private page belongs to the processes that descend from one exec.  Threads of these processes have homes.  A page
            on a board where one of them is at home is `home`; another page is `away`.
SEE ALSO    kernel.py, kernel/mem/page.h, kernel/pages/owner.h
"""

import re
from collections import Counter
from itertools import islice

from homeroom.live.kernel import Kernel
from homeroom.live.memory import LiveError

VMEMMAP_BASE = 0xFFFFEA0000000000
DESCRIPTOR, PAGE = 64, 4096
CHUNK = 2 << 20  # bytes of descriptors
DESCRIBED = CHUNK // DESCRIPTOR * PAGE  # bytes that a chunk describes
MOST = 512
PG_DISK, PG_ANON, PG_UPTODATE, PG_PRIVATE = 1 << 3, 1 << 6, 1 << 10, 1 << 17
KINDS = ("home", "away", "shared", "file", "kernel")
USED = re.compile(rb"[^\0]")


class Frames:
    """The use of the frames of all boards."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._turn = kernel, 0
        self._chunks = [  # for each chunk or part of one its node, its number, and its first and last descriptor in it
            (node, at // DESCRIBED, at % DESCRIBED // PAGE, (min(end, at - at % DESCRIBED + DESCRIBED) - 1) % DESCRIBED // PAGE)
            for node, pieces in enumerate(kernel.memory.boards)
            for start, size in pieces
            for end in (start + size,)
            for at in (start, *range(start - start % DESCRIBED + DESCRIBED, end, DESCRIBED))
        ]
        self._found: list[Counter] = [Counter() for _ in self._chunks]
        self._pages = [[0] * len(KINDS) for _ in kernel.memory.boards]
        self._refs = kernel.field("page", "refs")

    def _kind(self, flags: int, owner: int, node: int, homes: dict[int, int]) -> str:
        if flags & PG_ANON:
            if not flags & PG_PRIVATE:
                return "shared"
            return "home" if homes.get(owner, 0) >> node & 1 else "away"
        return "file" if flags & (PG_DISK | PG_UPTODATE) else "kernel"

    def next(self, homes: dict[int, int]) -> None:
        """Look at the next chunk.  `homes`: the homes of the threads of each family of processes, as a set of lgroups."""
        turn = self._turn % len(self._chunks)
        self._turn += 1
        node, number, first, last = self._chunks[turn]
        top = self._kernel.number("kernel_pml4")
        try:
            at = self._kernel.memory.translate(top, VMEMMAP_BASE + number * CHUNK) + first * DESCRIPTOR
            refs = self._kernel.memory.bytes_apart(at + self._refs, DESCRIPTOR, last - first + 1)
        except LiveError:  # not mapped: no frame is there
            return
        step = 1 + (len(refs) - refs.count(0)) // MOST
        places = (at + match.start() * DESCRIPTOR for match in islice(USED.finditer(refs), 0, None, step))
        found = self._found[turn]
        found.clear()
        for flags, order, owner in map(self._kernel.page, places):
            found[self._kind(flags, owner, node, homes)] += step << order
        total = sum((found for (of, *_), found in zip(self._chunks, self._found, strict=True) if of == node), Counter())
        self._pages[node] = [total[kind] for kind in KINDS]

    def pages(self, node: int) -> list[int]:
        """The frames of a node by KINDS."""
        return self._pages[node]
