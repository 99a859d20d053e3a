# SPDX-License-Identifier: MIT
"""test_dispatch.py - the dispatcher under load: threads run at home, elsewhere only to run at once, and then return home."""

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
    """12 threads are at home on a board of four CPUs: eight of them run on other boards, and all pages stay at home."""
    _, before = dispatches(machine)
    got = figures(machine.check("/usr/test/disp crowd 2 12 2000", timeout=120))
    _, after = dispatches(machine)
    assert after - before >= 8
    assert got["remote_pages"] == "0"
    assert len(got["cpus"].split()) >= 12


@pytest.mark.machine("sf6800")
def test_survivors_go_home_when_there_is_room(machine):
    """When 8 of 12 threads exit, the other four run at home from their second wake-up on."""
    got = figures(machine.check("/usr/test/disp leave 1 12 4", timeout=120))
    assert got["home_second"] == "4"
    assert got["remote_seen"] == "0"


def test_full_machine_stays_home(boot):
    """With five computing threads for each CPU, more than 95 % of the dispatches are at home.

    Guest time counts instructions here, so the number of time slices of a thread does not depend on the load of the host.
    """
    got = figures(boot("sf6800", qemu_args=guest.ICOUNT).check("/usr/test/disp full 5", timeout=240))
    home, remote = int(got["dispatched_home"]), int(got["dispatched_remote"])
    assert home + remote > 100
    assert home / (home + remote) > 0.95, (home, remote)
    assert got["remote_pages"] == "0"


@pytest.mark.machine("threelevel")
def test_nearest_board_helps_first(machine):
    """With three levels of distance, threads for which there is no room at home run on the nearest boards."""
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
    """The number of pokes that CPUs 4 to 7 got because a thread was queued there."""
    stats = machine.kstats("intr:")
    return sum(stats[f"intr:{cpu}:cpu:poke wakeup"] for cpu in range(4, 8))


@pytest.mark.machine("sf3800")
def test_fenced_cpus_that_do_not_halt(machine):
    """Fenced CPUs with halt_fenced_cpus=0 find threads without an interrupt; with 1 they halt again.

    There are more CPUs than threads, because a busy CPU gets a poke in any case if a thread of higher priority is queued there.
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
