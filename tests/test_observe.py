# SPDX-License-Identifier: MIT
"""test_observe.py - balancing by observation: pages and threads move to each other, and only with lgrp_balance=1.

tests/host/test_observe.c tests the decisions, tests/host/test_as.c the hidden translations.
"""

import os

import pytest

from homeroom.machine import TOP
from test_programs import verdicts

pytestmark = [pytest.mark.part("observe"), pytest.mark.xdist_group("observe")]

FOLDER = TOP / "build/test-observe"
ON = pytest.mark.machine("sf3800", system="set lgrp_balance=1", seed=5)
OFF = pytest.mark.machine("sf3800", seed=5)
SMALL = pytest.mark.machine("sf3800", system="set lgrp_balance=1", memory="64M", disks=(f"{FOLDER}/swap.img",))
PAGES = 256  # of t_observe


@pytest.fixture(scope="module", autouse=True)
def images():
    FOLDER.mkdir(parents=True, exist_ok=True)
    new = FOLDER / f"swap.{os.getpid()}"
    with new.open("wb") as file:
        file.truncate(192 << 20)
    new.replace(FOLDER / "swap.img")


def check(machine, command):
    result = machine.run(command, timeout=400)
    said = verdicts(result.out)
    assert result.status == 0 and "PASS" in said.values(), result.out
    return said


@ON
@pytest.mark.long
def test_pages_and_threads_move(machine):
    """The pages of each phase move to the board of their users; a thread moves to its pages; placed ones stay."""
    before = machine.kstats("lgrp:0:balance")
    said = check(machine, "trace -n 65536 -e page -o /tmp/trace /usr/test/t_observe")
    assert set(said.values()) == {"PASS"}, said
    after = machine.kstats("lgrp:0:balance")
    moved = {name.split(":")[-1]: after[name] - before[name] for name in after}
    # Two tests of four phases, of which the first moves nothing, and one phase of a third test.
    assert moved["pages moved"] >= (2 * 3 + 1) * PAGES, moved
    traced = machine.check("trace -i /tmp/trace | grep -c ' page .*, used there$'; trace -i /tmp/trace | grep -c ' page ' ")
    used_there, all_pages = map(int, traced.split())
    assert 7 * PAGES <= used_there <= moved["pages moved"] and used_there <= all_pages <= used_there + moved["pages spread"]
    assert moved["threads moved"] >= 1 and moved["samples"] >= 2 * moved["pages moved"], moved
    assert moved["pages sampled"] >= moved["samples"], moved


@ON
@pytest.mark.long
def test_races(machine):
    """Sampling while threads fork, unmap, protect, move, exit and truncate: no addition is lost."""
    before = machine.kstats("lgrp:0:balance:samples")
    check(machine, "UNBOUND=1 /usr/test/t_vmrace")
    after = machine.kstats("lgrp:0:balance:samples")
    assert sum(after.values()) - sum(before.values()) > 1000
    machine.check("echo vmcheck > /dev/selftest")


@pytest.mark.long
@OFF
def test_nothing_moves_without_it(machine):
    said = check(machine, "STAY=1 /usr/test/t_observe")
    assert said["pages_move_to_their_users"] == said["a_bound_process_is_left_alone"] == "PASS", said
    assert machine.kstats("lgrp:0:balance") == {}
    assert all(n == 0 for name, n in machine.kstats("lgrp:").items() if name.endswith("migrated to"))


@SMALL
@pytest.mark.long
def test_sampling_and_swap(machine):
    """Pages that are sampled go to swap and come back with their contents."""
    machine.check("swap -a /dev/vda")
    for what in ("anon 120 1", "shared 120 1", "looks 150 3"):
        assert "bad=0" in machine.check(f"/usr/test/paging {what}", timeout=300)
    assert sum(machine.kstats("lgrp:0:balance:pages sampled").values()) > 1000
