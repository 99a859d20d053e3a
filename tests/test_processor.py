# SPDX-License-Identifier: MIT
"""test_processor.py - CPUs off-line and on-line, and threads bound to CPUs: p_online(2), processor_bind(2), psradm, pbind."""

import re
import time

import pytest

pytestmark = [pytest.mark.core, pytest.mark.machine("sf6800")]


def states(machine) -> dict[int, str]:
    return {int(line.split()[0]): line.split()[1] for line in machine.check("psrinfo").splitlines()}


def test_a_board_goes_off_line_and_its_threads_find_homes(machine):
    """Threads with their home on board 2 get another home when its last CPU goes off-line; they do not return with the CPU."""
    out = machine.check(
        """
        for i in 1 2 3 4 5 6; do sleep 1000 & plgrp -H 2 $! >/dev/null; p="$p $!"; done
        homes() { for i in $p; do plgrp $i | tail -1 | while read a b; do echo -n "$b "; done; done; echo; }
        homes
        psradm -f 8 9 10; homes
        psradm -f 11; homes
        lgrpinfo -c 2 | tail -1
        psradm -n 8 9 10 11; homes
        kill $p
        """
    ).splitlines()
    assert out[0].split() == ["2"] * 6
    assert out[1].split() == ["2"] * 6
    moved = out[2].split()
    assert len(moved) == 6 and "2" not in moved
    assert out[-1].split() == moved
    assert set(states(machine).values()) == {"on-line"}


def test_work_leaves_a_board_that_goes_off_line(machine):
    """Six computing processes with their home on a board finish although the board goes off-line."""
    out = machine.check(
        """
        for i in 1 2 3 4 5 6; do
            (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo done) & plgrp -H 3 $! >/dev/null
        done
        psradm -f 12 13 14 15
        wait
        psradm -n 12 13 14 15
        """,
        timeout=120,
    )
    assert out.split() == ["done"] * 6


def test_bound_threads_keep_a_cpu(machine):
    out = machine.run(
        """
        sleep 1000 & p=$!
        pbind -b 5 $p
        psradm -f 5; echo $?
        pbind -u $p
        psradm -f 5; echo $?
        pbind -b 5 $p; echo $?
        psradm -n 5
        kill $p
        """
    ).out
    lines = [re.sub(r"process id \d+", "process id P", line) for line in out.splitlines()]
    assert lines[0] == "process id P: was not bound, now 5"
    assert lines[1] == "psradm: processor 5: Device busy"
    assert lines[2:5] == ["1", "process id P: was 5, now not bound", "0"]
    assert "Invalid argument" in lines[5] and lines[6] != "0"
    assert states(machine)[5] == "on-line"


def test_binding_is_inherited_and_obeyed(machine):
    """A shell that is bound to CPU 7, and its children, run there; after unbinding they keep the home."""
    text = machine.check(
        """
        pbind -b 7 $$ >/dev/null
        for i in 1 2 3 4; do sh -c 'pbind -q $$; plgrp $$ | tail -1; grep Cpus_allowed_list /proc/self/status'; done
        pbind -u $$ >/dev/null; plgrp $$ | tail -1
        """
    )
    assert re.findall(r"process id \d+: (\S+)", text) == ["7"] * 4
    assert [line.split()[-1] for line in text.splitlines() if "/1" in line] == ["1"] * 5


def test_last_interruptible_cpu(machine):
    """At least one CPU takes interrupts: the last one cannot become no-intr or off-line."""
    try:
        machine.check("psradm -i " + " ".join(str(i) for i in range(1, 24)))
        assert states(machine)[23] == "no-intr"
        assert machine.run("psradm -i 0").out == "psradm: processor 0: Device busy\n"
        assert machine.run("psradm -f 0").out == "psradm: processor 0: Device busy\n"
        assert machine.check("sleep 0.1; echo alive") == "alive\n"
    finally:
        machine.check("psradm -a -n")
    assert set(states(machine).values()) == {"on-line"}


def test_the_clock_goes_on(machine):
    """Ticks are counted, whatever CPUs go off-line in whatever order, and wherever the command runs."""

    def ticks() -> int:
        return sum(value for key, value in machine.kstats("cpu:").items() if key.endswith("_ticks"))

    try:
        for cpus in (range(0, 4), range(4, 20), [20, 22, 23]):
            machine.check("psradm -f " + " ".join(map(str, cpus)))
            before = ticks()
            machine.check("sleep 0.3")
            assert ticks() > before
        assert [cpu for cpu, state in states(machine).items() if state == "on-line"] == [21]
        assert machine.run("psradm -f 21").out == "psradm: processor 21: Device busy\n"
        assert machine.check("cat /sys/devices/system/cpu/online").strip() == "21"
        assert machine.check("echo a b | wc -w").strip() == "2"
    finally:
        machine.check("psradm -a -n")


def test_each_change_is_stamped(machine):
    def since(cpu: int) -> str:
        return machine.check(f"psrinfo {cpu}").split("since", 1)[1].strip()

    old = since(9)
    time.sleep(2)
    machine.check("psradm -f 9")
    off = since(9)
    machine.check("psradm -n 9")
    assert off != old


def test_affinity_is_obeyed_and_given_up_when_its_cpus_leave(machine):
    out = machine.run(
        """
        sleep 1000 & p=$!
        taskset -p 0x30 $p | tail -1
        psradm -f 4 5
        sh -c 'kill -0 $0 && echo lives' $p
        psradm -n 4 5
        taskset -p $p
        kill $p
        taskset 0x40 sh -c 'for i in 1 2 3; do echo $(cut -d" " -f39 /proc/self/stat); sleep 0.05; done'
        """
    ).out.splitlines()
    assert out[0].endswith("30") and out[1] == "lives" and out[2].endswith("30")
    assert out[3:] == ["6", "6", "6"]
