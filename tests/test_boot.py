# SPDX-License-Identifier: MIT
"""test_boot.py - every machine boots, shows its boards and powers off; each way in which a boot can fail is reported."""

import re
import time

import pytest

from harness import GuestDied
from homeroom import guest, machine

# Besides the machines of qemu/machines: the lgroups of odd machines, and the CPUs of each lgroup in order.
ODD = {
    "cpus128": [4] * 32,
    "cpus255": [4] * 63 + [3],
    "nosrat": [4],
    "noslit": [2, 2, 2],
    "asymmetric": [2, 2, 2],
    "threelevel": [2, 2, 2, 2],
    "memoryless": [2, 2, 2],
    "cpuless": [2, 2, 0],
    "sparse": [2, 2, 2],
}


def count(ranges: str) -> int:
    """The number of CPUs in a text such as "0-3 72 73"."""
    ends = [part.split("-") for part in ranges.split()]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)


@pytest.mark.core
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n == "cpus255")) for n in (*machine.names(), *ODD)]
)
def test_machine_boots_and_powers_off(name, boot_once):
    expected = ODD.get(name)
    if expected is None:
        one = machine.load(name)
        expected = [len(one.domain_cpus(d)) for d in range(one.domains)]
    outcome, text, _ = boot_once(name, run="psrinfo | grep -c on-line; lgrpinfo -I; lgrpinfo -c $(lgrpinfo -I)")
    assert (outcome.kind, outcome.status) == ("clean", 0), text
    lines = text.splitlines()
    ids = " ".join(map(str, range(len(expected))))
    at = lines.index(ids)
    assert lines[at - 1] == str(sum(expected))
    cpus = [line.split(":")[1] for line in lines[at:] if line.startswith("\tCPU")]
    assert [0 if "none" in c else count(c) for c in cpus] == expected


@pytest.mark.parametrize("kernel", ["test", "normal"])
def test_status_of_the_command_is_passed_on(kernel, boot_once):
    outcome, _, lines = boot_once("sf280r", run="exit 77", kernel=kernel)
    assert (outcome.kind, outcome.status) == ("clean", 77)
    assert sum(line.startswith("exit ") for line in lines) == 1


def test_signal_of_the_command_is_passed_on(boot_once):
    outcome, _, _ = boot_once("sf280r", run="kill -TERM $$")
    assert outcome.status == 128 + 15


def test_shell_on_the_console_powers_off(boot_once, boot):
    one = boot("sf3800")
    one.expect(r"# ")
    one.type("echo $((6 * 7)) lgroups\n")
    one.expect(r"^42 lgroups")
    one.type("poweroff\n")
    outcome = one.guest.wait(30)
    assert outcome.kind == "clean"


def test_halt_and_reboot(boot):
    for command, kind in (("halt", "clean"), ("reboot", "reboot")):
        one = boot("sf280r")
        one.expect(r"# ")
        one.type(f"{command}\n")
        assert one.guest.wait(30).kind == kind


@pytest.mark.parametrize("name", ["sf3800", pytest.param("sf15k", marks=pytest.mark.long)])
def test_the_cd_boots_as_well(boot, tmp_path, name):
    """A boot through GRUB has the same memory, files and options as one in which QEMU loads the kernel."""
    (tmp_path / "motto").write_text("every thread has a home\n")
    texts = []
    for cd in (False, True):
        one = boot(name, overlay=tmp_path, system="set lgrp_loadavg_tolerance=0x1234", seed=5, cd=cd)
        assert ("-kernel" in one.guest.command()) != cd and ("scsi-cd,drive=cd,bootindex=0" in one.guest.command()) == cd
        command = "grep -c . /proc/cpuinfo && find / -xdev | wc -l && cat /motto && lgrpinfo -cm | head -2"
        texts.append(one.check(f"{command} && echo lgrp_loadavg_tolerance/X | mdb -k"))
        texts.append(int(re.search(r"MemTotal: *(\d+)", one.check("cat /proc/meminfo"))[1]))
        assert "seed 0x5\n" in one.guest.text().replace("\r", "")
    assert "every thread has a home" in texts[0] and "1234" in texts[0]
    assert texts[0] == texts[2]
    assert texts[1] == pytest.approx(texts[3], abs=256)


def test_overlay_and_system_reach_the_guest(boot_once, tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/motto").write_text("every thread has a home\n")
    (tmp_path / "hello").write_text("#!/bin/sh\ncat /etc/motto\n")
    (tmp_path / "hello").chmod(0o755)
    outcome, text, _ = boot_once(
        "sf280r",
        run="/hello && echo lgrp_loadavg_tolerance/X | mdb -k",
        overlay=tmp_path,
        system="set lgrp_loadavg_tolerance=0x1234; set nonsense=1",
    )
    assert outcome.status == 0, text
    assert "every thread has a home" in text
    assert "1234" in text
    assert "sorry, variable 'nonsense' is not defined in the 'kernel'" in text


def test_same_seed_same_choices(boot_once):
    texts = [
        boot_once("sf3800", run="od -An -tx1 -N16 /dev/urandom | head -1 | md5sum", seed=7, icount=True)[1] for _ in range(2)
    ]
    assert texts[0] == texts[1]


def test_a_full_first_disk_of_arguments(boot_once):
    """A command line of tens of kilobytes arrives completely."""
    words = "x" * 20000
    outcome, _, _ = boot_once("sf280r", run=f"w={words}; exit $((${{#w}} / 1000))")
    assert outcome.status == 20


def test_a_machine_tells_what_it_waits_for(boot):
    """If a command does not end, the test ends, and the console shows what CPUs and threads do."""
    booted = boot("sf280r", watchdog=20)
    with pytest.raises(GuestDied, match="did not end in 3 s"):
        booted.run("while :; do :; done", timeout=3)
    text = booted.guest.text()
    # An interrupt may have come just before, while a lock was held, and fsflush may run; the reaper has nothing to do.
    assert re.search(r"^CPU \d runs sh, \d locks, at$", text, re.MULTILINE), text
    waits = re.search(r"^thread \d+ reaper waits for reaper\n((  .*\n)+)", text, re.MULTILINE)
    assert waits is not None and "cv_sleep+" in waits[1] and "reaper_main+" in waits[1], text
    assert " init waits" not in text, text  # init waits for a signal, too


def test_every_cpu_tells_where_each_has_a_host_thread(boot):
    """NMIs wake CPUs that wait for locks.  The NMI for all CPUs may come at the same time as one of those."""
    booted = boot("sf3800", threads="multi", watchdog=None)
    booted.run("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do (while :; do (:); done) & done")
    time.sleep(1)
    booted.guest.ask()
    text = booted.guest.text()
    assert "NMI: what CPUs run and threads wait for" in text, text
    assert re.search(r"^thread \d+ \S+ waits for ", text, re.MULTILINE), text
    assert "does not answer" not in text, text


def test_hung_user_program_is_not_a_hung_kernel(boot_once):
    """A program in an endless loop is progress to the watchdog; the time limit ends the run."""
    outcome, _, lines = boot_once("sf280r", run="while :; do :; done", watchdog=1, timeout=4)
    assert outcome.kind == "timeout"
    assert any(line.startswith("alive") for line in lines)
    assert outcome.exit_code(True) == guest.STATUS_TIMEOUT
