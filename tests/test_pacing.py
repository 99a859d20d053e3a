# SPDX-License-Identifier: MIT
"""test_pacing.py - an editor starts from a disk to which a large file is being copied: how long do its reads wait?

The counts are of the target disk: the number of commands that it executes between the arrival of a read of vi and its turn.
"""

import random
import re
import shutil
import subprocess

import pytest

from homeroom.machine import TOP

FOLDER = TOP / "build/test-pacing"
pytestmark = pytest.mark.xdist_group("pacing")  # one worker makes the disks in FOLDER once
MIB, SCALE = 24, 20


@pytest.fixture(scope="module")
def disks():
    """Two file systems: one with a large file, one with vi."""
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    for name in ("source", "target"):
        (FOLDER / name).mkdir(parents=True)
    (FOLDER / "source/big").write_bytes(random.Random(1).randbytes(MIB << 20))
    shutil.copy("/bin/busybox", FOLDER / "target/vi")
    for name in ("source", "target"):
        image = FOLDER / f"{name}.img"
        image.touch()
        with open(image, "r+b") as file:
            file.truncate(64 << 20)
        command = ["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", "-E", "root_owner=0:0", "-d", FOLDER / name, image]
        subprocess.run(command, check=True, capture_output=True)
    return [f"refdisk:{FOLDER}/{name}.img,scale={SCALE}" for name in ("source", "target")]


def start_vi_beside_cp(machine) -> dict[str, int]:
    """The counts of the target disk while vi starts beside a copy."""
    machine.check("mkdir -p /src /dst && mount -t ext3 /dev/vda /src && mount -t ext3 /dev/vdb /dst && sync")
    # One command: on a busy host, the copy could end while the next command is on its way to the guest.
    text = machine.check(
        "(dd if=/src/big of=/dst/copy bs=4k; echo done > /tmp/done) > /dev/null 2>&1 & "
        "while [ $(ls -s /dst/copy 2>/dev/null | cut -d/ -f1 || echo 0) -lt 4096 ]; do sleep 0.05; done; "
        "echo sd:1:vdb > /dev/kstat; vistart /dst/vi /dst/new",
        120,
    )
    counts = {name.split(":")[-1]: value for name, value in machine.kstats("sd:1:vdb:").items()}
    assert re.search(r"start_ns=\d+", text) and counts["reads"] >= 30
    machine.check("while [ ! -e /tmp/done ]; do sleep 0.1; done; sync; cmp /src/big /dst/copy", 120)
    machine.check("umount /src /dst")
    return counts


SETTINGS = {
    "fifo": "set disk_depth=1; set disk_sched=0; set ufs:ufs_WRITES=0; set maxphys=32768; set ufs:maxcontig=2",
    "paced": "set disk_depth=1; set disk_sched=0; set ufs:ufs_WRITES=0; set maxphys=32768; set ufs:maxcontig=2; "
    "set maxpout=9; set minpout=6",
    "automatic": "set disk_depth=1; set disk_sched=2; set ufs:ufs_WRITES=0; set maxphys=32768; set ufs:maxcontig=2",
}


@pytest.fixture(scope="module")
def counts(disks):
    """Counts by setting, measured when they are first needed."""
    return {}


def measure(boot, disks, counts, setting: str) -> dict[str, int]:
    if setting not in counts:
        counts[setting] = start_vi_beside_cp(boot("sf280r", disks=disks, system=SETTINGS[setting]))
    return counts[setting]


def test_without_pacing_reads_wait_for_the_queue(boot, disks, counts):
    assert measure(boot, disks, counts, "fifo")["raheadmax"] >= 8


def test_marks_bound_the_queue(boot, disks, counts):
    """With a high mark of 9 pages, the copy has at most three clusters of four pages in flight."""
    fifo, paced = (measure(boot, disks, counts, setting) for setting in ("fifo", "paced"))
    assert paced["raheadmax"] <= 5 < fifo["raheadmax"]


def test_automatic_mode_lets_reads_pass(boot, disks, counts):
    """A read waits for the command in progress, and for at most one of the background, which gets one after four reads."""
    automatic = measure(boot, disks, counts, "automatic")
    assert automatic["raheadmax"] <= 3
    assert automatic["rahead"] <= automatic["reads"]
    assert automatic["writes"] > 0  # the copy makes progress
