# SPDX-License-Identifier: MIT
"""test_coherence.py - one file on a disk, used by several processes at the same time.

They read, write, mmap, truncate and msync it at random, and compare what they read with a model (user/test/coherence.c).
"""

import os
import re
import subprocess

import pytest

from homeroom.machine import TOP

FOLDER = TOP / "build/test-coherence"
pytestmark = [pytest.mark.disk, pytest.mark.xdist_group("coherence")]  # one worker makes the disks in FOLDER once
OPS, SEED = 25000, 7


def blank(name: str, mb: int) -> str:
    return f"{FOLDER}/{name}-{mb}.img"


def make(path: str, fill) -> None:
    """Make an image under another name and rename it: several processes may run these tests."""
    if not os.path.exists(path):
        fill(f"{path}.{os.getpid()}")
        os.replace(f"{path}.{os.getpid()}", path)


@pytest.fixture(scope="session", autouse=True)
def images():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in (blank("plenty", 128), blank("little", 128)):
        make(path, lambda new: subprocess.run(["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", new, "128M"], check=True))
    make(blank("little", 256), lambda new: os.truncate(os.open(new, os.O_CREAT | os.O_WRONLY), 256 << 20))


def mixed(machine, path: str, kb: int, procs: int) -> dict[str, int]:
    """Run the test program on a file.  After the next mount the contents must be the same, and e2fsck must find no fault.

    Returns the counts that the program prints.
    """
    out = machine.check(f"/usr/test/coherence /m/f {procs} {OPS} {SEED} {kb}", timeout=500)
    found = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)(?= |$)", out)}
    assert found["bad"] == 0 and found["seed"] == SEED, out
    before = machine.check("sha1sum /m/f")
    machine.check("umount /m; mount -t ext3 /dev/vda /m")
    assert machine.check("sha1sum /m/f") == before
    machine.check("umount /m")
    done = subprocess.run(["e2fsck", "-fn", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return found


def counter(machine, name: str) -> int:
    return sum(int(line.split("\t")[1]) for line in machine.check(f"kstat -p cpu:::{name}").splitlines())


@pytest.mark.machine("sf3800", disks=(blank("plenty", 128),))
def test_coherence(machine):
    """Two boards, eight CPUs and five processes share a file of 512 KB, so they often access the same pages."""
    path = blank("plenty", 128)
    machine.check("mkdir -p /m; mount -t ext3 /dev/vda /m")
    found = mixed(machine, path, 512, 5)
    assert all(found[op] > 500 for op in ("read", "write", "load", "store", "msync", "truncate", "extend"))


@pytest.mark.long
@pytest.mark.machine("sf280r", memory="64M", disks=(blank("little", 128), blank("little", 256)))
def test_coherence_when_memory_is_short(machine):
    """File and model have 40 MB each, and memory has 64 MB: pages of both are written out and read again."""
    machine.check("swapon /dev/vdb; mkdir -p /m; mount -t ext3 /dev/vda /m")
    mixed(machine, blank("little", 128), 40000, 4)
    assert counter(machine, "fspgin") > 10000
    assert counter(machine, "fspgout") > 10000
    machine.check("swapoff /dev/vdb")
