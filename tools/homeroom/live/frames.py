# SPDX-License-Identifier: MIT
"""frames.py - what the memory of each board is used for, from the descriptors of its frames.

THEORY      The kernel counts free frames, but not what the others are used for.  Each frame has a descriptor of 64 bytes.  A
            machine has too many to look at all ten times a second, so a call looks at one chunk: the descriptors that lie
            in 2 MiB, which describe 128 MiB.  The references of a free frame are 0, so a search of the bytes finds the frames
            in use, and their orders: the descriptor of a block of 2^order frames is that of its first frame.  If a chunk has
            more than MOST single frames in use, one descriptor of each two, three ... is looked at, and those in use stand for
            them all.  Which one it is, is drawn at random, because memory often has a pattern.  Larger blocks are not chosen
            among them, because a 2 MiB page is as much as 512 other pages: of more than MOST blocks of one order, every second,
            third ... block stands for them all.
            The first call looks at all chunks.  Then every second call looks at the next one in turn.  Each other call looks
            at one whose board has got or lost CHANGED frames since, if there is one: so the bar follows a board that fills
            or empties at once.
            A private page belongs to the processes that descend from one exec.  Threads of these processes have homes.  A page
            on a board where one of them is at home is `home`; another page is `away`.
            `kernel` is what is left of the frames in use, which the kernel counts: frames that it has allocated, and those
            that were never given to its allocator (its image, the descriptors themselves, tables of the firmware).  A
            frame is also counted there if it was allocated since its chunk was looked at.
INVARIANTS  I1  the sum of KINDS is the number of frames in use, by the counters of the same reading
SEE ALSO    kernel.py, kernel/mem/page.h, kernel/pages/owner.h
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import zip_longest

from homeroom.live.kernel import Kernel, Thread
from homeroom.live.memory import LiveError

VMEMMAP_BASE = 0xFFFFEA0000000000
DESCRIPTOR, PAGE = 64, 4096
CHUNK = 2 << 20  # bytes of descriptors
DESCRIBED = CHUNK // DESCRIPTOR * PAGE  # bytes that a chunk describes
MOST = 256
CHANGED = 64  # frames
PG_DISK, PG_ANON, PG_UPTODATE, PG_PRIVATE = 1 << 3, 1 << 6, 1 << 10, 1 << 17
KINDS = ("home", "away", "shared", "file", "kernel")


class Frames:
    """The use of the frames of all boards."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._calls = kernel, 0
        self._chunks = [  # for each chunk or part of one its node, its number, and its first and last descriptor in it
            (node, at // DESCRIBED, at % DESCRIBED // PAGE, (min(end, at - at % DESCRIBED + DESCRIBED) - 1) % DESCRIBED // PAGE)
            for node, pieces in enumerate(kernel.memory.boards)
            for start, size in pieces
            for end in (start + size,)
            for at in (start, *range(start - start % DESCRIBED + DESCRIBED, end, DESCRIBED))
        ]
        self._found: list[Counter] = [Counter() for _ in self._chunks]
        self._used = [0] * len(self._chunks)  # frames in use on the board of a chunk when it was looked at
        self._known = [[0] * (len(KINDS) - 1) for _ in kernel.memory.boards]
        self._refs, self._order = kernel.field("page", "refs"), kernel.field("page", "order")

    def _kind(self, flags: int, owner: int, node: int, homes: dict[int, int]) -> str:
        if flags & PG_ANON:
            if not flags & PG_PRIVATE:
                return "shared"
            return "home" if homes.get(owner, 0) >> node & 1 else "away"
        return "file" if flags & (PG_DISK | PG_UPTODATE) else "kernel"

    def _due(self, used: list[int]) -> Iterable[int]:
        """The chunks to look at in this call."""
        turn, odd = divmod(self._calls, 2)
        self._calls += 1
        if self._calls == 1:
            return range(len(self._chunks))
        if not odd:
            return (turn % len(self._chunks),)
        changed = [abs(used[node] - then) for (node, *_), then in zip(self._chunks, self._used, strict=True)]
        most = max(changed)
        return (changed.index(most),) if most >= CHANGED else ()

    def _look(self, chunk: int, homes: dict[int, int]) -> None:
        """Find what the frames are used for that a chunk describes."""
        node, number, first, last = self._chunks[chunk]
        top = self._kernel.number("kernel_pml4")
        size = (last - first + 1) * DESCRIPTOR
        try:
            at = self._kernel.memory.translate(top, VMEMMAP_BASE + number * CHUNK) + first * DESCRIPTOR
            memory, at = self._kernel.memory.place(at, size)
        except LiveError:  # not mapped: no frame is there
            return
        refs, more, orders = (
            memory[at + offset : at + size : DESCRIPTOR] for offset in (self._refs, self._refs + 1, self._order)
        )
        # The lower two bytes of a number.  More references than that are impossible.
        refs = (int.from_bytes(refs, "little") | int.from_bytes(more, "little")).to_bytes(len(refs), "little")
        found = self._found[chunk]
        found.clear()
        for order, blocks, seen in _by_order(refs, orders):
            same = Counter([self._kernel.page.unpack_from(memory, at + block * DESCRIPTOR) for block in seen])
            kinds: Counter = Counter()
            for (flags, owner), n in same.items():
                kinds[self._kind(flags, owner, node, homes)] += n
            for kind, n in kinds.items():
                found[kind] += (n * blocks << order) // len(seen)
        total = sum((found for (of, *_), found in zip(self._chunks, self._found, strict=True) if of == node), Counter())
        self._known[node] = [total[kind] for kind in KINDS[:-1]]

    def look(self, threads: list[Thread], used: list[int]) -> list[list[int]]:
        """The frames of each node by KINDS, after a look at the chunks that are due.

        @used  for each node the frames in use; the last nodes may have no memory
        """
        due = self._due(used)
        homes = self._kernel.families(threads) if due else {}
        for chunk in due:
            self._look(chunk, homes)
            self._used[chunk] = used[self._chunks[chunk][0]]
        return [by_kind(*both) for both in zip_longest(self._known, used, fillvalue=[0] * (len(KINDS) - 1))]


def _places(data: bytes) -> Iterator[tuple[int, int]]:
    """The bytes that are not 0, few, with their places.  memchr() finds them sooner than an expression of `re`."""
    for byte in set(data.translate(None, b"\0")):
        place = data.find(byte)
        while place >= 0:
            yield place, byte
            place = data.find(byte, place + 1)


@cache
def _one_of_each(step: int, number: int) -> list[int]:
    """One of the first `step` numbers, one of the next ones and so on, below `number`; always the same."""
    draw = random.Random(step).randrange
    return [place for first in range(0, number, step) if (place := first + draw(step)) < number]


def _by_order(refs: bytes, orders: bytes) -> Iterator[tuple[int, int, list[int]]]:
    """For each order the number of the blocks in use, and the places of those to look at."""
    large: dict[int, list[int]] = defaultdict(list)
    single = bytearray(refs)
    for place, order in _places(orders):
        if refs[place]:
            large[order].append(place)
            single[place] = 0
    for order, places in large.items():
        yield order, len(places), places[:: 1 + len(places) // MOST]
    if number := len(single) - single.count(0):
        step = 1 + number // MOST
        if step == 1:
            yield 0, number, [place for place, _ in _places(single)]
        else:
            places = [place for place in _one_of_each(step, len(single)) if single[place]]
            yield 0, number, places or [place for place, _ in _places(single)][::step]


def by_kind(known: list[int], used: int) -> list[int]:
    """The frames in use by KINDS.  `known`: without the kernel's; if these are more, because frames were freed since, their
    shares of `used`."""
    used = max(0, used)
    if (total := sum(known)) > used:
        known = [n * used // total for n in known]
    return [*known, used - sum(known)]
