# SPDX-License-Identifier: MIT
"""test_beside.py - make experiment-beside, without a machine: reading consoles, the text of the page, stored figures."""

import json
import os
import re
import subprocess

import pytest

from harness import HOST_LIMIT
from homeroom.experiments import beside
from homeroom.experiments.beside import Figure, Part, Result, Run
from homeroom.machine import TOP, MachineError

CONSOLE = """\
result: bench=system release=6.1.0-homeroom
homeroom: something else
result: bench=beside stream_s=7.125 read_n=70 read_p50_ms=12.50 read_p95_ms=30.00 read_max_ms=44.10
result: bench=fsio row=create seconds=1.500 reads=0 read_kib=0 writes=44 write_kib=5300
"""
FIGURES = [
    Figure("beside.stream_s", "stream on the disk", "s"),
    Figure("beside.read_p50_ms", "read, median", "ms"),
    Figure("fsio.create.writes", "write commands", "commands"),
]


def result(stream: list[float], read: list[float], writes: list[float], stored: bool = False) -> Result:
    figures = {f.name: values for f, values in zip(FIGURES, (stream, read, writes), strict=True)}
    return Result(figures, ["2020-01-02"], ["6.1.0-test"], [0.5, 1.25], stored)


@pytest.fixture
def part():
    return Part("stream", "A stream", "What it is.", [Run("stream", "reader", "reader", "beside -r 100 /s", FIGURES)])


def test_result_lines_are_read():
    found = beside.parse(CONSOLE)
    assert found["system.release"] == "6.1.0-homeroom" and found["fsio.create.write_kib"] == "5300"
    assert list(beside.read_figures(found, FIGURES).values()) == [7.125, 12.5, 44.0]
    assert beside.read_figures(found, [Figure("beside.stream_s", "", "ms", factor=1000)]) == {"beside.stream_s": 7125.0}


def test_a_figure_that_is_missing_is_named():
    with pytest.raises(MachineError, match=r"^it printed no beside\.seq_kib_s$"):
        beside.read_figures(beside.parse(CONSOLE), [*FIGURES, Figure("beside.seq_kib_s", "", "KiB/s")])
    with pytest.raises(MachineError, match="a figure is not a number"):
        beside.read_figures(beside.parse(CONSOLE), [Figure("system.release", "", "")])


@pytest.mark.parametrize("quick", [False, True])
def test_the_definition(quick):
    """All parts are there, the disks of each run exist, and the names of its figures differ."""
    disks, parts = beside.load(quick)
    assert [p.name for p in parts] == ["stream", "create", "vi", "ddt", "editor", "files", "busy", "calls"]
    for one in (run for part in parts for run in part.runs):
        assert one.figures and set(one.disks) <= set(disks), one.label
        assert len({f.name for f in one.figures}) == len(one.figures), one.label
        assert {f.better for f in one.figures} <= {"less", "more"}
    assert all(part.runs for part in parts)
    ddt = next(p for p in parts if p.name == "ddt").runs[0]
    assert ddt.swap == "/dev/vda2" and ddt.figures[0].name == f"ddt.{'0.9' if quick else '0.8'}.elapsed"


def test_worse():
    less, more = Figure("a", "", "s"), Figure("a", "", "KiB/s", "more")
    assert beside.worse(less, 1.02, 1.0) is None and beside.worse(less, 0.5, 1.0) is None
    assert beside.worse(less, 3.0, 2.0) == 1.5 and beside.worse(more, 2.0, 3.0) == 1.5
    assert beside.worse(less, 3.0, 0.0) == float("inf") and beside.worse(less, 0.0, 0.0) is None


def test_page(part):
    ours, theirs = result([7.0, 9.0, 8.0], [40.0] * 3, [44.0] * 3), result([8.0], [20.0], [0.0], stored=True)
    results = {("stream/reader", "homeroom"): ours, ("stream/reader", "linux"): theirs}
    text = beside.page([part], results, False, 3, ["stream/append on Linux: it failed (its log)"], {"stream": "a.svg"})
    assert "| reader | stream on the disk | 8 (7 to 9) | 8 * | s |" in text
    assert "- Homeroom loses: reader: read, median: 40 ms against 20, 2.00 times as much." in text
    assert "- Homeroom loses: reader: write commands: 44 commands against 0, none on Linux." in text
    assert text.count("Homeroom loses") == 2 and "A figure with * is stored" in text
    assert "- Failed: stream/append on Linux: it failed (its log)" in text and "![A stream](a.svg)" in text
    assert "- Linux: 6.1.0-test, measured on 2020-01-02; load of the host: 0.5 to 1.2." in text and "A quick run" not in text


def test_what_was_not_measured_is_said(part):
    results = {("stream/reader", "homeroom"): result([7.0], [40.0], [44.0]), ("stream/reader", "linux"): None}
    text = beside.page([part, Part("ddt", "Memory", "", [])], results, True, 1, [], {})
    assert text.count("not measured") == 3 and "Homeroom loses" not in text
    assert "A quick run" in text and "Not part of a quick run." in text


DRAW = """
import sys
from pathlib import Path
from homeroom.experiments import beside

figure = beside.Figure("beside.read_p50_ms", "read, median", "ms")
part = beside.Part("stream", "A stream", "", [beside.Run("stream", "reader", "reader", "beside", [figure])])
result = beside.Result({figure.name: [40.0]}, [], [], [])
folder = Path(sys.argv[1])
print(beside.plot(part, {}, folder), beside.plot(part, {("stream/reader", "homeroom"): result}, folder).name)
"""


def test_plot(tmp_path):
    """Drawn by the Python environment that has matplotlib."""
    python, environment = TOP / ".venv-experiments/bin/python", os.environ | {"PYTHONPATH": "tools"}
    words = [python, "-c", DRAW, tmp_path]
    done = subprocess.run(words, cwd=TOP, env=environment, capture_output=True, text=True, timeout=HOST_LIMIT)
    assert done.stdout == "None beside-stream.svg\n", done.stdout + done.stderr
    assert "reader: read, median" in (tmp_path / "beside-stream.svg").read_text()


def test_stored_figures(part, tmp_path):
    """Stored figures are used for the same command and size only."""
    file, one = tmp_path / "stored.json", part.runs[0]
    assert beside.stored(one, False, file) is None
    measured = {("stream/reader", "linux"): result([7.0], [40.0], [44.0])}
    assert beside.store([one], measured, False, file) == 1
    back = beside.stored(one, False, file)
    assert back.stored and back.figures == measured["stream/reader", "linux"].figures and back.kernels == ["6.1.0-test"]
    assert beside.stored(one, True, file) is None
    assert beside.store([one], {("stream/reader", "linux"): back}, False, file) == 0
    one.command = "beside -r 5 /s"
    assert beside.stored(one, False, file) is None


def test_the_project_s_stored_figures():
    """Each stored run has a date, a kernel, and values for each figure that it names."""
    for size in json.loads(beside.STORED.read_text()).values():
        for label, found in size.items():
            assert re.fullmatch(r"20\d\d-\d\d-\d\d", found["date"]) and found["kernel"], label
            assert all(values and all(isinstance(v, float) for v in values) for values in found["figures"].values()), label


def test_a_failed_run_is_a_line(part, tmp_path, monkeypatch):
    """A program that fails gives one line and a log, but no result (I1)."""
    monkeypatch.setattr(beside, "OUT", tmp_path)
    monkeypatch.setattr(beside, "key", lambda *_: "k")
    full = "result: bench=system release=1\nbeside: stream: No space left on device\n"
    outcome = beside.guest.Outcome("clean", 2)
    monkeypatch.setattr(beside, "boot", lambda *_: (outcome, full))
    said = beside.execute(part.runs[0], "linux", 1, {"seed": 1}, tmp_path)
    assert said.startswith("stream/reader on Linux: status 2: beside: stream: No space left on device (")
    assert [p.name for p in tmp_path.iterdir()] == ["k.1.log"]


def test_a_wrong_clock_is_found():
    values = {"system.begin": "1.5", "system.end": "101.5"}
    beside.check_clock(values, [10.0, 112.0])
    for seen, says in (([10.0, 20.0], r"it counted 100\.0 s in 10\.0 s of the host"), ([10.0], "uptime twice")):
        with pytest.raises(MachineError, match=says):
            beside.check_clock(values, seen)
