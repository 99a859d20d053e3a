# SPDX-License-Identifier: MIT
"""test_balance.py - make experiment-balance: each row of misplace runs, and the page compares the policies."""

import json

import pytest

from homeroom.experiments import balance, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results in a folder of their own, named without digests of the image."""
    monkeypatch.setattr(run, "RUNS", tmp_path)
    monkeypatch.setattr(run, "depends", lambda _: [])
    return tmp_path


def put(what, seed, seconds, log="", local=100, remote=300, **result):
    file, text = run.paths(what, seed)
    measured = {"result": {"modelled_s": str(seconds), **result}, "counters": {"miss_local": local, "miss_remote": remote}}
    file.write_text(json.dumps({"measurements": [measured]}))
    text.write_text(log)


def kstats(sampled, moved):
    return f"lgrp:0:balance:pages sampled\t{sampled}\nlgrp:0:balance:samples\t9\nlgrp:0:balance:pages moved\t{moved}\n"


def test_each_row_runs(boot_once):
    """Each row prints its line."""
    loop = f"for row in {' '.join(balance.ROWS)}; do misplace -p both -n 1k -k 16 $row || exit; done"
    outcome, text, _ = boot_once("sf3800", run=loop, seed=7)
    assert outcome.status == 0, text
    for row in balance.ROWS:
        for placement in ("first", "random"):
            assert f"result: bench=misplace row={row} placement={placement} threads=8 visits=1024 " in text


def test_page(folder):
    for seed, (first, balanced) in enumerate([(1.0, 0.8), (1.1, 0.9), (1.2, 0.7)], 1):
        put(balance.definition("sf3800", "init", "first"), seed, first)
        put(balance.definition("sf3800", "init", "balance"), seed, balanced, kstats(2000, 500), local=300, remote=100)
    put(balance.definition("sf3800", "all", "first"), 1, 1.0)
    put(balance.definition("sf3800", "all", "balance"), 1, 1.05)
    put(balance.cost_definition("sf3800", False), 1, 0, wall_s="1.000")
    put(balance.cost_definition("sf3800", True), 1, 0, kstats(1000, 300), wall_s="1.002")
    text, holds = balance.page(3)
    assert not holds
    assert "| 1.100 (1.000 to 1.200) | not measured | 0.800 (0.700 to 0.900) | -27.2% |  | 75, -, 25 |" in text
    assert "| +5.0% **does not hold** |" in text
    assert "| `init` | 2000 | 500 | 0 | 0 | 0.07 |" in text  # 2000 pages * 2000 instructions * 1.111 ns / 8 CPUs / 0.8 s
    assert "costs 2,000 instructions of the kernel" in text and "to move 0.30 pages" in text


def test_only_what_is_missing_is_run(folder):
    runs = balance.todo(["init"], 2, False)
    assert len(runs) == 4 + 2 * 2 * 3 and [seed for _, seed in runs[:8]] == [1] * 8
    put(*runs[5], 1.0)
    assert len(balance.todo(["init"], 2, False)) == len(runs) - 1
    assert [what.balancing for what, _ in balance.todo(["init"], 1, True) if what.os == "linux"] == [False, True] * 2
