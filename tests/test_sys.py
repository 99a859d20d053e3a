# SPDX-License-Identifier: MIT
"""test_sys.py - system calls from outside: /etc/system, tunables, calls that do not exist, truss."""

import hashlib
import re

import pytest

from homeroom.machine import TOP

PAGE = TOP / "docs/tunables.md"
SYSTEM = "set lgrp_loadavg_tolerance=0x1000; set nothing=1; set nlgrps=7; set max_nprocs=1x; frob; set rechoose_interval | 4 x"

pytestmark = pytest.mark.machine("sf280r", system=SYSTEM)


def variable(machine, name, form="X"):
    return machine.check(f"echo {name}/{form} | mdb -k").split()[-1]


def test_system_file(machine):
    """Each wrong line gives a warning and sets nothing; the other lines count."""
    log = machine.check("dmesg")
    for text in (
        "sorry, variable 'nothing' is not defined in the 'kernel' on line",
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
    assert machine.run("echo nlgrps/W 9 | mdb -kw").out.strip() == "mdb: failed to write nlgrps: it is read only"
    assert variable(machine, "nlgrps") == "1"


def ranges() -> dict[str, tuple[int, int]]:
    """The range of each variable that can be set, from the table in the documentation."""
    rows = re.findall(r"^\| `([\w:]+)` \| (\d+) to (\d+) \|", PAGE.read_text(), re.M)
    return {name: (int(least), int(greatest)) for name, least, greatest in rows}


def below_or_above(least: int, greatest: int) -> int:
    return least - 1 if least > 0 else greatest + 1 if greatest < 2**64 - 1 else -5


def values(machine, names) -> dict[str, int]:
    """The present values of variables."""
    lines = "".join(f"{name.split(':')[-1]}/E\\n" for name in names)
    shown = machine.check(f"printf '{lines}' | mdb -k").split()[2::3]
    return dict(zip(names, map(int, shown), strict=True))


def test_values_outside_every_range(machine, boot):
    """Each value gives one line, and the default stays, which is in the range; the table in docs/tunables.md has the same."""
    table = ranges()
    wrong = {name: below_or_above(*limits) for name, limits in table.items()}
    policy = "set pageout_policy=1; "  # otherwise there are no priority_paging and cachefree
    other = boot("sf280r", system=policy + "; ".join(f"set {name}={value}" for name, value in wrong.items()))
    log = re.findall(r"(\w+)=(-?\d+) on line (\d+) of etc/system: allowed are (\d+) to (\d+); (?:\d+|the default) stays$",
                     other.check("dmesg"), re.M)  # fmt: skip
    assert log == [
        (name.split(":")[-1], str(wrong[name]), str(line), *map(str, table[name])) for line, name in enumerate(table, 2)
    ]
    got = values(other, list(table))
    assert not {name: v for name, v in got.items() if not table[name][0] <= v <= table[name][1]}
    same = [n for n in table if n not in ("pageout_policy", "priority_paging", "cachefree", "lgrp_loadavg_tolerance",
                                          "rechoose_interval")]  # fmt: skip
    assert values(machine, same) == {name: got[name] for name in same}
    # The same for mdb, above each range.
    above = {name.split(":")[-1]: limits for name, limits in table.items() if limits[1] < 2**64 - 1}
    lines = "".join(f"{name}/Z 0t{greatest + 1}\\n" for name, (_, greatest) in above.items())
    refused = other.run(f"printf '{lines}' | mdb -kw")
    assert refused.status == 1
    at_boot = set(re.findall(r"TUNABLE_BOOT(?:_IF)?\(\s*(\w+),", "".join(f.read_text() for f in (TOP / "kernel").rglob("*.c"))))
    assert {"mpo_enable", "pageout_policy", "priority_paging"} <= at_boot
    assert [ln.rsplit(";", 1)[0] for ln in refused.out.splitlines()] == [
        f"mdb: failed to write {name}: "
        + (
            "it is read at boot: set it in /etc/system"
            if name in at_boot
            else f"allowed are 0t{least} to 0t{greatest}, not 0t{greatest + 1}"
        )
        for name, (least, greatest) in above.items()
    ]
    assert values(other, list(table)) == got


@pytest.mark.parametrize("end", [0, 1], ids=["least", "greatest"])
def test_ends_of_every_range(boot_once, end):
    """With all variables at one end of their ranges, a machine with the least memory boots and works."""
    system = "; ".join(f"set {name}={limits[end]}" for name, limits in ranges().items())
    run = "memcopy -t 2 >/dev/null && dd if=/dev/zero of=/tmp/x bs=64k count=4 && sync && ping -c 1 127.0.0.1 && echo fine"
    outcome, console, _ = boot_once("sf280r", memory="64M", system=system, run=run)
    assert outcome.status == 0, console
    assert console.splitlines()[-1] == "fine" and ": allowed are" not in console


def test_thresholds_beside_each_other(machine):
    """The pageout daemon corrects a threshold that does not fit the memory or another threshold, and prints a line."""
    before = values(machine, ["lotsfree", "desfree", "minfree", "throttlefree", "pageout_reserve"])
    for name in ("throttlefree", "pageout_reserve", "lotsfree"):
        machine.check(f"echo {name}/Z 0t{1 << 30} | mdb -kw; until dmesg | grep -q {name}={1 << 30}; do sleep 0.1; done")
        assert f"{name}={1 << 30} does not fit this machine's memory or the other variables; {before[name]} is in force" in (
            machine.check("dmesg")
        )
    assert values(machine, list(before)) == before


def test_messages_that_were_cleared(boot):
    """dmesg -c removes them from the next dmesg, but not from /dev/kmsg."""
    machine = boot("sf280r")
    assert "Homeroom: " in machine.check("dmesg -c")
    machine.check("echo later > /dev/kmsg")
    shown = machine.check("dmesg")
    assert "later\n" in shown and "Homeroom: " not in shown
    assert "Homeroom: " in machine.check("cat /dev/kmsg")


def test_unknown_calls_are_counted(machine):
    """They are counted by name, so that one can see which calls a program has tried."""
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
