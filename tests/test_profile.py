# SPDX-License-Identifier: MIT
"""test_profile.py - kernels without some parts: using a missing part gives an error, and everything else works."""

import subprocess

import pytest

import harness
import size
from homeroom.machine import TOP

pytestmark = pytest.mark.core
SMALL = pytest.mark.machine("sf280r", memory="64M")
PARTS, ABSENT = size.parts((TOP / "kernel/profile.mk").read_text())


def enosys(machine):
    return {name.rpartition(":")[2]: n for name, n in machine.kstats("unix:0:enosys:").items()}


@pytest.mark.skipif("net" not in ABSENT[harness.PROFILE], reason="this kernel has a network")
@SMALL
def test_socket_is_absent_and_counted(machine):
    before = enosys(machine).get("socket", 0)
    result = machine.run("ping -c 1 127.0.0.1")
    assert result.status != 0
    assert "Function not implemented" in result.out
    assert enosys(machine)["socket"] == before + 1


@pytest.mark.skipif("disk" not in ABSENT[harness.PROFILE], reason="this kernel has disks")
@SMALL
def test_disks_are_absent(machine):
    assert machine.check("cat /proc/partitions") == "major minor  #blocks  name\n\n"
    assert machine.check("ls /sys/block") == ""
    assert "No such device" in machine.run("mkdir -p /x; mount -t ext3 /dev/vda /x").out
    assert "No such device or address" in machine.run("mknod /tmp/vda b 254 0; cat /tmp/vda").out
    machine.check("sync; grep -v ext /proc/filesystems")
    assert "Function not implemented" in machine.run("swapon /etc/passwd").out


@pytest.mark.skipif("model" not in ABSENT[harness.PROFILE], reason="this kernel has the model")
@SMALL
def test_files_of_an_absent_part_say_so(machine):
    """As a kernel with the model does on a machine without it (test_heat.py), so pmap has its usual columns."""
    assert "No such device" in machine.run("cat /proc/self/heat").out
    assert "Misses" not in machine.check("pmap -L $$")


@pytest.mark.long
@SMALL
def test_memory_that_is_not_there(machine):
    """Memory that does not exist is refused, files in memory end with ENOSPC, and afterwards the machine works."""
    before = machine.free_kib()
    assert machine.run("dd if=/dev/zero of=/tmp/large bs=1M count=1000").status != 0
    machine.check("rm /tmp/large")
    assert machine.run("dd if=/dev/zero of=/dev/null bs=900M count=1").status != 0
    assert machine.run("while :; do echo; done | sort", timeout=120).status != 0
    machine.check("memcopy -t 2 -n 64k")
    machine.expect_free(before, 2048)  # caches


def test_every_part_has_its_stand_in_and_its_files():
    names = {path.stem for path in (TOP / "kernel/absent").glob("no_*.c")}
    assert names == {f"no_{part}" for part in PARTS}
    for part, patterns in PARTS.items():
        for pattern in patterns:
            found = list(TOP.glob(pattern.replace("%", "*")))
            assert found, f"{part}: {pattern} names no file"


def test_wrong_profile():
    done = subprocess.run(["make", "PROFILE=tiny", "kernel"], cwd=TOP, capture_output=True, text=True)
    assert done.returncode != 0
    assert "PROFILE=tiny: write one of core disk full" in done.stderr
