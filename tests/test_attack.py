# SPDX-License-Identifier: MIT
"""test_attack.py - programs of an ordinary user attack the kernel (tests/attack).

Root must keep its file, its CPU time and its memory.
"""

import os
import re
import subprocess

import pytest

from homeroom.machine import TOP

os.environ["PATH"] += ":/usr/sbin:/sbin"  # mke2fs is there, and an ordinary user has no such folder in PATH

FOLDER = TOP / "tests/attack"
PROGRAMS = sorted(source.stem for source in FOLDER.glob("*.c"))
LONG = {"disk", "limits", "memory", "sched"}  # in the long tests


def build(folder):
    """Compile the attack programs into usr/attack of `folder`; returns the folder."""
    (folder / "usr/attack").mkdir(parents=True)
    for program in PROGRAMS:
        flags = ["-O2", "-D_GNU_SOURCE", "-I", TOP / "include"]
        target = folder / "usr/attack" / program
        subprocess.run([TOP / "tools/hrcc", *flags, FOLDER / f"{program}.c", "-o", target], check=True)
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return build(tmp_path_factory.mktemp("attack"))


def slow_disk() -> str:
    """The description of a disk that takes some tenths of a millisecond for a command, so that commands can be counted."""
    image = TOP / "build/test-attack.img"
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext3", "-b", "4096", image, "64M"], check=True)
    return f"refdisk:{image},scale=50"


@pytest.mark.long
def test_root_after_fork_bombs(boot, programs):
    """Fork bombs: a new process has little promised memory but needs much of the kernel's.  Root's part must remain free."""
    machine = boot("sf3800", memory="128M", overlay=programs)
    result = machine.run("for i in 1 2 3; do /usr/attack/limits processes bomb || exit; done", timeout=600)
    assert result.status == 0 and result.out.count("PASS bomb") == 3, result.out


@pytest.mark.parametrize("program", [pytest.param(p, marks=[pytest.mark.long] if p in LONG else []) for p in PROGRAMS])
def test_attack(boot, programs, program):
    """Each program runs on a machine of its own, so that none depends on the traces of another."""
    more = {"disks": (slow_disk(),), "system": "set disk_depth=1"} if program == "disk" else {}
    machine = boot("sf3800", memory="128M", overlay=programs, **more)
    result = machine.run(f"/usr/attack/{program}", timeout=900)
    tried = re.findall(r"^attack (\w+): ", result.out, re.M)
    listed = re.findall(r'^    \{"(\w+)",', (FOLDER / f"{program}.c").read_text(), re.M)
    failed = re.findall(r"^FAIL .*", result.out, re.M)
    assert result.status == 0 and not failed, result.out
    assert listed and sorted(tried) == sorted(listed), result.out
