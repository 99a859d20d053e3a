# SPDX-License-Identifier: MIT
"""test_lab_experiment.py - the lab "experiment": faults of a hypothesis, the order of the log, what repeats, the report.

The quick tests use the recorded row of instructor/experiment/solution/; one long test measures a row.
"""

import copy
import json
import re
import tomllib

import pytest

from homeroom.course import experiment, grade, lab, proof, release, solution
from homeroom.course.experiment import ExperimentError, HostError
from homeroom.machine import TOP

pytestmark = pytest.mark.xdist_group("grade")
LAB = lab.load("experiment")
SOLUTION = solution.tree(LAB)
RAW = tomllib.loads(SOLUTION[experiment.FILE])
NUMBERS = json.loads(SOLUTION[experiment.LOG].splitlines()[-1])["values"]


@pytest.fixture
def recorded(monkeypatch):
    """Boots give the numbers of the recorded row, and half of them for other commands."""
    right, _ = experiment.hypothesis(SOLUTION[experiment.FILE])

    def boot(h, column, seed):
        return NUMBERS[column][str(seed)] * (1 if h.run(column, seed) == right.run(column, seed) else 0.5)

    monkeypatch.setattr(experiment.Hypothesis, "boot", boot)
    monkeypatch.setattr(experiment, "inputs_digest", lambda h, column: "of no file")


def graded(texts, tmp_path, *words):
    """The tests that fail, with their logs.  AssertionError if nothing was graded."""
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    files = [word for name in texts for word in ("--file", str(tmp_path / name))]
    assert grade.main(["experiment", *files, *words]) in (0, 1)
    tests = json.loads((TOP / "build/grade/experiment/results.json").read_text())["tests"]
    return {test["number"]: test["output"] for test in tests if test["status"] == "failed"}


def changed(**tables):
    """The solution's keys with others in their place; None takes a key away."""
    raw = copy.deepcopy(RAW)
    for name, value in tables.items():
        old = raw.get(name)
        new = {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
        raw[name] = {k: v for k, v in new.items() if v is not None} if isinstance(new, dict) else new
    return {key: value for key, value in raw.items() if value is not None}


# ---- the rows of the proof ---------------------------------------------------------------------


@pytest.mark.parametrize("row", proof.rows(LAB), ids=lambda row: row.name)
def test_skeleton_solution_and_mistakes(row, recorded):
    assert row.holds(proof.graded(row, 1)), proof.graded(row, 1)


def test_there_are_enough_tests_and_mistakes():
    assert len(LAB.tests) >= 12 and sum(test.points for test in LAB.tests) + LAB.rubric == 100
    listed = solution.mistakes(LAB)
    assert len(listed) >= 5
    lost = {name for _, fails in listed.values() for name in fails}
    assert lost <= {test.name for test in LAB.tests}
    points = [int(n) for n in re.findall(r"^\| (\d+) \|", (TOP / "instructor/experiment/rubric.md").read_text(), re.M)]
    assert sum(points) == LAB.rubric


# ---- hypothesis.toml ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw, test, sentence",
    [
        (changed(question=None), "file_is_valid", "hypothesis.toml: question is missing"),
        (changed(questoin="x"), "file_is_valid", "hypothesis.toml: there is no key questoin"),
        (changed(question=7), "file_is_valid", "hypothesis.toml: question must be a text"),
        (changed(boards=True), "file_is_valid", "hypothesis.toml: boards must be a whole number"),
        (changed(base=None), "file_is_valid", "hypothesis.toml: base is missing"),
        (changed(machine="sf9"), "file_is_valid", "machine: there is no 'sf9'; there are: sf12k"),
        (changed(machine="../sf15k"), "file_is_valid", "machine: there is no '../sf15k'"),
        (changed(boards=99), "file_is_valid", "machine: BOARDS=99: sf15k takes 1 to 18"),
        (changed(boards=1), "file_is_valid", "machine: sf15k has memory on one board only"),
        (changed(model="x=1"), "file_is_valid", "machine: MODEL_SET: no parameter 'x'"),
        (changed(model="ecache_kib=256 skew_ps=1000"), "file_is_valid", "parameters are separated by ;"),
        (changed(metric="speed"), "file_is_valid", "metric: there is no 'speed'; there are: modelled_mbps"),
        (changed(seeds=[1, 1, 2]), "file_is_valid", "seeds must be different whole numbers"),
        (changed(seeds=[1, "2", 3]), "file_is_valid", "seeds must be different whole numbers"),
        (changed(seeds=list(range(1, 99))), "file_is_valid", "seeds: there are 98; at most 9"),
        (changed(seeds=[1, 2]), "several_seeds", "seeds: 2 show no spread"),
        (changed(new={"title": "random pages"}), "file_is_valid", "[new]: title is that of [base]"),
        (changed(new={"command": "echo result: bench=memcopy"}), "file_is_valid", "[new]: command must be one of dw"),
        (changed(new={"command": "memcopy; echo"}), "file_is_valid", "[new]: command must be one of dw"),
        (changed(new={"command": "memcopy\necho"}), "file_is_valid", "[new]: command must be one of dw"),
        (changed(new={"system": "forceload: x"}), "file_is_valid", "[new]: system: 'forceload: x' is not of the form"),
        (changed(new={"boards": 2, "seeds": [1]}), "one_machine", "[new]: boards belongs above the columns"),
        (changed(new={"command": "memcopy -t 8 -i 2 -p first"}), "one_change", "they differ in 2"),
        (changed(new={"command": "memcopy -t 16 -i 2 -p random"}), "one_change", "they differ in 0"),
        (changed(new={"system": "set mpo_enable=0; set maxphys=4096"}), "one_change", "they differ in 3"),
        (changed(prediction={"least": 2.2}), "file_is_valid", "ratio 2.15 is not between least 2.2 and most 2.35"),
        (changed(prediction={"ratio": float("nan")}), "file_is_valid", "ratio must be a number above 0"),
        (changed(prediction={"most": 3.01}), "prediction_can_be_wrong", "most is more than 1.5 times least"),
        (changed(prediction={"reason": "It is near."}), "prediction_has_a_reason", "reason has 3 words"),
    ],
)  # fmt: skip
def test_a_fault_has_a_sentence(raw, test, sentence):
    found = [fault.text for fault in experiment.faults_of(raw) if fault.test == test]
    assert any(sentence in text for text in found), experiment.faults_of(raw)


@pytest.mark.parametrize(
    "command",
    ["memcopy -t 16 -i 2 -p random -b", "memcopy -t 16 -i 2 -p any", "memcopy -t 16 -i 2", "memcopy -t 8 -i 2 -p random"],
)
def test_one_change_of_the_command(command):
    assert not experiment.faults_of(changed(new={"command": command}))


def test_one_change_of_the_system():
    same = RAW["base"]["command"]
    assert not experiment.faults_of(changed(new={"command": same, "system": "set mpo_enable=0"}))
    assert not experiment.faults_of(
        changed(base={"system": "set maxphys=4096; set mpo_enable=1"},
                new={"command": same, "system": "set mpo_enable=0; set maxphys = 4096"})
    )  # fmt: skip


@pytest.mark.parametrize(
    "data, sentence",
    [
        (b"", "question is missing"),
        (b"question =", "hypothesis.toml: "),
        (b"[" * 100000, "hypothesis.toml: "),
        (b"\xff\xfe", "hypothesis.toml is no text in UTF-8"),
        (b"x" * (100 << 20), "hypothesis.toml has more than 1 MiB"),
    ],
    ids=["empty", "no value", "deep", "no text", "large"],
)
def test_a_file_that_is_no_hypothesis(data, sentence, tmp_path, recorded):
    failed = graded(SOLUTION | {experiment.FILE: data}, tmp_path)
    assert len(failed) == len(LAB.tests) and sentence in failed["file_is_valid"]


def test_line_ends_and_a_byte_order_mark_do_not_matter(tmp_path, recorded):
    texts = {name: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for name, text in SOLUTION.items()}
    assert graded(texts, tmp_path) == {}


@pytest.mark.parametrize("test", [test.name for test in LAB.tests])
def test_each_test_alone_of_a_file_that_cannot_be_used(test, tmp_path, recorded):
    """Without the tests that it needs, a test gives a sentence too."""
    failed = graded({experiment.FILE: "", experiment.LOG: ""}, tmp_path, "--test", test)
    assert ("repeat with" in failed[test]) if test in failed else test.startswith(("one_", "several_", "prediction_"))


# ---- the log -----------------------------------------------------------------------------------


def test_a_log_is_a_chain():
    lines = SOLUTION[experiment.LOG].splitlines()
    assert len(experiment.entries("\n".join(lines))) == 2
    for broken, place in (
        ([lines[0].replace("2026", "2025"), lines[1]], 2),
        (lines[::-1], 1),
        (lines[1:], 1),
        ([lines[0], "{}"], 2),
        (["[" * 100000], 1),
        (["no JSON"], 1),
    ):
        with pytest.raises(ExperimentError, match=f"log.jsonl:{place}: "):
            experiment.entries("\n".join(broken))


def test_a_changed_prediction_is_not_the_recorded_one(tmp_path, recorded):
    texts = SOLUTION | {experiment.FILE: SOLUTION[experiment.FILE].replace("most = 2.35", "most = 2.5")}
    failed = graded(texts, tmp_path)
    assert "has no prediction of this hypothesis.toml" in failed["prediction_is_recorded"]
    assert "prediction_is_older" in failed and "row_is_whole" in failed


def test_a_prediction_after_a_row_of_the_same_columns(tmp_path, recorded):
    first = experiment.recorded_again(SOLUTION, ["predict", "measure"])[experiment.LOG]
    texts = SOLUTION | {experiment.FILE: SOLUTION[experiment.FILE].replace("ratio = 2.15", "ratio = 2.34")}
    log = first
    for entry in experiment.entries(experiment.recorded_again(texts, ["predict", "measure"])[experiment.LOG]):
        log = experiment.appended(log, entry)
    failed = graded(texts | {experiment.LOG: log}, tmp_path)
    assert "line 2 of log.jsonl is a row of these columns" in failed["columns_were_new"]
    assert "prediction_is_older" not in failed


@pytest.mark.parametrize("values", [{}, {"base": {"1": 0.0, "2": 1.0, "3": 1.0}, "new": {"1": 1, "2": 1, "3": 1}}, 7])
def test_a_row_that_is_not_whole(values, tmp_path, recorded):
    log = SOLUTION[experiment.LOG].splitlines()
    entry = {**json.loads(log[1]), "values": values}
    failed = graded(SOLUTION | {experiment.LOG: experiment.appended(log[0], entry)}, tmp_path)
    assert "row" in failed["row_is_whole"] and "row_repeats" in failed


# ---- what repeats ------------------------------------------------------------------------------


def test_equal_builds_repeat_to_the_last_digit(monkeypatch):
    h, _ = experiment.hypothesis(SOLUTION[experiment.FILE])
    row = experiment.row_of(experiment.entries(SOLUTION[experiment.LOG]), h)
    value = row.values["base"][1]
    monkeypatch.setattr(experiment, "qemu_version", lambda: row.qemu)
    monkeypatch.setattr(experiment, "inputs_digest", lambda h, column: row.inputs[column])
    assert experiment.repeats(h, row, "base", 1, value)
    assert not experiment.repeats(h, row, "base", 1, value + 0.1)
    monkeypatch.setattr(experiment, "inputs_digest", lambda h, column: "another build")
    assert experiment.repeats(h, row, "base", 1, 1.019 * max(row.values["base"].values()))
    assert not experiment.repeats(h, row, "base", 1, 1.021 * max(row.values["base"].values()))
    assert not experiment.repeats(h, row, "base", 1, 0.979 * min(row.values["base"].values()))


def test_an_invented_row_does_not_repeat(tmp_path, recorded):
    log = SOLUTION[experiment.LOG].splitlines()
    entry = json.loads(log[1])
    entry["values"]["new"] = {"1": 23000.0, "2": 23001.0, "3": 23002.0}
    failed = graded(SOLUTION | {experiment.LOG: experiment.appended(log[0], entry)}, tmp_path)
    assert re.search(r"\[new\] with seed \d, booted again\nexpected: 2300\d.0\nfound:    2669", failed["row_repeats"])


def test_a_busy_computer_grades_nothing(tmp_path, monkeypatch, capsys):
    def busy(h, column, seed):
        raise HostError("this host is too busy; try again")

    monkeypatch.setattr(experiment.Hypothesis, "boot", busy)
    for name, text in SOLUTION.items():
        (tmp_path / name).write_text(text)
    assert grade.main(["experiment", *(w for name in SOLUTION for w in ("--file", str(tmp_path / name)))]) == 3
    assert "nothing was graded: this host is too busy" in capsys.readouterr().err


# ---- the report --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "old, new, test",
    [
        ("## Noise", "## Noises", "report_has_its_sections"),
        (f"## Question\n\n{RAW['question']}\n", "## Question\n\n", "report_has_its_sections"),
        ("The three seeds differ", "(Write here: The three seeds differ", "report_has_its_sections"),
        ("## Result", "## Result\n\nIt is 2.9 times.", "report_numbers_are_of_the_row"),
        ("| first touch | 26690.3 | 26690.6 | 26697.5 | 26690.6 |", "| first touch | good |", "report_has_a_base"),
        ("26697.5", "26797.5", "report_numbers_are_of_the_row"),
        ("Verdict: did not hold", "Verdict: held", "verdict_follows"),
        ("Verdict: did not hold", "It held.", "verdict_follows"),
    ],
)
def test_a_report_that_disagrees(old, new, test, tmp_path, recorded):
    assert SOLUTION[experiment.REPORT].count(old) == 1
    failed = graded(SOLUTION | {experiment.REPORT: SOLUTION[experiment.REPORT].replace(old, new)}, tmp_path)
    assert set(failed) == {test}


def test_a_report_without_the_prediction(tmp_path, recorded):
    report = SOLUTION[experiment.REPORT]
    reason = experiment.sections(report)["Prediction"]
    assert set(graded(SOLUTION | {experiment.REPORT: report.replace(reason, "\nFaster.\n\n")}, tmp_path)) == {
        "report_states_the_prediction"
    }


@pytest.mark.parametrize(
    "text, right",
    [
        ("26,690.6", True),
        ("26691", True),
        ("26,700", True),
        ("148.2", True),
        ("2.49", False),
        ("0.63", True),
        ("16 threads on 4 boards", True),
        ("26692", False),
    ],
)
def test_numbers_in_the_result(text, right, tmp_path, recorded):
    report = SOLUTION[experiment.REPORT].replace("\nVerdict:", f"\nThat is {text}.\n\nVerdict:")
    failed = graded(SOLUTION | {experiment.REPORT: report}, tmp_path)
    assert set(failed) == (set() if right else {"report_numbers_are_of_the_row"})


# ---- the commands ------------------------------------------------------------------------------


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """An empty answer in a folder of its own."""
    monkeypatch.setattr(experiment, "ANSWER", tmp_path)
    return tmp_path


def test_predict_measure_report(answer, recorded, capsys):
    assert experiment.main(["predict"]) == 1 and "hypothesis.toml: No such file" in capsys.readouterr().err
    (answer / experiment.FILE).write_text(SOLUTION[experiment.FILE])
    assert experiment.main(["measure"]) == 1 and "make lab-predict comes before" in capsys.readouterr().err
    assert experiment.main(["predict"]) == 0 and experiment.main(["predict"]) == 0
    first = (answer / experiment.LOG).read_text()
    assert len(first.splitlines()) == 1 and experiment.sha256(first.strip()) in capsys.readouterr().out
    assert experiment.main(["report"]) == 1 and "has no row" in capsys.readouterr().err
    assert experiment.main(["measure"]) == 0
    said = capsys.readouterr().out
    assert "predicted 2.15, measured 2.482: it did not hold" in said and "is no effect" not in said
    assert (answer / experiment.LOG).read_text().startswith(first)
    assert experiment.main(["report"]) == 0 and experiment.main(["report"]) == 1
    assert "report.md exists: move it away" in capsys.readouterr().err
    texts = {name: (answer / name).read_text() for name in SOLUTION}
    assert set(graded(texts, answer)) == {"report_has_its_sections"}


def test_a_row_without_an_effect_is_named(answer, monkeypatch, capsys):
    monkeypatch.setattr(experiment.Hypothesis, "boot", lambda h, column, seed: 100 + seed % 3 + (column == "new"))
    monkeypatch.setattr(experiment, "inputs_digest", lambda h, column: "of no file")
    (answer / experiment.FILE).write_text(SOLUTION[experiment.FILE])
    assert experiment.main(["predict"]) == 0 and experiment.main(["measure"]) == 0
    assert "an effect that is not larger than the spread is no effect" in capsys.readouterr().out


def test_a_run_that_fails_records_nothing(answer, monkeypatch, capsys):
    def fails(h, column, seed):
        raise ExperimentError("[base], seed 1: the kernel panicked")

    monkeypatch.setattr(experiment.Hypothesis, "boot", fails)
    (answer / experiment.FILE).write_text(SOLUTION[experiment.FILE])
    assert experiment.main(["predict"]) == 0
    before = (answer / experiment.LOG).read_text()
    assert experiment.main(["measure"]) == 1 and "the kernel panicked" in capsys.readouterr().err
    assert (answer / experiment.LOG).read_text() == before


# ---- a student's tree --------------------------------------------------------------------------


def test_a_release_has_no_solution(tmp_path):
    assert release.main([str(tmp_path / "tree"), "--labs", "experiment"]) == 0
    tree = tmp_path / "tree"
    assert not (tree / "instructor").exists()
    assert "LAB=experiment" in (text := (tree / "README.md").read_text()) and "LAB=home" not in text
    assert (tree / "labs/experiment/answer" / experiment.FILE).read_text() == experiment.skeleton()[experiment.FILE]
    assert not release.leaks(tree, set(release.squeezed("\n".join(SOLUTION.values()).partition("## Noise")[2])))


# ---- a real row --------------------------------------------------------------------------------


@pytest.mark.long
def test_a_real_row_repeats(answer, capsys):
    """Three seeds of each column on two boards, and two more boots of the grader."""
    text = SOLUTION[experiment.FILE].replace('"sf15k"\nboards = 4', '"sf3800"').replace("-t 16", "-t 8")
    (answer / experiment.FILE).write_text(
        text.replace("ratio = 2.15\nleast = 2.0\nmost = 2.35", "ratio = 1.1\nleast = 1\nmost = 1.2")
    )
    for command in ("predict", "measure", "report"):
        assert experiment.main([command]) == 0, capsys.readouterr().err
    texts = {name: (answer / name).read_text() for name in SOLUTION}
    assert set(graded(texts, answer)) == {"report_has_its_sections"}
