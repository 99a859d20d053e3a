# SPDX-License-Identifier: MIT
"""test_programs.py - the test programs (user/test/t_*.c) on Homeroom, and on the host if Linux has the same calls.

A program prints PASS, FAIL or SKIP for each of its tests.  Here each program is one test; if it fails, its output is shown.
"""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import HOST_LIMIT, default_signals

ROOT = Path(__file__).resolve().parent.parent
HRCC = ROOT / "tools/hrcc"
LINUX_TOO = ["t_mem", "t_mlock", "t_proc", "t_perm", "t_signal", "t_race", "t_thread", "t_file", "t_time", "t_sys", "t_net"]
LINUX_TOO += ["t_epoll", "t_unix", "t_numa", "t_event", "t_linux", "t_sysv", "t_ptrace"]
ALL = [*LINUX_TOO, "t_lgrp", "t_pset", "t_vmrace"]
PARTS = {  # of the kernel
    "net": ["t_perm", "t_race", "t_sys", "t_net", "t_epoll", "t_unix"],
    "numa": ["t_numa"],
    "compat": ["t_event", "t_linux"],
    "sem": ["t_sysv"],
    "ptrace": ["t_ptrace"],
}
LONG = ["t_race", "t_vmrace"]  # two CPUs race less than eight
USER = 1000  # `student` of the guest
SIX_BOARDS = ["t_race", "t_lgrp", "t_mem", "t_numa"]  # their results depend on the number of boards
SLOW = ["t_mem", "t_race", "t_vmrace"]  # on two boards they run in the long tests; t_mem and t_race run on six

SLOW_ON_LINUX = ["t_file", "t_race", "t_time"]


def programs(names, long=()):
    """Test parameters for these programs, with marks for those in `long` and for those that need a part of the kernel."""
    for name in [*names, *long]:
        marks = [pytest.mark.long] * (name in long) + [pytest.mark.part(part) for part in PARTS if name in PARTS[part]]
        yield pytest.param(name, marks=marks)


def verdicts(output):
    """{test: PASS|FAIL|SKIP} from the output of a program."""
    words = [line.split() for line in output.splitlines()]
    return {w[1]: w[0] for w in words if len(w) == 2 and w[0] in ("PASS", "FAIL", "SKIP")}


def check_on_host(program, folder, **options):
    """Compiles the program in the folder, and runs it with these options of subprocess.run()."""
    binary = folder / program
    source = ROOT / f"user/test/{program}.c"
    subprocess.run([HRCC, "-O2", "-D_GNU_SOURCE", source, "-o", binary], check=True)
    options |= {"stdin": subprocess.DEVNULL, "preexec_fn": default_signals}
    with source.open() as lock:  # another worker may run the program as another user, and its files must stay
        fcntl.flock(lock, fcntl.LOCK_EX)
        there = set(Path(tempfile.gettempdir()).glob(f"{program}.*"))
        done = subprocess.run([binary], capture_output=True, text=True, timeout=HOST_LIMIT, **options)
        for left in set(Path(tempfile.gettempdir()).glob(f"{program}.*")) - there:
            subprocess.run(["rm", "-rf", left], check=False)
    assert done.returncode == 0, done.stdout
    assert "PASS" in verdicts(done.stdout).values()


@pytest.mark.parametrize("program", programs((p for p in LINUX_TOO if p not in SLOW_ON_LINUX), SLOW_ON_LINUX))
def test_on_linux(program, tmp_path):
    """The programs must pass on Linux, too, because its interface is the model of ours."""
    os.chmod(tmp_path, 0o755)
    check_on_host(program, tmp_path)


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="test_on_linux has run them as an ordinary user")
def test_on_linux_as_user():
    """What only root may do, the programs skip, or they expect that it fails.  Not t_race."""
    with tempfile.TemporaryDirectory() as folder:  # others cannot enter the folders of pytest
        os.chown(folder, USER, USER)
        for program in LINUX_TOO:
            if program != "t_race":
                check_on_host(program, Path(folder), user=USER, group=USER, extra_groups=[], cwd=folder)


def check_on(machine, program, folder="/usr/test"):
    result = machine.run(f"{folder}/{program}", timeout=300)
    assert result.status == 0, result.out
    assert "FAIL" not in verdicts(result.out).values(), result.out
    assert "PASS" in verdicts(result.out).values(), result.out


@pytest.mark.long
def test_as_user(boot):
    """The same as test_on_linux_as_user, on Homeroom.  All of t_pset needs root."""
    machine = boot("sf3800")
    machine.check("mkdir /tmp/user && chown student /tmp/user")
    for program in [*ALL, "t_fsrace"]:
        if program in LONG:
            continue
        result = machine.run(f"cd /tmp/user && su student -c /usr/test/{program}", timeout=300)
        assert result.status == 0, result.out
        assert "FAIL" not in verdicts(result.out).values(), result.out
        assert "PASS" in verdicts(result.out).values() or program == "t_pset", result.out


@pytest.mark.long
def test_with_glibc(boot, tmp_path):
    """The same programs linked with glibc, which uses other system calls: clone3, rseq, the *at family.  Not t_race."""
    folder = tmp_path / "usr/glibc"
    folder.mkdir(parents=True)
    programs = [program for program in LINUX_TOO if program != "t_race"]
    for program in programs:
        source = ROOT / f"user/test/{program}.c"
        flags = ["-O2", "-w", "-static", "-pthread", "-D_GNU_SOURCE", "-I", ROOT / "include"]
        subprocess.run(["gcc", *flags, source, "-o", folder / program], check=True)
    machine = boot("sf3800", overlay=tmp_path)
    for program in programs:
        check_on(machine, program, "/usr/glibc")


@pytest.mark.long
@pytest.mark.machine("sf280r")
@pytest.mark.core
@pytest.mark.parametrize("program", programs(p for p in ALL if p not in LONG))
def test_on_one_board(machine, program):
    check_on(machine, program)


@pytest.mark.machine("sf3800")
@pytest.mark.core
@pytest.mark.parametrize("program", programs([p for p in ALL if p not in SLOW], SLOW))
def test_on_two_boards(machine, program):
    check_on(machine, program)


@pytest.mark.machine("sf6800")
@pytest.mark.core
@pytest.mark.parametrize("program", programs(SIX_BOARDS, [p for p in ALL if p not in (*SIX_BOARDS, "t_vmrace", "t_time")]))
def test_on_six_boards(machine, program):
    check_on(machine, program)


def test_truncation_is_not_held_up(boot):
    """By a process that changes its mappings of the file: in a time that is a number of instructions."""
    assert "PASS" in boot("sf280r", icount=True).check("MODELLED=1 /usr/test/t_vmrace truncate_is_not_held_up")


@pytest.mark.machine("sf6800")
@pytest.mark.part("numa")
def test_moved_pages_leave_the_tables_whole(machine):
    """Threads that touch, unmap, fork, bind and move the same pages: nothing is lost, and no page has a right too many."""
    checks = "for i in 1 2 3; do echo vmcheck > /dev/selftest; sleep 1; done"
    assert "PASS races" in machine.check(
        f"/usr/test/t_numa races & {checks}; wait $!; echo vmcheck > /dev/selftest", timeout=300
    )


def check_freed(machine, command):
    """The command leaves no objects of the kernel behind."""

    def objects():
        return int(machine.check("grep objects /dev/selftest").split()[1])

    machine.check(command, timeout=300)
    before = objects()
    machine.check(f"for i in 1 2 3 4 5 6 7 8 9 10; do {command} || exit; done", timeout=300)
    for _ in range(100):  # what ended last may still be freed
        if objects() < before + 10:
            return
        machine.check("sleep 0.1")
    raise AssertionError(f"{objects()} objects, {before} before")


@pytest.mark.machine("sf6800")
@pytest.mark.part("numa")
def test_policies_of_ranges_are_freed(machine):
    """They end with the segment, the shared memory or the file that has them."""
    tests = "private_pages shared_pages policy_of_an_object ranges_split_and_join fork_keeps_policies home_node many_policies"
    check_freed(machine, f"/usr/test/t_numa {tests}")


@pytest.mark.machine("sf6800")
@pytest.mark.part("compat")
def test_events_are_freed(machine):
    """Files of events, timers, records of SIGIO and files of memfd_create end with their descriptors and processes."""
    check_freed(
        machine,
        "/usr/test/t_event eventfd_counts timerfd_errors signalfd_siginfos timer_errors timer_fork_exec timer_limit file_limit"
        " && /usr/test/t_linux memfds copies sigio_of_files sigio_permission sigio_race",
    )


@pytest.mark.long
@pytest.mark.machine("sf3800", threads="multi")
def test_with_a_host_thread_for_each_cpu(machine):
    """A CPU halts while it waits for a CPU that has no core of the host.  Without that, this took seven times as long on two
    cores.
    """
    check_on(machine, "t_race")
    check_on(machine, "t_vmrace")
    assert sum(n for name, n in machine.kstats("cpu:").items() if name.endswith(":parks")) > 0
