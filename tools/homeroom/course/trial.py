# SPDX-License-Identifier: MIT
"""trial.py - what the tests of a lab (labs/NAME/tests.py) work with."""

import random
from collections import Counter
from collections.abc import Iterable

from homeroom.course.boot import Kernel, Run
from homeroom.course.sandbox import Child

EVEN = 0.3  # how far a count may be from the mean, as a part of it
LOCAL = 0.85  # the least share of a board's accesses that is to its own memory
RAN = 100_000  # the least number of accesses of a program that has run


class Wrong(Exception):
    """A test's answer is wrong; the text shows expected and found."""


class Trial:
    """What a test function gets: random numbers, the child (a boot test: the kernel), and how to compare."""

    def __init__(self, child: Child | Kernel, seed: str, term: dict[str, int]) -> None:
        self.child = self.kernel = child
        self.random = random.Random(seed)
        self.term = term  # the parameters of the lab

    def expect(self, what: str, expected: object, found: object) -> None:
        if found != expected:
            raise Wrong(f"{what}\nexpected: {expected}\nfound:    {found}")

    def expect_even(self, what: str, values: Iterable[int], found: list[int]) -> None:
        """Each of `values`, and no other one, is found about as often as any other."""
        values, counts = list(values), Counter(found)
        mean = len(found) / len(values)
        if not found or set(counts) - set(values) or any(abs(counts[value] - mean) > EVEN * mean for value in values):
            raise Wrong(f"{what}\nexpected: about {mean:.0f} of each of {values}\nfound:    {dict(sorted(counts.items()))}")

    def expect_own_memory(self, what: str, run: Run) -> None:
        """Each board does about as much as any other, and nearly all of that in its own memory.

        The start of the shell counts, too: with QEMU 10 some 200,000 accesses of one board.  So the program must make
        millions on each board.
        """
        table = run.by_domain()
        sums = [sum(row) for row in table]
        local = [row[board] / max(1, sums[board]) for board, row in enumerate(table)]
        even = min(sums) >= max(RAN, (1 - EVEN) * sum(sums) / len(sums))
        shares = ", ".join(f"{n} ({100 * part:.0f} %)" for n, part in zip(sums, local, strict=True))
        wanted = f"about as many by each board, at least {100 * LOCAL:.0f} % to its own memory"
        self.expect(
            f"accesses of {what} to memory, by board (to its own memory), as QEMU counts them",
            wanted,
            wanted if even and min(local) >= LOCAL else shares,
        )
