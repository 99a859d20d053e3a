# SPDX-License-Identifier: MIT
"""test_course_tools.py - a folder of submissions, the archive that grades, the student's bundle, similarity."""

import base64
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import zipfile

import pytest

import synthetic
from harness import HOST_LIMIT, without_tests
from homeroom.course import autograder, build, handed, lab, one, regions, regrade, release, submit, term
from homeroom.machine import TOP

pytestmark = pytest.mark.xdist_group("course_tools")  # not "grade": one.py works in a folder of its own
HOME = TOP / "kernel/lgrp/home.c"
SEED = 22


def module(tree, name, *words, **env):
    """Run a module of a tree; returns the finished process."""
    return subprocess.run(
        [sys.executable, "-m", f"homeroom.course.{name}", *map(str, words)],
        cwd=tree,
        text=True,
        capture_output=True,
        timeout=HOST_LIMIT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(tree / "tools"), **env},
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A tree that grades the host tests of the lab "home", with the skeleton in place.  Booted tests are left out: they take
    long, and tests/test_grade_boot.py has them."""
    folder = tmp_path_factory.mktemp("autograder")
    autograder.archived(lab.load("home"), 1, 0, folder)
    assert without_tests(folder / "tree/labs/home/lab.toml", "boot", "beyond") > 2
    subprocess.run("git init -q && git add -A", shell=True, cwd=folder / "tree", check=True)
    return folder / "tree"


MOST = sum(test.points for test in lab.load("home").tests if not (test.boot or test.beyond))


def table(file):
    """The rows of a table, by student."""
    with file.open(newline="") as rows:
        return {row["student"]: row for row in csv.DictReader(rows)}


def check_table(rows, folder):
    """There is a row for each submission, with the points that it must have."""
    assert sorted(rows) == sorted(path.name for path in folder.iterdir())
    for student, row in rows.items():
        good, wrong = synthetic.BROKEN.get(student, (True, ""))
        points = [int(row[column]) for column in row if column not in ("student", "points", "wrong")]
        assert int(row["points"]) == sum(points) == (MOST if good else 0) and len(points) >= 12, (student, row)
        assert row["wrong"].startswith(wrong) and bool(row["wrong"]) == bool(wrong), (student, row["wrong"])


# ---- a folder of submissions -------------------------------------------------------------------


@pytest.fixture(scope="module")
def submissions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    synthetic.write(folder, 0, SEED)
    return folder


def regraded(tree, folder, file, **env):
    return module(tree, "regrade", folder, "--lab", "home", "--csv", file, "--seed", "1", **env)


def kept(folder):
    """When each result was written, by student."""
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("*.json")}


def test_a_folder_is_graded_and_only_what_changed_again(tree, submissions, tmp_path):
    done = regraded(tree, submissions, tmp_path / "home.csv")
    assert done.returncode == 0, done.stderr
    rows = table(tmp_path / "home.csv")
    check_table(rows, submissions)
    feedback = (tmp_path / "home" / "does-not-compile.txt").read_text()
    assert feedback.startswith(f"Lab home: 0 of {MOST} points\nhome.c does not compile:")
    assert (
        feedback.count("does not compile") == 1 and "repeat with: make grade LAB=home TEST=candidates_only SEED=1\n" in feedback
    )

    before = kept(tmp_path / "home")
    (submissions / "empty" / "home.c").write_bytes(HOME.read_bytes())
    assert regraded(tree, submissions, tmp_path / "home.csv").returncode == 0
    after = table(tmp_path / "home.csv")
    assert after.pop("empty")["points"] == str(MOST) and rows.pop("empty")["points"] == "0"
    assert after == rows and {name for name, when in kept(tmp_path / "home").items() if before[name] != when} == {"empty"}


def test_a_fault_of_the_harness_is_no_zero(tree, tmp_path):
    """Its row has no points, and the next run grades it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "s.c").write_bytes(HOME.read_bytes())
    done = regraded(tree, tmp_path / "in", tmp_path / "home.csv", MAKEFLAGS="HOSTCC=/nonexistent/cc")
    row = table(tmp_path / "home.csv")["s"]
    assert done.returncode == 3 and "1 of them not graded" in done.stdout
    assert row["points"] == row["candidates_only"] == "" and row["wrong"].startswith("not graded: ")
    assert regraded(tree, tmp_path / "in", tmp_path / "home.csv").returncode == 0
    assert table(tmp_path / "home.csv")["s"]["points"] == str(MOST)


def on_one_cpu():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell makes the programs that it runs in the background ignore it


def test_a_run_that_was_stopped_goes_on(tree, tmp_path):
    """On one CPU, the key for "stop" comes after the first of four: at least one has not begun."""
    (tmp_path / "in").mkdir()
    for i in range(4):
        (tmp_path / "in" / f"s{i}.c").write_bytes(HOME.read_bytes())
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "homeroom.course.regrade",
            tmp_path / "in",
            "--lab",
            "home",
            "--csv",
            tmp_path / "home.csv",
            "--seed",
            "1",
        ],
        cwd=tree,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(tree / "tools")},
        preexec_fn=on_one_cpu,
    )
    run.stdout.readline()
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=HOST_LIMIT)
    before = kept(tmp_path / "home")
    assert run.returncode == 1 and f"stopped; the same command goes on, {4 - len(before)} are left" in said
    assert "Traceback" not in said and 0 < len(before) < 4 and not (tmp_path / "home.csv").exists()
    assert regraded(tree, tmp_path / "in", tmp_path / "home.csv").returncode == 0
    assert len(table(tmp_path / "home.csv")) == 4
    after = kept(tmp_path / "home")
    assert before == {name: after[name] for name in before}


@pytest.mark.parametrize(
    "words, said",
    [
        (["{tmp}", "--lab", "odd", "--csv", "{tmp}/a.csv"], "there is no such lab"),
        (["{tmp}/odd", "--lab", "home", "--csv", "{tmp}/a.csv"], "must be a folder"),
        (["{tmp}", "--lab", "home", "--csv", ""], "a file .csv"),
        (["{tmp}", "--lab", "home", "--csv", "{tmp}/odd/a.csv"], "a file .csv"),
        (["{tmp}", "--lab", "home", "--csv", "{tmp}/a.csv"], "SEED= is missing"),
    ],
)
def test_what_regrade_refuses(words, said, tmp_path, capsys):
    assert regrade.main([word.format(tmp=tmp_path) for word in words]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


# ---- what is handed in -------------------------------------------------------------------------


def zipped(file, members):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return file


def found(path):
    """The name and the text of the region that is graded, and the sentences."""
    submission = one.handed_in(lab.load("home"), path)
    return submission.texts.get("home"), [*submission.faults, *submission.notes]


def test_where_the_file_is_found(tmp_path):
    """By its path before its name, and by its name before its marks; in a folder, a .zip, or a .zip in a folder."""
    right, other = HOME.read_text(), synthetic.whole("int other;\n")
    solution = regions.region_of(right, "home", "home.c")
    assert found(zipped(tmp_path / "a.zip", {"home.c": other, "x/kernel/lgrp/home.c": right})) == (solution, [])
    assert found(zipped(tmp_path / "b.zip", {"a.c": other, "x/home.c": right, ".git/home.c": other})) == (solution, [])
    assert found(zipped(tmp_path / "c.zip", {"a.txt": "x", "b.c": right})) == (
        solution,
        ["b.c is graded as kernel/lgrp/home.c"],
    )
    long = zipped(tmp_path / "e.zip", {"b" * 300 + ".c": right})
    assert found(long) == (solution, [])
    (tmp_path / "d").mkdir()
    zipped(tmp_path / "d" / "home.zip", {"__MACOSX/home.c": other, "kernel/lgrp/home.c": right})
    assert found(tmp_path / "d") == (solution, [])


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "home.c").symlink_to(HOME)
    (tmp_path / "s" / "kernel").symlink_to(TOP / "kernel")
    os.mkfifo(tmp_path / "s" / "b.c")
    text, said = found(tmp_path / "s")
    assert text is None and said == ["there is no file home.c, and no other one with the region home"]
    (tmp_path / "eve.c").symlink_to(HOME)
    text, said = found(tmp_path / "eve.c")
    assert text is None and said[-1] == "eve.c is a symbolic link: hand in the file itself"


def test_no_submission_hides_another_one(tmp_path):
    (tmp_path / "jane.doe").mkdir()
    (tmp_path / "bob.zip").touch()
    assert set(regrade.students(tmp_path)) == {"jane.doe", "bob"}
    (tmp_path / "jane.doe.zip").touch()
    assert set(regrade.students(tmp_path)) == {"jane.doe", "jane.doe.zip", "bob.zip"}


def test_archives_that_cannot_be_read(tmp_path, monkeypatch):
    damaged = zipped(tmp_path / "damaged.zip", {"home.c": HOME.read_bytes()})
    data = bytearray(damaged.read_bytes())
    data[60:80] = bytes(20)
    damaged.write_bytes(data)
    locked = zipped(tmp_path / "locked.zip", {"home.c": HOME.read_bytes()})
    data = bytearray(locked.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    locked.write_bytes(data)
    odd = tmp_path / "odd.zip"  # damaged LZMA
    with zipfile.ZipFile(odd, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("home.c", HOME.read_bytes())
    data = bytearray(odd.read_bytes())
    data[48:60] = b"\xff" * 12
    odd.write_bytes(data)
    for file in (damaged, locked, odd):
        assert found(file)[1][-1].startswith(f"{file.name} cannot be read: "), file
    monkeypatch.setattr(handed, "FILES_MAX", 2)
    many = zipped(tmp_path / "many.zip", {"a": b"", "b": b"", "c": b""})
    assert found(many)[1][-1] == "many.zip has 3 files; at most 2 are looked at"
    bomb = zipped(tmp_path / "bomb.zip", {"home.c": bytes(20 << 20)})
    assert found(bomb)[1] == ["home.c has more than 1 MiB: it is not read"]


# ---- the archive that grades, and the student's bundle -----------------------------------------


def run_autograder(tree, submission, results, **env):
    return subprocess.run(
        ["sh", tree.parent / "run_autograder", submission, results],
        capture_output=True,
        text=True,
        timeout=HOST_LIMIT,
        env={**os.environ, **env},
    )


def test_the_archive_grades(tree, tmp_path):
    """It writes what Gradescope reads, and what GitHub Classroom does; no results if it cannot grade."""
    done = run_autograder(tree, HOME, tmp_path / "results.json")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    assert sum(test["score"] for test in results["tests"]) == sum(test["max_score"] for test in results["tests"]) == MOST
    assert {test["visibility"] for test in results["tests"]} == {results["visibility"]} == {"visible"}
    assert results["leaderboard"] == [{"name": "points", "value": MOST}] and results["execution_time"] > 0

    told = module(tree, "classroom", tmp_path / "results.json").stdout
    told = json.loads(base64.b64decode(told.removeprefix("result=")))
    assert told["max_score"] == sum(test["score"] for test in told["tests"]) == MOST and told["status"] == "pass"

    done = run_autograder(tree, HOME, tmp_path / "results.json", MAKEFLAGS="HOSTCC=/nonexistent/cc")
    assert done.returncode != 0 and not (tmp_path / "results.json").exists()
    assert "the grader failed, nothing was graded" in done.stderr


def test_the_archive_has_no_solution(tmp_path):
    assert autograder.main([str(tmp_path / "home.zip"), "--lab", "home", "--seed", "9", "--term", "5"]) == 0
    secret = release.solution_lines([lab.load("home")], release.committed())
    assert len(secret) > 20
    with zipfile.ZipFile(tmp_path / "home.zip") as archive:
        for name in archive.namelist():
            assert not secret.intersection(release.squeezed(archive.read(name).decode(errors="replace"))), name
        for name in ("setup.sh", "run_autograder", "Containerfile", "classroom.yml", "gitlab-ci.yml"):
            assert not re.search(r"@[A-Z]+@", archive.read(name).decode()), name
        for name in ("setup.sh", "run_autograder", "tree/tools/deps.sh"):
            assert archive.getinfo(name).external_attr >> 16 & 0o111, name
        assert tomllib.loads(archive.read("tree/labs/home/lab.toml").decode())["parameter"] == [
            {"name": name, "tree": value} for name, value in term.values(lab.load("home"), 5).items()
        ]


def test_a_bundle_is_what_the_grader_takes(tree, tmp_path):
    """Made in a tree with the skeleton, then with the solution; a region that does not compile is refused."""
    file, bundle, answers = tree / "kernel/lgrp/home.c", tree / "build/submit/home.zip", tree / "labs/home" / submit.ANSWERS
    skeleton = file.read_text()
    assert regions.region_of(skeleton, "home", "home.c") == build.skeleton_of(lab.load("home").regions[0])
    try:
        file.write_text(skeleton.replace("return in->cand", "return on->cand"))
        done = module(tree, "submit", "home", "--hours", "7.5")
        assert done.returncode == 1 and not bundle.exists() and not answers.exists()
        assert "home.c does not compile:" in done.stderr and "‘on’ undeclared" in done.stderr.replace("'", "’")
        done = module(tree, "submit", "home")
        assert done.returncode == 2 and "TIME=" in done.stderr and "Traceback" not in done.stderr
        file.write_bytes(HOME.read_bytes())
        done = module(tree, "submit", "home", "--hours", "7.5")
        assert done.returncode == 0, done.stderr
        assert "answers.md: 3 of 3 questions have no answer" in done.stdout
    finally:
        file.write_text(skeleton)
    with zipfile.ZipFile(bundle) as made:
        assert made.namelist() == ["kernel/lgrp/home.c", submit.ANSWERS, "submission.toml", "grade.log"]
        assert made.read("kernel/lgrp/home.c") == HOME.read_bytes()
        assert f"hours = 7.5\npoints = {MOST}\n" in made.read("submission.toml").decode()
        assert made.read("grade.log").decode().startswith(f"Lab home: {MOST} of {MOST} points\n")
        assert made.read(submit.ANSWERS).decode().count("\n## ") == 3
    done = run_autograder(tree, bundle, tmp_path / "results.json")
    assert done.returncode == 0 and done.stdout.startswith(f"Lab home: {MOST} of {MOST} points\n"), done.stderr


def test_hours():
    assert submit.hours_of("7.5") == 7.5
    for text in ("", "odd", "-1", "nan", "inf"):
        with pytest.raises(ValueError):
            submit.hours_of(text)


def test_a_question_without_an_answer_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab.Lab, "folder", tmp_path)
    (tmp_path / submit.ANSWERS).write_text("# Answers\n\n## One\n\nyes\n\n## Two\n\n \n## Three\n")
    home = lab.load("home")
    submit.answers(home)
    assert "labs/home/answers.md: 2 of 3 questions" in capsys.readouterr().out
    (tmp_path / submit.ANSWERS).write_text("## One\nyes\n")
    submit.answers(home)
    assert capsys.readouterr().out == ""


def test_the_questions_of_each_handout_are_found():
    for one_lab in [lab.load(name) for name in lab.names()]:
        handout = (one_lab.folder / "README.md").read_text()
        section = handout.partition("\n## Questions")[2].partition("\n## ")[0]
        asked = submit.questions(handout)
        assert len(asked) == section.count("\n- ") and all(asked), one_lab.name
        assert len(asked) >= 3 or one_lab.files, one_lab.name


@pytest.mark.parametrize(
    "words, said",
    [
        (["{tmp}/a.zip", "--lab", "odd"], "no such lab"),
        (["{tmp}/a", "--lab", "home"], ".zip"),
        (["{tmp}/a.zip", "--lab", "home"], "SEED="),
        (["{tmp}/old.zip", "--lab", "home", "--seed", "9"], "a new file"),
    ],
)
def test_what_the_archive_refuses(words, said, tmp_path, capsys):
    kept = tmp_path / "old.zip"
    kept.write_text("kept")
    assert autograder.main([word.format(tmp=tmp_path) for word in words]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [kept] and kept.read_text() == "kept"


# ---- a class -----------------------------------------------------------------------------------


@pytest.mark.long
def test_a_class_of_200(tree, tmp_path):
    """The table is complete, and the two that were copied with other names are the most similar pair."""
    folder = tmp_path / "in"
    folder.mkdir()
    synthetic.write(folder, 192, SEED)
    assert regraded(tree, folder, tmp_path / "home.csv").returncode == 0
    rows = table(tmp_path / "home.csv")
    assert len(rows) == 200
    check_table(rows, folder)

    subprocess.run(["tools/deps.sh", "similar"], cwd=TOP, check=True)
    subprocess.run(
        [TOP / ".venv-similar/bin/python", "-m", "homeroom.course.similar", folder, "--lab", "home"],
        cwd=TOP,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TOP / "tools")},
    )
    with (TOP / "build/similar/home.csv").open(newline="") as file:
        pairs = list(csv.DictReader(file))
    assert len(pairs) == 200 * 199 / 2
    assert (pairs[0]["student"], pairs[0]["other"], pairs[0]["percent"]) == ("copied-a", "copied-b", "100.0")
    assert float(pairs[1]["percent"]) < 100
