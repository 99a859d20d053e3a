# SPDX-License-Identifier: MIT
"""test_fabric.py - make experiment-fabric: its rows, their expected values, and those of a mid-range server in a guest."""

import dataclasses

import pytest

from homeroom import model
from homeroom.experiments import fabric, run


def test_rows_have_names_of_their_own_and_refer_to_rows():
    names = [row.name for row in fabric.ROWS]
    assert len(set(names)) == len(names)
    assert {row.less for row in fabric.ROWS} - {""} <= set(names)


def test_what_is_expected_is_the_papers():
    """With the default parameters, the expected values are those of Tables B-2 and B-3 of the white paper."""
    tables: dict[str, dict[tuple[str, str], float]] = {"B-2": {}, "B-3": {}}
    for row in fabric.ROWS:
        if row.paper:
            value = row.expect(fabric.Parameters(row.machine, fabric.settings(row, "")))
            tables[row.paper][row.machine, row.name.partition("-")[2]] = value
    b2 = {key: value for key, value in tables["B-2"].items() if not key[1].endswith("-2")}
    same = {"own": 180, "pair": 193, "board": 207}
    mid, high = same | {"other-board": 240}, same | {"hit": 333, "miss": 440}
    assert b2 == {("sf6800", k): v for k, v in mid.items()} | {("sf15k", k): v for k, v in high.items()}
    one, aggregate = {"local-1": 6700, "remote-1": 2400}, {
        "sf6800": {"local": 9600, "remote": 9600},
        "sf12k": {"local": 60300, "remote": 21600},
        "sf15k": {"local": 120600, "remote": 43200},
    }  # fmt: skip
    assert tables["B-3"] == {(name, k): v for name, rows in aggregate.items() for k, v in (one | rows).items()}


def test_every_parameter_is_changed_on_some_machine():
    numbers = {key for key, limits in model.LIMITS.items() if not isinstance(limits[0], str)}
    assert {key for keys in fabric.CHANGES for key in keys} == numbers - fabric.UNCHANGED
    for keys in fabric.CHANGES:
        assert any(fabric.changed(name, keys) for name in ("sf6800", "sf15k")), keys


def test_a_row_that_was_not_run_or_is_off_is_not_good():
    row = fabric.ROWS[0]
    assert not fabric.Outcome(row, 5.0, None, "no plugin").good
    assert fabric.Outcome(row, 5.0, 5.09).good
    assert not fabric.Outcome(row, 5.0, 5.11).good
    near = dataclasses.replace(row, paper="B-3")
    assert not fabric.Outcome(near, 5.0, 5.09).good
    assert "no plugin" in fabric.table([fabric.Outcome(row, 5.0, None, "no plugin")])


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "RUNS", tmp_path)
    return tmp_path


def test_a_run_that_fails_leaves_rows_without_a_number(runs, capsys):
    row = dataclasses.replace(fabric.ROWS[0], command="-c 99")
    fabric.measure(list(fabric.boots([row], "")))
    (found,) = fabric.outcomes([row], "")
    assert found.ours is None and not found.good and "CPUs: write 0-3,8 or all; 0 to 23" in found.note
    assert "FAILED" in capsys.readouterr().err


def test_plateaus_of_a_mid_range_server(runs):
    rows = [row for row in fabric.ROWS if row.machine == "sf6800"]
    fabric.measure(list(fabric.boots(rows, "")))
    found = fabric.outcomes(rows, "")
    assert len(found) == 31
    assert [fabric.table([o]) for o in found if not o.good] == []


def test_plateaus_follow_the_parameters(runs):
    """Only rows with few CPUs; `make experiment-fabric` changes each parameter in turn and checks all rows."""
    names = {f"6800-{name}" for name in ("loop", "ecache", "board", "1m", "dirty-pair", "read-1", "write-1", "local-1")}
    rows = [row for row in fabric.ROWS if row.name in names]
    change = "board_ps=193000; memory_mbps=4000; misses_in_flight=5; ecache_latency=20"
    fabric.measure(list(fabric.boots(rows, change)))
    found = fabric.outcomes(rows, change)
    assert len(found) == len(names)
    assert [fabric.table([o]) for o in found if not o.good] == []
