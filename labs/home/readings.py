#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readings.py - simulate where 72 threads of one process get their homes, for several readings of lgrp_loadavg_tolerance.

THEORY      The paper does not say which loads the tolerance compares.  Each reading is simulated: threads are created one
            after the other on idle boards of four CPUs, and each counts as load at once, as in kernel/lgrp/home.c with
            the default values.  The readings differ only in the comparisons for which the tolerance is used.  OURS is
            the reading of home.c.
USAGE       python3 labs/home/readings.py [BOARDS [THREADS]]
SEE ALSO    docs/lgroups.md, tests/host/test_home.c
"""

import random
import sys

FULL, CPUS, TOLERANCE, TIMES, SEED = 32767, 4, 0x10000, 300, 1
OURS = "lgroups that the process does not use yet"
READINGS = {  # (tolerance among the process's lgroups, tolerance among the others, whether the exact minimum decides to spread)
    "all comparisons": (TOLERANCE // CPUS, TOLERANCE // CPUS, False),
    "all, and the exact minimum decides whether to spread": (TOLERANCE // CPUS, TOLERANCE // CPUS, True),
    "all, not divided by the CPUs": (TOLERANCE, TOLERANCE, False),
    OURS: (0, TOLERANCE // CPUS, False),
}


def least(load: list[int], boards: list[int], tolerance: int, rng: random.Random) -> int:
    """The least loaded of some boards; the search begins at a random one and wraps around."""
    start = rng.randrange(len(boards))
    best, *rest = boards[start:] + boards[:start]
    for board in rest:
        if load[board] + tolerance < load[best]:
            best = board
    return best


def homes(boards: int, threads: int, reading: tuple[int, int, bool], rng: random.Random) -> list[int]:
    """Threads on each board."""
    for_own, for_others, exact = reading
    spread_above = FULL * 3 // 4 if boards > 6 else FULL // 4  # lgrp_expand_proc_thresh, by family
    load, own = [0] * boards, set()
    for _ in range(threads):
        others = [b for b in range(boards) if b not in own]
        home = least(load, sorted(own), for_own, rng) if own else least(load, others, for_others, rng)
        lowest = min(load[b] for b in own) if exact and own else load[home]
        if own and others and lowest > spread_above:
            other = least(load, others, for_others, rng)
            if load[other] + FULL // 4 < lowest:
                home = other
        own.add(home)
        load[home] += FULL // CPUS
    return [x // (FULL // CPUS) for x in load]


def main() -> int:
    boards, threads = (int(x) for x in (*sys.argv[1:], *("18", "72")[len(sys.argv) - 1 :]))
    print(f"{threads} threads, {boards} boards, {TIMES} times, seed {SEED}: the tolerance is for")
    for name, reading in READINGS.items():
        rng = random.Random(SEED)
        found = [homes(boards, threads, reading, rng) for _ in range(TIMES)]
        even = sum(max(n) == min(n) for n in found)
        print(f"{name}: {min(map(min, found))} to {max(map(max, found))} on a board, alike on all {even} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
