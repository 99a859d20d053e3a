# SPDX-License-Identifier: MIT
"""The dispatcher under load: home first, remote only to run at once, back home, nearest boards first."""

import pytest

from homeroom import guest

pytestmark = pytest.mark.core


def figures(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def total(kstats: dict[str, int], name: str) -> int:
    return sum(value for key, value in kstats.items() if key.endswith(f":sys:{name}"))


def dispatches(machine) -> tuple[int, int]:
    stats = machine.kstats("cpu:")
    return total(stats, "disp_home"), total(stats, "disp_remote")


@pytest.mark.machine("sf6800")
def test_crowded_home_runs_remotely_without_remote_pages(machine):
    """12 threads at home on one board of four CPUs: eight run elsewhere, and none of their pages does."""
    _, before = dispatches(machine)
    got = figures(machine.check("/usr/test/disp crowd 2 12 2000", timeout=120))
    _, after = dispatches(machine)
    assert after - before >= 8
    assert got["remote_pages"] == "0"
    assert len(got["cpus"].split()) >= 12


@pytest.mark.machine("sf6800")
def test_survivors_go_home_when_there_is_room(machine):
    """When 8 of 12 exit, the others run at home from their second wake-up on."""
    got = figures(machine.check("/usr/test/disp leave 1 12 4", timeout=120))
    assert got["home_second"] == "4"
    assert got["remote_seen"] == "0"


def test_full_machine_stays_home(boot):
    """Five computing threads for each CPU: more than 95 % of the dispatches are at home.

    Guest time counts instructions here, so that how many turns a thread gets does not depend on what else the host does.
    """
    got = figures(boot("sf6800", qemu_args=guest.ICOUNT).check("/usr/test/disp full 5", timeout=240))
    home, remote = int(got["dispatched_home"]), int(got["dispatched_remote"])
    assert home + remote > 100
    assert home / (home + remote) > 0.95, (home, remote)
    assert got["remote_pages"] == "0"


@pytest.mark.machine("threelevel")
def test_nearest_board_helps_first(machine):
    """On three levels of distance, the threads that find no room at home run on the nearest boards."""
    distance = [int(d) for d in machine.check("cat /sys/devices/system/node/node0/distance").split()]
    boards = [cpus(machine.check(f"cat /sys/devices/system/node/node{i}/cpulist")) for i in range(len(distance))]
    order = sorted(set(distance))
    assert len(order) >= 3
    level = [[cpu for i, d in enumerate(distance) if d == near for cpu in boards[i]] for near in order]
    home, near = len(level[0]), len(level[1])

    got = figures(machine.check(f"/usr/test/disp crowd 0 {home + near} 2000", timeout=120))
    used = {int(cpu) for cpu in got["cpus"].split()}
    assert used <= set(level[0] + level[1])
    assert set(level[1]) <= used
    assert got["remote_pages"] == "0"

    got = figures(machine.check(f"/usr/test/disp crowd 0 {home + near + 1} 2000", timeout=120))
    used = {int(cpu) for cpu in got["cpus"].split()}
    assert used <= set(level[0] + level[1] + level[2])
    assert used & set(level[2])


def cpus(text: str) -> list[int]:
    out = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def woken(machine) -> int:
    """Pokes that CPUs 4 to 7 were sent because a thread was queued there."""
    stats = machine.kstats("intr:")
    return sum(stats[f"intr:{cpu}:cpu:poke wakeup"] for cpu in range(4, 8))


@pytest.mark.machine("sf3800")
def test_fenced_cpus_that_do_not_halt(machine):
    """They find what there is to run without being interrupted, and begin to halt again when they are told to.

    There are more CPUs than threads: a busy CPU is poked all the same when a thread with a higher priority is queued there.
    """
    sent = {}
    machine.check("psrset -c 4-7 && psrset -f 1")
    for halt in (1, 0, 1):
        machine.check(f"echo halt_fenced_cpus/W {halt} | mdb -kw")
        before = woken(machine)
        machine.check("psrset -e 1 sh -c 'head -c 8m /dev/zero | tr a b | wc -c'")
        sent[halt] = woken(machine) - before
    machine.check("psrset -n 1 && psrset -d 1")
    assert sent[1] > 40
    assert sent[0] < sent[1] / 4
