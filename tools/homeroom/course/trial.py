# SPDX-License-Identifier: MIT
"""trial.py - what the tests of a lab (labs/NAME/tests.py) work with."""

import random
from collections import Counter
from collections.abc import Iterable

from homeroom.course.sandbox import Child

EVEN = 0.3  # how far a count may be from the mean, as a part of it


class Wrong(Exception):
    """A test's answer is wrong; the text shows expected and found."""


class Trial:
    """What a test function gets: random numbers, the child, and how to compare."""

    def __init__(self, child: Child, seed: str, term: dict[str, int]) -> None:
        self.child, self.random = child, random.Random(seed)
        self.term = term  # the parameters of the lab

    def expect(self, what: str, expected: object, found: object) -> None:
        if found != expected:
            raise Wrong(f"{what}\nexpected: {expected}\nfound:    {found}")

    def expect_even(self, what: str, values: Iterable[int], found: list[int]) -> None:
        """Each of `values`, and no other one, is found about as often as any other."""
        values, counts = list(values), Counter(found)
        mean = len(found) / len(values)
        if set(counts) - set(values) or any(abs(counts[value] - mean) > EVEN * mean for value in values):
            raise Wrong(f"{what}\nexpected: about {mean:.0f} of each of {values}\nfound:    {dict(sorted(counts.items()))}")
