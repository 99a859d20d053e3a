# SPDX-License-Identifier: MIT
"""test_intr.py - moving interrupts: none is lost, each is counted on the CPU that takes it, and fenced CPUs get none."""

import re
import struct

import pytest

from homeroom.machine import TOP

FOLDER = TOP / "build/test-intr"
pytestmark = pytest.mark.xdist_group("intr")  # one worker makes the disks in FOLDER once
BLOCKS = 4096  # number of blocks of 4 KiB; each begins with its number
WINDOW = 15  # seconds

MOVING = pytest.mark.machine("sf3800", disks=(f"{FOLDER}/a.img,queues=2", f"{FOLDER}/b.img,bus=ide"))
STRANDS = pytest.mark.machine("t2000", disks=(f"{FOLDER}/a.img,queues=16",))
OWN = ("device", "timer", "poke", "tlb", "settle", "spurious")  # all reasons for which a CPU is interrupted


@pytest.fixture(scope="module", autouse=True)
def images():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in "ab":
        (FOLDER / f"{name}.img").write_bytes(b"".join(struct.pack("<Q", i).ljust(4096, b"\0") for i in range(BLOCKS)))


def interrupts(machine) -> dict[str, tuple[int, list[int]]]:
    """Device interrupts by name: their number, and the count on each CPU."""
    rows = re.findall(r"^ *(\d+):((?: +\d+)+)   \S+ +\S+   (\S+)$", machine.check("cat /proc/interrupts"), re.MULTILINE)
    return {name: (int(irq), [int(n) for n in numbers.split()]) for irq, numbers, name in rows}


def figures(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}


def place(machine, irq: int) -> int:
    return int(machine.check(f"cat /proc/irq/{irq}/effective_affinity_list"))


@MOVING
def test_ten_thousand_moves_lose_no_interrupt(machine):
    """Two messages and an ISA line move 10,000 times each while their disks are read; all reads return the right data."""
    before = interrupts(machine)
    irqs = [before[name][0] for name in ("vda-q0", "vda-q1", "ide0")]
    options = " ".join(f"-i {irq}" for irq in irqs)
    got = figures(machine.check(f"/usr/test/intrload -m 10000 {options} /dev/vda /dev/hda", timeout=300))
    assert got["moves"] == 30000 and got["wrong"] == 0 and got["reads"] > 100
    after = interrupts(machine)
    for irq, name in zip(irqs, ("vda-q0", "vda-q1", "ide0"), strict=True):
        moves = int(machine.check(f"cat /proc/irq/{irq}/counts").split()[1])
        assert moves >= 9990, (name, moves)
        arrived = [b - a for a, b in zip(before[name][1], after[name][1], strict=True)]
        assert sum(n > 0 for n in arrived) > 1, (name, arrived)
    assert "hda" not in machine.check("dmesg | grep -i 'reset\\|timed out' || true")


@MOVING
def test_bound_interrupt_keeps_its_cpu(machine):
    """An interrupt that is bound to one CPU prevents fencing that CPU: the kernel prints its name, and moves nothing."""
    irq = interrupts(machine)["vda-q1"][0]
    machine.check(f"echo 6 > /proc/irq/{irq}/smp_affinity_list")
    try:
        assert place(machine, irq) == 6
        for option in "if":
            refused = machine.run(f"psradm -{option} 6")
            assert (refused.status, refused.out) == (1, "psradm: processor 6: Device busy\n")
        assert f"vda-q1 (irq {irq}) may arrive nowhere else" in machine.check("dmesg")
        assert machine.check("psrinfo 6").split()[1] == "on-line"
    finally:
        machine.check(f"echo 0-7 > /proc/irq/{irq}/smp_affinity_list")
    machine.check("psradm -i 6")
    assert place(machine, irq) != 6
    machine.check("psradm -n 6")


@MOVING
@pytest.mark.parametrize("text", ["8", "3-", "x", "5-3", "", "1,,2", "300"])
def test_wrong_affinity_changes_nothing(machine, text):
    irq = interrupts(machine)["vda-q0"][0]
    assert machine.run(f"echo '{text}' > /proc/irq/{irq}/smp_affinity_list").status != 0
    assert machine.check(f"cat /proc/irq/{irq}/smp_affinity_list") == "0-7\n"
    assert machine.run(f"echo 1 > /proc/irq/{irq}/smp_affinity_list", uid=1000).status != 0


@MOVING
def test_interrupts_leave_and_come_back(machine):
    """The interrupts of a CPU that is off-line or no-intr go to its own board, and return when it is on-line again."""
    irq = interrupts(machine)["vda-q1"][0]
    home = place(machine, irq)
    for option in "if":
        machine.check(f"psradm -{option} {home}")
        assert place(machine, irq) != home and place(machine, irq) // 4 == home // 4
        before = interrupts(machine)["vda-q1"][1][home]
        machine.check("/usr/test/intrload -s 1 /dev/vda")
        assert interrupts(machine)["vda-q1"][1][home] == before
        machine.check(f"psradm -n {home}")
        assert place(machine, irq) == home


@MOVING
def test_intrstat(machine):
    queues = {name: place(machine, interrupts(machine)[name][0]) for name in ("vda-q0", "vda-q1")}
    cpus = sorted(set(queues.values()))
    command = f"intrstat -k -c {','.join(map(str, cpus))} 1 3"
    got = machine.check(f"/usr/test/intrload -s 4 /dev/vda >/dev/null & {command}; wait").splitlines()
    head = ["      device |" + "".join(f"      cpu{cpu} %tim" for cpu in cpus), "-------------+" + "-" * 15 * len(cpus)]
    assert got[1:3] == head and got.count(head[0]) == 3
    rows = [(line.split("|")[0].strip(), line.split("|")[1].split()) for line in got if "|" in line and line != head[0]]
    assert {"vda-q0", "vda-q1", "uart1", "ide0", "timer", "poke", "tlb", "poke wakeup"} <= {name for name, _ in rows}
    assert sum(int(row[2 * cpus.index(queues[name])]) for name, row in rows if name in queues) > 0
    assert all(re.fullmatch(r"\d+", row[0]) and re.fullmatch(r"\d+\.\d|-", row[1]) for _, row in rows)


REASONS = ("wakeup", "steal", "move", "signal", "priority")  # reasons for pokes


def cpu_counts(machine, names) -> list[dict[str, int]]:
    stats = machine.kstats()
    return [{name: stats[name.format(cpu)] for name in names} for cpu in range(32)]


def gained(machine, command: str, timeout: float = 120) -> list[dict[str, int]]:
    """The increase of the counts of each CPU of t2000 during a command."""
    pokes = [f"poke {why}" for why in REASONS]
    names = [f"intr:{{0}}:cpu:{name}" for name in (*OWN, *pokes)]
    names += [f"cpu:{{0}}:sys:{name}" for name in ("intr", "ithr", "idl_ticks", "usr_ticks", "sys_ticks", "wt_ticks")]
    before = cpu_counts(machine, names)
    machine.check(command, timeout)
    after = cpu_counts(machine, names)
    return [{key.rsplit(":", 1)[1]: new[key] - old[key] for key in new} for old, new in zip(before, after, strict=True)]


def uptime(machine) -> float:
    return float(machine.check("cat /proc/uptime").split()[0])


def timers_of_a_second(machine, cpu: int) -> float:
    """How many timer interrupts a CPU takes in a second, measured in about one."""
    began, before = uptime(machine), machine.kstats(f"intr:{cpu}:cpu:timer")
    machine.check("sleep 1")
    after = machine.kstats(f"intr:{cpu}:cpu:timer")
    return (sum(after.values()) - sum(before.values())) / (uptime(machine) - began)


@STRANDS
def test_fenced_cpus_are_left_alone(machine):
    """Set 1 is fenced, and the load is outside: its CPUs are idle, with at most one interrupt a second, none of a device."""
    try:
        machine.check("psrset -c 0-15 && psrset -f 1")
        places = [place(machine, irq) for irq, _ in interrupts(machine).values()]
        assert all(cpu >= 16 for cpu in places) and len(set(places)) == 16
        rows = gained(machine, f"/usr/test/intrload -s {WINDOW} /dev/vda")
        for row in rows[:16]:
            assert row["intr"] <= WINDOW and row["ithr"] == 0 and row["device"] == 0, row
            assert row["idl_ticks"] > 0 and row["usr_ticks"] + row["sys_ticks"] + row["wt_ticks"] == 0, row
        assert sum(row["ithr"] for row in rows[16:]) > 100
        assert sum(row["idl_ticks"] for row in rows[16:]) < sum(row["idl_ticks"] for row in rows[:16])
    finally:
        machine.check("psrset -n 1; psrset -d 1")


@STRANDS
def test_load_inside_a_fenced_set_is_told_apart(machine):
    """Processes of the set read a disk: the set gets no device interrupt, only pokes, which are counted by reason."""
    try:
        machine.check("psrset -c 0-15 && psrset -f 1")
        rows = gained(machine, "psrset -e 1 /usr/test/intrload -s 3 /dev/vda")
        for row in rows[:16]:
            assert row["device"] == 0 and row["ithr"] == 0, row
            assert row["intr"] == sum(row[name] for name in OWN), row
        inside = {name: sum(row[name] for row in rows[:16]) for name in rows[0]}
        assert inside["poke wakeup"] > 100 and inside["poke"] > 100
        assert inside["poke"] <= sum(inside[f"poke {why}"] for why in REASONS)
        assert sum(row["device"] for row in rows[16:]) > 100
    finally:
        machine.check("psrset -n 1; psrset -d 1")


@pytest.mark.long
@STRANDS
def test_a_lone_computing_thread_has_a_tick_a_second(machine):
    """On a fenced CPU, time slices end only while threads compete for it."""
    spin = "psrset -e 1 sh -c 'while :; do :; done' > /dev/null 2>&1 &"
    try:
        machine.check("psrset -c 3 && psrset -f 1")
        began = uptime(machine)
        one = gained(machine, f"{spin} p=$!; sleep 5; kill $p; wait")[3]
        assert one["usr_ticks"] + one["sys_ticks"] > 0 and one["device"] == 0
        assert one["timer"] <= uptime(machine) - began + 2, one
        pids = machine.check(f"{spin} p=$!; {spin} echo $p $!").strip()
        more = any(timers_of_a_second(machine, 3) > 3 for _ in range(60))  # fewer while QEMU waits for a CPU of the host
        machine.check(f"kill {pids}")
        assert more
    finally:
        machine.check("psrset -n 1; psrset -d 1")
