# SPDX-License-Identifier: MIT
"""test_experiments.py - make experiments: definitions, reading logs, finding results again, rows and results.csv."""

import csv
import dataclasses
import json
import math
import re
import subprocess

import pytest

from homeroom.experiments import definition, metrics, parameters, results, run, settings
from homeroom.experiments.definition import DefinitionError
from homeroom.machine import MachineError

LOG = """\
homeroom: Sun Fire 6800: 6 boards, 24 CPUs, 3072 MiB, seed 0x1
placement first: 24 threads, 2 x 1536 pages of 4K, 10 iterations\r
lgroup 0: 512 pages     lgroup 1: 511 pages     lgroup 2: 513 pages\r
result: bench=memcopy placement=first threads=24 bytes=6291456 modelled_mbps=9400.5 modelled_s=0.0013 wall_s=1.2\r
counters: time_ps=1300 instr=9 miss_local=60 miss_remote=20 load_miss_local=10 load_miss_remote=30\r
placement random: 24 threads, 2 x 1536 pages of 4K, 10 iterations
lgroup 0: 1536 pages    lgroup 1: 1536 pages
result: bench=memcopy placement=random threads=24 bytes=6291456 wall_s=1.3
modelled: no model
ok
"""


def test_parse():
    first, random = metrics.parse(LOG)
    assert first.result["modelled_mbps"] == "9400.5"
    assert first.counters["load_miss_remote"] == 30
    assert first.pages == {0: 512, 1: 511, 2: 513}
    assert random.counters == {}
    assert random.pages == {0: 1536, 1: 1536}


@pytest.mark.parametrize(
    ("metric", "value"),
    [("modelled_mbps", 9400.5), ("remote_load_misses", 75.0), ("remote_misses", 25.0), ("fewest_pages", 511.0)],
)
def test_metric(metric, value):
    (one,) = metrics.select(metrics.parse(LOG), "memcopy", {"placement": "first"})
    assert metrics.METRICS[metric].value(one) == value


def test_what_a_run_lacks_is_said():
    found = metrics.parse(LOG)
    with pytest.raises(metrics.MetricError, match="2 of 2 result lines have bench=memcopy"):
        metrics.select(found, "memcopy", {})
    with pytest.raises(metrics.MetricError, match="bench=memcopy; 3 must"):
        metrics.select(found, "memcopy", {}, starts=3)
    with pytest.raises(metrics.MetricError, match="0 of 2 result lines have bench=fdiff threads=7"):
        metrics.select(found, "fdiff", {"threads": 7})
    with pytest.raises(metrics.MetricError, match="no modelled_mbps= "):
        metrics.METRICS["modelled_mbps"].value(found[1])
    with pytest.raises(metrics.MetricError, match="no counter load_miss_remote"):
        metrics.METRICS["remote_load_misses"].value(found[1])


@pytest.mark.parametrize(
    ("how", "base", "new", "gain"),
    [("rate", 14139, 58154, 311.3), ("time", 0.317, 0.187, 41.0), ("points", 93.1, 62.2, 30.9)],
)
def test_compare_is_the_papers(how, base, new, gain):
    """The paper's values give the paper's speed-ups."""
    assert metrics.compare(how, base, new) == pytest.approx(gain, abs=0.05)


def test_paper_agrees_with_itself():
    """Each speed-up in the definition follows from the two values beside it, with the rounding of the paper."""
    for e in definition.load(settings.FILE).experiments:
        if set(e.variants) | {"compare"} <= set(e.paper):
            base, new = (e.paper[v] for v in e.variants)
            assert metrics.compare(e.compare, base, new) == pytest.approx(e.paper["compare"], abs=1.0), e.name


SMALL = """
seed = 7
repeat = 2
[variant.base]
title = "no MPO"
system = "set mpo_enable=0"
[variant.new]
title = "MPO"
[variant.tux]
title = "Linux"
os = "linux"
[condition.plain]
title = "plain"
why = "nothing is set"
[condition.tight]
title = "tight"
option = "-b"
system = "set tight=1"
why = "bound"
[[fitted]]
parameter = "streams"
what = "streams=8"
source = "Table 3-8"
[hypothesis.half]
title = "half"
set = "centerplane=double-pumped"
why = "because"
[table.3-8]
title = "Memory copy"
[[group]]
bench = "memcopy"
metric = "modelled_mbps"
unit = "MB/s"
compare = "rate"
variants = ["base", "new"]
machine = "sf3800"
tables = ["3-8"]
[[group.experiment]]
name = "one"
row = "8 threads"
run = "memcopy -t 8"
paper = { base = 100, new = 150, compare = 50 }
band = { linux = [0, inf] }
conditions = ["plain", "tight"]
hypotheses = ["half"]
more = ["tux"]
note = "small"
[[group.experiment]]
name = "two"
row = "8 threads again"
run = "memcopy -t 8"
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A definition with two experiments, and input files of our own."""
    (tmp_path / "small.toml").write_text(SMALL)
    for name in ("ISO", "PLUGIN", "FAMILIES"):
        (tmp_path / name).write_bytes(name.encode())
        monkeypatch.setattr(run, name, tmp_path / name)
    monkeypatch.setattr(run, "PEER", (tmp_path / "ISO",))
    monkeypatch.setattr(run, "TOP", tmp_path)
    monkeypatch.setattr(run, "OUT", tmp_path / "out")
    monkeypatch.setattr(run, "RUNS", tmp_path / "out/runs")
    run.digest.cache_clear()
    return definition.load(tmp_path / "small.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('compare = "rate"', 'compare = "speed"', "experiment 'one': compare = 'speed'; there are rate, time"),
        ('metric = "modelled_mbps"', 'metric = "mbps"', "metric = 'mbps'; there are modelled_mbps"),
        ('machine = "sf3800"', 'machine = "sf9"', "experiment 'one': no machine 'sf9'"),
        ('name = "two"', 'name = "one"', "two experiments are called 'one'"),
        ('unit = "MB/s"', 'unit = "MB/s"\nspeed = 1', "unknown key 'speed'"),
        ('unit = "MB/s"', 'unit = "MB/s"\nstarts = 0', "starts = 0: write a number, 1 at least"),
        ('row = "8 threads"\n', "", "'row' is missing"),
        ("[0, inf]", "[60, 40]", r"band linux = \[60, 40\]: write \[least, most\]"),
        ("{ linux = ", "{ compare = ", "band compare: the paper has a number, so the rule for all rows judges"),
        ('["plain", "tight"]', '["plain", "loose"]', "no condition 'loose'; there are: plain, tight"),
        ('source = "Table 3-8"\n', "", r"\[\[fitted\]\]: .*'source'"),
        ('hypotheses = ["half"]', 'hypotheses = ["third"]', "no hypothesis 'third'; there are: half"),
        ('tables = ["3-8"]', 'tables = ["9"]', "no table '9'"),
        ('"base", "new"]', '"base"]', "name two"),
        ("base = 100", "bass = 100", "no variant 'bass'"),
        ('run = "memcopy -t 8"', "run = 8", "run = 8: write a str"),
        ('set = "centerplane=double-pumped"\n', "", r"\[hypothesis.half\]: missing 1 .* 'set'"),
        ("repeat = 2", "repeat = 0", "repeat = 0: write a number, 1 at least"),
        ("repeat = 2", 'repeat = "2"', "repeat = '2': write a number"),
        ('tables = ["3-8"]', "tables = []", "name one"),
        ('name = "two"', 'name = "../two"', "name = '../two': letters, digits"),
        ("base = 100", 'base = "100"', "paper base = '100': write a number"),
        ("[0, inf]", "5", "band linux = 5: write"),
        ('title = "Memory copy"', "", r"\[table.3-8\]: 'title' is missing"),
        ("[[group]]", "[group]", r"write \[\[group\]\]"),
        (SMALL, "", "it contains no experiment"),
        ("seed = 7", "seed = = 7", "Invalid value"),
    ],
)
def test_wrong_definition(tmp_path, old, new, words):
    assert old in SMALL
    path = tmp_path / "bad.toml"
    path.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(DefinitionError, match=words) as error:
        definition.load(path)
    assert "\n" not in str(error.value)


def test_an_experiment_for_each_number_of_threads(tmp_path):
    """Name, row and command contain the number; experiments for FULL=1 are left out without it."""
    path = tmp_path / "threads.toml"
    many = 'name = "two"\nfull = true\nthreads = [1, 12]'
    text = SMALL.replace('name = "two"', many).replace('again"\nrun = "memcopy -t 8"', 'again"\nrun = "memcopy -t {threads}"')
    path.write_text(text)
    suite = definition.load(path)
    found = [(e.name, e.row, e.run) for e in suite.pick()[1:]]
    assert found == [
        ("two-1", "8 threads again, 1 thread", "memcopy -t 1"),
        ("two-12", "8 threads again, 12 threads", "memcopy -t 12"),
    ]
    assert [e.name for e in suite.pick(full=False)] == ["one"]
    assert [e.name for e in suite.pick(["two-1"], full=False)] == ["two-1"]


def test_unknown_name(suite):
    with pytest.raises(DefinitionError, match="no experiment 'three'; there are: one, two"):
        suite.pick(["three"])


def test_equal_runs_are_one(suite):
    """Both experiments need the same two boots.  Condition and hypothesis add two each; Linux is run only with a peer."""
    runs = suite.runs(suite.experiments)
    assert sorted(n for _, n in runs) == [1, 1, 1, 1, 2, 2]
    assert len(suite.runs(suite.experiments, full=False)) == 4
    assert [r.os for r, _ in suite.runs(suite.experiments, peer=True)].count("linux") == 1


def test_key_is_of_what_a_run_depends_on(suite, tmp_path):
    e = suite.experiments[0]
    base = suite.run_of(e, "base")
    key = run.key(base)
    assert key == run.key(suite.run_of(suite.experiments[1], "base"))
    assert key.startswith("sf3800-memcopy-t-8-")
    assert key != run.key(suite.run_of(e, "new"))
    assert key != run.key(suite.run_of(e, "base", "half"))
    for name in ("ISO", "PLUGIN", "FAMILIES"):
        (tmp_path / name).write_bytes(b"changed")
        run.digest.cache_clear()
        assert run.key(base) != key
        (tmp_path / name).write_bytes(name.encode())
    run.digest.cache_clear()
    assert run.key(base) == key


def test_key_is_of_the_parts_of_the_image_that_a_run_uses(suite, tmp_path):
    """The key depends on kernel, init and the benchmark in the command, but not on other benchmarks or the image file."""
    parts = [tmp_path / "build" / name for name in ("user/bench/memcopy", "kernel.elf", "user/bin/init", "user/bench/fdiff")]
    for path in parts:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"one")
    one = suite.run_of(suite.experiments[0], "base")
    key = run.key(one)
    for path, matters in zip([*parts, tmp_path / "ISO"], [True, True, True, False, False], strict=True):
        was = path.read_bytes()
        path.write_bytes(b"two")
        run.digest.cache_clear()
        assert (run.key(one) != key) == matters, path
        path.write_bytes(was)


def test_a_tree_laid_over_the_root_is_a_part_of_a_run(suite, tmp_path):
    """Each file of the tree matters; the launcher's options and the command for the user contain it."""
    program = tmp_path / "build/openmp/usr/bin/memcopy"
    for path in (program, tmp_path / "build/kernel.elf", tmp_path / "build/user/bin/init"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"one")
    plain = suite.run_of(suite.experiments[0], "base")
    one = dataclasses.replace(plain, overlay="build/openmp")
    key = run.key(one)
    assert key != run.key(plain)
    program.write_bytes(b"two")
    run.digest.cache_clear()
    assert run.key(one) != key
    assert "--overlay build/openmp" in " ".join(run.options(one)) and "--overlay" not in run.options(plain)
    assert " OVERLAY=build/openmp " in run.by_hand(one)


def store(one, repetition, mbps, **changed):
    """Write the files of a run that printed `mbps`."""
    path, log = run.paths(one, repetition)
    path.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"result: bench=memcopy modelled_mbps={mbps}\n")
    page = {"params": {"misses_in_flight": "4"}, "ecache_bytes": 2**18, "accesses": 5, "traffic": [[3, 1], [1, 3]]}
    out = {
        "measurements": [{"result": {"bench": "memcopy", "modelled_mbps": str(mbps)}, "counters": {}, "pages": {}}],
        "page": page, "cpu_seconds": 2.0, "seconds": 3.0, "rev": "abc", "qemu": "7.2.22", "log": str(log),
    }  # fmt: skip
    path.write_text(json.dumps(out | changed))


def test_what_a_condition_changes(suite):
    """Its option is added for all variants, its settings for all except the base; the headline's run is the row's."""
    e = suite.experiments[0]
    base, new = (suite.run_of(e, v, None, "tight") for v in e.variants)
    assert (base.command, base.system) == ("memcopy -t 8 -b", "set mpo_enable=0")
    assert (new.command, new.system) == ("memcopy -t 8 -b", "set tight=1")
    assert suite.run_of(e, "new", None, "plain") == suite.run_of(e, "new")
    assert suite.run_of(e, "tux", None, "tight") == suite.run_of(e, "tux")
    alone = dataclasses.replace(e, variants=["new"])
    assert suite.run_of(alone, "new", None, "tight").system == "set tight=1"


def test_each_repetition_has_a_seed(suite):
    one = suite.run_of(suite.experiments[0], "new")
    seeds = [run.options(one, i)[run.options(one, i).index("--seed") + 1] for i in (1, 2, 3)]
    assert seeds == ["7", "8", "9"]


def rows(suite, peer=False):
    return {r.label: r for r in results.rows_of(suite, suite.experiments[0], peer, True)}


def test_rows(suite):
    e = suite.experiments[0]
    for i, (low, high) in enumerate([(100, 160), (102, 158)], 1):
        store(suite.run_of(e, "base"), i, low)
        store(suite.run_of(e, "new"), i, high)
    store(suite.run_of(e, "base", "half"), 1, 100)
    store(suite.run_of(e, "new", "half"), 1, 145)
    store(suite.run_of(e, "base", None, "tight"), 1, 100)
    store(suite.run_of(e, "new", None, "tight"), 1, 180)
    for i in (1, 2):
        store(suite.run_of(e, "tux"), i, 150)
    found = rows(suite, peer=True)
    base, gain = found["8 threads, no MPO"], found["8 threads, speed-up"]
    assert (base.ours, base.spread, base.runs, base.paper, base.kind) == (101, 2, 2, 100, "modelled")
    assert gain.ours == pytest.approx(100 * (159 / 101 - 1))
    assert gain.spread == pytest.approx(60 - 100 * (158 / 102 - 1))
    assert (gain.inside, gain.unit) == (True, "%")
    assert gain.note == "inside 35 to 65; small"
    assert gain.error == pytest.approx(100 * (159 / 101 / 1.5 - 1))
    tight = found["8 threads, speed-up, tight"]
    assert (tight.ours, tight.condition, tight.inside, tight.headline) == (pytest.approx(80), "tight", False, False)
    assert found["8 threads, speed-up [half]"].ours == pytest.approx(45)
    assert found["8 threads, MPO against the better Linux"].ours == pytest.approx(6)
    assert "8 threads, Linux" not in rows(suite)


@pytest.mark.parametrize(
    ("changed", "what", "least", "most"),
    [
        ({"paper": {"compare": 29}}, "compare", 26, 32),  # less than 30 %: within points
        ({"paper": {"compare": 0}}, "compare", -3, 3),
        ({"paper": {"compare": 74}}, "compare", 56.6, 91.4),  # 1.74 times 0.9 and 1.1
        ({"paper": {"compare": 41}, "compare": "time"}, "compare", 35.1, 46.9),  # 0.59 of the time, times 0.9 and 1.1
        ({"paper": {"compare": 30.9}, "compare": "points"}, "compare", 27.9, 33.9),
        ({"paper": {"new": 98}, "unit": "pages"}, "new", 98, 98),
        ({"paper": {"new": 100}, "known": True}, "new", 80, 120),
        ({"paper": {}, "band": {"linux": [0, math.inf]}}, "linux", 0, math.inf),
    ],
)
def test_the_rule(suite, changed, what, least, most):
    """The rule of docs/experiments.md, "One rule for all rows"."""
    e = dataclasses.replace(suite.experiments[0], **changed)
    assert results.accepted(e, what) == pytest.approx([least, most])


def test_what_is_not_judged(suite):
    e = suite.experiments[0]
    assert results.accepted(e, "new") is None, "the program is not known"
    assert results.accepted(dataclasses.replace(e, paper={}), "compare") is None
    row = results.Row(e, "compare", None, None, "row", "modelled", "%", 50, [35, 65], 45)
    assert (row.inside, row.verdict) == (True, "inside")
    row.ours = 30
    assert (row.inside, row.verdict) == (False, "OUTSIDE")
    row.ours = None
    assert (row.inside, row.error) == (False, None)
    row.ours, row.quick = 45, True
    assert (row.inside, row.verdict) == (None, "not judged: a quick run")


def test_errors_of_rows(suite):
    """The error of a gain is that of the ratio behind it; a gain in points has none."""
    e = suite.experiments[0]
    for changed, what, paper, ours, error in (
        ({}, "compare", 100, 120, 10),
        ({"compare": "time"}, "compare", 50, 40, 20),
        ({"compare": "points"}, "compare", 50, 40, None),
        ({}, "new", 200, 150, -25),
    ):
        row = results.Row(dataclasses.replace(e, **changed), what, None, None, "row", "modelled", "%", paper, None, ours)
        assert row.error == (error if error is None else pytest.approx(error)), (changed, what)


def test_starts_in_one_boot(suite):
    """The command is repeated three times, and the median of its results is the value of the run."""
    e = dataclasses.replace(suite.experiments[0], starts=3, repeat=1)
    one = suite.run_of(e, "base")
    assert one.command == "for i in 1 2 3; do memcopy -t 8 || exit; done"
    lines = [{"bench": "memcopy", "modelled_mbps": str(mbps)} for mbps in (90, 130, 100)]
    printed = [{"result": line, "counters": {}, "pages": {}} for line in lines]
    store(one, 1, 0, measurements=printed)
    assert results.read_case(suite, e, "base").values == [100]
    store(one, 1, 0, measurements=printed[:2])
    case = results.read_case(suite, e, "base")
    assert case.values == [] and "2 of 2 result lines have bench=memcopy; 3 must" in case.faults[0]


@pytest.mark.parametrize("text", ["", "{}", '{"measurements": [', '{"measurements": 5}'])
def test_a_damaged_result(suite, text):
    """A damaged file is a fault of its row, with advice; the other rows are not affected."""
    e = suite.experiments[1]
    path, _ = run.paths(suite.run_of(e, "base"), 1)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    case = results.read_case(suite, e, "base")
    assert case.value is None
    assert re.match(r"out/runs/\S+ is damaged .*: remove it, and the next sweep repeats the run", case.faults[0])


def test_what_the_kernel_refused_is_no_result():
    said = "sorry, variable 'mpo_enabel' is not defined in the 'kernel' on line 3 of etc/system"
    assert run.refused(f"boot\r\nWARNING: {said}\r\nresult: x\r\n") == said
    assert run.refused("WARNING: 'lotsfree' is set more than once in etc/system, 0x100 is in force\n") is None


def test_another_csv_is_not_overwritten(suite, tmp_path):
    path = tmp_path / "results.csv"
    for content in (b"a,b\n1,2\n", b"\xff\xfe\n"):
        path.write_bytes(content)
        with pytest.raises(MachineError, match=r"results.csv .*: move it away"):
            results.write_csv([], suite.seed, keep=True, path=path)
        assert path.read_bytes() == content


def test_no_row_is_dropped(suite):
    """A run that failed, one that was not done and one with another output: each has a row with the reason."""
    e = suite.experiments[0]
    log = run.paths(suite.run_of(e, "base"), 1)[1]
    log.parent.mkdir(parents=True)
    log.write_text("booting\nhomeroom: the kernel panicked: I2\nhomeroom: to repeat it: make qemu-sf3800\n")
    store(suite.run_of(e, "new"), 1, 150)
    store(suite.run_of(e, "base", "half"), 1, 1, measurements=[])
    found = rows(suite)
    base = found["8 threads, no MPO"]
    assert base.ours is None
    assert base.faults == [f"homeroom: the kernel panicked: I2; log {log.relative_to(run.TOP)}", "not run"]
    assert found["8 threads, MPO"].ours == 150
    assert found["8 threads, MPO"].faults == ["not run"]
    assert found["8 threads, speed-up"].inside is False
    assert found["8 threads, speed-up"].note.startswith("FAILED: homeroom: the kernel panicked: I2; log")
    assert found["8 threads, no MPO [half]"].faults[0].startswith("0 of 0 result lines have bench=memcopy")


def test_csv(suite, tmp_path):
    e = suite.experiments[0]
    for v in e.variants:
        for i in (1, 2):
            store(suite.run_of(e, v), i, 100 if v == "base" else 150)
    path = tmp_path / "results.csv"
    results.write_csv(results.rows_of(suite, e, False, True), suite.seed, keep=False, path=path)
    with open(path, newline="") as file:
        assert file.readline() == "table,row,kind,unit,paper,ours,spread,runs,machine,scale,seed,rev,qemu,note\n"
    with open(path, newline="") as file:
        lines = {r["row"]: r for r in csv.DictReader(file)}
    gain = lines["8 threads, speed-up"]
    assert (gain["table"], gain["paper"], gain["ours"], gain["runs"]) == ("3-8", "50", "50", "2")
    assert (gain["scale"], gain["seed"], gain["rev"], gain["qemu"]) == ("ecache 256 KiB", "7", "abc", "7.2.22")
    other = results.rows_of(suite, suite.experiments[1], False, True)
    results.write_csv(other, suite.seed, keep=True, path=path)
    with open(path, newline="") as file:
        kept = [r["row"] for r in csv.DictReader(file)]
    assert len(kept) == len(lines) + 3
    assert "8 threads again, MPO" in kept


def test_by_hand(suite):
    e = suite.experiments[0]
    one = suite.run_of(e, "base", "half")
    assert run.by_hand(one) == (
        "make qemu-sf3800 RUN='memcopy -t 8' SYSTEM='set mpo_enable=0' MODEL=fireplane "
        "MODEL_SET=centerplane=double-pumped SEED=7"
    )
    assert "PEER=linux BALANCING=0" in run.by_hand(suite.run_of(e, "tux"))


def test_sources_of_parameters():
    text = "# top\n[common]\n# first\n# and more\na = 1\nb = 2\n# CHOICE: c\nc = 3\n[x]\nd = 1\n# again\na = 2\n"
    assert parameters.parse(text) == {
        ("common", "a"): "first and more",
        ("common", "b"): "first and more",
        ("common", "c"): "CHOICE: c",
        ("x", "a"): "again",
    }


def test_every_parameter_has_a_source():
    names = [line.split(" =")[0] for line in run.FAMILIES.read_text().splitlines() if " = " in line and line[0] != "#"]
    assert len(names) > 20
    for name in names:
        assert parameters.source(name, ["sf280r", "sf6800", "sf15k"]), name


def test_settings_travel():
    """The same settings pass through make, Snakemake's --config, and the command line of a job."""
    asked = settings.Settings(names=("memcopy-15k-72", "fdiff-15k"), quick=True, peer="linux", full=True)
    config = dict(word.split("=", 1) for word in asked.config()[1:])
    assert settings.from_config(config) == asked
    assert asked.arguments().split()[-4:] == ["--name", "memcopy-15k-72", "--name", "fdiff-15k"]


def test_wrong_name_is_said():
    python = definition.TOP / ".venv-experiments/bin/python"
    command = [python, "-m", "homeroom.experiments", "sweep", "--name", "nothing"]
    done = subprocess.run(command, cwd=definition.TOP / "tools", capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("experiments: no experiment 'nothing'; there are: memcopy-12k-24")
