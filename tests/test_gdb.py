# SPDX-License-Identifier: MIT
"""test_gdb.py - the GDB commands of tools/gdb/homeroom.py, on a running machine."""

import os
import re
import subprocess

import pytest

from harness import HOST_LIMIT, ISO, Booted
from homeroom import guest
from homeroom.machine import TOP
from homeroom.net import free_port

KERNEL = TOP / "build/test/kernel.elf"


@pytest.fixture(scope="module")
def debug(speed):
    """A function that runs GDB commands on a booted sf3800, which runs two `sleep`s and nothing else but what init starts."""
    port = free_port("tcp")
    booted = Booted("sf3800", speed, qemu_args=["-gdb", f"tcp:127.0.0.1:{port}"])
    booted.expect("# ")  # the shell of the console waits for a line
    booted.check("(sleep 1000 & sleep 1000 &) >/dev/null 2>&1")
    # A command has ended when its shell has: the two may not have executed sleep yet, and init may not wait again.
    asleep = "for p in 1 $(pidof sleep); do grep '^State:.S' /proc/$p/status; done | wc -l"
    booted.check(f"until [ $({asleep}) = 3 ]; do usleep 10000; done")

    def run(*commands: str) -> str:
        words = ["gdb", "-q", "-nx", "-batch", "-ex", f"target remote 127.0.0.1:{port}"]
        words += ["-x", str(TOP / "tools/gdb/homeroom.py")]
        for command in commands:
            words += ["-ex", command]
        done = subprocess.run([*words, str(KERNEL)], capture_output=True, text=True, timeout=HOST_LIMIT)
        assert "Traceback" not in done.stderr and "Python Exception" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    yield run
    booted.close()


def test_lgrps(debug):
    out = debug("lgrps")
    rows = re.findall(r"^ +(\d) (\S+) +(\d+)M +(\d+)M +(\d+) +\d+%  (.*)$", out, re.MULTILINE)
    assert [(r[0], r[1], r[5]) for r in rows] == [("0", "0-3", "10 12"), ("1", "4-7", "12 10")]
    assert all(400 < int(r[3]) <= int(r[2]) <= 512 for r in rows)
    assert sum(int(r[4]) for r in rows) >= 5  # init, verdictd, the shell, two sleeps


def test_runq(debug):
    out = debug("runq")
    assert len(re.findall(r"^ +\d +[01] +-?\d+ +\d+  \S+ \(\d+\)$", out, re.MULTILINE)) == 8
    assert len(re.findall(r"^ +3 +0 ", debug("runq 3"), re.MULTILINE)) == 1


def test_threads(debug):
    out = debug("threads")
    assert re.search(r"^ +1 init +SLEEP +TS ", out, re.MULTILINE)
    sleeps = debug("threads sleep").splitlines()
    assert sum(bool(re.search(r"^ *\d+ sleep +SLEEP .* [01] +\d  \w+", line)) for line in sleeps) == 2


def test_pages(debug):
    rows = re.findall(r"^ +([01]) +(\d+) +(\d+)  ([\d ]+)$", debug("pages"), re.MULTILINE)
    assert [r[0] for r in rows] == ["0", "1"]
    for _, total, free, blocks in rows:
        assert sum(int(n) << order for order, n in enumerate(blocks.split())) == int(free) <= int(total)
    assert "on node 0" in debug("pages &lgrp_topo")
    assert "on node 1" in debug("pages cpus[4]")
    assert "no memory at physical address" in debug("pages 0xf00000000000")


def make_gdb(machine, **variables):
    return subprocess.run(
        ["tools/gdb/run.sh", machine, str(ISO["test"]), str(KERNEL)],
        cwd=TOP,
        env={**os.environ, "GDB_ARGS": "-batch -ex bt", **variables},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "machine, variables, says",
    [
        ("nope", {}, "homeroom: no machine 'nope'; there are: "),
        ("sf280r", {"QEMU_ARGS": "-nonsense"}, "homeroom: QEMU failed: qemu-system-x86_64: -nonsense: invalid option"),
    ],
)
def test_make_gdb_without_a_machine(machine, variables, says):
    """GDB does not start, and the script exits with the launcher's status."""
    done = make_gdb(machine, **variables)
    assert done.returncode == guest.STATUS_SETUP
    assert says in done.stderr
    assert done.stdout == ""


def test_make_gdb_stops_in_kmain():
    done = make_gdb("sf280r")
    assert "kmain" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
