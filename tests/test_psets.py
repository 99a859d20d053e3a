# SPDX-License-Identifier: MIT
"""test_psets.py - processor sets on booted machines: the session in the article about processor sets, and sets with lgroups.

user/test/t_pset.c tests the rules and errors of the calls, test_commands.py the messages of commands, test_intr.py fencing.
"""

import re
import statistics

import pytest

pytestmark = pytest.mark.core

STRANDS = pytest.mark.machine("t2000")
BOARDS = pytest.mark.machine("sf6800", system="set lgrp_loadavg_tolerance=0x1000;set lgrp_mem_pset_aware=1")
HALF = " ".join(str(cpu) for cpu in range(16))


def squeezed(text: str) -> list[str]:
    """Lines with single blanks, without dates."""
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines()]
    return [re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "DATE", line) for line in lines]


def states(fenced: int) -> list[str]:
    """psrinfo's lines for 32 CPUs, of which the first `fenced` are no-intr."""
    return [f"{cpu} {'no-intr' if cpu < fenced else 'on-line'} since DATE" for cpu in range(32)]


@STRANDS
def test_one_chip_of_eight_cores_of_four_strands(machine):
    assert machine.check("psrinfo -p") == "1\n"
    lines = machine.check("psrinfo -pv").splitlines()
    assert lines[0] == "The physical processor has 8 cores and 32 virtual processors (0-31)"
    assert lines[1:9] == [f"  The core has 4 virtual processors ({i}-{i + 3})" for i in range(0, 32, 4)]


@STRANDS
def test_the_articles_session(machine):
    """Each command of the article, in its order, prints the article's lines."""
    created = ["created processor set 1", *(f"processor {cpu}: was not assigned, now 1" for cpu in range(16))]
    session = [
        ("psrinfo", states(0)),
        (f"psrset -c {HALF}", created),
        ("psrset -f 1", []),
        ("psrinfo", states(16)),
        ("psrset -e 1 sh -c 'psrset -q $$' | sed 's/[0-9]*:/PID:/'", ["process id PID: 1"]),
        ("psrset -n 1", []),
        ("psrset -d 1", ["removed processor set 1"]),
        ("psrinfo", states(0)),
    ]
    for command, wanted in session:
        assert squeezed(machine.check(command)) == wanted, command
    assert machine.check("psrset") == ""


@STRANDS
def test_fencing_stays_with_the_cpu(machine):
    """Destroying a set does not return interrupts to its CPUs, and a CPU that joins a fenced set is not fenced by that."""
    machine.check("psrset -c 4 5; psrset -f 1; psrset -a 1 6; psrset -d 1")
    states_now = [line.split()[1] for line in machine.check("psrinfo 4 5 6").splitlines()]
    machine.check("psradm -n 4 5")
    assert states_now == ["no-intr", "no-intr", "on-line"]


@STRANDS
def test_work_of_a_set_stays_inside_and_counts_there(machine):
    """Eight computing processes in a set of two CPUs: only these are busy, in the kstats and in pset_getloadavg's counts."""
    out = machine.check(
        """
        psrset -c 30 31
        for i in 1 2 3 4 5 6 7 8; do psrset -e 1 sh -c 'while :; do :; done' & p="$p $!"; done
        until [ $(psrset -Q 1 | wc -l) = 8 ]; do sleep 0.1; done; psrset -Q 1 | wc -l
        until [ $(kstat -p pset:1:pset:runnable | cut -f 2) = 8 ]; do sleep 0.1; done
        for i in 1 2 3 4 5 6 7 8 9; do kstat -p pset:1:pset:runnable; sleep 0.1; done
        kill $p
        psrset -e 1 nproc; psrset -e 1 grep Cpus_allowed_list /proc/self/status
        """,
        timeout=90,
    )
    assert re.search(r"^\d+$", out, re.M)[0] == "8"
    # The clock samples without the locks of the queues, so a sample may miss a thread that moves from a queue to a CPU.
    samples = [int(n) for n in re.findall(r"pset:1:pset:runnable\s+(\d+)", out)]
    assert statistics.median(samples) == 8 and all(abs(n - 8) <= 2 for n in samples), samples
    assert "\n2\n" in out and re.search(r"Cpus_allowed_list:\s+30-31", out)
    machine.check("psrset -d 1")
    assert not machine.kstats("pset:1")


@STRANDS
def test_mpstat_tells_of_changes(machine):
    out = machine.check(
        """
        : > /tmp/samples; mpstat -p 1 > /tmp/samples & p=$!
        seen() { grep -c 'idl set$' /tmp/samples; }
        # Of two more reports, the second one has begun after the last change, however late this shell runs.
        next() { n=$(($(seen) + 2)); while [ $(seen) -lt $n ]; do sleep 0.1; done; }
        next; psrset -c 1 2 >/dev/null
        next; psradm -f 3
        next; psradm -n 3
        next; psrset -d 1 >/dev/null
        next; kill $p; cat /tmp/samples
        """
    )
    assert re.findall(r"^<<.*>>$", out, re.M) == [
        "<<pset created: 1>>",
        "<<processor 1 moved from pset: -1 to: 1>>",
        "<<processor 2 moved from pset: -1 to: 1>>",
        "<<processors removed: 3>>",
        "<<processors added: 3>>",
        "<<processor 1 moved from pset: 1 to: -1>>",
        "<<processor 2 moved from pset: 1 to: -1>>",
        "<<pset destroyed: 1>>",
    ]
    assert "<<" not in machine.check("mpstat -q 1 3 & sleep 0.5; psradm -f 3; wait; psradm -n 3")


def homes(text: str) -> dict[int, int]:
    """memcopy's threads by their home."""
    return {int(lgrp): int(n) for lgrp, n in re.findall(r"home lgroup (\d+): (\d+) threads?", text)}


def pages(text: str) -> dict[int, int]:
    return {int(lgrp): int(n) for lgrp, n in re.findall(r"lgroup (\d+): (\d+) pages", text)}


def psets(machine, number: int) -> dict[str, int]:
    prefix = f"pset:{number}:pset:"
    return {key.removeprefix(prefix): value for key, value in machine.kstats(prefix).items()}


@BOARDS
def test_a_set_of_two_boards_keeps_homes_and_random_pages_there(machine):
    """Boards 1 and 2 are a set: homes of its threads are there, and with lgrp_mem_pset_aware also its random pages."""
    machine.check("psrset -c 4-11")
    try:
        before = machine.kstats("lgrp:")
        # It ends with status 1, because it expects random pages on all boards of the machine.
        out = machine.run("psrset -e 1 memcopy -t 8 -n 64k -p both", timeout=120).out
        after = machine.kstats("lgrp:")
        first, second = out.split("placement random")
        for text in first, second:
            assert set(homes(text)) == {1, 2} and sum(homes(text).values()) == 8
            assert set(pages(text)) == {1, 2}
        gained = {key: after[key] - before[key] for key in after if key.endswith(":span psrset policy")}
        assert {int(key.split(":")[1]) for key, n in gained.items() if n > 0} == {1, 2}
        inside, outside = psets(machine, 1), psets(machine, 0)
        assert [inside[f"lgrp{g} cpus"] for g in range(6)] == [0, 4, 4, 0, 0, 0]
        assert [outside[f"lgrp{g} cpus"] for g in range(6)] == [4, 0, 0, 4, 4, 4]
        outer = machine.check("memcopy -t 16 -n 64k", timeout=120)
        assert set(homes(outer)) <= {0, 3, 4, 5}
    finally:
        machine.check("psrset -d 1")
    assert [psets(machine, 0)[f"lgrp{g} cpus"] for g in range(6)] == [4] * 6
    assert psets(machine, 1) == {}


@BOARDS
def test_homes_of_what_is_bound_to_a_set(machine):
    """A home with CPUs in the set stays; another is chosen anew among the set's boards.  When the set loses a board, homes move
    away from it.  Leaving the set, and its end, move only homes that may not stay."""
    out = machine.check(
        """
        home() { plgrp $1 | tail -1 | while read a b; do echo $2 $b; done; }
        psrset -c 8 9 16 17 >/dev/null
        sleep 1000 & a=$!; sleep 1000 & b=$!
        plgrp -H 4 $a >/dev/null; plgrp -H 0 $b >/dev/null
        psrset -b 1 $a $b >/dev/null
        home $a a1; home $b b1
        psrset -r 16 17 >/dev/null
        home $a a2; home $b b2
        psrset -u $a >/dev/null
        psrset -d 1 >/dev/null
        home $a a3; home $b b3
        kill $a $b
        """
    )
    home = {line.split()[0]: int(line.split()[1]) for line in out.splitlines()}
    assert home["a1"] == 4 and home["b1"] in (2, 4)
    assert home["a2"] == home["b2"] == 2
    assert home["a3"] == home["b3"] == 2


@BOARDS
def test_random_pages_go_everywhere_when_sets_do_not_count(machine):
    """lgrp_mem_pset_aware=0, the default: random pages of a set's threads are on all boards of the machine."""
    machine.check("psrset -c 4-11; echo 'lgrp_mem_pset_aware/W 0' | mdb -kw")
    try:
        out = machine.check("psrset -e 1 memcopy -t 8 -n 64k -p random", timeout=120)
        assert set(pages(out)) == set(range(6)) and set(homes(out)) == {1, 2}
    finally:
        machine.check("echo 'lgrp_mem_pset_aware/W 1' | mdb -kw; psrset -d 1")
