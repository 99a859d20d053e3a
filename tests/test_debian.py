# SPDX-License-Identifier: MIT
"""test_debian.py - some of Debian's programs, unmodified, on the test kernel: the rows with test = true of programs.toml.

`make programs` runs all rows, on the normal kernel.
"""

import dataclasses

import pytest

import harness
from homeroom import debian, guest, programs
from homeroom.machine import MachineError

PROGRAMS = programs.load()
QUICK = [program for program in PROGRAMS if program.test]
LONG = {"fio", "nginx", "numactl", "redis", "strace"}  # only in the long tests, because the suite is long enough
pytestmark = pytest.mark.xdist_group("debian")  # one worker, because one apt-get runs at a time


@pytest.mark.parametrize(
    "program", [pytest.param(p, id=p.name, marks=[pytest.mark.long] if p.name in LONG else []) for p in QUICK]
)
def test_program(program, speed):
    try:
        packages = debian.fetch(program.packages)
    except MachineError as error:
        harness.lacking("debian", str(error))
    wrong, _, text = programs.run(program, packages, harness.ISO["test"], speed)
    assert not wrong, f"{wrong}; the end of the output:\n{text[-6000:]}"


def test_table():
    """The names are different, and all programs have time in an hour."""
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert sum(program.seconds for program in PROGRAMS) <= programs.LIMIT


def test_faults():
    """A run is a failure if the machine or the script failed, or if the output lacks something."""
    program = programs.Program("name", ["package"], "checks", "script", ["^one$", "two"])
    good = guest.Outcome("clean", 0)
    assert programs.fault(program, good, "one\nand two\n") == ""
    assert programs.fault(program, good, "one too many\nand two\n") == "the output does not have /^one$/"
    assert programs.fault(program, guest.Outcome("clean", 3), "one\nand two\n") == "status 3 after: and two"
    assert "panicked" in programs.fault(program, guest.Outcome("panic", None, "why"), "one\nand two\n")
    assert "time limit" in programs.fault(program, guest.Outcome("timeout", 0), "one\nand two\n")


def test_key(tmp_path):
    """The key of a result depends on the row, the packages and the kernel."""
    iso = tmp_path / "homeroom.iso"
    (tmp_path / "kernel.elf").write_bytes(b"1")
    keys = [programs.key(program, [], iso) for program in (QUICK[0], QUICK[0], dataclasses.replace(QUICK[0], script="true"))]
    keys.append(programs.key(QUICK[0], [tmp_path / "git_2.deb"], iso))
    (tmp_path / "other").mkdir()
    (tmp_path / "other/kernel.elf").write_bytes(b"2")
    keys.append(programs.key(QUICK[0], [], tmp_path / "other/homeroom.iso"))
    assert keys[0] == keys[1] and len(set(keys)) == 4


def test_page_row():
    """A result that failed says why; one of another kernel is not shown."""
    program = programs.Program("name", ["package"], "checks", "script", [])
    result = {"wrong": "a|b", "versions": "package 1", "cpu": 2.4}
    assert programs.row(program, result) == "| name | package 1 | failed: a\\|b | 2 s | checks |\n"
    assert "| passed | 2 s |" in programs.row(program, result | {"wrong": ""})
    assert "not run with this kernel" in programs.row(program, None)
