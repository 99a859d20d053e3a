# SPDX-License-Identifier: MIT
"""test_memcopy.py - memcopy, the paper's microbenchmark: the homes of its threads, and the boards of its pages.

These tests check counts, never rates.
"""

import re
from dataclasses import dataclass, field

import pytest

pytestmark = pytest.mark.core


@dataclass
class Run:
    """The output of memcopy for one placement."""

    placement: str
    homes: dict = field(default_factory=dict)  # lgroup: number of threads
    pages: dict = field(default_factory=dict)  # lgroup: number of pages
    local: int = 0
    total: int = 0
    p: float | None = None
    ok: bool = False


def parse(output):
    """The runs in memcopy's output."""
    runs = []
    for line in output.splitlines():
        if match := re.match(r"placement (\w+):", line):
            runs.append(Run(match[1]))
        elif match := re.match(r"home lgroup (\d+): (\d+) threads?: ", line):
            runs[-1].homes[int(match[1])] = int(match[2])
        elif match := re.match(r"pages on the home of .*: (\d+) of (\d+)", line):
            runs[-1].local, runs[-1].total = int(match[1]), int(match[2])
        elif match := re.match(r"chi-square over \d+ lgroups: [\d.]+, p (\S+)", line):
            runs[-1].p = float(match[1])
        elif line.startswith("lgroup "):
            for lgroup, pages in re.findall(r"lgroup (\d+): (\d+) pages", line):
                runs[-1].pages[int(lgroup)] = int(pages)
        elif line == "ok":
            runs[-1].ok = True
    return runs


def check_first_touch(run, threads):
    assert run.ok and run.placement == "first"
    assert sum(run.homes.values()) == threads
    assert run.total > 0 and run.local == run.total
    # All threads have the same number of pages, so pages are distributed as threads are.
    share = run.total // threads
    assert run.pages == {lgroup: n * share for lgroup, n in run.homes.items()}


def check_random(run, lgroups):
    assert run.ok and run.placement == "random"
    assert len(run.pages) == lgroups
    assert run.p > 1e-6


def test_table_is_parsed():
    text = """placement first: 4 threads, 2 x 8 pages of 4K, 1 iterations
home lgroup 00: 1 thread: 3
home lgroup 01: 3 threads: 0-2
lgroup 0: 4 pages       lgroup 1: 12 pages
pages on the home of the thread that initialised them: 16 of 16
ok
"""
    (run,) = parse(text)
    check_first_touch(run, 4)


@pytest.mark.machine("sf280r")
def test_one_lgroup(machine):
    (run,) = parse(machine.check("memcopy -t 4"))
    check_first_touch(run, 4)
    assert list(run.pages) == [0]


@pytest.mark.machine("sf3800")
@pytest.mark.parametrize("options", ["-t 8", "-t 8 -b", "-t 3 -n 10001", "-t 1", "-t 40 -n 1m"])
def test_two_boards(machine, options):
    first, random = parse(machine.check(f"memcopy {options} -p both", timeout=120))
    check_first_touch(first, int(options.split()[1]))
    check_random(random, 2)


@pytest.mark.machine("sf3800")
def test_bound_threads_are_at_home(machine):
    (run,) = parse(machine.check("memcopy -t 8 -b"))
    assert run.homes == {0: 4, 1: 4}


@pytest.mark.machine("sf3800")
def test_one_thread_initialises(machine):
    """First touch puts all pages on its board; after the advice each page moves to the thread that copies it."""
    (one,) = parse(machine.check("memcopy -t 8 -b -o"))
    assert one.ok and one.local == one.total and list(one.pages.values()) == [one.total]
    (moved,) = parse(machine.check("memcopy -t 8 -b -o -m"))
    check_first_touch(moved, 8)
    assert moved.homes == {0: 4, 1: 4}


@pytest.mark.machine("sf3800")
def test_large_pages(machine):
    first, random = parse(machine.check("memcopy -t 8 -s 2m -P 64 -i 1 -p both", timeout=120))
    check_first_touch(first, 8)
    assert first.total == random.total == 64
    check_random(random, 2)


@pytest.mark.machine("sf3800")
def test_bad_options(machine):
    for options in ["-t 0", "-t x", "-s 3k", "-p nowhere", "-n 5 -P 5", "-n 0", "-n 9000000m", "extra"]:
        assert machine.run(f"memcopy {options}").status == 2, options


@pytest.mark.machine("sf6800")
def test_table_3_7(machine):
    """24 threads, 576 pages: 96 pages in each of 6 lgroups."""
    # The programs before this one are load on their boards for some seconds, and a board with load gets fewer homes.
    (run,) = parse(machine.check("sleep 2; memcopy -t 24 -P 576 -i 2"))
    check_first_touch(run, 24)
    assert run.pages == {lgroup: 96 for lgroup in range(6)}


@pytest.mark.long
@pytest.mark.machine("sf15k")
def test_all_cpus_of_the_largest(machine):
    first, random = parse(machine.check("memcopy -t 72 -p both", timeout=240))
    check_first_touch(first, 72)
    check_random(random, 18)


def test_homes_are_even_every_time(boot_once):
    command = "for i in $(seq 20); do memcopy -t 24 -n 768k -i 1; done"
    outcome, text, _ = boot_once("sf6800", run=command, timeout=240)
    assert outcome.status == 0, text
    runs = parse(text)
    assert len(runs) == 20
    for run in runs:
        check_first_touch(run, 24)
        assert run.homes == {lgroup: 4 for lgroup in range(6)}


@pytest.mark.machine("sf3800", system="set mpo_enable=0")
def test_without_mpo(machine):
    """There is one lgroup, and the counters of the boards show that pages are spread over all boards."""
    before = machine.kstats("mem:")
    (run,) = parse(machine.check("memcopy -t 8"))
    after = machine.kstats("mem:")
    check_first_touch(run, 8)
    assert list(run.pages) == [0]
    taken = [after[f"mem:{board}:node:local"] - before[f"mem:{board}:node:local"] for board in (0, 1)]
    assert sum(taken) >= run.total
    assert min(taken) > sum(taken) * 0.4


@pytest.mark.long
def test_sf15k(boot_once):
    """The main case: 72 threads on 18 boards."""
    outcome, text, _ = boot_once("sf15k", run="memcopy -t 72 -p both", timeout=240)
    assert outcome.status == 0, text
    first, random = parse(text)
    check_first_touch(first, 72)
    check_random(random, 18)


def test_table_3_4(boot_once):
    """A quarter of the table's 1728 pages of 2 MiB: 23 to 25 in each of 18 lgroups, and 4 homes in each; 20 times."""
    again = "for i in $(seq 19); do memcopy -t 72 -i 1 -n 72k; done"
    command = f"memcopy -t 72 -s 2m -P 432 -i 1 && {again}"
    outcome, text, _ = boot_once("sf15k", run=command, timeout=420)
    assert outcome.status == 0, text
    large, *small = parse(text)
    check_first_touch(large, 72)
    assert large.total == 432
    assert set(large.pages) == set(range(18))
    assert all(23 <= pages <= 25 for pages in large.pages.values())
    assert len(small) == 19
    for run in [large, *small]:
        assert run.homes == {lgroup: 4 for lgroup in range(18)}
