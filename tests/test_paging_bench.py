# SPDX-License-Identifier: MIT
"""test_paging_bench.py - mkeyed and ddt, benchmarks with files larger than memory, and how the experiments judge them."""

import csv
import os
import re
import subprocess

import pytest

from harness import HOST_LIMIT
from homeroom.experiments import ddt, mkeyed, results, storage
from homeroom.machine import TOP


def on_host(command, status=0):
    program, *options = command.split()
    folder = "ondisk" if program == "ddt" else "bench"
    binary = TOP / "build/user" / folder / program
    done = subprocess.run([binary, *options], capture_output=True, text=True, timeout=HOST_LIMIT, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def check_keyed(text, batches, records):
    found = mkeyed.parse(text, 1)
    assert [b.records for b in found] == [records * i for i in range(1, batches + 1)]
    assert f"{batches * records} records, 9 indexes, {batches * records} looked up in each, 0 wrong" in text
    assert text.splitlines()[-1] == "ok"
    return found


@pytest.mark.parametrize("kind", ["", "-u "])
@pytest.mark.parametrize("seed", [1, 7])
def test_keyed_file(tmp_path, kind, seed):
    """The size of the file agrees with its contents: records, and nodes that are at least half full."""
    found = check_keyed(on_host(f"mkeyed {kind}-b 3 -n 700 -c 2100 -s {seed} {tmp_path}/keyed"), 3, 700)
    assert 2100 * 1024 * (1 + 9 / 25) < found[-1].file_bytes < 2100 * 1024 * (1 + 9 * 2.3 / 12)
    assert list(tmp_path.iterdir()) == []


def test_keyed_file_is_kept(tmp_path):
    """The data that the program reports as written are in the file."""
    text = on_host(f"mkeyed -k -b 1 -n 100 {tmp_path}/keyed")
    data = (tmp_path / "keyed").read_bytes()
    assert len(data) == mkeyed.parse(text, 1)[0].file_bytes
    for index in range(9):  # each record has a key in each index, and so in a leaf
        assert data.count(b"%c%031d" % (ord("A") + index, 57)) >= 2


def test_editor(tmp_path):
    """It counts the data that its readers got; a file that is too short is refused."""
    (tmp_path / "large").write_bytes(bytes(1 << 20))
    result = storage.result_lines(on_host(f"editor -m 1 -k 20 -i 50 {tmp_path}/large"), "editor")[0]
    assert int(result["keys"]) == 20 and float(result["p50_ms"]) <= float(result["p99_ms"]) <= float(result["max_ms"])
    assert float(result["seq_kib_s"]) > 0 and float(result["random_s"]) > 0
    (tmp_path / "short").write_bytes(bytes(100))
    on_host(f"editor {tmp_path}/short", 2)


def test_uniform_keys_touch_more(tmp_path):
    """Nodes read for an insertion: the same number in each batch at the right edge, more and more with uniform keys."""
    reads = {}
    for kind in ("", "-u "):
        text = on_host(f"mkeyed {kind}-b 6 -n 500 {tmp_path}/keyed")
        reads[kind] = [int(n) for n in re.findall(r" reads=(\d+)", text)]
    assert reads[""][5] < reads[""][1] * 1.1
    assert reads["-u "][5] > reads["-u "][1] * 1.1


def test_ddt(tmp_path):
    on_host(f"ddt -i -g 2 {tmp_path}")
    text = on_host(f"ddt -g 2 -m 3001 -r 2 {tmp_path}")
    assert text.splitlines()[-1] == "ok"
    assert "memory_kib=3004 code_kib=512 image_mib=2 passes=168 repetitions=2 " in text
    files = list(tmp_path.iterdir())
    assert {p.stat().st_size for p in files} == {2 << 20}
    assert len([p for p in files if p.name.startswith("m.")]) == 11  # as many as DDT has
    assert len(files) == 11 + 10 + 2


def test_ddt_sees_damage(tmp_path):
    on_host(f"ddt -i -g 1 {tmp_path}")
    with open(tmp_path / "m.mxbeam", "r+b") as file:
        file.seek(40 * 512)
        file.write(b"\xff")
    assert on_host(f"ddt -g 1 -m 3000 {tmp_path}", status=1).splitlines()[-1] == "FAILED"


@pytest.mark.parametrize(
    "command", ["mkeyed", "mkeyed -b 0 x", "mkeyed -n 2m x", "mkeyed x y", "ddt", "ddt -g 0 /tmp", "ddt -r x /tmp", "ddt a b"]
)
def test_bad_options(command):
    on_host(command, status=2)


def test_no_such_file(tmp_path):
    on_host(f"mkeyed {tmp_path}/none/keyed", status=2)
    on_host(f"ddt {tmp_path}", status=2)


# ---- how the experiments judge -------------------------------------------------------------------------------------------


def batches(times):
    return [mkeyed.Batch(i, i * 10, t / 4, t / 4, t / 2, t, 0, 0, 0, 0, 0, 0, 0, 0, t) for i, t in enumerate(times, 1)]


@pytest.mark.parametrize(("times", "verdict"), [([1, 2, 5, 5, 5.1, 5.2, 5.1], "yes"), ([1, 2, 5, 6, 7, 8, 9], "NO ")])
def test_growth(times, verdict):
    """Growth is counted from the batch after the one that made the file larger than memory (25: after the third)."""
    lines = mkeyed.judge({"batch": batches(times)}, 25)
    assert [line[:3] for line in lines] == [verdict] * 3
    assert mkeyed.growth(batches(times), 25, "real") == (4, pytest.approx(times[-1] / times[3] - 1))
    assert mkeyed.slope(batches([0, 0, 0, 2, 3, 4]), 25, "real") == pytest.approx(1)


def point(policy, marks, elapsed, pages, low=0):
    return ddt.Point(policy, marks, 0.8, elapsed, 0, pages, 0, 0, 0, 0, 300, low, 50)


def test_ddt_judges():
    points = [point("policy1", "default", 100, 50), point("policy1-pp", "default", 75, 25)]
    points += [point("policy2", "default", 100, 0), point("policy2", "large", 70, 0)]
    lines = ddt.judge(points)
    assert lines[0].startswith("yes") and "50 to 25" in lines[0]
    assert "saves 0.8: 25 %;" in lines[1]
    assert lines[2].startswith("NO") and "30.0 %" in lines[2]
    points[2] = point("policy2", "default", 73, 0)
    assert ddt.judge(points)[2].startswith("yes")
    points[2] = point("policy2", "default", 66, 0)  # 6.1 % more time with large marks
    assert ddt.judge(points)[2].startswith("NO")
    points[1] = point("policy1-pp", "default", 75, 26)
    assert ddt.judge(points)[0].startswith("NO")
    points[1] = point("policy1-pp", "default", 75, 26, low=1)
    assert "less than lotsfree was free at times" in ddt.judge(points)[0]
    points[:2] = [point("policy1", "default", 100, 0), point("policy1-pp", "default", 100, 0)]
    assert "or no page came in" in ddt.judge(points)[0]
    assert ddt.judge([point("policy1", "default", 100, 9), point("policy1", "large", 91, 9)])[0].startswith("NO")
    assert ddt.judge([point("policy1", "default", 100, 9), point("policy1", "large", 89, 9)])[0].startswith("yes")


def test_settings_of_policies():
    for policy in ddt.POLICIES:
        text = ddt.settings(policy, 20)
        assert f"set pageout_policy={policy[6]}" in text and "set pageout_timescale=20" in text
        assert ("priority_paging" in text) == policy.endswith("-pp")
    assert len(ddt.STEPS) == 8 and (ddt.STEPS[0], ddt.STEPS[-1]) == (0.6, 1.3)


def test_disk_log(tmp_path):
    """A disk that serves requests at 5 s and at 7 s."""
    text = "# started at 5000000 us of the monotonic clock\nR 0 8 0 500000 1000000\nW 8 8 2000000 3000000 1200000\n# 1 reads\n"
    (tmp_path / "a.log").write_text(text)
    log = storage.DiskLog(tmp_path / "a.img", 2, ddt.DISK)
    assert "model=dnes309170,scale=2," in log.disk and "model=ibm0661," in storage.DiskLog(tmp_path / "a.img", 2).disk
    assert (log.busy(5, 7), log.busy(7, 9), log.busy(0, 10)) == pytest.approx((1, 1.2, 2.2))


def test_rows_stay_and_are_in_the_report(tmp_path, monkeypatch):
    """A sweep of the other experiments keeps these rows, and its report shows them and their plot."""
    path = tmp_path / "results.csv"
    row = dict.fromkeys(results.COLUMNS, "") | {"table": "ddt", "row": "policy2, 0.8", "ours": "5", "kind": "wall"}
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, results.COLUMNS)
        writer.writeheader()
        writer.writerows([row, row | {"table": "3-8"}])
    results.write_csv([], 1, keep=False, path=path)
    assert results.read_csv(path) == [row]
    (tmp_path / "ddt.svg").write_text("<?xml?><svg>curve</svg>")
    monkeypatch.setattr(storage, "read_csv", lambda: [row])
    monkeypatch.setattr(storage.run, "OUT", tmp_path)
    text = storage.sections()
    assert "<h3>ddt</h3><figure><svg>curve</svg>" in text and "policy2, 0.8" in text and "mkeyed" not in text


# ---- on a machine --------------------------------------------------------------------------------------------------------


@pytest.mark.machine("sf280r")
def test_keyed_file_on_tmpfs(machine):
    check_keyed(machine.check("mkeyed -b 2 -n 300 -c 600 /tmp/keyed"), 2, 300)
    check_keyed(machine.check("mkeyed -u -b 2 -n 300 -c 600 /tmp/keyed"), 2, 300)


@pytest.mark.machine("sf280r", overlay=TOP / "build/user/ondisk")
def test_ddt_on_tmpfs(machine):
    """There is no disk, so nothing is paged."""
    text = machine.check("/ddt -i -g 1 /tmp && /ddt -g 1 -m 2000 /tmp")
    one = ddt.parse(text, "policy2", "default", 1, 1)
    assert text.splitlines()[-1] == "ok"
    assert (one.epi, one.api, one.fpi, one.apo) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "program, variable, value, says",
    [
        ("ddt", "SCALE", "fast", "ddt: SCALE=fast: write a number over 0"),
        ("ddt", "STEPS", "0.6 x", "ddt: STEPS=x: write a number over 0"),
        ("ddt", "ROWS", "policy9", "ddt: ROWS: no row 'policy9'; there are: policy0, "),
        ("ddt", "JOBS", "0", "ddt: JOBS=0: write a whole number over 0"),
        ("mkeyed", "RECORDS", "1.5", "mkeyed: RECORDS=1.5: write a whole number over 0"),
        ("mkeyed", "ROWS", "nothing", "mkeyed: ROWS: no row 'nothing'; there are: batch, "),
        ("pacing", "SCALE", "nan", "pacing: SCALE=nan: write a number over 0"),
        ("pacing", "RUNS", "0", "pacing: RUNS=0: write a whole number over 0"),
        ("pacing", "ROWS", "99/9", "pacing: ROWS: no row '99/9'; there are: "),
        ("psrset", "WINDOW", "-1", "psrset: WINDOW=-1: write a whole number over 0"),
    ],
)
def test_wrong_variables_of_experiments(program, variable, value, says):
    """The program stops before it starts a machine."""
    command = ["python3", "-m", f"homeroom.experiments.{program}"]
    environment = os.environ | {variable: value, "PYTHONPATH": "tools"}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says) and done.stderr.count("\n") == 1
