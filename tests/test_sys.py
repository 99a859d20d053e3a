# SPDX-License-Identifier: MIT
"""System calls seen from outside: /etc/system, tunables, calls that do not exist, truss."""

import hashlib
import re

import pytest

SYSTEM = "set lgrp_loadavg_tolerance=0x1000; set nothing=1; set nlgrps=7; set max_nprocs=1x; frob; set rechoose_interval | 4 x"

pytestmark = pytest.mark.machine("sf280r", system=SYSTEM)


def variable(machine, name, form="X"):
    return machine.check(f"echo {name}/{form} | mdb -k").split()[-1]


def test_system_file(machine):
    """Bad lines draw a warning each and set nothing; the others count."""
    log = machine.check("dmesg")
    for text in (
        "sorry, variable 'nothing' is not defined in the 'kernel'",
        "variable cannot be set on line 3 of etc/system",
        "bad number on line 4 of etc/system",
        "unknown command on line 5 of etc/system",
        "extraneous input ignored on line 6 of etc/system",
    ):
        assert text in log
    assert variable(machine, "lgrp_loadavg_tolerance") == "1000"
    assert variable(machine, "nlgrps") == "1"
    assert variable(machine, "rechoose_interval") == "7"
    assert int(variable(machine, "max_nprocs"), 16) > 1


def test_variables_at_run_time(machine):
    machine.check("echo rechoose_interval/W 0t5 | mdb -kw")
    assert variable(machine, "rechoose_interval", "D") == "5"
    machine.run("echo rechoose_interval/W 9 | mdb -kw", uid=1000)
    assert variable(machine, "rechoose_interval", "D") == "5"
    assert variable(machine, "nlgrps") == "1"
    machine.run("echo nlgrps/W 9 | mdb -kw")
    assert variable(machine, "nlgrps") == "1"


def test_unknown_calls_are_counted(machine):
    """By name, so that one can see what a program has asked for."""
    before = machine.kstats("unix:0:enosys").get("unix:0:enosys:rseq", 0)
    machine.check("true | cat; true | cat")  # busybox begins with rseq(2)
    assert machine.kstats("unix:0:enosys")["unix:0:enosys:rseq"] > before


def test_truss(machine):
    lines = machine.check("truss cat /etc/passwd /no/such 2>&1; true").splitlines()
    opened = [ln for ln in lines if re.match(r'open(at)?\(.*"/etc/passwd"', ln)]
    assert opened and re.search(r"= \d+$", opened[0])
    assert any('"/no/such"' in ln and "ENOENT" in ln for ln in lines)
    assert lines[-1].startswith("exit_group(") or any(ln.startswith("exit_group(1") for ln in lines)


def test_each_cpu_counts_its_calls(machine):
    before = machine.kstats("cpu:")
    machine.check("i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done")
    after = machine.kstats("cpu:")
    calls = sum(after[f"cpu:{i}:sys:syscl"] - before[f"cpu:{i}:sys:syscl"] for i in (0, 1))
    forks = sum(after[f"cpu:{i}:sys:forks"] - before[f"cpu:{i}:sys:forks"] for i in (0, 1))
    assert calls > 2000 and 200 <= forks <= 230


def test_large_overlay(boot_once, tmp_path):
    """An overlay may be larger than the largest block of the kernel's allocator (4 MiB)."""
    data = bytes(range(256)) * (9 << 12)  # 9 MiB
    (tmp_path / "root").mkdir()
    (tmp_path / "root/large").write_bytes(data)
    outcome, console, _ = boot_once("sf280r", run="md5sum /root/large", overlay=tmp_path)
    assert outcome.status == 0, console
    assert hashlib.md5(data).hexdigest() in console
